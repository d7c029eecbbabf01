//! Whatever the bytes, reading and playing end with requests or with an error.

use super::super::TraceSource;
use super::super::format::FORMATS;
use super::*;
use crate::host::Remap;
use crate::host::RequestSource;
use proptest::prelude::*;

const UNITS: [TimeUnit; 4] = [TimeUnit::Ns, TimeUnit::Us, TimeUnit::Ms, TimeUnit::S];
const REMAPS: [Remap; 4] = [Remap::None, Remap::Modulo, Remap::Dense, Remap::Scale];

/// Bytes that come near the formats, so that the readers get past the first field.
fn nearly_a_trace() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        4 => "[0-9]{1,20}".prop_map(String::into_bytes),
        6 => prop::sample::select(vec![
            " ", ",", "\n", ".", "+", " D ", "8,0 ", "FWFS", "Read", "Write", "[p]", "-", " 1\n", "\r",
        ])
            .prop_map(|text| text.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..4),
        2 => prop::sample::select(vec![MSR, ASCII, BLKPARSE]).prop_map(|text| text.as_bytes().to_vec()),
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

/// Lines of the formats with numbers of any size in their fields.
fn lines_of_any_number() -> impl Strategy<Value = Vec<u8>> {
    let number = prop_oneof![any::<u64>(), 0..100u64, (1u64 << 46)..(1 << 48)];
    let line = (0..3, number.clone(), number.clone(), number, 0..3u64).prop_map(|(kind, a, b, c, d)| match kind {
        0 => format!("{a},h,{d},Read,{b},{c},1\n"),
        1 => format!("{a} {d} {b} {c} 1\n"),
        _ => format!("8,{d} 0 1 {a}.000000001 1 D {} {b} + {c} [p]\n", ["W", "D", "FF"][d as usize]),
    });
    prop::collection::vec(line, 1..6).prop_map(|lines| lines.concat().into_bytes())
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
            let Ok((mut source, _)) = TraceSource::new(&spec, capacity, opener(text)) else { continue };
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
    fn numbers_of_any_size(text in lines_of_any_number(), capacity in any_capacity()) {
        check(&text, capacity, 3);
    }
}
