//! The upkeep of stores by a server: what leads to an answer is kept before it leaves, and a long
//! log becomes its base.

use crate::engine::Engine;
use crate::server::Server;
use manx_core::units::{Duration, Instant};
use std::time;
use tracing::{error, info};

impl<E: Engine> Server<'_, E> {
    /// Stores keep what leads to the answers that are due.
    pub(crate) fn commit(&mut self, now: Instant) {
        if let Some(why) = self.fleet.commit(now) {
            error!("{why}");
        }
    }

    /// Once a second: an idle drive's progress is in the store, too; a log that is long becomes its
    /// base.
    pub(crate) fn keep(&mut self) {
        let until = self.fleet.done_until();
        if self.fleet.next_event_at() < Instant::NEVER {
            self.commit(until);
        }
        // Hosts of NVMe hold what a new controller would not know: events and windows that they
        // wait for.
        let has_hosts = !self.connections.is_empty() && self.fleet.has_controllers();
        if self.fleet.is_log_full() && !has_hosts {
            let began = time::Instant::now();
            let settled = self.settle(true);
            self.send_ready();
            if let Err(why) = settled {
                return error!("{why}");
            }
            let took = began.elapsed().as_secs_f64();
            info!("the store's log became its base: requests waited {took:.2} s");
        }
    }

    /// Requests under way end at once, in the model's time, and then logs become bases.
    pub(crate) fn settle(&mut self, goes_on: bool) -> Result<(), String> {
        if !self.fleet.has_stores() {
            return Ok(());
        }
        let mut now = self.clock.now().max(self.fleet.done_until());
        loop {
            self.commit(now);
            while let Some(finished) = self.fleet.advance_before(now) {
                self.give(&finished);
            }
            if self.fleet.under_way() == 0 {
                return self.fleet.settle(now, goes_on);
            }
            now = self.fleet.next_event_at().max(now) + Duration::from_ns(1);
        }
    }
}
