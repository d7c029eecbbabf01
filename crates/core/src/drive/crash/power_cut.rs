//! Pages that a power loss would take: that are in the write buffer and not on flash.
//!
//! With power-loss protection (a capacitor; ttFlash, FAST '17, section 4.4) the buffer is written
//! out when the power fails, so nothing is lost. Without it a page falls back to what flash holds.
//! The maps are taken to survive (mapping is rebuilt from what the rows say), and a deallocation to
//! hold from its completion on. What a power loss does to a stripe under update (the write hole) is
//! not modelled, nor that to a row half programmed: its pages are in the buffer until its end, and
//! count as lost.

use crate::drive::Drive;
use crate::drive::buffer::slot::State;
use crate::ftl::Translation;
use crate::units::Lpn;

/// A page that a power loss at this instant would set back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AtRisk {
    /// The page.
    pub lpn: Lpn,
    /// The version in the buffer that would be lost (0 where the run carries no content).
    pub lost: u32,
    /// The version that flash holds; 0 is none.
    pub left: u32,
}

impl Drive {
    /// The pages that a power loss at this instant would set back, by number. Every acknowledged
    /// write that would be lost is among them; so are writes that are under way, of which the host
    /// was promised nothing yet.
    pub fn at_risk(&self) -> Vec<AtRisk> {
        if self.spec.power_loss_protection {
            return Vec::new();
        }
        let mut all = Vec::new();
        for slot in self.buffer.each_slot() {
            let s = self.buffer.slot(slot);
            if s.state != State::Free && self.buffer.find(s.lpn) == Some(slot) {
                all.push(AtRisk {
                    lpn: s.lpn,
                    lost: s.stamp.version,
                    left: self.left_after_power_loss(s.lpn),
                });
            }
        }
        all.sort_unstable_by_key(|page| page.lpn);
        all
    }

    /// The version of a page that flash holds, without the buffer; 0 is none.
    pub fn left_after_power_loss(&self, lpn: Lpn) -> u32 {
        match self.ftl.translate(lpn) {
            Translation::Unwritten => 0,
            Translation::Ready(ppn) => self.flash.load(ppn),
        }
    }
}
