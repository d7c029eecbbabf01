//! Records per second of a reader: `cargo run --release --example trace_rate -- FILE [PASSES]`.
//! An uncompressed file in the page cache shows the reader; a compressed one the decompressor.

use manx_lab::open::opener;
use manx_trace::{TraceReader, TraceSpec, sniff};
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().ok_or("usage: trace_rate FILE [PASSES]")?;
    let passes: u32 = arguments.next().map_or(Ok(1), |text| text.parse())?;
    let sniffed = sniff::sniff(&TraceSpec::new(&file), &mut opener(&file))
        .map_err(|error| error.to_string())?;
    println!("{sniffed}");
    for _ in 0..passes {
        let start = Instant::now();
        let mut reader = TraceReader::new(sniffed.format, sniffed.reading, opener(&file)()?)?;
        let (mut records, mut sectors) = (0u64, 0u64);
        while let Some(record) = reader.next_record()? {
            records += 1;
            sectors += u64::from(record.sectors);
        }
        let seconds = start.elapsed().as_secs_f64();
        println!(
            "{records} records, {sectors} sectors in {seconds:.3} s: {:.2} M/s",
            records as f64 / seconds / 1e6
        );
    }
    Ok(())
}
