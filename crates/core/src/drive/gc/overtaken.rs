//! Reads that garbage collection overtook: they fail once the event is over.

use crate::drive::rehearse::Moment;
use crate::drive::{BusyRemaining, Drive, RequestId};
use crate::units::{Duration, Instant, Ppn};

impl Drive {
    /// An event is over: reads that must not wait for garbage collection and now would are failed.
    pub(in crate::drive) fn fail_overtaken(&mut self, now: Instant) {
        while let Some(op) = self.flash.next_behind_gc() {
            if let Some(request) = self.predictable_owner(op) {
                let die = self.flash.layout.die_of(self.ops[op].lane);
                let busy = self.flash.gc_keeps_channel_for(now, die);
                self.fail_late(now, request, busy);
            }
        }
        while let Some(die) =
            self.predictable.as_mut().and_then(|predictable| predictable.take_die())
        {
            while self.keeps(now, die)
                && let Some((request, page)) = self.waiting_on(die)
            {
                let busy = match self.spec.brt {
                    BusyRemaining::Forecast => self.brt_of(now, page),
                    BusyRemaining::Exact => self.rehearse(now, request, Moment::Waits { die }),
                };
                let is_other = !self.gc_keeps(now, die);
                self.counters.predictable.fast_fails_other += u64::from(is_other);
                self.fail_late(now, request, busy);
            }
        }
    }

    /// Fails a read that has begun, and withdraws its operations that still wait.
    fn fail_late(&mut self, now: Instant, request: RequestId, busy: Duration) {
        self.counters.predictable.fast_fails_late += 1;
        self.fail_fast(now, request, busy);
        let mut withdrawn = self.withdraw(request);
        if self.requests[request].remaining == 0 {
            self.requests.release(request);
        } else if let Some(predictable) = &mut self.predictable {
            predictable.failed += 1;
        }
        for op in withdrawn.drain(..) {
            let (lane, page, units) = (self.ops[op].lane, self.ops[op].ppn, self.ops[op].units);
            let die = self.flash.layout.die_of(lane);
            self.book_withdrawn(op);
            self.ops.release(op);
            self.collector.user_ended(die);
            self.read_left(now, die);
            for at in 0..units {
                self.end_of_read(now, Ppn(page.0 + at));
            }
            self.dispatch(now, die);
            self.poll_gc(now, die);
        }
        if let Some(predictable) = &mut self.predictable {
            predictable.found = withdrawn;
        }
    }
}
