//! Parameters of a fit: what is searched, between which physical bounds, and how a value is
//! written.
//!
//! The search sees each parameter as a number from 0 to 1 between its bounds, on a logarithmic
//! scale where its bounds differ by a factor, so that a step means as much for a link as for tR.

use super::known::Known;
use manx_config::Override;

/// The unit of a parameter, and so how it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Microseconds.
    Micros,
    /// MB a second.
    MegaBytes,
    /// MiB of a memory.
    MebiBytes,
    /// A share.
    Share,
    /// How many.
    Count,
}

impl Unit {
    /// The value as a scenario has it.
    pub fn written(self, value: f64) -> String {
        match self {
            // A time is whole nanoseconds.
            Unit::Micros => format!("{}ns", (value * 1e3).round().max(0.0) as u64),
            Unit::MegaBytes => format!("{}MB/s", value.round().max(1.0) as u64),
            Unit::MebiBytes => format!("{}KiB", (value * 1024.0).round().max(1.0) as u64),
            Unit::Share => format!("{value:.4}"),
            Unit::Count => format!("{value:.0}"),
        }
    }

    /// The value for a reader.
    pub fn shown(self, value: f64) -> String {
        match self {
            Unit::Micros => format!("{value:.2} us"),
            Unit::MegaBytes => format!("{value:.0} MB/s"),
            Unit::MebiBytes => format!("{value:.2} MiB"),
            Unit::Share => format!("{value:.4}"),
            Unit::Count => format!("{value:.0}"),
        }
    }
}

/// The place of a parameter in a scenario.
#[derive(Clone, Debug, PartialEq)]
pub enum Place {
    /// A key with this value.
    Key(&'static str),
    /// tR of a page type: the first, or how much longer than the one before, as a share of it.
    Read(usize),
    /// tPROG of every page type.
    Program,
    /// `ftl.pslc.dynamic_blocks`, as a share of all blocks.
    Cache,
    /// `workload.host_delay` of an engine.
    Delay(String),
    /// `workload.host_busy` of an engine.
    Busy(String),
    /// `workload.host_page` of an engine.
    Page(String),
}

impl Place {
    /// It bounds a rate: where nothing comes near, the data say no more than that.
    pub(super) fn is_limit(&self) -> bool {
        const LIMITS: [&str; 3] =
            ["drive.link", "drive.firmware.look_up", "drive.firmware.throttle"];
        match self {
            Place::Key(key) => LIMITS.contains(key),
            Place::Busy(_) | Place::Page(_) => true,
            Place::Read(_) | Place::Program | Place::Cache | Place::Delay(_) => false,
        }
    }
}

/// A parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Its place.
    pub place: Place,
    /// Its unit.
    pub unit: Unit,
    /// Physical bounds.
    pub low: f64,
    /// See `low`.
    pub high: f64,
    /// The start of the search.
    pub start: f64,
    /// The number of the base device, if it has one.
    pub base: Option<f64>,
    /// The measurements that tell it, for the source.
    pub from: String,
}

impl Parameter {
    fn is_log(&self) -> bool {
        self.low > 0.0 && self.high / self.low > 4.0
    }

    /// The value at `x`, from 0 to 1.
    pub fn at(&self, x: f64) -> f64 {
        let x = x.clamp(0.0, 1.0);
        if self.is_log() {
            self.low * (self.high / self.low).powf(x)
        } else {
            self.low + (self.high - self.low) * x
        }
    }

    /// Where `value` lies, from 0 to 1.
    pub fn x(&self, value: f64) -> f64 {
        let value = value.clamp(self.low, self.high);
        if self.is_log() {
            (value / self.low).ln() / (self.high / self.low).ln()
        } else {
            (value - self.low) / (self.high - self.low)
        }
    }

    /// Its name for a reader.
    pub fn name(&self) -> String {
        match &self.place {
            Place::Key(key) => (*key).to_string(),
            Place::Read(0) => "device.timing.read.0".to_string(),
            Place::Read(kind) => format!("device.timing.read.{kind} over read.{}", kind - 1),
            Place::Program => "device.timing.program".to_string(),
            Place::Cache => "ftl.pslc.dynamic_blocks over all blocks".to_string(),
            Place::Delay(engine) => format!("workload.host_delay of {engine}"),
            Place::Busy(engine) => format!("workload.host_busy of {engine}"),
            Place::Page(engine) => format!("workload.host_page of {engine}"),
        }
    }
}

/// The parameters of one fit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Space {
    /// In a fixed order.
    pub parameters: Vec<Parameter>,
    /// Numbers that are known: none of them, or between these bounds.
    pub known: Vec<Known>,
}

impl Space {
    /// The number of the parameter at this place.
    pub(super) fn at(&self, place: &Place) -> Option<usize> {
        self.parameters.iter().position(|parameter| parameter.place == *place)
    }

    /// Where the search starts.
    pub fn start(&self) -> Vec<f64> {
        self.parameters.iter().map(|parameter| parameter.x(parameter.start)).collect()
    }

    /// The values at a point.
    pub fn values(&self, point: &[f64]) -> Vec<f64> {
        self.parameters.iter().zip(point).map(|(parameter, x)| parameter.at(*x)).collect()
    }

    /// tR of each page type at a point, in microseconds; empty where it is not a parameter.
    pub fn reads(&self, point: &[f64]) -> Vec<f64> {
        let mut reads: Vec<f64> = Vec::new();
        for (parameter, value) in self.parameters.iter().zip(self.values(point)) {
            if let Place::Read(_) = parameter.place {
                let last = reads.last().copied();
                reads.push(last.map_or(value, |last| last * (1.0 + value)));
            }
        }
        reads
    }

    /// The overrides that a point stands for, under an engine.
    pub fn overrides(&self, point: &[f64], engine: &str) -> Vec<Override> {
        let set = |key: &str, value: String| Override::new(key, value, "manx fit");
        let mut all = Vec::new();
        for (parameter, value) in self.parameters.iter().zip(self.values(point)) {
            let written = parameter.unit.written(value);
            match &parameter.place {
                // A core that takes no time is none.
                Place::Key("drive.firmware.look_up") if written == "0ns" => {}
                Place::Key(key) => {
                    if *key == "drive.firmware.look_up" {
                        all.push(set("drive.firmware.cores", "1".to_string()));
                    }
                    all.push(set(key, written));
                }
                Place::Program => all.push(set("device.timing.program", listed(&[written]))),
                Place::Delay(of) if of == engine => all.push(set("workload.host_delay", written)),
                Place::Busy(of) if of == engine => all.push(set("workload.host_busy", written)),
                Place::Page(of) if of == engine => all.push(set("workload.host_page", written)),
                // Of as many blocks as there are: `writes` sets it.
                Place::Cache => {}
                Place::Read(_) | Place::Delay(_) | Place::Busy(_) | Place::Page(_) => {}
            }
        }
        let reads: Vec<String> =
            self.reads(point).into_iter().map(|read| Unit::Micros.written(read)).collect();
        if !reads.is_empty() {
            all.push(set("device.timing.read", listed(&reads)));
        }
        all.extend(self.exact().flat_map(Known::overrides));
        all
    }
}

/// A list of texts as TOML.
pub(super) fn listed(values: &[String]) -> String {
    format!(
        "[{}]",
        values.iter().map(|value| format!("\"{value}\"")).collect::<Vec<_>>().join(", ")
    )
}
