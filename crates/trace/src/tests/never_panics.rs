//! Whatever the bytes, reading and playing end with requests or with an error.

use super::super::TraceSource;
use super::super::format::FORMATS;
use super::*;
use crate::Remap;
use manx_base::RequestSource;
use proptest::prelude::*;

const UNITS: [TimeUnit; 4] = [TimeUnit::Ns, TimeUnit::Us, TimeUnit::Ms, TimeUnit::S];
const REMAPS: [Remap; 4] = [Remap::None, Remap::Modulo, Remap::Dense, Remap::Scale];

/// Bytes that come near the formats, so that the readers get past the first field.
fn nearly_a_trace() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        4 => "[0-9]{1,20}".prop_map(String::into_bytes),
        6 => prop::sample::select(vec![
            " ", ",", "\n", ".", "+", " D ", "8,0 ", "FWFS", "Read", "Write", "[p]", "-",
            " 1\n", "\r", " ; ", ": block_rq_issue: ", "a-1 [0] 1.5: block_rq_complete: 8,0 R () ",
            " wait ", "fio version 2 iolog\n", "\0ustar",
        ])
            .prop_map(|text| text.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..4),
        2 => prop::sample::select(vec![MSR, ASCII, BLKPARSE])
            .prop_map(|text| text.as_bytes().to_vec()),
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

/// Lines of the formats with numbers of any size in their fields.
fn lines_of_any_number() -> impl Strategy<Value = Vec<u8>> {
    let number = prop_oneof![any::<u64>(), 0..100u64, (1u64 << 46)..(1 << 48)];
    let line =
        (0..8, number.clone(), number.clone(), number, 0..3u64).prop_map(|(kind, a, b, c, d)| {
            match kind {
                0 => format!("{a},h,{d},Read,{b},{c},1\n"),
                1 => format!("{a} {d} {b} {c} 1\n"),
                2 => format!("{a} 1 p q {b} {c} W 8 {d} 0123456789abcdef0123456789abcdef\n"),
                3 => format!("{a}.5 ; {b} ; {c} ; RA ; 0.0 ; {d}\n"),
                4 => format!("{a} /f write {b} {c}\n"),
                5 => format!("/f {} {b} {c}\n", ["wait", "trim", "sync"][d as usize]),
                6 => format!(
                    "a-1 [0] {a}.5: block_rq_{}: 8,{d} W () {b} + {c} [a]\n",
                    ["issue", "complete", "x"][d as usize]
                ),
                _ => format!(
                    "8,{d} 0 1 {a}.000000001 1 D {} {b} + {c} [p]\n",
                    ["W", "D", "FF"][d as usize]
                ),
            }
        });
    prop::collection::vec(line, 1..6).prop_map(|lines| lines.concat().into_bytes())
}

/// Records of the binary formats with numbers of any size in their fields.
fn records_of_any_number() -> impl Strategy<Value = Vec<u8>> {
    let number = || prop_oneof![any::<u64>(), 0..100u64, (1u64 << 46)..(1 << 48)];
    let record = (number(), number(), number(), any::<[u8; 4]>());
    (0..5, prop::collection::vec(record, 1..8)).prop_map(|(kind, records)| {
        let mut bytes = if kind == 4 { b"MANXREC1\0\0\0\0\0\0\0\0".to_vec() } else { Vec::new() };
        for (a, b, c, [d, e, f, g]) in records {
            let [a, b, long] = [a, b, c].map(u64::to_le_bytes);
            let short = (c as u32).to_le_bytes();
            bytes.extend(match kind {
                // Category, device and payload, whose length may lead out of the file.
                0 => [
                    &b"\x07tae\0\0\0\0"[..],
                    &a,
                    &b,
                    &short,
                    &[7, 0, d, e],
                    &[0; 8],
                    &[0; 4],
                    &[0, 0, f & 31, 0],
                ]
                .concat(),
                1 => [&[0; 4], &short, &[0; 4], &[0x28 | d & 3, 0, 0, 1][..], &a, &b].concat(),
                2 => [&[0x28, 0, 0, 2, 0, 0, 0, 0][..], &short, &[0; 4], &a, &b, &long].concat(),
                3 => [&short[..], &a, &[d, e, f & 3, 0], &b].concat(),
                _ => [&a[..], &b, &long, &b, &[d, e, 0, 0, f & 3, g & 1, 0, 0]].concat(),
            });
        }
        bytes
    })
}

fn any_capacity() -> impl Strategy<Value = u64> {
    prop_oneof![1..50u64, Just(1 << 60), Just(u64::MAX)]
}

fn check(text: &[u8], capacity: u64, repeat: u32) {
    for format in &FORMATS {
        let units = if format.time.is_some() { &UNITS[..] } else { &UNITS[..1] };
        for unit in units {
            let _ = read_as(text, format.id, *unit);
        }
    }
    for remap in REMAPS {
        for format in FORMATS.iter().map(|format| Some(format.id)).chain([None]) {
            let spec = TraceSpec { remap, format, repeat, rate_scale: 3.3, ..spec() };
            let Ok((mut source, _)) = TraceSource::new(&spec, capacity, opener(text)) else {
                continue;
            };
            let mut last = 0;
            while let Some(request) = source.next_request() {
                assert!(request.lba.0 + u64::from(request.sectors) <= capacity);
                assert!(request.at.as_ns() >= last);
                last = request.at.as_ns();
            }
            assert_eq!(source.error(), None);
        }
    }
}

proptest! {
    #[test]
    fn any_bytes(text in prop::collection::vec(any::<u8>(), 0..400)) {
        check(&text, 1000, 1);
    }

    #[test]
    fn bytes_near_the_formats(text in nearly_a_trace(), capacity in 1..5000u64) {
        check(&text, capacity, 2);
    }

    #[test]
    fn binary_numbers_of_any_size(bytes in records_of_any_number(), capacity in any_capacity()) {
        check(&bytes, capacity, 2);
    }

    #[test]
    fn numbers_of_any_size(text in lines_of_any_number(), capacity in any_capacity()) {
        check(&text, capacity, 3);
    }
}
