//! The machine after a power loss: what a drive has left of what was written, as the next machine.
//!
//! Bytes that no read can bring any more may be what a drive comes back with; so a machine that is
//! to lose its power keeps every command that changes bytes.

use super::Machine;
use crate::content::Content;
use crate::front::{Ask, Kind};
use manx_core::drive::{Drive, Recovered, Rest, Storage};
use manx_core::stats::PowerLossReport;
use manx_core::units::Instant;

/// Commands that change bytes, in their order, over pages of zeros.
#[derive(Clone, Debug, Default)]
pub(super) struct Journal {
    /// Pages that held data at the start.
    held: Vec<bool>,
    commands: Vec<(Ask, Box<[u8]>)>,
}

impl Journal {
    pub fn note(&mut self, ask: &Ask, data: &[u8]) {
        if !matches!(ask.kind, Kind::Read | Kind::Flush) {
            self.commands.push((*ask, data.into()));
        }
    }
}

/// The remains after a power loss.
pub struct Crashed {
    /// The drive's recovery, and what was lost.
    pub report: PowerLossReport,
    /// The drive at rest: its map, and the version of each page.
    pub rest: Rest,
    /// The bytes of these versions.
    pub content: Content,
}

impl Machine<Drive> {
    /// A machine that can lose its power.
    pub fn losing_power(drive: Drive) -> Self {
        let pages = (Storage::sectors(&drive) / u64::from(drive.page_sectors())) as u32;
        let held = (0..pages).map(|page| drive.holds(page)).collect();
        let journal = Journal { held, commands: Vec::new() };
        Self { journal: Some(Box::new(journal)), ..Self::new(drive) }
    }

    /// The power fails at `at`, before which everything has been done: what would be left. The
    /// machine goes on as if nothing had been. `None`: it keeps no journal.
    pub fn crash(&self, at: Instant) -> Option<Crashed> {
        let journal = self.journal.as_ref()?;
        let Recovered { mut drive, ready, report } = self.storage.clone().power_cut(at).recover();
        drive.power_up(ready);
        let rest = drive.shut_down(ready);
        let pages = journal.held.len() as u32;
        let held = |page: u32| journal.held[page as usize];
        let mut content = Content::new(pages, self.page_sectors as u32, held);
        content.freeze(rest.versions.clone());
        for (ask, data) in &journal.commands {
            content.take(ask, data, self.zeros_are_fast());
        }
        content.carry(&rest.versions);
        Some(Crashed { report, rest, content })
    }

    /// The machine of a drive that came up again, with the bytes that it has.
    pub fn after(drive: Drive, content: Content) -> Self {
        Self::with_content(drive, content)
    }
}

#[cfg(test)]
mod tests;
