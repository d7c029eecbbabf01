//! Numbers of a command line with and without a unit: `8000`, `0.05`, `64KiB`, and ranges of them.
//!
//! A number with a unit is a whole number of nanoseconds, bytes or bytes per second, and its
//! arithmetic is exact. A number without one is exact where all of it is whole, and otherwise
//! rounded to twelve digits, so that 0.05 + 2 x 0.05 is 0.15.

use manx_core::units::{Bandwidth, Bytes, Duration};

/// Values that one range may stand for.
pub const VALUES_MAX: usize = 1_000_000;

/// Quantity that a number counts, and so how it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// A plain number.
    Plain,
    /// A time, in nanoseconds.
    Time,
    /// A size, in bytes.
    Size,
    /// A rate, in bytes per second.
    Rate,
}

impl Measure {
    /// A whole number of this measure, as a scenario holds it.
    pub fn show(self, value: i128) -> String {
        let unsigned = u64::try_from(value).unwrap_or(u64::MAX);
        match self {
            Self::Plain => value.to_string(),
            Self::Time => Duration::from_ns(unsigned).to_string(),
            Self::Size => Bytes::new(unsigned).to_string(),
            Self::Rate => Bandwidth::bytes_per_second(unsigned).to_string(),
        }
    }
}

/// A number as it was written.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Number<'a> {
    /// Digits, sign, point and exponent.
    digits: &'a str,
    unit: &'a str,
}

/// Between two values that follow one another.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Step<'a> {
    Plus(Number<'a>),
    Times(Number<'a>),
}

/// `LOW..HIGH`, with `+STEP` or `*FACTOR` behind it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range<'a> {
    text: &'a str,
    low: Number<'a>,
    high: Number<'a>,
    step: Option<Step<'a>>,
}

/// The ends of a range, understood.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Ends {
    /// Whole numbers of a measure.
    Whole(i128, i128, Measure),
    /// Others.
    Real(f64, f64),
}

impl<'a> Range<'a> {
    /// The range that `text` is; `None` for text that is something else (a path may hold two dots).
    pub fn parse(text: &'a str) -> Option<Self> {
        let (low, rest) = text.split_once("..")?;
        let (low, after) = number(low.trim())?;
        let (high, step) = number(rest.trim())?;
        let step = match step.trim().split_at_checked(1) {
            None => None,
            Some(("+", step)) => Some(Step::Plus(whole_text(step)?)),
            Some(("*", factor)) => Some(Step::Times(whole_text(factor)?)),
            Some(_) => return None,
        };
        after.trim().is_empty().then_some(Self { text, low, high, step })
    }

    /// It says which values between its ends are meant.
    pub fn has_step(&self) -> bool {
        self.step.is_some()
    }

    /// The ends; `whole` where only whole numbers are allowed.
    pub fn ends(&self, whole: bool) -> Result<Ends, String> {
        let Self { low, high, .. } = self;
        let ends = match low.measure(high)? {
            Measure::Plain => match (low.whole(), high.whole()) {
                (Some(low), Some(high)) => Ends::Whole(low, high, Measure::Plain),
                _ if whole => {
                    return Err(
                        self.wrong("its ends must be whole numbers, as the values of this key are")
                    );
                }
                _ => Ends::Real(low.real()?, high.real()?),
            },
            measure => Ends::Whole(low.base(measure)?, high.base(measure)?, measure),
        };
        let backwards = match ends {
            Ends::Whole(low, high, _) => low > high,
            Ends::Real(low, high) => low > high,
        };
        if backwards { Err(self.wrong("it is empty: LOW..HIGH goes upwards")) } else { Ok(ends) }
    }

    /// The values of a range with a step, from LOW up to at most HIGH.
    pub fn values(&self, whole: bool) -> Result<Vec<String>, String> {
        let ends = self.ends(whole)?;
        match (self.step, ends) {
            (None, _) => Err(self.wrong("it needs a step, LOW..HIGH+STEP or LOW..HIGH*FACTOR")),
            (Some(Step::Plus(step)), Ends::Whole(low, high, measure))
                if measure != Measure::Plain || step.whole().is_some() =>
            {
                let step = if measure == Measure::Plain {
                    step.whole().unwrap_or(0)
                } else {
                    step.base(measure)?
                };
                if step <= 0 {
                    return Err(self.wrong("the step must be above 0"));
                }
                let next = |value: &i128| value.checked_add(step).filter(|value| *value <= high);
                self.collect(std::iter::successors(Some(low), next), |value| measure.show(value))
            }
            (Some(Step::Plus(step)), ends) => {
                let ((low, high), step) = (ends.real(), step.plain()?);
                if step <= 0.0 {
                    return Err(self.wrong("the step must be above 0"));
                }
                // A count of steps, not a sum: no error grows along the range.
                let values = (0..=VALUES_MAX as u64).map(|at| digits(low + at as f64 * step, 12));
                self.collect(values.take_while(|value| *value <= high), real)
            }
            (Some(Step::Times(factor)), ends) => {
                let ((low, high), factor) = (ends.real(), factor.plain()?);
                if factor <= 1.0 || low <= 0.0 {
                    return Err(self.wrong("*FACTOR must be above 1, and LOW above 0"));
                }
                // The least bit of a product may be wrong, and must not cost the last value.
                let next =
                    |value: &f64| Some(value * factor).filter(|value| digits(*value, 12) <= high);
                let values = std::iter::successors(Some(low), next);
                match ends {
                    Ends::Whole(_, _, measure)
                        if whole || measure != Measure::Plain || factor.fract() == 0.0 =>
                    {
                        self.collect(values.map(|value| value.round() as i128), |value| {
                            measure.show(value)
                        })
                    }
                    _ => self.collect(values.map(|value| digits(value, 12)), real),
                }
            }
        }
    }

    /// The values as text; two that are rounded to the same count once.
    fn collect<T: PartialEq + Copy>(
        &self,
        values: impl Iterator<Item = T>,
        show: impl Fn(T) -> String,
    ) -> Result<Vec<String>, String> {
        let mut all: Vec<T> = Vec::new();
        for value in values {
            if all.last() != Some(&value) {
                all.push(value);
            }
            if all.len() > VALUES_MAX {
                return Err(self.wrong(&format!("it has more than {VALUES_MAX} values")));
            }
        }
        Ok(all.into_iter().map(show).collect())
    }

    /// A complaint about the range.
    pub fn wrong(&self, why: &str) -> String {
        format!("{}: {why}", self.text)
    }
}

impl Ends {
    fn real(self) -> (f64, f64) {
        match self {
            Self::Whole(low, high, _) => (low as f64, high as f64),
            Self::Real(low, high) => (low, high),
        }
    }
}

impl Number<'_> {
    /// Quantity that both ends count: an end that is zero needs no unit.
    fn measure(&self, high: &Self) -> Result<Measure, String> {
        match (self.own_measure()?, high.own_measure()?) {
            (low, high) if low == high => Ok(low),
            (Measure::Plain, high) if self.real() == Ok(0.0) => Ok(high),
            _ => Err(format!("{self}..{high}: both ends need a unit, and of the same kind")),
        }
    }

    fn own_measure(&self) -> Result<Measure, String> {
        let one = format!("1{}", self.unit);
        match () {
            () if self.unit.is_empty() => Ok(Measure::Plain),
            () if one.parse::<Duration>().is_ok() => Ok(Measure::Time),
            () if one.parse::<Bytes>().is_ok() => Ok(Measure::Size),
            () if one.parse::<Bandwidth>().is_ok() => Ok(Measure::Rate),
            () => Err(format!(
                "{self}: `{}` is no unit of a time (us), a size (KiB) or a rate (MB/s)",
                self.unit
            )),
        }
    }

    /// In nanoseconds, bytes or bytes per second.
    fn base(&self, measure: Measure) -> Result<i128, String> {
        let text = self.to_string();
        let value = match measure {
            _ if self.unit.is_empty() && self.real() == Ok(0.0) => Ok(0),
            Measure::Plain => {
                return self
                    .whole()
                    .ok_or_else(|| format!("{text}: a whole number is needed here"));
            }
            Measure::Time => text.parse::<Duration>().map(Duration::as_ns),
            Measure::Size => text.parse::<Bytes>().map(Bytes::get),
            Measure::Rate => text.parse::<Bandwidth>().map(Bandwidth::get),
        };
        value.map(i128::from).map_err(|error| error.to_string())
    }

    fn whole(&self) -> Option<i128> {
        let plain = self.unit.is_empty();
        // As far as TOML goes.
        self.digits.replace('_', "").parse::<i64>().ok().filter(|_| plain).map(i128::from)
    }

    fn real(&self) -> Result<f64, String> {
        let parsed =
            self.digits.replace('_', "").parse().ok().filter(|value: &f64| value.is_finite());
        parsed.ok_or_else(|| format!("{self}: a number is needed here"))
    }

    /// A number that may have no unit.
    fn plain(&self) -> Result<f64, String> {
        if self.unit.is_empty() {
            self.real()
        } else {
            Err(format!("{self}: a number without a unit is needed here"))
        }
    }
}

impl std::fmt::Display for Number<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{}", self.digits, self.unit)
    }
}

/// The number at the start of `text`, and what follows it.
fn number(text: &str) -> Option<(Number<'_>, &str)> {
    let bytes = text.as_bytes();
    let digits_from = |from: usize| {
        bytes.iter().skip(from).take_while(|byte| byte.is_ascii_digit() || **byte == b'_').count()
            + from
    };
    let start = usize::from(bytes.first().is_some_and(|byte| matches!(byte, b'-' | b'+')));
    let mut end = digits_from(start);
    if end == start || bytes[start] == b'_' {
        return None;
    }
    if bytes.get(end) == Some(&b'.') && bytes.get(end + 1).is_some_and(u8::is_ascii_digit) {
        end = digits_from(end + 1);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'-' | b'+')));
        let exponent = digits_from(end + 1 + sign);
        end = if exponent > end + 1 + sign { exponent } else { end };
    }
    let (digits, rest) = text.split_at(end);
    let rest = rest.trim_start();
    let unit = rest.find(|c: char| !c.is_alphabetic() && c != '/').unwrap_or(rest.len());
    let (unit, rest) = rest.split_at(unit);
    Some((Number { digits, unit }, rest))
}

fn whole_text(text: &str) -> Option<Number<'_>> {
    number(text.trim()).filter(|(_, rest)| rest.trim().is_empty()).map(|(number, _)| number)
}

/// `value` to so many significant digits.
pub fn digits(value: f64, significant: usize) -> f64 {
    format!("{value:.*e}", significant.saturating_sub(1)).parse().unwrap_or(value)
}

/// A number as TOML, with a point or an exponent.
pub fn real(value: f64) -> String {
    format!("{value:?}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(text: &str, whole: bool) -> Result<Vec<String>, String> {
        Range::parse(text).unwrap_or_else(|| panic!("{text} is a range")).values(whole)
    }

    #[test]
    fn a_range_goes_from_its_low_end_to_its_high_end_and_not_beyond() {
        let table: [(&str, bool, &[&str]); 14] = [
            ("1000..8000*2", true, &["1000", "2000", "4000", "8000"]),
            ("1000..2000+500", true, &["1000", "1500", "2000"]),
            ("1000..2400+500", false, &["1000", "1500", "2000"]),
            ("0.05..0.3+0.05", false, &["0.05", "0.1", "0.15", "0.2", "0.25", "0.3"]),
            ("1..4*1.5", false, &["1.0", "1.5", "2.25", "3.375"]),
            ("1..4*1.5", true, &["1", "2", "3"]),
            ("0.1..0.9*3", false, &["0.1", "0.3", "0.9"]),
            ("64KiB..1MiB*4", false, &["64KiB", "256KiB", "1MiB"]),
            ("1ms..2.5ms+500us", false, &["1ms", "1.5ms", "2ms", "2.5ms"]),
            ("0..1ms+500us", false, &["0s", "500us", "1ms"]),
            ("100MB/s..200MB/s+50MB/s", false, &["100MB/s", "150MB/s", "200MB/s"]),
            ("-2..2+2", true, &["-2", "0", "2"]),
            ("1e3..3e3+1e3", false, &["1000.0", "2000.0", "3000.0"]),
            ("5..5+1", true, &["5"]),
        ];
        for (text, whole, expected) in table {
            assert_eq!(values(text, whole).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn a_range_that_cannot_be_is_refused_with_the_reason() {
        let table = [
            ("8000..1000*2", "it is empty"),
            ("2ms..1ms+1us", "it is empty"),
            ("1..2+0", "above 0"),
            ("1..2+-1", "above 0"),
            ("1..2*1", "above 1"),
            ("0..2*2", "LOW above 0"),
            ("1ms..2+1", "both ends need a unit"),
            ("1ms..2KiB+1ms", "of the same kind"),
            ("1parsec..2parsec*2", "`parsec` is no unit"),
            ("1ms..2ms*2ms", "without a unit"),
            ("1ms..2ms+1", "time"),
            ("0..9e9+0.001", "more than 1000000"),
            ("0..9000000+1", "more than 1000000"),
            ("1..2", "needs a step"),
        ];
        for (text, reason) in table {
            let error = values(text, false).unwrap_err();
            assert!(error.contains(reason), "{text}: {error}");
        }
        assert!(values("0.5..3+1", true).unwrap_err().contains("whole numbers"));
        for other in ["../traces/a.csv", "a..b", "1..", "..5", "1..2/3", "base", "1...5", "1..5+"] {
            assert_eq!(Range::parse(other), None, "{other}");
        }
    }
}
