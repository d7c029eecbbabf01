//! Erases and programs that can be suspended, as rows of parts: how long each part takes, what a
//! stop costs, and where the operation of each die is. How a die goes from state to state is in
//! `suspend`.

use super::Block;
use super::die::Operation;
use super::pulses::Pulses;
use super::stress::{BlockStress, Stress};
use crate::stats::SuspensionCounters;
use crate::units::{Duration, Instant};

/// Times of the suspension of an erase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SuspensionTimes {
    /// From the stop of a pulse to the first read: the voltage recovers.
    pub suspend: Duration,
    /// Before the rest of a pulse: the voltage ramps up.
    pub resume: Duration,
    /// Before a pulse that was given up begins anew: what is erased already is found and spared.
    pub verify: Duration,
    /// Parts of a step, at whose ends it can stop at no cost.
    pub safe_points: u32,
    /// How often, and how soon again, it may be stopped.
    pub limits: SuspensionLimits,
    /// Stops and resumptions are commands on the channel, where the device gives these a time.
    pub commands: bool,
}

/// Limits that a part sets on the suspensions of one operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SuspensionLimits {
    /// At most so many.
    pub most: u64,
    /// It works for so long between a resumption and the next suspension.
    pub min_run: Duration,
}

impl SuspensionLimits {
    /// Limits as settings have them: at most `most`, 0 being any number.
    pub fn new(most: u32, min_run: Duration) -> Self {
        Self { most: if most == 0 { u64::MAX } else { most.into() }, min_run }
    }

    /// From when on an operation may be stopped that was stopped so often before, and goes on at
    /// `on`.
    fn open_from(self, stopped: u64, on: Instant) -> Instant {
        if stopped < self.most { on + self.min_run } else { Instant::NEVER }
    }

    /// From when on it may be stopped while it is suspended or on its way back to work.
    fn open_before_work(self, stopped: u64) -> Instant {
        let open = stopped < self.most && self.min_run.is_zero();
        if open { Instant::START } else { Instant::NEVER }
    }
}

/// Times of the suspension of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgramSuspensionTimes {
    /// Loops of pulse and verify in a program.
    pub loops: u32,
    /// Percent of a loop that its verify takes.
    pub verify_percent: u32,
    /// From the stop of a phase to the first read: the voltage recovers.
    pub suspend: Duration,
    /// Before the next phase: the page register gets the program's data back.
    pub resume: Duration,
    /// How often, and how soon again, it may be stopped.
    pub limits: SuspensionLimits,
    /// Stops and resumptions are commands on the channel, where the device gives these a time.
    pub commands: bool,
}

/// How a part stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// At once, and it goes on at once with what is left of it: no die can.
    Free,
    /// The rest of the part goes on later.
    Keep,
    /// It begins anew later, from the last safe point.
    Discard,
}

/// The kinds of operations that can be suspended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Suspendable {
    /// An erase.
    Erase,
    /// A program.
    Program,
}

/// Where an operation is, for who wants to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Between two parts: it can stop here at no cost.
    SafePoint,
    /// In a part, or on its way back to one.
    UnderWay,
    /// Suspended: reads may start.
    Suspended,
}

/// A command to stop that was sent to a die.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StopCommand {
    /// When it has crossed the channel.
    pub arrives: Instant,
    /// The way in which it stops a part; `None` asks for the next safe point.
    pub stop: Option<Stop>,
}

/// The step before a part goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Before {
    Nothing,
    Ramp,
    Verify,
    /// A program's data comes back to the page register.
    Reload,
}

/// The erase or program of one die.
#[derive(Clone, Copy, Debug)]
pub(super) struct Work {
    pub operation: Operation,
    pub kind: Suspendable,
    /// It waited on the channel for a garbage collection.
    pub behind_gc: bool,
    pub issued: Instant,
    /// A program: what its parts are cut from.
    pub whole: Duration,
    /// An erase: what its pulses take (`Pulses::needed`).
    pub needed: u32,
    pub parts: u32,
    /// The part under way, counted over the whole operation.
    pub part: u32,
    /// The rest of that part at `since`.
    pub left: Duration,
    /// Since when the state lasts.
    pub since: Instant,
    /// Since when it works, for the timeline.
    pub works_since: Instant,
    /// It reached a safe point, at `since`, by itself.
    pub at_safe_point: bool,
    pub before: Before,
    pub suspensions: u64,
    /// The limits let it be stopped from then on.
    pub open_from: Instant,
    /// While it resumes: when its part goes on.
    pub resumed: Instant,
    /// The command to stop that is on its way, or waits for a safe point.
    pub sent: Option<StopCommand>,
}

impl Work {
    /// When its part ends, if nothing stops it.
    pub fn part_ends(&self) -> Instant {
        self.since + self.left
    }

    /// When something is to be done while a part of it runs.
    pub fn next_turn(&self, now: Instant) -> Instant {
        let (open, end) = (self.open_from, self.part_ends());
        self.or_command(now, if now < open && open < end { open } else { end })
    }

    /// The instant, or that of the arrival of a command if this is yet to come, and sooner.
    pub fn or_command(&self, now: Instant, at: Instant) -> Instant {
        let arrives = self.sent.map(|sent| sent.arrives).filter(|arrives| *arrives > now);
        arrives.map_or(at, |arrives| arrives.min(at))
    }
}

/// The erases and programs of all dies.
#[derive(Clone, Debug)]
pub(super) struct Suspensions {
    pub erases: Option<Erases>,
    pub programs: Option<ProgramSuspensionTimes>,
    pub dies: Vec<Option<Work>>,
    pub counters: SuspensionCounters,
}

/// Times of erases, and the stress that they put on their blocks.
#[derive(Clone, Debug)]
pub(super) struct Erases {
    pub times: SuspensionTimes,
    pub pulses: Pulses,
    pub stress: Stress,
}

impl Erases {
    /// The time of part `part` of an erase: the parts of a step differ by a nanosecond at most and
    /// add up to it.
    pub fn length(&self, needed: u32, part: u32) -> Duration {
        let points = u64::from(self.times.safe_points);
        let step = self.pulses.length(needed, part / self.times.safe_points).as_ns();
        let within = u64::from(part) % points;
        Duration::from_ns(step * (within + 1) / points - step * within / points)
    }

    pub fn ended(&mut self, work: &Work, block: Block) {
        let steps = 0..self.pulses.steps(work.needed);
        let pulse =
            steps.fold(Duration::ZERO, |sum, step| sum + self.pulses.length(work.needed, step));
        let stress = self.stress.of(&work.operation);
        stress.erases += 1;
        stress.pulse += pulse;
        self.pulses.erased(block);
    }
}

impl Suspensions {
    pub fn new(dies: usize) -> Self {
        Self {
            erases: None,
            programs: None,
            dies: vec![None; dies],
            counters: SuspensionCounters::default(),
        }
    }

    /// The time of part `part`.
    pub fn length(&self, work: &Work, part: u32) -> Duration {
        match (work.kind, &self.erases, &self.programs) {
            (Suspendable::Erase, Some(erases), _) => erases.length(work.needed, part),
            (Suspendable::Program, _, Some(times)) => {
                Duration::from_ns(times.end(work.whole, part + 1) - times.end(work.whole, part))
            }
            _ => Duration::ZERO,
        }
    }

    /// From the resumption of the work until its part goes on.
    pub fn resume_time(&self, work: &Work) -> Duration {
        match (work.before, &self.erases, &self.programs) {
            (Before::Ramp, Some(erases), _) => erases.times.resume,
            (Before::Verify, Some(erases), _) => erases.times.verify,
            (Before::Reload, _, Some(times)) => times.resume,
            _ => Duration::ZERO,
        }
    }

    /// True when stops and resumptions of this kind are commands, if those take any time.
    pub fn has_commands(&self, kind: Suspendable) -> bool {
        match kind {
            Suspendable::Erase => self.erases.as_ref().is_some_and(|all| all.times.commands),
            Suspendable::Program => self.programs.as_ref().is_some_and(|times| times.commands),
        }
    }

    fn limits(&self, kind: Suspendable) -> SuspensionLimits {
        let limits = match kind {
            Suspendable::Erase => self.erases.as_ref().map(|erases| erases.times.limits),
            Suspendable::Program => self.programs.as_ref().map(|times| times.limits),
        };
        limits.unwrap_or(SuspensionLimits::new(0, Duration::ZERO))
    }

    /// True when the work was stopped as often as it may be.
    pub fn is_used_up(&self, work: &Work) -> bool {
        work.suspensions >= self.limits(work.kind).most
    }

    /// The work is stopped once more.
    pub fn count(&mut self, work: &mut Work) {
        work.suspensions += 1;
        work.sent = None;
        work.open_from = self.limits(work.kind).open_before_work(work.suspensions);
    }

    /// The work, which was stopped, goes on at `now`.
    pub fn runs(&self, work: &mut Work, now: Instant) {
        work.works_since = now;
        work.open_from = self.limits(work.kind).open_from(work.suspensions, now);
    }

    /// The voltage of an erase ramps up once more than its steps ask for.
    pub fn ramps(&mut self, work: &Work) {
        self.counters.extra_ramps += 1;
        self.stressed(work, |stress| stress.extra_ramps += 1);
    }

    /// Books what an erase does to its block.
    pub fn stressed(&mut self, work: &Work, book: impl FnOnce(&mut BlockStress)) {
        if let (Suspendable::Erase, Some(erases)) = (work.kind, &mut self.erases) {
            book(erases.stress.of(&work.operation));
        }
    }
}

impl ProgramSuspensionTimes {
    /// When the first `parts` phases of a program are over: together they are the whole of it.
    fn end(&self, whole: Duration, parts: u32) -> u64 {
        let verified = u64::from(parts / 2) * 100;
        let pulsed = u64::from(parts % 2) * u64::from(100 - self.verify_percent);
        whole.as_ns() * (verified + pulsed) / (100 * u64::from(self.loops))
    }
}
