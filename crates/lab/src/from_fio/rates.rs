//! How fast a job of fio asks, and where it ends.

use super::{Job, JobFileError, Mix, fio_size};
use std::fmt::Write;

impl Job<'_> {
    /// Requests a second that the job may ask at most, reads and others: each kind is limited by
    /// itself. `None` where nothing limits it.
    pub(super) fn limit(
        &self,
        mix: &Mix,
        blocks: [f64; 2],
    ) -> Result<Option<[f64; 2]>, JobFileError> {
        let number =
            |text: &str| text.parse().ok().filter(|rate: &f64| *rate > 0.0 && rate.is_finite());
        let bytes = |text: &str| fio_size(text).map(|bytes| bytes as f64);
        let by_count = self.limit_of("rate_iops", mix, &number)?;
        let by_bytes = self.limit_of("rate", mix, &bytes)?;
        let by_bytes = by_bytes.map(|[reads, others]| [reads / blocks[0], others / blocks[1]]);
        Ok(match (by_count, by_bytes) {
            (Some([a, b]), Some([c, d])) => Some([a.min(c), b.min(d)]),
            (one, other) => one.or(other),
        })
    }

    fn limit_of(
        &self,
        key: &str,
        mix: &Mix,
        parse: &dyn Fn(&str) -> Option<f64>,
    ) -> Result<Option<[f64; 2]>, JobFileError> {
        let allowed = "one number, or one for reads and one for writes";
        let Some((_, value)) = self.get(&[key]) else { return Ok(None) };
        let mut sides = Vec::new();
        for text in value.split(',').map(str::trim) {
            let side = if text.is_empty() { None } else { Some(parse(text)) };
            match side {
                Some(None) => return Err(self.bad(key, allowed)),
                side => sides.push(side.flatten()),
            }
        }
        let [reads, others] = match sides.as_slice() {
            [one] => [*one; 2],
            [reads, writes] => [*reads, *writes],
            [reads, writes, trims] => [*reads, if mix.trims { *trims } else { *writes }],
            _ => return Err(self.bad(key, allowed)),
        };
        // A kind that the job does not ask for has no rate.
        let (asks, zero) = ([mix.reads > 0.0, mix.reads < 1.0], Some(0.0));
        let both = [if asks[0] { reads } else { zero }, if asks[1] { others } else { zero }];
        match both {
            [Some(reads), Some(others)] => Ok(Some([reads, others])),
            [None, None] => Ok(None),
            _ if asks == [true, true] => {
                Err(self.bad(key, "a limit of reads and one of writes, or none"))
            }
            _ => Ok(None),
        }
    }

    /// A limit of rate: threads, as many as the depth, that keep to a schedule. A job that thinks
    /// has one request under way: fio stops all of it.
    pub(super) fn rates(
        &mut self,
        limit: Option<f64>,
        depth: u64,
        job: &mut String,
    ) -> Result<(), JobFileError> {
        let think = self.time("thinktime", 1_000)?;
        let start = self.time("startdelay", 1_000_000_000)?;
        if start > 0 && limit.is_some() {
            return Err(self.bad("startdelay", "no start of its own beside a limit of the rate"));
        } else if start > 0 {
            let _ = writeln!(job, "start = \"{start}ns\"");
        }
        if think > 0 && self.whole("thinktime_blocks", 1)? != 1 {
            return Err(self.bad("thinktime_blocks", "1: a pause behind each request"));
        }
        if think > 0 && depth > 1 {
            let said = "fio stops the whole job for it: one request at a time, whatever iodepth";
            self.remark_of("thinktime", said);
        }
        let depth = if think > 0 { 1 } else { depth };
        let _ = writeln!(job, "queue_depth = {depth}");
        match limit {
            Some(rate) if 1e9 / rate > think as f64 => {
                let _ = writeln!(job, "arrival = \"paced-smooth\"\nrate = {rate:.3}");
                if think > 0 {
                    self.remark_of(
                        "thinktime",
                        "shorter than the gaps of the rate, which are kept",
                    );
                }
            }
            _ if think > 0 => {
                let _ = writeln!(job, "think = \"{think}ns\"");
                if limit.is_some() {
                    self.remark_of(
                        "thinktime",
                        "longer than the gaps of the rate, which is not kept",
                    );
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Where the job ends: its time, from its own start on and with the ramp, or its requests.
    pub(super) fn bound(&mut self, block: f64, job: &mut String) -> Result<(), JobFileError> {
        let key = if self.get(&["runtime"]).is_some() { "runtime" } else { "timeout" };
        let (runtime, ramp) =
            (self.time(key, 1_000_000_000)?, self.time("ramp_time", 1_000_000_000)?);
        let start = self.time("startdelay", 1_000_000_000)?;
        if ramp > 0 {
            let milliseconds = start.saturating_add(ramp) / 1_000_000;
            self.remark_of(
                "ramp_time",
                &format!(
                    "the job is longer by it; --set measure.warmup={milliseconds}ms leaves it \
                     uncounted"
                ),
            );
        }
        if runtime > 0 {
            let until = start.saturating_add(runtime).saturating_add(ramp);
            let _ = writeln!(job, "time = \"{until}ns\"");
        }
        let count = self.whole("number_ios", 0)?;
        let bytes = match self.size("io_size")? {
            Some(bytes) => Some(bytes),
            None => self.size("size")?,
        };
        let loops = match self.whole("loops", 1)? {
            0 => return Err(self.bad("loops", "at least 1")),
            loops => loops as f64,
        };
        let by_bytes = bytes.map_or(0, |bytes| (bytes as f64 / block * loops) as u64);
        // That which ends first.
        let requests = [count, by_bytes].into_iter().filter(|count| *count > 0).min().unwrap_or(0);
        if requests > 0 && !(self.is_on("time_based") && runtime > 0) {
            let _ = writeln!(job, "requests = {requests}");
        } else if runtime == 0 {
            let message = format!(
                "[{}] has no end: runtime, number_ios, or a size in bytes is needed",
                self.section.name
            );
            return Err(self.error(self.section.line, message));
        }
        Ok(())
    }
}
