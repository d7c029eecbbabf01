//! Doubts about the replay of a trace of which every line can be read: its file is not in the order
//! of time, or no drive could have served it.

use super::sniff::pace::Pace;
use super::{TimeUnit, TraceError, TraceReader, TraceSummary};
use manx_base::units::Duration;

/// Why a time is not the one of the file.
pub(super) const WENT_BACK: &str = "time went back: clamped to the one before";

/// Of so many requests one may have a time that goes back. More of them are a burst that the trace
/// never had.
const ONE_IN: u64 = 100;

/// Refuses a trace of which too many requests would come at another time than their own.
pub(super) fn refuse_disorder(
    summary: &TraceSummary,
    reader: &TraceReader,
) -> Result<(), TraceError> {
    let late = summary.altered.get(WENT_BACK);
    match reader.went_back() {
        Some((place, farthest)) if late * ONE_IN > summary.requests => {
            Err(TraceError::OutOfOrder { place, late, requests: summary.requests, farthest })
        }
        _ => Ok(()),
    }
}

impl TraceSummary {
    /// A sentence for each thing that makes the replay doubtful.
    pub fn doubts(&self) -> Vec<String> {
        let late = self.altered.get(WENT_BACK);
        let disorder = (late > 0).then(|| {
            format!(
                "{late} of {} requests of the trace are so far out of the order of time that they \
                 are replayed at the time of the one before: those are bursts that it did not have",
                self.requests
            )
        });
        disorder.into_iter().chain(self.too_fast()).collect()
    }

    /// Where the format states its unit, nothing else asks whether the times are believable.
    fn too_fast(&self) -> Option<String> {
        let pace = Pace {
            requests: self.requests,
            bytes: self.read_bytes.saturating_add(self.write_bytes),
            devices: self.devices.iter().filter(|device| device.requests > 0).count() as u64,
            span: u128::from(self.span_ns) * 1000,
        };
        (self.units_why.is_none() && pace.is_enough() && pace.is_implausible(TimeUnit::Ns)).then(
            || {
                format!(
                    "the requests of the trace come at {}/s and {} MB/s, more than a drive serves: \
                     are its times in the unit of its format ({}, ticks of {})?",
                    pace.rate(TimeUnit::Ns),
                    pace.megabytes(TimeUnit::Ns),
                    self.format.name(),
                    Duration::from_ns(self.tick_ns)
                )
            },
        )
    }
}
