//! The bytes behind the versions of pages.
//!
//! The model carries a version for each page, through its buffer, its flash, its copies and its
//! parity; a read brings the version that the drive really had. The bytes of a version lie here,
//! so what a client reads is decided by the model and not by a copy beside it: a drive that loses a
//! page, or reads a stale one, serves just that. A version that no read may bring any more is
//! dropped.
//!
//! Eight bytes a page, and a page of memory for each that a client wrote; a page of zeros takes
//! none, nor does one whose bytes lie in the file of a [`Store`](crate::Store).

use crate::front::{Ask, Kind};
use manx_core::units::SECTOR;
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// No bytes: the page reads as zeros.
const ZEROS: u32 = u32::MAX;
/// The bytes lie in the file, at the page's own place.
const IN_FILE: u32 = u32::MAX - 1;

/// The newest version of a page, and where its bytes lie.
#[derive(Clone, Copy, Debug)]
struct Slot {
    version: u32,
    bytes: u32,
}

/// Bytes of every version of every page that a read may still bring.
#[derive(Debug)]
pub struct Content {
    page_bytes: usize,
    pages: Vec<Slot>,
    /// Versions that a newer one has overtaken, by page and version.
    older: BTreeMap<(u32, u32), u32>,
    places: Vec<Box<[u8]>>,
    free: Vec<u32>,
    file: Option<File>,
    /// The file did not give the bytes beneath a partial write.
    failed: Option<io::Error>,
    /// By page the last version whose bytes are wanted: later ones are counted, no more.
    frozen: Option<Vec<u32>>,
}

/// The bytes of the newest version of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Newest<'a> {
    /// None: zeros.
    Zeros,
    /// Those in the file.
    InFile,
    /// These.
    Bytes(&'a [u8]),
}

/// The part of a range that lies in one page: its first byte there, and its bytes.
pub(crate) fn pages(
    page_bytes: u64,
    offset: u64,
    length: u64,
) -> impl Iterator<Item = (u32, usize, usize)> {
    let (page, end) = (page_bytes, offset + length);
    (offset / page..end.div_ceil(page)).map(move |number| {
        let (from, to) = (offset.max(number * page), end.min((number + 1) * page));
        (number as u32, (from - number * page) as usize, (to - from) as usize)
    })
}

impl Content {
    /// Content of `pages` pages of `page_sectors` sectors; a page that `holds` data has version 1,
    /// of zeros.
    pub fn new(pages: u32, page_sectors: u32, holds: impl Fn(u32) -> bool) -> Self {
        let slot = |page| Slot { version: u32::from(holds(page)), bytes: ZEROS };
        Self {
            page_bytes: (u64::from(page_sectors) * SECTOR) as usize,
            pages: (0..pages).map(slot).collect(),
            older: BTreeMap::new(),
            places: Vec::new(),
            free: Vec::new(),
            file: None,
            failed: None,
            frozen: None,
        }
    }

    /// As [`Content::new`]; the bytes of the pages that `is_in_file` names lie in `file`.
    pub fn over(self, file: File, is_in_file: impl Fn(u32) -> bool) -> Self {
        let mut content = Self { file: Some(file), ..self };
        for (page, slot) in (0..).zip(&mut content.pages) {
            if slot.version > 0 && is_in_file(page) {
                slot.bytes = IN_FILE;
            }
        }
        content
    }

    /// The drive came up again with these versions of its pages, and counts them anew.
    pub fn carry(&mut self, versions: &[u32]) {
        self.frozen = None;
        for (slot, version) in self.pages.iter_mut().zip(versions) {
            let bytes = if *version == 0 { ZEROS } else { slot.bytes };
            *slot = Slot { version: u32::from(*version > 0), bytes };
        }
    }

    /// From now on bytes are wanted of each page up to that version, and only of the newest of
    /// them.
    pub(crate) fn freeze(&mut self, versions: Vec<u32>) {
        self.frozen = Some(versions);
    }

    /// True where bytes may lie in a file.
    pub fn has_file(&self) -> bool {
        self.file.is_some()
    }

    /// An error of the file that a write met, told once.
    pub fn take_failure(&mut self) -> Option<io::Error> {
        self.failed.take()
    }

    /// Takes the bytes of a request, one version for each page that it touches; `deallocates` says
    /// whether deallocated pages read as zeros.
    pub fn take(&mut self, ask: &Ask, data: &[u8], deallocates: bool) {
        let Ask { kind, offset, length, .. } = *ask;
        let whole = self.page_bytes;
        let mut rest = data;
        for (page, from, length) in pages(whole as u64, offset, length) {
            match kind {
                Kind::Write => {
                    let (part, behind) = rest.split_at(length);
                    self.write(page, from, length, Some(part));
                    rest = behind;
                }
                Kind::Trim | Kind::Zero { may_deallocate: true }
                    if deallocates && length == whole =>
                {
                    self.deallocate(page);
                }
                Kind::Zero { .. } => {
                    self.write(page, from, length, None);
                }
                Kind::Trim | Kind::Read | Kind::Flush => {}
            }
        }
    }

    /// The next version of the page: the newest, with `data` from byte `from` of the page on, or
    /// with `length` zeros where there is none.
    pub fn write(&mut self, page: u32, from: usize, length: usize, data: Option<&[u8]>) -> u32 {
        let newest = self.pages[page as usize];
        if self.is_frozen(page) {
            return newest.version + 1;
        }
        let is_zeros = data.is_none() && (length == self.page_bytes || newest.bytes == ZEROS);
        let bytes = if is_zeros { ZEROS } else { self.copy(page, newest.bytes, length) };
        if bytes != ZEROS {
            let place = &mut self.places[bytes as usize][from..from + length];
            match data {
                Some(data) => place.copy_from_slice(data),
                None => place.fill(0),
            }
        }
        self.put(page, bytes)
    }

    /// The next version of the page, which holds nothing.
    pub fn deallocate(&mut self, page: u32) -> u32 {
        match self.is_frozen(page) {
            true => self.pages[page as usize].version + 1,
            false => self.put(page, ZEROS),
        }
    }

    fn is_frozen(&self, page: u32) -> bool {
        let reached = |last: &Vec<u32>| self.pages[page as usize].version >= last[page as usize];
        self.frozen.as_ref().is_some_and(reached)
    }

    fn put(&mut self, page: u32, bytes: u32) -> u32 {
        let newest = &mut self.pages[page as usize];
        if self.frozen.is_some() {
            if newest.bytes < IN_FILE {
                self.free.push(newest.bytes);
            }
        } else if newest.bytes != ZEROS {
            self.older.insert((page, newest.version), newest.bytes);
        }
        *newest = Slot { version: newest.version + 1, bytes };
        newest.version
    }

    /// A place with a copy of `from`, of which `length` bytes are about to be overwritten.
    fn copy(&mut self, page: u32, from: u32, length: usize) -> u32 {
        let place = self.free.pop().unwrap_or_else(|| {
            self.places.push(vec![0; self.page_bytes].into_boxed_slice());
            (self.places.len() - 1) as u32
        });
        if length == self.page_bytes {
            return place;
        }
        let mut to = std::mem::take(&mut self.places[place as usize]);
        match from {
            ZEROS => to.fill(0),
            IN_FILE => {
                if let Err(error) = self.load(page, 0, &mut to) {
                    to.fill(0);
                    self.failed = Some(error);
                }
            }
            from => to.copy_from_slice(&self.places[from as usize]),
        }
        self.places[place as usize] = to;
        place
    }

    fn load(&self, page: u32, from: usize, to: &mut [u8]) -> io::Result<()> {
        let offset = u64::from(page) * self.page_bytes as u64 + from as u64;
        self.file.as_ref().map_or(Ok(()), |file| file.read_exact_at(to, offset))
    }

    /// The bytes of the newest version of a page.
    pub fn newest(&self, page: u32) -> Newest<'_> {
        match self.pages[page as usize].bytes {
            ZEROS => Newest::Zeros,
            IN_FILE => Newest::InFile,
            place => Newest::Bytes(&self.places[place as usize]),
        }
    }

    /// The number of the newest version of a page.
    pub fn version(&self, page: u32) -> u32 {
        self.pages[page as usize].version
    }

    /// Appends `length` bytes from byte `from` on of that version of the page.
    ///
    /// # Errors
    /// The file does not give them.
    pub fn read(
        &self,
        page: u32,
        version: u32,
        from: usize,
        length: usize,
        out: &mut Vec<u8>,
    ) -> io::Result<()> {
        let newest = self.pages[page as usize];
        let bytes = match version {
            0 => ZEROS,
            version if version == newest.version => newest.bytes,
            version => self.older.get(&(page, version)).copied().unwrap_or(ZEROS),
        };
        match bytes {
            ZEROS => out.resize(out.len() + length, 0),
            IN_FILE => {
                let at = out.len();
                out.resize(at + length, 0);
                self.load(page, from, &mut out[at..])?;
            }
            place => out.extend_from_slice(&self.places[place as usize][from..from + length]),
        }
        Ok(())
    }

    /// No read may bring a version of the page below `version` any more.
    pub fn forget_below(&mut self, page: u32, version: u32) {
        while let Some((key, bytes)) = self.older.range((page, 0)..(page, version)).next() {
            let (key, bytes) = (*key, *bytes);
            self.older.remove(&key);
            if bytes != IN_FILE {
                self.free.push(bytes);
            }
        }
    }

    /// Whether a client wrote bytes to the page, as far as was asked.
    pub fn has_bytes(&self, page: u32) -> bool {
        self.pages[page as usize].bytes != ZEROS
    }

    /// Bytes of versions that a read may still bring.
    pub fn live_bytes(&self) -> u64 {
        (self.places.len() - self.free.len()) as u64 * self.page_bytes as u64
    }

    /// Bytes of memory for the pages' bytes.
    pub fn memory_bytes(&self) -> u64 {
        self.places.len() as u64 * self.page_bytes as u64
    }
}

#[cfg(test)]
mod tests {
    use super::Content;

    fn read(content: &Content, page: u32, version: u32) -> Vec<u8> {
        let mut out = Vec::new();
        content.read(page, version, 0, 4096, &mut out).unwrap();
        out
    }

    #[test]
    fn a_version_keeps_its_bytes_until_it_is_forgotten() {
        let mut content = Content::new(2, 8, |page| page == 1);
        assert_eq!(content.write(1, 0, 4096, Some(&[7; 4096])), 2);
        assert_eq!(content.write(1, 512, 512, Some(&[9; 512])), 3);
        assert_eq!(read(&content, 1, 1), [0; 4096], "a page that held data held zeros");
        assert_eq!(read(&content, 1, 2), [7; 4096]);
        let merged = [&[7; 512][..], &[9; 512], &[7; 3072]].concat();
        assert_eq!(read(&content, 1, 3), merged);
        content.forget_below(1, 3);
        assert_eq!(read(&content, 1, 3), merged);
        assert_eq!(content.write(0, 0, 4096, Some(&[1; 4096])), 1);
        assert_eq!(content.memory_bytes(), 2 * 4096, "a place that is free is taken again");
        assert_eq!(read(&content, 0, 0), [0; 4096]);
    }

    #[test]
    fn zeros_take_no_memory_and_a_deallocated_page_holds_none() {
        let mut content = Content::new(1, 8, |_| false);
        assert_eq!(content.write(0, 512, 512, None), 1);
        assert_eq!(content.memory_bytes(), 0);
        content.write(0, 0, 512, Some(&[5; 512]));
        assert!(content.has_bytes(0));
        assert_eq!(content.deallocate(0), 3);
        assert!(!content.has_bytes(0));
        content.write(0, 0, 512, Some(&[6; 512]));
        assert_eq!(read(&content, 0, 4)[..512], [6; 512]);
        assert_eq!(read(&content, 0, 4)[512..], [0; 3584], "nothing comes back");
    }
}
