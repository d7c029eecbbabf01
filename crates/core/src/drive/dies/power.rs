//! The power budget: how many programs and erases are under way at once (`drive.power`).
//!
//! An operation draws its power from the instant at which its die is given it until it is done:
//! also while its data cross the channel, and while reads suspend it, so that it goes on without
//! asking. One that the budget does not cover waits on the list of its die, which reads pass. Dies
//! that were refused get their turn in that order; one that cannot use it, as it reads, keeps its
//! place, and its share is kept for it: dies behind it divide what is left. No operation goes
//! before the first that the budget does not cover: an erase that needs more than a program is not
//! passed for ever. A program that is preloaded into the cache register takes over the share of the
//! one before it, while no die waits.
//!
//! Reads draw nothing here. A rewrite of the scrubber waits until nobody else does. Work of a
//! recovery after a power loss, before the drive takes commands again, does not ask.

use crate::drive::dies::queues::Owner;
use crate::drive::{Drive, OpId};
use crate::stats::PowerCounters;
use crate::units::{Die, Duration, Instant, Power};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// The power budget of a drive's dies, and what their operations draw.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PowerSpec {
    /// Power of all dies together that work on programs and erases; 0W is no limit.
    pub budget: Power,
    /// Power of a die while it works on a program, over however many planes.
    pub program: Power,
    /// Power of a die while it works on an erase.
    pub erase: Power,
}

impl PowerSpec {
    /// True where nothing is limited.
    pub fn is_off(&self) -> bool {
        *self == Self::default()
    }
}

/// A die's wait for a share.
#[derive(Clone, Copy, Debug, Default)]
struct Wait {
    is_on: bool,
    since: Instant,
    /// The share of what would have gone first when the die asked last.
    needs: u64,
    asked: Instant,
    /// In its turn the die began a read instead.
    passed: bool,
    /// Its share is kept for it: it has its turn and is busy.
    kept: bool,
}

/// The shares of the budget, in milliwatts.
#[derive(Clone, Debug)]
pub(in crate::drive) struct Budget {
    budget: u64,
    program: u64,
    erase: u64,
    drawn: u64,
    /// Dies that wait, in the order in which they were refused.
    refused: VecDeque<Die>,
    /// By die.
    waits: Vec<Wait>,
    /// The die whose turn it is.
    turn: Option<Die>,
    /// Dies whose shares are kept for them, and these shares together.
    keeps: Vec<Die>,
    kept: u64,
    /// By die: the program under way leaves its share to one that is preloaded.
    bequeaths: Vec<bool>,
}

impl Budget {
    fn new(spec: &PowerSpec, dies: u32) -> Self {
        let [budget, program, erase] = [spec.budget, spec.program, spec.erase].map(Power::get);
        Self {
            budget,
            program,
            erase,
            drawn: 0,
            refused: VecDeque::with_capacity(dies as usize),
            waits: vec![Wait::default(); dies as usize],
            turn: None,
            keeps: Vec::with_capacity(dies as usize),
            kept: 0,
            bequeaths: vec![false; dies as usize],
        }
    }

    /// The share of an operation.
    fn needs(&self, owner: Owner) -> u64 {
        match owner {
            Owner::Row { .. }
            | Owner::LogProgram { .. }
            | Owner::Parity
            | Owner::Rewrite
            | Owner::ChainProgram { .. }
            | Owner::MergeProgram { .. }
            | Owner::Journal
            | Owner::Checkpoint { .. } => self.program,
            Owner::ChainErase { .. } | Owner::MergeErase { .. } => self.erase,
            Owner::Request { .. }
            | Owner::Direct { .. }
            | Owner::LookUp { .. }
            | Owner::Fill { .. }
            | Owner::Update { .. }
            | Owner::Rebuild { .. }
            | Owner::ChainRead { .. }
            | Owner::MergeRead { .. }
            | Owner::SpareRead { .. }
            | Owner::MapRead { .. }
            | Owner::Scrub => 0,
            Owner::ChainCopy { .. } | Owner::MergeRun { .. } => {
                unreachable!("a budget looks at single operations")
            }
        }
    }

    fn covers(&self, needs: u64) -> bool {
        self.drawn + self.kept + needs <= self.budget
    }

    /// The share that is kept for the die.
    fn kept_for(&self, die: Die) -> u64 {
        let Wait { kept, needs, .. } = self.waits[die.index()];
        if kept { needs } else { 0 }
    }

    /// True where the die may begin an operation that needs so much; else it waits for its turn.
    fn grants(&mut self, now: Instant, die: Die, needs: u64, counters: &mut PowerCounters) -> bool {
        let own = self.kept_for(die);
        let is_next = self.refused.is_empty() || self.turn == Some(die) || own > 0;
        let covered = self.drawn + self.kept + needs <= self.budget + own;
        if needs == 0 || (is_next && covered) {
            return true;
        }
        self.lets_go(die);
        let wait = &mut self.waits[die.index()];
        if !wait.is_on {
            counters.waits += 1;
            *wait = Wait { is_on: true, since: now, needs, asked: now, ..Wait::default() };
            self.refused.push_back(die);
        } else if wait.asked != now {
            (wait.needs, wait.asked, wait.passed) = (needs, now, false);
        }
        false
    }

    /// The line is walked anew: no share is kept for a die.
    pub fn begin_turns(&mut self) {
        while let Some(die) = self.keeps.last().copied() {
            self.lets_go(die);
        }
    }

    fn lets_go(&mut self, die: Die) {
        let own = self.kept_for(die);
        if std::mem::take(&mut self.waits[die.index()].kept) {
            self.kept -= own;
            self.keeps.retain(|kept| *kept != die);
        }
    }

    /// The die whose turn it is when those before `at` in the line could not use theirs.
    pub fn turn(&mut self, at: usize) -> Option<Die> {
        let die = self.refused.get(at).copied();
        self.turn = die.filter(|die| self.covers(self.waits[die.index()].needs));
        self.turn
    }

    /// True while the die waits.
    pub fn waits(&self, die: Die) -> bool {
        self.waits[die.index()].is_on
    }

    /// The die, whose turn it is, is busy: its share is kept for it unless it has begun a read in
    /// its turn.
    pub fn keeps_turn(&mut self, die: Die) {
        let wait = &mut self.waits[die.index()];
        if !wait.passed {
            wait.kept = true;
            self.kept += wait.needs;
            self.keeps.push(die);
        }
    }

    /// An operation of the die begins; how long the die waited for that, if it did.
    fn begins(&mut self, now: Instant, die: Die, needs: u64) -> Option<Duration> {
        let has_turn = self.turn == Some(die) || self.waits[die.index()].kept;
        self.lets_go(die);
        self.drawn += needs;
        let wait = &mut self.waits[die.index()];
        if needs == 0 || !wait.is_on {
            wait.passed |= has_turn;
            return None;
        }
        wait.is_on = false;
        self.refused.retain(|waits| *waits != die);
        Some(now.since(wait.since))
    }
}

impl Drive {
    /// Programs and erases keep to a budget, if `spec` has one. Call it before the first command.
    pub(in crate::drive) fn limit_power(&mut self, spec: &PowerSpec) {
        if spec.is_off() {
            return;
        }
        self.power = Some(Box::new(Budget::new(spec, self.flash.layout.dies)));
        self.watches = true;
        self.direct.close();
    }

    /// True where the budget covers an operation that would begin now; else its die waits.
    #[inline(never)]
    pub(in crate::drive) fn has_power(&mut self, now: Instant, op: OpId) -> bool {
        let Some(power) = &mut self.power else { return true };
        let die = self.flash.layout.die_of(self.ops[op].lane);
        let needs = power.needs(self.ops[op].owner);
        let grants = power.grants(now, die, needs, &mut self.counters.power);
        if !grants && self.flash.is_idle(die) {
            self.flash.waits_for_power(now, die, true);
        }
        grants
    }

    /// True where the budget covers a rewrite of the scrubber, and nobody waits for a share.
    pub(in crate::drive) fn has_power_to_rewrite(&self) -> bool {
        let free = |power: &Budget| power.refused.is_empty() && power.covers(power.program);
        self.power.as_deref().is_none_or(free)
    }

    /// An operation begins, and draws its share.
    pub(in crate::drive) fn draws_power(&mut self, now: Instant, op: OpId) {
        let Some(power) = &mut self.power else { return };
        let needs = power.needs(self.ops[op].owner);
        let waited = power.begins(now, self.flash.layout.die_of(self.ops[op].lane), needs);
        let counters = &mut self.counters.power;
        counters.waited += waited.unwrap_or_default();
        counters.peak = counters.peak.max(power.drawn);
    }

    /// True while a die waits for a share: no program is preloaded past it.
    pub(in crate::drive) fn is_power_awaited(&self) -> bool {
        self.power.as_ref().is_some_and(|power| !power.refused.is_empty())
    }

    /// A program is preloaded behind another one: it takes over its share.
    pub(in crate::drive) fn inherits_power(&mut self, die: Die) {
        if let Some(power) = &mut self.power {
            power.bequeaths[die.index()] = power.program > 0;
        }
    }

    /// An operation is done, well or not: its share is free.
    pub(in crate::drive) fn frees_power(&mut self, op: OpId) {
        let Some(power) = &mut self.power else { return };
        let needs = power.needs(self.ops[op].owner);
        let die = self.flash.layout.die_of(self.ops[op].lane);
        if needs > 0 && !std::mem::take(&mut power.bequeaths[die.index()]) {
            power.drawn -= needs;
        }
    }
}
