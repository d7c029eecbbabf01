//! The memory in which the calendar and a guest keep time: `struct um_timetravel_schedshm`,
//! version 2. With it a guest that may run on sends no message, and its requests are a store.

use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::io;
use std::os::fd::OwnedFd;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, Ordering};

/// Version of the structure.
const VERSION: u32 = 2;

/// A version that no guest takes: it goes on with messages.
const NO_VERSION: u32 = 0;

/// Bytes of the header, and of a client's entry.
const HEAD: usize = 4096;
const ENTRY: usize = 128;

/// Entries: the calendar is the first, the guest the second.
const CLIENTS: usize = 2;
const LENGTH: usize = HEAD + CLIENTS * ENTRY;

/// Numbers of the entries.
const CALENDAR: u16 = 0;
pub(super) const GUEST: u16 = 1;

/// Places in the header.
const LEN: usize = 4;
const FREE_UNTIL: usize = 8;
const CURRENT: usize = 16;
const RUNNING: usize = 24;
const MAX_CLIENTS: usize = 26;

/// Places in an entry.
const CAPABILITIES: usize = 0;
const FLAGS: usize = 4;
const REQUEST: usize = 8;

/// Capability: time is shared here.
const TIME_SHARE: u32 = 1;

/// Flag: there is a request.
const HAS_REQUEST: u32 = 1;

/// The memory.
#[derive(Debug)]
pub(super) struct Shared {
    pub file: OwnedFd,
    start: NonNull<u8>,
}

impl Shared {
    /// New memory at time 0; without `is_offered` no guest takes it.
    pub fn new(is_offered: bool) -> io::Result<Self> {
        let file = memfd_create("manx-calendar", MemfdFlags::CLOEXEC)?;
        ftruncate(&file, LENGTH as u64)?;
        let (protection, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
        // SAFETY: a new mapping at a place that the kernel chooses touches no memory of ours.
        let start = unsafe { mmap(ptr::null_mut(), LENGTH, protection, flags, &file, 0) }?;
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        let shared = Self { file, start };
        let version = if is_offered { VERSION } else { NO_VERSION };
        shared.number32(0).store(version, Ordering::SeqCst);
        shared.number32(LEN).store(LENGTH as u32, Ordering::SeqCst);
        shared.number16(MAX_CLIENTS).store(CLIENTS as u16, Ordering::SeqCst);
        shared.number32(HEAD + CAPABILITIES).store(TIME_SHARE, Ordering::SeqCst);
        Ok(shared)
    }

    /// The guest keeps its time here.
    pub fn is_taken(&self) -> bool {
        self.number32(Self::guest(CAPABILITIES)).load(Ordering::SeqCst) & TIME_SHARE != 0
    }

    /// The time that was told last.
    pub fn current(&self) -> u64 {
        self.number64(CURRENT).load(Ordering::SeqCst)
    }

    /// The guest runs at `now`, and on by itself before `free_until`.
    pub fn give(&self, now: u64, free_until: u64) {
        self.number64(CURRENT).store(now, Ordering::SeqCst);
        self.number64(FREE_UNTIL).store(free_until, Ordering::SeqCst);
        self.number16(RUNNING).store(GUEST, Ordering::SeqCst);
    }

    /// The guest may run on by itself before `free_until`, no longer.
    pub fn limit(&self, free_until: u64) {
        self.number64(FREE_UNTIL).store(free_until, Ordering::SeqCst);
    }

    /// The calendar has the word at `now`, while the guest waits.
    pub fn take(&self, now: u64) {
        self.number16(RUNNING).store(CALENDAR, Ordering::SeqCst);
        self.number64(CURRENT).store(now, Ordering::SeqCst);
    }

    /// When the guest wants to run, if it does.
    pub fn request(&self) -> Option<u64> {
        let flags = self.number32(Self::guest(FLAGS)).load(Ordering::SeqCst);
        let at = self.number64(Self::guest(REQUEST)).load(Ordering::SeqCst);
        (flags & HAS_REQUEST != 0).then_some(at)
    }

    fn guest(place: usize) -> usize {
        HEAD + usize::from(GUEST) * ENTRY + place
    }

    fn number16(&self, place: usize) -> &AtomicU16 {
        // SAFETY: as in `number64`.
        unsafe { AtomicU16::from_ptr(self.start.as_ptr().add(place).cast()) }
    }

    fn number32(&self, place: usize) -> &AtomicU32 {
        // SAFETY: as in `number64`.
        unsafe { AtomicU32::from_ptr(self.start.as_ptr().add(place).cast()) }
    }

    fn number64(&self, place: usize) -> &AtomicU64 {
        // SAFETY: every place is a constant within the mapping, which lives as long as `self`, and
        // aligned; this side touches it by atomic numbers only.
        unsafe { AtomicU64::from_ptr(self.start.as_ptr().add(place).cast()) }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: it was mapped with this length, and what pointed into it went with its borrow.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), LENGTH) };
    }
}
