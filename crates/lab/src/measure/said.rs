//! A measurement as it is named on the command line: `FILE`, `FILE@STATE`, or with what the file
//! itself does not say, `FILE@filled,depth=16,engine=io_uring,processes=4,capacity=7.68TB`.

use super::{DriveState, MeasureError};
use manx_core::units::{Bytes, Duration};

/// The words about a file beside its name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Said {
    /// The state of the drive.
    pub state: Option<DriveState>,
    /// Requests that each process keeps outstanding.
    pub depth: Option<u32>,
    /// Processes.
    pub processes: Option<u32>,
    /// The host's engine.
    pub engine: Option<String>,
    /// Bytes that the host sees of the drive.
    pub capacity: Option<u64>,
    /// Seconds between two reports of a series.
    pub interval: Option<f64>,
}

impl Said {
    /// The drive was fresh, as it is where nothing else is said of a long write.
    pub(super) fn is_fresh(&self) -> bool {
        self.state.is_none_or(|state| state == DriveState::Fresh)
    }

    /// Words that nobody asks for are an error: their writer meant another file, or another number.
    pub(super) fn only(&self, file: &str, what: &str, asked: &[&str]) -> Result<(), MeasureError> {
        let words = [
            ("depth", self.depth.is_some()),
            ("processes", self.processes.is_some()),
            ("engine", self.engine.is_some()),
            ("capacity", self.capacity.is_some()),
            ("interval", self.interval.is_some()),
        ];
        let said = |(name, is_said): &(&str, bool)| *is_said && !asked.contains(name);
        let Some((name, _)) = words.iter().find(|word| said(word)) else { return Ok(()) };
        let asked = match asked {
            [] => "it says all itself but the state".to_string(),
            asked => format!("{} and the state are what it does not say", asked.join(", ")),
        };
        let message = format!("@{name} has no use beside {what}: {asked}");
        Err(MeasureError::new(file, "", message))
    }

    /// The words behind the `@`.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut said = Self::default();
        for part in text.split(',') {
            let Some((key, value)) = part.split_once('=') else {
                said.state = Some(part.parse()?);
                continue;
            };
            let count = |most: u32| {
                let known = value.parse().ok().filter(|count| (1..=most).contains(count));
                known.ok_or_else(|| format!("{part}: a whole number from 1 to {most}"))
            };
            match key {
                "depth" => said.depth = Some(count(65_536)?),
                "processes" => said.processes = Some(count(4_096)?),
                "engine" if !value.is_empty() => said.engine = Some(value.to_string()),
                "capacity" => {
                    let bytes: Result<Bytes, _> = value.parse();
                    let bytes = bytes.map_err(|_| format!("{part}: a size such as 7.68TB"))?;
                    said.capacity = Some(bytes.get()).filter(|bytes| *bytes > 0);
                }
                "interval" => {
                    let time: Result<Duration, _> = value.parse();
                    let time = time.ok().filter(|time| !time.is_zero());
                    let time = time.ok_or_else(|| format!("{part}: a time such as 1s"))?;
                    said.interval = Some(time.as_s_f64());
                }
                _ => {
                    return Err(format!(
                        "{part} is not allowed: a state (fresh, filled, overwritten:N), depth=N, \
                         processes=N, engine=NAME, capacity=SIZE, interval=TIME"
                    ));
                }
            }
        }
        Ok(said)
    }
}
