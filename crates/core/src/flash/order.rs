//! Transfers that wait for a channel in another order than they came in.
//!
//! First come, first served is a next-free time (`channel`). In another order, what has not begun
//! may be overtaken: what asks takes its place in the line, and everything behind it comes later by
//! the time that it takes. A channel is never idle while something waits for it and no transfer
//! stops for another, so the line is served as if the choice were made each time that the channel
//! becomes free. A transfer that moves takes its die's timer along, and its waits, as in `cut`.
//!
//! `data-first` is the order of MQSim's flash controller (Tavakkol et al., FAST '18;
//! `NVM_PHY_ONFI_NVDDR2`): data that was read leaves its die before commands are sent. A die with
//! its data out is free for the next read, and a command that waits keeps a die that would only
//! begin. `round-robin` gives each die of the channel its turn, so that one that sends large data
//! does not keep the others waiting.
//!
//! A transfer that has its slot at this instant keeps it.

use super::channel::Crossing;
use super::cut::Pending;
use crate::units::Instant;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// The order in which a channel serves what waits for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ChannelOrder {
    /// The order of asking.
    #[default]
    FirstCome,
    /// Data that was read before commands and data to program, each in the order of asking.
    DataFirst,
    /// The dies of the channel in turn, by number.
    RoundRobin,
}

/// When an operation takes its die.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ChannelTake {
    /// As soon as the die is free: its command waits for the channel.
    #[default]
    Early,
    /// When its command crosses the channel.
    WithSlot,
}

impl ChannelOrder {
    /// The place in `line` of a transfer that asks at `now`; the channel has `dies` dies.
    pub(super) fn place(
        self,
        line: &VecDeque<Pending>,
        now: Instant,
        (die, crossing): (usize, Crossing),
        dies: usize,
    ) -> usize {
        let begun = line.iter().take_while(|pending| pending.start <= now).count();
        let waiting = line.iter().skip(begun);
        let found = match (self, crossing) {
            (Self::DataFirst, Crossing::Out(_)) => {
                { waiting }.position(|other| !matches!(other.crossing, Crossing::Out(_)))
            }
            (Self::FirstCome | Self::DataFirst, _) => None,
            (Self::RoundRobin, _) => {
                // Rounds and turns from the die on that has the channel.
                let last = line.front().map_or(0, |pending| pending.die);
                let turn = |die: usize| (die + dies - last - 1) % dies;
                let others_of = |die, upto| {
                    { line.iter().skip(begun).take(upto) }
                        .filter(move |other| other.die == die)
                        .count()
                };
                let its = (others_of(die, line.len()), turn(die));
                { waiting.enumerate() }
                    .position(|(at, other)| (others_of(other.die, at), turn(other.die)) > its)
            }
        };
        found.map_or(line.len(), |at| begun + at)
    }
}

#[cfg(test)]
mod tests {
    use super::super::blame::Whose;
    use super::*;
    use crate::flash::{OpId, Operation, What};
    use crate::sim::Rng;
    use crate::units::{Duration, Ppn};

    const DIES: usize = 5;

    /// A transfer of a die, asked at some time: data out, or a command.
    #[derive(Clone, Copy, Debug)]
    struct Ask {
        at: u64,
        die: usize,
        is_data: bool,
        time: u64,
    }

    /// Whenever the channel is free, the order says which of those that wait is next.
    fn one_by_one(order: ChannelOrder, asks: &[Ask]) -> Vec<u64> {
        let (mut starts, mut free, mut last) = (vec![u64::MAX; asks.len()], 0, 0);
        for _ in asks {
            let first = (0..asks.len()).filter(|ask| starts[*ask] == u64::MAX);
            let now = { first.clone() }.map(|ask| asks[ask].at).min().unwrap_or(0).max(free);
            let turn = |ask: &usize| (asks[*ask].die + DIES - last - 1) % DIES;
            // A transfer that asks when the channel becomes free comes too late for it.
            let waits = |ask: &usize| asks[*ask].at < now || (asks[*ask].at == now && free < now);
            let next = match order {
                ChannelOrder::FirstCome => { first }.next(),
                ChannelOrder::DataFirst => {
                    let waiting: Vec<_> = { first.clone() }.filter(waits).collect();
                    let data = waiting.iter().copied().find(|ask| asks[*ask].is_data);
                    data.or(waiting.first().copied()).or({ first }.next())
                }
                ChannelOrder::RoundRobin => {
                    let waiting = { first.clone() }.filter(waits);
                    waiting.min_by_key(turn).or({ first }.next())
                }
            };
            let next = next.expect("something waits");
            starts[next] = now;
            (free, last) = (now + asks[next].time, asks[next].die);
        }
        starts
    }

    /// Each takes its place in the line when it asks.
    fn in_line(order: ChannelOrder, asks: &[Ask]) -> Vec<u64> {
        let mut line: VecDeque<Pending> = VecDeque::new();
        let (mut starts, mut free) = (vec![0; asks.len()], 0);
        for (token, ask) in asks.iter().enumerate() {
            let now = Instant::from_ns(ask.at);
            while line.pop_front_if(|first| first.end <= now).is_some() {}
            let crossing = if ask.is_data { Crossing::Out(1) } else { Crossing::Command };
            let at = order.place(&line, now, (ask.die, crossing), DIES);
            let start = line.get(at).map_or(free.max(ask.at), |next| next.start.as_ns());
            free = free.max(ask.at) + ask.time;
            let what = What::Read { page: Ppn(0), sectors: 1 };
            let operation = Operation { what, token: OpId(token as u32), gc: false };
            line.insert(
                at,
                Pending {
                    die: ask.die,
                    whose: Whose::Current,
                    operation,
                    crossing,
                    start: Instant::from_ns(start),
                    end: Instant::from_ns(start + ask.time),
                    head: Duration::ZERO,
                    crossed: 0,
                    logged: 0,
                },
            );
            starts[token] = start;
            for moved in line.iter_mut().skip(at + 1) {
                let later = Duration::from_ns(ask.time);
                (moved.start, moved.end) = (moved.start + later, moved.end + later);
                starts[moved.operation.token.index()] += ask.time;
            }
        }
        starts
    }

    #[test]
    fn a_place_in_the_line_is_a_choice_each_time_that_the_channel_becomes_free() {
        for order in [ChannelOrder::FirstCome, ChannelOrder::DataFirst, ChannelOrder::RoundRobin] {
            for seed in 0..200 {
                let (mut rng, mut at) = (Rng::stream(seed, "line"), 0);
                let asks: Vec<Ask> = (0..60)
                    .map(|_| {
                        at += 1 + 2 * rng.below(40);
                        let die = rng.below(DIES as u64) as usize;
                        // Times are odd and lengths are even: no two things at one instant.
                        let (is_data, time) = (rng.below(2) == 0, 2 + 2 * rng.below(40));
                        Ask { at, die, is_data, time }
                    })
                    .collect();
                let (expected, found) = (one_by_one(order, &asks), in_line(order, &asks));
                assert_eq!(expected, found, "{order:?}, seed {seed}: {asks:?}");
            }
        }
    }
}
