//! Parquet into the byte stream `manx-records`, batch by batch, in constant memory.
//!
//! The stream: 16 bytes of header, `MANXREC1` and eight zeros; then records of 40 bytes,
//! little-endian: time in ns, offset, bytes, latency in ns (all ones: none), each of 64 bits;
//! device, 32 bits; operation (0 read, 1 write, 2 flush, 3 trim), flags (bit 0: FUA), a byte each;
//! two zeros.

use parquet::basic::{ConvertedType, LogicalType, TimeUnit, Type};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, FileReader, SerializedFileReader};
use parquet::schema::types::{ColumnDescriptor, SchemaDescriptor};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Header of the stream.
const HEADER: &[u8; 16] = b"MANXREC1\0\0\0\0\0\0\0\0";

/// Rows that are decoded at once.
const BATCH: usize = 4096;

/// More devices than this in one trace is a misread column, not a trace; as `manx-trace` has it.
const MAX_DEVICES: usize = 1 << 16;

/// The columns that are read: name, whether a file must have it, and what it may be.
const COLUMNS: [(&str, bool, &str); 7] = [
    ("t_us", true, "DOUBLE or INT64 microseconds"),
    ("op", true, "a BYTE_ARRAY of R, W, F or D"),
    ("offset", true, "INT64 bytes"),
    ("bytes", true, "INT64 bytes"),
    ("latency_us", false, "DOUBLE or INT64 microseconds"),
    ("device", false, "a BYTE_ARRAY or INT64"),
    ("fua", false, "BOOLEAN"),
];

const SIGNED: [ConvertedType; 4] =
    [ConvertedType::INT_8, ConvertedType::INT_16, ConvertedType::INT_32, ConvertedType::INT_64];

const UNSIGNED: [ConvertedType; 4] =
    [ConvertedType::UINT_8, ConvertedType::UINT_16, ConvertedType::UINT_32, ConvertedType::UINT_64];

/// Opens a Parquet file as a stream of `manx-records`.
pub fn open(path: &Path) -> io::Result<impl Read + Send + use<>> {
    stream(File::open(path)?)
}

/// The stream of any reader that reads in any order.
pub(crate) fn stream<R: ChunkReader + 'static>(from: R) -> io::Result<Stream<R>> {
    let file = guarded(|| SerializedFileReader::new(from).map_err(failed))?;
    let places = places(file.metadata().file_metadata().schema_descr())?;
    let (devices, bytes) = (Devices::default(), HEADER.to_vec());
    Ok(Stream { file, places, group: 0, under_way: None, row: 0, devices, bytes, at: 0 })
}

/// The rows of a file, as bytes.
pub(crate) struct Stream<R: ChunkReader> {
    file: SerializedFileReader<R>,
    places: Places,
    /// Row groups begun.
    group: usize,
    /// The readers of the row group under way, and its rows to come.
    under_way: Option<([Option<ColumnReader>; 7], usize)>,
    /// Rows decoded so far.
    row: u64,
    devices: Devices,
    /// Bytes of the batch, and how many of them are given out.
    bytes: Vec<u8>,
    at: usize,
}

/// Where each of [`COLUMNS`] is, if it is there.
type Places = [Option<Place>; 7];

/// A column of the file.
#[derive(Clone, Copy)]
struct Place {
    column: usize,
    /// The definition level of a value that is no null.
    max_def: i16,
    is_unsigned: bool,
}

impl<R: ChunkReader + 'static> Read for Stream<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.at >= self.bytes.len() {
            self.bytes.clear();
            self.at = 0;
            if !guarded(|| self.fill())? {
                return Ok(0);
            }
        }
        let count = out.len().min(self.bytes.len() - self.at);
        out[..count].copy_from_slice(&self.bytes[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}

impl<R: ChunkReader + 'static> Stream<R> {
    /// Decodes the next batch; false at the end of the file.
    fn fill(&mut self) -> io::Result<bool> {
        let (mut readers, rows) = match self.under_way.take() {
            Some(under_way) => under_way,
            None if self.group >= self.file.num_row_groups() => return Ok(false),
            None => {
                let group = self.file.get_row_group(self.group).map_err(failed)?;
                self.group += 1;
                let rows = usize::try_from(group.metadata().num_rows())
                    .map_err(|_| bad("a row group of -1 rows"))?;
                let mut readers = [const { None }; 7];
                for (reader, place) in readers.iter_mut().zip(self.places) {
                    *reader = place
                        .map(|place| group.get_column_reader(place.column))
                        .transpose()
                        .map_err(failed)?;
                }
                (readers, rows)
            }
        };
        let batch = rows.min(BATCH);
        let mut columns = [const { Values::Absent }; 7];
        for ((values, reader), place) in columns.iter_mut().zip(&mut readers).zip(self.places) {
            if let (Some(reader), Some(place)) = (reader, place) {
                *values = read(reader, batch, place).map_err(failed)?;
            }
        }
        for index in 0..batch {
            self.row += 1;
            self.push(&columns, index).map_err(|why| bad(&format!("row {}: {why}", self.row)))?;
        }
        if rows > batch {
            self.under_way = Some((readers, rows - batch));
        }
        Ok(true)
    }

    /// One row as a record.
    fn push(&mut self, columns: &[Values; 7], index: usize) -> Result<(), String> {
        let [t_us, op, offset, bytes, latency_us, device, fua] = columns;
        let required =
            |name: &str, value: Option<u64>| value.ok_or_else(|| format!("`{name}` is null"));
        let ns = required("t_us", t_us.nanoseconds("t_us", index)?)?;
        let offset = required("offset", offset.whole("offset", index)?)?;
        let bytes = required("bytes", bytes.whole("bytes", index)?)?;
        let latency = latency_us.nanoseconds("latency_us", index)?.unwrap_or(u64::MAX);
        let op = op.operation(index)?;
        let device = self.devices.number(device, index)?;
        let fua = matches!(fua, Values::Bools(values) if values[index] == Some(true));
        for number in [ns, offset, bytes, latency] {
            self.bytes.extend(number.to_le_bytes());
        }
        self.bytes.extend(device.to_le_bytes());
        self.bytes.extend([op, u8::from(fua), 0, 0]);
        Ok(())
    }
}

/// Finds the columns by name and looks at their types.
fn places(schema: &SchemaDescriptor) -> io::Result<Places> {
    let mut places = [None; 7];
    for ((name, is_required, what), place) in COLUMNS.iter().zip(&mut places) {
        match schema.columns().iter().position(|column| column.path().parts() == [*name]) {
            Some(column) => *place = Some(placed(column, &schema.column(column), name, what)?),
            None if *is_required => {
                let columns = schema.columns().iter().take(20);
                let mut has: Vec<String> = columns.map(|column| column.path().string()).collect();
                if schema.num_columns() > has.len() {
                    has.push("...".to_string());
                }
                return Err(bad(&format!(
                    "there is no column `{name}` ({what}); there are {}",
                    has.join(", ")
                )));
            }
            None => {}
        }
    }
    Ok(places)
}

fn placed(column: usize, about: &ColumnDescriptor, name: &str, what: &str) -> io::Result<Place> {
    let (physical, logical) = (about.physical_type(), about.logical_type_ref());
    // Old files have the converted type alone; new ones may have a logical type that no converted
    // type matches.
    let converted = about.converted_type();
    let is_unsigned = UNSIGNED.contains(&converted);
    let is_integer = matches!(logical, None | Some(LogicalType::Integer(_)))
        && (is_unsigned || SIGNED.contains(&converted) || converted == ConvertedType::NONE);
    let is_micros = match logical {
        Some(LogicalType::Timestamp(stamp)) => matches!(stamp.unit, TimeUnit::MICROS),
        _ => converted == ConvertedType::TIMESTAMP_MICROS,
    };
    let is_right = match (name, physical) {
        ("t_us" | "latency_us", Type::DOUBLE)
        | ("op" | "device", Type::BYTE_ARRAY)
        | ("fua", Type::BOOLEAN) => true,
        ("t_us", Type::INT64) => is_integer || is_micros,
        ("latency_us" | "offset" | "bytes" | "device", Type::INT64 | Type::INT32) => is_integer,
        _ => false,
    };
    if is_right && about.max_rep_level() == 0 {
        return Ok(Place { column, max_def: about.max_def_level(), is_unsigned });
    }
    let logical = match (logical, converted) {
        (Some(logical), _) => format!(" ({logical:?})"),
        (None, ConvertedType::NONE) => String::new(),
        (None, converted) => format!(" ({converted})"),
    };
    let list = if about.max_rep_level() > 0 { "a list of " } else { "" };
    Err(bad(&format!("column `{name}` is {list}{physical}{logical}; expected {what}")))
}

/// A batch of one column; `None` for a null.
enum Values {
    Absent,
    Ints(Vec<Option<i64>>),
    Floats(Vec<Option<f64>>),
    Texts(Vec<Option<ByteArray>>),
    Bools(Vec<Option<bool>>),
}

impl Values {
    /// Microseconds as nanoseconds; a NaN is a null, as pandas has it.
    fn nanoseconds(&self, name: &str, index: usize) -> Result<Option<u64>, String> {
        match self {
            Values::Ints(values) => match values[index] {
                None => Ok(None),
                Some(us) => match u64::try_from(us).ok().and_then(|us| us.checked_mul(1_000)) {
                    Some(ns) => Ok(Some(ns)),
                    None => {
                        Err(format!("`{name}` is {us}; expected microseconds from 0 to 2^64 ns"))
                    }
                },
            },
            Values::Floats(values) => match values[index] {
                Some(us) if !us.is_nan() => match nanoseconds(us) {
                    Some(ns) => Ok(Some(ns)),
                    None => {
                        Err(format!("`{name}` is {us}; expected microseconds from 0 to 2^64 ns"))
                    }
                },
                _ => Ok(None),
            },
            _ => Ok(None),
        }
    }

    fn whole(&self, name: &str, index: usize) -> Result<Option<u64>, String> {
        match self {
            Values::Ints(values) => match values[index] {
                Some(value) if value < 0 => {
                    Err(format!("`{name}` is {value}; expected bytes from 0"))
                }
                value => Ok(value.map(|value| value as u64)),
            },
            _ => Ok(None),
        }
    }

    fn operation(&self, index: usize) -> Result<u8, String> {
        let Values::Texts(values) = self else { return Err("`op` is no text".to_string()) };
        let Some(text) = &values[index] else { return Err("`op` is null".to_string()) };
        match text.data() {
            b"R" | b"r" => Ok(0),
            b"W" | b"w" => Ok(1),
            b"F" | b"f" => Ok(2),
            b"D" | b"d" => Ok(3),
            other => {
                let shown = String::from_utf8_lossy(&other[..other.len().min(40)]).into_owned();
                Err(format!("`op` is {shown:?}; expected R, W, F (flush) or D (discard)"))
            }
        }
    }
}

/// Microseconds as the nearest nanoseconds; `None` where they do not fit. The fraction is taken
/// apart from the rest: their product with 1000, as one number, would be rounded twice.
pub(crate) fn nanoseconds(us: f64) -> Option<u64> {
    if !(0.0..18_446_744_073_709_551.0).contains(&us) {
        return None;
    }
    Some(us.trunc() as u64 * 1_000 + (us.fract() * 1_000.0).round() as u64)
}

/// Numbers devices in the order in which they appear.
#[derive(Default)]
struct Devices {
    numbers: BTreeMap<Vec<u8>, u32>,
    last: Option<(Vec<u8>, u32)>,
}

impl Devices {
    fn number(&mut self, column: &Values, index: usize) -> Result<u32, String> {
        let text;
        let name: &[u8] = match column {
            Values::Texts(values) => values[index].as_ref().map_or(b"", |name| name.data()),
            Values::Ints(values) => {
                text = values[index].map_or(String::new(), |number| number.to_string());
                text.as_bytes()
            }
            _ => return Ok(0),
        };
        if let Some((last, number)) = &self.last
            && last == name
        {
            return Ok(*number);
        }
        let next = self.numbers.len();
        let number = match self.numbers.get(name) {
            Some(number) => *number,
            None if next >= MAX_DEVICES => {
                return Err(format!("one more device than {MAX_DEVICES}"));
            }
            None => {
                self.numbers.insert(name.to_vec(), next as u32);
                next as u32
            }
        };
        self.last = Some((name.to_vec(), number));
        Ok(number)
    }
}

/// The next `rows` values of a column.
fn read(reader: &mut ColumnReader, rows: usize, place: Place) -> Result<Values, ParquetError> {
    let max_def = place.max_def;
    Ok(match reader {
        ColumnReader::BoolColumnReader(reader) => Values::Bools(typed(reader, rows, max_def)?),
        ColumnReader::Int32ColumnReader(reader) => {
            let wide = |value: i32| {
                if place.is_unsigned { i64::from(value as u32) } else { i64::from(value) }
            };
            let values: Vec<Option<i32>> = typed(reader, rows, max_def)?;
            Values::Ints(values.into_iter().map(|value| value.map(wide)).collect())
        }
        ColumnReader::Int64ColumnReader(reader) => Values::Ints(typed(reader, rows, max_def)?),
        ColumnReader::DoubleColumnReader(reader) => Values::Floats(typed(reader, rows, max_def)?),
        ColumnReader::ByteArrayColumnReader(reader) => Values::Texts(typed(reader, rows, max_def)?),
        _ => {
            return Err(ParquetError::General(
                "a column of a type that was not asked for".to_string(),
            ));
        }
    })
}

fn typed<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    rows: usize,
    max_def: i16,
) -> Result<Vec<Option<T::T>>, ParquetError> {
    let (mut values, mut levels) = (Vec::with_capacity(rows), Vec::new());
    let mut read = 0;
    while read < rows {
        let (more, _, _) =
            reader.read_records(rows - read, Some(&mut levels), None, &mut values)?;
        if more == 0 {
            return Err(ParquetError::General(
                "a column ends before its row group does".to_string(),
            ));
        }
        read += more;
    }
    if max_def == 0 {
        return Ok(values.into_iter().map(Some).collect());
    }
    let mut values = values.into_iter();
    Ok(levels
        .into_iter()
        .map(|level| if level == max_def { values.next() } else { None })
        .collect())
}

/// A damaged file must be an error, wherever the decoder would rather panic.
fn guarded<T>(work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(work))
        .unwrap_or_else(|_| Err(bad("the file is damaged")))
}

fn failed(error: ParquetError) -> io::Error {
    bad(&error.to_string())
}

fn bad(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("Parquet: {why}"))
}
