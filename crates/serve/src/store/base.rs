//! The base of a store: the map of a drive at rest, and which pages have bytes.

use super::StoreError;
use std::fs;
use std::path::Path;

/// First bytes of the file.
const MAGIC: &[u8; 8] = b"MANXBAS1";

/// The drive as the log begins.
pub(super) struct Base {
    pages: u32,
    /// A bit a page: its bytes are in the file of data.
    has_bytes: Vec<u64>,
    /// As the drive wrote it.
    pub(super) map: Vec<u8>,
}

impl Base {
    pub(super) fn new(pages: u32, map: Vec<u8>) -> Self {
        Self { pages, has_bytes: vec![0; pages.div_ceil(64) as usize], map }
    }

    pub(super) fn has_bytes(&self, page: u32) -> bool {
        self.has_bytes[(page / 64) as usize] >> (page % 64) & 1 == 1
    }

    pub(super) fn set(&mut self, page: u32) {
        self.has_bytes[(page / 64) as usize] |= 1 << (page % 64);
    }

    /// Pages with bytes.
    pub(super) fn used(&self) -> u64 {
        self.has_bytes.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    pub(super) fn write(&self, path: &Path) -> Result<(), StoreError> {
        let mut out = Vec::with_capacity(32 + 8 * self.has_bytes.len() + self.map.len());
        out.extend_from_slice(MAGIC);
        out.extend_from_slice(&u64::from(self.pages).to_le_bytes());
        self.has_bytes.iter().for_each(|word| out.extend_from_slice(&word.to_le_bytes()));
        out.extend_from_slice(&self.map);
        let sum = crc32fast::hash(&out);
        out.extend_from_slice(&sum.to_le_bytes());
        fs::write(path, out).map_err(StoreError::at(path))
    }

    pub(super) fn read(path: &Path, pages: u32) -> Result<Self, StoreError> {
        let bytes = fs::read(path).map_err(StoreError::at(path))?;
        let words = pages.div_ceil(64) as usize;
        let damaged = |why: &str| StoreError::damaged(path, why);
        let (bytes, sum) = bytes.split_last_chunk::<4>().ok_or_else(|| damaged("it is cut"))?;
        if crc32fast::hash(bytes) != u32::from_le_bytes(*sum) {
            return Err(damaged("its checksum is wrong"));
        }
        let (head, rest) = bytes.split_at_checked(16).ok_or_else(|| damaged("it is cut"))?;
        if &head[..8] != MAGIC || head[8..] != u64::from(pages).to_le_bytes() {
            return Err(damaged("it is of another drive"));
        }
        let (bits, map) = rest.split_at_checked(8 * words).ok_or_else(|| damaged("it is cut"))?;
        let has_bytes = bits.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word));
        Ok(Self { pages, has_bytes: has_bytes.collect(), map: map.to_vec() })
    }
}
