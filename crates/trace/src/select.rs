//! Which requests of a trace are played: of which devices, of which kinds, in which window, and how
//! many.

use super::{Opener, Place, Reading, Record, Tally, TraceError, TraceFormat, TraceReader};
use crate::{TraceOp, TraceSpec};
use manx_base::units::{Duration, Op};

/// A reader that gives out what is selected, and counts what is not.
pub(super) struct Selected {
    pub(super) reader: TraceReader,
    ignore: [bool; 4],
    ignore_fua: bool,
    devices: DeviceChoice,
    from: Duration,
    /// No request at this time or later.
    to: Duration,
    skip: u64,
    left: u64,
    rebase: bool,
    /// Time subtracted from all times, known with the first request.
    base: Option<Duration>,
    /// Of what is selected, give out only the requests of this device.
    only: Option<u32>,
    pub(super) dropped: Tally,
    pub(super) altered: Tally,
    ended: bool,
}

impl Selected {
    /// Opens the trace of `spec` anew.
    pub(super) fn open(
        spec: &TraceSpec,
        format: TraceFormat,
        reading: Reading,
        open: &mut Opener,
    ) -> Result<Self, TraceError> {
        let bound = |bound: u64| if bound == 0 { u64::MAX } else { bound };
        let ignored = |op| spec.ignore.contains(&op);
        if !spec.to.is_zero() && spec.to <= spec.from {
            let (file, value) = (spec.file.as_str().into(), spec.to.to_string());
            return Err(TraceError::Setting {
                file,
                key: "to",
                value,
                allowed: "later than `from`; 0s is no bound",
            });
        }
        Ok(Self {
            reader: TraceReader::new(format, reading, open()?)?,
            ignore: [
                ignored(TraceOp::Read),
                ignored(TraceOp::Write),
                ignored(TraceOp::Flush),
                ignored(TraceOp::Trim),
            ],
            ignore_fua: ignored(TraceOp::Fua),
            devices: DeviceChoice { wanted: spec.devices.clone(), known: Vec::new() },
            from: spec.from,
            to: Duration::from_ns(bound(spec.to.as_ns())),
            skip: spec.skip,
            left: bound(spec.head),
            rebase: spec.rebase,
            base: None,
            only: None,
            dropped: Tally::default(),
            altered: Tally::default(),
            ended: false,
        })
    }

    /// This selection, rebased as a whole, of which only one device's requests are given out.
    pub(super) fn only(self, only: Option<u32>) -> Self {
        Self { only, ..self }
    }

    /// The next request that is selected, its time rebased.
    pub(super) fn next_record(&mut self) -> Result<Option<Record>, TraceError> {
        while !self.ended {
            let Some(record) = self.reader.next_record()? else { break };
            if record.at >= self.to || self.left == 0 {
                // All further requests are later still. They are not read, so a trace of weeks
                // costs only its window.
                self.ended = true;
                break;
            }
            if let Some(reason) = self.reason_to_drop(&record) {
                self.dropped.add(reason);
                continue;
            }
            self.left -= 1;
            // Not where it is read: what is not played is not altered.
            self.reader.altered().for_each(|reason| self.altered.add(reason));
            let record = self.rebased(record);
            if self.only.is_none_or(|only| only == record.device) {
                return Ok(Some(record));
            }
        }
        Ok(None)
    }

    fn reason_to_drop(&mut self, record: &Record) -> Option<&'static str> {
        if !self.devices.has(record.device, self.reader.device_names()) {
            return Some("of a device that is not selected");
        }
        let (kind, reason) = match record.op {
            Op::Read => (0, "read, ignored as asked"),
            Op::Write => (1, "write, ignored as asked"),
            Op::Flush => (2, "flush, ignored as asked"),
            Op::Trim => (3, "trim, ignored as asked"),
        };
        if self.ignore[kind] {
            return Some(reason);
        }
        if record.at < self.from {
            return Some("before the window (from)");
        }
        if self.skip > 0 {
            self.skip -= 1;
            return Some("skipped as asked (skip)");
        }
        None
    }

    fn rebased(&mut self, record: Record) -> Record {
        let base = *self.base.get_or_insert(if self.rebase { record.at } else { Duration::ZERO });
        let fua = record.fua && !self.ignore_fua;
        if fua != record.fua {
            self.altered.add("FUA left out as asked");
        }
        Record { at: record.at - base, fua, ..record }
    }

    /// True where the selection ended before the file did: what follows is not known.
    pub(super) fn is_cut(&self) -> bool {
        self.ended
    }

    /// The place of the request last returned.
    pub(super) fn place(&self) -> Place {
        self.reader.place()
    }

    /// Devices that were asked for and that the trace does not have, as far as it was read.
    pub(super) fn missing_devices(&self) -> Vec<String> {
        let names = self.reader.device_names();
        self.devices.wanted.iter().filter(|wanted| !names.contains(wanted)).cloned().collect()
    }
}

/// The devices that are played.
struct DeviceChoice {
    /// By name; all when empty.
    wanted: Vec<String>,
    /// Whether each device met so far is one of them.
    known: Vec<bool>,
}

impl DeviceChoice {
    #[inline]
    fn has(&mut self, device: u32, names: &[String]) -> bool {
        if self.wanted.is_empty() {
            return true;
        }
        for name in &names[self.known.len()..] {
            self.known.push(self.wanted.contains(name));
        }
        self.known[device as usize]
    }
}
