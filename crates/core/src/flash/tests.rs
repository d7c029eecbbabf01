//! Timing by formula: not done at t - 1 ns, done at t, where t comes from the device table; and the
//! assertions of the physics.

use super::{
    ArrayTiming, Block, ChannelTiming, Device, Features, Fired, Flash, Geometry, OpId, Operation,
    What,
};
use crate::units::{Bandwidth, Bytes, Channel, Die, Duration, Instant, Lane, Ppn};

mod order;
mod passes;
mod remaining;
mod retry;
mod whole;

const NS: Duration = Duration::from_ns(1);

/// 2 channels x 2 chips of 4 KiB pages with the times of `ttflash-256g`; the rooms above start from
/// it too.
pub(crate) fn device() -> Device {
    Device {
        name: "bench".into(),
        summary: String::new(),
        geometry: Geometry {
            channels: 2,
            ways: 2,
            dies: 1,
            planes: 1,
            blocks: 4,
            pages: 12,
            page: Bytes::kib(4),
            map_unit: Bytes::kib(4),
        },
        feature: Features::default(),
        timing: ArrayTiming {
            read: vec![Duration::from_us(40)],
            program: vec![Duration::from_us(800)],
            foggy: Duration::ZERO,
            erase_step: Duration::from_us(400),
            erase_steps: 5,
        },
        slc: None,
        channel: ChannelTiming {
            rate: Bandwidth::bytes_per_second(40_000_000),
            command: Duration::from_ns(175),
            erase_command: Duration::from_ns(125),
            suspend_command: Duration::ZERO,
        },
        op: 0.1,
        endurance: 0,
        source: Default::default(),
    }
}

/// The drive of `ttflash-256g` with `blocks` blocks a plane: 8 channels x 8 chips.
pub(crate) fn ttflash_256g(blocks: u32) -> Device {
    let mut device = device();
    device.geometry = Geometry { channels: 8, ways: 8, blocks, pages: 256, ..device.geometry };
    device
}

/// A flash on the bench, and the sums that the tests are made of.
struct Bench {
    device: Device,
    flash: Flash,
    done: Vec<(Instant, u32)>,
}

impl Bench {
    fn new(device: Device) -> Self {
        Self { flash: Flash::new(&device, true), device, done: Vec::new() }
    }

    fn command(&self) -> Duration {
        self.device.channel.command
    }

    fn page_transfer(&self) -> Duration {
        self.device.channel.rate.time_for(self.device.geometry.page.get())
    }

    fn page_sectors(&self) -> u32 {
        (self.device.geometry.page.get() / 512) as u32
    }

    fn read_array(&self) -> Duration {
        self.device.timing.read[0]
    }

    fn program_array(&self) -> Duration {
        self.device.timing.program[0]
    }

    /// The first page of block 0 of the die's first lane.
    fn page(&self, die: Die, number: u32) -> Ppn {
        let layout = &self.flash.layout;
        Ppn(layout.first_page(layout.block(layout.lanes_on(die).first(), 0)).0 + number)
    }

    /// Every block of the drive is programmed to its end.
    fn all_written(mut self) -> Self {
        let (blocks, rows) = (self.flash.layout.total_blocks(), self.flash.layout.rows);
        (0..blocks).for_each(|block| self.flash.adopt(Block(block), rows));
        self
    }

    fn start(&mut self, now: Instant, die: Die, what: What, token: u32) {
        self.flash.start(now, die, Operation { what, token: OpId(token), gc: false });
    }

    fn read(&mut self, now: Instant, die: Die, number: u32, token: u32) {
        let (page, sectors) = (self.page(die, number), self.page_sectors());
        self.start(now, die, What::Read { page, sectors }, token);
    }

    fn program(&mut self, now: Instant, die: Die, number: u32, token: u32) {
        let (row, sectors) = (self.page(die, number), self.page_sectors());
        self.start(now, die, What::Program { row, sectors }, token);
    }

    /// Fires everything that is due before `limit`.
    fn advance_before(&mut self, limit: Instant) {
        while self.flash.next_at() < limit {
            self.fire();
        }
    }

    fn fire(&mut self) -> (Instant, Fired) {
        let (now, fired) = self.flash.fire();
        self.done.extend(fired.done().map(|token| (now, token.0)));
        fired.free().into_iter().for_each(|die| self.flash.rest(die));
        (now, fired)
    }

    /// The next operation to end is `token`: not before `at`, but then.
    fn ends_at(&mut self, at: Instant, token: u32) {
        let before = self.done.len();
        self.advance_before(at);
        assert_eq!(self.done.len(), before, "nothing is done before {at:?}: {:?}", self.done);
        self.advance_before(at + NS);
        assert_eq!(self.done[before..], [(at, token)]);
    }

    /// Gives each die `each` reads, one after the other, and returns when the last one is done.
    fn read_all(&mut self, each: u32) -> Instant {
        let dies = self.flash.layout.dies;
        let mut left = vec![each; dies as usize];
        let mut end = Instant::START;
        for die in (0..dies).map(Die) {
            self.read(end, die, 0, die.0);
            left[die.index()] -= 1;
        }
        while self.flash.next_at() < Instant::NEVER {
            let (now, fired) = self.fire();
            end = now;
            if let Some(die) = fired.free().filter(|die| left[die.index()] > 0) {
                left[die.index()] -= 1;
                self.read(now, die, 0, die.0);
            }
        }
        assert_eq!(self.done.len() as u32, each * dies);
        end
    }
}

#[test]
fn a_read_is_command_array_and_transfer() {
    let mut bench = Bench::new(device()).all_written();
    let time = bench.command() + bench.read_array() + bench.page_transfer();
    assert_eq!(time, Duration::from_ns(142_575), "175 + 40,000 + 4096 x 25 ns");
    bench.read(Instant::START, Die(0), 0, 7);
    bench.ends_at(Instant::START + time, 7);
    assert!(bench.flash.is_idle(Die(0)));
}

#[test]
fn a_read_of_some_sectors_transfers_only_those() {
    let mut bench = Bench::new(device()).all_written();
    let page = bench.page(Die(0), 0);
    bench.start(Instant::START, Die(0), What::Read { page, sectors: 3 }, 7);
    let transfer = bench.device.channel.rate.time_for(3 * 512);
    bench.ends_at(Instant::START + bench.command() + bench.read_array() + transfer, 7);
}

#[test]
fn a_program_is_command_transfer_and_array() {
    let mut bench = Bench::new(device());
    let time = bench.command() + bench.page_transfer() + bench.program_array();
    bench.program(Instant::START, Die(0), 0, 7);
    bench.ends_at(Instant::START + time, 7);
    let page = bench.page(Die(0), 0);
    assert_eq!(bench.flash.rows_written(bench.flash.layout.block_of(page)), 1);
}

#[test]
fn an_erase_is_a_command_and_its_steps() {
    let mut bench = Bench::new(device()).all_written();
    let (page, command) = (bench.page(Die(0), 0), bench.device.channel.erase_command);
    let ArrayTiming { erase_step: step, erase_steps: steps, .. } = bench.device.timing;
    let block = bench.flash.layout.block_of(page);
    bench.flash.store(page, 5);
    bench.start(Instant::START, Die(0), What::Erase { block }, 7);
    for number in 1..u64::from(steps) {
        let boundary = Instant::START + command + step * number;
        assert_eq!(bench.flash.next_at(), boundary, "the end of step {number}");
        assert_eq!(bench.fire().1, Fired::NOTHING);
        assert!(!bench.flash.is_idle(Die(0)));
    }
    assert_eq!(
        bench.flash.rows_written(block),
        bench.flash.layout.rows,
        "not erased before its last step"
    );
    bench.ends_at(Instant::START + command + step * u64::from(steps), 7);
    assert_eq!((bench.flash.rows_written(block), bench.flash.load(page)), (0, super::GARBAGE));
}

#[test]
fn copyback_leaves_the_channel_to_others() {
    let mut bench = Bench::new(device()).all_written();
    let (page, rows) = (bench.page(Die(0), 0), bench.flash.layout.rows);
    bench.start(Instant::START, Die(0), What::Read { page, sectors: 0 }, 1);
    let read = Instant::START + bench.command() + bench.read_array();
    bench.ends_at(read, 1);
    let target = bench.flash.layout.block(Lane(0), 1);
    bench.flash.adopt(target, rows - 1);
    let row = bench.flash.layout.row_start(target, rows - 1);
    bench.start(read, Die(0), What::Program { row, sectors: 0 }, 2);
    bench.read(read, Die(1), 0, 3);
    // The other die waits for two commands, and for no data.
    bench.ends_at(read + bench.command() * 2 + bench.read_array() + bench.page_transfer(), 3);
    bench.ends_at(read + bench.command() + bench.program_array(), 2);
}

#[test]
fn reads_and_programs_take_the_time_of_their_page_type() {
    let mut device = device();
    device.timing.read = [50, 70, 100].map(Duration::from_us).to_vec();
    device.timing.program = [500, 2_000].map(Duration::from_us).to_vec();
    let mut bench = Bench::new(device.clone()).all_written();
    let mut now = Instant::START;
    for number in 0..6 {
        bench.read(now, Die(0), number, number);
        now += bench.command() + device.timing.read[number as usize % 3] + bench.page_transfer();
        bench.ends_at(now, number);
    }
    let (mut bench, mut now) = (Bench::new(device.clone()), Instant::START);
    for number in 0..4 {
        bench.program(now, Die(0), number, number);
        now += bench.command() + bench.page_transfer() + device.timing.program[number as usize % 2];
        bench.ends_at(now, number);
    }
}

#[test]
fn a_one_shot_word_line_takes_all_its_pages_and_one_program_time() {
    let mut device = device();
    device.feature.program_pages = 3;
    device.timing.read = [50, 70, 100].map(Duration::from_us).to_vec();
    let mut bench = Bench::new(device.clone());
    assert_eq!(bench.flash.layout.rows, device.geometry.pages / 3);
    let (row, sectors) = (bench.page(Die(0), 0), 3 * bench.page_sectors());
    bench.start(Instant::START, Die(0), What::Program { row, sectors }, 9);
    let mut now =
        Instant::START + bench.command() + bench.page_transfer() * 3 + bench.program_array();
    bench.ends_at(now, 9);
    for number in 0..3 {
        bench.read(now, Die(0), number, number);
        now += bench.command() + device.timing.read[number as usize] + bench.page_transfer();
        bench.ends_at(now, number);
    }
}

#[test]
fn multi_plane_programs_transfer_every_plane_and_run_once() {
    let mut device = device();
    (device.geometry.planes, device.feature.program_planes) = (2, 2);
    let mut bench = Bench::new(device);
    assert_eq!(bench.flash.layout.lanes, 4);
    let (row, sectors) = (bench.page(Die(0), 0), 2 * bench.page_sectors());
    bench.start(Instant::START, Die(0), What::Program { row, sectors }, 9);
    bench.ends_at(
        Instant::START + bench.command() + bench.page_transfer() * 2 + bench.program_array(),
        9,
    );
}

#[test]
fn two_dies_share_their_channel_in_the_order_of_asking() {
    let mut bench = Bench::new(device()).all_written();
    bench.read(Instant::START, Die(1), 0, 1);
    bench.read(Instant::START, Die(0), 0, 0);
    // Commands one after the other, arrays side by side, transfers one after the other.
    let first = Instant::START + bench.command() + bench.read_array() + bench.page_transfer();
    bench.ends_at(first, 1);
    bench.ends_at(first + bench.page_transfer(), 0);
}

#[test]
fn dies_of_different_channels_do_not_meet() {
    let mut bench = Bench::new(device()).all_written();
    let time = bench.command() + bench.read_array() + bench.page_transfer();
    bench.read(Instant::START, Die(0), 0, 0);
    bench.read(Instant::START, Die(2), 0, 2);
    bench.advance_before(Instant::NEVER);
    assert_eq!(bench.done, [(Instant::START + time, 0), (Instant::START + time, 2)]);
}

/// Cache read (ONFI 5.1, 5.15): 31h goes ahead of the data, so the array reads the next page while
/// this one crosses the channel.
#[test]
fn cache_reads_overlap_the_array_with_the_channel() {
    for (array, n) in [(40, 8), (200, 8), (40, 1)] {
        let mut device = device();
        device.feature.cache_read = true;
        device.geometry = Geometry { channels: 1, ways: 1, ..device.geometry };
        device.timing.read = vec![Duration::from_us(array)];
        let mut bench = Bench::new(device).all_written();
        let slower = bench.read_array().max(bench.page_transfer());
        let steady = (bench.command() + slower) * u64::from(n - 1);
        let total = bench.command() + bench.read_array() + steady + bench.page_transfer();
        assert_eq!(bench.read_all(n), Instant::START + total, "{n} reads with tR = {array} us");
    }
}

#[test]
fn without_cache_read_nothing_overlaps() {
    let mut device = device();
    device.geometry = Geometry { channels: 1, ways: 1, ..device.geometry };
    let mut bench = Bench::new(device).all_written();
    let one = bench.command() + bench.read_array() + bench.page_transfer();
    assert_eq!(bench.read_all(8), Instant::START + one * 8);
}

/// Cache program: the next page crosses the channel while the array programs: n pages take one load
/// and n array times.
#[test]
fn cache_programs_hide_the_transfer_behind_the_array() {
    let n = 5;
    let mut device = device();
    device.feature.cache_program = true;
    let mut bench = Bench::new(device);
    bench.program(Instant::START, Die(0), 0, 0);
    let mut next = 1;
    while bench.flash.next_at() < Instant::NEVER {
        let (now, fired) = bench.fire();
        if fired.preload().is_some() && next < n {
            let (row, sectors) = (bench.page(Die(0), next), bench.page_sectors());
            let operation =
                Operation { what: What::Program { row, sectors }, token: OpId(next), gc: false };
            bench.flash.preload(now, Die(0), operation);
            next += 1;
        }
    }
    let load = bench.command() + bench.page_transfer();
    assert!(load < bench.program_array(), "the array is the slower part here");
    let ends =
        (1..=u64::from(n)).map(|k| Instant::START + load + bench.program_array() * k).zip(0..n);
    assert_eq!(bench.done, ends.collect::<Vec<_>>());
}

#[test]
fn a_held_channel_keeps_data_in_the_registers_until_its_release() {
    let mut bench = Bench::new(device()).all_written();
    bench.read(Instant::START, Die(1), 0, 1);
    bench.read(Instant::START, Die(0), 0, 0);
    bench.flash.hold_channel(Instant::START, Channel(0));
    assert!(
        bench.flash.is_held(Die(0)) && bench.flash.is_held(Die(1)) && !bench.flash.is_held(Die(2))
    );
    let release = Instant::START + Duration::from_ms(3);
    bench.advance_before(release);
    assert_eq!(bench.done, [], "both have sensed, neither may transfer");
    assert_eq!(
        bench.flash.gc_time(Die(0), release),
        Duration::from_ms(3),
        "the hold is the collection's time"
    );
    bench.flash.release_channel(release, Channel(0));
    bench.ends_at(release + bench.page_transfer(), 1);
    bench.ends_at(release + bench.page_transfer() * 2, 0);
}

#[test]
fn a_held_channel_serves_the_collection_that_holds_it() {
    let mut bench = Bench::new(device()).all_written();
    bench.flash.hold_channel(Instant::START, Channel(0));
    let what = What::Read { page: bench.page(Die(0), 0), sectors: bench.page_sectors() };
    bench.flash.start(Instant::START, Die(0), Operation { what, token: OpId(1), gc: true });
    bench.ends_at(Instant::START + bench.command() + bench.read_array() + bench.page_transfer(), 1);
}

#[test]
fn a_transfer_behind_a_collections_transfer_says_so() {
    let mut bench = Bench::new(device()).all_written();
    let what = What::Read { page: bench.page(Die(0), 0), sectors: bench.page_sectors() };
    bench.flash.start(Instant::START, Die(0), Operation { what, token: OpId(1), gc: true });
    bench.read(Instant::START, Die(1), 0, 2);
    let mut behind = Vec::new();
    while bench.flash.next_at() < Instant::NEVER {
        let (_, fired) = bench.fire();
        behind.extend(fired.done().map(|token| (token.0, fired.behind_gc())));
    }
    assert_eq!(behind, [(1, false), (2, true)]);
}

/// MQSim's throughput depends on where the dies stand even when the channel costs nothing
/// (reference/peers.md, defect 4).
#[test]
fn eight_dies_read_eight_times_as_much_wherever_they_stand() {
    let each = 10;
    for independent_planes in [false, true] {
        let arrangements = [(8, 1, 1, 1), (1, 8, 1, 1), (1, 1, 8, 1), (2, 2, 2, 1), (1, 1, 1, 8)];
        for (channels, ways, dies, planes) in arrangements {
            if planes > 1 && !independent_planes {
                continue;
            }
            let mut device = device();
            device.geometry = Geometry { channels, ways, dies, planes, ..device.geometry };
            device.feature.independent_planes = independent_planes;
            device.channel.rate = Bandwidth::default();
            device.channel.command = Duration::ZERO;
            let mut bench = Bench::new(device).all_written();
            let end = bench.read_all(each);
            let alone = Instant::START + bench.read_array() * u64::from(each);
            assert_eq!(
                end, alone,
                "{channels} x {ways} x {dies} x {planes}: 8 x {each} reads take what {each} take"
            );
        }
    }
}

/// MQSim truncates these three rates to one (reference/peers.md, defect 8).
#[test]
fn nearby_channel_rates_give_different_reads() {
    let time = |rate: &str| {
        let mut device = device();
        device.channel.rate = rate.parse().unwrap();
        let mut bench = Bench::new(device).all_written();
        bench.read(Instant::START, Die(0), 0, 0);
        bench.advance_before(Instant::NEVER);
        bench.done[0].0
    };
    let base = device().channel.command + device().timing.read[0];
    // 4096 B at 667, 800 and 1000 MB/s, each rounded up to a whole nanosecond.
    let expected = [667, 800, 1_000]
        .map(|rate| Instant::START + base + Duration::from_ns(4_096_000u64.div_ceil(rate)));
    assert_eq!(["667MT/s", "800MT/s", "1000MT/s"].map(time), expected);
}

#[test]
fn dies_and_channels_are_busy_for_what_they_did() {
    let mut bench = Bench::new(device()).all_written();
    let n = 5;
    let end = bench.read_all(n);
    let (dies, channels) = bench.flash.busy();
    let bus = bench.command() + bench.page_transfer();
    assert_eq!(channels, bus * u64::from(n * bench.flash.layout.dies));
    assert_eq!(bench.flash.operations().reads, u64::from(n * bench.flash.layout.dies));
    let all_the_time = end.since(Instant::START) * u64::from(bench.flash.layout.dies);
    assert!(dies <= all_the_time, "{dies:?} of {all_the_time:?}");
}

#[test]
#[should_panic(expected = "programmed in order")]
fn a_row_is_not_skipped() {
    Bench::new(device()).program(Instant::START, Die(0), 1, 0);
}

#[test]
#[should_panic(expected = "programmed in order")]
fn a_row_is_not_programmed_twice() {
    let mut bench = Bench::new(device());
    bench.program(Instant::START, Die(0), 0, 0);
    bench.advance_before(Instant::NEVER);
    let now = Instant::from_ns(1_000_000_000);
    bench.program(now, Die(0), 0, 1);
}

#[test]
#[should_panic(expected = "is erased")]
fn an_erased_page_is_not_read() {
    Bench::new(device()).read(Instant::START, Die(0), 0, 0);
}

#[test]
#[should_panic(expected = "is erased")]
fn a_page_is_not_read_after_its_block_was_erased() {
    let mut bench = Bench::new(device()).all_written();
    let block = bench.flash.layout.block_of(bench.page(Die(0), 0));
    bench.start(Instant::START, Die(0), What::Erase { block }, 0);
    bench.advance_before(Instant::NEVER);
    bench.read(Instant::from_ns(1_000_000_000), Die(0), 0, 1);
}
