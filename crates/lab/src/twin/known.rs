//! Numbers that the user knows, from a data sheet: they are not looked for, or only between two.

use super::space::{Parameter, Place, Space, Unit};
use super::{Settings, TwinError, left_out};
use crate::measure::Measurement;
use manx_config::Override;
use manx_core::units::{Bandwidth, Bytes, Duration};
use std::fmt;
use std::str::FromStr;

/// Keys that can be known, each with the unit of its parameter.
const KEYS: [(&str, Unit); 8] = [
    (CHANNELS, Unit::Count),
    (BUFFER, Unit::MebiBytes),
    ("drive.buffer_hit", Unit::Micros),
    ("drive.link", Unit::MegaBytes),
    ("drive.controller", Unit::Micros),
    ("drive.firmware.look_up", Unit::Micros),
    ("drive.firmware.throttle", Unit::MegaBytes),
    ("device.channel.rate", Unit::MegaBytes),
];

/// A number that is known, `KEY=VALUE`, or lies between two, `KEY=LOW..HIGH`.
#[derive(Clone, Debug, PartialEq)]
pub struct Known {
    /// The key of a scenario.
    pub key: &'static str,
    /// In the unit of its parameter.
    pub low: f64,
    /// As `low`, where it is known exactly.
    pub high: f64,
    unit: Unit,
}

impl Known {
    /// Its source in the files of a twin.
    pub(super) const SOURCE: &'static str = "known: --known said so, and nothing was fitted";

    /// The source of a number that is not searched on a scale.
    pub(super) fn source(&self) -> &'static str {
        let bounded = "fitted, between what --known allows, by depths and sizes of reads";
        if self.is_exact() { Self::SOURCE } else { bounded }
    }

    /// The error of one that the measurements contradict.
    pub(super) fn contradicts(&self, bound: &str, word: &str) -> TwinError {
        TwinError::Asked(format!(
            "--known {}: {self} contradicts what was measured, by which it is {bound} at {word}",
            self.key
        ))
    }

    fn is_exact(&self) -> bool {
        self.low >= self.high
    }

    /// The value as a scenario has it.
    pub(super) fn written(&self) -> String {
        self.unit.written(self.low)
    }

    /// Without a core no look-up takes time.
    fn is_no_core(&self) -> bool {
        self.key == LOOK_UP && self.low <= 0.0
    }

    /// The keys of a scenario that say it.
    pub(super) fn overrides(&self) -> Vec<Override> {
        let set = |key, value| Override::new(key, value, "--known");
        let mut all = Vec::new();
        // A structure says how many channels there are.
        if !self.is_no_core() && self.key != CHANNELS {
            if self.key == LOOK_UP {
                all.push(set(CORES, "1".to_string()));
            }
            all.push(set(self.key, self.written()));
        }
        all
    }

    /// Its lines of a scenario's `[drive]`, whose buffer has `least` bytes.
    pub(super) fn lines(&self, least: u64) -> String {
        let Some(key) = self.key.strip_prefix("drive.") else { return String::new() };
        let (source, value) = (Self::SOURCE, self.written());
        if self.is_no_core() {
            return format!("# {source}\n# {key}: no limit\n");
        }
        let is_small = self.key == BUFFER && self.low * f64::from(1 << 20) < least as f64;
        if is_small {
            return format!(
                "# {source} ({value}); but two rows of every plane are the least of this model\n\
                 {key} = \"{least}B\"\n"
            );
        }
        let cores = if self.key == LOOK_UP { "firmware.cores = 1\n" } else { "" };
        format!("# {source}\n{cores}{key} = \"{value}\"\n")
    }
}

const BUFFER: &str = "drive.buffer";
const CHANNELS: &str = "device.geometry.channels";
const LOOK_UP: &str = "drive.firmware.look_up";
const CORES: &str = "drive.firmware.cores";

impl FromStr for Known {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let allowed = || {
            let keys = KEYS.map(|(key, _)| key).join(", ");
            format!("KEY=VALUE or KEY=LOW..HIGH is allowed, KEY one of {keys}")
        };
        let (key, value) = text.split_once('=').ok_or_else(allowed)?;
        let found = KEYS.into_iter().find(|(known, _)| *known == key.trim());
        let (key, unit) = found.ok_or_else(allowed)?;
        let (low, high) = value.split_once("..").unwrap_or((value, value));
        let (low, high) = (number(unit, low.trim())?, number(unit, high.trim())?);
        if low > high {
            return Err(format!("{key}: {value} begins above its end; LOW..HIGH is allowed"));
        }
        if low <= 0.0 && unit != Unit::Micros {
            return Err(format!("{key}: {value} is nothing to know; more than 0 is allowed"));
        }
        Ok(Self { key, low, high, unit })
    }
}

/// A value in the unit of a parameter.
fn number(unit: Unit, text: &str) -> Result<f64, String> {
    if unit == Unit::Count {
        let wrong = |_| format!("{text} is no number of channels; a whole one is allowed");
        return text.parse::<u32>().map(f64::from).map_err(wrong);
    }
    match unit {
        Unit::Micros => text.parse::<Duration>().map(|time| time.as_us_f64()),
        Unit::MebiBytes => text.parse::<Bytes>().map(|of| of.get() as f64 / f64::from(1 << 20)),
        _ => text.parse::<Bandwidth>().map(|rate| rate.get() as f64 / 1e6),
    }
    .map_err(|error| error.to_string())
}

impl fmt::Display for Known {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |value| self.unit.shown(value);
        match self.is_exact() {
            true => f.write_str(&shown(self.low)),
            false => write!(f, "{} .. {}", shown(self.low), shown(self.high)),
        }
    }
}

impl Space {
    /// Without the parameters that are known, the others between the bounds that are. A link is no
    /// slower, and a look-up no longer, than what was measured allows.
    pub(super) fn knowing(mut self, all: &[Known]) -> Result<Self, TwinError> {
        for known in all {
            if known.key == CHANNELS || known.key == BUFFER {
                self.known.push(known.clone());
            }
            let Some(at) = self.at(&Place::Key(known.key)) else { continue };
            let Parameter { low, high, start, from, unit, .. } = &mut self.parameters[at];
            let is_too_slow = known.key == "drive.link" && known.high < *low;
            if is_too_slow || known.key == LOOK_UP && known.low > *high {
                let bound = unit.shown(if is_too_slow { *low } else { *high });
                let least = if is_too_slow { "least" } else { "most" };
                return Err(known.contradicts(&bound, least));
            }
            let (from_low, to_high) = (low.max(known.low), high.min(known.high));
            if known.is_exact() {
                self.parameters.remove(at);
            } else {
                // Physical bounds are a guess, a known number is none.
                let is_apart = from_low > to_high;
                (*low, *high) =
                    if is_apart { (known.low, known.high) } else { (from_low, to_high) };
                *start = start.clamp(*low, *high);
                from.push_str(", between what --known allows");
            }
            self.known.push(known.clone());
        }
        Ok(self)
    }

    /// Bytes of the write buffer, where it is known.
    pub(super) fn buffer(&self) -> Option<u64> {
        let known = self.exact().find(|of| of.key == BUFFER)?;
        Some((known.low * f64::from(1 << 20)) as u64)
    }

    /// The nearest number of channels that is known to be possible.
    pub(super) fn channels(&self, near: u32) -> u32 {
        let known = self.known.iter().filter(|of| of.key == CHANNELS);
        known.fold(near, |near, of| near.clamp(of.low as u32, of.high as u32))
    }

    /// Those that are known exactly.
    pub(super) fn exact(&self) -> impl Iterator<Item = &Known> {
        self.known.iter().filter(|known| known.is_exact())
    }
}

impl Settings<'_> {
    /// A number is known once, and some measurement has a use for it.
    pub(super) fn check_known(&self) -> Result<(), TwinError> {
        let error = |key, why| Err(TwinError::Asked(format!("--known {key}: {why}")));
        let loads = || self.measurements.iter().filter(|of| left_out(of).is_none());
        let has =
            |is_read| loads().filter_map(Measurement::latencies).any(|of| of.is_read == is_read);
        let (has_reads, has_fresh) = (has(true), has(false));
        let has_writes = self.measurements.iter().any(|of| of.latencies().is_none());
        for (at, Known { key, .. }) in self.known.iter().enumerate() {
            let is_used = match *key {
                "drive.link" => has_reads || has_fresh || has_writes,
                "drive.firmware.throttle" => has_writes,
                BUFFER | "drive.buffer_hit" => has_fresh,
                CHANNELS => has_reads,
                _ => has_reads || has_fresh,
            };
            if self.known[..at].iter().any(|of| of.key == *key) {
                return error(key, "it is said twice; once is allowed");
            }
            if *key == BUFFER && !self.known[at].is_exact() {
                return error(key, "it is not looked for; KEY=VALUE is allowed");
            }
            if !is_used {
                return error(
                    key,
                    "these measurements have no use for it; drive.firmware.throttle is for a long \
                     write, drive.buffer and drive.buffer_hit for writes to a fresh drive, \
                     device.geometry.channels for reads, the others for both, drive.link for all",
                );
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::error::Error;

    #[test]
    fn a_number_is_known_or_lies_between_two() -> Result<(), Box<dyn Error>> {
        let link: Known = "drive.link=7GB/s".parse()?;
        assert_eq!((link.low, link.high, link.written().as_str()), (7000.0, 7000.0, "7000MB/s"));
        let buffer: Known = "drive.buffer=16MiB".parse()?;
        let space = Space::default().knowing(&[buffer])?;
        assert_eq!(space.buffer(), Some(16 << 20));
        let channels: Known = "device.geometry.channels=8".parse()?;
        let space = Space::default().knowing(&[channels])?;
        assert_eq!(([4, 8, 16].map(|of| space.channels(of))), [8; 3]);
        assert!(space.overrides(&[], "").is_empty() && space.exact().count() == 1);
        assert!("device.geometry.channels=8.5".parse::<Known>().is_err());
        let some: Known = "drive.firmware.look_up = 0us..1us".parse()?;
        assert_eq!((some.low, some.high, some.is_exact()), (0.0, 1.0, false));
        assert_eq!(some.to_string(), "0.00 us .. 1.00 us");
        for wrong in ["drive.link", "gc.soft=1", "drive.link=3us", "drive.link=7GB/s..1GB/s"] {
            assert!(wrong.parse::<Known>().is_err(), "{wrong}");
        }
        assert!("drive.link=0MB/s".parse::<Known>().is_err());
        Ok(())
    }

    #[test]
    fn what_is_known_is_no_parameter_and_what_is_bounded_stays_one() -> Result<(), Box<dyn Error>> {
        let new = |key| {
            let (place, unit) = (Place::Key(key), Unit::MegaBytes);
            let (low, high, start, base, from) = (1.0, 9e3, 5.0, None, String::new());
            Parameter { place, unit, low, high, start, base, from }
        };
        let parameters = vec![new("drive.link"), new("device.channel.rate")];
        let known = ["drive.link=7GB/s", "device.channel.rate=400MB/s..800MB/s"];
        let known: Vec<Known> = known.into_iter().map(str::parse).collect::<Result<_, _>>()?;
        let space = Space { parameters, known: Vec::new() }.knowing(&known)?;
        let [Parameter { low, high, start, .. }] = &space.parameters[..] else { panic!() };
        assert_eq!((*low, *high, *start), (400.0, 800.0, 400.0));
        let slow = ["drive.link=3MB/s".parse()?];
        let (parameters, known) = (vec![Parameter { low: 5.0, ..new("drive.link") }], Vec::new());
        let error = Space { parameters, known }.knowing(&slow).unwrap_err().to_string();
        assert!(error.contains("contradicts what was measured, by which it is 5 MB/s"), "{error}");
        let written = format!("{:?}", space.overrides(&[0.0], ""));
        assert!(written.contains("drive.link") && written.contains("7000MB/s"), "{written}");
        Ok(())
    }
}
