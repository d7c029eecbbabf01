//! A large blktrace file to measure its reader with: `cargo run --release --example make_blktrace
//! -- FILE REQUESTS`. Each request passes as Q, G, I, D and C, as on a disk with a scheduler; one
//! in ten events has a payload of 8 bytes.

use std::io::{BufWriter, Write};

/// Event and categories (queue, issue, complete of include/uapi/linux/blktrace_api.h) of a
/// request's life.
const LIFE: [u32; 5] = [1 | 1 << 20, 4 | 1 << 20, 12 | 1 << 20, 7 | 1 << 22, 8 | 1 << 23];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().ok_or("usage: make_blktrace FILE REQUESTS")?;
    let requests: u64 = arguments.next().ok_or("usage: make_blktrace FILE REQUESTS")?.parse()?;
    let mut out = BufWriter::new(std::fs::File::create(file)?);
    let (mut sequence, mut state) = (0u32, 1u64);
    for request in 0..requests {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let (sector, direction) =
            ((state >> 40) * 8, if state >> 63 == 0 { 1 << 16 } else { 1 << 17 });
        for (step, event) in (0..).zip(LIFE) {
            sequence += 1;
            let payload = if sequence.is_multiple_of(10) { 8 } else { 0u16 };
            // Requests overlap: a completion comes some requests later than its place in the file.
            let time = request * 1000 + if step == 4 { 20_000 } else { step * 100 };
            out.write_all(&0x6561_7407u32.to_le_bytes())?;
            out.write_all(&sequence.to_le_bytes())?;
            out.write_all(&time.to_le_bytes())?;
            out.write_all(&sector.to_le_bytes())?;
            for word in [4096, event | direction, 77, 8 << 20 | 16, 1] {
                out.write_all(&u32::to_le_bytes(word))?;
            }
            out.write_all(&[0, 0])?;
            out.write_all(&payload.to_le_bytes())?;
            out.write_all(&[0; 8][..usize::from(payload)])?;
        }
    }
    Ok(out.flush()?)
}
