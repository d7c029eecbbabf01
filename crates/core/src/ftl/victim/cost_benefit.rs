//! Cost-benefit: the largest age x (1 - u) / 2u (Kawaguchi, Nishioka, Motoda, USENIX 1995, section
//! 2.2). Old, stable blocks are worth reclaiming even when they are fuller.

use super::Candidates;

/// The candidate with the largest benefit for its cost; the lowest number breaks ties.
pub fn choose(candidates: &Candidates) -> Option<u32> {
    let mut best: Option<(f64, u32)> = None;
    for index in 0..candidates.count() {
        let Some(valid) = candidates.valid(index) else { continue };
        if valid == 0 {
            return Some(index);
        }
        let (invalid, valid) = (f64::from(candidates.units() - valid), f64::from(valid));
        // Plain IEEE arithmetic: the same on every machine.
        let worth = candidates.age(index) as f64 * invalid / (2.0 * valid);
        if best.is_none_or(|(most, _)| worth > most) {
            best = Some((worth, index));
        }
    }
    best.map(|(_, index)| index)
}
