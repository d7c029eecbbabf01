//! Every request of a run as a row, with the parts of its latency where they were asked for.
//!
//! | column | type | what |
//! |---|---|---|
//! | `t_us` | DOUBLE | its arrival (open loop) or its issue (closed loop), us since the start |
//! | `op` | BYTE_ARRAY, UTF-8 | `R`, `W`, `F` (flush) or `D` (discard) |
//! | `offset`, `bytes` | INT64 | the range, in bytes |
//! | `latency_us` | DOUBLE | from `t_us` to its completion |
//! | `job` | INT32 | the job of the workload, from 0 |
//! | `ok` | BOOLEAN | it completed without an error |
//! | `gc_blocked` | BOOLEAN | some garbage collection lay in its wait |
//! | `counted` | BOOLEAN | it has a latency in the result: none of the warm-up or turned away |
//! | `service_ns` .. `stripe_ns` | INT64 | the parts of its latency, which they add up to exactly |
//!
//! Rows are in the order of completions.

use crate::write::{column, failed};
use manx_base::units::{Cause, Duration, Instant, Lba, Op, SECTOR, Split};
use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::ColumnPath;
use std::io;
use std::sync::Arc;

/// A request of a run, when it has completed.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// When it came.
    pub at: Instant,
    /// From there to its completion.
    pub latency: Duration,
    /// Its kind.
    pub op: Op,
    /// First sector.
    pub lba: Lba,
    /// Sectors.
    pub sectors: u32,
    /// The job that it belongs to.
    pub job: u32,
    /// It completed without an error.
    pub ok: bool,
    /// Some garbage collection lay in its wait.
    pub gc_blocked: bool,
    /// It is part of the measurement, and not of the warm-up.
    pub counted: bool,
}

/// Writes requests as Parquet, a row group at a time.
pub struct Encoder {
    writer: SerializedFileWriter<Vec<u8>>,
    with_parts: bool,
}

impl Encoder {
    /// The beginning of a file, into `out`.
    pub fn new(with_parts: bool, out: &mut Vec<u8>) -> io::Result<Self> {
        let zstd = ZstdLevel::try_new(1).map_err(failed)?;
        let mut properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(zstd))
            .set_created_by(format!("manx {}", env!("CARGO_PKG_VERSION")));
        // Nearly every value differs from all others: a dictionary would be built to be thrown
        // away.
        for name in ["t_us", "offset"] {
            properties = properties.set_column_dictionary_enabled(ColumnPath::from(name), false);
        }
        let schema = Arc::new(parse_message_type(&schema(with_parts)).map_err(failed)?);
        let writer = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties.build()))
            .map_err(failed)?;
        let mut encoder = Self { writer, with_parts };
        encoder.hand_on(out)?;
        Ok(encoder)
    }

    /// More requests, as a row group.
    ///
    /// `splits` has the parts of each request's latency, where the file was begun with parts.
    pub fn encode(&mut self, all: &[Row], splits: &[Split], out: &mut Vec<u8>) -> io::Result<()> {
        if all.is_empty() {
            return Ok(());
        }
        let mut group = self.writer.next_row_group().map_err(failed)?;
        requests(&mut group, all).map_err(failed)?;
        if self.with_parts {
            parts(&mut group, splits).map_err(failed)?;
        }
        group.close().map_err(failed)?;
        self.hand_on(out)
    }

    /// The end of the file.
    pub fn end(&mut self, out: &mut Vec<u8>) -> io::Result<()> {
        self.writer.finish().map_err(failed)?;
        out.append(self.writer.inner_mut());
        Ok(())
    }

    fn hand_on(&mut self, out: &mut Vec<u8>) -> io::Result<()> {
        self.writer.flush()?;
        // The writer counts the bytes that it has written itself: taking them away moves no offset.
        out.append(self.writer.inner_mut());
        Ok(())
    }
}

fn schema(with_parts: bool) -> String {
    let mut schema = "message requests {
        required double t_us;
        required binary op (UTF8);
        required int64 offset;
        required int64 bytes;
        required double latency_us;
        required int32 job;
        required boolean ok;
        required boolean gc_blocked;
        required boolean counted;
    "
    .to_string();
    for cause in Cause::ALL.into_iter().filter(|_| with_parts) {
        schema += &format!("required int64 {}_ns;\n", cause.name());
    }
    schema + "}"
}

fn requests(
    group: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
    all: &[Row],
) -> Result<(), ParquetError> {
    let op = |row: &Row| match row.op {
        Op::Read => "R",
        Op::Write => "W",
        Op::Flush => "F",
        Op::Trim => "D",
    };
    let arrival = |row: &Row| row.at.since(Instant::START).as_us_f64();
    // Sectors lie below 2^47: their bytes fit a signed number. In the order of the schema.
    column::<DoubleType>(group, &list(all, arrival), None)?;
    column::<ByteArrayType>(group, &list(all, |row| ByteArray::from(op(row))), None)?;
    column::<Int64Type>(group, &list(all, |row| (row.lba.0 * SECTOR) as i64), None)?;
    column::<Int64Type>(group, &list(all, |row| (u64::from(row.sectors) * SECTOR) as i64), None)?;
    column::<DoubleType>(group, &list(all, |row| row.latency.as_us_f64()), None)?;
    column::<Int32Type>(group, &list(all, |row| row.job as i32), None)?;
    column::<BoolType>(group, &list(all, |row| row.ok), None)?;
    column::<BoolType>(group, &list(all, |row| row.gc_blocked), None)?;
    column::<BoolType>(group, &list(all, |row| row.counted), None)
}

fn parts(
    group: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
    all: &[Split],
) -> Result<(), ParquetError> {
    Cause::ALL.into_iter().try_for_each(|cause| {
        column::<Int64Type>(group, &list(all, |split| split.get(cause).as_ns() as i64), None)
    })
}

fn list<T, U>(all: &[T], value: impl Fn(&T) -> U) -> Vec<U> {
    all.iter().map(value).collect()
}
