//! fio jobs that would tell what a fit left open, with what they cost. Manx never runs them.

use super::space::Place;
use super::{Reads, Twin};
use manx_core::units::Bytes;
use std::fmt::Write;

/// Seconds of a read job, with its ramp, and of a write to a fresh drive at most.
const SECONDS: u64 = 60;
const FRESH_SECONDS: u64 = 30;

/// A job file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobFile {
    /// Its name.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// A load: bytes of a request, depth, processes.
type Load = (u64, u32, u32);

/// The jobs for what is open; none where nothing is.
pub fn jobs(twin: &Twin, capacity: Option<Bytes>) -> Vec<JobFile> {
    let mut files = Vec::new();
    let loads = twin.reads.as_ref().map_or_else(all_loads, open_loads);
    for (why, (block, depth, processes)) in loads {
        let name = format!("read-{block}-proc{processes}-qd{depth}.fio");
        let text = format!(
            "; Made by `manx fit --jobs`: to tell {why}.\n; Reads only: it destroys nothing, where \
             the drive has been written before.\n; Cost: {SECONDS} s, some {:.1} GB read.\n; fio \
             --output-format=json+ --output={}.json --filename=/dev/THE-DRIVE {name}\n\
             [global]\nrw=randread\ndirect=1\nioengine=io_uring\nnorandommap\n\
             group_reporting\ntime_based\nramp_time=10s\nruntime={}s\n\n\
             [reads]\nbs={block}\niodepth={depth}\nnumjobs={processes}\n",
            gigabytes(twin, (block, depth, processes)),
            name.trim_end_matches(".fio"),
            SECONDS - 10
        );
        files.push(JobFile { name, text });
    }
    files.extend(
        twin.reads.iter().filter(|reads| asks_for_writes(reads)).flat_map(|_| fresh_writes()),
    );
    if twin.writes.is_none() {
        files.push(long_write(capacity));
    }
    files
}

/// Writes to a fresh drive were not measured, or left something open.
fn asks_for_writes(reads: &Reads) -> bool {
    let told = |place: Place| {
        let range = |at| reads.range(at).is_some_and(|range| !range.is_flat());
        reads.space.at(&place).is_some_and(range)
    };
    !(told(Place::Program) && told(Place::Key("drive.buffer_hit")))
}

/// Writes to a fresh drive: at depth 1 the buffer answers, at depth the programs hold them back.
fn fresh_writes() -> Vec<JobFile> {
    let of = |(block, depth, gigabytes): (u64, u32, u64)| {
        let name = format!("write-{block}-qd{depth}.fio");
        let output = name.trim_end_matches(".fio");
        let text = format!(
            "; Made by `manx fit --jobs`: to tell the buffer's time and that of a program.\n; IT \
             DESTROYS ALL DATA of the drive: begin with a formatted one (nvme format).\n; Cost: \
             {gigabytes} GB written, at most {FRESH_SECONDS} s.\n; fio --output-format=json+ \
             --output={output}.json --filename=/dev/THE-DRIVE {name}, then manx fit \
             {output}.json@fresh\n[global]\nrw=randwrite\ndirect=1\nioengine=io_uring\n\
             group_reporting\nruntime={FRESH_SECONDS}s\n\n[writes]\nbs={block}\n\
             iodepth={depth}\nsize={gigabytes}g\n"
        );
        JobFile { name, text }
    };
    [(4096, 1, 2), (4096, 64, 8), (131_072, 16, 16)].into_iter().map(of).collect()
}

/// Bytes that a load reads in that time: what its slots do at the time of one request, and no more
/// than the link does.
fn gigabytes(twin: &Twin, (block, depth, processes): Load) -> f64 {
    // A fast drive, where nothing is known yet.
    let (mut unloaded_us, mut link) = (60.0, 7_000.0);
    if let Some(reads) = &twin.reads {
        let values = reads.space.values(&reads.point);
        let of = |key| {
            let known = reads.space.parameters.iter().position(|of| of.place == Place::Key(key));
            known.map_or(0.0, |at| values[at])
        };
        let t_read = reads.space.reads(&reads.point).first().copied().unwrap_or(unloaded_us);
        unloaded_us = t_read + of("drive.controller");
        link = of("drive.link");
    }
    let slots = f64::from(depth) * f64::from(processes);
    (slots * block as f64 / unloaded_us).min(link) * SECONDS as f64 / 1e3
}

/// Where no reads were measured.
fn all_loads() -> Vec<(&'static str, Load)> {
    let mut loads = vec![("tR and the fixed delays", (4096, 1, 1))];
    loads.extend([16, 64].map(|depth| ("dies and channels", (4096, depth, 1))));
    loads
        .extend([16_384, 65_536].map(|block| ("planes and the order of addresses", (block, 1, 1))));
    loads.push(("the link", (65_536, 64, 1)));
    loads
}

/// Those that would tell what the reads left open.
fn open_loads(reads: &Reads) -> Vec<(&'static str, Load)> {
    let mut loads: Vec<(&'static str, Load)> = Vec::new();
    let mut add = |why, load| {
        if loads.iter().all(|(_, known)| *known != load) {
            loads.push((why, load));
        }
    };
    for (number, parameter) in reads.space.parameters.iter().enumerate() {
        if !reads.range(number).is_none_or(|range| range.is_flat()) {
            continue;
        }
        match parameter.place {
            Place::Read(_) => {
                add("tR and the fixed delays", (4096, 1, 1));
                add("tR beside the fixed delays", (4096, 64, 4));
            }
            Place::Key("device.channel.rate") => {
                add("the rate of a channel", (131_072, 1, 1));
                add("the rate of a channel", (16_384, 64, 4));
            }
            Place::Key("drive.firmware.look_up") => {
                add("the time of a look-up of the map", (4096, 128, 8));
                add("the time of a look-up of the map", (131_072, 16, 4));
            }
            Place::Key("drive.link") => add("the link", (131_072, 64, 4)),
            // `fresh_writes` tells it.
            Place::Key("drive.buffer_hit") => {}
            Place::Key(_) | Place::Delay(_) => add("the fixed delays", (512, 1, 1)),
            Place::Busy(_) => add("the work of an engine's thread", (4096, 256, 1)),
            Place::Page(_) => {
                add("the work of an engine's thread for each page", (131_072, 64, 1));
                add("the work of an engine's thread for each page", (131_072, 16, 4));
            }
            Place::Program | Place::Cache => {}
        }
    }
    loads
}

fn long_write(capacity: Option<Bytes>) -> JobFile {
    let mut text = String::from(
        "; Made by `manx fit --jobs`: to tell spare space, victims and the time of a program.\n; \
         IT DESTROYS ALL DATA of the drive, and wears it: begin with a formatted one (nvme \
         format).\n",
    );
    let _ = match capacity {
        Some(capacity) => writeln!(
            text,
            "; Cost: {:.1} TB written by the host, more to the flash; hours.",
            4.5 * capacity.get() as f64 / 1e12
        ),
        None => {
            writeln!(text, "; Cost: 5 capacities written by the host, more to the flash; hours.")
        }
    };
    text.push_str(
        "; Meanwhile read the drive's counters of host and media bytes each 5 % of a capacity \
         (nvme ocp smart-add-log),\n; and make of them the CSV of docs/twins.md.\n; fio \
         --filename=/dev/THE-DRIVE long-write.fio\n[long-write]\nrw=randwrite\nbs=128k\n\
         iodepth=128\ndirect=1\nioengine=io_uring\nsize=100%\n",
    );
    // A share above 100 % is no size for fio.
    let _ = match capacity {
        Some(capacity) => {
            writeln!(text, "io_size={}", (capacity.get() / 1_048_576).saturating_mul(4_718_592))
        }
        None => writeln!(text, "loops=5"),
    };
    JobFile { name: "long-write.fio".to_string(), text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::from_fio::from_fio;
    use crate::load::read_device;

    #[test]
    fn where_nothing_was_measured_all_is_asked_for_and_what_destroys_says_so() {
        let base = read_device("tlc-enterprise").unwrap();
        let name = "a".to_string();
        let twin = Twin { name, base, reads: None, writes: None, is_partial: false };
        let files = jobs(&twin, Some("2TB".parse().unwrap()));
        assert_eq!(files.len(), 7);
        for file in &files[..6] {
            assert!(from_fio(&file.name, &file.text).is_ok(), "{}", file.text);
            assert!(!file.text.contains("io_size"), "{}", file.text);
            assert!(
                file.text.contains("destroys nothing") && file.text.contains("Cost: 60 s, some ")
            );
        }
        let write = &files[6];
        assert!(write.text.contains("DESTROYS ALL DATA") && write.text.contains("9.0 TB"));
        assert!(from_fio(&write.name, &write.text).is_ok(), "{}", write.text);
        assert!(write.text.contains("io_size=8999997014016\n"), "{}", write.text);
        let unknown = &jobs(&twin, None)[6].text;
        assert!(unknown.contains("loops=5\n") && !unknown.contains("io_size"), "{unknown}");
    }
}
