//! Reading scenario and device files: the I/O that the core does not do, and the errors that belong
//! to it.

use crate::save::lists_every_key;
use manx_config::{
    ConfigError, Input, Overlaid, Override, Scenario, Source, builtin_scenario, device_name,
    load as load_text, load_device, overlaid, resolve_policy, why_unread,
};
use manx_core::flash::Device;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

/// No file that is read as a whole is longer: a run is some 40 KB of a result.
const BYTES_MAX: u64 = 512 << 20;

/// A scenario as it was asked for: its text, its device's text where that is a file, and what
/// overrides both.
#[derive(Clone, Debug)]
pub struct Request {
    scenario: Source,
    device: Option<Source>,
    overrides: Vec<Override>,
    /// The trace is an option's: its path is relative to the current folder, whatever the scenario
    /// says.
    trace_from_here: bool,
    /// The scenario is a file of the asker's, not a built-in one.
    is_own_file: bool,
}

impl Request {
    /// Reads the scenario `name`, a built-in name or the path of a file, and the device file it
    /// points at, if any.
    ///
    /// A device path in a scenario file is relative to that file; one in an override (`--device`)
    /// to the current folder.
    pub fn read(name: &str, overrides: Vec<Override>) -> Result<Self, ConfigError> {
        Ok(Self { is_own_file: is_path(name), ..Self::of(read_scenario(name)?, overrides)? })
    }

    /// The request for a scenario that was read already.
    pub fn of(scenario: Source, overrides: Vec<Override>) -> Result<Self, ConfigError> {
        let device = match device_name(&scenario, &overrides)? {
            Some(path) if is_path(&path) => {
                let beside = if device_name(&scenario, &[])?.as_deref() == Some(&path) {
                    Path::new(&scenario.file).parent()
                } else {
                    None
                };
                Some(read_text(
                    &beside.map_or(PathBuf::from(&path), |folder| folder.join(&path)),
                    "a device table",
                )?)
            }
            _ => None,
        };
        Ok(Self { scenario, device, overrides, trace_from_here: false, is_own_file: false })
    }

    /// The same, where an option (`--trace`) names the trace: its path is relative to the current
    /// folder.
    ///
    /// Otherwise a trace path that stands in the scenario file is relative to that file.
    pub fn with_trace_from_here(self) -> Self {
        Self { trace_from_here: true, ..self }
    }

    /// This request with more overrides, over those that are there; none of them may name another
    /// device.
    pub fn with(&self, more: impl IntoIterator<Item = Override>) -> Self {
        let mut request = self.clone();
        request.overrides.extend(more);
        request
    }

    /// The root seed, before anything is checked: what an override says, or the scenario; 1 if
    /// neither says a number.
    pub fn seed(&self) -> u64 {
        let set = self.overrides.iter().rev().find(|set| set.key() == "seed");
        let written = || {
            self.scenario
                .text
                .parse::<toml::Table>()
                .ok()?
                .get("seed")?
                .as_integer()?
                .try_into()
                .ok()
        };
        set.map_or_else(written, |set| set.text().parse().ok()).unwrap_or(1)
    }

    /// The numbers of its device's table that the scenario lies over with others.
    pub fn overlaid(&self) -> Result<Vec<Overlaid>, ConfigError> {
        let (device, overrides) = (self.device.as_ref(), self.overrides.as_slice());
        overlaid(&Input { scenario: &self.scenario, device, policy: None, overrides })
    }

    /// The scenario without a policy laid over it.
    pub fn plain(&self) -> Result<Scenario, ConfigError> {
        self.load(None)
    }

    /// The scenario under `policy`.
    pub fn under(&self, policy: &str) -> Result<Scenario, ConfigError> {
        resolve_policy(policy)?;
        self.load(Some(policy))
    }

    /// Keys and values without effect: keys that none of `runs` looks at, of overrides and of the
    /// asker's file, and values whose place another one takes.
    pub fn notes(&self, runs: &[(String, Scenario)]) -> Vec<String> {
        let mut notes = Vec::new();
        for (at, set) in self.overrides.iter().enumerate() {
            // Of a trace's own keys the option says what it means; a profile is no key.
            let is_own = |set: &Override| !set.said().starts_with("--trace ") && !set.is_profile();
            if !is_own(set) {
                continue;
            }
            let later = self.overrides[at + 1..]
                .iter()
                .find(|later| later.key() == set.key() && is_own(later));
            if let Some(later) = later {
                notes.push(format!(
                    "{}: {} takes its place: {} is set twice",
                    set.said(),
                    later.said(),
                    set.key()
                ));
                continue;
            }
            if let Some(why) = why_none_reads(runs, set.key()) {
                notes.push(format!("{}: it changes nothing: {why}", set.said()));
            }
        }
        // Of a file that lists every key the asker said none.
        let said = self.is_own_file && !lists_every_key(&self.scenario.text);
        let written = if said { keys_of(&self.scenario.text) } else { Vec::new() };
        for key in written {
            if !self.overrides.iter().any(|set| set.key() == key)
                && let Some(why) = why_none_reads(runs, &key)
            {
                notes.push(format!("{}: {key}: it changes nothing: {why}", self.scenario.file));
            }
        }
        notes
    }

    fn load(&self, policy: Option<&str>) -> Result<Scenario, ConfigError> {
        let (device, overrides) = (self.device.as_ref(), self.overrides.as_slice());
        let mut scenario =
            load_text(&Input { scenario: &self.scenario, device, policy, overrides })?;
        if !self.trace_from_here && is_path(&self.scenario.file) {
            self.find_traces(&mut scenario);
        }
        Ok(scenario)
    }

    /// Puts the scenario file's folder before the relative trace paths that the file itself writes.
    fn find_traces(&self, scenario: &mut Scenario) {
        let Some(folder) = Path::new(&self.scenario.file).parent() else { return };
        let table: toml::Table = self.scenario.text.parse().unwrap_or_default();
        let workload = table.get("workload");
        let jobs =
            workload.and_then(|workload| workload.get("jobs")?.as_array()).into_iter().flatten();
        let written: Vec<&str> = workload
            .into_iter()
            .chain(jobs)
            .filter_map(|job| job.get("trace")?.get("file")?.as_str())
            .collect();
        for trace in scenario.workload.jobs.iter_mut().filter_map(|job| job.trace.as_mut()) {
            if written.contains(&trace.file.as_str()) {
                // An absolute path takes the folder's place.
                trace.file = folder.join(&trace.file).to_string_lossy().into_owned();
            }
        }
    }
}

/// Reads the device `name`: a built-in name or the path of a file.
pub fn read_device(name: &str) -> Result<Device, ConfigError> {
    let source = match is_path(name) {
        true => read_text(Path::new(name), "a device table")?,
        false => manx_config::builtin_device(name)?,
    };
    load_device(&source)
}

/// Reads the workload `name`: a built-in name or the path of a file.
pub fn read_workload(name: &str) -> Result<Source, ConfigError> {
    match is_path(name) {
        true => read_text(Path::new(name), "a workload"),
        false => manx_config::builtin_workload(name),
    }
}

/// Reads the scenario `name`: a built-in name or the path of a file.
pub fn read_scenario(name: &str) -> Result<Source, ConfigError> {
    if is_path(name) {
        return read_text(Path::new(name), "a scenario");
    }
    // A file without an ending, a directory: what stands there under that name is what was meant.
    builtin_scenario(name).or_else(|unknown| match !name.is_empty() && Path::new(name).exists() {
        true => read_text(Path::new(name), "a scenario"),
        false => Err(unknown),
    })
}

/// Why none of `runs` looks at `key`, if none does.
fn why_none_reads(runs: &[(String, Scenario)], key: &str) -> Option<String> {
    let reasons: Option<Vec<String>> =
        runs.iter().map(|(_, scenario)| why_unread(scenario, key)).collect();
    reasons?.into_iter().next()
}

/// The keys that a scenario's text sets, but for the load: a trace or a profile often takes its
/// place as a whole.
fn keys_of(text: &str) -> Vec<String> {
    let mut table: toml::Table = text.parse().unwrap_or_default();
    table.remove("workload");
    let mut open: Vec<(String, toml::Value)> = table.into_iter().collect();
    let mut keys = Vec::new();
    while let Some((key, value)) = open.pop() {
        match value {
            toml::Value::Table(table) => {
                open.extend(
                    table.into_iter().map(|(name, value)| (format!("{key}.{name}"), value)),
                );
            }
            _ => keys.push(key),
        }
    }
    keys.sort_unstable();
    keys
}

/// A name with a separator or an ending is a path; the names of the library have neither.
fn is_path(name: &str) -> bool {
    name.contains(['/', '\\']) || name.ends_with(".toml")
}

/// The bytes of a file that is held as a whole; one without an end (/dev/zero) is refused.
pub fn read_bounded(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = File::open(path)?.take(BYTES_MAX + 1).read_to_end(&mut bytes)?;
    match read as u64 > BYTES_MAX {
        true => Err(io::Error::other(format!("it is longer than {} MiB", BYTES_MAX >> 20))),
        false => Ok(bytes),
    }
}

/// Reads a text file; `what` says what was expected there.
fn read_text(path: &Path, what: &str) -> Result<Source, ConfigError> {
    let file = path.display().to_string();
    let error = |message: String| ConfigError::file(file.clone(), message);
    if path.is_dir() {
        return Err(error(format!("this is a directory, not {what}; name a .toml file in it")));
    }
    let bytes = read_bounded(path).map_err(|cause| match cause.kind() {
        ErrorKind::NotFound => error(format!("no such file: {what} was expected here")),
        ErrorKind::PermissionDenied => {
            error(format!("no permission to read it: {what} was expected here"))
        }
        _ => error(format!("cannot read {what}: {cause}")),
    })?;
    let text = String::from_utf8(bytes).map_err(|cause| {
        let at = cause.utf8_error().valid_up_to();
        error(format!("not UTF-8 text (from byte {at} on): {what} is a TOML file"))
    })?;
    if text.trim().is_empty() {
        return Err(error(format!("the file is empty: {what} was expected here")));
    }
    Ok(Source { file, text })
}
