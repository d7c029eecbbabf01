//! An erase or a program that gives way: the die's states between its first part and its last, as
//! mechanism. Who asks for a stop, and which stop, is the drive's choice
//! (`drive/dies/suspension.rs`).
//!
//! Sources: Kim et al., Practical Erase Suspension for Modern Low-latency SSDs, USENIX ATC '19,
//! section 2; Wu & He, Reducing SSD Read Latency via NAND Flash Program and Erase Suspension, FAST
//! '12 (erases that stop at any point; programs that stop between two phases or give one up).
//!
//! An operation is a row of parts; what lies between two of them is a *safe point*. An erase is
//! `erase_steps` steps (or those that its block needs, see `pulses`), each cut into `safe_points`
//! parts; at a safe point it stops and goes on at no cost. A stop inside a part costs `suspend`
//! (the voltage recovers) and, before the pulse goes on, `resume` (a ramp) or `verify`. A program
//! is `loops` loops of ISPP, each of two phases, a pulse and a verify. It stops at a safe point at
//! no cost, inside a phase for `suspend`; reads take the page register, so it goes on only after
//! `resume`, which brings its data back. A part that ends at this very instant is whole: the
//! operation stops at the safe point that follows. Parts have limits ([`SuspensionLimits`]): once
//! resumed it works for some time before it may be stopped again, and after the last stop that is
//! allowed it runs to its end. Where that time is over inside a part the die has a turn, as at a
//! safe point.
//!
//! A stop and a resumption are commands on the channel where the device gives these a time
//! (`suspend_commands`).
//!
//! Traps: while an operation is suspended the die is neither idle nor busy
//! ([`Flash::is_suspended`]): only what [`Flash::start`] is given then runs, and the caller resumes
//! it. Without [`Flash::allow_suspension`] and [`Flash::allow_program_suspension`] none of this
//! runs: an erase goes from step to step, a program has one end.

use super::activity::Act;
use super::blame::{Keeper, Whose};
use super::channel::Crossing;
use super::die::{OpId, Operation, Phase, What};
use super::fired::Fired;
use super::pulses::{EraseLengths, Pulses};
use super::stress::{BlockStress, Stress};
use super::suspendable::{Before, Erases, SuspensionLimits, Suspensions, Work};
use super::{
    Flash, ProgramSuspensionTimes, Progress, Stop, StopCommand, Suspendable, SuspensionTimes,
};
use crate::stats::SuspensionCounters;
use crate::units::Die;
use crate::units::{Duration, Instant, Ppn};

impl Flash {
    fn suspensions_mut(&mut self) -> &mut Suspensions {
        let dies = self.dies.len();
        self.suspensions.get_or_insert_with(|| Box::new(Suspensions::new(dies)))
    }

    /// The erase or program of a die that can be suspended, from its issue to its end.
    pub(super) fn suspendable_work(&self, slot: usize) -> Option<Operation> {
        self.suspensions.as_ref()?.dies[slot].map(|work| work.operation)
    }

    /// Lets erases be suspended from now on. Call it before the first operation.
    pub fn allow_suspension(&mut self, times: SuspensionTimes) {
        let pulses = Pulses::fixed(self.timing.erase_step, self.timing.erase_steps);
        let stress = Stress::new(self.layout.total_blocks());
        self.suspensions_mut().erases = Some(Erases { times, pulses, stress });
        self.suspends_erases = true;
        self.look_for_features();
    }

    /// Lets each erase take what its block needs; the blocks were erased so often each, and `draw`
    /// gives a number in [0, 1) for each. Call it after [`Flash::allow_suspension`], if that is
    /// wanted, and before the first operation.
    pub fn vary_erases(&mut self, of: &EraseLengths, erases: &[u32], draw: impl FnMut() -> f64) {
        if !self.suspends_erases {
            let (suspend, resume, verify) = (Duration::ZERO, Duration::ZERO, Duration::ZERO);
            let limits = SuspensionLimits::new(0, Duration::ZERO);
            let (safe_points, commands) = (1, false);
            let times = SuspensionTimes { suspend, resume, verify, safe_points, limits, commands };
            self.allow_suspension(times);
        }
        let (step, steps) = (self.timing.erase_step, self.timing.erase_steps);
        if let Some(all) = &mut self.suspensions_mut().erases {
            all.pulses = Pulses::varied(step, steps, of, erases.iter().copied(), draw);
        }
    }

    /// The longest that an erase takes if nothing suspends it.
    pub fn longest_erase(&self) -> Duration {
        let erases = self.suspensions.as_ref().and_then(|suspensions| suspensions.erases.as_ref());
        self.timing.erase()
            + erases.map_or(Duration::ZERO, |erases| erases.pulses.beyond_the_steps())
    }

    /// Stress of each block by its erases; empty where they cannot be suspended.
    pub fn stress(&self) -> &[BlockStress] {
        let erases = self.suspensions.as_ref().and_then(|suspensions| suspensions.erases.as_ref());
        erases.map_or(&[], |erases| erases.stress.blocks())
    }

    /// Lets programs be suspended from now on. Call it before the first operation. The cache
    /// register must be free for the data of reads, so no program is preloaded any more.
    pub fn allow_program_suspension(&mut self, times: ProgramSuspensionTimes) {
        self.suspensions_mut().programs = Some(times);
        (self.suspends_programs, self.watches_loads) = (true, true);
        self.look_for_features();
    }

    /// Suspensions so far, and their cost.
    pub fn suspensions(&self) -> SuspensionCounters {
        self.suspensions
            .as_ref()
            .map_or(SuspensionCounters::default(), |suspensions| suspensions.counters)
    }

    /// True when the die's operation is suspended and no read runs.
    #[inline]
    pub fn is_suspended(&self, die: Die) -> bool {
        self.dies[die.index()].phase == Phase::Suspended
    }

    /// The suspendable operation of the die, its progress, and when it was issued; `None` when it
    /// can be asked nothing: there is no such operation, its command or data is on the way, its
    /// part ends now, it is being suspended, a read runs in its place, or its limits forbid it.
    pub fn suspendable_at(
        &self,
        now: Instant,
        die: Die,
    ) -> Option<(Suspendable, Progress, Instant)> {
        let work = self.suspensions.as_ref()?.dies[die.index()].as_ref()?;
        let progress = match self.dies[die.index()].phase {
            Phase::Suspended => Progress::Suspended,
            _ if now < work.open_from => return None,
            Phase::Pulse if work.at_safe_point && work.since == now => Progress::SafePoint,
            Phase::Pulse if work.part_ends() > now => Progress::UnderWay,
            Phase::Resuming => Progress::UnderWay,
            _ => return None,
        };
        Some((work.kind, progress, work.issued))
    }

    /// True when the die works on the operation with this token, which was stopped as often as it
    /// may be.
    pub fn stops_no_more(&self, die: Die, token: OpId) -> bool {
        let Some(suspensions) = &self.suspensions else { return false };
        let work = suspensions.dies[die.index()].as_ref();
        work.is_some_and(|work| work.operation.token == token && suspensions.is_used_up(work))
    }

    /// The rest of the die's operation that can be suspended, if nothing suspends it again; `None`
    /// where it has none, or is not at it.
    pub(super) fn suspendable_left(&self, now: Instant, slot: usize) -> Option<Duration> {
        let suspensions = self.suspensions.as_ref()?;
        let work = suspensions.dies[slot].as_ref()?;
        let due = || self.timers.due(slot).map_or(Duration::ZERO, |at| at.since(now));
        let part = match self.dies[slot].phase {
            Phase::Pulse => work.part_ends().since(now),
            Phase::EraseCommand => due() + suspensions.length(work, 0),
            Phase::Resuming => work.resumed.since(now) + work.left,
            Phase::Suspending => due() + self.time_to_resume(work) + work.left,
            Phase::Suspended => self.time_to_resume(work) + work.left,
            _ => return None,
        };
        let later = work.part + 1..work.parts;
        Some(later.fold(part, |sum, part| sum + suspensions.length(work, part)))
    }

    /// True in the row that a suspended program of the die is about: it is neither old nor new.
    #[inline]
    pub(super) fn is_half_programmed(&self, die: Die, page: Ppn) -> bool {
        let work = self
            .suspensions
            .as_ref()
            .and_then(|suspensions| suspensions.dies[die.index()].as_ref());
        work.is_some_and(|work| match work.operation.what {
            What::Program { row: first, .. } => {
                let row = |page| (self.layout.block_of(page), self.layout.row_of(page));
                row(first) == row(page)
            }
            _ => false,
        })
    }

    fn work_of(&mut self, slot: usize) -> (&mut Suspensions, Work) {
        let suspensions = self.suspensions.as_mut().expect("suspension is allowed");
        let work =
            suspensions.dies[slot].expect("the die works on something that can be suspended");
        (suspensions, work)
    }

    fn work_begins(&mut self, slot: usize, kind: Suspendable, begins: Instant, whole: Duration) {
        let Some(suspensions) = &mut self.suspensions else { return };
        let (operation, issued, behind_gc) = self.dies[slot].issued();
        let (needed, parts) = match (kind, &suspensions.erases, &suspensions.programs) {
            (Suspendable::Erase, Some(erases), _) => {
                let needed = erases.pulses.needed(operation.block(&self.layout));
                (needed, erases.pulses.steps(needed) * erases.times.safe_points)
            }
            (Suspendable::Program, _, Some(times)) => (0, times.loops * 2),
            _ => return,
        };
        suspensions.dies[slot] = Some(Work {
            operation,
            kind,
            behind_gc,
            issued,
            whole,
            needed,
            parts,
            part: 0,
            left: Duration::ZERO,
            since: begins,
            works_since: begins,
            at_safe_point: false,
            before: Before::Nothing,
            suspensions: 0,
            open_from: Instant::START,
            resumed: Instant::START,
            sent: None,
        });
    }

    /// An erase is issued; its command is through at `begins`.
    pub(super) fn erase_issued(&mut self, slot: usize, begins: Instant) {
        self.work_begins(slot, Suspendable::Erase, begins, Duration::ZERO);
    }

    /// A program's data is in the page register: its first phase begins, unless a read goes first.
    pub(super) fn program_begins(&mut self, now: Instant, slot: usize, time: Duration) -> Fired {
        self.work_begins(slot, Suspendable::Program, now, time);
        if let Some(blame) = &mut self.blame {
            blame.array_begins(now, slot);
        }
        self.safe_point(now, slot, 0)
    }

    /// A timer of an operation that can be suspended.
    pub(super) fn suspendable_turn(&mut self, now: Instant, slot: usize) -> Fired {
        let phase = self.dies[slot].phase;
        let block = self.dies[slot].operation().block(&self.layout);
        let (suspensions, work) = self.work_of(slot);
        match phase {
            Phase::EraseCommand => self.safe_point(now, slot, 0),
            // It has worked for as long as it has to, or a command has come: it may be stopped now.
            Phase::Pulse if now < work.part_ends() => {
                self.timers.set(slot, work.next_turn(now));
                Fired::freed(slot)
            }
            Phase::Pulse if work.part + 1 == work.parts => {
                suspensions.dies[slot] = None;
                if let (Suspendable::Erase, Some(erases)) = (work.kind, &mut suspensions.erases) {
                    erases.ended(&work, block);
                }
                self.log_work(now, slot, &work);
                if let Some(blame) = &mut self.blame
                    && work.kind == Suspendable::Program
                    && !work.operation.gc
                {
                    blame.suspendable_ends(now, slot, work.whole);
                }
                self.finished(now, slot)
            }
            Phase::Pulse => {
                // A pulse of an erase is a slice; a program has too many phases for that.
                if work.kind == Suspendable::Erase {
                    self.log_work(now, slot, &work);
                }
                self.safe_point(now, slot, work.part + 1)
            }
            Phase::Suspending => {
                self.suspended(now, slot);
                Fired::freed(slot)
            }
            // A command has come.
            Phase::Resuming if now < work.resumed => {
                self.timers.set(slot, work.resumed);
                Fired::freed(slot)
            }
            Phase::Resuming => {
                self.log(slot, (work.since, now), Act::Resuming, &work.operation);
                self.goes_on(now, slot, false);
                // A command may have come at this very instant.
                if work.sent.is_some() { Fired::freed(slot) } else { Fired::NOTHING }
            }
            phase => unreachable!("die {slot} has a timer of an erase or a program in {phase:?}"),
        }
    }

    /// Records the work of the operation since it began, or went on, last.
    fn log_work(&mut self, now: Instant, slot: usize, work: &Work) {
        let (act, from) = match work.kind {
            Suspendable::Erase => (Act::Erase, work.since),
            Suspendable::Program => (Act::Program, work.works_since),
        };
        self.log(slot, (from, now), act, &work.operation);
    }

    /// The operation has reached a safe point: the caller may stop it now, or it goes on with part
    /// `part`.
    fn safe_point(&mut self, now: Instant, slot: usize, part: u32) -> Fired {
        let (suspensions, mut work) = self.work_of(slot);
        (work.part, work.left) = (part, suspensions.length(&work, part));
        suspensions.dies[slot] = Some(work);
        self.goes_on(now, slot, true);
        Fired::freed(slot)
    }

    /// Its part goes on.
    fn goes_on(&mut self, now: Instant, slot: usize, at_safe_point: bool) {
        let (suspensions, mut work) = self.work_of(slot);
        if work.before == Before::Verify {
            suspensions.ramps(&work);
        }
        if !at_safe_point {
            suspensions.runs(&mut work, now);
        }
        (work.since, work.at_safe_point, work.before) = (now, at_safe_point, Before::Nothing);
        suspensions.dies[slot] = Some(work);
        self.dies[slot].phase = Phase::Pulse;
        self.timers.set(slot, work.next_turn(now));
        if let Some(blame) = &mut self.blame {
            let keeper = blame.keeper_of(&work.operation);
            blame.turns(now, slot, keeper);
        }
    }

    /// Stops an operation that is at a safe point.
    pub fn stop_at_safe_point(&mut self, now: Instant, die: Die) {
        let slot = die.index();
        self.count_suspension(slot);
        let (suspensions, mut work) = self.work_of(slot);
        if work.kind == Suspendable::Program {
            work.before = Before::Reload;
            suspensions.dies[slot] = Some(work);
            self.log_work(now, slot, &work);
        }
        self.suspended(now, slot);
    }

    /// Stops an operation that is under way; it is suspended when the die becomes free.
    pub fn stop_part(&mut self, now: Instant, die: Die, stop: Stop) {
        let slot = die.index();
        let works = self.dies[slot].phase == Phase::Pulse;
        self.count_suspension(slot);
        let (suspensions, work) = self.work_of(slot);
        let mut stopped = work;
        if works {
            let done = now.since(work.since);
            match stop {
                Stop::Free | Stop::Keep => stopped.left = work.left - done,
                Stop::Discard => {
                    stopped.left = suspensions.length(&work, work.part);
                    let aborted = stopped.left - work.left + done;
                    match work.kind {
                        Suspendable::Erase => {
                            suspensions.counters.aborted += aborted;
                            suspensions.stressed(&work, |stress| stress.aborted += aborted);
                        }
                        Suspendable::Program => suspensions.counters.aborted_phases += aborted,
                    }
                }
            }
        }
        (stopped.since, stopped.at_safe_point) = (now, false);
        stopped.before = match (work.kind, stop) {
            (_, Stop::Free) => Before::Nothing,
            (Suspendable::Erase, Stop::Keep) => Before::Ramp,
            (Suspendable::Erase, Stop::Discard) => Before::Verify,
            (Suspendable::Program, _) => Before::Reload,
        };
        suspensions.dies[slot] = Some(stopped);
        let time = match (stop, work.kind) {
            (Stop::Free, _) => Duration::ZERO,
            (_, Suspendable::Erase) => {
                suspensions.erases.as_ref().map_or(Duration::ZERO, |erases| erases.times.suspend)
            }
            (_, Suspendable::Program) => {
                suspensions.programs.as_ref().map_or(Duration::ZERO, |times| times.suspend)
            }
        };
        match works {
            true => self.log_work(now, slot, &work),
            false => self.log(slot, (work.since, now), Act::Resuming, &work.operation),
        }
        if time.is_zero() {
            return self.suspended(now, slot);
        }
        self.dies[slot].phase = Phase::Suspending;
        self.timers.set(slot, now + time);
        self.log(slot, (now, now + time), Act::Suspending, &work.operation);
        if let Some(blame) = &mut self.blame {
            blame.turns(now, slot, Keeper::Suspension);
        }
    }

    fn count_suspension(&mut self, slot: usize) {
        let (suspensions, mut work) = self.work_of(slot);
        suspensions.count(&mut work);
        suspensions.dies[slot] = Some(work);
        suspensions.stressed(&work, |stress| stress.suspensions += 1);
        let counters = &mut suspensions.counters;
        let (count, most) = match work.kind {
            Suspendable::Erase => (&mut counters.suspensions, &mut counters.per_erase_max),
            Suspendable::Program => {
                (&mut counters.program_suspensions, &mut counters.per_program_max)
            }
        };
        *count += 1;
        *most = work.suspensions.max(*most);
    }

    /// Reads may start now.
    fn suspended(&mut self, now: Instant, slot: usize) {
        let (suspensions, mut work) = self.work_of(slot);
        work.since = now;
        suspensions.dies[slot] = Some(work);
        self.dies[slot].holds_suspended = true;
        if let Some(blame) = &mut self.blame {
            blame.steps_aside(slot);
        }
        self.free_array(now, slot);
        self.dies[slot].restart(now);
    }

    /// A suspended operation goes on.
    pub fn resume(&mut self, now: Instant, die: Die) {
        let slot = die.index();
        debug_assert!(self.is_suspended(die), "die {die} holds nothing suspended");
        let (suspensions, work) = self.work_of(slot);
        if work.before == Before::Ramp {
            suspensions.ramps(&work);
        }
        let time = self.send_resume(now, slot, &work);
        let (suspensions, mut work) = self.work_of(slot);
        let from = work.since;
        work.resumed = now + time;
        (work.since, work.at_safe_point) = (now, false);
        suspensions.dies[slot] = Some(work);
        self.log(slot, (from, now), Act::Suspended, &work.operation);
        self.dies[slot].take_back(now, work.operation, work.behind_gc);
        if let Some(blame) = &mut self.blame {
            blame.comes_back(now, slot, &work.operation, work.operation.page(&self.layout));
        }
        if time.is_zero() {
            return self.goes_on(now, slot, false);
        }
        self.dies[slot].phase = Phase::Resuming;
        self.timers.set(slot, now + time);
        if let Some(blame) = &mut self.blame {
            blame.turns(now, slot, Keeper::Suspension);
        }
    }

    /// Sends the die's operation the command to stop: a part of it in this way when it arrives, or
    /// (`None`) at the first safe point from then on. It is asked for a read of the host, or of
    /// garbage collection.
    pub fn send_stop(&mut self, now: Instant, die: Die, stop: Option<Stop>, gc: bool) {
        let slot = die.index();
        let Some(work) = self.suspensions.as_ref().and_then(|all| all.dies[slot]) else { return };
        let operation = Operation { gc, ..work.operation };
        let arrives = self.send(now, slot, Crossing::Suspend, &operation);
        let sent = Some(StopCommand { arrives, stop });
        let work = Work { sent, ..work };
        self.keep(slot, work);
        let due = match self.dies[slot].phase {
            Phase::Resuming => work.or_command(now, work.resumed),
            _ => work.next_turn(now),
        };
        self.timers.set(slot, due);
    }

    /// Sends the command to go on, if it is one; how long it is until the part goes on.
    pub(super) fn send_resume(&mut self, now: Instant, slot: usize, work: &Work) -> Duration {
        let crosses = match self.sends_stops(work.kind) {
            true => self.send(now, slot, Crossing::Resume, &work.operation).since(now),
            false => Duration::ZERO,
        };
        let time = self.suspensions.as_ref().map(|all| all.resume_time(work));
        crosses + time.unwrap_or(Duration::ZERO)
    }

    /// A command takes its place on the channel; when it has crossed.
    fn send(&mut self, now: Instant, slot: usize, what: Crossing, of: &Operation) -> Instant {
        let at = (slot, self.dies[slot].channel);
        let place = self.reserve(now, at, Whose::Suspension, what, of);
        let act = if what == Crossing::Resume { Act::ResumeCommand } else { Act::SuspendCommand };
        self.log(slot, (place.start, place.end), act, of);
        place.end
    }
}
