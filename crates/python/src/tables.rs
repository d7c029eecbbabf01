//! Tables of a run: its requests, its timeline, its distribution, its causes.

use crate::arrow::{Batch, Column, Field, Table};
use manx_core::drive::{Op, SlowCommand, Status, Storage};
use manx_core::host::{Record, Records};
use manx_core::stats::{AttributionBand, RunResult};
use manx_core::units::{Cause, Instant, SECTOR, Split};
use manx_lab::run::{PlayedStorage, Sink};
use manx_lab::timeline::name_of;
use std::sync::{Arc, Mutex, PoisonError};

/// The requests of a run, as columns: those of `--requests` (docs/result.md).
#[derive(Default)]
pub struct Requests {
    with_parts: bool,
    batches: Vec<Batch>,
}

/// Requests that the run fills and its caller takes.
pub struct SharedRequests(pub Arc<Mutex<Requests>>);

impl Sink for SharedRequests {
    fn take(&mut self, records: &Records) -> Result<(), String> {
        let mut requests = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let with_parts = requests.with_parts;
        requests.batches.push(batch(&records.requests, &records.splits, with_parts));
        Ok(())
    }

    fn finish(&mut self) -> Result<(), String> {
        Ok(())
    }
}

/// Words of operations.
pub const OPS: [&str; 4] = ["R", "W", "F", "D"];

/// The place of an operation in the list of words.
pub fn op_word(op: Op) -> u8 {
    match op {
        Op::Read => 0,
        Op::Write => 1,
        Op::Flush => 2,
        Op::Trim => 3,
    }
}

impl Requests {
    /// None yet.
    pub fn new(with_parts: bool) -> Self {
        Self { with_parts, batches: Vec::new() }
    }

    /// All of them.
    pub fn table(self) -> Table {
        let mut fields: Vec<Field> = ["t_us"].map(Field::new).to_vec();
        fields.push(Field::of_words("op", OPS.to_vec()));
        let plain = ["offset", "bytes", "latency_us", "job", "ok", "gc_blocked", "counted"];
        fields.extend(plain.map(Field::new));
        if self.with_parts {
            fields.extend(Cause::ALL.map(|cause| Field::new(format!("{}_ns", cause.name()))));
        }
        Table::new(fields, batch(&[], &[], self.with_parts), self.batches)
    }
}

fn batch(all: &[Record], splits: &[Split], with_parts: bool) -> Batch {
    let us = |record: &Record| record.at.since(Instant::START).as_us_f64();
    let whole = |of: fn(&Record) -> u64| Column::I64(all.iter().map(|r| of(r) as i64).collect());
    let mut columns = vec![
        Column::F64(all.iter().map(us).collect()),
        Column::Word(all.iter().map(|record| op_word(record.op)).collect()),
        whole(|record| record.lba.0 * SECTOR),
        whole(|record| u64::from(record.sectors) * SECTOR),
        Column::F64(all.iter().map(|record| record.latency.as_us_f64()).collect()),
        Column::I32(all.iter().map(|record| record.job as i32).collect()),
        Column::bits(all.iter().map(|record| record.status == Status::Success)),
        Column::bits(all.iter().map(|record| record.gc_blocked)),
        Column::bits(all.iter().map(|record| record.counted)),
    ];
    if with_parts {
        columns.extend(Cause::ALL.map(|cause| {
            Column::I64(splits.iter().map(|split| split.get(cause).as_ns() as i64).collect())
        }));
    }
    Batch { columns, rows: all.len() }
}

/// The timeline of a run: a row for each thing that a die, a channel, a GC run or a slow request
/// did.
#[derive(Default)]
pub struct Timeline {
    kept: bool,
    rows: Vec<Row>,
}

struct Row {
    track: &'static str,
    name: &'static str,
    drive: i32,
    place: i64,
    block: Option<i64>,
    start: Instant,
    end: Instant,
    gc: bool,
}

impl Timeline {
    /// Adds the record of a drive, or of an array.
    pub fn add(&mut self, end: &PlayedStorage<'_>) {
        self.kept = true;
        let first = self.rows.last().map_or(0, |row| row.drive + 1);
        let (storage, now) = (end.storage, end.now);
        if let Some((_, walked)) = storage.slow_requests() {
            let requests = walked.iter().map(|walked| &walked.request);
            self.rows.extend(requests.map(|request| slow(request, -1)));
        }
        let is_array = storage.slow_requests().is_some();
        for number in 0..storage.drives() {
            self.add_drive(storage, number, first + number as i32, now, is_array);
        }
    }

    fn add_drive(
        &mut self,
        storage: &dyn Storage,
        number: usize,
        drive: i32,
        now: Instant,
        is_member: bool,
    ) {
        let of = storage.drive(number);
        let Some(recorded) = of.recorded(now) else { return };
        let layout = &of.flash().layout;
        self.rows.extend(recorded.slices.iter().map(|slice| {
            let on_channel = slice.act.is_on_channel();
            let place = match on_channel {
                true => layout.channel_of(slice.die).0,
                false => slice.die.0,
            };
            Row {
                track: if on_channel { "channel" } else { "die" },
                name: name_of(slice),
                drive,
                place: place.into(),
                block: Some(slice.block.0.into()),
                start: slice.start,
                end: slice.end,
                gc: slice.gc,
            }
        }));
        self.rows.extend(recorded.collections.iter().map(|run| Row {
            track: "gc",
            name: if run.forced { "forced GC run" } else { "GC run" },
            drive,
            place: run.pool.0.into(),
            block: Some(run.block.0.into()),
            start: run.copying,
            end: run.end,
            gc: true,
        }));
        if !is_member {
            self.rows.extend(recorded.requests.iter().map(|request| slow(request, drive)));
        }
    }

    /// It as a table; nothing where none was asked for.
    pub fn table(self) -> Option<Table> {
        let Self { kept, rows } = self;
        let fields = ["track", "name", "drive", "place", "block", "start_ns", "end_ns", "gc"];
        let fields = fields.map(Field::new).to_vec();
        let batch = |rows: &[Row]| Batch {
            columns: vec![
                Column::text(rows.iter().map(|row| row.track)),
                Column::text(rows.iter().map(|row| row.name)),
                Column::I32(rows.iter().map(|row| row.drive).collect()),
                Column::I64(rows.iter().map(|row| row.place).collect()),
                Column::maybe_i64(rows.iter().map(|row| row.block)),
                Column::I64(rows.iter().map(|row| row.start.as_ns() as i64).collect()),
                Column::I64(rows.iter().map(|row| row.end.as_ns() as i64).collect()),
                Column::bits(rows.iter().map(|row| row.gc)),
            ],
            rows: rows.len(),
        };
        kept.then(|| Table::new(fields, batch(&[]), vec![batch(&rows)]))
    }
}

fn slow(request: &SlowCommand, drive: i32) -> Row {
    Row {
        track: "request",
        name: ["read", "write", "flush", "discard"][usize::from(op_word(request.op))],
        drive,
        place: request.lba.0 as i64,
        block: None,
        start: request.start,
        end: request.end,
        gc: false,
    }
}

/// `beyond` of the requests took longer than `us`.
pub fn curve(result: &RunResult, writes: bool) -> Table {
    let curve = if writes { &result.write.curve } else { &result.read.curve };
    let fields = ["beyond", "us"].map(Field::new).to_vec();
    let columns = vec![Column::F64(curve.beyond.clone()), Column::F64(curve.us.clone())];
    let none = Batch { columns: vec![Column::F64(vec![]), Column::F64(vec![])], rows: 0 };
    Table::new(fields, none, vec![Batch { columns, rows: curve.us.len() }])
}

/// The mean split of latencies by kind of request and band, in us.
pub fn attribution(result: &RunResult) -> Table {
    let of = result.attribution.as_ref();
    let reads = of.into_iter().flat_map(|of| of.read.iter().map(|band| ("read", band)));
    let writes = of.into_iter().flat_map(|of| of.write.iter().map(|band| ("write", band)));
    let rows: Vec<_> = reads.chain(writes).collect();
    let mut fields = ["kind", "band", "count"].map(Field::new).to_vec();
    fields.extend(Cause::ALL.map(|cause| Field::new(format!("{}_us", cause.name()))));
    let batch = |rows: &[(&str, &AttributionBand)]| {
        let mut columns = vec![
            Column::text(rows.iter().map(|(kind, _)| *kind)),
            Column::text(rows.iter().map(|(_, band)| band.band.as_str())),
            Column::I64(rows.iter().map(|(_, band)| band.count as i64).collect()),
        ];
        columns.extend(Cause::ALL.map(|cause| {
            let us = |band: &AttributionBand| {
                let times = serde_json::to_value(band.mean_us).unwrap_or_default();
                times[cause.name()].as_f64().unwrap_or(f64::NAN)
            };
            Column::F64(rows.iter().map(|(_, band)| us(band)).collect())
        }));
        Batch { columns, rows: rows.len() }
    };
    Table::new(fields, batch(&[]), vec![batch(&rows)])
}
