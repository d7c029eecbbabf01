//! The files of a twin: a device table in which every number has its source, and a scenario with
//! what is no number of the flash: order, controller, link, host.

use super::doubt::Range;
use super::known::Known;
use super::latency::least_buffer;
use super::reads::Reads;
use super::small::Way;
use super::space::{Place, Space, Unit, listed};
use super::writes::Writes;
use super::{Twin, TwinError};
use manx_config::{Source, load_device};
use manx_core::flash::Device;
use manx_core::units::Bytes;
use std::collections::BTreeMap;
use std::fmt::Write;

/// The texts of a twin's files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Files {
    /// `NAME.toml`.
    pub device: String,
    /// `NAME-scenario.toml`.
    pub scenario: String,
}

/// Values of a table with their sources, by dotted key.
struct Table<'a> {
    base: &'a Device,
    values: Vec<(&'static str, String, String)>,
}

/// The smallest drive that a table of blocks is made for.
const LEAST: Bytes = Bytes::new(1_000_000_000);

/// An error where no table can be made for so small a drive.
pub fn capacity_is_allowed(capacity: Bytes) -> Result<(), TwinError> {
    if capacity >= LEAST {
        return Ok(());
    }
    Err(TwinError::Asked(format!("--capacity {capacity} is not allowed: 1GB or more")))
}

/// The files of a twin. `capacity` is what the host sees of the drive, if that is known; `files`
/// names what was measured.
pub fn files(
    twin: &Twin,
    capacity: Option<Bytes>,
    measured: &[String],
) -> Result<Files, TwinError> {
    let device = table(twin, capacity)?.text(&twin.name, measured);
    // A table that cannot be read would be found out later, in a run.
    load_device(&Source { file: format!("{}.toml", twin.name), text: device.clone() })?;
    Ok(Files { device, scenario: scenario(twin, measured) })
}

fn table<'a>(twin: &'a Twin, capacity: Option<Bytes>) -> Result<Table<'a>, TwinError> {
    let mut table = Table { base: &twin.base, values: Vec::new() };
    table.of_base();
    if let Some(writes) = &twin.writes {
        table.of_writes(writes, twin.reads.as_ref());
    }
    if let Some(reads) = &twin.reads {
        table.of_reads(reads, twin.writes.is_some());
    }
    if let Some(capacity) = capacity {
        table.of_capacity(capacity)?;
    }
    Ok(table)
}

impl Table<'_> {
    fn set(&mut self, key: &'static str, value: String, source: impl Into<String>) {
        let source = source.into();
        match self.values.iter_mut().find(|(known, ..)| *known == key) {
            Some(known) => (known.1, known.2) = (value, source),
            None => self.values.push((key, value, source)),
        }
    }

    fn get(&self, key: &str) -> f64 {
        let found = self.values.iter().find(|(known, ..)| *known == key);
        found.and_then(|(_, value, _)| value.parse().ok()).unwrap_or(1.0)
    }

    /// The base's numbers: what no measurement told.
    fn of_base(&mut self) {
        let Device { geometry, feature, timing, channel, op, .. } = self.base;
        let times =
            |times: &[_]| listed(&times.iter().map(ToString::to_string).collect::<Vec<String>>());
        let read: Vec<_> = timing.read.iter().map(ToString::to_string).collect();
        let program: Vec<_> = timing.program.iter().map(ToString::to_string).collect();
        let text = |value: &dyn std::fmt::Display| format!("\"{value}\"");
        let all = [
            ("op", op.to_string()),
            ("geometry.channels", geometry.channels.to_string()),
            ("geometry.ways", geometry.ways.to_string()),
            ("geometry.dies", geometry.dies.to_string()),
            ("geometry.planes", geometry.planes.to_string()),
            ("geometry.blocks", geometry.blocks.to_string()),
            ("geometry.pages", geometry.pages.to_string()),
            ("geometry.page", text(&geometry.page)),
            ("geometry.map_unit", text(&geometry.map_unit)),
            ("feature.program_planes", feature.program_planes.to_string()),
            ("feature.program_pages", feature.program_pages.to_string()),
            ("feature.cache_program", feature.cache_program.to_string()),
            ("feature.cache_read", feature.cache_read.to_string()),
            ("feature.independent_planes", feature.independent_planes.to_string()),
            ("timing.read", times(&read)),
            ("timing.program", times(&program)),
            ("timing.erase_step", text(&timing.erase_step)),
            ("timing.erase_steps", timing.erase_steps.to_string()),
            ("channel.rate", text(&channel.rate)),
            ("channel.command", text(&channel.command)),
            ("channel.erase_command", text(&channel.erase_command)),
        ];
        let command = channel.suspend_command;
        let suspends = (!command.is_zero()).then(|| ("channel.suspend_command", text(&command)));
        for (key, value) in all.into_iter().chain(suspends) {
            let source = self.base_source(key);
            self.set(key, value, source);
        }
    }

    fn base_source(&self, key: &str) -> String {
        let Device { source, name, .. } = self.base;
        let section = key.split('.').next().unwrap_or_default();
        let said = source.get(key).or_else(|| source.get(section)).map_or("", String::as_str);
        format!("undetermined by the measurements, so {name}'s number: {said}")
    }

    fn of_reads(&mut self, reads: &Reads, has_long_write: bool) {
        let structure = reads.structure;
        let of = match reads.space.at(&Place::Read(0)) {
            None => {
                "assumed: the base device's; writes tell no more than all dies do together".into()
            }
            Some(_) => format!(
                "fitted: the best of {} structures (channels x dies on each x planes), by depths \
                 and sizes of reads",
                reads.structures.len()
            ),
        };
        let channels = reads.space.known.iter().find(|of| of.key == "device.geometry.channels");
        for (key, value) in structure.keys() {
            let Some(key) =
                KEYS.into_iter().find(|known| key.strip_prefix("device.") == Some(known))
            else {
                continue;
            };
            let alike = ["geometry.dies", "feature.program_planes", "feature.cache_read"];
            let source = match channels {
                Some(known) if key == "geometry.channels" => known.source(),
                _ if alike.contains(&key) => ALIKE,
                _ => of.as_str(),
            };
            self.set(key, value, source);
        }
        for (number, parameter) in reads.space.parameters.iter().enumerate() {
            let chosen = || chosen(&reads.space, &reads.point, reads.range(number), number);
            if parameter.place == Place::Key("device.channel.rate") {
                let (value, source) = chosen();
                self.set("channel.rate", format!("\"{}\"", parameter.unit.written(value)), source);
            }
            // A long write tells more of it.
            if parameter.place == Place::Program && !has_long_write {
                let (value, source) = chosen();
                self.set("timing.program", listed(&[parameter.unit.written(value)]), source);
            }
        }
        for known in reads.space.exact().filter(|of| of.key == "device.channel.rate") {
            self.set("channel.rate", format!("\"{}\"", known.written()), Known::SOURCE);
        }
        let times = reads.space.reads(&reads.point);
        let written: Vec<String> = times.iter().map(|time| Unit::Micros.written(*time)).collect();
        if !written.is_empty() {
            self.set("timing.read", listed(&written), reads.read_source());
        }
    }

    fn of_writes(&mut self, writes: &Writes, reads: Option<&Reads>) {
        if reads.is_none() {
            let small = "assumed: the small drive that was simulated; WAF is scale free, and rates \
                         are those of all its dies together";
            for (key, value) in super::small::keys() {
                self.set(key, toml(value), small);
            }
            let fineness =
                "fitted: the best of those compared, by the WAF or the rates of its windows";
            self.set("geometry.blocks", writes.way.superblocks.to_string(), fineness);
        }
        for (number, parameter) in writes.space.parameters.iter().enumerate() {
            let range = writes.doubt.ranges.get(number).copied();
            let (value, source) = chosen(&writes.space, &writes.point, range, number);
            match parameter.place {
                Place::Key("device.op") => self.set("op", format!("{value:.4}"), source),
                Place::Program => {
                    let time = value * self.longer(reads, self.base.feature.program_pages);
                    self.set("timing.program", listed(&[Unit::Micros.written(time)]), source);
                }
                Place::Key("device.slc.program") => {
                    let time = value * self.longer(reads, 1);
                    self.set("slc.program", format!("\"{}\"", Unit::Micros.written(time)), source);
                    // The small drive's times are none of a table that has reads of its own.
                    let tr = reads.and_then(|of| of.space.reads(&of.point).first().copied());
                    let read = tr.unwrap_or_else(|| writes.copy_read());
                    let bits = writes.bits.to_string();
                    let assumed = "assumed: as long as the read of any other copy; no run tells it";
                    self.set("slc.read", format!("\"{}\"", Unit::Micros.written(read)), assumed);
                    self.set("slc.bits", bits, "assumed: the bits of a cell; no run tells them");
                }
                Place::Read(0) if reads.is_none() => {
                    self.set("timing.read", listed(&[Unit::Micros.written(value)]), source);
                }
                _ => {}
            }
        }
    }

    /// How much longer an operation of this table's dies takes than one of the small drive's, so
    /// that together they program as many bytes a second, so many pages at a time.
    fn longer(&self, reads: Option<&Reads>, pages: u32) -> f64 {
        let Some(reads) = reads else { return 1.0 };
        let row = self.base.geometry.page.get() as f64 * f64::from(pages);
        f64::from(reads.structure.dies()) * row / super::small::row_bytes()
    }

    /// As many blocks as hold the capacity.
    fn of_capacity(&mut self, capacity: Bytes) -> Result<(), TwinError> {
        let page = self.base.geometry.page.get() as f64;
        let lanes = ["channels", "ways", "dies", "planes", "pages"]
            .map(|key| self.get(&format!("geometry.{key}")))
            .iter()
            .product::<f64>();
        capacity_is_allowed(capacity)?;
        let blocks = (capacity.get() as f64 / (1.0 - self.get("op")) / (lanes * page)).ceil();
        if !(1.0..=1e6).contains(&blocks) {
            let message = format!(
                "--capacity {capacity} is not allowed: it takes {blocks} blocks in each plane; \
                 what is allowed is 1 to 1000000"
            );
            return Err(TwinError::Asked(message));
        }
        let source = format!(
            "derived: as many as hold the {} GB of --capacity",
            capacity.get() / 1_000_000_000
        );
        self.set("geometry.blocks", format!("{blocks:.0}"), source);
        Ok(())
    }

    fn text(&self, name: &str, measured: &[String]) -> String {
        let mut text = format!(
            "# Made by `manx fit` from {}. What is fitted says so, with the range\n# in which \
             the measurements allow it; all else is of {} (the base).\nname = {name:?}\nsummary = \
             \"A twin of {name}, fitted to measurements; made from {}\"\n",
            count(measured),
            self.base.name,
            self.base.name
        );
        let mut sections: BTreeMap<usize, Vec<(&str, &str)>> = BTreeMap::new();
        for (key, value, _) in &self.values {
            let (section, key) = key.split_once('.').unwrap_or(("", key));
            let place = SECTIONS.iter().position(|known| *known == section).unwrap_or(0);
            sections.entry(place).or_default().push((key, value));
        }
        for (place, keys) in sections {
            if place > 0 {
                let _ = write!(text, "\n[{}]\n", SECTIONS[place]);
            }
            for (key, value) in keys {
                let _ = writeln!(text, "{key} = {value}");
            }
        }
        text.push_str("\n[source]\n");
        for (key, _, source) in &self.values {
            let source = source.replace('\\', "\\\\").replace('"', "'");
            let _ = writeln!(text, "\"{key}\" = \"{source}\"");
        }
        text
    }
}

/// A value as TOML has it: a list, a number, a word for yes or no, or a text.
fn toml(value: &str) -> String {
    let bare =
        value.starts_with('[') || value.parse::<f64>().is_ok() || value.parse::<bool>().is_ok();
    if bare { value.to_string() } else { format!("\"{value}\"") }
}

const SECTIONS: [&str; 6] = ["", "geometry", "feature", "timing", "slc", "channel"];

/// The source of what all structures have.
const ALIKE: &str = "assumed: so were all candidates simulated; no other was compared";

/// Keys of a structure.
const KEYS: [&str; 6] = [
    "geometry.channels",
    "geometry.ways",
    "geometry.dies",
    "geometry.planes",
    "feature.program_planes",
    "feature.cache_read",
];

fn count(measured: &[String]) -> String {
    match measured {
        [one] => one.clone(),
        more => format!("{} measurements", more.len()),
    }
}

/// The value that goes into a file, and its source: where the data do not determine it, the base's
/// number if that is within the range, and otherwise what the search ended with.
pub(super) fn chosen(
    space: &Space,
    point: &[f64],
    range: Option<Range>,
    number: usize,
) -> (f64, String) {
    let parameter = &space.parameters[number];
    let fitted = parameter.at(point[number]);
    let shown = |value| parameter.unit.shown(value);
    let Some(range) = range else {
        return (fitted, format!("fitted {}, range unknown: the fit was stopped", shown(fitted)));
    };
    let (low, high) = (parameter.at(range.low), parameter.at(range.high));
    if !range.is_flat() {
        let from = &parameter.from;
        let text = format!("fitted {}, {} .. {}, {from}", shown(fitted), shown(low), shown(high));
        return (fitted, text);
    }
    let allows = format!("undetermined: {} .. {} do as well", shown(low), shown(high));
    match parameter.base.filter(|base| (low..=high).contains(base)) {
        Some(base) => (base, format!("{allows}; the base device's number")),
        None if parameter.place.is_limit() => (
            fitted,
            format!("{allows}; {}, their middle or as near to it as does as well", shown(fitted)),
        ),
        None => (fitted, format!("{allows}; where the search ended")),
    }
}

impl Reads {
    /// The range of a parameter: what the cost allows, and how far the fits without one run differ.
    pub fn range(&self, number: usize) -> Option<Range> {
        let range = self.doubt.ranges.get(number)?;
        let apart = self.apart.get(number)?;
        Some(Range { low: range.low.min(apart.low), high: range.high.max(apart.high) })
    }

    fn read_source(&self) -> String {
        let mut text = String::from("fitted, by page type:");
        for (number, parameter) in self.space.parameters.iter().enumerate() {
            let Place::Read(kind) = parameter.place else { continue };
            let (_, source) = chosen(&self.space, &self.point, self.range(number), number);
            let _ = match kind {
                0 => write!(text, " {source}"),
                _ => write!(text, "; the next longer by a share of it, {source}"),
            };
        }
        text
    }
}

fn scenario(twin: &Twin, measured: &[String]) -> String {
    let name = &twin.name;
    let mut text = format!(
        "# Beside {name}.toml: what `manx fit` found that is no number of the flash.\nname = \
         {name:?}\nsummary = \"The twin of {name}: as fitted to {}\"\npolicies = \
         [\"preemptive\"]\n\n[device]\nname = \"./{name}.toml\"\n",
        count(measured)
    );
    let mut host = String::new();
    if let Some(reads) = &twin.reads {
        let _ = write!(
            text,
            "\n[ftl]\n# Neighbours lie on the planes of a die, and are read one after the other.\n\
             order = {}\n\n[gc]\nmode = \"preemptive\"\n",
            reads.structure.order()
        );
        host.push_str("read_percent = 100\nqueue_depth = 16\nrequests = 100000\n");
        host.push_str(&engines(reads));
        text.push_str("\n[drive]\n");
        let of = &twin.base;
        let (rows, page) = (of.feature.program_pages, of.geometry.page.get());
        let least = least_buffer(rows, page, reads.structure);
        text.push_str(&keys(&reads.space, &reads.point, &|number| reads.range(number), least));
        text.push_str("\n[precondition]\nstate = \"fill\"\n");
        if let Some((placement, cache)) = twin.writes.as_ref().and_then(Writes::cache) {
            let lines = format!("{placement}{cache}");
            text.push_str("\n# The cache of the long write, where the drive has ");
            let _ = writeln!(
                text,
                "{} blocks:",
                twin.writes.as_ref().map_or(0, |of| of.way.superblocks)
            );
            lines.lines().for_each(|line| text.push_str(&format!("# {line}\n")));
        }
    } else if let Some(writes) = &twin.writes {
        let Way { unit, victim, .. } = writes.way;
        let (placement, cache) = writes.cache().unwrap_or_default();
        let _ = write!(
            text,
            "\n[ftl]\nallocation = \"dynamic\"\nstripe = \"program-unit\"\n\
             {placement}{cache}\n[gc]\nmode = \
             \"preemptive\"\nsoft = \"3 blocks\"\nhard = \"2 blocks\"\n# The best of {} ways to \
             collect.\nunit = {unit:?}\nvictim = {victim:?}\n\n[drive]\nbuffer = \"24MiB\"\n",
            writes.ways.len()
        );
        let range = |number: usize| writes.doubt.ranges.get(number).copied();
        text.push_str(&keys(&writes.space, &writes.point, &range, 0));
        text.push_str("\n[precondition]\nstate = \"empty\"\n");
        host.push_str(
            "# A mapping unit stands for a request of 128 KiB.\npattern = \"shuffle\"\n\
             read_percent = 0\nqueue_depth = 512\nblock_sizes = [[\"32KiB\", 1]]\n\
             requests = 3000000\n",
        );
    }
    let _ = write!(text, "\n[workload]\n{host}");
    text
}

/// The keys of `[drive]`, each with its source.
fn keys(
    space: &Space,
    point: &[f64],
    range: &dyn Fn(usize) -> Option<Range>,
    least_buffer: u64,
) -> String {
    let mut text = String::new();
    for (number, parameter) in space.parameters.iter().enumerate() {
        let Place::Key(key) = parameter.place else { continue };
        if let Some(key) = key.strip_prefix("drive.") {
            let (value, source) = chosen(space, point, range(number), number);
            let written = parameter.unit.written(value);
            if key == "firmware.look_up" {
                if written == "0ns" {
                    let _ = writeln!(text, "# {source}\n# {key}: no limit");
                    continue;
                }
                text.push_str("firmware.cores = 1\n");
            }
            let _ = write!(text, "# {source}\n{key} = \"{written}\"\n");
        }
    }
    text.extend(space.exact().map(|known| known.lines(least_buffer)));
    text
}

/// The host's time under each engine; the first one's is in force.
fn engines(reads: &Reads) -> String {
    let mut text = String::new();
    let mut first: Option<&str> = None;
    for (number, parameter) in reads.space.parameters.iter().enumerate() {
        let (key, engine) = match &parameter.place {
            Place::Delay(engine) => ("host_delay", engine.as_str()),
            Place::Busy(engine) => ("host_busy", engine.as_str()),
            Place::Page(engine) => ("host_page", engine.as_str()),
            _ => continue,
        };
        let (value, source) = chosen(&reads.space, &reads.point, reads.range(number), number);
        let off = if *first.get_or_insert(engine) == engine { "" } else { "# " };
        let value = parameter.unit.written(value);
        let _ = write!(text, "# {engine}: {source}\n{off}{key} = \"{value}\"\n");
    }
    text
}
