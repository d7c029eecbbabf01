//! Channels that do not serve in the order of asking: by formula, and against a line that is looked
//! at each time the channel becomes free.

use super::*;
use crate::flash::ChannelOrder;
use crate::sim::Rng;

/// One channel with `ways` chips, of which every block is erased, or written where reads go.
fn bench(ways: u32, order: ChannelOrder) -> Bench {
    let mut device = device();
    (device.geometry.channels, device.geometry.ways) = (1, ways);
    let mut bench = Bench::new(device);
    bench.flash.serve_in_order(order);
    bench
}

impl Bench {
    /// The die's block 0 is written to its end.
    fn is_written(&mut self, die: Die) {
        let layout = &self.flash.layout;
        let (block, rows) = (layout.block(layout.lanes_on(die).first(), 0), layout.rows);
        self.flash.adopt(block, rows);
    }

    /// When everything that was started is done, by token.
    fn ends(&mut self) -> Vec<(u32, Instant)> {
        self.advance_before(Instant::NEVER);
        let mut ends: Vec<_> = self.done.iter().map(|(at, token)| (*token, *at)).collect();
        ends.sort_unstable();
        ends
    }
}

/// A read senses while the data of one program crosses; that of another waits.
#[test]
fn data_that_was_read_goes_before_data_to_program_that_has_not_begun() {
    for order in [ChannelOrder::FirstCome, ChannelOrder::DataFirst] {
        let mut bench = bench(3, order);
        bench.is_written(Die(0));
        let (zero, c, t) = (Instant::START, bench.command(), bench.page_transfer());
        let p = bench.program_array();
        bench.read(zero, Die(0), 0, 0);
        bench.program(zero, Die(1), 0, 1);
        bench.program(zero, Die(2), 0, 2);
        let first = zero + c * 2 + t;
        let (read, second) = match order {
            ChannelOrder::DataFirst => (first + t, first + t + c + t),
            _ => (first + c + t + t, first + c + t),
        };
        let ends = [(0, read), (1, first + p), (2, second + p)];
        assert_eq!(bench.ends(), ends, "{order:?}");
    }
}

/// Chip 3 has the channel; chips 2, 0 and 1 ask in this order.
#[test]
fn dies_take_turns_from_the_one_on_that_has_the_channel() {
    let mut bench = bench(4, ChannelOrder::RoundRobin);
    bench.is_written(Die(1));
    let (zero, c, t) = (Instant::START, bench.command(), bench.page_transfer());
    let p = bench.program_array();
    [3, 2, 0].into_iter().for_each(|die| bench.program(zero, Die(die), 0, die));
    bench.read(zero, Die(1), 0, 1);
    let third = zero + c + t;
    let zeroth = third + c + t;
    let second = zeroth + c + c + t;
    let ends = [(0, zeroth + p), (1, second + t), (2, second + p), (3, third + p)];
    assert_eq!(bench.ends(), ends);
}

/// Reads and programs at random times, on dies that are free then: with the order of asking the
/// line is the next-free time, and no order leaves the channel idle or loses an operation.
#[test]
fn the_order_of_asking_is_the_next_free_time_and_every_order_does_the_same_work() {
    let mut others = 0;
    for seed in 0..20 {
        let play = |order: Option<ChannelOrder>, cache_read: bool| {
            let mut device = device();
            (device.geometry.channels, device.geometry.ways) = (1, 5);
            device.geometry.pages = 255;
            device.feature.cache_read = cache_read;
            let mut bench = Bench::new(device);
            order.into_iter().for_each(|order| bench.flash.serve_in_order(order));
            (0..3).map(Die).for_each(|die| bench.is_written(die));
            let (mut rng, mut now) = (Rng::stream(seed, "order"), Instant::START);
            let mut rows = [0; 5];
            for token in 0..200 {
                now += Duration::from_ns(rng.below(60_000));
                let die = Die(rng.below(5) as u32);
                bench.advance_before(now);
                if !bench.flash.is_idle(die) {
                    continue;
                }
                if die.0 < 3 {
                    bench.read(now, die, 7, token);
                } else {
                    bench.program(now, die, rows[die.index()], token);
                    rows[die.index()] += 1;
                }
            }
            (bench.ends(), bench.flash.busy().1, bench.flash.operations().total())
        };
        for cache_read in [false, true] {
            let plain = play(None, cache_read);
            assert_eq!(plain, play(Some(ChannelOrder::FirstCome), cache_read), "seed {seed}");
            for order in [ChannelOrder::DataFirst, ChannelOrder::RoundRobin] {
                let (ends, busy, operations) = play(Some(order), cache_read);
                assert_eq!(ends.len() as u64, operations, "{order:?}, seed {seed}");
                assert!(busy > Duration::ZERO, "{order:?}, seed {seed}");
                others += u32::from(ends != plain.0);
            }
        }
    }
    assert!(others > 60, "{others} of 80 are served in another order");
}
