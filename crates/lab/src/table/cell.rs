//! Numbers for people: few digits, a unit that fits, no spaces inside (`awk` and `cut` count
//! columns by them).

/// A latency with four significant digits in us, ms or s: "142.6us", "2.500ms".
pub fn latency(us: f64) -> String {
    // The limits are those of rounding: 999.96 us is 1.000 ms, not 1000.0 us.
    let (value, unit) = match us {
        us if us < 999.95 => (us, "us"),
        us if us < 999_950.0 => (us / 1e3, "ms"),
        us => (us / 1e6, "s"),
    };
    let decimals = match value {
        value if value < 9.9995 => 3,
        value if value < 99.995 => 2,
        _ => 1,
    };
    format!("{value:.decimals$}{unit}")
}

/// A ratio or a percentage with three significant digits: "0.0312", "1.00", "12.5", "104"; exactly
/// nothing is "0".
pub fn three_digits(value: f64) -> String {
    if value == 0.0 {
        return "0".to_string();
    }
    // Rounded first, in the notation that counts significant digits, so that 9.996 is 10.0 and not
    // 10.00.
    let scientific = format!("{value:.2e}");
    let exponent: i32 =
        scientific.split_once('e').and_then(|(_, exponent)| exponent.parse().ok()).unwrap_or(0);
    let decimals = (2 - exponent).clamp(0, 8) as usize;
    format!("{value:.decimals$}")
}

/// A rate with three significant digits: "812k", "4.12M".
pub fn rate(per_second: f64) -> String {
    match per_second {
        rate if rate < 999.5 => three_digits(rate),
        rate if rate < 999_500.0 => three_digits(rate / 1e3) + "k",
        rate => three_digits(rate / 1e6) + "M",
    }
}

/// A whole number in groups of three: "1,234,567".
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 2);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_latency_has_four_digits_and_the_unit_that_fits() {
        let shown = [0.85, 9.9996, 40.0, 142.575, 999.94, 999.96, 2_500.0, 52_345.678, 1_200_000.0]
            .map(latency);
        let expected = [
            "0.850us", "10.00us", "40.00us", "142.6us", "999.9us", "1.000ms", "2.500ms", "52.35ms",
            "1.200s",
        ];
        assert_eq!(shown, expected);
    }

    #[test]
    fn a_ratio_has_three_digits() {
        let shown = [0.0, 0.03125, 1.0, 9.996, 12.5, 104.2, 3_456.0].map(three_digits);
        assert_eq!(shown, ["0", "0.0312", "1.00", "10.0", "12.5", "104", "3456"]);
    }

    #[test]
    fn a_rate_is_in_thousands_or_millions() {
        assert_eq!(
            [12.0, 999.6, 812_345.0, 999_600.0, 4_123_456.0].map(rate),
            ["12.0", "1.00k", "812k", "1.00M", "4.12M"]
        );
    }

    #[test]
    fn a_count_is_in_groups_of_three() {
        assert_eq!([0, 999, 1000, 1_234_567].map(count), ["0", "999", "1,000", "1,234,567"]);
    }
}
