//! The client's memory: the regions of its table, mapped.
//!
//! The client writes to it whenever it likes. So nothing here is read twice to decide something,
//! no reference to its bytes leaves this file but to an atomic number, and every address is looked
//! up in the table.

use super::shrunk::Watched;
use super::wire::RegionEntry;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::fs::File;
use std::os::fd::OwnedFd;
use std::ptr::{self, NonNull};
use std::sync::atomic::AtomicU16;

/// The page that a mapping's offset is rounded to.
const MAP_PAGE: u64 = 4096;

/// Bytes of a mapped file.
#[derive(Debug)]
struct Mapping {
    start: NonNull<u8>,
    length: usize,
    watched: Watched,
}

impl Mapping {
    fn new(file: &File, offset: u64, length: usize) -> Result<Self, String> {
        let (protection, flags) =
            (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED | MapFlags::NORESERVE);
        // SAFETY: a new mapping at a place that the kernel chooses touches no memory of ours.
        let mapped = unsafe { mmap(ptr::null_mut(), length, protection, flags, file, offset) };
        let start = mapped.map_err(|error| format!("cannot be mapped: {error}"))?;
        let Some(start) = NonNull::new(start.cast::<u8>()) else {
            return Err("cannot be mapped at 0".into());
        };
        let Some(watched) = Watched::new(start.as_ptr() as usize, length) else {
            // SAFETY: it was mapped above, and nothing points into it.
            let _ = unsafe { munmap(start.as_ptr().cast(), length) };
            return Err("is one of too many".into());
        };
        Ok(Self { start, length, watched })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: it was mapped with this length, and what pointed into it went with its borrow.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.length) };
    }
}

/// A stretch of the client's memory.
#[derive(Debug)]
struct Region {
    guest: u64,
    size: u64,
    user: u64,
    /// First byte of the region in the mapping.
    head: usize,
    mapping: Mapping,
}

/// A table of regions.
#[derive(Debug, Default)]
pub(super) struct Memory {
    regions: Vec<Region>,
}

/// An address that lies in no region, or not wholly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Outside(pub u64);

impl Memory {
    /// Maps the regions of a table, each with its descriptor.
    pub fn new(entries: &[RegionEntry], files: Vec<OwnedFd>) -> Result<Self, String> {
        let mut regions: Vec<Region> = Vec::with_capacity(entries.len());
        for (number, (entry, file)) in entries.iter().zip(files).enumerate() {
            let region = Region::new(entry, &File::from(file))
                .map_err(|why| format!("region {number} of the memory table {why}"))?;
            let overlaps = |other: &Region| {
                region.guest < other.guest + other.size && other.guest < region.guest + region.size
            };
            if regions.iter().any(overlaps) {
                return Err(format!("region {number} of the memory table overlaps another"));
            }
            regions.push(region);
        }
        Ok(Self { regions })
    }

    /// The client has taken memory away that it had shown.
    pub fn is_lost(&self) -> bool {
        self.regions.iter().any(|region| region.mapping.watched.is_lost())
    }

    /// The guest's address of an address of the front-end's own.
    pub fn guest_of(&self, user: u64) -> Result<u64, Outside> {
        let within = |region: &&Region| user >= region.user && user - region.user < region.size;
        let region = self.regions.iter().find(within).ok_or(Outside(user))?;
        Ok(region.guest + (user - region.user))
    }

    /// Whether `length` bytes from an address on are the client's.
    pub fn check(&self, guest: u64, length: u64) -> Result<(), Outside> {
        self.pieces(guest, length, |_, _| {})
    }

    /// Fills `into` from an address on.
    pub fn read(&self, guest: u64, into: &mut [u8]) -> Result<(), Outside> {
        let mut to = into.as_mut_ptr();
        self.pieces(guest, into.len() as u64, |from, length| {
            // SAFETY: `pieces` gives places in a mapping, together as long as `into`, of which
            // `to` has come as far. The client may write meanwhile: the bytes are then any.
            unsafe {
                ptr::copy_nonoverlapping(from, to, length);
                to = to.add(length);
            }
        })
    }

    /// Writes `bytes` from an address on.
    pub fn write(&self, guest: u64, bytes: &[u8]) -> Result<(), Outside> {
        let mut from = bytes.as_ptr();
        self.pieces(guest, bytes.len() as u64, |to, length| {
            // SAFETY: as in `read`; the mapping is writable, and no memory of ours.
            unsafe {
                ptr::copy_nonoverlapping(from, to, length);
                from = from.add(length);
            }
        })
    }

    /// A number of the rings that the client looks at too.
    pub fn atomic(&self, guest: u64) -> Result<&AtomicU16, Outside> {
        let place = self.region(guest)?;
        let (left, at) = (place.size - (guest - place.guest), place.at(guest));
        if left < 2 || !at.cast::<u16>().is_aligned() {
            return Err(Outside(guest));
        }
        // SAFETY: the place is two bytes within a mapping that lives as long as `self`, aligned;
        // any bytes are a number. Ours is the only code that touches it otherwise, in `read` and
        // `write`, from one thread.
        Ok(unsafe { AtomicU16::from_ptr(at.cast()) })
    }

    fn region(&self, guest: u64) -> Result<&Region, Outside> {
        let within = |region: &&Region| guest >= region.guest && guest - region.guest < region.size;
        self.regions.iter().find(within).ok_or(Outside(guest))
    }

    /// The places of a range, which may lie in regions that follow each other.
    fn pieces(
        &self,
        guest: u64,
        length: u64,
        mut each: impl FnMut(*mut u8, usize),
    ) -> Result<(), Outside> {
        let (mut at, mut left) = (guest, length);
        while left > 0 {
            let region = self.region(at)?;
            let here = left.min(region.size - (at - region.guest));
            each(region.at(at), here as usize);
            left -= here;
            if left > 0 {
                at = at.checked_add(here).ok_or(Outside(guest))?;
            }
        }
        Ok(())
    }
}

impl Region {
    fn new(entry: &RegionEntry, file: &File) -> Result<Self, String> {
        let (guest, size, user) = (entry.guest.get(), entry.size.get(), entry.user.get());
        let offset = entry.offset.get();
        let end = offset.checked_add(size).filter(|_| size > 0);
        let has_ends = guest.checked_add(size).is_some() && user.checked_add(size).is_some();
        let Some(end) = end.filter(|_| has_ends) else {
            return Err(format!("has {size} bytes, which is none or beyond the last address"));
        };
        let about = file.metadata().map_err(|error| format!("cannot be looked at: {error}"))?;
        if !about.is_file() {
            return Err("comes with a descriptor of no file".into());
        }
        if about.len() < end {
            return Err(format!("ends at byte {end} of a file of {} bytes", about.len()));
        }
        let head = offset % MAP_PAGE;
        let length = usize::try_from(size + head).map_err(|_| format!("has {size} bytes"))?;
        let mapping = Mapping::new(file, offset - head, length)?;
        Ok(Self { guest, size, user, head: head as usize, mapping })
    }

    /// The place of an address within the region.
    fn at(&self, guest: u64) -> *mut u8 {
        let offset = self.head + (guest - self.guest) as usize;
        assert!(offset < self.mapping.length, "an address of another region");
        // SAFETY: the offset lies within the mapping.
        unsafe { self.mapping.start.as_ptr().add(offset) }
    }
}
