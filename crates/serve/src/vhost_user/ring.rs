//! A split queue: what the driver made available, and what the device has used (Virtio 1.2, 2.7).

use super::chain::{self, Span};
use super::memory::{Memory, Outside};
use super::wire::UsedEntry;
use rustix::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{Ordering, fence};
use zerocopy::IntoBytes;

/// Bit of the available ring's flags: the driver wants no notification.
const NO_INTERRUPT: u16 = 1;

/// Where the rings of a queue lie, as the guest's addresses.
#[derive(Clone, Copy, Debug)]
pub(super) struct Places {
    pub descriptors: u64,
    pub available: u64,
    pub used: u64,
}

/// One queue.
#[derive(Debug, Default)]
pub(super) struct Ring {
    pub size: u16,
    pub places: Option<Places>,
    /// The next entry of the available ring to take.
    pub next: u16,
    /// The available ring's index as it was last seen.
    seen: u16,
    /// The next entry of the used ring to fill.
    used: u16,
    pub kick: Option<OwnedFd>,
    pub call: Option<OwnedFd>,
    pub is_enabled: bool,
    pub is_started: bool,
    /// It may have entries that were not taken.
    pub is_pending: bool,
    /// Entries that were taken and not answered.
    pub in_flight: u16,
    /// How often it was stopped: what was taken before is answered no more.
    pub stops: u32,
    /// The notifications follow indexes, and chains may be tables.
    pub has_event_index: bool,
    pub has_tables: bool,
}

impl Ring {
    /// Begins, with the entries that the used ring has.
    pub fn start(&mut self, memory: &Memory) -> Result<(), String> {
        let Some(places) = self.places.filter(|_| self.size > 0) else {
            return Err("is started without a size and addresses".into());
        };
        let size = u64::from(self.size);
        for (place, length, alignment) in [
            (places.descriptors, 16 * size, 16),
            (places.available, 6 + 2 * size, 2),
            (places.used, 6 + 8 * size, 4),
        ] {
            memory.check(place, length).map_err(outside)?;
            if !place.is_multiple_of(alignment) {
                return Err(format!("has a ring at {place:#x}, no multiple of {alignment}"));
            }
        }
        let index = memory.atomic(places.used + 2).map_err(outside)?;
        (self.used, self.seen) = (index.load(Ordering::Acquire), self.next);
        (self.is_started, self.is_pending) = (true, true);
        Ok(())
    }

    /// Ends; what was taken is answered no more.
    pub fn stop(&mut self) {
        (self.is_started, self.is_pending, self.in_flight) = (false, false, 0);
        self.stops = self.stops.wrapping_add(1);
        self.kick = None;
    }

    /// Entries are taken from it.
    pub fn runs(&self) -> bool {
        self.is_started && self.is_enabled
    }

    /// The first descriptor of the next chain, if there is one; without one the driver is asked to
    /// notify of the next.
    pub fn take(&mut self, memory: &Memory) -> Result<Option<u16>, String> {
        let Some(places) = self.places else { return Ok(None) };
        let index = memory.atomic(places.available + 2).map_err(outside)?;
        if self.seen == self.next {
            self.seen = index.load(Ordering::Acquire);
            if self.seen == self.next && self.has_event_index {
                let event = places.used + 4 + 8 * u64::from(self.size);
                memory.atomic(event).map_err(outside)?.store(self.next, Ordering::Release);
                // The driver looks at the event after it moved its index: one of us sees the other.
                fence(Ordering::SeqCst);
                self.seen = index.load(Ordering::Acquire);
            }
            if self.seen == self.next {
                return Ok(None);
            }
            let ahead = self.seen.wrapping_sub(self.next);
            if ahead > self.size {
                return Err(format!("has {ahead} new entries, more than its size {}", self.size));
            }
        }
        if self.in_flight >= self.size {
            return Err(format!("has more than {} chains under way", self.size));
        }
        let at = places.available + 4 + 2 * u64::from(self.next % self.size);
        let head = memory.atomic(at).map_err(outside)?.load(Ordering::Relaxed);
        self.next = self.next.wrapping_add(1);
        self.in_flight += 1;
        Ok(Some(head))
    }

    /// The buffers of the chain that begins with a descriptor.
    pub fn chain(
        &self,
        memory: &Memory,
        head: u16,
        readable: &mut Vec<Span>,
        writable: &mut Vec<Span>,
    ) -> Result<(), String> {
        let Some(places) = self.places else { return Err("has no addresses".into()) };
        let table = chain::Table { at: places.descriptors, size: self.size.into() };
        chain::walk(memory, table, head, self.has_tables, readable, writable)
    }

    /// Gives a chain back, into which `length` bytes were written, and notifies the driver if it
    /// wants that; whether it does.
    pub fn give(&mut self, memory: &Memory, head: u16, length: u32) -> Result<bool, Outside> {
        let Some(places) = self.places else { return Ok(false) };
        self.in_flight = self.in_flight.saturating_sub(1);
        let at = places.used + 4 + 8 * u64::from(self.used % self.size);
        let entry = UsedEntry { head: u32::from(head).into(), length: length.into() };
        memory.write(at, entry.as_bytes())?;
        let before = self.used;
        self.used = before.wrapping_add(1);
        memory.atomic(places.used + 2)?.store(self.used, Ordering::Release);
        // The driver moves its event, or its flag, before it looks at the index.
        fence(Ordering::SeqCst);
        let wants = if self.has_event_index {
            let event = places.available + 4 + 2 * u64::from(self.size);
            memory.atomic(event)?.load(Ordering::Acquire) == before
        } else {
            memory.atomic(places.available)?.load(Ordering::Acquire) & NO_INTERRUPT == 0
        };
        if wants && let Some(call) = &self.call {
            // A counter or a pipe that is full has notified already.
            let _ = io::write(call, &1u64.to_ne_bytes());
        }
        Ok(wants)
    }
}

/// An address beyond the table, in words.
pub(super) fn outside(Outside(at): Outside) -> String {
    format!("points at {at:#x}, which is not in the memory table, or not aligned")
}
