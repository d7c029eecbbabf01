//! The last stage of a fit of reads: explanations that came near are searched side by side, the
//! best of them ends first, and ranges hold all that explain the runs as well.
//!
//! Rivals are other structures, the other reason for a bound (`reason`), and *siblings* of the
//! best: as many dies on half or twice the channels, each channel as much faster or slower. A
//! sibling reads nearly the same, so a range of the channel, and of tR, that knew the best alone
//! would be too short.

use super::TwinError;
use super::doubt::{Doubt, Range, most, traded};
use super::latency::Structure;
use super::reads::{Fit, SEEDS, Seen};
use super::reason::other_reason;
use super::space::{Place, Space};
use super::structures::Ranked;
use super::{Stage, search::Effort};
use std::cmp::Ordering;

/// Structures that may explain the runs as well as the best, and how near they are to it, at first
/// and behind the search.
const RIVALS: usize = 4;
const RIVAL: f64 = 2.0;
const NEAR: f64 = 1.4;

impl Fit<'_> {
    /// The last stage of the best structure and of those that came near, the best of them first.
    pub(super) fn rivals(
        &mut self,
        ranked: &mut Vec<Ranked>,
        all: &[usize],
    ) -> Result<(), TwinError> {
        let near = ranked[0].cost * RIVAL;
        let is_near = |rival: &&Ranked| rival.cost <= near;
        let rivals = ranked.iter().take(RIVALS).take_while(is_near).count().max(1);
        let effort = self.effort(self.settings.evaluations / rivals, 0.08, 3);
        for rival in &mut ranked[..rivals] {
            let start = rival.ended.point.clone();
            let found = self.search(Stage::Together, rival.structure, &start, all, effort)?;
            (rival.ended.point, rival.cost) = found;
        }
        let best = ranked[..rivals].iter().map(|rival| rival.cost).fold(f64::INFINITY, f64::min);
        for rival in ranked[..rivals].iter_mut().filter(|rival| rival.cost <= NEAR * best) {
            self.end(rival, all)?;
        }
        ranked[..rivals].sort_by(order);
        self.beside_the_best(ranked, effort, all)?;
        Ok(())
    }

    /// Rivals that begin where the best ended: the other reason, and siblings.
    fn beside_the_best(
        &mut self,
        ranked: &mut Vec<Ranked>,
        effort: Effort,
        all: &[usize],
    ) -> Result<(), TwinError> {
        let (structure, point) = (ranked[0].structure, ranked[0].ended.point.clone());
        let mut others = Vec::new();
        if let Some(start) = other_reason(&self.space, &point) {
            let found = self.search(Stage::Together, structure, &start, all, effort)?;
            others.push(Ranked::new(structure, found));
        }
        let may = |of: &Structure| {
            self.tells_structure() && self.space.channels(of.channels) == of.channels
        };
        let siblings: Vec<Structure> = structure.siblings().filter(may).collect();
        for sibling in siblings {
            let start = same_rate(&self.space, &point, structure, sibling);
            others.push(Ranked::new(sibling, (start, f64::INFINITY)));
        }
        for mut other in others {
            self.end(&mut other, all)?;
            // One that was stopped before its first step has no cost.
            if other.cost.is_finite() {
                ranked.push(other);
            }
        }
        ranked.sort_by(order);
        Ok(())
    }

    /// The last steps of one.
    fn end(&mut self, rival: &mut Ranked, all: &[usize]) -> Result<(), TwinError> {
        rival.ended = self.polish(rival.structure, &rival.ended.point.clone(), all)?;
        rival.cost = rival.ended.cost.unwrap_or(rival.cost);
        Ok(())
    }

    /// The mean cost of the best point with seeds that the search did not see: what the true
    /// parameters may cost with the seed of the search, which the best ones were chosen for.
    fn unseen(&self, best: &Ranked, all: &[usize]) -> Result<f64, TwinError> {
        let (point, requests) = (&best.ended.point, self.settings.requests);
        let cost = |seed| -> Result<f64, TwinError> {
            Ok(self.mean(all, &self.figures(best.structure, point, all, requests, seed)?))
        };
        let costs = (0..SEEDS).map(cost).collect::<Result<Vec<f64>, TwinError>>()?;
        Ok(costs[0].max(costs[1..].iter().sum::<f64>() / (SEEDS - 1) as f64))
    }

    /// The ranges, over all points of any structure that explain the runs as well: where two do, a
    /// rate of one of them is no more than a rate of the other.
    pub(super) fn doubt(&mut self, ranked: &[Ranked], all: &[usize]) -> Result<Doubt, TwinError> {
        let best = &ranked[0];
        let figures = self.figures_of(all);
        let most_of_ended = most(best.cost, figures);
        let most = most(self.unseen(best, all)?, figures);
        self.as_well = most;
        // A walk goes along one parameter at a time: its points no longer go together.
        let of_the_best = self.seen.iter().filter(|seen| seen.structure == best.structure);
        let near: Vec<(Vec<f64>, f64)> =
            of_the_best.map(|seen| (seen.point.clone(), self.mean(all, &seen.figures))).collect();
        let pairs = traded(&near, most_of_ended);
        let mut ranges = best.ended.ranges.clone();
        for of in ranked.iter().filter(|of| of.cost <= most_of_ended) {
            join(&mut ranges, of.ended.ranges.iter().copied());
            self.walk(of, most, all)?;
        }
        let cost = |seen: &Seen| self.mean(all, &seen.figures);
        for seen in self.seen.iter().filter(|seen| cost(seen) <= most) {
            join(&mut ranges, seen.point.iter().map(|x| Range { low: *x, high: *x }));
        }
        Ok(Doubt { ranges, pairs })
    }
}

fn join(ranges: &mut [Range], with: impl Iterator<Item = Range>) {
    for (range, of) in ranges.iter_mut().zip(with) {
        (range.low, range.high) = (range.low.min(of.low), range.high.max(of.high));
    }
}

/// By cost; one without the last steps is behind all that have made them.
fn order(a: &Ranked, b: &Ranked) -> Ordering {
    let is_rough = |of: &Ranked| of.ended.cost.is_none();
    is_rough(a).cmp(&is_rough(b)).then(a.cost.total_cmp(&b.cost))
}

/// The point of a sibling whose channels carry as much together.
fn same_rate(space: &Space, point: &[f64], of: Structure, sibling: Structure) -> Vec<f64> {
    let mut start = point.to_vec();
    if let Some(channel) = space.at(&Place::Key("device.channel.rate")) {
        let parameter = &space.parameters[channel];
        let part = f64::from(of.channels) / f64::from(sibling.channels);
        start[channel] = parameter.x(parameter.at(point[channel]) * part);
    }
    start
}

#[cfg(test)]
mod tests {
    use super::super::space::{Parameter, Unit};
    use super::*;

    #[test]
    fn half_the_channels_are_each_twice_as_fast() {
        let (low, high, start, base, from) = (200.0, 4800.0, 600.0, None, String::new());
        let (place, unit) = (Place::Key("device.channel.rate"), Unit::MegaBytes);
        let parameters = vec![Parameter { place, unit, low, high, start, base, from }];
        let space = Space { parameters, known: Vec::new() };
        let of = Structure { channels: 8, ways: 4, planes: 2, ways_first: false };
        let sibling = Structure { channels: 4, ways: 8, ..of };
        let found = same_rate(&space, &space.start(), of, sibling);
        assert!((space.parameters[0].at(found[0]) - 1200.0).abs() < 1e-6);
        assert_eq!(same_rate(&Space::default(), &[], of, sibling), Vec::<f64>::new());
    }
}
