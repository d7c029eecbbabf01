//! A glance at a drive at work, for who watches it: nothing is kept for it, and nothing changes.

use crate::drive::{Drive, Windows};
use crate::flash::Occupation;
use crate::units::{Channel, Instant};

/// A drive at an instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Glance {
    /// By die: its channel, and what it does.
    pub dies: Vec<(Channel, Occupation)>,
    /// Map units that can be programmed before anything is reclaimed, and all of flash.
    pub free_units: u64,
    /// Map units of flash.
    pub raw_units: u64,
    /// Commands under way or waiting inside.
    pub outstanding: u64,
    /// It keeps windows, and may collect now.
    pub may_collect: Option<bool>,
}

impl Drive {
    /// A look at the drive at `now`, before which everything has been done.
    pub fn glance(&self, now: Instant) -> Glance {
        let layout = &self.flash.layout;
        let dies =
            layout.each_die().map(|die| (layout.channel_of(die), self.flash.occupation(die)));
        let may_collect = self.gate.as_ref().and_then(|gate| match gate.windows {
            Windows::Off => None,
            Windows::Deterministic => Some(false),
            Windows::NonDeterministic => Some(true),
            Windows::Scheduled(schedule) => Some(schedule.is_busy(now)),
        });
        let free = self.ftl.each_pool().map(|pool| u64::from(self.ftl.free_units(pool)));
        Glance {
            dies: dies.collect(),
            free_units: free.sum(),
            raw_units: layout.total_units().into(),
            outstanding: self.outstanding() as u64,
            may_collect,
        }
    }
}
