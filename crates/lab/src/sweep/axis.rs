//! One swept key and the values it takes: what `--grid` and `--random` say.

use super::number::{Ends, Measure, Range, digits, real};
use super::schema::{self, Leaf};
use super::value::{Cell, Kind};
use manx_core::sim::{Rng, math};
use manx_core::units::{Bandwidth, Bytes, Duration};

/// Digits of a number that is drawn.
const DRAWN_DIGITS: usize = 9;

/// A key and its values.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// The key of the scenario.
    pub key: String,
    /// Its values, as `--set` would say them.
    pub values: Vec<String>,
    /// `--grid` or `--random`.
    pub option: &'static str,
    /// The values as they were asked for.
    pub asked: String,
    kind: Kind,
    leaf: Leaf,
}

impl Axis {
    /// `KEY=v1,v2,LOW..HIGH+STEP,..`.
    pub fn grid(text: &str) -> Result<Self, String> {
        let option = "--grid";
        let wrong = |why: String| format!("{option} {text}: {why}");
        let (key, asked) = split(text).ok_or_else(|| wrong("expected KEY=V1,V2,..".to_string()))?;
        let leaf = schema::of_key(key).unwrap_or(Leaf::Other);
        let mut values = Vec::new();
        for item in items(asked, ',') {
            match Range::parse(item) {
                _ if item.is_empty() => return Err(wrong("a value is empty".to_string())),
                Some(range) => values.extend(range.values(leaf == Leaf::Integer).map_err(wrong)?),
                None => values.push(item.to_string()),
            }
        }
        let mut seen = std::collections::BTreeSet::new();
        if let Some(twice) = values.iter().find(|value| !seen.insert(value.as_str())) {
            return Err(wrong(format!("the value {twice} is named twice")));
        }
        Ok(Self::of(key, values, option, asked, leaf))
    }

    /// `KEY=LOW..HIGH`, `KEY=LOW..HIGH:log` or `KEY=v1|v2|v3`: so many values, drawn from the key's
    /// own stream under `seed`. More points draw the same ones first.
    pub fn random(text: &str, points: usize, seed: u64) -> Result<Self, String> {
        let option = "--random";
        let wrong = |why: String| format!("{option} {text}: {why}");
        let expected =
            || wrong("expected KEY=LOW..HIGH, KEY=LOW..HIGH:log or KEY=V1|V2|..".to_string());
        let (key, asked) = split(text).ok_or_else(expected)?;
        let leaf = schema::of_key(key).unwrap_or(Leaf::Other);
        let (plain, log) = asked.strip_suffix(":log").map_or((asked, false), |plain| (plain, true));
        let mut rng = Rng::stream(seed, &format!("sweep.{key}"));
        let values = match Range::parse(plain) {
            Some(range) if !range.has_step() => {
                let ends = range.ends(leaf == Leaf::Integer).map_err(wrong)?;
                draws(ends, log, leaf, points, &mut rng).map_err(|why| wrong(range.wrong(why)))?
            }
            Some(_) if log => {
                return Err(wrong(
                    "a range with a step is a set, of which :log says nothing".to_string(),
                ));
            }
            set => {
                let set = match set {
                    Some(range) => range.values(leaf == Leaf::Integer).map_err(wrong)?,
                    None => items(asked, '|').into_iter().map(str::to_string).collect(),
                };
                match set.iter().any(String::is_empty) {
                    true => return Err(wrong("a value is empty".to_string())),
                    false if set.len() < 2 => return Err(expected()),
                    false => (0..points)
                        .map(|_| set[rng.below(set.len() as u64) as usize].clone())
                        .collect(),
                }
            }
        };
        Ok(Self::of(key, values, option, asked, leaf))
    }

    fn of(key: &str, values: Vec<String>, option: &'static str, asked: &str, leaf: Leaf) -> Self {
        let kinds = values.iter().map(|value| Cell::of_toml(value).kind());
        let kind = kinds.reduce(|all, kind| all.and(kind)).unwrap_or(Kind::Text);
        let (key, asked) = (key.to_string(), asked.to_string());
        Self { key, values, option, asked, kind, leaf }
    }

    /// The columns of this key: its values as they stand in the scenario, and for a time, size or
    /// rate the number.
    pub fn columns(&self) -> Vec<(String, Kind)> {
        let measured = match self.leaf {
            Leaf::Time => Some((format!("{}_us", self.key), Kind::Number)),
            Leaf::Size => Some((format!("{}_bytes", self.key), Kind::Integer)),
            Leaf::Rate => Some((format!("{}_bytes_per_s", self.key), Kind::Integer)),
            _ => None,
        };
        [(self.key.clone(), self.kind)].into_iter().chain(measured).collect()
    }

    /// The cells of those columns for the value with this number.
    pub fn cells(&self, number: usize) -> impl Iterator<Item = Cell> {
        let text = &self.values[number];
        let bare = text.trim_matches(['"', '\'']);
        let integer = |value: u64| i64::try_from(value).map_or(Cell::Missing, Cell::Integer);
        let measured = match self.leaf {
            Leaf::Time => Some(
                bare.parse::<Duration>()
                    .map_or(Cell::Missing, |time| Cell::Number(time.as_us_f64())),
            ),
            Leaf::Size => {
                Some(bare.parse::<Bytes>().map_or(Cell::Missing, |size| integer(size.get())))
            }
            // Zero stands for `unlimited`, which is no number.
            Leaf::Rate => Some(match bare.parse::<Bandwidth>() {
                Ok(rate) if rate.get() > 0 => integer(rate.get()),
                _ => Cell::Missing,
            }),
            _ => None,
        };
        [Cell::of_toml(text).into_kind(self.kind, text)].into_iter().chain(measured)
    }
}

/// Values between two ends.
fn draws(
    ends: Ends,
    log: bool,
    leaf: Leaf,
    points: usize,
    rng: &mut Rng,
) -> Result<Vec<String>, &'static str> {
    let is_whole = |measure| measure != Measure::Plain || leaf == Leaf::Integer;
    let draw: Box<dyn Fn(&mut Rng) -> String> = match ends {
        Ends::Whole(low, _, _) if log && low <= 0 => return Err(":log needs LOW above 0"),
        Ends::Real(low, _) if log && low <= 0.0 => return Err(":log needs LOW above 0"),
        Ends::Whole(low, high, measure) if is_whole(measure) && log => {
            // Each whole number has the share of the interval from itself to the next.
            let (from, span) =
                (math::ln(low as f64), math::ln((high + 1) as f64) - math::ln(low as f64));
            Box::new(move |rng| {
                measure.show((math::exp(from + rng.unit() * span) as i128).clamp(low, high))
            })
        }
        Ends::Whole(low, high, measure) if is_whole(measure) => {
            let count = u64::try_from(high - low + 1).map_err(|_| "it is too wide")?;
            Box::new(move |rng| measure.show(low + i128::from(rng.below(count))))
        }
        Ends::Whole(..) | Ends::Real(..) => {
            let (low, high) = match ends {
                Ends::Whole(low, high, _) => (low as f64, high as f64),
                Ends::Real(low, high) => (low, high),
            };
            if log {
                let (from, span) = (math::ln(low), math::ln(high) - math::ln(low));
                Box::new(move |rng| {
                    real(digits(math::exp(from + rng.unit() * span), DRAWN_DIGITS).clamp(low, high))
                })
            } else {
                Box::new(move |rng| {
                    real(digits(low + rng.unit() * (high - low), DRAWN_DIGITS).clamp(low, high))
                })
            }
        }
    };
    Ok((0..points).map(|_| draw(rng)).collect())
}

/// The key and what is said of it.
fn split(text: &str) -> Option<(&str, &str)> {
    let (key, values) = text.split_once('=')?;
    let (key, values) = (key.trim(), values.trim());
    (!key.is_empty() && !values.is_empty()).then_some((key, values))
}

/// The parts between separators that stand in no bracket and in no quotes.
fn items(text: &str, separator: char) -> Vec<&str> {
    let (mut parts, mut start, mut depth, mut quote) = (Vec::new(), 0, 0i32, None);
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, '[' | '{' | '(') => depth += 1,
            (None, ']' | '}' | ')') => depth -= 1,
            (None, c) if c == separator && depth <= 0 => {
                parts.push(text[start..at].trim());
                start = at + c.len_utf8();
            }
            _ => {}
        }
    }
    parts.push(text[start..].trim());
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(text: &str) -> Vec<String> {
        Axis::grid(text).unwrap().values
    }

    fn random(text: &str, points: usize) -> Vec<String> {
        Axis::random(text, points, 7).unwrap().values
    }

    #[test]
    fn a_grid_is_a_list_of_values_and_ranges() {
        assert_eq!(grid("gc.soft=0.1, 0.2"), ["0.1", "0.2"]);
        assert_eq!(grid("workload.rate=500,1000..4000*2"), ["500", "1000", "2000", "4000"]);
        assert_eq!(grid("a=[[\"4KiB\", 1]],\"x,y\""), ["[[\"4KiB\", 1]]", "\"x,y\""]);
        assert_eq!(grid("workload.trace.file=../a.csv,../b.csv"), ["../a.csv", "../b.csv"]);
        for (text, reason) in [
            ("gc.soft", "expected KEY="),
            ("gc.soft=", "expected KEY="),
            ("=1", "expected KEY="),
            ("gc.soft=1,,2", "a value is empty"),
            ("gc.soft=1,2,1", "the value 1 is named twice"),
            ("gc.soft=1..2,5", "needs a step"),
            ("gc.window=1.5..3+1", "whole numbers"),
        ] {
            let error = Axis::grid(text).unwrap_err();
            assert!(
                error.starts_with(&format!("--grid {text}: ")) && error.contains(reason),
                "{error}"
            );
        }
    }

    #[test]
    fn draws_lie_in_their_range_spread_as_asked_and_do_not_depend_on_how_many_there_are() {
        let whole = random("gc.window=1..64", 4000);
        let numbers: Vec<i64> = whole.iter().map(|text| text.parse().unwrap()).collect();
        assert!(
            numbers.iter().all(|n| (1..=64).contains(n))
                && numbers.contains(&1)
                && numbers.contains(&64)
        );
        let mean = numbers.iter().sum::<i64>() as f64 / 4000.0;
        assert!((mean - 32.5).abs() < 1.5, "{mean}: its standard error is 0.3");
        assert_eq!(random("gc.window=1..64", 10), whole[..10]);

        // Log-uniform over 1..64: half of it lies below 8 (for whole numbers below 65^0.5).
        let numbers: Vec<i64> =
            random("gc.window=1..64:log", 4000).iter().map(|text| text.parse().unwrap()).collect();
        let low = numbers.iter().filter(|n| **n <= 7).count() as f64 / 4000.0;
        assert!((low - 8f64.ln() / 65f64.ln()).abs() < 0.04, "{low}");
        let times: Vec<Duration> = random("workload.think=1ms..64ms:log", 4000)
            .iter()
            .map(|text| text.parse().unwrap())
            .collect();
        let (one, eight) = (Duration::from_us(1000), Duration::from_us(8000));
        assert!(times.iter().all(|time| *time >= one && *time <= Duration::from_us(64_000)));
        let low = times.iter().filter(|time| **time < eight).count() as f64 / 4000.0;
        assert!((low - 0.5).abs() < 0.04, "{low}");

        // A number that need not be whole is not, whatever its ends are.
        let rates: Vec<f64> = random("workload.rate=1000..8000", 400)
            .iter()
            .map(|text| text.parse().unwrap())
            .collect();
        assert!(rates.iter().all(|rate| (1000.0..=8000.0).contains(rate)));
        assert!(rates.iter().any(|rate| rate.fract() != 0.0));
        // Of another seed, other draws; each key has its own stream.
        assert_ne!(Axis::random("gc.window=1..64", 10, 8).unwrap().values, whole[..10]);
        assert_ne!(random("gc.choices=1..64", 10), whole[..10]);
    }

    #[test]
    fn a_set_is_drawn_from_evenly() {
        let drawn = random("gc.victim=greedy|fifo|\"random\"", 3000);
        for value in ["greedy", "fifo", "\"random\""] {
            let count = drawn.iter().filter(|text| *text == value).count();
            assert!(
                (count as f64 - 1000.0).abs() < 130.0,
                "{value} {count}: its standard deviation is 26"
            );
        }
        let sizes = random("drive.buffer=64KiB..256KiB+64KiB", 100);
        assert!(
            sizes
                .iter()
                .all(|size| ["64KiB", "128KiB", "192KiB", "256KiB"].contains(&size.as_str()))
        );
        for (text, reason) in [
            ("gc.victim=greedy", "expected KEY=LOW..HIGH"),
            ("gc.soft=0.1", "expected KEY=LOW..HIGH"),
            ("gc.soft=1..", "expected KEY=LOW..HIGH"),
            ("gc.victim=a||b", "a value is empty"),
            ("gc.soft=0.2..0.1", "is empty"),
            ("gc.soft=0..1:log", "LOW above 0"),
            ("gc.window=0.5..3", "whole numbers"),
            ("gc.soft=0.1..0.2+0.1:log", "a set"),
        ] {
            let error =
                Axis::random(text, 10, 1).err().unwrap_or_else(|| panic!("{text} is refused"));
            assert!(
                error.starts_with(&format!("--random {text}: ")) && error.contains(reason),
                "{error}"
            );
        }
    }

    #[test]
    fn a_key_has_a_column_of_its_own_type_and_a_quantity_one_more() {
        let shown = |text: &str, number: usize| {
            let axis = Axis::grid(text).unwrap();
            let cells: Vec<Cell> = axis.cells(number).collect();
            (axis.columns(), cells)
        };
        let named = |name: &str, kind| (name.to_string(), kind);
        let (columns, cells) = shown("gc.soft=0.1,1", 1);
        assert_eq!(
            (columns, cells),
            (vec![named("gc.soft", Kind::Number)], vec![Cell::Number(1.0)])
        );
        let (columns, cells) = shown("gc.window=8,16", 0);
        assert_eq!(
            (columns, cells),
            (vec![named("gc.window", Kind::Integer)], vec![Cell::Integer(8)])
        );
        let (columns, cells) = shown("gc.copyback=true,false", 1);
        assert_eq!(
            (columns, cells),
            (vec![named("gc.copyback", Kind::Boolean)], vec![Cell::Boolean(false)])
        );
        let (columns, cells) = shown("workload.think=\"1.5ms\",2ms", 0);
        let expected =
            vec![named("workload.think", Kind::Text), named("workload.think_us", Kind::Number)];
        assert_eq!(
            (columns, cells),
            (expected, vec![Cell::Text("1.5ms".to_string()), Cell::Number(1500.0)])
        );
        let (columns, cells) = shown("drive.link=unlimited,1200MB/s", 0);
        let expected =
            vec![named("drive.link", Kind::Text), named("drive.link_bytes_per_s", Kind::Integer)];
        assert_eq!(
            (columns, cells),
            (expected, vec![Cell::Text("unlimited".to_string()), Cell::Missing])
        );
        assert_eq!(shown("drive.buffer=4KiB", 0).1[1], Cell::Integer(4096));
        assert_eq!(
            shown("workload.block_sizes=[[\"4KiB\", 1]]", 0).1,
            [Cell::Text("[[\"4KiB\", 1]]".to_string())]
        );
    }
}
