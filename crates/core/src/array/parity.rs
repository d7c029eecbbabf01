//! The arithmetic of redundancy, on the stamps that stand for pages: P is the XOR of a row's data,
//! Q its sum with powers of a generator over GF(2^8), as in Linux' RAID-6 (H. P. Anvin, "The
//! mathematics of RAID-6"). A stamp is four bytes of such a page. In a mirror every "parity" is a
//! copy, which is the XOR of one page.
//!
//! A page that is computed wrongly is read wrongly: the oracle sees it.

use super::layout::{ArrayLayout, RaidLevel};
use super::link::Matter;

/// x * 2 in GF(2^8) mod x^8 + x^4 + x^3 + x^2 + 1, for four bytes at once.
fn double(x: u32) -> u32 {
    let high = x & 0x8080_8080;
    ((x << 1) & 0xfefe_fefe) ^ ((high >> 7) * 0x1d)
}

/// x * y in GF(2^8) for each of the four bytes of x.
pub fn times(mut x: u32, mut y: u8) -> u32 {
    let mut product = 0;
    while y != 0 {
        if y & 1 != 0 {
            product ^= x;
        }
        x = double(x);
        y >>= 1;
    }
    product
}

/// 2^n.
fn power(n: u32) -> u8 {
    (0..n % 255).fold(1u32, |x, _| double(x)) as u8
}

/// 1 / x for x other than 0: x^254.
fn inverse(x: u8) -> u8 {
    (0..253).fold(x, |product, _| times(product.into(), x) as u8)
}

/// Share of the data page `index` in the parity `parity` (0 is P, 1 is Q; a mirror has copies
/// only).
pub(super) fn share<M: Matter>(
    matter: &mut M,
    level: RaidLevel,
    parity: u32,
    index: u32,
    stamp: u32,
) -> u32 {
    let is_q = level == RaidLevel::Raid6 && parity == 1;
    if is_q { matter.times(stamp, power(index)) } else { stamp }
}

/// A row of stamps by index, data before parity; `None` is not known.
pub(super) type Row = Vec<Option<u32>>;

/// The stamp at `index` of a row, from those that are known; `None` when too few are.
pub(super) fn recover<M: Matter>(
    matter: &mut M,
    layout: &ArrayLayout,
    row: &Row,
    index: u32,
) -> Option<u32> {
    if let Some(known) = row[index as usize] {
        return Some(known);
    }
    let data = solve(matter, layout, row)?;
    if index < layout.data {
        return Some(data[index as usize]);
    }
    Some(added(matter, layout.level, index - layout.data, &data, 0))
}

/// The shares of `data` in a parity, on top of `sum`.
fn added<M: Matter>(matter: &mut M, level: RaidLevel, parity: u32, data: &[u32], sum: u32) -> u32 {
    (0..).zip(data).fold(sum, |sum, (at, stamp)| {
        let share = share(matter, level, parity, at, *stamp);
        matter.sum(sum, share)
    })
}

/// All data of a row.
fn solve<M: Matter>(matter: &mut M, layout: &ArrayLayout, row: &Row) -> Option<Vec<u32>> {
    let k = layout.data as usize;
    let mut data: Vec<u32> = row[..k].iter().map(|stamp| stamp.unwrap_or(0)).collect();
    let missing: Vec<usize> = (0..k).filter(|at| row[*at].is_none()).collect();
    // Sum of the missing pages in each parity that is known.
    let rest = |matter: &mut M, data: &[u32], parity: usize| {
        let stored = row.get(k + parity).copied().flatten()?;
        Some(added(matter, layout.level, parity as u32, data, stored))
    };
    match (missing.as_slice(), layout.level) {
        ([], _) => {}
        (_, RaidLevel::Raid0) => return None,
        ([_], RaidLevel::Raid1) => data[0] = row[k..].iter().copied().flatten().next()?,
        ([one], level) => {
            data[*one] = match (rest(matter, &data, 0), level) {
                (Some(p), _) => p,
                (None, RaidLevel::Raid6) => {
                    let q = rest(matter, &data, 1)?;
                    matter.times(q, inverse(power(*one as u32)))
                }
                (None, _) => return None,
            }
        }
        ([one, two], RaidLevel::Raid6) => {
            // a + b = p and g^i a + g^j b = q, so (g^i + g^j) a = q + g^j p.
            let (p, q) = (rest(matter, &data, 0)?, rest(matter, &data, 1)?);
            let (first, second) = (power(*one as u32), power(*two as u32));
            let from_p = matter.times(p, second);
            let sum = matter.sum(q, from_p);
            let a = matter.times(sum, inverse(first ^ second));
            (data[*one], data[*two]) = (a, matter.sum(a, p));
        }
        _ => return None,
    }
    Some(data)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::link::Stamps;
    use crate::sim::Rng;

    /// The field by shift and long division, bit by bit.
    fn naive_times(x: u8, y: u8) -> u8 {
        let mut product = (0..8)
            .filter(|bit| y >> bit & 1 == 1)
            .fold(0u16, |sum, bit| sum ^ (u16::from(x) << bit));
        for bit in (8..15).rev() {
            if product >> bit & 1 == 1 {
                product ^= 0x11d << (bit - 8);
            }
        }
        product as u8
    }

    #[test]
    fn the_field_agrees_with_long_division() {
        for (x, y) in (0..=255u8).flat_map(|x| (0..=255u8).map(move |y| (x, y))) {
            assert_eq!(times(x.into(), y), u32::from(naive_times(x, y)), "{x} * {y}");
        }
        let bytes = times(0x0102_80ff, 0x1d);
        let naive = [0x01, 0x02, 0x80, 0xff].map(|x| naive_times(x, 0x1d));
        assert_eq!(bytes.to_be_bytes(), naive);
        (1..=255u8).for_each(|x| assert_eq!(naive_times(x, inverse(x)), 1));
        // A generator: its first 255 powers differ.
        let mut powers: Vec<u8> = (0..255).map(power).collect();
        powers.sort_unstable();
        powers.dedup();
        assert_eq!(powers.len(), 255);
    }

    /// Whatever is missing, up to as many as there are parities, comes back; one more does not.
    #[test]
    fn what_is_missing_comes_back() {
        let mut rng = Rng::stream(1, "parity");
        for (level, members) in [
            (RaidLevel::Raid1, 2),
            (RaidLevel::Raid1, 3),
            (RaidLevel::Raid5, 4),
            (RaidLevel::Raid6, 7),
        ] {
            let layout = ArrayLayout::new(level, members, 1, 8, 64);
            let mut row: Row = (0..layout.data).map(|_| Some(rng.next_u64() as u32)).collect();
            row.extend((layout.data..members).map(|_| None));
            let whole: Row =
                (0..members).map(|index| recover(&mut Stamps, &layout, &row, index)).collect();
            assert!(whole.iter().all(Option::is_some));
            for missing in 0..1u32 << members {
                let holes = |index: u32| missing >> index & 1 == 1;
                let known: Row =
                    (0..members).map(|at| whole[at as usize].filter(|_| !holes(at))).collect();
                for index in (0..members).filter(|index| holes(*index)) {
                    let back = recover(&mut Stamps, &layout, &known, index);
                    if missing.count_ones() <= members - layout.data {
                        assert_eq!(back, whole[index as usize], "{level:?} without {missing:b}");
                    } else {
                        assert_eq!(back, None, "{level:?} without {missing:b}");
                    }
                }
            }
        }
    }
}
