//! Ratios for people and JSON: exact integers in, a short decimal out, and never a NaN or an
//! infinity.

/// `numerator` / `denominator` rounded half up to `decimals` places, or `None` over zero.
///
/// The rounding is done on integers, so that the one division left gives the shortest decimal and
/// the same bytes everywhere.
pub fn rounded(numerator: u128, denominator: u128, decimals: u32) -> Option<f64> {
    let scale = 10u128.pow(decimals);
    let scaled =
        numerator.checked_mul(scale)?.checked_add(denominator / 2)?.checked_div(denominator)?;
    Some(scaled as f64 / scale as f64)
}

/// `part` of `whole` in percent with six decimals (one request in 10^8 shows), or `None` of
/// nothing.
pub fn percent(part: u64, whole: u64) -> Option<f64> {
    rounded(u128::from(part) * 100, u128::from(whole), 6)
}

/// `count` per second over `span_ns`, with three decimals; 0 over no time at all, in which nothing
/// can be measured.
pub fn per_second(count: u64, span_ns: u64) -> f64 {
    rounded(u128::from(count) * 1_000_000_000, u128::from(span_ns), 3).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_over_zero_is_nothing() {
        assert_eq!(rounded(1, 0, 6), None);
        assert_eq!(percent(0, 0), None);
        assert_eq!(per_second(5, 0), 0.0);
    }

    #[test]
    fn a_ratio_is_a_short_decimal() {
        assert_eq!(rounded(2, 3, 6).unwrap().to_string(), "0.666667");
        assert_eq!(percent(1, 8).unwrap().to_string(), "12.5");
        assert_eq!(percent(u64::MAX, u64::MAX), Some(100.0));
    }

    /// MQSim divides by whole seconds: its rate of a run shorter than one is infinite.
    #[test]
    fn the_rate_of_a_run_shorter_than_a_second_is_right() {
        assert_eq!(per_second(1_000, 250_000_000), 4_000.0);
        assert_eq!(per_second(1, 1), 1e9);
    }
}
