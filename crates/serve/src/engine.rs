//! Engines of a server: a model with its content, or an array whose drives are elsewhere.

use crate::control::Change;
use crate::desk::Served;
use crate::front::{Ask, Done, Stretch};
use crate::machine::Machine;
use crate::store::{Head, Store};
use manx_core::array::Array;
use manx_core::drive::Drive;
use manx_core::host::Records;
use manx_core::nvme::{AdminReply, Controller, Sqe};
use manx_core::stats::ArrayCounters;
use manx_core::units::Instant;
use std::os::fd::BorrowedFd;
use std::path::Path;

/// A request that is done, for its owner.
#[derive(Clone, Debug)]
pub struct Finished {
    /// The connection that asked.
    pub owner: u64,
    /// The request and how it ended.
    pub done: Done,
    /// When it came.
    pub came: Instant,
    /// When it was completed.
    pub at: Instant,
    /// Versions of a read, for each page that it touches, where the engine has them.
    pub(crate) versions: Box<[u32]>,
}

/// One drive or array with its data, which is told the time.
pub trait Engine {
    /// Bytes of the device: whole pages.
    fn size(&self) -> u64;
    /// Bytes of a page.
    fn page_bytes(&self) -> u64;
    /// Hands in a request of `owner` at `now`, before which everything has been done.
    fn submit(&mut self, now: Instant, owner: u64, ask: Ask, data: &[u8]);
    /// Does what is due before `limit`, up to the first request that is done.
    fn advance_before(&mut self, limit: Instant) -> Option<Finished>;
    /// Appends the bytes of a read that was the last to be handed out.
    fn data(&self, finished: &Finished, out: &mut Vec<u8>);
    /// Stretches of a range: where a client wrote bytes, and where it reads as zeros.
    fn stretches(&self, offset: u64, length: u64, most: usize) -> Vec<Stretch>;
    /// Whether zeros can be had by deallocating.
    fn zeros_are_fast(&self) -> bool;
    /// Requests under way.
    fn under_way(&self) -> usize;
    /// When something is due next.
    fn next_event_at(&self) -> Instant;
    /// Everything before this instant has been done.
    fn done_until(&self) -> Instant;
    /// Bytes of memory for what clients wrote, or have under way.
    fn content_bytes(&self) -> u64;
    /// Records that wait to be taken.
    fn records(&self) -> usize;
    /// Records since this was last asked, if they are kept.
    fn take_records(&mut self) -> Option<Records>;

    /// True where events are due in their time, also while nothing is asked.
    fn keeps_time(&self) -> bool {
        false
    }
    /// A read that brought what it may not, in words.
    fn first_mismatch(&self) -> Option<&str> {
        None
    }
    /// The NVMe controller in front of it, if there is one.
    fn controller(&mut self) -> Option<&mut Controller> {
        None
    }
    /// The answer of its NVMe controller to an admin command at `now`, before which everything has
    /// been done; `None`: there is none.
    fn admin(&mut self, _now: Instant, _sqe: &Sqe, _data: &[u8]) -> Option<AdminReply> {
        None
    }
    /// The controller has answered an admin command later.
    fn has_news(&self) -> bool {
        false
    }
    /// Drives of the model.
    fn drives(&self) -> usize {
        0
    }
    /// One of them.
    fn drive(&self, number: usize) -> Option<&Drive>;
    /// Counters of an array.
    fn array_counters(&self) -> Option<ArrayCounters> {
        None
    }

    /// The store that it lies in, if it does.
    fn store(&self) -> Option<&Store> {
        None
    }
    /// Before answers leave that are due before `now`: the store keeps what led to them; a reason
    /// why not is told once.
    fn commit(&mut self, _now: Instant) -> Option<String> {
        None
    }
    /// The log of the store is as long as it may be.
    fn is_log_full(&self) -> bool {
        false
    }
    /// The log becomes the base, when nothing is under way; the drive goes on, or ends.
    ///
    /// # Errors
    /// The store says why not.
    fn settle(&mut self, _now: Instant, _goes_on: bool) -> Result<(), String> {
        Ok(())
    }

    /// Writes the drive as it is, with its bytes, into a new store.
    ///
    /// # Errors
    /// It cannot be kept, or the folder cannot be written, in words.
    fn snapshot(&self, _now: Instant, _folder: &Path, _head: Head) -> Result<(), String> {
        Err("the drives are elsewhere: their own servers are to be asked".to_string())
    }

    /// Whether the settings may change so.
    ///
    /// # Errors
    /// Why not.
    fn may_change(&self, _change: &Change) -> Result<(), String> {
        Err("the drives are elsewhere: their own servers are to be asked".to_string())
    }
    /// The settings change at `now`, before which everything has been done.
    fn change(&mut self, _now: Instant, _change: &Change) {}

    /// Sockets to watch, for reading and for writing.
    fn sockets(&self) -> Vec<BorrowedFd<'_>> {
        Vec::new()
    }
    /// One of them has something.
    fn hear(&mut self, _socket: usize, _now: Instant) {}
    /// Sends what there is to send.
    fn send(&mut self, _now: Instant) {}
    /// Lines to tell.
    fn take_news(&mut self) -> Vec<String> {
        Vec::new()
    }
}

impl<S: Served> Engine for Machine<S> {
    fn size(&self) -> u64 {
        Machine::size(self)
    }

    fn page_bytes(&self) -> u64 {
        Machine::page_bytes(self)
    }

    fn submit(&mut self, now: Instant, owner: u64, ask: Ask, data: &[u8]) {
        Machine::submit(self, now, owner, ask, data);
    }

    fn advance_before(&mut self, limit: Instant) -> Option<Finished> {
        Machine::advance_before(self, limit)
    }

    fn data(&self, finished: &Finished, out: &mut Vec<u8>) {
        Machine::data(self, finished, out);
    }

    fn stretches(&self, offset: u64, length: u64, most: usize) -> Vec<Stretch> {
        Machine::stretches(self, offset, length, most)
    }

    fn zeros_are_fast(&self) -> bool {
        Machine::zeros_are_fast(self)
    }

    fn under_way(&self) -> usize {
        Machine::under_way(self)
    }

    fn next_event_at(&self) -> Instant {
        Machine::next_event_at(self)
    }

    fn done_until(&self) -> Instant {
        Machine::done_until(self)
    }

    fn content_bytes(&self) -> u64 {
        self.content().memory_bytes()
    }

    fn records(&self) -> usize {
        Machine::records(self)
    }

    fn take_records(&mut self) -> Option<Records> {
        Machine::take_records(self)
    }

    fn first_mismatch(&self) -> Option<&str> {
        Machine::first_mismatch(self)
    }

    fn controller(&mut self) -> Option<&mut Controller> {
        self.storage_mut().controller()
    }

    fn admin(&mut self, now: Instant, sqe: &Sqe, data: &[u8]) -> Option<AdminReply> {
        Machine::admin(self, now, sqe, data)
    }

    fn has_news(&self) -> bool {
        self.storage().has_news()
    }

    fn drives(&self) -> usize {
        self.storage().drives()
    }

    fn drive(&self, number: usize) -> Option<&Drive> {
        (number < self.storage().drives()).then(|| self.storage().drive(number))
    }

    fn array_counters(&self) -> Option<ArrayCounters> {
        self.storage().array().map(Array::counters)
    }

    fn store(&self) -> Option<&Store> {
        Machine::store(self)
    }

    fn commit(&mut self, now: Instant) -> Option<String> {
        Machine::commit(self, now)
    }

    fn is_log_full(&self) -> bool {
        Machine::is_log_full(self)
    }

    fn settle(&mut self, now: Instant, goes_on: bool) -> Result<(), String> {
        match goes_on {
            true => self.start_again(now),
            false => Machine::settle(self, now),
        }
    }

    fn snapshot(&self, now: Instant, folder: &Path, head: Head) -> Result<(), String> {
        Machine::snapshot(self, now, folder, head)
    }

    fn may_change(&self, change: &Change) -> Result<(), String> {
        if Machine::store(self).is_some() {
            return Err("--store replays the drive as it was made: nothing may change".to_string());
        }
        let has_marks = |number| self.storage().drive(number).has_marks();
        match change.is_paused && !(0..self.storage().drives()).all(has_marks) {
            true => Err("these GC runs begin at no watermark: they cannot be paused".to_string()),
            false => Ok(()),
        }
    }

    fn change(&mut self, now: Instant, change: &Change) {
        self.storage_mut().each_drive(&mut |drive| {
            drive.set_times(now, &change.device);
            if drive.has_marks() {
                drive.set_marks(now, &change.gc, change.is_paused);
            }
        });
    }
}
