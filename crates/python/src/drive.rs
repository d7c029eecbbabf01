//! A drive, or an array, that the caller submits to himself: for a simulator of his own.

use crate::arrow::{Batch, Column, Field, PyTable, Table};
use crate::asked::Point;
use crate::error::Trouble;
use crate::policy::Calls;
use crate::run::cache_of;
use crate::tables::{OPS, op_word};
use crate::watch::watched;
use manx_core::drive::{Command, CommandId, Completion, Op, Status, Storage};
use manx_core::units::{Instant, Lba};
use manx_lab::storage::{Ready, measuring};
use pyo3::prelude::*;
use serde_json::json;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Commands of a batch after which the lock of the interpreter is asked for Ctrl-C.
const CHUNK: usize = 1 << 16;

/// The last time (ns) that a caller may name, 146 years: what takes long after it still has a time
/// in a column of 64 bits with a sign.
const LATEST: u64 = 1 << 62;

/// So far ahead of the command that is submitted the drive is told of one.
const AHEAD: usize = 4;

/// A drive and what it has done since the last look.
#[pyclass(frozen, module = "manx._manx")]
pub struct Device {
    at_work: Mutex<AtWork>,
    calls: Vec<Arc<Calls>>,
}

/// Everything that changes.
#[derive(Clone)]
struct AtWork {
    storage: Ready,
    track: Track,
}

/// The caller's side: what is under way, and what has completed.
#[derive(Clone, Default)]
struct Track {
    /// Everything before it is done.
    now: Instant,
    /// By the command's identifier: the caller's number of it, its time, its kind.
    under_way: Vec<(u64, Instant, u8)>,
    free: Vec<CommandId>,
    submitted: u64,
    done: Done,
}

/// Completions since they were last taken, as columns.
#[derive(Clone, Default)]
struct Done {
    id: Vec<i64>,
    at_ns: Vec<i64>,
    latency_ns: Vec<i64>,
    op: Vec<u8>,
    status: Vec<u8>,
    gc_blocked: Vec<bool>,
}

const STATUSES: [&str; 7] = [
    "success",
    "lba-out-of-range",
    "aborted",
    "write-protected",
    "unrecovered-read",
    "predictable-latency-not-met",
    "members-lost",
];

fn status_word(status: Status) -> u8 {
    match status {
        Status::Success => 0,
        Status::LbaOutOfRange => 1,
        Status::Aborted => 2,
        Status::NamespaceWriteProtected => 3,
        Status::UnrecoveredRead => 4,
        Status::PredictableLatencyNotMet => 5,
        Status::MembersLost => 6,
    }
}

/// Commands as they came from Python: native bytes, eight to a number, one to an operation.
struct Batched<'a> {
    at: &'a [u8],
    op: &'a [u8],
    lba: &'a [u8],
    sectors: &'a [u8],
    stream: u8,
    fua: bool,
}

impl Batched<'_> {
    #[inline]
    fn number(bytes: &[u8], at: usize) -> i64 {
        bytes.as_chunks().0.get(at).map_or(0, |number| i64::from_ne_bytes(*number))
    }

    /// All lists are as long as each other.
    fn check(&self) -> Result<usize, Trouble> {
        let count = self.op.len();
        for (name, bytes) in [("t", self.at), ("lba", self.lba), ("n", self.sectors)] {
            if bytes.len() != 8 * count {
                let (has, of) = (bytes.len() / 8, count);
                let why = format!("{name} has {has} values and op has {of}: as many are needed");
                return Err(Trouble::Wrong(why));
            }
        }
        Ok(count)
    }

    /// Command `at`, checked against a drive of so many sectors, at `now` or later.
    fn command(&self, at: usize, now: Instant, all: u64) -> Result<(Instant, Command), Trouble> {
        let wrong = |key: &str, value: &dyn std::fmt::Display, allowed: &str| {
            Trouble::Wrong(format!("command {at}: {key} = {value} is not allowed: {allowed}"))
        };
        let (time, lba) = (Self::number(self.at, at), Self::number(self.lba, at));
        let sectors = Self::number(self.sectors, at);
        let op = match self.op[at] {
            b'R' | b'r' => Op::Read,
            b'W' | b'w' => Op::Write,
            b'F' | b'f' => Op::Flush,
            b'D' | b'd' => Op::Trim,
            other => {
                let said = format!("{:?}", char::from(other));
                return Err(wrong("op", &said, "R, W, F (flush) or D (discard)"));
            }
        };
        let when = u64::try_from(time).ok().filter(|when| (now.as_ns()..=LATEST).contains(when));
        let when = when.map(Instant::from_ns).ok_or_else(|| {
            let later = format!("{} ns or later: everything before it is done", now.as_ns());
            let is_late = time > LATEST.cast_signed();
            wrong("t", &time, if is_late { "at most 2^62 ns" } else { &later })
        })?;
        if op == Op::Flush {
            return Ok((when, Command::new(0, op, Lba(0), 0)));
        }
        let (first, count) = (u64::try_from(lba).ok(), u32::try_from(sectors).ok());
        let count = count.filter(|count| *count > 0);
        let count =
            count.ok_or_else(|| wrong("n", &sectors, "1 to 4294967295 sectors of 512 B"))?;
        let fits = |first: &u64| first.checked_add(count.into()).is_some_and(|end| end <= all);
        let first = first.filter(fits).ok_or_else(|| {
            let range = format!("from 0, and lba + n at most the {all} sectors of the drive");
            wrong("lba", &lba, &range)
        })?;
        Ok((when, Command::new(0, op, Lba(first), count)))
    }
}

impl Track {
    fn submit<S: Storage>(
        &mut self,
        storage: &mut S,
        batch: &Batched<'_>,
        from: usize,
        to: usize,
    ) -> Result<(), Trouble> {
        let all = storage.sectors();
        self.done.reserve(to - from);
        for at in from..to {
            let (when, mut command) = batch.command(at, self.now, all)?;
            let ahead = Batched::number(batch.lba, at + AHEAD).max(0) as u64;
            if at + AHEAD < to && ahead < all {
                storage.hint(Lba(ahead));
            }
            self.advance(storage, when);
            let of = (self.submitted, when, op_word(command.op));
            command.id = match self.free.pop() {
                Some(id) => {
                    self.under_way[id.index()] = of;
                    id
                }
                None => {
                    self.under_way.push(of);
                    CommandId(self.under_way.len() as u32 - 1)
                }
            };
            (command.stream, command.fua) = (batch.stream, batch.fua);
            self.submitted += 1;
            storage.submit(when, command);
        }
        Ok(())
    }

    /// Everything before `limit`.
    fn advance<S: Storage>(&mut self, storage: &mut S, limit: Instant) {
        while let Some(completion) = storage.advance_before(limit) {
            self.completed(&completion);
        }
        self.now = self.now.max(limit);
    }

    /// Completions until nothing is under way, or so many of them; true when it is over.
    fn drain<S: Storage>(&mut self, storage: &mut S, most: usize) -> bool {
        for _ in 0..most {
            if self.under_way.len() == self.free.len() {
                return true;
            }
            match storage.advance_before(Instant::NEVER) {
                Some(completion) => {
                    self.completed(&completion);
                    self.now = self.now.max(completion.at);
                }
                None => return true,
            }
        }
        false
    }

    fn completed(&mut self, completion: &Completion) {
        let (id, at, op) = self.under_way[completion.id.index()];
        self.free.push(completion.id);
        let done = &mut self.done;
        done.id.push(id as i64);
        done.at_ns.push(completion.at.as_ns() as i64);
        done.latency_ns.push(completion.at.since(at).as_ns() as i64);
        done.op.push(op);
        done.status.push(status_word(completion.status));
        done.gc_blocked.push(completion.gc_blocked);
    }
}

impl Done {
    /// Room for so many more.
    fn reserve(&mut self, more: usize) {
        for column in [&mut self.id, &mut self.at_ns, &mut self.latency_ns] {
            column.reserve(more);
        }
        for column in [&mut self.op, &mut self.status] {
            column.reserve(more);
        }
        self.gc_blocked.reserve(more);
    }

    fn table(self) -> Table {
        let columns = |done: Self| {
            vec![
                Column::I64(done.id),
                Column::I64(done.at_ns),
                Column::I64(done.latency_ns),
                Column::Word(done.op),
                Column::Word(done.status),
                Column::bits(done.gc_blocked.into_iter()),
            ]
        };
        let mut fields = ["id", "t_ns", "latency_ns"].map(Field::new).to_vec();
        fields.push(Field::of_words("op", OPS.to_vec()));
        fields.push(Field::of_words("status", STATUSES.to_vec()));
        fields.push(Field::new("gc_blocked"));
        let rows = self.id.len();
        let none = Batch { columns: columns(Self::default()), rows: 0 };
        Table::new(fields, none, vec![Batch { columns: columns(self), rows }])
    }
}

impl Device {
    fn lock(&self) -> MutexGuard<'_, AtWork> {
        self.at_work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The answer of `ask` about the storage. The lock is never waited for with that of the
    /// interpreter: a policy in Python needs it.
    fn look<T: Send>(&self, py: Python<'_>, ask: impl FnOnce(&mut AtWork) -> T + Send) -> T {
        py.detach(|| ask(&mut self.lock()))
    }
}

/// Calls `$body` with the drive or the array.
macro_rules! with {
    ($at_work:expr, $storage:ident, $track:ident, $body:expr) => {{
        let AtWork { storage, track: $track } = $at_work;
        match storage {
            Ready::Drive(drive) => {
                let $storage = &mut **drive;
                $body
            }
            Ready::Array(array) => {
                let $storage = &mut **array;
                $body
            }
        }
    }};
}

#[pymethods]
impl Device {
    /// The drive, or array, of a point, preconditioned, at time 0.
    #[new]
    #[pyo3(signature = (point, cache="user"))]
    fn new(py: Python<'_>, point: &Point, cache: &str) -> PyResult<Self> {
        if point.scenario.recovery.cut_at.is_some() {
            let why = "recovery.cut_at is of a run: a drive that you submit to is cut by nothing";
            return Err(Trouble::Wrong(why.to_string()).into());
        }
        let (stop, cache) = (AtomicBool::new(false), cache_of(cache));
        let calls: Vec<_> = point.calls.iter().cloned().collect();
        let mut progress = |_| !stop.load(Ordering::Relaxed);
        let tick = |_: Python<'_>| Calls::check(&calls);
        let made =
            watched(py, &stop, tick, || measuring(&point.scenario, cache.as_ref(), &mut progress))?;
        Calls::check(&calls)?;
        let storage = made
            .map_err(Trouble::from)?
            .ok_or_else(|| Trouble::Work("the preparation of the drive was stopped".to_string()))?;
        let track = Track { now: Instant::START, ..Track::default() };
        Ok(Self { at_work: Mutex::new(AtWork { storage, track }), calls })
    }

    /// Submits a batch; returns the number of its first command. All of it is refused where one of
    /// its commands is wrong but for those before it.
    #[pyo3(signature = (at, op, lba, sectors, stream=0, fua=false))]
    #[allow(clippy::too_many_arguments)] // One for each field of a command.
    fn submit(
        &self,
        py: Python<'_>,
        at: &[u8],
        op: &[u8],
        lba: &[u8],
        sectors: &[u8],
        stream: u8,
        fua: bool,
    ) -> PyResult<u64> {
        let batch = Batched { at, op, lba, sectors, stream, fua };
        let count = batch.check()?;
        let first = self.look(py, |at_work| at_work.track.submitted);
        for from in (0..count).step_by(CHUNK) {
            let to = (from + CHUNK).min(count);
            self.look(py, |at_work| {
                with!(at_work, storage, track, track.submit(storage, &batch, from, to))
            })?;
            py.check_signals()?;
            Calls::check(&self.calls)?;
        }
        Ok(first)
    }

    /// Does everything that is due before `until` (ns).
    fn advance(&self, py: Python<'_>, until: u64) -> PyResult<()> {
        let until = Instant::from_ns(until);
        self.look(py, |at_work| {
            if until < at_work.track.now {
                let now = at_work.track.now.as_ns();
                let until = until.as_ns();
                return Err(Trouble::Wrong(format!(
                    "until = {until} is not allowed: it is {now} ns already"
                )));
            }
            if until.as_ns() > LATEST {
                let until = until.as_ns();
                return Err(Trouble::Wrong(format!(
                    "until = {until} is not allowed: at most 2^62 ns"
                )));
            }
            with!(at_work, storage, track, track.advance(storage, until));
            Ok(())
        })?;
        Calls::check(&self.calls)
    }

    /// Goes on until every command has completed; the time reached (ns).
    fn drain(&self, py: Python<'_>) -> PyResult<u64> {
        loop {
            let is_over = self
                .look(py, |at_work| with!(at_work, storage, track, track.drain(storage, CHUNK)));
            py.check_signals()?;
            Calls::check(&self.calls)?;
            if is_over {
                return Ok(self.look(py, |at_work| at_work.track.now.as_ns()));
            }
        }
    }

    /// Completions since the last call.
    fn completions(&self, py: Python<'_>) -> PyTable {
        let done = self.look(py, |at_work| std::mem::take(&mut at_work.track.done));
        PyTable(Arc::new(done.table()))
    }

    /// The drive as it is now, a second time: both go on by themselves.
    fn twin(&self, py: Python<'_>) -> PyResult<Self> {
        let at_work = self.look(py, |at_work| at_work.clone());
        // Policies in Python were copied.
        Calls::check(&self.calls)?;
        Ok(Self { at_work: Mutex::new(at_work), calls: self.calls.clone() })
    }

    /// Everything that is known of it, as JSON.
    fn state(&self, py: Python<'_>) -> String {
        let state = self.look(py, |at_work| {
            with!(at_work, storage, track, {
                let storage: &dyn Storage = storage;
                let drives = (0..storage.drives()).map(|number| {
                    let drive = storage.drive(number);
                    let counters = drive.counters();
                    json!({
                        "free_percent": drive.ftl().least_free_millionths() as f64 / 1e4,
                        "buffered_pages": drive.buffered(),
                        "flash_operations": drive.flash().operations().total(),
                        "host_bytes_written": counters.host_bytes_written,
                        "host_pages_programmed": counters.host_units,
                        "pages_copied": counters.copied_units,
                        "pages_programmed": counters.units_programmed(),
                        "pages_read": counters.units_read,
                        "erases": counters.erases,
                        "gc_runs": counters.collections,
                        "gc_runs_forced": counters.forced_collections,
                    })
                });
                json!({
                    "now_ns": track.now.as_ns(),
                    "submitted": track.submitted,
                    "outstanding": track.under_way.len() - track.free.len(),
                    "next_event_ns": Some(storage.next_event_at())
                        .filter(|at| *at != Instant::NEVER).map(Instant::as_ns),
                    "sectors": storage.sectors(),
                    "page_sectors": storage.page_sectors(),
                    "drives": drives.collect::<Vec<_>>(),
                })
            })
        });
        state.to_string()
    }

    /// Sectors of 512 B that the host sees.
    #[getter]
    fn sectors(&self, py: Python<'_>) -> u64 {
        self.look(py, |at_work| with!(at_work, storage, _track, Storage::sectors(storage)))
    }

    /// Everything before it is done (ns).
    #[getter]
    fn now(&self, py: Python<'_>) -> u64 {
        self.look(py, |at_work| at_work.track.now.as_ns())
    }

    /// When something is due next (ns), completions included; None when nothing is.
    #[getter]
    fn next_event(&self, py: Python<'_>) -> Option<u64> {
        let at = self.look(py, |at_work| with!(at_work, storage, _track, storage.next_event_at()));
        Some(at).filter(|at| *at != Instant::NEVER).map(Instant::as_ns)
    }

    /// Commands under way.
    #[getter]
    fn outstanding(&self, py: Python<'_>) -> usize {
        self.look(py, |at_work| at_work.track.under_way.len() - at_work.track.free.len())
    }
}
