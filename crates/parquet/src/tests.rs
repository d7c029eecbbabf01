//! A file that we write is read again; a file that others write is read, or refused by the name of
//! the column.

use crate::read::stream;
use bytes::Bytes;
use manx_base::units::{Duration, Lba, Op};
use manx_trace::Record;
use manx_trace::convert::{About, Encoder as _, Losses};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use proptest::prelude::*;
use std::io::Read;
use std::sync::Arc;

fn encode(records: &[Record], names: &[&str]) -> (Vec<u8>, Losses) {
    let names = names.iter().map(|name| name.to_string()).collect();
    let mut encoder = crate::Encoder::new(&About { names, ..About::default() });
    let (mut out, mut losses) = (Vec::new(), Losses::default());
    encoder.begin(&mut out).unwrap();
    records.iter().for_each(|record| encoder.encode(record, &mut losses, &mut out).unwrap());
    encoder.end(&mut out).unwrap();
    (out, losses)
}

/// The stream of a file, whole; in pieces of an odd size, as a reader may ask for them.
fn bytes_of(file: &[u8]) -> Result<Vec<u8>, String> {
    let mut stream = stream(Bytes::copy_from_slice(file)).map_err(|error| error.to_string())?;
    let (mut bytes, mut piece) = (Vec::new(), [0; 997]);
    loop {
        match stream.read(&mut piece).map_err(|error| error.to_string())? {
            0 => return Ok(bytes),
            count => bytes.extend_from_slice(&piece[..count]),
        }
    }
}

/// A `manx-records` stream, decoded by its definition.
fn decode(bytes: &[u8]) -> Vec<Record> {
    assert_eq!(&bytes[..16], b"MANXREC1\0\0\0\0\0\0\0\0");
    assert_eq!((bytes.len() - 16) % 40, 0);
    let records = bytes[16..].chunks(40).map(|record| {
        let long = |at: usize| u64::from_le_bytes(record[at..at + 8].try_into().unwrap());
        assert_eq!(record[38..], [0, 0]);
        Record {
            at: Duration::from_ns(long(0)),
            op: [Op::Read, Op::Write, Op::Flush, Op::Trim][usize::from(record[36])],
            lba: Lba(long(8) / 512),
            sectors: (long(16) / 512) as u32,
            fua: record[37] == 1,
            device: u32::from_le_bytes(record[32..36].try_into().unwrap()),
            latency: (long(24) != u64::MAX).then(|| Duration::from_ns(long(24))),
        }
    });
    records.collect()
}

fn record(ns: u64, number: u64) -> Record {
    let (at, latency) = (Duration::from_ns(ns), None);
    Record { at, op: Op::Read, lba: Lba(number), sectors: 8, fua: false, device: 0, latency }
}

prop_compose! {
    fn any_record()(
        ns in 0..8_796_093_022_208_000u64,
        op in prop_oneof![Just(Op::Read), Just(Op::Write), Just(Op::Flush), Just(Op::Trim)],
        lba in 0..1u64 << 47,
        sectors in 1..=u32::MAX,
        fua in any::<bool>(),
        device in 0..3u32,
        latency in prop::option::of(0..8_796_093_022_208_000u64),
    ) -> Record {
        let (lba, sectors) = if op == Op::Flush { (0, 0) } else { (lba, sectors) };
        let (at, latency) = (Duration::from_ns(ns), latency.map(Duration::from_ns));
        Record { at, op, lba: Lba(lba), sectors, fua, device, latency }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn everything_comes_back_to_the_nanosecond(
        records in prop::collection::vec(any_record(), 0..80),
    ) {
        let (file, losses) = encode(&records, &["a", "b,0", "c"]);
        // The stream numbers devices as they appear.
        let mut order = Vec::new();
        let expected: Vec<_> = records.iter().map(|record| {
            if !order.contains(&record.device) {
                order.push(record.device);
            }
            let device = order.iter().position(|device| *device == record.device).unwrap() as u32;
            Record { device, ..*record }
        }).collect();
        prop_assert_eq!(decode(&bytes_of(&file).unwrap()), expected);
        prop_assert_eq!(losses, Losses::default());
    }

    /// A file that was cut or hit is an error or other records, but never a panic or a stream
    /// without an end.
    #[test]
    fn a_damaged_file_is_not_the_end_of_the_world(
        at in any::<prop::sample::Index>(),
        with in any::<u8>(),
        cut: bool,
    ) {
        let records: Vec<_> = (0..40).map(|number| record(number * 1_000, number)).collect();
        let (mut file, _) = encode(&records, &["a"]);
        let at = at.index(file.len());
        file[at] ^= with;
        if cut {
            file.truncate(at);
            prop_assert!(bytes_of(&file).is_err());
        } else if let Ok(bytes) = bytes_of(&file) {
            prop_assert_eq!((bytes.len() - 16) % 40, 0);
        }
    }
}

#[test]
fn a_file_of_several_row_groups_is_whole() {
    let count = (1 << 17) + 5_000;
    let records: Vec<_> = (0..count).map(|number| record(number * 1_001, number * 8)).collect();
    let (file, _) = encode(&records, &["a"]);
    assert_eq!(decode(&bytes_of(&file).unwrap()), records);
}

#[test]
fn a_time_that_a_double_rounds_is_counted() {
    // From 2^43 us on a double of microseconds has steps of about two nanoseconds, or more.
    let (file, losses) = encode(&[record(1 << 40, 0), record((1 << 60) + 1, 0)], &["a"]);
    assert_eq!(losses.altered.get("time rounded: microseconds in a DOUBLE end there"), 1);
    let [exact, rounded] = decode(&bytes_of(&file).unwrap())[..] else { panic!() };
    assert_eq!(exact.at.as_ns(), 1 << 40);
    assert!(rounded.at.as_ns().abs_diff((1 << 60) + 1) < 256);
}

/// A column of a file from another program.
enum Column {
    Int32(Vec<i32>),
    Int64(Vec<i64>),
    Double(Vec<f64>),
    Text(Vec<&'static str>),
    Bool(Vec<bool>),
}

/// A file of these columns; `levels` say of each which of its rows are no nulls, where it is
/// optional.
fn file_of(schema: &str, columns: &[(Column, Option<&[i16]>)]) -> Vec<u8> {
    let schema = Arc::new(parse_message_type(&format!("message m {{ {schema} }}")).unwrap());
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, Default::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    for (values, levels) in columns {
        let mut column = group.next_column().unwrap().unwrap();
        match (column.untyped(), values) {
            (ColumnWriter::Int32ColumnWriter(to), Column::Int32(values)) => {
                to.write_batch(values, *levels, None)
            }
            (ColumnWriter::Int64ColumnWriter(to), Column::Int64(values)) => {
                to.write_batch(values, *levels, None)
            }
            (ColumnWriter::DoubleColumnWriter(to), Column::Double(values)) => {
                to.write_batch(values, *levels, None)
            }
            (ColumnWriter::BoolColumnWriter(to), Column::Bool(values)) => {
                to.write_batch(values, *levels, None)
            }
            (ColumnWriter::ByteArrayColumnWriter(to), Column::Text(values)) => {
                let values: Vec<_> = values.iter().map(|text| ByteArray::from(*text)).collect();
                to.write_batch(&values, *levels, None)
            }
            _ => panic!("not as the schema has it"),
        }
        .unwrap();
        column.close().unwrap();
    }
    group.close().unwrap();
    writer.into_inner().unwrap()
}

#[test]
fn a_file_of_others_needs_four_columns_in_any_order() {
    let schema = "required binary op (UTF8); required int64 bytes; required double nonsense; \
                  required int64 t_us; required int64 offset;";
    let columns = [
        (Column::Text(vec!["W", "d"]), None),
        (Column::Int64(vec![4096, 512]), None),
        (Column::Double(vec![0.5, 0.25]), None),
        (Column::Int64(vec![7, 9]), None),
        (Column::Int64(vec![8192, 0]), None),
    ];
    let write = Record { op: Op::Write, ..record(7_000, 16) };
    let trim = Record { op: Op::Trim, sectors: 1, ..record(9_000, 0) };
    assert_eq!(decode(&bytes_of(&file_of(schema, &columns)).unwrap()), [write, trim]);
}

#[test]
fn nulls_and_nans_are_absent_latencies_and_unsigned_numbers_are_large() {
    let schema = "optional double t_us; required binary op; required int32 offset \
                  (UINT_32); required int32 bytes; optional double latency_us; \
                  optional int64 device; optional boolean fua;";
    let columns = [
        (Column::Double(vec![0.0, 1.5, 2.001]), Some(&[1i16, 1, 1][..])),
        (Column::Text(vec!["R", "R", "R"]), None),
        (Column::Int32(vec![-512, 512, 1024]), None),
        (Column::Int32(vec![4096; 3]), None),
        (Column::Double(vec![f64::NAN, 3.25]), Some(&[1, 0, 1])),
        (Column::Int64(vec![7, 5, 7]), Some(&[1, 1, 1])),
        (Column::Bool(vec![true]), Some(&[0, 1, 0])),
    ];
    let expected = [
        record(0, u64::from(u32::MAX) / 512),
        Record { fua: true, device: 1, ..record(1_500, 1) },
        Record { latency: Some(Duration::from_ns(3_250)), ..record(2_001, 2) },
    ];
    assert_eq!(decode(&bytes_of(&file_of(schema, &columns)).unwrap()), expected);
}

#[test]
fn a_wrong_column_is_named_with_what_is_there() {
    let good = "required binary op; required int64 offset; required int64 bytes;";
    let table: [(&str, Column, &[&str]); 8] = [
        (
            "required int64 time",
            Column::Int64(vec![0]),
            &["no column `t_us`", "time, op, offset, bytes"],
        ),
        ("required int32 t_us", Column::Int32(vec![0]), &["`t_us` is INT32", "DOUBLE or INT64"]),
        ("required binary t_us (UTF8)", Column::Text(vec!["0"]), &["`t_us` is BYTE_ARRAY"]),
        (
            "required int64 t_us (TIMESTAMP(NANOS,true))",
            Column::Int64(vec![0]),
            &["`t_us` is INT64", "NANOS"],
        ),
        ("required double t_us", Column::Double(vec![-0.5]), &["row 1", "`t_us` is -0.5"]),
        ("required double t_us", Column::Double(vec![f64::INFINITY]), &["row 1", "`t_us` is inf"]),
        (
            "required int64 t_us",
            Column::Int64(vec![i64::MAX]),
            &["row 1", "`t_us` is 9223372036854775807"],
        ),
        ("required double t_us", Column::Double(vec![f64::NAN]), &["row 1", "`t_us` is null"]),
    ];
    for (first, column, pieces) in table {
        let rest = [Column::Text(vec!["R"]), Column::Int64(vec![0]), Column::Int64(vec![512])];
        let columns: Vec<_> =
            [column].into_iter().chain(rest).map(|column| (column, None)).collect();
        let error = bytes_of(&file_of(&format!("{first}; {good}"), &columns)).unwrap_err();
        assert!(
            pieces.iter().all(|piece| error.contains(piece)) && !error.contains('\n'),
            "{first}: {error}"
        );
    }
    for (op, offset, bytes, pieces) in
        [("X", 0, 512, ["`op` is \"X\"", "R, W"]), ("R", -512, 512, ["`offset` is -512", "from 0"])]
    {
        let rest =
            [Column::Text(vec![op]), Column::Int64(vec![offset]), Column::Int64(vec![bytes])];
        let columns: Vec<_> =
            [Column::Int64(vec![0])].into_iter().chain(rest).map(|column| (column, None)).collect();
        let error =
            bytes_of(&file_of(&format!("required int64 t_us; {good}"), &columns)).unwrap_err();
        assert!(pieces.iter().all(|piece| error.contains(piece)), "{error}");
    }
}
