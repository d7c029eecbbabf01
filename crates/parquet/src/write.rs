//! Records into Parquet, a row group at a time.

use crate::read::nanoseconds;
use manx_base::units::SECTOR;
use manx_trace::Record;
use manx_trace::convert::manx_csv::letter;
use manx_trace::convert::{self, About, Losses};
use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::ColumnPath;
use std::io;
use std::sync::Arc;

/// Rows that are held and written at once: a few MB, and large enough for readers that work group
/// by group.
const GROUP_ROWS: usize = 1 << 17;

const SCHEMA: &str = "message trace {
    required double t_us;
    required binary op (UTF8);
    required int64 offset;
    required int64 bytes;
    optional double latency_us;
    required binary device (UTF8);
    required boolean fua;
}";

/// Writes records as Parquet.
pub struct Encoder {
    writer: Option<SerializedFileWriter<Vec<u8>>>,
    names: Vec<ByteArray>,
    rows: Rows,
}

/// The columns of a row group to come.
#[derive(Default)]
struct Rows {
    t_us: Vec<f64>,
    op: Vec<ByteArray>,
    offset: Vec<i64>,
    bytes: Vec<i64>,
    latency_us: Vec<f64>,
    has_latency: Vec<i16>,
    device: Vec<ByteArray>,
    fua: Vec<bool>,
}

impl Encoder {
    /// A writer for a trace.
    pub fn new(about: &About) -> Self {
        let names = about.names.iter().map(|name| ByteArray::from(name.as_str())).collect();
        Self { writer: None, names, rows: Rows::default() }
    }

    /// Writes the rows that are held as a group, and hands the file's bytes so far on.
    fn flush(&mut self, out: &mut Vec<u8>) -> io::Result<()> {
        let writer = self
            .writer
            .as_mut()
            .ok_or_else(|| io::Error::other("a Parquet file that was not begun"))?;
        if !self.rows.t_us.is_empty() {
            let group = writer.next_row_group().map_err(failed)?;
            self.rows.write(group).map_err(failed)?;
            self.rows.clear();
        }
        writer.flush()?;
        // The writer counts the bytes that it has written itself: taking them away moves no offset.
        out.append(writer.inner_mut());
        Ok(())
    }
}

impl convert::Encoder for Encoder {
    fn begin(&mut self, out: &mut Vec<u8>) -> io::Result<()> {
        let zstd = ZstdLevel::try_new(3).map_err(failed)?;
        let mut properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(zstd))
            .set_created_by(format!("manx {}", env!("CARGO_PKG_VERSION")));
        // Nearly every value differs from all others: a dictionary would be built to be thrown
        // away.
        for column in ["t_us", "offset", "latency_us"] {
            properties = properties.set_column_dictionary_enabled(ColumnPath::from(column), false);
        }
        let schema = Arc::new(parse_message_type(SCHEMA).map_err(failed)?);
        let writer = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties.build()))
            .map_err(failed)?;
        self.writer = Some(writer);
        self.flush(out)
    }

    fn encode(
        &mut self,
        record: &Record,
        losses: &mut Losses,
        out: &mut Vec<u8>,
    ) -> io::Result<()> {
        let rows = &mut self.rows;
        rows.t_us.push(microseconds(
            record.at.as_ns(),
            "time rounded: microseconds in a DOUBLE end there",
            losses,
        ));
        rows.op.push(ByteArray::from(letter(record.op)));
        // Sectors lie below 2^47: their bytes fit a signed number.
        rows.offset.push((record.lba.0 * SECTOR) as i64);
        rows.bytes.push((u64::from(record.sectors) * SECTOR) as i64);
        if let Some(latency) = record.latency {
            let reason = "latency rounded: microseconds in a DOUBLE end there";
            rows.latency_us.push(microseconds(latency.as_ns(), reason, losses));
        }
        rows.has_latency.push(record.latency.is_some().into());
        rows.device.push(self.names[record.device as usize].clone());
        rows.fua.push(record.fua);
        if self.rows.t_us.len() >= GROUP_ROWS { self.flush(out) } else { Ok(()) }
    }

    fn end(&mut self, out: &mut Vec<u8>) -> io::Result<()> {
        self.flush(out)?;
        if let Some(mut writer) = self.writer.take() {
            writer.finish().map_err(failed)?;
            out.append(writer.inner_mut());
        }
        Ok(())
    }
}

/// Nanoseconds as microseconds; counted where reading them back gives another time.
fn microseconds(ns: u64, reason: &'static str, losses: &mut Losses) -> f64 {
    let us = ns as f64 / 1_000.0;
    if nanoseconds(us) != Some(ns) {
        losses.altered.add(reason);
    }
    us
}

impl Rows {
    fn write(&self, mut group: SerializedRowGroupWriter<'_, Vec<u8>>) -> Result<(), ParquetError> {
        // In the order of the schema.
        column::<DoubleType>(&mut group, &self.t_us, None)?;
        column::<ByteArrayType>(&mut group, &self.op, None)?;
        column::<Int64Type>(&mut group, &self.offset, None)?;
        column::<Int64Type>(&mut group, &self.bytes, None)?;
        column::<DoubleType>(&mut group, &self.latency_us, Some(&self.has_latency))?;
        column::<ByteArrayType>(&mut group, &self.device, None)?;
        column::<BoolType>(&mut group, &self.fua, None)?;
        group.close().map(|_| ())
    }

    fn clear(&mut self) {
        self.t_us.clear();
        self.op.clear();
        self.offset.clear();
        self.bytes.clear();
        self.latency_us.clear();
        self.has_latency.clear();
        self.device.clear();
        self.fua.clear();
    }
}

/// Writes the next column of a row group.
pub(crate) fn column<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
    values: &[T::T],
    present: Option<&[i16]>,
) -> Result<(), ParquetError> {
    let missing = || ParquetError::General("a column too many for the schema".to_string());
    let mut writer = group.next_column()?.ok_or_else(missing)?;
    writer.typed::<T>().write_batch(values, present, None)?;
    writer.close()
}

pub(crate) fn failed(error: ParquetError) -> io::Error {
    io::Error::other(error.to_string())
}
