//! Whole drives by arithmetic: the table of `ttflash-256g` cut to a few blocks, one thing at a
//! time, exact to the nanosecond.

mod collections;
mod dftl;
mod hold;
mod pace;
mod planes;
mod predictable;
mod program_suspension;
mod rain;
mod release;
mod requests;
mod room;
mod rotation;
mod scheduling;
mod scrub;
mod shortcuts;
mod superblock;
mod suspension;
mod timeline;
mod tolerant;
mod whole;

use super::{Command, Completion, Drive, DriveSpec, Op, PredictableLatency, Status};
use crate::drive::CommandId;
use crate::flash::tests::ttflash_256g;
use crate::flash::{Device, Layout};
use crate::ftl::{FtlSpec, GcSpec, PageMap, Stream};
use crate::units::{Bytes, Duration, Instant, Lba, Lpn};

/// Sectors in a page of `ttflash-256g`.
const PAGE: u32 = 8;

/// The times that the expectations are sums of.
#[derive(Clone, Copy, Debug)]
struct Times {
    command: Duration,
    erase_command: Duration,
    transfer: Duration,
    read: Duration,
    program: Duration,
    erase: Duration,
}

impl Times {
    fn of(device: &Device) -> Self {
        Self {
            command: device.channel.command,
            erase_command: device.channel.erase_command,
            transfer: device.channel.rate.time_for(device.geometry.page.get()),
            read: device.timing.read[0],
            program: device.timing.program[0],
            erase: device.timing.erase_step * u64::from(device.timing.erase_steps),
        }
    }

    /// A page read alone: command, array, transfer.
    fn page_read(self) -> Duration {
        self.command + self.read + self.transfer
    }

    /// A page program alone: command, transfer, array.
    fn page_program(self) -> Duration {
        self.command + self.transfer + self.program
    }
}

/// A drive and what it answered.
#[derive(Clone)]
struct Bench {
    device: Device,
    drive: Drive,
    done: Vec<Completion>,
    next_id: u32,
}

impl Bench {
    /// A drive whose map `prepare` wrote; half of its space is the host's.
    fn new(
        device: Device,
        spec: DriveSpec,
        gc: GcSpec,
        prepare: impl FnOnce(&mut PageMap),
    ) -> Self {
        let logical = Layout::new(&device).total_units() / 2;
        let mut map = PageMap::new(&device, &FtlSpec::default(), &gc, logical, 1);
        prepare(&mut map);
        map.check_laws();
        let drive = Drive::new(&device, &spec, &gc, map, false);
        Self { device, drive, done: Vec::new(), next_id: 0 }
    }

    /// A drive that never collects, with the first 512 pages (eight on each lane) written.
    fn plain(spec: DriveSpec) -> Self {
        Self::on(ttflash_256g(4), spec)
    }

    fn on(device: Device, spec: DriveSpec) -> Self {
        let gc = GcSpec { soft: 0.0.into(), hard: 0.0.into(), ..GcSpec::default() };
        Self::new(device, spec, gc, |map| (0..512).for_each(|lpn| write_before_the_run(map, lpn)))
    }

    fn times(&self) -> Times {
        Times::of(&self.device)
    }

    fn submit(
        &mut self,
        at: Instant,
        op: Op,
        first_sector: u64,
        sectors: u32,
        fua: bool,
    ) -> CommandId {
        self.advance_to(at);
        let id = CommandId(self.next_id);
        self.next_id += 1;
        let command = Command {
            id,
            op,
            lba: Lba(first_sector),
            sectors,
            fua,
            predictable: PredictableLatency::Off,
            stream: 0,
            queue: 0,
            payload: None,
        };
        self.drive.submit(at, command);
        id
    }

    fn read(&mut self, at: Instant, lpn: u64) -> CommandId {
        self.submit(at, Op::Read, lpn * u64::from(PAGE), PAGE, false)
    }

    fn write(&mut self, at: Instant, lpn: u64) -> CommandId {
        self.submit(at, Op::Write, lpn * u64::from(PAGE), PAGE, false)
    }

    fn flush(&mut self, at: Instant) -> CommandId {
        self.submit(at, Op::Flush, 0, 0, false)
    }

    fn advance_to(&mut self, limit: Instant) {
        while let Some(completion) = self.drive.advance_before(limit) {
            self.done.push(completion);
        }
    }

    fn run(&mut self) {
        self.advance_to(Instant::NEVER);
    }

    fn completion(&mut self, id: CommandId) -> &Completion {
        self.run();
        self.done.iter().find(|completion| completion.id == id).expect("every command completes")
    }

    /// When command `id` reaches the host.
    fn end_of(&mut self, id: CommandId) -> Instant {
        let completion = self.completion(id);
        assert_eq!(completion.status, Status::Success);
        completion.at
    }

    /// The latency that a read of `lpn` at `at` would have, on a copy of the drive.
    fn latency_of_read(&self, at: Instant, lpn: u64) -> Duration {
        let mut copy = self.clone();
        let id = copy.read(at, lpn);
        copy.end_of(id).since(at)
    }
}

/// Puts a page on flash at zero cost, where the host's next write to it would go.
fn write_before_the_run(map: &mut PageMap, lpn: u32) {
    assert_eq!(map.layout().units_per_row, 1, "pages are written alone here");
    let row = map.open_row(map.striped_lane(Lpn(lpn)), Stream::Host).expect("there is room");
    map.commit(Lpn(lpn), row);
    map.row_programmed(row);
}

/// Pages are striped over the channels first, then over the chips.
const LANES: u64 = 64;
/// Page 1 is on the next channel, page 8 on the next chip of the same channel, page 64 behind page
/// 0 on the same chip.
const OTHER_CHANNEL: u64 = 1;
const OTHER_CHIP: u64 = 8;
const SAME_CHIP: u64 = LANES;

fn start() -> Instant {
    Instant::START
}

fn write_through() -> DriveSpec {
    DriveSpec { write_through: true, buffer: Bytes::kib(1024), ..DriveSpec::default() }
}
