//! The bytes that an array's stamps name, where its drives are elsewhere.
//!
//! An entry is a page, or the sectors of it that a write or a read brought. The array hands stamps
//! around and does not say when it drops one: what it may still ask for is asked of it
//! ([`Array::each_stamp`](manx_core::array::Array::each_stamp)), and the rest is free again.

use manx_core::array::Matter;
use manx_core::drive::Stamp;
use manx_core::units::SECTOR;
use std::cell::RefCell;
use std::rc::Rc;

/// The stamp of a page of zeros.
const ZEROS: u32 = 0;

/// Sectors of a page at most: a bit each.
pub(super) const SECTORS_MOST: u32 = 64;

#[derive(Debug, Default)]
struct Entry {
    bytes: Box<[u8]>,
    /// Sectors that are known, a bit each; 0: the entry is free.
    known: u64,
}

/// Pages by their stamps.
#[derive(Debug)]
pub(super) struct Ledger {
    page_bytes: usize,
    whole: u64,
    entries: Vec<Entry>,
    free: Vec<u32>,
}

/// The ledger of one array, which its links write to as well.
#[derive(Clone, Debug)]
pub struct Shared(pub(super) Rc<RefCell<Ledger>>);

impl Shared {
    pub(super) fn new(page_sectors: u32) -> Self {
        Self(Rc::new(RefCell::new(Ledger::new(page_sectors))))
    }
}

impl Ledger {
    fn new(page_sectors: u32) -> Self {
        assert!((1..=SECTORS_MOST).contains(&page_sectors), "a bit for each sector");
        let page_bytes = page_sectors as usize * SECTOR as usize;
        let whole = u64::MAX >> (64 - page_sectors);
        let zeros = Entry { bytes: vec![0; page_bytes].into_boxed_slice(), known: whole };
        Self { page_bytes, whole, entries: vec![zeros], free: Vec::new() }
    }

    /// Stamps that name something, zeros included.
    pub fn taken(&self) -> usize {
        self.entries.len() - self.free.len()
    }

    /// Bytes of memory.
    pub fn memory_bytes(&self) -> u64 {
        (self.entries.len() * self.page_bytes) as u64
    }

    /// A stamp for `bytes`, which lie from byte `from` of a page on.
    pub fn put(&mut self, from: usize, bytes: &[u8]) -> u32 {
        let stamp = self.place();
        let entry = &mut self.entries[stamp as usize];
        entry.bytes[from..from + bytes.len()].copy_from_slice(bytes);
        entry.known = mask(from, bytes.len());
        stamp
    }

    /// A stamp for zeros there.
    pub fn put_zeros(&mut self, from: usize, length: usize) -> u32 {
        if length == self.page_bytes {
            return ZEROS;
        }
        let stamp = self.place();
        let entry = &mut self.entries[stamp as usize];
        entry.bytes[from..from + length].fill(0);
        entry.known = mask(from, length);
        stamp
    }

    /// The bytes there; `None` where some of them are not known.
    pub fn get(&self, stamp: u32, from: usize, length: usize) -> Option<&[u8]> {
        let entry = self.entries.get(stamp as usize)?;
        let wanted = mask(from, length);
        (entry.known & wanted == wanted).then(|| &entry.bytes[from..from + length])
    }

    /// Frees every stamp but these.
    pub fn keep(&mut self, mut is_wanted: Vec<bool>) {
        is_wanted.resize(self.entries.len(), false);
        for (stamp, entry) in (0..).zip(&mut self.entries).skip(1) {
            if !is_wanted[stamp as usize] && entry.known != 0 {
                entry.known = 0;
                self.free.push(stamp);
            }
        }
    }

    fn place(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            let bytes = vec![0; self.page_bytes].into_boxed_slice();
            self.entries.push(Entry { bytes, known: 0 });
            (self.entries.len() - 1) as u32
        })
    }

    /// A page made of two, word by word.
    fn made(&mut self, a: u32, b: u32, word: impl Fn(u64, u64) -> u64) -> u32 {
        let place = self.place();
        let mut made = std::mem::take(&mut self.entries[place as usize].bytes);
        let (a, b) = (&self.entries[a as usize], &self.entries[b as usize]);
        let words = a.bytes.as_chunks::<8>().0.iter().zip(b.bytes.as_chunks::<8>().0);
        for (made, (a, b)) in made.as_chunks_mut::<8>().0.iter_mut().zip(words) {
            *made = word(u64::from_le_bytes(*a), u64::from_le_bytes(*b)).to_le_bytes();
        }
        let known = a.known & b.known;
        self.entries[place as usize] = Entry { bytes: made, known };
        place
    }
}

/// The sectors of a range of bytes.
fn mask(from: usize, length: usize) -> u64 {
    let (from, length) = (from / SECTOR as usize, length / SECTOR as usize);
    if length == 0 { 0 } else { (u64::MAX >> (64 - length)) << from }
}

/// x * 2 in GF(2^8) mod x^8 + x^4 + x^3 + x^2 + 1, for eight bytes at once.
fn double(x: u64) -> u64 {
    let high = x & 0x8080_8080_8080_8080;
    ((x << 1) & 0xfefe_fefe_fefe_fefe) ^ ((high >> 7) * 0x1d)
}

fn times(mut x: u64, mut y: u8) -> u64 {
    let mut product = 0;
    while y != 0 {
        if y & 1 != 0 {
            product ^= x;
        }
        x = double(x);
        y >>= 1;
    }
    product
}

impl Matter for Shared {
    fn sum(&mut self, a: u32, b: u32) -> u32 {
        match (a, b) {
            (Stamp::TORN, _) | (_, Stamp::TORN) => Stamp::TORN,
            (ZEROS, known) | (known, ZEROS) => known,
            (a, b) => self.0.borrow_mut().made(a, b, |a, b| a ^ b),
        }
    }

    fn times(&mut self, page: u32, factor: u8) -> u32 {
        match page {
            Stamp::TORN | ZEROS => page,
            page if factor == 1 => page,
            page => self.0.borrow_mut().made(page, page, |word, _| times(word, factor)),
        }
    }

    fn over(&mut self, write: Stamp, beneath: u32) -> u32 {
        let mut ledger = self.0.borrow_mut();
        let above = write.version;
        if above == Stamp::TORN || beneath == Stamp::TORN {
            return Stamp::TORN;
        }
        let known = ledger.entries[above as usize].known;
        if known == ledger.whole {
            return above;
        }
        let made = ledger.made(above, beneath, |_, beneath| beneath);
        let mut bytes = std::mem::take(&mut ledger.entries[made as usize].bytes);
        for (sector, (to, from)) in bytes
            .chunks_mut(SECTOR as usize)
            .zip(ledger.entries[above as usize].bytes.chunks(SECTOR as usize))
            .enumerate()
        {
            if known >> sector & 1 == 1 {
                to.copy_from_slice(from);
            }
        }
        let known = known | ledger.entries[beneath as usize].known;
        ledger.entries[made as usize] = Entry { bytes, known };
        made
    }

    /// Nothing says which of the two is newer, and the write was there when the read began: it may
    /// be seen.
    fn overlaid(&mut self, page: u32, write: Stamp, _: bool) -> u32 {
        self.over(write, page)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: usize = 4096;

    #[test]
    fn parts_lie_over_pages_and_sums_are_of_bytes() {
        let mut shared = Shared::new(8);
        let page = shared.0.borrow_mut().put(0, &[3; PAGE]);
        let part = shared.0.borrow_mut().put(512, &[5; 1024]);
        assert_eq!(shared.0.borrow().get(part, 0, 512), None, "it is not known");
        let over = shared.over(Stamp { version: part, beneath: 0 }, page);
        let merged = [&[3; 512][..], &[5; 1024], &[3; PAGE - 1536]].concat();
        assert_eq!(shared.0.borrow().get(over, 0, PAGE), Some(&merged[..]));
        let sum = shared.sum(over, page);
        let xored = [&[0; 512][..], &[6; 1024], &[0; PAGE - 1536]].concat();
        assert_eq!(shared.0.borrow().get(sum, 0, PAGE), Some(&xored[..]));
        let product = shared.times(page, 0x80);
        // 3 * 2^7 = 0x180, less the polynomial.
        assert_eq!(shared.0.borrow().get(product, 0, 512), Some(&[0x9d; 512][..]));
        assert_eq!(shared.sum(page, Stamp::TORN), Stamp::TORN);
        let zeros = shared.over(Stamp { version: part, beneath: 0 }, ZEROS);
        assert_eq!(shared.0.borrow().get(zeros, 0, 512), Some(&[0; 512][..]));
    }

    #[test]
    fn what_nobody_wants_is_free_again() {
        let shared = Shared::new(8);
        let mut ledger = shared.0.borrow_mut();
        let stamps: Vec<u32> = (0..4).map(|byte| ledger.put(0, &[byte; PAGE])).collect();
        let mut wanted = vec![false; 5];
        wanted[stamps[2] as usize] = true;
        ledger.keep(wanted);
        assert_eq!(ledger.taken(), 2);
        assert_eq!(ledger.get(stamps[2], 0, 512), Some(&[2; 512][..]));
        assert_eq!(ledger.get(stamps[1], 0, 512), None);
        assert_eq!(ledger.get(ZEROS, 0, PAGE), Some(&[0; PAGE][..]), "zeros stay");
        ledger.put(0, &[9; PAGE]);
        assert_eq!(ledger.memory_bytes(), 5 * PAGE as u64, "a place is used again");
    }
}
