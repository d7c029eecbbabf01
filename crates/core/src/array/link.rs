//! Members as an array reaches them, and what the stamps stand for that it computes with.
//!
//! In the model a member is a drive behind its NVMe controller, and a stamp is four bytes of a
//! page. Where an array's members are elsewhere, a stamp is the name of a page's bytes, which
//! [`Matter`] keeps: the array is the same.

use super::{Array, parity};
use crate::drive::{Attributed, Command, Completion, Stamp};
use crate::nvme::Controller;
use crate::nvme::plm::{Config, Window};
use crate::units::{Instant, Member};
use std::fmt::Debug;

/// A member as its array reaches it.
pub trait MemberLink: Debug {
    /// The pages behind its stamps.
    type Matter: Matter;

    /// The command arrives at `now`.
    fn submit(&mut self, now: Instant, command: Command);

    /// Does what is due before `limit`, up to the first completion.
    fn advance_before(&mut self, limit: Instant) -> Option<Completion>;

    /// When something is due next.
    fn next_event_at(&self) -> Instant;

    /// Sets feature 13h; its times are those of the array.
    fn set_predictable(&mut self, now: Instant, config: &Config);

    /// Sets feature 14h: granted now or later.
    fn select_window(&mut self, now: Instant, window: Window);

    /// Everything before `limit` was seen.
    fn is_seen(&mut self, _limit: Instant) {}

    /// Where the time of the command went that completed last, if it keeps books.
    fn attributed(&self) -> Option<&Attributed> {
        None
    }

    /// Since when it takes no writes, as far as it says.
    fn read_only_at(&self) -> Option<Instant> {
        None
    }
}

/// The pages that stamps stand for, and the arithmetic of redundancy on them. Stamp 0 is a page of
/// zeros, [`Stamp::TORN`] one that is not known.
pub trait Matter: Debug {
    /// The sum of two pages in GF(2^8), byte by byte: their XOR.
    fn sum(&mut self, a: u32, b: u32) -> u32;

    /// Each byte of a page times `factor` in GF(2^8).
    fn times(&mut self, page: u32, factor: u8) -> u32;

    /// A write, of a page's part or of more than one, over what lies beneath.
    fn over(&mut self, write: Stamp, beneath: u32) -> u32;

    /// The page as a member brought it, under a write of the whole page, or of a part, that the
    /// member need not have had.
    fn overlaid(&mut self, page: u32, write: Stamp, whole: bool) -> u32;
}

impl MemberLink for Controller {
    type Matter = Stamps;

    #[inline]
    fn submit(&mut self, now: Instant, command: Command) {
        Controller::submit(self, now, command);
    }

    #[inline]
    fn advance_before(&mut self, limit: Instant) -> Option<Completion> {
        Controller::advance_before(self, limit)
    }

    #[inline]
    fn next_event_at(&self) -> Instant {
        Controller::next_event_at(self)
    }

    fn set_predictable(&mut self, now: Instant, config: &Config) {
        Controller::set_predictable(self, now, config, true)
            .expect("validated: N, TW and guard fit the feature");
    }

    fn select_window(&mut self, now: Instant, window: Window) {
        // Granted now or, where the shortest non-deterministic window is not over, later.
        let _ = Controller::select_window(self, now, window, 0);
    }

    #[inline]
    fn is_seen(&mut self, limit: Instant) {
        self.drive_mut().is_seen(limit);
    }

    fn attributed(&self) -> Option<&Attributed> {
        self.drive().attributed()
    }

    fn read_only_at(&self) -> Option<Instant> {
        self.drive().counters().faults.read_only_at
    }
}

/// Stamps that are what they stand for: four bytes of a page, a version.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stamps;

impl Matter for Stamps {
    #[inline]
    fn sum(&mut self, a: u32, b: u32) -> u32 {
        a ^ b
    }

    #[inline]
    fn times(&mut self, page: u32, factor: u8) -> u32 {
        parity::times(page, factor)
    }

    /// A write that expects another version beneath it makes a torn page.
    #[inline]
    fn over(&mut self, write: Stamp, beneath: u32) -> u32 {
        if write.beneath == beneath { write.version } else { Stamp::TORN }
    }

    /// Versions grow: a member that brought a newer one had the write.
    #[inline]
    fn overlaid(&mut self, page: u32, write: Stamp, whole: bool) -> u32 {
        match (page >= write.version, whole) {
            (true, _) => page,
            (false, true) => write.version,
            (false, false) => self.over(write, page),
        }
    }
}

/// Links that are heard from beside the array's own calls.
impl<L: MemberLink> Array<L> {
    /// Does something with a member's link, which may be due afterwards.
    pub fn with_link<T>(&mut self, member: Member, action: impl FnOnce(&mut L) -> T) -> T {
        let member = &mut self.members[member.index()];
        let done = action(member.link_mut());
        member.look();
        done
    }

    /// The link to a member.
    pub fn link(&self, member: Member) -> &L {
        self.members[member.index()].link()
    }

    /// The pages behind the stamps.
    pub fn matter_mut(&mut self) -> &mut L::Matter {
        &mut self.matter
    }

    /// Tells each stamp that the array may still ask for; some that it may not, too.
    pub fn each_stamp(&self, mut tell: impl FnMut(u32)) {
        self.rows.each_stamp(&mut tell);
        for piece in self.pieces.places() {
            self.pieces[piece].overlays.iter().for_each(|(_, stamp, _)| tell(stamp.version));
        }
        for rebuild in self.rebuilds.places() {
            self.rebuilds[rebuild].stamps.iter().flatten().flatten().copied().for_each(&mut tell);
        }
        for request in self.requests.places() {
            let request = &self.requests[request];
            let written = request.command.payload.iter().flatten().map(|stamp| stamp.version);
            let read = request.versions.iter().flatten().copied();
            written.chain(read).for_each(&mut tell);
        }
        let done = self.done.iter().flat_map(|done| done.payload.iter().flatten().copied());
        done.for_each(&mut tell);
    }
}
