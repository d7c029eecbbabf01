//! Any table as Parquet: columns with a type, rows as they come, a row group every so many of them.
//!
//! Every column is optional, for what was not measured. A name may hold dots (`workload.rate`): it
//! is one name, not a path. The same rows are the same bytes.

use parquet::basic::{
    Compression, ConvertedType, LogicalType, Repetition, Type as Physical, ZstdLevel,
};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;
use std::io::{self, Write};
use std::sync::Arc;

/// Rows that are held and written at once.
const GROUP_ROWS: usize = 1 << 16;

/// Type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// BYTE_ARRAY, UTF-8.
    Text,
    /// INT64.
    Integer,
    /// DOUBLE.
    Number,
    /// BOOLEAN.
    Boolean,
}

/// One value of a row; it must be of its column's kind, or nothing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// For [`Kind::Text`].
    Text(&'a str),
    /// For [`Kind::Integer`].
    Integer(i64),
    /// For [`Kind::Number`].
    Number(f64),
    /// For [`Kind::Boolean`].
    Boolean(bool),
    /// For any column.
    Null,
}

/// Writes a table.
pub struct Writer<W: Write + Send> {
    file: SerializedFileWriter<W>,
    columns: Vec<Column>,
    rows: usize,
}

/// The values of a column of the row group to come; where there are none, `present` alone says so.
struct Column {
    values: Values,
    present: Vec<i16>,
}

enum Values {
    Text(Vec<ByteArray>),
    Integer(Vec<i64>),
    Number(Vec<f64>),
    Boolean(Vec<bool>),
}

impl<W: Write + Send> Writer<W> {
    /// A writer of a table called `name` with these columns into `out`.
    pub fn new(out: W, name: &str, columns: &[(&str, Kind)]) -> io::Result<Self> {
        let fields = columns.iter().map(|(name, kind)| field(name, *kind).map(Arc::new));
        let fields = fields.collect::<Result<Vec<_>, _>>().map_err(failed)?;
        let schema = Type::group_type_builder(name).with_fields(fields).build().map_err(failed)?;
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::try_new(3).map_err(failed)?))
            .set_created_by(format!("manx {}", env!("CARGO_PKG_VERSION")))
            .build();
        let file = SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties))
            .map_err(failed)?;
        let columns = columns
            .iter()
            .map(|(_, kind)| Column { values: Values::of(*kind), present: Vec::new() });
        Ok(Self { file, columns: columns.collect(), rows: 0 })
    }

    /// Takes a row, a value for each column.
    pub fn row(&mut self, row: &[Value<'_>]) -> io::Result<()> {
        if row.len() != self.columns.len() {
            let (values, columns) = (row.len(), self.columns.len());
            return Err(io::Error::other(format!(
                "a row of {values} values in a table of {columns} columns"
            )));
        }
        for (column, value) in self.columns.iter_mut().zip(row) {
            column.push(value)?;
        }
        self.rows += 1;
        if self.rows == GROUP_ROWS { self.end_group() } else { Ok(()) }
    }

    /// Writes what is held and the end of the file.
    pub fn finish(mut self) -> io::Result<W> {
        self.end_group()?;
        self.file.into_inner().map_err(failed)
    }

    fn end_group(&mut self) -> io::Result<()> {
        if self.rows > 0 {
            let mut group = self.file.next_row_group().map_err(failed)?;
            self.columns
                .iter_mut()
                .try_for_each(|column| column.write(&mut group))
                .map_err(failed)?;
            group.close().map_err(failed)?;
            self.rows = 0;
        }
        Ok(())
    }
}

impl Values {
    fn of(kind: Kind) -> Self {
        match kind {
            Kind::Text => Self::Text(Vec::new()),
            Kind::Integer => Self::Integer(Vec::new()),
            Kind::Number => Self::Number(Vec::new()),
            Kind::Boolean => Self::Boolean(Vec::new()),
        }
    }
}

impl Column {
    fn push(&mut self, value: &Value<'_>) -> io::Result<()> {
        match (&mut self.values, value) {
            (Values::Text(values), Value::Text(text)) => values.push(ByteArray::from(*text)),
            (Values::Integer(values), Value::Integer(number)) => values.push(*number),
            (Values::Number(values), Value::Number(number)) => values.push(*number),
            (Values::Boolean(values), Value::Boolean(is)) => values.push(*is),
            (_, Value::Null) => {}
            (_, value) => {
                return Err(io::Error::other(format!("{value:?} in a column of another type")));
            }
        }
        self.present.push((*value != Value::Null).into());
        Ok(())
    }

    /// Writes the column, and is empty after it.
    fn write<W: Write + Send>(
        &mut self,
        group: &mut SerializedRowGroupWriter<'_, W>,
    ) -> Result<(), ParquetError> {
        let present = std::mem::take(&mut self.present);
        match &mut self.values {
            Values::Text(values) => {
                write::<ByteArrayType, _>(group, &std::mem::take(values), &present)
            }
            Values::Integer(values) => {
                write::<Int64Type, _>(group, &std::mem::take(values), &present)
            }
            Values::Number(values) => {
                write::<DoubleType, _>(group, &std::mem::take(values), &present)
            }
            Values::Boolean(values) => {
                write::<BoolType, _>(group, &std::mem::take(values), &present)
            }
        }
    }
}

fn write<T: DataType, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    values: &[T::T],
    present: &[i16],
) -> Result<(), ParquetError> {
    let missing = || ParquetError::General("a column too many for the schema".to_string());
    let mut writer = group.next_column()?.ok_or_else(missing)?;
    writer.typed::<T>().write_batch(values, Some(present), None)?;
    writer.close()
}

fn field(name: &str, kind: Kind) -> Result<Type, ParquetError> {
    let physical = match kind {
        Kind::Text => Physical::BYTE_ARRAY,
        Kind::Integer => Physical::INT64,
        Kind::Number => Physical::DOUBLE,
        Kind::Boolean => Physical::BOOLEAN,
    };
    let builder =
        Type::primitive_type_builder(name, physical).with_repetition(Repetition::OPTIONAL);
    match kind {
        Kind::Text => builder
            .with_logical_type(Some(LogicalType::String))
            .with_converted_type(ConvertedType::UTF8)
            .build(),
        _ => builder.build(),
    }
}

fn failed(error: ParquetError) -> io::Error {
    io::Error::other(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::{Field, RowAccessor};

    const COLUMNS: [(&str, Kind); 4] = [
        ("workload.rate", Kind::Text),
        ("erases", Kind::Integer),
        ("waf", Kind::Number),
        ("on", Kind::Boolean),
    ];

    fn written(rows: &[[Value<'_>; 4]]) -> Vec<u8> {
        let mut writer = Writer::new(Vec::new(), "table", &COLUMNS).unwrap();
        rows.iter().for_each(|row| writer.row(row).unwrap());
        writer.finish().unwrap()
    }

    #[test]
    fn a_table_reads_back_with_its_types_and_its_gaps() {
        let rows = [
            [Value::Text("1,\"é"), Value::Integer(-7), Value::Number(1.5), Value::Boolean(true)],
            [Value::Null, Value::Null, Value::Null, Value::Null],
            [Value::Text(""), Value::Integer(i64::MAX), Value::Number(0.0), Value::Boolean(false)],
        ];
        let reader = SerializedFileReader::new(Bytes::from(written(&rows))).unwrap();
        let names: Vec<_> = reader
            .metadata()
            .file_metadata()
            .schema()
            .get_fields()
            .iter()
            .map(|f| f.name())
            .collect();
        assert_eq!(names, ["workload.rate", "erases", "waf", "on"]);
        let read: Vec<_> = reader.get_row_iter(None).unwrap().map(Result::unwrap).collect();
        assert_eq!(read.len(), 3);
        assert_eq!(read[0].get_string(0).unwrap(), "1,\"é");
        assert_eq!((read[0].get_long(1).unwrap(), read[0].get_double(2).unwrap()), (-7, 1.5));
        assert!(read[1].get_column_iter().all(|(_, field)| *field == Field::Null));
        assert_eq!(
            (read[2].get_string(0).unwrap().as_str(), read[2].get_long(1).unwrap()),
            ("", i64::MAX)
        );
        assert!(!read[2].get_bool(3).unwrap());
    }

    #[test]
    fn rows_go_out_in_groups_and_the_same_rows_are_the_same_bytes() {
        let row = |n: usize| {
            [Value::Null, Value::Integer(n as i64), Value::Number(n as f64), Value::Null]
        };
        let rows: Vec<_> = (0..GROUP_ROWS + 3).map(row).collect();
        let bytes = written(&rows);
        assert!(bytes == written(&rows));
        let reader = SerializedFileReader::new(Bytes::from(bytes)).unwrap();
        let groups: Vec<_> =
            reader.metadata().row_groups().iter().map(|group| group.num_rows()).collect();
        assert_eq!(groups, [GROUP_ROWS as i64, 3]);
        let last = reader.get_row_iter(None).unwrap().last().unwrap().unwrap();
        assert_eq!(last.get_long(1).unwrap(), (GROUP_ROWS + 2) as i64);
        assert!(written(&[]).starts_with(b"PAR1"), "a table without rows is a file too");
    }

    #[test]
    fn a_value_of_another_type_and_a_row_of_another_length_are_refused() {
        let mut writer = Writer::new(Vec::new(), "table", &COLUMNS).unwrap();
        let row = [Value::Integer(1), Value::Null, Value::Null, Value::Null];
        assert!(writer.row(&row).unwrap_err().to_string().contains("another type"));
        assert!(writer.row(&row[..2]).unwrap_err().to_string().contains("2 values"));
    }
}
