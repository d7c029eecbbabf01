//! Page types in paired order and programs in two passes: on drives that may have anything else the
//! data stays right, and the knobs move what they should.

use super::{Setup, drawn, one_of, small};
use crate::drive::ProgramMode;
use crate::flash::PageOrder;
use crate::ftl::GcMode;
use crate::host::JobSpec;
use crate::sim::Rng;
use crate::units::Duration;

fn times(of: [u64; 2]) -> Vec<Duration> {
    of.map(Duration::from_us).to_vec()
}

#[test]
fn drawn_drives_with_paired_pages_or_two_passes_keep_their_data() {
    let mut seen = [0; 2];
    for seed in 0..40 {
        let (mut setup, mut rng) = (drawn(seed), Rng::stream(seed, "drawn pages"));
        let (feature, timing) = (&mut setup.device.feature, &mut setup.device.timing);
        if feature.program_pages == 1 {
            (timing.read, timing.program) = (times([40, 60]), times([500, 2_000]));
            feature.page_order = PageOrder::Paired;
            seen[0] += 1;
        }
        if setup.gc.mode != GcMode::PlaneBlocking && one_of(&mut rng, &[true, true, false]) {
            (setup.gc.copyback, setup.program.mode) = (false, ProgramMode::None);
            feature.cache_program = false;
            timing.foggy = Duration::from_us(300);
            seen[1] += 1;
        }
        setup.play();
    }
    assert!(seen.iter().all(|count| *count >= 10), "{seen:?}");
}

/// Writes one after the other, each until it is on flash.
fn write_mean(change: impl Fn(&mut Setup)) -> f64 {
    let mut setup = small();
    setup.gc.mode = GcMode::Nogc;
    setup.drive.write_through = true;
    let job = JobSpec { queue_depth: 1, read_percent: 0.0, requests: 400, ..JobSpec::default() };
    setup.jobs = vec![job];
    change(&mut setup);
    let driver = setup.play();
    driver.measured().write.histogram.mean().expect("there are writes").as_us_f64()
}

#[test]
fn a_coarse_pass_takes_its_time_and_a_transfer_more() {
    let (one, two) =
        (write_mean(|_| {}), write_mean(|s| s.device.timing.foggy = Duration::from_us(300)));
    // 4 KiB at 40 MB/s are 102.4 us, a command is 175 ns.
    assert!((two - one - 300.0 - 102.4 - 0.175).abs() < 0.002, "{one} {two}");
}

#[test]
fn paired_order_moves_slow_pages_and_leaves_their_number() {
    let mean = |order| {
        write_mean(|s| {
            (s.device.timing.program, s.device.feature.page_order) = (times([500, 2_000]), order);
        })
    };
    let (line, paired) = (mean(PageOrder::WordLine), mean(PageOrder::Paired));
    assert!((paired / line - 1.0).abs() < 0.1 && paired != line, "{line} {paired}");
}
