//! Good traces of the csv formats, then the same with something spoilt: each is known for what it
//! is, and however spoilt, it ends with records or with an error.

use super::*;
use proptest::prelude::*;

/// A few lines of each format, without a header where it can be without.
const SAMPLES: [(TraceFormat, &str); 14] = [
    (TraceFormat::Msr, MSR),
    (TraceFormat::Ssdsim, ASCII),
    (TraceFormat::Blkparse, BLKPARSE),
    (TraceFormat::Spc, "0,303567,3584,w,0.000000\n1, 88, 3072, R, 0.026214, 7\n"),
    (
        TraceFormat::Etw,
        "DiskRead, 900, a, b (1), 5, 0xfff, 0x1000, 0x200, 40, 2, 0x1\n\
         DiskFlush, 950, \"c\" (-1), 5, 0xfff, 4, 2\n",
    ),
    (
        TraceFormat::Etw,
        "BeginHeader\n DiskRead, TimeStamp, Process Name ( PID), ByteOffset, IOSize, \
         ElapsedTime, DiskNum\nEndHeader\n\
         OS Version: 6.0\n DiskRead, 900, p (1), 0x1000, 0x200, 40, 2\n",
    ),
    (
        TraceFormat::Alibaba,
        "419,W,8792731648,16384,1577808144360767\n725,R,512,512,1577808144360813\n",
    ),
    (TraceFormat::Tencent, "1538323200,12910952,128,0,1063\n1538323200,6338688,8,1,1627\n"),
    (
        TraceFormat::Systor,
        "1456135200.013118001,0.000806,R,0,4096,131072\n1456135200.013119,0.001,,4,4096,512\n",
    ),
    (
        TraceFormat::Wpa,
        "IO Type;Init Time (s);IO Time (µs);Size (B);Min Offset;Disk;Count\n\
         Read;1,079943800;1.087,200;16.384;0x0000000000000200;1;1\n\
         Flush;1,08;4,5;0;0xFFFFFFFFFFFFFFFF;1;1\n",
    ),
    (TraceFormat::Libcachesim, "1,7000000,2a,512,1000\n1,7000000,28,6656,18446744\n"),
    (TraceFormat::UcareLog, "0.000,134,1,4096,42242048,0.100,4096\n1000.5,106,0,4096,4841472\n"),
    (
        TraceFormat::Manx,
        "t_us,op,offset,bytes,latency_us,device,fua\n10,R,4096,8192,95.5,a,0\n11.5,F,0,0,,b,0\n",
    ),
    (TraceFormat::Manx, "t_us,rwbs,sector,nsectors\n10,WFS,4096,8\n11,FF,18446744073709551615,0\n"),
];

#[test]
fn each_is_known_for_what_it_is() {
    for (format, text) in SAMPLES {
        // Long enough that the odd line does not matter, as in a real file; a header stays one. The
        // look-alikes are known by what their numbers do, which copies do not: times that go back
        // again and again.
        for copies in if format == TraceFormat::Ssdsim { vec![1] } else { vec![1, 20] } {
            let found = sniff(&spec(), &mut opener(text.repeat(copies)))
                .unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(found.format, format, "{found}");
            assert!(!found.why.contains("less likely"), "{found}");
        }
        assert!(!records(text, format, Reading::default()).unwrap().is_empty(), "{text}");
    }
}

/// Replacement for a piece of a trace.
fn spoilt() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        4 => prop::sample::select(vec![
            ",", ";", "\"", "\"\"", "\n", "\r\n", ".", "-", " ", "(", ")", "(1),", "0x", "1", "0",
            "R", "FF", "µ", "", "BeginHeader\n", "DiskRead,", "t_us,", "18446744073709551615",
            "140737488355327", "4294967295", "0.0000001",
        ])
            .prop_map(|text| text.as_bytes().to_vec()),
        2 => "[0-9]{1,22}".prop_map(String::into_bytes),
        1 => prop::collection::vec(any::<u8>(), 0..6),
    ]
}

proptest! {
    #[test]
    fn a_spoilt_trace_ends_with_records_or_an_error(
        sample in 0..SAMPLES.len(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), 0..8usize, spoilt()), 1..6),
    ) {
        let (format, text) = SAMPLES[sample];
        let mut text = text.as_bytes().to_vec();
        for (place, count, change) in changes {
            let start = place.index(text.len() + 1);
            let end = (start + count).min(text.len());
            text.splice(start..end, change);
        }
        let _ = sniff(&spec(), &mut opener(text.clone()));
        if let Ok(records) = records(&text, format, Reading::default()) {
            for (index, record) in records.iter().enumerate() {
                prop_assert!(record.lba.0 < crate::MAX_SECTOR);
                prop_assert_eq!(record.sectors == 0, record.op == manx_base::units::Op::Flush);
                prop_assert!(index == 0 || records[index - 1].at <= record.at);
            }
        }
    }
}
