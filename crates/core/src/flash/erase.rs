//! An erase that gives way: the die's states between the first pulse and the last, as mechanism. Who asks for a stop,
//! and which stop, is the drive's choice (`drive/suspension.rs`).
//!
//! Sources: Kim et al., Practical Erase Suspension for Modern Low-latency SSDs, USENIX ATC '19, section 2; Wu & He,
//! Reducing SSD Read Latency via NAND Flash Program and Erase Suspension, FAST '12 (stops at any point).
//!
//! An erase is `erase_steps` steps (or those that its block needs, see `pulses`), each cut into `safe_points` parts;
//! between two parts it can stop and go on at no cost. A stop inside a part costs `suspend` (the voltage recovers)
//! and, before the pulse goes on, `resume` (a ramp) or `verify`. A pulse that ends at this very instant is whole: it
//! stops at the safe point that follows.
//!
//! Traps: while an erase is suspended the die is neither idle nor busy ([`Flash::is_suspended`]): only what
//! [`Flash::start`] is given then runs, and the caller resumes it. The command of a suspension takes no channel time.
//! Without [`Flash::allow_suspension`] none of this runs: an erase goes from step to step.

use super::activity::Act;
use super::die::{Fired, Operation, Phase};
use super::pulses::{EraseLengths, Pulses};
use super::stress::{BlockStress, Stress};
use super::{Block, Flash};
use crate::units::{Duration, Instant};

/// What suspending an erase takes.
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
}

/// How a pulse stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// At once, and it goes on at once with what is left of it: no die can.
    Free,
    /// What is left of it goes on later.
    Keep,
    /// It begins anew later, from the last safe point.
    Discard,
}

/// Where an erase is, for who wants to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErasePoint {
    /// Between two pulses: it can stop here at no cost.
    SafePoint,
    /// In a pulse, or on its way back to one.
    UnderWay,
    /// Suspended: reads may start.
    Suspended,
}

/// What suspensions cost so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SuspensionCounters {
    /// Times an erase was suspended, at whatever point.
    pub suspensions: u64,
    /// The most that one erase suffered.
    pub per_erase_max: u64,
    /// Pulse time that was given up and had to be repeated.
    pub aborted: Duration,
    /// Ramps beyond the one of each step.
    pub extra_ramps: u64,
}

/// What comes before the pulse goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Before {
    Nothing,
    Ramp,
    Verify,
}

/// The erase of one die.
#[derive(Clone, Copy, Debug)]
struct Erase {
    operation: Operation,
    issued: Instant,
    /// What its pulses take (`Pulses::needed`), and their parts.
    needed: u32,
    parts: u32,
    /// The part under way, counted over all steps.
    part: u32,
    /// What was left of it at `since`.
    left: Duration,
    /// Since when the state lasts.
    since: Instant,
    /// It reached a safe point, at `since`, by itself.
    at_safe_point: bool,
    before: Before,
    suspensions: u64,
}

/// The erases of all dies.
#[derive(Clone, Debug)]
pub(super) struct Erases {
    times: SuspensionTimes,
    pulses: Pulses,
    dies: Vec<Option<Erase>>,
    counters: SuspensionCounters,
    stress: Stress,
}

impl Erases {
    /// The time of part `part` of an erase: the parts of a step differ by a nanosecond at most and add up to it.
    fn length(&self, needed: u32, part: u32) -> Duration {
        let points = u64::from(self.times.safe_points);
        let step = self.pulses.length(needed, part / self.times.safe_points).as_ns();
        let within = u64::from(part) % points;
        Duration::from_ns(step * (within + 1) / points - step * within / points)
    }

    fn ended(&mut self, erase: &Erase, block: Block) {
        let steps = 0..self.pulses.steps(erase.needed);
        let pulse = steps.fold(Duration::ZERO, |sum, step| sum + self.pulses.length(erase.needed, step));
        let stress = self.stress.of(&erase.operation);
        stress.erases += 1;
        stress.pulse += pulse;
        self.pulses.erased(block);
    }

    /// The voltage ramps up once more than the steps of `erase` ask for.
    fn ramps(&mut self, erase: &Erase) {
        self.counters.extra_ramps += 1;
        self.stress.of(&erase.operation).extra_ramps += 1;
    }
}

impl Flash {
    /// Lets erases be suspended from now on. Call it before the first operation.
    pub fn allow_suspension(&mut self, times: SuspensionTimes) {
        let pulses = Pulses::fixed(self.timing.erase_step, self.timing.erase_steps);
        let (dies, counters) = (vec![None; self.dies.len()], SuspensionCounters::default());
        let stress = Stress::new(self.layout.total_blocks());
        self.erases = Some(Box::new(Erases { times, pulses, dies, counters, stress }));
    }

    /// Lets each erase take what its block needs; the blocks were erased so often each, and `draw` gives a number in
    /// [0, 1) for each. Call it after [`Flash::allow_suspension`], if that is wanted, and before the first operation.
    pub fn vary_erases(&mut self, of: &EraseLengths, erases: &[u32], draw: impl FnMut() -> f64) {
        if self.erases.is_none() {
            let (suspend, resume, verify) = (Duration::ZERO, Duration::ZERO, Duration::ZERO);
            self.allow_suspension(SuspensionTimes { suspend, resume, verify, safe_points: 1 });
        }
        if let Some(all) = &mut self.erases {
            let (step, steps) = (self.timing.erase_step, self.timing.erase_steps);
            all.pulses = Pulses::varied(step, steps, of, erases.iter().copied(), draw);
        }
    }

    /// What suspensions cost so far.
    pub fn suspensions(&self) -> SuspensionCounters {
        self.erases.as_ref().map_or(SuspensionCounters::default(), |erases| erases.counters)
    }

    /// What the erases of each block came to; empty where they cannot be suspended.
    pub fn stress(&self) -> &[BlockStress] {
        self.erases.as_ref().map_or(&[], |erases| erases.stress.blocks())
    }

    /// True when the die's erase is suspended and no read runs.
    #[inline]
    pub fn is_suspended(&self, die: u32) -> bool {
        self.dies[die as usize].phase == Phase::Suspended
    }

    /// Where the die's erase is and when it was issued; `None` when it can be asked nothing: there is none, its command
    /// is on the way, its pulse ends now, it is being suspended, or a read runs in its place.
    pub fn erase_at(&self, now: Instant, die: u32) -> Option<(ErasePoint, Instant)> {
        let erase = self.erases.as_ref()?.dies[die as usize].as_ref()?;
        let point = match self.dies[die as usize].phase {
            Phase::Suspended => ErasePoint::Suspended,
            Phase::Pulse if erase.at_safe_point && erase.since == now => ErasePoint::SafePoint,
            Phase::Pulse if erase.since + erase.left > now => ErasePoint::UnderWay,
            Phase::Resuming => ErasePoint::UnderWay,
            _ => return None,
        };
        Some((point, erase.issued))
    }

    fn erase_of(&mut self, slot: usize) -> (&mut Erases, Erase) {
        let erases = self.erases.as_mut().expect("suspension is allowed");
        let erase = erases.dies[slot].expect("the die erases");
        (erases, erase)
    }

    /// An erase is issued; its command is through at `begins`.
    pub(super) fn erase_issued(&mut self, now: Instant, slot: usize, begins: Instant) {
        let operation = self.dies[slot].operation();
        let Some(erases) = &mut self.erases else { return };
        let needed = erases.pulses.needed(operation.block(&self.layout));
        erases.dies[slot] = Some(Erase {
            operation,
            issued: now,
            needed,
            parts: erases.pulses.steps(needed) * erases.times.safe_points,
            part: 0,
            left: erases.length(needed, 0),
            since: begins,
            at_safe_point: false,
            before: Before::Nothing,
            suspensions: 0,
        });
    }

    /// A timer of an erase that can be suspended.
    pub(super) fn erase_turn(&mut self, now: Instant, slot: usize) -> Fired {
        let phase = self.dies[slot].phase;
        let block = self.dies[slot].operation().block(&self.layout);
        let (erases, erase) = self.erase_of(slot);
        match phase {
            Phase::EraseCommand => self.safe_point(now, slot, 0),
            Phase::Pulse if erase.part + 1 == erase.parts => {
                erases.dies[slot] = None;
                erases.ended(&erase, block);
                self.log(slot, (erase.since, now), Act::Erase, &erase.operation);
                self.finished(now, slot)
            }
            Phase::Pulse => {
                self.log(slot, (erase.since, now), Act::Erase, &erase.operation);
                self.safe_point(now, slot, erase.part + 1)
            }
            Phase::Suspending => {
                self.suspended(now, slot);
                Fired { free: Some(slot as u32), ..Fired::default() }
            }
            Phase::Resuming => {
                self.log(slot, (erase.since, now), Act::Resuming, &erase.operation);
                self.pulse(now, slot, false);
                Fired::default()
            }
            phase => unreachable!("die {slot} has an erase's timer in {phase:?}"),
        }
    }

    /// The erase has reached a safe point: the caller may stop it now, or it goes on with part `part`.
    fn safe_point(&mut self, now: Instant, slot: usize, part: u32) -> Fired {
        let (erases, mut erase) = self.erase_of(slot);
        (erase.part, erase.left) = (part, erases.length(erase.needed, part));
        erases.dies[slot] = Some(erase);
        self.pulse(now, slot, true);
        Fired { free: Some(slot as u32), ..Fired::default() }
    }

    /// The pulse goes on.
    fn pulse(&mut self, now: Instant, slot: usize, at_safe_point: bool) {
        let (erases, mut erase) = self.erase_of(slot);
        if erase.before == Before::Verify {
            erases.ramps(&erase);
        }
        (erase.since, erase.at_safe_point, erase.before) = (now, at_safe_point, Before::Nothing);
        erases.dies[slot] = Some(erase);
        self.dies[slot].phase = Phase::Pulse;
        self.timers.set(slot, now + erase.left);
        if let Some(blame) = &mut self.blame {
            blame.suspends(now, slot, false);
        }
    }

    /// Stops an erase that is at a safe point.
    pub fn stop_at_safe_point(&mut self, now: Instant, die: u32) {
        self.count_suspension(die as usize);
        self.suspended(now, die as usize);
    }

    /// Stops an erase that is under way; it is suspended when the die becomes free.
    pub fn stop_pulse(&mut self, now: Instant, die: u32, stop: Stop) {
        let slot = die as usize;
        let is_pulse = self.dies[slot].phase == Phase::Pulse;
        self.count_suspension(slot);
        let (erases, mut erase) = self.erase_of(slot);
        if is_pulse {
            let done = now.since(erase.since);
            match stop {
                Stop::Free | Stop::Keep => erase.left = erase.left - done,
                Stop::Discard => {
                    let length = erases.length(erase.needed, erase.part);
                    let aborted = (length - erase.left) + done;
                    erases.counters.aborted += aborted;
                    erases.stress.of(&erase.operation).aborted += aborted;
                    erase.left = length;
                }
            }
        }
        let began = erase.since;
        (erase.since, erase.at_safe_point) = (now, false);
        erase.before = match stop {
            Stop::Free => Before::Nothing,
            Stop::Keep => Before::Ramp,
            Stop::Discard => Before::Verify,
        };
        erases.dies[slot] = Some(erase);
        let time = if stop == Stop::Free { Duration::ZERO } else { erases.times.suspend };
        self.log(slot, (began, now), if is_pulse { Act::Erase } else { Act::Resuming }, &erase.operation);
        if time.is_zero() {
            return self.suspended(now, slot);
        }
        self.dies[slot].phase = Phase::Suspending;
        self.timers.set(slot, now + time);
        self.log(slot, (now, now + time), Act::Suspending, &erase.operation);
        if let Some(blame) = &mut self.blame {
            blame.suspends(now, slot, true);
        }
    }

    fn count_suspension(&mut self, slot: usize) {
        let (erases, mut erase) = self.erase_of(slot);
        erase.suspensions += 1;
        erases.dies[slot] = Some(erase);
        erases.counters.suspensions += 1;
        erases.stress.of(&erase.operation).suspensions += 1;
        erases.counters.per_erase_max = erases.counters.per_erase_max.max(erase.suspensions);
    }

    /// Reads may start now.
    fn suspended(&mut self, now: Instant, slot: usize) {
        let (erases, mut erase) = self.erase_of(slot);
        erase.since = now;
        erases.dies[slot] = Some(erase);
        self.dies[slot].holds_erase = true;
        self.free_array(now, slot);
        self.dies[slot].restart(now);
    }

    /// A suspended erase goes on.
    pub fn resume_erase(&mut self, now: Instant, die: u32) {
        let slot = die as usize;
        debug_assert!(self.is_suspended(die), "die {die} holds no erase");
        let (erases, mut erase) = self.erase_of(slot);
        let (from, time) = match erase.before {
            Before::Nothing => (erase.since, Duration::ZERO),
            Before::Ramp => (erase.since, erases.times.resume),
            Before::Verify => (erase.since, erases.times.verify),
        };
        if erase.before == Before::Ramp {
            erases.ramps(&erase);
        }
        (erase.since, erase.at_safe_point) = (now, false);
        erases.dies[slot] = Some(erase);
        self.log(slot, (from, now), Act::Suspended, &erase.operation);
        self.dies[slot].take_back(now, erase.operation);
        if let Some(blame) = &mut self.blame {
            blame.started(now, slot, &erase.operation, erase.operation.block(&self.layout));
        }
        if time.is_zero() {
            return self.pulse(now, slot, false);
        }
        self.dies[slot].phase = Phase::Resuming;
        self.timers.set(slot, now + time);
        if let Some(blame) = &mut self.blame {
            blame.suspends(now, slot, true);
        }
    }
}
