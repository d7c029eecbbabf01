//! A written trace is read again as it was, as far as the target holds it; and what it does not
//! hold is counted.

use super::*;
use crate::tests::{opener, read_as, records as read_records, spec};
use crate::{TimeUnit, TraceFormat, TraceSpec};
use manx_base::units::{Duration, Lba};
use proptest::prelude::*;

const NAMES: [&str; 4] = ["usr,0", "usr,1", "8,16", "nvme 0"];

/// Records in the order of time, of up to as many devices as there are names.
fn any_records(devices: u32) -> impl Strategy<Value = Vec<Record>> {
    let op = prop_oneof![
        4 => Just(Op::Read),
        4 => Just(Op::Write),
        1 => Just(Op::Flush),
        1 => Just(Op::Trim),
    ];
    let gap = prop_oneof![
        0..3u64,
        0..5_000u64,
        (0..5_000u64).prop_map(|ns| ns * 1_000),
        0..10_000_000_000u64
    ];
    let latency = prop::option::of(prop_oneof![
        0..1_000_000u64,
        (0..10_000u64).prop_map(|ticks| ticks * 100)
    ]);
    let one = (gap, op, 0..1u64 << 40, 1..1u32 << 20, any::<bool>(), 0..devices, latency);
    prop::collection::vec(one, 1..60).prop_map(|drawn| {
        let mut now = 0;
        let records = drawn.into_iter().enumerate().map(
            |(number, (gap, op, lba, sectors, fua, device, latency))| {
                now += if number == 0 { 0 } else { gap };
                let (lba, sectors) = if op == Op::Flush { (0, 0) } else { (lba, sectors) };
                let (at, latency) = (Duration::from_ns(now), latency.map(Duration::from_ns));
                Record {
                    at,
                    op,
                    lba: Lba(lba),
                    sectors,
                    fua: fua && op == Op::Write,
                    device,
                    latency,
                }
            },
        );
        records.collect()
    })
}

fn about(records: &[Record], names: &[&str]) -> About {
    About {
        names: names.iter().map(|name| name.to_string()).collect(),
        used: (0..names.len())
            .map(|number| records.iter().any(|r| r.device as usize == number))
            .collect(),
        requests: records.len() as u64,
        has_fua: records.iter().any(|r| r.fua),
        has_latency: records.iter().any(|r| r.latency.is_some()),
        filetime: None,
    }
}

fn encode(target: Target, records: &[Record], names: &[&str]) -> (String, Losses) {
    let mut encoder = text_encoder(target, &about(records, names), None).unwrap();
    let (mut out, mut losses) = (Vec::new(), Losses::default());
    encoder.begin(&mut out).unwrap();
    records.iter().for_each(|record| encoder.encode(record, &mut losses, &mut out).unwrap());
    encoder.end(&mut out).unwrap();
    (String::from_utf8(out).unwrap(), losses)
}

/// The records with their devices numbered as they appear, as a reader numbers them, and times from
/// the first.
fn seen(records: impl Iterator<Item = Record>) -> Vec<Record> {
    let (mut order, mut first) = (Vec::new(), None);
    let renumbered = records.map(|record| {
        let first = *first.get_or_insert(record.at);
        if !order.contains(&record.device) {
            order.push(record.device);
        }
        let device = order.iter().position(|device| *device == record.device).unwrap() as u32;
        Record { device, at: record.at - first, ..record }
    });
    renumbered.collect()
}

fn cut(time: Duration, grain: u64) -> Duration {
    Duration::from_ns(time.as_ns() / grain * grain)
}

fn count(records: &[Record], which: impl Fn(&Record) -> bool) -> u64 {
    records.iter().filter(|record| which(record)).count() as u64
}

fn has_data(record: &Record) -> bool {
    matches!(record.op, Op::Read | Op::Write)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn msr_holds_reads_and_writes_to_100_ns(records in any_records(4)) {
        let (text, losses) = encode(Target::Msr, &records, &NAMES);
        let held = records.iter().filter(|record| has_data(record)).map(|record| Record {
            at: cut(record.at, 100),
            fua: false,
            latency: Some(cut(record.latency.unwrap_or(Duration::ZERO), 100)),
            ..*record
        });
        let again = read_records(&text, TraceFormat::Msr, Default::default()).unwrap();
        prop_assert_eq!(again, seen(held));
        let lost = |reason: &str| losses.dropped.get(reason) + losses.altered.get(reason);
        prop_assert_eq!(lost("flush: the format has none"), count(&records, |r| r.op == Op::Flush));
        prop_assert_eq!(lost("trim: the format has none"), count(&records, |r| r.op == Op::Trim));
        let of_data = |which: fn(&Record) -> bool| count(&records, |r| has_data(r) && which(r));
        prop_assert_eq!(lost("time rounded down to 100 ns"), of_data(|r| r.at.as_ns() % 100 > 0));
        prop_assert_eq!(lost("without a latency: 0 written"), of_data(|r| r.latency.is_none()));
        let odd = of_data(|r| r.latency.is_some_and(|latency| latency.as_ns() % 100 > 0));
        prop_assert_eq!(lost("latency rounded down to 100 ns"), odd);
        prop_assert_eq!(lost("FUA left out: the format has none"), of_data(|r| r.fua));
        let renamed = "device renamed: the format has `host,disk`";
        prop_assert_eq!(lost(renamed), of_data(|r| r.device == 3));
    }

    #[test]
    fn mqsim_holds_reads_and_writes_to_the_nanosecond(records in any_records(4)) {
        let (text, losses) = encode(Target::Mqsim, &records, &NAMES);
        let held = records.iter().filter(|record| has_data(record));
        let held = held.map(|record| Record { fua: false, latency: None, ..*record });
        let again = read_as(&text, TraceFormat::Mqsim, TimeUnit::Ns).unwrap();
        prop_assert_eq!(again, seen(held));
        let of_data = |which: fn(&Record) -> bool| count(&records, |r| has_data(r) && which(r));
        prop_assert_eq!(losses.dropped.total(), count(&records, |r| !has_data(r)));
        let altered = [
            ("FUA left out: the format has none", of_data(|r| r.fua)),
            ("device renamed: the format has numbers", of_data(|_| true)),
            ("latency left out: the format has none", of_data(|r| r.latency.is_some())),
        ];
        let expected: Vec<_> = altered.into_iter().filter(|(_, count)| *count > 0).collect();
        prop_assert_eq!(losses.altered.iter().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn fio_holds_every_kind_to_the_microsecond(records in any_records(4)) {
        let (text, losses) = encode(Target::FioV3, &records, &NAMES);
        let cut = |r: &Record| Record { at: cut(r.at, 1_000), fua: false, latency: None, ..*r };
        let held: Vec<_> = records.iter().map(cut).collect();
        prop_assert_eq!(read_fio(&text, &["usr,0", "usr,1", "8,16", "nvme-0"]), held);
        prop_assert_eq!(losses.dropped.total(), 0);
        let altered = [
            ("FUA left out: the format has none", count(&records, |r| r.fua)),
            ("device renamed: a file name has no white space", count(&records, |r| r.device == 3)),
            ("latency left out: the format has none", count(&records, |r| r.latency.is_some())),
            ("time rounded down to 1 us", count(&records, |r| r.at.as_ns() % 1_000 > 0)),
        ];
        let expected: Vec<_> = altered.into_iter().filter(|(_, count)| *count > 0).collect();
        prop_assert_eq!(losses.altered.iter().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn manx_csv_holds_everything(records in any_records(4)) {
        let (text, losses) = encode(Target::Manx, &records, &NAMES);
        prop_assert_eq!(read_manx(&text, &NAMES), seen(records.into_iter()));
        prop_assert_eq!(losses, Losses::default());
    }
}

/// An iolog, read anew: every file must be open when it is asked, and closed at the end.
fn read_fio(text: &str, files: &[&str]) -> Vec<Record> {
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("fio version 3 iolog"));
    let (mut records, mut state) = (Vec::new(), vec!["absent"; files.len()]);
    for line in lines {
        let fields: Vec<&str> = line.split(' ').collect();
        let device = files.iter().position(|file| *file == fields[1]).unwrap();
        let (us, kind) = (fields[0].parse::<u64>().unwrap(), fields[2]);
        let now = state[device];
        let op = match (kind, now) {
            ("add", "absent") | ("open", "add") | ("close", "open") => {
                state[device] = kind;
                assert_eq!(fields.len(), 3);
                continue;
            }
            ("read", "open") => Op::Read,
            ("write", "open") => Op::Write,
            ("trim", "open") => Op::Trim,
            ("sync", "open") => Op::Flush,
            other => panic!("{other:?}"),
        };
        let [offset, bytes] = [fields[3], fields[4]].map(|field| field.parse::<u64>().unwrap());
        let (at, device) = (Duration::from_us(us), device as u32);
        let (lba, sectors) = (Lba(offset / 512), u32::try_from(bytes / 512).unwrap());
        records.push(Record { at, op, lba, sectors, fua: false, device, latency: None });
    }
    assert!(state.iter().all(|state| matches!(*state, "absent" | "close")));
    records
}

/// A Manx csv, read anew, by its header.
fn read_manx(text: &str, names: &[&str]) -> Vec<Record> {
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().unwrap().split(',').collect();
    assert_eq!(header[..5], ["t_us", "op", "offset", "bytes", "latency_us"]);
    let nanoseconds = |text: &str| {
        let (us, part) = text.split_once('.').unwrap_or((text, ""));
        assert!(part.len() <= 3 && !part.ends_with('0'), "{text}");
        Duration::from_ns(
            us.parse::<u64>().unwrap() * 1_000 + format!("{part:0<3}").parse::<u64>().unwrap(),
        )
    };
    let records = lines.map(|line| {
        // A quoted name holds a comma: it is put away first.
        let (line, quoted) = match line.split('"').collect::<Vec<_>>()[..] {
            [before, name, after] => (format!("{before}{after}"), Some(name.to_string())),
            _ => (line.to_string(), None),
        };
        let fields: Vec<&str> = line.split(',').collect();
        assert_eq!(fields.len(), header.len(), "{line}");
        let field = |name: &str| {
            header.iter().position(|column| *column == name).map(|column| fields[column])
        };
        let op = ["R", "W", "F", "D"].iter().position(|letter| *letter == fields[1]).unwrap();
        let device = field("device").map_or(0, |field| {
            let name = quoted.as_deref().unwrap_or(field);
            names.iter().position(|other| *other == name).unwrap()
        });
        let [offset, bytes] = [fields[2], fields[3]].map(|field| field.parse::<u64>().unwrap());
        Record {
            at: nanoseconds(fields[0]),
            op: [Op::Read, Op::Write, Op::Flush, Op::Trim][op],
            lba: Lba(offset / 512),
            sectors: u32::try_from(bytes / 512).unwrap(),
            fua: field("fua").is_some_and(|field| field == "1"),
            device: device as u32,
            latency: (!fields[4].is_empty()).then(|| nanoseconds(fields[4])),
        }
    });
    seen(records.collect::<Vec<_>>().into_iter())
}

/// The whole way: survey, records, encoder.
fn convert(text: &str, spec: &TraceSpec, target: Target) -> (String, Losses) {
    let (about, _) = About::survey(spec, &mut opener(text)).unwrap();
    let mut records = Records::open(spec, &about, &mut opener(text)).unwrap();
    let (mut out, mut losses) = (Vec::new(), Losses::default());
    let mut encoder = text_encoder(target, &about, None).unwrap();
    encoder.begin(&mut out).unwrap();
    while let Some(record) = records.next_record().unwrap() {
        encoder.encode(&record, &mut losses, &mut out).unwrap();
    }
    encoder.end(&mut out).unwrap();
    (String::from_utf8(out).unwrap(), losses)
}

/// Two devices, times away from the start of the set, response times.
const MSR: &str = "\
128166372003061629,usr,0,Read,7014609920,24576,41286
128166372016382155,usr,0,Write,2517696512,4096,6359
128166372016382155,src1,1,Read,512,1024,900
";

#[test]
fn an_msr_trace_comes_back_byte_for_byte() {
    let spec = spec();
    assert_eq!(convert(MSR, &spec, Target::Msr), (MSR.to_string(), Losses::default()));
    // A window keeps the ticks of its requests, too.
    let window = TraceSpec { skip: 1, ..spec };
    let lines: String = MSR.lines().skip(1).flat_map(|line| [line, "\n"]).collect();
    assert_eq!(convert(MSR, &window, Target::Msr).0, lines);
}

#[test]
fn an_ascii_trace_of_numbered_devices_keeps_them_and_starts_at_0() {
    let spec = TraceSpec { time_unit: Some(TimeUnit::Ns), ..spec() };
    let text = "1000 3 80 8 1\n1500 12 160 16 0\n2500 3 88 8 1\n";
    let expected = "0 3 80 8 1\n500 12 160 16 0\n1500 3 88 8 1\n";
    assert_eq!(convert(text, &spec, Target::Mqsim), (expected.to_string(), Losses::default()));
}

#[test]
fn each_target_writes_what_its_format_looks_like() {
    let fio = "fio version 3 iolog\n0 usr,0 add\n0 usr,0 open\n0 src1,1 add\n0 src1,1 open\n\
               0 usr,0 read 7014609920 24576\n1332052 usr,0 write 2517696512 4096\n\
               1332052 src1,1 read 512 1024\n\
               1332052 usr,0 close\n1332052 src1,1 close\n";
    assert_eq!(convert(MSR, &spec(), Target::FioV3).0, fio);
    let manx = "t_us,op,offset,bytes,latency_us,device\n0,R,7014609920,24576,4128.6,\"usr,0\"\n\
                1332052.6,W,2517696512,4096,635.9,\"usr,0\"\n1332052.6,R,512,1024,90,\"src1,1\"\n";
    assert_eq!(convert(MSR, &spec(), Target::Manx).0, manx);
    let mqsim = "0 0 13700410 48 1\n1332052600 0 4917376 8 0\n1332052600 1 1 2 1\n";
    assert_eq!(convert(MSR, &spec(), Target::Mqsim).0, mqsim);
}

#[test]
fn a_trace_of_one_device_has_no_device_column_and_a_scaled_one_runs_faster() {
    let spec = TraceSpec { rate_scale: 4.0, devices: vec!["usr,0".into()], ..spec() };
    let manx = "t_us,op,offset,bytes,latency_us\n0,R,7014609920,24576,4128.6\n\
                333013.15,W,2517696512,4096,635.9\n";
    assert_eq!(convert(MSR, &spec, Target::Manx).0, manx);
}

#[test]
fn a_trace_without_a_filetime_begins_where_the_set_does() {
    let spec = TraceSpec { time_unit: Some(TimeUnit::Ns), rate_scale: 0.5, ..spec() };
    let msr =
        "128166372000000000,3,0,Read,40960,4096,0\n128166372000000010,12,0,Write,81920,8192,0\n";
    let (text, losses) = convert("1000 3 80 8 1\n1500 12 160 16 0\n", &spec, Target::Msr);
    assert_eq!((text.as_str(), losses.altered.get("without a latency: 0 written")), (msr, 2));
}

#[test]
fn a_trace_that_changes_between_the_passes_is_an_error() {
    let (about, _) = About::survey(&spec(), &mut opener(MSR)).unwrap();
    let longer = format!("{MSR}128166372016382156,src1,1,Read,512,1024,900\n");
    let shorter: String = MSR.lines().take(2).flat_map(|line| [line, "\n"]).collect();
    let other = MSR.replace("72016382155,usr,0", "72016382155,prn,0");
    for text in [longer, shorter, other] {
        let mut records = Records::open(&spec(), &about, &mut opener(text.as_str())).unwrap();
        let error = loop {
            match records.next_record() {
                Ok(Some(_)) => {}
                end => break end.err(),
            }
        };
        assert!(error.is_some_and(|error| error.to_string().contains("not the same")), "{text}");
    }
}

#[test]
fn an_iolog_of_a_named_file_has_one_for_each_device() {
    let files = |spec: &TraceSpec| {
        let (about, _) = About::survey(spec, &mut opener(MSR)).unwrap();
        let mut out = Vec::new();
        text_encoder(Target::FioV3, &about, Some("disk.img")).unwrap().begin(&mut out).unwrap();
        String::from_utf8(out)
            .unwrap()
            .lines()
            .filter_map(|line| Some(line.strip_suffix(" add")?.into()))
            .collect()
    };
    let several: Vec<String> = files(&spec());
    assert_eq!(several, ["0 disk.img-usr,0", "0 disk.img-src1,1"]);
    assert_eq!(files(&TraceSpec { devices: vec!["src1,1".into()], ..spec() }), ["0 disk.img"]);
}

#[test]
fn an_ending_tells_the_target_and_another_does_not() {
    let of = |name: &str| Target::of_file(Path::new(name));
    assert_eq!(of("a/b.CSV"), Some(Target::Manx));
    assert_eq!(of("b.csv.zst"), Some(Target::Manx));
    assert_eq!((of("x.fio"), of("x.iolog.gz")), (Some(Target::FioV3), Some(Target::FioV3)));
    assert_eq!((of("x.trace"), of("x.ascii")), (Some(Target::Mqsim), Some(Target::Mqsim)));
    assert_eq!(of("x.parquet"), Some(Target::Parquet));
    assert_eq!(
        (of("x"), of("x.gz"), of("csv"), of("-"), of("x.txt")),
        (None, None, None, None, None)
    );
    assert!(TARGETS.into_iter().all(|target| Target::named(target.name()) == Some(target)));
}
