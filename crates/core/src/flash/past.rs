//! The keepers of a die in the past, for as long as an observer may ask: a write that waited for
//! room in the buffer learns at the end for which die it waited.

use super::blame::{KEEPERS, Keeper, Kept};
use crate::units::Instant;
use std::collections::VecDeque;

/// Turns in a piece: readings begin at its totals, so this is how far one has to add up.
const TURNS: usize = 32;

/// The latest turns of a die.
#[derive(Clone, Debug)]
pub(super) struct Past {
    /// The last piece, which goes on, and those before it.
    last: Piece,
    pieces: VecDeque<Piece>,
}

#[derive(Clone, Debug, Default)]
struct Piece {
    /// By keeper, up to the first turn.
    totals: Kept,
    /// Since when who kept it.
    turns: Vec<(Instant, Keeper)>,
}

impl Past {
    pub fn new() -> Self {
        let mut turns = Vec::with_capacity(TURNS);
        turns.push((Instant::START, Keeper::Nobody));
        Self { last: Piece { totals: [0; KEEPERS], turns }, pieces: VecDeque::new() }
    }

    /// From `now` on the die is kept by `keeper`; before, each kept it for `totals`. Nobody asks
    /// for times before `from`.
    #[inline]
    pub fn turn(&mut self, now: Instant, keeper: Keeper, totals: &Kept, from: Instant) {
        let turns = &mut self.last.turns;
        let is_full = turns.len() >= TURNS;
        match turns.last_mut() {
            Some(last) if last.0 == now => last.1 = keeper,
            _ if !is_full => turns.push((now, keeper)),
            _ => self.begin(now, keeper, totals, from),
        }
    }

    #[inline(never)]
    fn begin(&mut self, now: Instant, keeper: Keeper, totals: &Kept, from: Instant) {
        self.pieces.push_back(std::mem::take(&mut self.last));
        let mut turns = Vec::new();
        while self.pieces.get(1).map_or(now, Piece::begins) <= from
            && let Some(old) = self.pieces.pop_front()
        {
            turns = old.turns;
            turns.clear();
        }
        turns.reserve_exact(TURNS);
        turns.push((now, keeper));
        self.last = Piece { totals: *totals, turns };
    }

    /// The totals up to `at`.
    pub fn totals(&self, at: Instant) -> Kept {
        let piece = match self.last.begins() <= at {
            true => &self.last,
            false => {
                let later = self.pieces.partition_point(|piece| piece.begins() <= at);
                debug_assert!(later > 0, "no operation said that {at:?} would be asked for");
                self.pieces.get(later.saturating_sub(1)).unwrap_or(&self.last)
            }
        };
        let mut totals = piece.totals;
        let ends = piece.turns.iter().skip(1).map(|turn| turn.0).chain([Instant::NEVER]);
        for ((begun, keeper), end) in piece.turns.iter().zip(ends) {
            totals[*keeper as usize] += at.min(end).since(*begun).as_ns();
            if end >= at {
                break;
            }
        }
        totals
    }
}

impl Piece {
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
            (0..after).for_each(|_| {
                totals[kept as usize] += 1;
                now += 1;
                sums.push((now, totals));
            });
            kept = keeper;
            let from = if turn < 500 { Instant::START } else { Instant::from_ns(2000) };
            past.turn(Instant::from_ns(now), keeper, &totals, from);
        }
        for (at, totals) in sums.iter().filter(|(at, _)| *at >= 2000) {
            assert_eq!(past.totals(Instant::from_ns(*at)), *totals, "at {at}");
        }
        assert!(past.pieces[0].begins() <= Instant::from_ns(2000));
        assert!(past.pieces[1].begins() > Instant::from_ns(2000), "what was before is gone");
        past.begin(Instant::from_ns(now + 1), Keeper::Nobody, &totals, Instant::NEVER);
        assert!(past.pieces.is_empty());
    }
}
