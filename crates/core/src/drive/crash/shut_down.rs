//! An orderly shutdown: everything comes to flash, and what is left is the map and the versions
//! that it names.
//!
//! Write buffer and journal are written out as by a flush, whatever a capacitor would save. Then
//! the power goes, and the maps are made from what is on flash as after any loss, so a GC run that
//! was under way is void and a drive can be built anew from them.

use crate::drive::Drive;
use crate::drive::crash::recovery::CrashImage;
use crate::drive::face::command::Command;
use crate::ftl::recovery::Rebuilt;
use crate::ftl::{PageMap, Translation};
use crate::stats::PowerLossReport;
use crate::units::{Duration, Instant, Lba, Lpn, Op};

/// A drive at rest.
#[derive(Clone, Debug)]
pub struct Rest {
    /// Its map.
    pub map: PageMap,
    /// By logical page the version that flash holds; 0 is none.
    pub versions: Vec<u32>,
    /// When the last of it was on flash.
    pub at: Instant,
}

impl Drive {
    /// Shuts down from `now` on, before which everything has been done; no command is under way.
    /// The drive keeps what a recovery needs.
    pub fn shut_down(mut self, now: Instant) -> Rest {
        assert!(self.outstanding() == 0 && self.recovers(), "a drive shuts down at rest");
        self.spec.power_loss_protection = false;
        self.submit(now, Command::new(0, Op::Flush, Lba(0), 0));
        let mut at = now;
        while self.outstanding() > 0 && self.next_event_at() < Instant::NEVER {
            at = self.next_event_at().max(at) + Duration::from_ns(1);
            while self.advance_before(at).is_some() {}
        }
        self.power_cut(at).settle()
    }
}

impl CrashImage {
    /// The maps after the repairs, and what flash holds.
    fn settle(mut self) -> Rest {
        let Rebuilt { map, repairs, .. } = self.rebuild();
        self.repair(&repairs, Instant::NEVER, &mut PowerLossReport::default());
        let version = |lpn| match map.translate(Lpn(lpn)) {
            Translation::Unwritten => 0,
            Translation::Ready(ppn) => self.flash.load(ppn),
        };
        Rest { versions: (0..map.logical()).map(version).collect(), at: self.at, map }
    }
}
