//! How an erase gives way to reads: the policy that chooses, and the die that is asked.
//!
//! Kim et al., Practical Erase Suspension for Modern Low-latency SSDs, USENIX ATC '19, section 2; `es` is Wu & He, FAST
//! '12. Host reads ask; programs and garbage collection never do (its reads may, by `gc_reads`), nor the reads that
//! fill a partly written page, which serve a write. A suspended die serves those who may ask and nobody else, and the
//! erase goes on when none waits. While a collection keeps the host from the die's channel (`base`, `controller`)
//! nobody could read, so nobody asks.
//!
//! A stop that the policy deferred to a safe point serves the reads that waited there and no later ones: each stop is
//! followed by progress. The same once the time of `t-es` is over while reads keep an erase suspended.

use super::Drive;
use super::queues::Owner;
use super::spec::{EraseLength, EraseMode, EraseSpec};
use crate::flash::{EraseLengths, ErasePoint, Stop, SuspensionTimes};
use crate::sim::Rng;
use crate::units::{Duration, Instant};

/// What a read may do to an erase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Choice {
    /// Stop its pulse.
    Stop(Stop),
    /// Wait for its next safe point.
    Defer,
}

/// The policy, and what the dies serve.
#[derive(Clone, Debug)]
pub(super) struct Suspension {
    mode: EraseMode,
    timeout: Duration,
    gc_reads: bool,
    /// By die: the last operation, in order of arrival, that its suspended erase lets pass.
    last_served: Vec<u64>,
}

impl Suspension {
    /// What a read may do at `now` to an erase issued at `issued`.
    fn choose(&self, now: Instant, issued: Instant) -> Choice {
        match self.mode {
            EraseMode::Ideal => Choice::Stop(Stop::Free),
            EraseMode::Es => Choice::Stop(Stop::Keep),
            EraseMode::IEs => Choice::Stop(Stop::Discard),
            EraseMode::TEs if now.since(issued) < self.timeout => Choice::Stop(Stop::Discard),
            EraseMode::TEs | EraseMode::DEs | EraseMode::None => Choice::Defer,
        }
    }
}

impl Drive {
    /// Erases give way as `spec` says. Call it before the first command.
    pub fn suspend_erases(&mut self, spec: &EraseSpec) {
        if spec.mode == EraseMode::None {
            return;
        }
        let EraseSpec { mode, timeout, suspend, resume, verify, gc_reads, safe_points, .. } = *spec;
        self.flash.allow_suspension(SuspensionTimes { suspend, resume, verify, safe_points });
        let last_served = vec![0; self.flash.layout.dies as usize];
        self.suspension = Some(Box::new(Suspension { mode, timeout, gc_reads, last_served }));
    }

    /// Erases take what their blocks need, if `spec` says so: the same under every policy of a seed. Call it after
    /// [`Drive::suspend_erases`] and before the first command.
    pub fn vary_erases(&mut self, spec: &EraseSpec, seed: u64) {
        if spec.length == EraseLength::Fixed {
            return;
        }
        let EraseSpec { need_least: least, need_spread: spread, need_all_at: full_at, fractions, shallow, .. } = *spec;
        let lengths = EraseLengths { least, spread, full_at, fractions, shallow, count: spec.verify };
        let mut rng = Rng::stream(seed, "erase lengths");
        self.flash.vary_erases(&lengths, self.ftl.block_erases(), || rng.unit());
    }

    /// The die is not idle: if it erases, a waiting read may stop it, start in its place, or let it go on.
    #[inline(never)]
    pub(super) fn erase_gives_way(&mut self, now: Instant, die: u32) {
        let Some((point, issued)) = self.flash.erase_at(now, die) else { return };
        let Some(suspension) = &self.suspension else { return };
        let (choice, here) = (suspension.choose(now, issued), self.next_sequence);
        let last_served = if choice == Choice::Defer { here } else { u64::MAX };
        let served = match point {
            // Reads may keep it for as long as the policy still would have stopped it.
            ErasePoint::Suspended => suspension.last_served[die as usize].min(last_served),
            _ if self.next_reader(die, u64::MAX).is_none() => return,
            ErasePoint::SafePoint => {
                self.flash.stop_at_safe_point(now, die);
                last_served
            }
            ErasePoint::UnderWay => {
                let Choice::Stop(stop) = choice else { return };
                self.flash.stop_pulse(now, die, stop);
                u64::MAX
            }
        };
        if let Some(suspension) = &mut self.suspension {
            suspension.last_served[die as usize] = served;
        }
        if self.flash.is_suspended(die) {
            self.serve_suspended(now, die, served);
        }
    }

    fn serve_suspended(&mut self, now: Instant, die: u32, last_served: u64) {
        match self.next_reader(die, last_served) {
            Some(op) => {
                let queues = &mut self.queues[die as usize];
                if queues.read.front() == Some(op) {
                    queues.read.pop(&self.ops);
                } else {
                    queues.gc.pop(&self.ops);
                }
                self.issue(now, die, op);
            }
            None => self.flash.resume_erase(now, die),
        }
    }

    /// The next read that may take an erase's place, if it came no later than `last`.
    fn next_reader(&self, die: u32, last: u64) -> Option<u32> {
        let queues = &self.queues[die as usize];
        let came_in_time = |op: &u32| self.ops[*op].sequence <= last;
        let user = queues.read.front().filter(|_| !self.collector.is_closed(die)).filter(came_in_time);
        user.or_else(|| {
            let gc = self.suspension.as_ref().is_some_and(|suspension| suspension.gc_reads);
            let is_read = |op: &u32| matches!(self.ops[*op].owner, Owner::ChainRead { .. });
            queues.gc.front().filter(|_| gc).filter(is_read).filter(came_in_time)
        })
    }
}
