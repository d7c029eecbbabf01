//! Tallies of a run's traces: the sources belong to the driver, their tallies are wanted when it is
//! done.

use crate::open::{note, opener, trace_source};
use manx_core::host::{Request, RequestSource};
use manx_core::stats::{RecordedReport, TraceReport};
use manx_core::units::Duration;
use manx_trace::{Recorded, Tally, TraceError, TraceSource, TraceSpec, TraceSummary};
use std::fmt::Write;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// Tallies of one trace.
#[derive(Debug)]
struct Replay {
    summary: TraceSummary,
    altered: Tally,
    dropped: Tally,
    error: Option<TraceError>,
}

/// Tallies of a run's traces, in the order of its jobs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Replays(Arc<Mutex<Vec<Replay>>>);

impl Replays {
    /// The trace of `spec` as a source that leaves its tallies here when it is dropped; and its
    /// number of requests.
    pub(crate) fn source(
        &self,
        spec: &TraceSpec,
        sectors: u64,
    ) -> Result<(Box<dyn RequestSource>, u64), TraceError> {
        let (source, summary) = trace_source(spec, sectors)?;
        let total = source.total_requests();
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(Replay {
            summary,
            altered: Tally::default(),
            dropped: Tally::default(),
            error: None,
        });
        Ok((Box::new(Watched { source, number: all.len() - 1, replays: self.clone() }), total))
    }

    /// The trace of `spec` as a source for each of its devices; the devices' names; and the number
    /// of requests in all.
    #[allow(clippy::type_complexity)]
    pub(crate) fn each_device(
        &self,
        spec: &TraceSpec,
        sectors: u64,
    ) -> Result<(Vec<Box<dyn RequestSource>>, Vec<String>, u64), TraceError> {
        let (sources, summary) =
            TraceSource::each_device(spec, sectors, &mut || opener(&spec.file))?;
        let total = sources.iter().map(TraceSource::total_requests).fold(0, u64::saturating_add);
        let played = summary.devices.iter().filter(|device| device.requests > 0);
        let names = played.map(|device| device.name.clone()).collect();
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(Replay {
            summary,
            altered: Tally::default(),
            dropped: Tally::default(),
            error: None,
        });
        let (number, replays) = (all.len() - 1, self.clone());
        let watched =
            |source| Box::new(Watched { source, number, replays: replays.clone() }) as Box<_>;
        Ok((sources.into_iter().map(watched).collect(), names, total))
    }

    /// The report, and a warning for each trace that ended before its time or whose replay is
    /// doubtful. Call when the sources
    /// are dropped.
    pub(crate) fn report(&self) -> (Option<TraceReport>, Vec<String>) {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.is_empty() {
            return (None, Vec::new());
        }
        let mut report = TraceReport::default();
        for replay in all.iter() {
            replay.add_to(&mut report);
        }
        report.recorded = recorded(&all);
        let errors = all.iter().filter_map(|replay| replay.error.as_ref());
        let errors = errors.map(|error| format!("the trace ended before its time: {error}"));
        let notes = all.iter().filter_map(|replay| note(Path::new(&replay.summary.file)));
        let doubts = all.iter().flat_map(|replay| replay.summary.doubts());
        (Some(report), errors.chain(notes).chain(doubts).collect())
    }
}

/// The latencies that the traces recorded, all together.
fn recorded(all: &[Replay]) -> Option<RecordedReport> {
    let (mut recorded, mut spans, mut longest) = (Recorded::default(), Vec::new(), 0);
    for Replay { summary, .. } in all {
        recorded.merge(&summary.recorded);
        spans.extend(summary.recorded_span.filter(|span| !spans.contains(span)));
        longest = longest.max(summary.span_ns);
    }
    let longest = Duration::from_ns(longest);
    let (read, write) = (recorded.read.summary(longest), recorded.write.summary(longest));
    (recorded.count() > 0).then(|| RecordedReport { span: spans.join("; "), read, write })
}

impl Replay {
    fn add_to(&self, report: &mut TraceReport) {
        let summary = &self.summary;
        let mut add = |name: String, count: u64| *report.counts.entry(name).or_default() += count;
        let totals = [
            ("requests", summary.requests),
            ("reads", summary.reads),
            ("writes", summary.writes),
            ("flushes", summary.flushes),
            ("trims", summary.trims),
            ("reordered", summary.reordered),
            ("dropped", summary.dropped.total()),
            ("altered", summary.altered.total()),
        ];
        totals.into_iter().for_each(|(name, count)| add(name.to_string(), count));
        let tallies = [
            ("dropped", &summary.dropped),
            ("altered", &summary.altered),
            ("skipped lines", &summary.skipped_lines),
            ("dropped in the replay", &self.dropped),
            ("altered in the replay", &self.altered),
        ];
        for (kind, tally) in tallies {
            tally.iter().for_each(|(reason, count)| add(format!("{kind}: {reason}"), count));
        }
        let _ = write!(report.text, "{summary}");
        let replayed = [("dropped", &self.dropped), ("altered", &self.altered)];
        for (name, tally) in replayed.into_iter().filter(|(_, tally)| !tally.is_empty()) {
            let _ = writeln!(report.text, "{name:<11} {} in the replay", tally.total());
            for (reason, count) in tally.iter() {
                let _ = writeln!(report.text, "{count:>20}  {reason}");
            }
        }
    }
}

/// A trace source that is asked, when it goes, what it did.
struct Watched {
    source: TraceSource,
    number: usize,
    replays: Replays,
}

impl RequestSource for Watched {
    #[inline]
    fn next_request(&mut self) -> Option<Request> {
        self.source.next_request()
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let mut all = self.replays.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(replay) = all.get_mut(self.number) {
            replay.altered.merge(self.source.altered());
            replay.dropped.merge(self.source.dropped());
            replay.error = replay.error.take().or_else(|| self.source.error().cloned());
        }
    }
}
