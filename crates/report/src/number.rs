//! Numbers for people: few digits, a unit that fits, a no-break space between.

/// The space between a number and its unit.
const SPACE: char = '\u{a0}';

/// A latency with three or four digits: "142.6 µs", "2.50 ms", "1.20 s".
pub fn latency(us: f64) -> String {
    // The limits are those of rounding: 999.96 us is 1.00 ms.
    let (value, unit) = match us {
        us if us < 999.95 => (us, "µs"),
        us if us < 999_950.0 => (us / 1e3, "ms"),
        us => (us / 1e6, "s"),
    };
    let decimals = if value < 99.995 { 2 } else { 1 };
    format!("{value:.decimals$}{SPACE}{unit}")
}

/// A latency for an axis, whose values are round: "100 µs", "2 ms".
pub fn tick(us: f64) -> String {
    let (value, unit) = match us {
        us if us < 0.9995 => (us * 1e3, "ns"),
        us if us < 999.5 => (us, "µs"),
        us if us < 999_500.0 => (us / 1e3, "ms"),
        us => (us / 1e6, "s"),
    };
    // One digit behind the point at most: ticks are 1, 2 or 5 times a power of ten.
    let text = format!("{value:.1}");
    format!("{}{SPACE}{unit}", text.strip_suffix(".0").unwrap_or(&text))
}

pub use manx_lab::table::three_digits;

/// A rate: "812 k", "4.12 M".
pub fn rate(per_second: f64) -> String {
    match per_second {
        rate if rate < 999.5 => three_digits(rate),
        rate if rate < 999_500.0 => format!("{}{SPACE}k", three_digits(rate / 1e3)),
        rate => format!("{}{SPACE}M", three_digits(rate / 1e6)),
    }
}

/// A whole number in groups of three: "1 234 567".
pub fn whole(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 2);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(SPACE);
        }
        text.push(digit);
    }
    text
}

/// Bytes in a binary unit: "3.00 GiB".
pub fn bytes(bytes: u64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let place = (63 - (bytes | 1).leading_zeros()) as usize / 10;
    let scaled = bytes as f64 / (1u64 << (10 * place)) as f64;
    let digits = if place == 0 { bytes.to_string() } else { three_digits(scaled) };
    format!("{digits}{SPACE}{}", units[place])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: String) -> String {
        text.replace(SPACE, " ")
    }

    #[test]
    fn latencies_change_their_unit_where_rounding_does() {
        let shown = [0.85, 142.575, 999.94, 999.96, 52_345.678, 1_200_000.0].map(|us| plain(latency(us)));
        assert_eq!(shown, ["0.85 µs", "142.6 µs", "999.9 µs", "1.00 ms", "52.35 ms", "1.20 s"]);
        let ticks = [0.5, 1.0, 200.0, 1000.0, 5e5, 1e6, 1e7].map(|us| plain(tick(us)));
        assert_eq!(ticks, ["500 ns", "1 µs", "200 µs", "1 ms", "500 ms", "1 s", "10 s"]);
    }

    #[test]
    fn counts_rates_and_sizes_have_few_digits() {
        assert_eq!([0, 999, 1000, 1_234_567].map(|n| plain(whole(n))), ["0", "999", "1 000", "1 234 567"]);
        assert_eq!([12.0, 999.6, 4_123_456.0].map(|r| plain(rate(r))), ["12.0", "1.00 k", "4.12 M"]);
        assert_eq!([0.0, 0.03125, 9.996, 104.2].map(three_digits), ["0", "0.0312", "10.0", "104"]);
        assert_eq!([0, 1023, 1024, 3 << 30].map(|n| plain(bytes(n))), ["0 B", "1023 B", "1.00 KiB", "3.00 GiB"]);
        assert_eq!(plain(bytes(u64::MAX)), "16.0 EiB");
    }
}
