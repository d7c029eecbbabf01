//! How an erase or a program gives way to reads: the policy that chooses, and the die that is
//! asked.
//!
//! Kim et al., Practical Erase Suspension for Modern Low-latency SSDs, USENIX ATC '19, section 2;
//! `es`, and all of programs, is Wu & He, FAST '12. Host reads ask; programs and garbage collection
//! never do (its reads may, by `gc_reads`), nor the reads that fill a partly written page, which
//! serve a write. A suspended die serves those who may ask and nobody else, and what is suspended
//! goes on when none waits: a die has one suspended operation at most. While a collection keeps the
//! host from the die's channel (`base`, `controller`) nobody could read, so nobody asks.
//!
//! A stop that the policy deferred to a safe point serves the reads that waited there and no later
//! ones: each stop is followed by progress (`d-es`; `ips`, by our choice). The same once the time
//! of `t-es` is over while reads keep an erase suspended.
//!
//! The limits of the part are the die's: what they forbid it is not asked for.

use crate::drive::dies::queues::Owner;
use crate::drive::spec::{EraseLength, EraseMode, EraseSpec, ProgramMode, ProgramSpec};
use crate::drive::{Drive, OpId};
use crate::flash::{
    EraseLengths, ProgramSuspensionTimes, Progress, Stop, Suspendable, SuspensionLimits,
    SuspensionTimes,
};
use crate::sim::Rng;
use crate::units::Die;
use crate::units::{Duration, Instant};

/// Ways in which a read interrupts an erase or a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Choice {
    /// Stop the part under way.
    Stop(Stop),
    /// Wait for its next safe point.
    Defer,
}

/// The policy, and what the dies serve.
#[derive(Clone, Debug)]
pub(in crate::drive) struct Suspension {
    erases: EraseMode,
    /// Of `t-es`.
    timeout: Duration,
    programs: ProgramMode,
    /// Reads of garbage collection suspend erases, and programs.
    gc_reads: [bool; 2],
    /// By die: the last operation, in order of arrival, that what it has suspended lets pass.
    last_served: Vec<u64>,
}

impl Suspension {
    fn new(dies: u32) -> Self {
        let (erases, programs) = (EraseMode::None, ProgramMode::None);
        let last_served = vec![0; dies as usize];
        Self { erases, timeout: Duration::ZERO, programs, gc_reads: [false; 2], last_served }
    }

    /// True where the policy lets reads interrupt operations of this kind. Erases of different
    /// lengths go by steps too.
    pub fn gives_way(&self, kind: Suspendable) -> bool {
        match kind {
            Suspendable::Erase => self.erases != EraseMode::None,
            Suspendable::Program => self.programs != ProgramMode::None,
        }
    }

    /// The way in which a read interrupts at `now` an operation that was issued at `issued`.
    fn choose(&self, now: Instant, kind: Suspendable, issued: Instant) -> Choice {
        if kind == Suspendable::Program {
            return match self.programs {
                ProgramMode::Ideal => Choice::Stop(Stop::Free),
                ProgramMode::Ipc => Choice::Stop(Stop::Discard),
                ProgramMode::Ips | ProgramMode::None => Choice::Defer,
            };
        }
        match self.erases {
            EraseMode::Ideal => Choice::Stop(Stop::Free),
            EraseMode::Es => Choice::Stop(Stop::Keep),
            EraseMode::IEs => Choice::Stop(Stop::Discard),
            EraseMode::TEs if now.since(issued) < self.timeout => Choice::Stop(Stop::Discard),
            EraseMode::TEs | EraseMode::DEs | EraseMode::None => Choice::Defer,
        }
    }
}

impl Drive {
    /// Erases give way as `spec` says.
    pub(in crate::drive) fn suspend_erases(&mut self, spec: &EraseSpec) {
        if spec.mode == EraseMode::None {
            return;
        }
        let EraseSpec { mode, timeout, suspend, resume, verify, gc_reads, safe_points, .. } = *spec;
        let limits = SuspensionLimits::new(spec.max_suspensions, spec.min_run);
        let commands = mode != EraseMode::Ideal;
        let times = SuspensionTimes { suspend, resume, verify, safe_points, limits, commands };
        self.flash.allow_suspension(times);
        let suspension = self.suspension_mut();
        (suspension.erases, suspension.timeout, suspension.gc_reads[0]) = (mode, timeout, gc_reads);
    }

    /// Programs give way as `spec` says.
    pub(in crate::drive) fn suspend_programs(&mut self, spec: &ProgramSpec) {
        let ProgramSpec { mode, loops, verify_percent, suspend, resume, gc_reads, .. } = *spec;
        let (suspend, resume) = match mode {
            ProgramMode::None => return,
            ProgramMode::Ideal => (Duration::ZERO, Duration::ZERO),
            ProgramMode::Ips | ProgramMode::Ipc => (suspend, resume),
        };
        self.flash.allow_program_suspension(ProgramSuspensionTimes {
            loops,
            verify_percent,
            suspend,
            resume,
            limits: SuspensionLimits::new(spec.max_suspensions, spec.min_run),
            commands: mode != ProgramMode::Ideal,
        });
        let suspension = self.suspension_mut();
        (suspension.programs, suspension.gc_reads[1]) = (mode, gc_reads);
    }

    fn suspension_mut(&mut self) -> &mut Suspension {
        let dies = self.flash.layout.dies;
        // It looks at every die that works.
        self.direct.close();
        self.suspension.get_or_insert_with(|| Box::new(Suspension::new(dies)))
    }

    /// Erases take what their blocks need, if `spec` says so: the same under every policy of a
    /// seed. Call it after [`Drive::suspend_erases`] and before the first command.
    pub(in crate::drive) fn vary_erases(&mut self, spec: &EraseSpec, seed: u64) {
        if spec.length == EraseLength::Fixed {
            return;
        }
        let EraseSpec {
            need_least: least,
            need_spread: spread,
            need_all_at: full_at,
            fractions,
            shallow,
            ..
        } = *spec;
        let lengths =
            EraseLengths { least, spread, full_at, fractions, shallow, count: spec.verify };
        let mut rng = Rng::stream(seed, "erase lengths");
        self.flash.vary_erases(&lengths, self.ftl.block_erases(), || rng.unit());
    }

    /// The die is not idle: a waiting read may stop what it does, start in its place, or let it go
    /// on.
    #[inline(never)]
    pub(in crate::drive) fn give_way(&mut self, now: Instant, die: Die) {
        let Some(suspension) = &self.suspension else { return };
        let Some((kind, progress, issued)) = self.flash.suspendable_at(now, die) else { return };
        if !suspension.gives_way(kind) {
            return;
        }
        let (choice, here) = (suspension.choose(now, kind, issued), self.next_sequence);
        let last_served = if choice == Choice::Defer { here } else { u64::MAX };
        let served = match progress {
            // Reads may keep it for as long as the policy still would have stopped it.
            Progress::Suspended => suspension.last_served[die.index()].min(last_served),
            _ if self.flash.sends_stops(kind) => {
                match self.gives_way_by_command(now, die, kind, progress, choice) {
                    None => return,
                    Some(Progress::UnderWay) => u64::MAX,
                    Some(_) => last_served,
                }
            }
            _ if self.next_reader(die, kind, u64::MAX).is_none() => return,
            Progress::SafePoint => {
                self.flash.stop_at_safe_point(now, die);
                last_served
            }
            Progress::UnderWay => {
                let Choice::Stop(stop) = choice else { return };
                self.flash.stop_part(now, die, stop);
                u64::MAX
            }
        };
        if let Some(suspension) = &mut self.suspension {
            suspension.last_served[die.index()] = served;
        }
        if self.flash.is_suspended(die) {
            self.serve_suspended(now, die, kind, served);
        }
    }

    /// A stop is a command: it is sent for a read, and heeded when it has arrived. Where the die
    /// stops now: whether at a safe point or under way.
    #[inline(never)]
    fn gives_way_by_command(
        &mut self,
        now: Instant,
        die: Die,
        kind: Suspendable,
        progress: Progress,
        choice: Choice,
    ) -> Option<Progress> {
        let Some(sent) = self.flash.sent_stop(die) else {
            let reader = self.next_reader(die, kind, u64::MAX)?;
            let stop = match choice {
                Choice::Stop(stop) => Some(stop),
                Choice::Defer => None,
            };
            let gc = matches!(self.ops[reader].owner, Owner::ChainRead { .. });
            self.flash.send_stop(now, die, stop, gc);
            return None;
        };
        if sent.arrives > now {
            return None;
        }
        match (progress, sent.stop) {
            (Progress::SafePoint, _) => self.flash.stop_at_safe_point(now, die),
            (_, Some(stop)) => self.flash.stop_part(now, die, stop),
            (_, None) => return None,
        }
        Some(progress)
    }

    fn serve_suspended(&mut self, now: Instant, die: Die, kind: Suspendable, last_served: u64) {
        match self.next_reader(die, kind, last_served) {
            Some(op) => {
                let queues = &mut self.queues[die.index()];
                if queues.read.front() == Some(op) {
                    queues.read.pop(&self.ops);
                } else {
                    queues.gc.pop(&self.ops);
                }
                self.issue(now, die, op);
            }
            None => {
                self.flash.resume(now, die);
                if let Some(predictable) = &mut self.predictable {
                    predictable.gc_came(die);
                }
                // Reads that came too late for this stop ask for the next one.
                if self.flash.sends_stops(kind) {
                    self.give_way(now, die);
                }
            }
        }
    }

    /// The next read that may take the place of what the die does, if it came no later than `last`.
    fn next_reader(&self, die: Die, kind: Suspendable, last: u64) -> Option<OpId> {
        let queues = &self.queues[die.index()];
        let came_in_time = |op: &OpId| self.ops[*op].sequence <= last;
        let user = queues.read.front().filter(|_| !self.is_closed(die)).filter(came_in_time);
        user.or_else(|| {
            let gc = self
                .suspension
                .as_ref()
                .is_some_and(|suspension| suspension.gc_reads[kind as usize]);
            let is_read = |op: &OpId| matches!(self.ops[*op].owner, Owner::ChainRead { .. });
            queues.gc.front().filter(|_| gc).filter(is_read).filter(came_in_time)
        })
    }
}
