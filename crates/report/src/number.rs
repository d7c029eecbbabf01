//! Numbers for people, as the terminal has them: a time as a scenario takes it (142.6us), a size
//! with a no-break space.

/// The space between a size and its unit.
const SPACE: char = '\u{a0}';

pub use manx_lab::table::{count, latency, rate, three_digits};

/// A latency for an axis, whose values are round: "100us", "2ms".
pub fn tick(us: f64) -> String {
    let (value, unit) = match us {
        us if us < 0.9995 => (us * 1e3, "ns"),
        us if us < 999.5 => (us, "us"),
        us if us < 999_500.0 => (us / 1e3, "ms"),
        us => (us / 1e6, "s"),
    };
    // One digit behind the point at most: ticks are 1, 2 or 5 times a power of ten.
    let text = format!("{value:.1}");
    format!("{}{unit}", text.strip_suffix(".0").unwrap_or(&text))
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
    fn ticks_are_short() {
        let ticks = [0.5, 1.0, 200.0, 1000.0, 5e5, 1e6, 1e7].map(tick);
        assert_eq!(ticks, ["500ns", "1us", "200us", "1ms", "500ms", "1s", "10s"]);
    }

    #[test]
    fn sizes_have_few_digits() {
        assert_eq!(
            [0, 1023, 1024, 3 << 30].map(|n| plain(bytes(n))),
            ["0 B", "1023 B", "1.00 KiB", "3.00 GiB"]
        );
        assert_eq!(plain(bytes(u64::MAX)), "16.0 EiB");
    }
}
