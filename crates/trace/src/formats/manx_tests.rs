use super::*;
use crate::decode::WIDENED;
use crate::tests::{opener, read, short, spec};
use crate::{Record, sniff, survey};
use manx_base::units::Duration;

fn fault(text: &str) -> String {
    read(text).unwrap_err().to_string()
}

/// Kind; time, sector, sectors and device; FUA.
type What = (Op, (u64, u64, u32, u32), bool);

fn what(records: &[Record]) -> Vec<What> {
    records.iter().map(|r| (r.op, short(r), r.fua)).collect()
}

#[test]
fn bytes_with_all_columns() {
    let text = "\
t_us,op,offset,bytes,latency_us,device,fua
10,R,4096,8192,95.5,nvme0,0
10.001,W,0,512,,nvme1,1
12.5,F,0,0,7,nvme0,0
13,D,1048576,65536,1,nvme0,1
14,WF,1000,24,1,nvme0,0
15,R,512,0,1,nvme0,0
";
    let records = read(text).unwrap();
    assert_eq!(
        what(&records),
        [
            (Op::Read, (0, 8, 16, 0), false),
            (Op::Write, (1, 0, 1, 1), true),
            (Op::Flush, (2_500, 0, 0, 0), false),
            (Op::Trim, (3_000, 2048, 128, 0), false),
            (Op::Write, (4_000, 1, 1, 0), true),
        ]
    );
    let latencies = [Some(95_500), None, Some(7_000), Some(1_000), Some(1_000)]
        .map(|ns| ns.map(Duration::from_ns));
    assert_eq!(records.iter().map(|r| r.latency).collect::<Vec<_>>(), latencies);
    let summary = survey(&spec(), &mut opener(text)).unwrap();
    assert_eq!(
        summary.devices.iter().map(|d| d.name.as_str()).collect::<Vec<_>>(),
        ["nvme0", "nvme1"]
    );
    assert_eq!((summary.altered.get(WIDENED), summary.dropped.get(ZERO_LENGTH)), (1, 1));
}

#[test]
fn sectors_with_the_letters_of_the_block_layer() {
    let text = "\
t_us,rwbs,sector,nsectors,latency_us
0,RA,8,256,1
1,WFSM,16,8,1
2,FF,18446744073709551615,0,1
3,FN,0,0,1
4,DS,24,4096,1
5,FWS,32,8,1
6,N,0,8,1
7,W,0,0,1
8,ZR,0,8,1
9,FW,40,0,1
";
    let records = read(text).unwrap();
    assert_eq!(
        what(&records),
        [
            (Op::Read, (0, 8, 256, 0), false),
            (Op::Write, (1_000, 16, 8, 0), true),
            (Op::Flush, (2_000, 0, 0, 0), false),
            (Op::Flush, (3_000, 0, 0, 0), false),
            (Op::Trim, (4_000, 24, 4096, 0), false),
            (Op::Write, (5_000, 32, 8, 0), false),
            (Op::Flush, (9_000, 0, 0, 0), false),
        ]
    );
    let summary = survey(&spec(), &mut opener(text)).unwrap();
    assert_eq!(
        (summary.altered.get(PREFLUSH), summary.dropped.total(), summary.dropped.get(ZERO_LENGTH)),
        (1, 3, 1)
    );
}

#[test]
fn columns_go_by_their_names_in_any_order() {
    let usual = read("t_us,op,offset,bytes\n1,W,4096,512\n3,R,0,1024\n").unwrap();
    let other = read("bytes, Op ,T_US,offset\n512,W,1,4096\n1024,R,3,0\n").unwrap();
    assert_eq!(usual, other);
    // A second file put behind the first has a header of its own.
    let two =
        read("t_us,op,offset,bytes\n1,W,4096,512\nt_us,offset,op,bytes\n3,0,R,1024\n").unwrap();
    assert_eq!(usual, two);
}

#[test]
fn a_wrong_header_is_named_not_passed_over() {
    for header in [
        "t_us,op,offset",
        "t_us,op,offset,bytes,lateny_us",
        "t_us,op,offset,bytes,fua,fua",
        "t_us,op,offset,bytes,rwbs,sector,nsectors",
        "t_us,rwbs,offset,bytes",
    ] {
        let error = fault(&format!("{header}\n1,W,0,512\n"));
        assert!(
            error.starts_with(&format!("t.trace:1: `{header}` is not a line of Manx's csv")),
            "{error}"
        );
    }
    let given = crate::TraceSpec { format: Some(TraceFormat::Manx), ..spec() };
    assert!(
        survey(&given, &mut opener("1,W,0,512\n"))
            .unwrap_err()
            .to_string()
            .contains("first a header")
    );
}

#[test]
fn what_is_wrong_is_refused() {
    for wrong in [
        "1,W,0",
        "1,W,0,512,9",
        "1.0001,W,0,512",
        "-1,W,0,512",
        "1,READ,0,512",
        "1,RW,0,512",
        "1,w,0,512",
        "1,,0,512",
        "1,N,0,512",
        "1,W,,512",
        "1,W,0,",
        "1,F,x,0",
        "1,W,72057594037927936,512",
        "1,W,0,2199023255553",
    ] {
        let error = fault(&format!("t_us,op,offset,bytes\n0,R,0,512\n{wrong}\n"));
        assert!(error.starts_with("t.trace:3: "), "{wrong}: {error}");
    }
    for (header, wrong) in [("fua", "2"), ("fua", ""), ("device", ""), ("latency_us", "fast")] {
        let error = fault(&format!("t_us,op,offset,bytes,{header}\n1,W,0,512,{wrong}\n"));
        assert!(error.starts_with("t.trace:2: "), "{wrong}: {error}");
    }
    assert!(fault("t_us,rwbs,sector,nsectors\n1,W,140737488355328,8\n").starts_with("t.trace:2: "));
    assert!(fault("t_us,rwbs,sector,nsectors\n1,W,8,4294967296\n").starts_with("t.trace:2: "));
}

#[test]
fn its_column_for_the_time_is_unmistakable() {
    let sniffed =
        sniff::sniff(&spec(), &mut opener("device,t_us,op,offset,bytes\n0,1,W,0,512\n")).unwrap();
    assert_eq!(
        (sniffed.format, sniffed.why.as_str()),
        (TraceFormat::Manx, "its header is that of Manx csv")
    );
}
