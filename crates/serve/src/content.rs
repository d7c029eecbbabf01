//! The bytes behind the versions of pages.
//!
//! The model carries a version for each page, through its buffer, its flash, its copies and its
//! parity; a read brings the version that the drive really had. The bytes of a version lie here,
//! so what a client reads is decided by the model and not by a copy beside it: a drive that loses a
//! page, or reads a stale one, serves just that. A version that no read may bring any more is
//! dropped.
//!
//! Eight bytes a page, and a page of memory for each that a client wrote; a page of zeros takes
//! none.

use manx_core::units::SECTOR;
use std::collections::BTreeMap;

/// No bytes: the page reads as zeros.
const ZEROS: u32 = u32::MAX;

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
        }
    }

    /// The next version of the page: the newest, with `data` from byte `from` of the page on, or
    /// with `length` zeros where there is none.
    pub fn write(&mut self, page: u32, from: usize, length: usize, data: Option<&[u8]>) -> u32 {
        let newest = self.pages[page as usize];
        let is_zeros = data.is_none() && (length == self.page_bytes || newest.bytes == ZEROS);
        let bytes = if is_zeros { ZEROS } else { self.copy(newest.bytes, length) };
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
        self.put(page, ZEROS)
    }

    fn put(&mut self, page: u32, bytes: u32) -> u32 {
        let newest = &mut self.pages[page as usize];
        if newest.bytes != ZEROS {
            self.older.insert((page, newest.version), newest.bytes);
        }
        *newest = Slot { version: newest.version + 1, bytes };
        newest.version
    }

    /// A place with a copy of `from`, of which `length` bytes are about to be overwritten.
    fn copy(&mut self, from: u32, length: usize) -> u32 {
        let place = self.free.pop().unwrap_or_else(|| {
            self.places.push(vec![0; self.page_bytes].into_boxed_slice());
            (self.places.len() - 1) as u32
        });
        if length == self.page_bytes {
            return place;
        }
        if from == ZEROS {
            self.places[place as usize].fill(0);
        } else {
            let mut to = std::mem::take(&mut self.places[place as usize]);
            to.copy_from_slice(&self.places[from as usize]);
            self.places[place as usize] = to;
        }
        place
    }

    /// Appends `length` bytes from byte `from` on of that version of the page.
    pub fn read(&self, page: u32, version: u32, from: usize, length: usize, out: &mut Vec<u8>) {
        let newest = self.pages[page as usize];
        let bytes = match version {
            0 => ZEROS,
            version if version == newest.version => newest.bytes,
            version => self.older.get(&(page, version)).copied().unwrap_or(ZEROS),
        };
        match bytes {
            ZEROS => out.resize(out.len() + length, 0),
            place => out.extend_from_slice(&self.places[place as usize][from..from + length]),
        }
    }

    /// No read may bring a version of the page below `version` any more.
    pub fn forget_below(&mut self, page: u32, version: u32) {
        while let Some((key, bytes)) = self.older.range((page, 0)..(page, version)).next() {
            let (key, bytes) = (*key, *bytes);
            self.older.remove(&key);
            self.free.push(bytes);
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
        content.read(page, version, 0, 4096, &mut out);
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
