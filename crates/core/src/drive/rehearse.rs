//! The busy remaining time as it will be (`drive.brt = "exact"`): a copy of the drive is played on,
//! and nothing else comes to it, until garbage collection lets go of the dies that the read needs.
//!
//! The definition of the busy remaining time turned into a way to find it: what a drive with
//! perfect foresight would answer, to compare the forecast of `gc/release.rs` with. Each failed
//! read copies the whole drive and plays what is left of a collection, so it is for small drives
//! and few reads.

use crate::drive::{BusyRemaining, Drive, PredictableLatency, RequestId};
use crate::units::Die;
use crate::units::{Duration, Instant};

/// When a read fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::drive) enum Moment {
    /// The controller begins it: all its pages count.
    Begins,
    /// It waits for a die, before which a collection comes.
    Waits { die: Die },
}

impl Drive {
    /// The number of the host's operation that the die works on; a later one has a higher number.
    pub(crate) fn host_operation(&self, now: Instant, die: Die) -> Option<u64> {
        let (op, _) = self.flash.operation_left(now, die)?;
        self.ops[op].class.is_of_host().then(|| self.ops[op].sequence)
    }

    /// For how long garbage collection keeps the request, which waits on the copy and comes to
    /// nothing here. At least 1 ns.
    pub(in crate::drive) fn rehearse(
        &self,
        now: Instant,
        request: RequestId,
        moment: Moment,
    ) -> Duration {
        let mut twin = self.clone();
        // Other reads fail there as they will here; for how long, nobody asks.
        twin.spec.brt = BusyRemaining::Forecast;
        twin.requests[request].command.predictable = PredictableLatency::MustWait;
        let dies: Vec<Die> = match moment {
            Moment::Waits { die } => vec![die],
            Moment::Begins => {
                let pages = (0..self.units(request))
                    .filter_map(|number| self.page_of_unit(request, number));
                pages
                    .map(|page| self.die_of_page(page))
                    .filter(|die| self.keeps(now, *die))
                    .collect()
            }
        };
        let channel = dies
            .iter()
            .map(|die| self.flash.gc_keeps_channel_for(now, *die))
            .max()
            .unwrap_or_default();
        if moment == Moment::Begins {
            twin.begin_read(now, request);
        }
        if let Some(predictable) = &mut twin.predictable {
            dies.iter().for_each(|die| predictable.gc_came(*die));
        }
        twin.event_is_over(now);
        let mut dies: Vec<_> =
            dies.into_iter().map(|die| (die, twin.host_operation(now, die))).collect();
        let mut at = now;
        loop {
            dies.retain(|(die, before)| {
                twin.keeps_die(at, *die) && twin.host_operation(at, *die) <= *before
            });
            let next = twin.next_event_at();
            if dies.is_empty() || next == Instant::NEVER {
                debug_assert!(dies.is_empty(), "garbage collection lets go of a die in the end");
                return at.since(now).max(channel).max(Duration::from_ns(1));
            }
            at = next;
            while twin.advance_before(at + Duration::from_ns(1)).is_some() {}
        }
    }
}
