//! Why no setting keeps the goals, as far as bounds and runs tell.

use super::bounds::{self, Bound};
use super::question::Question;

/// Why nothing keeps the goals.
pub struct Impossible<'a> {
    /// The question.
    pub question: &'a Question,
    /// The bounds that were run.
    pub bounds: &'a [Bound],
    /// Settings that were not decided.
    pub undecided: usize,
    /// Settings that were not played to their end: given up, or never begun since one with more of
    /// everything missed.
    pub unplayed: usize,
    /// Settings that wrote nothing to flash, and so have no WAF, on which there is a goal.
    pub unmeasured: usize,
    /// All were run to their end.
    pub exact: bool,
}

impl Impossible<'_> {
    /// The reason in a sentence.
    pub fn in_words(&self) -> String {
        let Self { question, bounds, undecided, unplayed, unmeasured, exact } = *self;
        if unmeasured > 0 {
            return self.unmeasured_in_words();
        }
        let all = match unplayed {
            _ if exact => ": every one was run to its end".to_string(),
            0 => String::new(),
            _ => format!(
                ", as far as runs that were given up and settings with more of everything say of \
                 {unplayed} (--exhaustive runs them all)"
            ),
        };
        if bounds.is_empty() {
            return format!(
                "no setting of this question keeps the goals{all}; no bound is known, as nogc does \
                 not go with this scenario, so other settings may"
            );
        }
        if undecided > 0 {
            return format!(
                "nothing that was tried keeps the goals, and {undecided} settings are undecided: \
                 --exhaustive runs them all"
            );
        }
        if let Some(bound) = bounds.iter().find(|bound| !bound.void.is_empty()) {
            return format!(
                "no setting of this question keeps the goals{all}; with GC at no cost too the \
                 drive {}, which is no matter of latencies",
                bound.void
            );
        }
        let missed = missed_by_all(question, bounds);
        let Some((_, best)) = missed.first() else {
            let each = if question.goals.len() > 1 { " keep each of them" } else { "" };
            let though = match bounds.iter().any(|bound| !bound.meets && !bound.misses()) {
                true => {
                    "; a drive whose GC costs nothing wrote nothing to flash, so it is no bound \
                     of WAF: more requests (workload.requests, --loop) make it one"
                }
                false => &format!(
                    ", though a drive whose GC costs nothing would{each}: other policies, more \
                         over-provisioning or other marks may (--over, --policies)"
                ),
            };
            return format!("no setting of this question keeps the goals{all}{though}");
        };
        let unbounded = bounds::unbounded(question);
        let set_by = match best.set_by.as_str() {
            "" => String::new(),
            text => format!(": {text}"),
        };
        let more = match bounds.iter().find(|bound| bound.meets) {
            Some(bound) => format!(". What would keep them: GC at no cost, {}", bound.name),
            None => String::new(),
        };
        let missed = self.missed(&missed);
        if !unbounded.is_empty() {
            return format!(
                "no setting of this question keeps the goals{all}; with GC at no cost {missed}\
                 {set_by}, which is no bound of {}{more}",
                unbounded.join(", ")
            );
        }
        let dies = bounds::dies(question);
        format!(
            "no policy can keep the goals on {dies} dies: with GC at no cost {missed}{set_by}{more}"
        )
    }

    /// That settings have no WAF, on which there is a goal.
    fn unmeasured_in_words(&self) -> String {
        let rest = match self.undecided {
            0 => String::new(),
            more => format!("; {more} more are undecided: --exhaustive runs them all"),
        };
        format!(
            "{} settings break no goal, but nothing was written to their flash, so they have no \
             WAF, which would keep or break the goal on it: more requests (workload.requests, \
             --loop) have one{rest}",
            self.unmeasured
        )
    }

    /// "read.p99 < 1ms is 2.56ms".
    fn missed(&self, missed: &[(usize, &Bound)]) -> String {
        let told = missed.iter().map(|(at, bound)| {
            let (goal, judged) = (&self.question.goals[*at], &bound.judged[*at]);
            let value = judged.value.map_or("not reported".to_string(), |value| goal.show(value));
            format!("{} is {value}", goal.text)
        });
        told.collect::<Vec<_>>().join(", ")
    }
}

/// As far as bounds can tell: a scenario that `nogc` does not go with has none.
pub fn is_possible(question: &Question, bounds: &[Bound]) -> bool {
    bounds.iter().all(|bound| !bound.holds)
        || missed_by_all(question, bounds).is_empty()
        || !bounds::unbounded(question).is_empty()
}

/// Goals that no bound keeps, each with the bound that comes nearest. A drive that suspends
/// programs is a bound of reads, and one that does not of writes: no one drive need keep all goals.
fn missed_by_all<'a>(question: &Question, bounds: &'a [Bound]) -> Vec<(usize, &'a Bound)> {
    let holding = || bounds.iter().filter(|bound| bound.holds);
    let missed = question.goals.iter().enumerate().filter(|(at, goal)| {
        !holding().any(|bound| {
            let judged = &bound.judged[*at];
            judged.meets || judged.unmeasured || judged.straddles(goal)
        })
    });
    let nearest = |at: usize| {
        let used = |bound: &Bound| bound.judged[at].used;
        holding().min_by(|one, other| used(one).total_cmp(&used(other)))
    };
    missed.filter_map(|(at, _)| Some((at, nearest(at)?))).collect()
}
