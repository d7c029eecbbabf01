//! Reads that wait for nothing: the way of `read`, `dies/schedule` and `told` in one go.
//!
//! A read of one mapping unit that lies on flash and not in the write buffer, whose die is idle and
//! has no operation waiting, starts at once. In a drive without optional features nothing on the
//! way there and back asks about it, so this file does what is left (`told` has its end). In all
//! other cases it does nothing, and the read takes the way through the lists.

use crate::drive::dies::queues::{Class, FlashOp, Owner};
use crate::drive::face::request::Request;
use crate::drive::{Command, Drive, Op, PredictableLatency};
use crate::flash::{Operation, What};
use crate::ftl::Translation;
use crate::units::{Instant, Lpn};

/// Whether reads may take the direct way; found out at the first command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::drive) enum Direct {
    #[default]
    Unknown,
    Never,
    Possible,
}

impl Drive {
    /// True where no optional feature looks at single operations.
    #[inline]
    pub(in crate::drive) fn reads_directly(&mut self) -> bool {
        if self.direct == Direct::Unknown {
            self.direct = if self.is_plain() { Direct::Possible } else { Direct::Never };
        }
        self.direct == Direct::Possible
    }

    /// Starts a read whose die is idle. False where it has to wait, or needs more than one
    /// operation of the flash, or none: then nothing was done.
    #[inline]
    pub(in crate::drive) fn starts_directly(&mut self, now: Instant, command: &Command) -> bool {
        let Command { op: Op::Read, lba, sectors, predictable: PredictableLatency::Off, .. } =
            *command
        else {
            return false;
        };
        let shift = self.flash.layout.unit_shift;
        let page = lba.0 >> shift;
        if page >= u64::from(self.ftl.logical())
            || sectors == 0
            || (lba.0 + u64::from(sectors) - 1) >> shift != page
        {
            return false;
        }
        let lpn = Lpn(page as u32);
        if self.flash.has_trains() || self.buffer.find(lpn).is_some() {
            return false;
        }
        let Translation::Ready(ppn) = self.ftl.translate(lpn) else { return false };
        let lane = self.flash.layout.lane_of(self.flash.layout.block_of(ppn));
        let die = self.flash.layout.die_of(lane);
        if !self.is_free_for_host(die) {
            return false;
        }
        let mut request = Request::of(command);
        request.remaining = 1;
        debug_assert!(!self.flash.is_collecting(die), "die {die} is idle and open");
        let request = self.requests.insert(request);
        self.ftl.read_started(ppn);
        let owner = Owner::Request { request, first: 0 };
        let op = self.ops.insert(FlashOp::new(owner, Class::Read, lane, ppn, 1, sectors));
        self.next_sequence += 1;
        self.collector.direct_read_started(die);
        let what = What::Read { page: ppn, sectors };
        self.flash.start(now, die, Operation { what, token: op, gc: false });
        true
    }
}
