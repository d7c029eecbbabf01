//! The bytes against the specification's tables, written by hand; the windows against times
//! computed by hand; and whatever a host may send: never a panic, always a status.

mod admin;
mod entries;
mod events;
mod fuzz;
mod identify;
mod playing;
mod windows;

use super::{AdminCompletion, AdminReply, Attributes, Controller, Options, Sqe, StatusField};
use crate::drive::{Command, Completion, Drive, DriveSpec, Op, PredictableLatency};
use crate::flash::tests::ttflash_256g;
use crate::flash::{Device, Layout};
use crate::ftl::{FtlSpec, GcSpec, PageMap, Stream};
use crate::units::{Bytes, Duration, Instant, Lba, Lpn};

/// The table of `ttflash-256g` with four blocks a plane: 64 dies of 4 x 256 pages of 4 KiB; tR 40
/// us, tPROG 800 us, erase 2 ms, 25 ns a byte on the channel, commands 175 ns, of an erase 125 ns.
fn device() -> Device {
    ttflash_256g(4)
}

/// Collection begins at a quarter of the pages and is forced at an eighth: between lie 8,192 pages.
fn gc() -> GcSpec {
    GcSpec { soft: 0.25.into(), hard: 0.125.into(), ..GcSpec::default() }
}

fn spec() -> DriveSpec {
    DriveSpec { buffer: Bytes::kib(1024), ..DriveSpec::default() }
}

/// A drive of which the first `written` pages are written; half of its pages are the host's.
fn drive(written: u32) -> Drive {
    let device = device();
    let logical = Layout::new(&device).total_units() / 2;
    let mut map = PageMap::new(&device, &FtlSpec::default(), &gc(), logical, 1);
    for lpn in 0..written {
        let row = map.open_row(map.striped_lane(Lpn(lpn)), Stream::Host).expect("there is room");
        map.commit(Lpn(lpn), row);
        map.row_programmed(row);
    }
    Drive::new(&device, &spec(), &gc(), map, false)
}

fn with(options: Options) -> Controller {
    let drive = drive(512);
    let attributes = Attributes::of(&drive, &spec(), &gc());
    Controller::new(drive, attributes, options)
}

fn controller() -> Controller {
    with(Options::default())
}

/// Sectors of the namespace: half of 65,536 pages of eight.
const SECTORS: u64 = 262_144;

fn ms(ms: u64) -> Instant {
    Instant::START + Duration::from_ms(ms)
}

fn command(id: u32, op: Op, lba: u64, sectors: u32) -> Command {
    Command {
        id: id.into(),
        op,
        lba: Lba(lba),
        sectors,
        fua: false,
        predictable: PredictableLatency::Off,
        stream: 0,
        queue: 0,
        payload: None,
    }
}

/// Completions that are due before `limit`.
fn advance(controller: &mut Controller, limit: Instant) -> Vec<Completion> {
    std::iter::from_fn(|| controller.advance_before(limit)).collect()
}

/// The completion of a command that is answered at once.
fn done(controller: &mut Controller, now: Instant, sqe: &Sqe, data: &[u8]) -> AdminCompletion {
    match controller.admin(now, sqe, data) {
        AdminReply::Done(done) => done,
        AdminReply::Later => panic!("{sqe:?} is answered later"),
    }
}

fn status(controller: &mut Controller, now: Instant, sqe: &Sqe, data: &[u8]) -> StatusField {
    done(controller, now, sqe, data).status
}

/// `bytes` with `values` at their offsets, all else zero.
fn laid_out<const N: usize>(values: &[(usize, &[u8])]) -> [u8; N] {
    let mut bytes = [0; N];
    for (offset, value) in values {
        bytes[*offset..offset + value.len()].copy_from_slice(value);
    }
    bytes
}
