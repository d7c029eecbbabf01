//! The arithmetic of redundancy, on the stamps that stand for pages: P is the XOR of a row's data,
//! Q its sum with powers of a generator over GF(2^8), as in Linux' RAID-6 (H. P. Anvin, "The
//! mathematics of RAID-6"). A stamp is four bytes of such a page. In a mirror every "parity" is a
//! copy, which is the XOR of one page. With `ec` the parities are those of a Cauchy Reed-Solomon
//! code (Bloemer et al., ICSI TR-95-048): every square part of its matrix can be inverted, so that
//! any k pages of a row give all others. Its first parity is P.
//!
//! A page that is computed wrongly is read wrongly: the oracle sees it.

use super::layout::{ArrayLayout, RaidLevel};
use super::link::Matter;

/// x * 2 in GF(2^8) mod x^8 + x^4 + x^3 + x^2 + 1, for four bytes at once.
const fn double(x: u32) -> u32 {
    let high = x & 0x8080_8080;
    ((x << 1) & 0xfefe_fefe) ^ ((high >> 7) * 0x1d)
}

/// x * y in GF(2^8) for each of the four bytes of x.
pub const fn times(mut x: u32, mut y: u8) -> u32 {
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
const fn inverse(x: u8) -> u8 {
    // 254 is 2 + 4 + .. + 128.
    let (mut square, mut product, mut bit) = (x, 1, 1);
    while bit < 8 {
        square = times(square as u32, square) as u8;
        (product, bit) = (times(product as u32, square) as u8, bit + 1);
    }
    product
}

/// More members than an array has.
const SIDE: usize = 32;

/// Factors of the code by parity and data page: 1 / (x + y) of Cauchy's matrix, with x the parity's
/// number and y 255 less the page's, each page's times what makes its factor in P 1.
static CODE: [[u8; SIDE]; SIDE] = {
    let (mut code, mut parity) = ([[0; SIDE]; SIDE], 0);
    while parity < SIDE {
        let mut index = 0;
        while index < SIDE {
            let y = 255 - index as u8;
            code[parity][index] = times(y as u32, inverse(y ^ parity as u8)) as u8;
            index += 1;
        }
        parity += 1;
    }
    code
};

/// Share of the data page `index` in the parity `parity` (0 is P, 1 is Q; a mirror has copies
/// only).
pub(super) fn share<M: Matter>(
    matter: &mut M,
    level: RaidLevel,
    parity: u32,
    index: u32,
    stamp: u32,
) -> u32 {
    match (level, parity) {
        (RaidLevel::Raid6, 1) => matter.times(stamp, power(index)),
        (RaidLevel::Ec, 1..) => matter.times(stamp, CODE[parity as usize][index as usize]),
        _ => stamp,
    }
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
        (missing, RaidLevel::Ec) => {
            let stored = |parity: &usize| row.get(k + *parity).copied().flatten().is_some();
            let used: Vec<usize> = (0..row.len() - k).filter(stored).take(missing.len()).collect();
            let matrix = used.iter().map(|p| missing.iter().map(|at| CODE[*p][*at]).collect());
            let inverse = inverted(matrix.collect(), missing.len())?;
            let rests: Vec<u32> =
                used.iter().map(|parity| rest(matter, &data, *parity)).collect::<Option<_>>()?;
            for (at, factors) in missing.iter().zip(inverse) {
                data[*at] = factors.into_iter().zip(&rests).fold(0, |sum, (factor, rest)| {
                    let share = matter.times(*rest, factor);
                    matter.sum(sum, share)
                });
            }
        }
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

/// The inverse of a square matrix of `side` rows, by Gauss and Jordan; `None` where it has fewer
/// rows, or no inverse.
fn inverted(mut matrix: Vec<Vec<u8>>, side: usize) -> Option<Vec<Vec<u8>>> {
    if matrix.len() < side {
        return None;
    }
    for (at, row) in matrix.iter_mut().enumerate() {
        row.extend((0..side).map(|other| u8::from(other == at)));
    }
    for column in 0..side {
        let pivot = (column..side).find(|row| matrix[*row][column] != 0)?;
        matrix.swap(column, pivot);
        let factor = inverse(matrix[column][column]);
        matrix[column].iter_mut().for_each(|x| *x = times((*x).into(), factor) as u8);
        let pivot = matrix[column].clone();
        for (at, row) in matrix.iter_mut().enumerate() {
            let factor = row[column];
            if at != column && factor != 0 {
                let pairs = row.iter_mut().zip(&pivot);
                pairs.for_each(|(x, y)| *x ^= times((*y).into(), factor) as u8);
            }
        }
    }
    matrix.iter_mut().for_each(|row| drop(row.drain(..side)));
    Some(matrix)
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

    /// The code of 24 members with each number of parities: sets of missing pages at random, of
    /// data and parities together, for all of them are too many.
    #[test]
    fn the_widest_codes_bear_as_many_as_they_have_parities() {
        let mut rng = Rng::stream(1, "codes");
        let members = 24;
        for parities in 1..=22 {
            let layout = ArrayLayout::new((RaidLevel::Ec, parities), members, 1, 8, 64);
            let mut row: Row = (0..layout.data).map(|_| Some(rng.next_u64() as u32)).collect();
            row.resize(members as usize, None);
            let whole: Row =
                (0..members).map(|index| recover(&mut Stamps, &layout, &row, index)).collect();
            // The first parity is P, as a naive sum has it; the second the sum of Cauchy's shares.
            let naive = |parity: u8| {
                let byte = |shift: u32| {
                    row[..layout.data as usize].iter().enumerate().fold(0, |sum, (at, stamp)| {
                        let (y, page) = (255 - at as u8, (stamp.unwrap() >> shift) as u8);
                        let (mut factor, mut x) = (1, y ^ parity);
                        // y / (y + x), by search.
                        while naive_times(factor, x) != y {
                            factor += 1;
                        }
                        x = naive_times(factor, page);
                        sum ^ x
                    })
                };
                [0, 8, 16, 24].map(byte)
            };
            for parity in 0..parities {
                let stored = whole[(layout.data + parity) as usize].unwrap();
                assert_eq!(stored.to_le_bytes(), naive(parity as u8), "{parity} of {parities}");
            }
            for _ in 0..40 {
                let mut known = whole.clone();
                for lost in 0..=parities {
                    let left: Vec<usize> =
                        (0..members as usize).filter(|at| known[*at].is_some()).collect();
                    known[left[rng.below(left.len() as u64) as usize]] = None;
                    let holes = (0..members).filter(|at| known[*at as usize].is_none());
                    for at in holes {
                        let back = recover(&mut Stamps, &layout, &known, at);
                        let is_enough = lost < parities;
                        assert_eq!(back, whole[at as usize].filter(|_| is_enough), "{parities}");
                    }
                }
            }
        }
    }

    /// Whatever is missing, up to as many as there are parities, comes back; one more does not.
    #[test]
    fn what_is_missing_comes_back() {
        let mut rng = Rng::stream(1, "parity");
        for (level, of_code, members) in [
            (RaidLevel::Raid1, 0, 2),
            (RaidLevel::Raid1, 0, 3),
            (RaidLevel::Raid5, 0, 4),
            (RaidLevel::Raid6, 0, 7),
            (RaidLevel::Ec, 1, 4),
            (RaidLevel::Ec, 2, 6),
            (RaidLevel::Ec, 3, 9),
            (RaidLevel::Ec, 4, 10),
            (RaidLevel::Ec, 7, 9),
        ] {
            let layout = ArrayLayout::new((level, of_code), members, 1, 8, 64);
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
