//! Promises to the host, and whether a power loss broke one.
//!
//! Promised is a version of a page (a deallocation is one, too) from the completion that made it
//! durable: a write with FUA or of a drive that writes through, any of a drive with power-loss
//! protection, and whatever was acknowledged before a flush was submitted that then completed.
//! After a power loss a page may hold its promised version or a newer one that was submitted; and
//! from then on it holds what it held then, until it is written again.

use super::Oracle;
use crate::drive::{CommandId, DriveSpec};
use crate::units::Lpn;
use std::collections::BTreeMap;

/// The promises so far.
#[derive(Clone, Debug)]
pub(super) struct Promises {
    protected: bool,
    through: bool,
    promised: Vec<u32>,
    /// Acknowledged, not yet promised: the version.
    acknowledged: BTreeMap<u32, u32>,
    /// Of each flush under way, by the command's identifier: what it will promise.
    flushes: BTreeMap<CommandId, BTreeMap<u32, u32>>,
    /// Of each page what the last power loss left, and the newest version submitted before it.
    kept: Vec<u32>,
    floor: Vec<u32>,
}

/// A promise that was broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Broken {
    /// The page.
    pub lpn: Lpn,
    /// The version that it must hold at least.
    pub promised: u32,
    /// The newest submitted.
    pub submitted: u32,
    /// The version that it holds.
    pub left: u32,
}

impl std::fmt::Display for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { lpn, promised, submitted, left } = self;
        write!(f, "page {} holds version {left}; promised {promised}, submitted {submitted}", lpn.0)
    }
}

impl Promises {
    pub(super) fn command(&mut self, id: CommandId) {
        self.flushes.insert(id, self.acknowledged.clone());
    }

    /// A write or a deallocation completed.
    pub(super) fn written(&mut self, lpn: u32, version: u32, fua: bool, is_trim: bool) {
        if self.protected || (!is_trim && (fua || self.through)) {
            self.promise(lpn, version);
        } else {
            let newest = self.acknowledged.entry(lpn).or_insert(0);
            *newest = (*newest).max(version);
        }
    }

    pub(super) fn flushed(&mut self, id: CommandId) {
        for (lpn, version) in self.flushes.remove(&id).unwrap_or_default() {
            self.promise(lpn, version);
        }
    }

    fn promise(&mut self, lpn: u32, version: u32) {
        let promised = &mut self.promised[lpn as usize];
        *promised = (*promised).max(version);
        if self.acknowledged.get(&lpn).is_some_and(|newest| *newest <= version) {
            self.acknowledged.remove(&lpn);
        }
    }

    /// Whether a page that was to hold `at_least` may hold `got`, if nothing that was acknowledged
    /// since the last power loss decides it.
    pub(super) fn may_hold(
        &self,
        lpn: u32,
        at_least: u32,
        got: u32,
        newest: u32,
        trim: Option<u32>,
    ) -> Option<bool> {
        let (kept, floor) = (self.kept[lpn as usize], self.floor[lpn as usize]);
        if at_least > floor {
            return None;
        }
        let is_new = got > floor && got <= newest && trim != Some(got);
        Some(got == kept || is_new || (got == 0 && trim > Some(floor)))
    }

    /// The version beneath a partial write of a page whose newest submitted version is `newest`.
    pub(super) fn beneath(&self, lpn: u32, newest: u32) -> Option<u32> {
        (self.floor[lpn as usize] == newest).then_some(self.kept[lpn as usize])
    }
}

impl Oracle {
    /// Notes from now on what is promised by a drive with these settings. Call it before the first
    /// command.
    pub fn note_promises(&mut self, drive: &DriveSpec) {
        let start = self.submitted.clone();
        self.promises = Some(Box::new(Promises {
            protected: drive.power_loss_protection,
            through: drive.write_through,
            promised: start.clone(),
            acknowledged: BTreeMap::new(),
            flushes: BTreeMap::new(),
            kept: start,
            floor: self.submitted.clone(),
        }));
    }

    /// The promises that are broken if the pages hold what `left` says.
    pub fn broken_promises(&self, left: impl Fn(Lpn) -> u32) -> Vec<Broken> {
        let promises = self.promises.as_ref().expect("promises are noted");
        let pages = (0..).zip(&promises.promised).zip(&self.submitted);
        let broken = pages.map(|((lpn, promised), submitted)| Broken {
            lpn: Lpn(lpn),
            promised: *promised,
            submitted: *submitted,
            left: left(Lpn(lpn)),
        });
        broken.filter(|page| !self.may_return(page.lpn.0, page.promised, page.left)).collect()
    }

    /// The power failed and came back; the pages hold what `left` says, and no command is under
    /// way.
    pub fn power_came_back(&mut self, left: impl Fn(Lpn) -> u32) {
        self.pending.clear();
        if let Some(promises) = &mut self.promises {
            promises.kept = (0..self.submitted.len() as u32).map(|lpn| left(Lpn(lpn))).collect();
            promises.floor.clone_from(&self.submitted);
            promises.acknowledged.clear();
            promises.flushes.clear();
        }
    }
}
