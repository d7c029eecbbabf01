//! A trace written in each format that is written, and read again by our own readers, as a user
//! does it.
//!
//! Manx csv holds all that a request has, so each result is brought back to it and its cells are
//! compared with those of the generated trace, as far as the format between them holds them.

use crate::support::{assert_refused, file, manx, stderr, stdout};
use std::path::PathBuf;

/// One request of the generated trace.
#[derive(Clone, Debug, PartialEq)]
struct Row {
    ns: u64,
    op: char,
    offset: u64,
    bytes: u64,
    latency_ns: Option<u64>,
    device: u64,
    fua: bool,
}

/// Reads, writes, flushes and discards of two devices: odd sectors, times in ns, some with FUA,
/// some with a latency.
fn generated() -> Vec<Row> {
    let mut state = 7u64;
    let mut draw = move |below: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut ns = 0;
    let rows = (0..600).map(|number| {
        // The first requests say which devices there are, in order, and start at 0 with data.
        let op = if number < 2 { 'R' } else { ['R', 'W', 'W', 'F', 'D'][draw(5) as usize] };
        ns += if number == 0 { 0 } else { draw(3_000_000) };
        let (offset, bytes) =
            if op == 'F' { (0, 0) } else { (draw(1 << 20) * 512, (1 + draw(300)) * 512) };
        let latency_ns = (draw(3) > 0).then(|| draw(50_000_000));
        let device = if number < 2 { number } else { draw(2) };
        Row { ns, op, offset, bytes, latency_ns, device, fua: op == 'W' && draw(4) == 0 }
    });
    rows.collect()
}

/// As a trace in Manx csv.
fn csv(rows: &[Row]) -> String {
    let micro = |ns: u64| format!("{}.{:03}", ns / 1000, ns % 1000);
    rows.iter().fold("t_us,op,offset,bytes,latency_us,device,fua\n".to_string(), |text, row| {
        let latency = row.latency_ns.map_or(String::new(), micro);
        let Row { op, offset, bytes, device, fua, .. } = row;
        text + &format!(
            "{},{op},{offset},{bytes},{latency},{device},{}\n",
            micro(row.ns),
            u8::from(*fua)
        )
    })
}

/// The requests of a Manx csv, its columns by name; those that are not there have what they stand
/// for.
fn rows(text: &str) -> Vec<Row> {
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().unwrap().split(',').collect();
    let nano = |text: &str| {
        let (whole, part) = text.split_once('.').unwrap_or((text, ""));
        whole.parse::<u64>().unwrap() * 1000 + format!("{part:0<3}").parse::<u64>().unwrap()
    };
    let row = |line: &str| {
        // The only quoted cell is a device `"HOST,0"` of MSR.
        let line = line.replace(",0\"", "").replace('"', "");
        let cells: Vec<&str> = line.split(',').collect();
        assert_eq!(cells.len(), header.len(), "{line}");
        let cell =
            |name: &str| header.iter().position(|column| *column == name).map(|at| cells[at]);
        let device = cell("device").map_or(0, |name| name.parse().unwrap());
        Row {
            ns: nano(cell("t_us").unwrap()),
            op: cell("op").unwrap().chars().next().unwrap(),
            offset: cell("offset").unwrap().parse().unwrap(),
            bytes: cell("bytes").unwrap().parse().unwrap(),
            latency_ns: cell("latency_us").filter(|text| !text.is_empty()).map(nano),
            device,
            fua: cell("fua") == Some("1"),
        }
    };
    lines.map(row).collect()
}

fn place(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("round-{name}"));
    let _ = std::fs::remove_file(&path);
    path.display().to_string()
}

/// Converts, and gives what was said of it.
fn convert(args: &[&str]) -> String {
    let output = manx(&[&["trace", "convert"], args].concat());
    assert_eq!(output.status.code(), Some(0), "{args:?}: {}", stderr(&output));
    stdout(&output)
}

/// The trace through `target` and back, and what the way there said.
fn through(target: &str, ending: &str, options: &[&str]) -> (Vec<Row>, String) {
    let trace = file(&format!("round-{target}-from.csv"), csv(&generated()).as_bytes());
    let (there, back) =
        (place(&format!("{target}.{ending}")), place(&format!("{target}-back.csv")));
    let said = convert(&[&trace, "-o", &there, "--as", target]);
    convert(&[&[there.as_str(), "-o", &back], options].concat());
    (rows(&std::fs::read_to_string(back).unwrap()), said)
}

/// Rows that a format of reads and writes holds.
fn data(grain: u64) -> impl Iterator<Item = Row> {
    let kept = generated().into_iter().filter(|row| matches!(row.op, 'R' | 'W'));
    kept.map(move |row| Row { ns: row.ns / grain * grain, fua: false, ..row })
}

fn count(which: impl Fn(&Row) -> bool) -> usize {
    generated().iter().filter(|row| which(row)).count()
}

#[test]
fn manx_csv_holds_everything() {
    for ending in ["csv", "csv.gz", "csv.zst"] {
        let (back, said) = through("manx", ending, &[]);
        assert_eq!(back, generated(), "{ending}");
        assert!(said.contains("600 requests as manx") && !said.contains("held"), "{said}");
    }
}

#[test]
#[cfg_attr(not(feature = "parquet"), ignore = "built without Parquet")]
fn parquet_holds_everything() {
    let (back, said) = through("parquet", "parquet", &[]);
    assert_eq!(back, generated());
    assert!(said.contains("600 requests as parquet") && !said.contains("held"), "{said}");
    let there = PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
        .join("round-parquet.parquet")
        .display()
        .to_string();
    // The name of the file tells nothing, its first bytes do.
    let renamed = place("parquet.bin");
    std::fs::copy(&there, &renamed).unwrap();
    for options in
        [[there.as_str(), "--json"].as_slice(), &[&renamed, "--format", "parquet", "--json"]]
    {
        let output = manx(&[&["trace", "info"], options].concat());
        let info: serde_json::Value =
            serde_json::from_str(&stdout(&output)).unwrap_or_else(|_| panic!("{output:?}"));
        assert_eq!(info["requests"], 600);
        assert_eq!(info["reads"], count(|row| row.op == 'R'));
    }
    let played = manx(&["run", "quick", "--trace", &there, "--remap", "modulo", "--json"]);
    let played: serde_json::Value = serde_json::from_slice(&played.stdout).unwrap();
    assert_eq!(played["runs"][0]["requests"], 600);
    assert_refused(
        &["trace", "convert", &there, "-o", &there, "--force"],
        &["round-parquet.parquet", "itself"],
    );
    let bytes = std::fs::read(&there).unwrap();
    let cut = file("round-cut.parquet", &bytes[..bytes.len() / 2]);
    assert_refused(&["trace", "info", &cut], &["round-cut.parquet", "Parquet"]);
}

#[test]
fn fio_holds_every_kind_to_the_microsecond() {
    let (back, said) = through("fio-v3", "iolog", &[]);
    let held = generated().into_iter().map(|row| Row {
        ns: row.ns / 1000 * 1000,
        latency_ns: None,
        fua: false,
        ..row
    });
    assert_eq!(back, held.collect::<Vec<_>>());
    for (lost, reason) in [
        (count(|row| row.fua), "FUA left out"),
        (count(|row| row.latency_ns.is_some()), "latency left out"),
        (count(|row| row.ns % 1000 > 0), "time rounded down to 1 us"),
    ] {
        assert!(said.contains(&format!("{lost:>20}  {reason}")), "{lost} {reason}: {said}");
    }
}

#[test]
fn msr_holds_reads_and_writes_to_100_ns() {
    let (back, said) = through("msr", "csv", &["--format", "msr"]);
    let held = data(100)
        .map(|row| Row { latency_ns: Some(row.latency_ns.unwrap_or(0) / 100 * 100), ..row });
    assert_eq!(back, held.collect::<Vec<_>>());
    let kinds = [(count(|row| row.op == 'F'), "flush"), (count(|row| row.op == 'D'), "trim")];
    for (lost, kind) in kinds {
        assert!(
            said.contains(&format!("{lost:>20}  {kind}: the format has none")),
            "{lost} {kind}: {said}"
        );
    }
}

#[test]
fn mqsim_holds_reads_and_writes_to_the_nanosecond() {
    let (back, said) = through("mqsim", "trace", &["--format", "mqsim", "--time-unit", "ns"]);
    let held: Vec<_> = data(1).map(|row| Row { latency_ns: None, ..row }).collect();
    assert_eq!(back, held);
    assert!(said.contains(&format!("{} requests as mqsim", held.len())), "{said}");
}
