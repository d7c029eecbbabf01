//! Logarithm, exponential and power in plain f64 arithmetic.
//!
//! IEEE 754 fixes `+ - * /` to the last bit, but not `ln`, `exp` and `pow`: each libm rounds as it
//! likes, and output bytes would depend on the machine. So they are written here, without
//! `mul_add`, which is a slow call into libm where the target has no such instruction. The relative
//! error of [`ln`] and [`exp`] is below 1e-15; that of [`pow`] grows with |y ln x| (see there).

use std::f64::consts::{LN_2, LOG2_E};

/// The bits of sqrt(1/2). Reducing to [sqrt(1/2), sqrt(2)) rather than to [1, 2) keeps ln of the
/// rest and k ln 2 from cancelling.
const SQRT_HALF: u64 = 0x3fe6_a09e_667f_3bcd;
/// ln 2 in two parts: the upper 32 bits, so that an exponent times it is exact, and what is left.
const LN_2_UPPER: f64 = f64::from_bits(0x3fe6_2e42_fee0_0000);
const LN_2_LOWER: f64 = 1.908_214_929_270_587_7e-10;

/// The natural logarithm of `x`: negative infinity of 0, NaN of a negative number.
#[inline]
pub fn ln(x: f64) -> f64 {
    if (f64::MIN_POSITIVE..f64::INFINITY).contains(&x) { ln_normal(x) } else { ln_special(x) }
}

/// x = m 2^k, and ln m = 2 atanh(s) = 2 s (1 + s^2 / 3 + s^4 / 5 + ..) with s = (m - 1) / (m + 1),
/// |s| < 0.1716.
#[inline]
fn ln_normal(x: f64) -> f64 {
    let k = (x.to_bits().wrapping_sub(SQRT_HALF) as i64) >> 52;
    let m = f64::from_bits(x.to_bits().wrapping_sub((k << 52) as u64));
    let s = (m - 1.0) / (m + 1.0);
    // Terms up to s^22 (the next is below 1e-18), paired so that the processor can work on several
    // at once.
    let z = s * s;
    let (z2, z4) = (z * z, (z * z) * (z * z));
    let low = (1.0 / 3.0 + z * (1.0 / 5.0)) + z2 * (1.0 / 7.0 + z * (1.0 / 9.0));
    let middle = (1.0 / 11.0 + z * (1.0 / 13.0)) + z2 * (1.0 / 15.0 + z * (1.0 / 17.0));
    let high = (1.0 / 19.0 + z * (1.0 / 21.0)) + z2 * (1.0 / 23.0);
    let series = low + z4 * (middle + z4 * high);
    let twice = s + s;
    k as f64 * LN_2 + (twice + twice * (z * series))
}

#[cold]
fn ln_special(x: f64) -> f64 {
    const TWO_TO_54: f64 = (1u64 << 54) as f64;
    match x {
        0.0 => f64::NEG_INFINITY,
        f64::INFINITY => f64::INFINITY,
        x if x > 0.0 => ln_normal(x * TWO_TO_54) - 54.0 * LN_2,
        _ => f64::NAN,
    }
}

/// e to the power of `x`: infinity above about 709.8, 0 below about -745.1.
pub fn exp(x: f64) -> f64 {
    if x.is_nan() {
        return x;
    }
    if x > 709.79 {
        return f64::INFINITY;
    }
    if x < -745.2 {
        return 0.0;
    }
    // x = k ln 2 + r with |r| < 0.35; the Taylor series of e^r up to r^13 (the next term is below
    // 1e-17).
    let k = (x * LOG2_E + 0.5).floor();
    let r = (x - k * LN_2_UPPER) - k * LN_2_LOWER;
    let series = (2..=13).rev().fold(1.0, |tail, n| 1.0 + r * tail / f64::from(n));
    // 2^k in two factors, because 2^1024 and 2^-1074 do not fit in one.
    let half = (k as i64) / 2;
    (1.0 + r * series) * power_of_two(half) * power_of_two(k as i64 - half)
}

/// `x` to the power of `y`, for `x` that is not negative (NaN otherwise). The relative error is
/// about |y ln x| 2^-52: 1e-14 for a rank of 2^40 and an exponent of 1.2.
pub fn pow(x: f64, y: f64) -> f64 {
    if y == 0.0 || x == 1.0 { 1.0 } else { exp(y * ln(x)) }
}

/// 2^k for -1022 <= k <= 1023.
fn power_of_two(k: i64) -> f64 {
    debug_assert!((-1022..=1023).contains(&k), "2^{k} is not a normal number");
    f64::from_bits(((k + 1023) as u64) << 52)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::Rng;
    use std::f64::consts::{E, LN_10, PI, SQRT_2};

    fn relative_error(value: f64, expected: f64) -> f64 {
        if value == expected { 0.0 } else { ((value - expected) / expected).abs() }
    }

    #[test]
    fn known_constants_come_out() {
        let known = [
            (ln(2.0), LN_2),
            (ln(10.0), LN_10),
            (ln(0.1), -LN_10),
            (ln(E), 1.0),
            (ln(1.0 + 1.0 / 1_048_576.0), 9.536_738_616_591_882e-7),
            (ln(1e-300), -690.775_527_898_213_7),
            (exp(1.0), E),
            (exp(-1.0), 0.367_879_441_171_442_33),
            (exp(0.5), 1.648_721_270_700_128_2),
            (exp(-20.0), 2.061_153_622_438_558e-9),
            (exp(700.0), 1.014_232_054_735_005e304),
            (pow(2.0, 0.5), SQRT_2),
            (pow(2.0, 10.0), 1024.0),
            (pow(10.0, -3.0), 1e-3),
            (pow(PI, 2.0), PI * PI),
        ];
        for (index, (value, expected)) in known.into_iter().enumerate() {
            assert!(
                relative_error(value, expected) < 2e-15,
                "row {index}: {value:e} instead of {expected:e}"
            );
        }
    }

    #[test]
    fn the_edges_are_those_of_ieee_754() {
        assert_eq!(
            (ln(1.0), exp(0.0), pow(0.0, 0.0), pow(1.0, f64::INFINITY)),
            (0.0, 1.0, 1.0, 1.0)
        );
        assert_eq!((ln(0.0), ln(f64::INFINITY)), (f64::NEG_INFINITY, f64::INFINITY));
        assert_eq!((exp(710.0), exp(-746.0)), (f64::INFINITY, 0.0));
        assert_eq!((exp(f64::INFINITY), exp(f64::NEG_INFINITY)), (f64::INFINITY, 0.0));
        assert_eq!((pow(0.0, 2.0), pow(0.0, -2.0)), (0.0, f64::INFINITY));
        assert!(
            ln(-1.0).is_nan()
                && ln(f64::NAN).is_nan()
                && exp(f64::NAN).is_nan()
                && pow(-2.0, 2.0).is_nan()
        );
        let smallest = f64::from_bits(1);
        assert!(
            relative_error(ln(smallest), -1074.0 * LN_2) < 1e-15 && exp(ln(smallest)) == smallest
        );
    }

    /// Bits, not a tolerance: these must be the same on every machine, so a change of the
    /// arithmetic shows here.
    #[test]
    fn the_bits_are_fixed() {
        let mut rng = Rng::stream(1, "math");
        let mut hash = 0u64;
        for _ in 0..10_000 {
            let x = rng.unit() * 40.0 - 20.0;
            for value in [exp(x), ln(x * x), pow(x * x, 1.2)] {
                hash = (hash ^ value.to_bits()).wrapping_mul(0x100_0000_01b3).rotate_left(17);
            }
        }
        assert_eq!(hash, 0xe07c_8954_54ff_94c0, "{hash:#x}");
    }

    #[test]
    #[allow(
        clippy::disallowed_methods,
        reason = "the platform's libm is the yardstick here, not a source of output"
    )]
    fn they_agree_with_the_platform() {
        let mut rng = Rng::stream(2, "math");
        let (mut ln_worst, mut exp_worst, mut pow_worst) = (0f64, 0f64, 0f64);
        for _ in 0..200_000 {
            let x = rng.unit() * 1400.0 - 700.0;
            exp_worst = exp_worst.max(relative_error(exp(x), x.exp()));
            let any = f64::from_bits(rng.next_u64() >> 2);
            let near_one = 1.0 + (rng.unit() - 0.5) * 0.1;
            for y in [any, near_one, rng.unit()] {
                ln_worst = ln_worst.max(relative_error(ln(y), y.ln()));
            }
            let (rank, theta) = (1.0 + rng.unit() * 1e9, rng.unit() * 1.5);
            pow_worst = pow_worst.max(relative_error(pow(rank, -theta), rank.powf(-theta)));
        }
        assert!(ln_worst < 1e-15, "{ln_worst:e}");
        assert!(exp_worst < 1e-15, "{exp_worst:e}");
        assert!(pow_worst < 1e-14, "{pow_worst:e}");
    }
}
