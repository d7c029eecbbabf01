//! Knowledge about each setting.

use super::cost::Cost;
use super::goal::Judged;
use super::shots::Played;
use manx_core::stats::RunResult;

/// State of knowledge about a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Nothing, or that its first requests are within the goals.
    Open,
    /// It cannot be run.
    Invalid,
    /// It misses a goal.
    Missed,
    /// Its run was given up: the whole of it would miss a goal, next to certainly.
    Predicted,
    /// Not played: the setting with this number, which has more of everything, misses.
    Presumed(usize),
    /// It keeps all goals but one on WAF, and wrote nothing to flash: whether it keeps that nobody
    /// knows.
    Unmeasured,
    /// It keeps all goals.
    Met,
}

/// A setting and what its longest run came to.
#[derive(Clone, Debug)]
pub struct Seen {
    /// The standing.
    pub standing: Standing,
    /// Its longest run.
    pub played: Option<Played>,
    /// The goals, in their order.
    pub judged: Vec<Judged>,
    /// The cost of the whole run; of a run that was given up an estimate.
    pub cost: Cost,
    /// The quantity that is to be small; of what was not played to its end an estimate.
    pub price: f64,
    /// The estimate: alike for all, whatever is known beyond it.
    pub estimate: f64,
    /// The price is never less, whatever a run comes to.
    pub floor: f64,
    /// Results of further seeds beside each goal.
    pub seeds: Vec<Vec<Judged>>,
}

impl Seen {
    /// A setting before any run.
    pub fn of(standing: Standing) -> Self {
        Self {
            standing,
            played: None,
            judged: Vec::new(),
            cost: Cost::default(),
            price: 0.0,
            estimate: 0.0,
            floor: 0.0,
            seeds: Vec::new(),
        }
    }

    /// The result of its longest run.
    pub fn result(&self) -> Option<&RunResult> {
        self.played.as_ref().map(|played| &played.result)
    }

    /// It was played to its end.
    pub fn is_whole(&self) -> bool {
        self.played.as_ref().is_some_and(Played::is_whole)
    }
}

/// The goal that is farthest off, of those that were measured: how much of what it allows is used
/// up.
pub fn worst(judged: &[Judged]) -> f64 {
    let measured = judged.iter().filter(|judged| !judged.unmeasured);
    measured.map(|judged| judged.used).fold(0.0, f64::max)
}
