//! The keepers of a die in the past, for as long as an observer may ask: a write that waited for
//! room in the buffer learns at the end for which die it waited.

use super::blame::{KEEPERS, Keeper, Kept};
use crate::units::Instant;
use std::collections::VecDeque;

/// Turns in a piece: readings begin at its totals, so this is how far one has to add up.
const TURNS: usize = 32;

/// The latest turns of a die that are over; the one that goes on is the die's.
#[derive(Clone, Debug)]
pub(super) struct Past {
    /// The last piece, which goes on, and those before it.
    last: Piece,
    pieces: VecDeque<Piece>,
}

#[derive(Clone, Debug)]
struct Piece {
    /// By keeper, up to the first turn.
    totals: Kept,
    /// Since when who kept it.
    turns: Box<[(Instant, Keeper); TURNS]>,
    len: usize,
}

impl Past {
    pub fn new() -> Self {
        Self { last: Piece::new(), pieces: VecDeque::new() }
    }

    /// A turn is over that `keeper` began at `since`; before, each kept the die for `totals`.
    /// Nobody asks for times before `from`.
    #[inline]
    pub fn ended(&mut self, since: Instant, keeper: Keeper, totals: &Kept, from: Instant) {
        let Piece { turns, len, .. } = &mut self.last;
        match turns.get_mut(*len) {
            Some(turn) => (*turn, *len) = ((since, keeper), *len + 1),
            None => self.begin(since, keeper, totals, from),
        }
    }

    #[inline(never)]
    fn begin(&mut self, since: Instant, keeper: Keeper, totals: &Kept, from: Instant) {
        let mut old = None;
        while self.pieces.get(1).unwrap_or(&self.last).begins() <= from
            && let Some(piece) = self.pieces.pop_front()
        {
            old = Some(piece);
        }
        if self.pieces.is_empty() && since <= from {
            return self.last.begin_with((since, keeper), totals);
        }
        let mut next = old.unwrap_or_else(Piece::new);
        next.begin_with((since, keeper), totals);
        self.pieces.push_back(std::mem::replace(&mut self.last, next));
    }

    /// The totals up to `at`; the last turn ended at `end`.
    pub fn totals(&self, at: Instant, end: Instant) -> Kept {
        let piece = match self.last.begins() <= at {
            true => &self.last,
            false => {
                let later = self.pieces.partition_point(|piece| piece.begins() <= at);
                debug_assert!(later > 0, "no operation said that {at:?} would be asked for");
                self.pieces.get(later.saturating_sub(1)).unwrap_or(&self.last)
            }
        };
        let mut totals = piece.totals;
        let turns = &piece.turns[..piece.len];
        let ends = turns.iter().skip(1).map(|turn| turn.0).chain([end]);
        for ((begun, keeper), end) in turns.iter().zip(ends) {
            totals[*keeper as usize] += at.min(end).since(*begun).as_ns();
            if end >= at {
                break;
            }
        }
        totals
    }
}

impl Piece {
    fn new() -> Self {
        let turns = Box::new([(Instant::START, Keeper::Nobody); TURNS]);
        Self { totals: [0; KEEPERS], turns, len: 0 }
    }

    fn begin_with(&mut self, turn: (Instant, Keeper), totals: &Kept) {
        (self.turns[0], self.len, self.totals) = (turn, 1, *totals);
    }

    fn begins(&self) -> Instant {
        self.turns[0].0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Turns at random: every reading is the sum of all turns, and turns that no reading needs are
    /// dropped.
    #[test]
    fn readings_of_the_past_are_the_sums_of_its_turns() {
        let (mut past, mut totals) = (Past::new(), [0; KEEPERS]);
        let keepers =
            [Keeper::Nobody, Keeper::Erase, Keeper::Read, Keeper::Program, Keeper::GcCopy];
        let (mut now, mut kept, mut sums) = (0, Keeper::Nobody, vec![(0, totals)]);
        for turn in 0..1000u64 {
            let (after, keeper) = (turn * 37 % 11, keepers[(turn * 7 % 5) as usize]);
            let (since, before) = (Instant::from_ns(now), totals);
            (0..after).for_each(|_| {
                totals[kept as usize] += 1;
                now += 1;
                sums.push((now, totals));
            });
            let from = if turn < 500 { Instant::START } else { Instant::from_ns(2000) };
            if after > 0 {
                past.ended(since, kept, &before, from);
            }
            kept = keeper;
        }
        for (at, totals) in sums.iter().filter(|(at, _)| *at >= 2000) {
            let (at, end) = (Instant::from_ns(*at), Instant::from_ns(now));
            assert_eq!(past.totals(at, end), *totals, "at {at:?}");
        }
        assert!(past.pieces[0].begins() <= Instant::from_ns(2000));
        assert!(past.pieces[1].begins() > Instant::from_ns(2000), "what was before is gone");
        past.begin(Instant::from_ns(now + 1), Keeper::Nobody, &totals, Instant::NEVER);
        assert!(past.pieces.is_empty());
    }
}
