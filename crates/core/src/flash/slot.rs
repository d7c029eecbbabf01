//! Dies that are given an operation only when their channel is free for its command.
//!
//! Otherwise a die takes its next operation as soon as it is free, and the command waits on the
//! channel in its name: nothing that comes meanwhile can go before it on the die. With a slot, the
//! die is asked for its next operation at the instant at which the command can cross, as in MQSim
//! (`TSU_OutOfOrder`: only an idle channel is given a command) and in the simulator of ttFlash's
//! authors (a program takes its chip when the channel is free). Data that was read has its place on
//! the channel when its array read ends, so it goes before all dies that wait for a slot.
//!
//! A die that finds the channel taken asks here; a timer of the channel, after those of dies and
//! registers at the same instant, gives one of them its turn ([`super::Fired::free`]).

use super::blame::Keeper;
use super::fired::Fired;
use super::{ChannelOrder, Flash};
use crate::sim::Timers;
use crate::units::{Die, Instant};
use std::collections::VecDeque;

/// The dies of each channel that wait for a slot.
#[derive(Clone, Debug)]
pub(super) struct Slots {
    order: ChannelOrder,
    /// By channel.
    asking: Vec<Asking>,
    /// The die whose turn it is.
    turn: Option<Die>,
}

#[derive(Clone, Debug, Default)]
struct Asking {
    /// In the order of asking.
    dies: VecDeque<Die>,
    /// The die that had a slot last.
    last: u32,
}

impl Asking {
    fn next(&mut self, order: ChannelOrder, dies: u32) -> Option<Die> {
        let turn = |die: &Die| (die.0 + dies - self.last - 1) % dies;
        let at = match order {
            ChannelOrder::FirstCome | ChannelOrder::DataFirst => 0,
            ChannelOrder::RoundRobin => {
                { self.dies.iter().enumerate() }.min_by_key(|(_, die)| turn(die))?.0
            }
        };
        self.dies.remove(at)
    }
}

impl Flash {
    /// Dies take operations with a slot of their channel from now on ([`Flash::has_slot`]), in this
    /// order. Call it before the first operation.
    pub fn take_with_slot(&mut self, order: ChannelOrder) {
        let asking = vec![Asking::default(); self.channels.len()];
        self.slots = Some(Box::new(Slots { order, asking, turn: None }));
        let registers = if self.cache_read { self.dies.len() } else { 0 };
        self.channel_timers = self.dies.len() + registers;
        self.timers = Timers::new(self.channel_timers + self.channels.len());
        self.look_for_features();
    }

    /// True when the idle die may be given an operation now; otherwise it asks for a slot, and
    /// becomes free again at its turn.
    pub fn has_slot(&mut self, now: Instant, die: Die) -> bool {
        let channel = self.layout.channel_of(die).index();
        let free_at = self.channels[channel].free_at();
        let Some(slots) = &mut self.slots else { return true };
        let (has_turn, asking) = (slots.turn.take() == Some(die), &mut slots.asking[channel]);
        if free_at <= now && (has_turn || asking.dies.is_empty()) {
            asking.last = die.0;
            return true;
        }
        if !asking.dies.contains(&die) {
            asking.dies.push_back(die);
            self.timers.set(self.channel_timers + channel, free_at.max(now));
            if let Some(blame) = &mut self.blame {
                blame.asks_for_slot(now, die.index());
            }
        }
        false
    }

    /// The channel is free, unless data came before: a die that waits has its turn.
    pub(super) fn channel_turn(&mut self, now: Instant, channel: usize) -> Fired {
        let (timer, dies) = (self.channel_timers + channel, self.layout.dies_per_channel());
        let free_at = self.channels[channel].free_at();
        let Some(slots) = &mut self.slots else { return Fired::NOTHING };
        if free_at > now {
            self.timers.set(timer, free_at);
            return Fired::NOTHING;
        }
        slots.turn = slots.asking[channel].next(slots.order, dies);
        if slots.asking[channel].dies.is_empty() {
            self.timers.clear(timer);
        }
        let Some(die) = slots.turn else { return Fired::NOTHING };
        if let Some(blame) = &mut self.blame {
            blame.has_turn(now, die.index());
        }
        Fired::freed(die.index())
    }
}

impl super::blame::Blame {
    /// An idle die waits for a slot of its channel.
    fn asks_for_slot(&mut self, now: Instant, die: usize) {
        if self.keeper(die) == Keeper::Nobody {
            self.turns(now, die, Keeper::Slot);
        }
    }

    /// It waits no more.
    fn has_turn(&mut self, now: Instant, die: usize) {
        if self.keeper(die) == Keeper::Slot {
            self.freed(now, die);
        }
    }
}
