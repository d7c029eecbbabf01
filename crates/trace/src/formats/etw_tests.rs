use super::*;
use crate::tests::{opener, read, records, short, spec};
use crate::{Reading, sniff, survey};
use manx_base::units::Duration;

const ETW: &str = "BeginHeader\n\
                   \x20     FileIoCreate,  TimeStamp,     Process Name ( PID),   \
                   ThreadID,             IrpPtr, FileObject, FileName\n\
                   \x20     DiskRead,  TimeStamp,     Process Name ( PID),   ThreadID,             \
                   IrpPtr,   ByteOffset,     IOSize, ElapsedTime,  DiskNum, IrpFlags, DiskSvcTime, \
                   I/O Pri,  VolSnap,         FileObject, FileName\n\
                   \x20     DiskWrite,  TimeStamp,     Process Name ( PID),   \
                   ThreadID,             IrpPtr,   ByteOffset,     IOSize, ElapsedTime,  DiskNum, \
                   IrpFlags, DiskSvcTime, I/O Pri,  VolSnap,         FileObject, FileName\n\
                   \x20     DiskReadInit,  TimeStamp,     Process Name ( PID),   \
                   ThreadID,             IrpPtr\n\
                   \x20     DiskFlush,  TimeStamp,     Process Name ( PID),   \
                   ThreadID,             IrpPtr,                           ElapsedTime,  DiskNum, \
                   IrpFlags, DiskSvcTime, I/O Pri\n\
                   EndHeader\n\
                   OS Version: 6.0.6001, Trace Start: 128466, Trace Length: 60 sec\n\
                   \x20     P-Start,          0,        System (   4),   0\n\
                   \x20     DiskRead,       1000,     store.exe (2345),       3912, \
                   0xfffffa8006b8a010, 0x0008a00000, 0x00002000,         900,        3, \
                   0x060043,         890,  Normal,      No, 0xfffffa80, \"E:\\mail, \
                   old\\a \"\"b\"\".edb\"\n\
                   \x20     DiskWrite,       1500,        System (   4),         88, \
                   0xfffffa8006b8a020, 0x0000001000, 0x00000200,        1450,       10, \
                   0x060043,         890,  Normal,      No, 0xfffffa80, Unknown\n\
                   \x20     DiskReadInit,       1600,     store.exe (2345),       \
                   3912, 0xfffffa8006b8a030\n\
                   \x20     DiskWrite,       1700, \"a, (1) b.exe\" (  99),         88, \
                   0xfffffa8006b8a040, 0x0000001000, 0x00000400,         100,        3, \
                   0x060043,          90,  Normal,      No, 0xfffffa80, C:\\x (7),y\n\
                   \x20     DiskRead,       1700, a (1), b.exe (  99),         88, \
                   0xfffffa8006b8a040, 0x0000001000, 0x00000600,         100,        3, \
                   0x060043,          90,  Normal,      No, 0xfffffa80, C:\\x (7),y\n\
                   \x20     DiskFlush,       1800,       Unknown (  -1),         88, \
                   0xfffffa8006b8a050,         150,        3, 0x060043,         140,  Normal\n\
                   \x20     DiskRead,       1900,     store.exe (2345),       3912, \
                   0xfffffa8006b8a010, 0x00000003e8, 0x0018,        5000,        3, \
                   0x060043,         890,  Normal,      No, 0xfffffa80, \"E:\\a\"\n\
                   \x20     DiskRead,       1900,     store.exe (2345),       3912, \
                   0xfffffa8006b8a010, 0x00000003e9, 0x0000,          50,        3, \
                   0x060043,         890,  Normal,      No, 0xfffffa80, \"E:\\a\"\n\
                   \x20     CSwitch,       1950,     store.exe (2345),       3912\n\
                   \x20     FileIoCreate,       1960,     store.exe (2345),       3912, \
                   0xfffffa80, 0xfffffa80, \"E:\\a, b\"\n";

#[test]
fn the_issue_is_the_completion_less_the_time_taken() {
    let records = read(ETW).unwrap();
    let seen: Vec<_> =
        records.iter().map(|r| (r.op, short(r), r.latency.unwrap().as_ns())).collect();
    assert_eq!(
        seen,
        [
            // Under way since before the trace: at its start.
            (Op::Read, (0, 1, 1, 0), 5_000_000),
            (Op::Write, (50_000, 8, 1, 1), 1_450_000),
            (Op::Read, (100_000, 0x8a00000 / 512, 16, 0), 900_000),
            (Op::Write, (1_600_000, 8, 2, 0), 100_000),
            (Op::Read, (1_600_000, 8, 3, 0), 100_000),
            (Op::Flush, (1_650_000, 0, 0, 0), 150_000),
        ]
    );
}

#[test]
fn what_is_no_request_is_counted_by_kind() {
    let summary = survey(&spec(), &mut opener(ETW)).unwrap();
    assert_eq!(summary.devices.iter().map(|d| d.name.as_str()).collect::<Vec<_>>(), ["3", "10"]);
    assert_eq!(
        (summary.requests, summary.tick_ns, summary.dropped.get(ZERO_LENGTH)),
        (6, 1_000, 1)
    );
    assert_eq!((summary.altered.total(), summary.altered.get(EARLIER_AND_WIDENED)), (1, 1));
    let skipped = [
        (HEADER, 7),
        (NO_EVENT, 1),
        ("Init event (its completion is the record)", 1),
        ("FileIo event", 1),
        ("thread event", 1),
        ("process event", 1),
    ];
    for (kind, count) in skipped {
        assert_eq!(summary.skipped_lines.get(kind), count, "{kind}");
    }
    assert_eq!(summary.skipped_lines.total(), 12);
}

#[test]
fn columns_are_where_the_header_says_for_each_event() {
    let text = "\
BeginHeader
 DiskRead, TimeStamp, Process Name ( PID), ThreadID, CPU, IrpPtr, ByteOffset, IOSize, \
ElapsedTime, DiskNum, FileName
 DiskWrite, TimeStamp, Process Name ( PID), DiskNum, IOSize, ByteOffset, ElapsedTime
EndHeader
 DiskRead, 10, p (1), 5, 7, 0xfff, 0x1000, 0x200, 4, 2, \"a\"
 DiskWrite, 20, p (1), 2, 0x400, 0x2000, 4
";
    let records = read(text).unwrap();
    assert_eq!(records.iter().map(short).collect::<Vec<_>>(), [(0, 8, 1, 0), (10_000, 16, 2, 0)]);
    assert!(
        read(text.replacen(" IOSize,", "", 1)).unwrap_err().to_string().contains("t.trace:2: ")
    );
}

#[test]
fn without_a_header_the_columns_are_those_documented() {
    let (_, headless) = ETW.split_once("EndHeader\n").unwrap();
    assert_eq!(read(headless).unwrap(), read(ETW).unwrap());
    let why = |text: &str| sniff::sniff(&spec(), &mut opener(text)).unwrap().to_string();
    assert!(why(headless).starts_with("etw: 6 of the first 7 lines"), "{}", why(headless));
    assert!(why(ETW).starts_with("etw: its header"), "{}", why(ETW));
}

#[test]
fn a_time_of_before_the_start_is_said() {
    let line = "DiskWrite, 100, p (1), 5, 0xfff, 0x1000, 0x200, 101, 0, 0x1, 90, Normal";
    let summary = survey(&spec(), &mut opener(format!("{line}\n"))).unwrap();
    assert_eq!((summary.altered.get(EARLIER), summary.first_time), (1, 0));
    // A process without its id is one cell.
    let plain = line.replace("p (1)", "idle");
    let latency = records(plain, TraceFormat::Etw, Reading::default()).unwrap()[0].latency;
    assert_eq!(latency, Some(Duration::from_ns(101_000)));
}

#[test]
fn what_is_wrong_is_refused() {
    for wrong in [
        "DiskRead",
        "DiskRead, 100",
        "DiskRead, 100, p (1)",
        "DiskRead, 100, p (1), 5, 0xfff, 0x1000, 0x200, 90",
        "DiskRead, 100, p (1), 5, 0xfff, 4096, 512, 90, 0",
        "DiskRead, 1.5, p (1), 5, 0xfff, 0x1000, 0x200, 90, 0",
        "DiskRead, 100, p (1), 5, 0xfff, 0x1000, 0x200, -90, 0",
        "DiskRead, 100, p (1), 5, 0xfff, 0x100000000000000, 0x200, 90, 0",
        "DiskRead, 100, p (1), 5, 0xfff, 0x1000, 0x20000000001, 90, 0",
        "DiskFlush, 100, p (1), 5, 0xfff, 0x1000, 0x200, 90, 0",
        "\u{1}\u{2}",
        "",
    ] {
        assert_eq!(Etw::new().decode(wrong.as_bytes()), None, "{wrong}");
    }
}

#[test]
fn a_process_ends_in_its_id() {
    for yes in ["a (1)", "a ( 1)", "a (  -1) ", "a b, c (12)", "(3)"] {
        assert!(ends_in_pid(yes.as_bytes()), "{yes}");
    }
    for no in ["a", "a (1", "a 1)", "a (b)", "a ()", "a (-)", "", ")"] {
        assert!(!ends_in_pid(no.as_bytes()), "{no}");
    }
}
