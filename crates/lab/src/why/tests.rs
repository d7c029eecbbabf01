//! Planted causes: a naive device of servers with one thing wrong with it, and whether it is found.

use super::finding::{Findings, Kind, find};
use super::rows::Row;
use manx_core::drive::Op;
use manx_core::sim::{Rng, math};

/// The thing that is wrong with a device.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Planted {
    Nothing,
    /// After so many bytes written every server pauses for so many ms.
    Collections(u64, f64),
    /// So many requests at once, every so many seconds.
    Bursts(u64, f64),
    /// A member of so many is so many times slower.
    Member(u64, f64),
}

/// A device of eight servers that come next in turn of address; 4 KiB, 30 % writes, Poisson
/// arrivals at a fifth of what it can do; service of about 100 us.
fn trace(planted: Planted, seed: u64) -> Vec<Row> {
    let mut rng = Rng::stream(seed, "why");
    let (mut rows, mut now, mut written) = (Vec::new(), 0.0f64, 0u64);
    let (mut free, mut next_burst) = ([0.0f64; 8], 1.0f64);
    let mut paused_until = 0.0f64;
    let mut left = 0u64;
    while rows.len() < 30_000 {
        if left > 0 {
            left -= 1;
            now += 1e-6;
        } else {
            now += -math::ln(1.0 - rng.unit()) / 16_000.0;
        }
        if let Planted::Bursts(count, every) = planted
            && now > next_burst
        {
            (left, next_burst) = (count, now + every * (0.5 + rng.unit()));
        }
        let op = if rng.unit() < 0.3 { Op::Write } else { Op::Read };
        let offset = rng.below(1 << 20) * 4096;
        let mut service = 100e-6 * (0.7 + 0.3 * (rng.unit() + rng.unit()));
        if let Planted::Member(of, times) = planted
            && offset / 65_536 % of == 1
        {
            service *= times;
        }
        if op == Op::Write {
            written += 4096;
            if let Planted::Collections(every, ms) = planted
                && written >= every
            {
                (written, paused_until) = (0, now + ms / 1e3);
            }
        }
        let server = match planted {
            // A slow member has a server of its own.
            Planted::Member(of, _) if offset / 65_536 % of == 1 => 7,
            Planted::Member(..) => (offset / 4096 % 7) as usize,
            _ => (offset / 4096 % 8) as usize,
        };
        let begin = now.max(free[server]).max(paused_until);
        free[server] = begin + service;
        let us = (free[server] - now) * 1e6;
        rows.push(Row { at_s: now, us, op, offset, bytes: 4096, device: 0 });
    }
    rows
}

fn look(rows: &[Row]) -> Findings {
    find(rows, &[])
}

fn first(findings: &Findings) -> Option<Kind> {
    findings.causes.first().map(|cause| cause.kind)
}

#[test]
fn a_planted_cause_is_ranked_first_in_eighteen_of_twenty_traces() {
    let mut cases = Vec::new();
    for n in 0..7u64 {
        let mib = (1 + n) << 20;
        cases.push((Planted::Collections(mib, 8.0 + 6.0 * n as f64), Kind::Collection));
        cases.push((Planted::Bursts(200 + 150 * n, 0.4 + 0.1 * n as f64), Kind::Burst));
    }
    for n in 0..6u64 {
        cases.push((Planted::Member(4 + n % 4, 6.0 + n as f64), Kind::Member));
    }
    let (mut right, mut told) = (0, Vec::new());
    for (seed, (planted, kind)) in cases.iter().enumerate() {
        // Other traces than those that the limits were chosen on.
        let findings = look(&trace(*planted, 500 + seed as u64));
        right += usize::from(first(&findings) == Some(*kind));
        told.push(format!("{planted:?}: {:?}", findings.causes));
    }
    println!("{right} of {}", cases.len());
    assert!(cases.len() == 20 && right >= 18, "{right}: {}", told.join("\n"));
}

#[test]
fn a_healthy_device_has_nothing_to_find() {
    for seed in 900..910 {
        let findings = look(&trace(Planted::Nothing, seed));
        assert!(findings.causes.is_empty(), "seed {seed}: {:?}", findings.causes);
        assert!(findings.episodes.is_empty(), "seed {seed}: {:?}", findings.episodes);
    }
}

#[test]
fn the_share_is_that_of_the_slow_time_and_the_rest_is_healthy() {
    let findings = look(&trace(Planted::Member(5, 8.0), 3));
    let cause = &findings.causes[0];
    assert_eq!(cause.kind, Kind::Member);
    assert!(cause.share_percent > 90.0 && findings.unexplained_percent < 10.0, "{cause:?}");
    assert!(cause.text.contains("chunks of 64 KiB"), "{}", cause.text);
    assert!(cause.without_p99_9_us < findings.p99_9_us / 3.0, "{cause:?}");
}

#[test]
fn nothing_and_very_little_are_no_reason_to_fail() {
    assert_eq!(look(&[]), Findings::default());
    let row = Row { at_s: 0.0, us: 100.0, op: Op::Read, offset: 0, bytes: 4096, device: 0 };
    for count in [1, 2, 5, 50] {
        let rows = vec![row; count];
        assert!(look(&rows).causes.is_empty());
    }
}

#[test]
fn a_device_that_becomes_slower_for_good_is_told_as_that() {
    let mut rows = trace(Planted::Nothing, 4);
    let half = rows.len() / 2;
    rows[half..].iter_mut().for_each(|row| row.us *= 6.0);
    let findings = look(&rows);
    assert_eq!(first(&findings), Some(Kind::Shift), "{findings:?}");
}

/// More than half of all requests are slow: their median is no measure of a healthy one.
#[test]
fn a_change_for_good_explains_what_comes_after_it_however_much_that_is() {
    for part in [2, 5, 7] {
        let mut rows = trace(Planted::Nothing, 4);
        let from = rows.len() * part / 10;
        rows[from..].iter_mut().for_each(|row| row.us *= 15.0);
        let findings = look(&rows);
        let cause = &findings.causes[0];
        assert_eq!(cause.kind, Kind::Shift, "{findings:?}");
        assert!(cause.share_percent > 95.0 && findings.unexplained_percent < 5.0, "{findings:?}");
    }
}

/// Of eighty devices that begin in another order than their names, one is slow.
#[test]
fn a_slow_device_is_named_as_the_trace_names_it_also_the_seventieth() {
    let names: Vec<String> = (0..80).map(|place| format!("disk{}", 79 - place)).collect();
    for slow in [3, 70] {
        let mut rows = trace(Planted::Nothing, 5);
        for (number, row) in rows.iter_mut().enumerate() {
            row.device = (number * 7 % 80) as u32;
            row.us *= if row.device == slow { 60.0 } else { 1.0 };
        }
        let findings = find(&rows, &names);
        let cause = &findings.causes[0];
        let name = format!("device `disk{}` of the trace", 79 - slow);
        assert!(cause.kind == Kind::Member && cause.text.contains(&name), "{findings:?}");
    }
}

#[test]
fn requests_of_two_causes_are_explained_once() {
    let mut rows = trace(Planted::Nothing, 6);
    for (number, row) in rows.iter_mut().enumerate() {
        if number % 100 == 0 {
            (row.bytes, row.device, row.us) = (1 << 20, 1, 6_000.0);
        } else if number % 100 == 50 {
            row.us = 6_000.0;
        }
    }
    let names = ["a".to_string(), "b".to_string()];
    let findings = find(&rows, &names);
    let kinds: Vec<Kind> = findings.causes.iter().map(|cause| cause.kind).collect();
    assert!(kinds.contains(&Kind::Member) && kinds.contains(&Kind::Size), "{findings:?}");
    assert!((40.0..60.0).contains(&findings.unexplained_percent), "{findings:?}");
}

/// One median of all requests is that of the slow device: nothing is slow beside it.
#[test]
fn a_slow_device_that_has_most_of_the_requests_is_found_beside_the_others_medians() {
    let names: Vec<String> = ["a", "b", "c"].map(str::to_string).to_vec();
    for devices in [2u32, 3] {
        for tenths in [1, 5, 6, 9] {
            let mut rows = trace(Planted::Nothing, 7);
            for (number, row) in rows.iter_mut().enumerate() {
                let slow = number * 7 % 10 < tenths;
                row.device = if slow { 0 } else { 1 + number as u32 % (devices - 1) };
                row.us *= if slow { 30.0 } else { 1.0 };
            }
            let findings = find(&rows, &names);
            let cause = &findings.causes[0];
            assert!(cause.text.starts_with("device `a` of the trace is slower"), "{findings:?}");
            assert!(cause.text.contains(": its median is "), "{}", cause.text);
            assert!(cause.share_percent > 95.0 && findings.unexplained_percent < 5.0, "{cause:?}");
        }
    }
}

#[test]
fn devices_that_are_alike_have_nothing_to_find_whatever_share_each_has() {
    let names: Vec<String> = ["a", "b", "c"].map(str::to_string).to_vec();
    for seed in 920..930 {
        let mut rows = trace(Planted::Nothing, seed);
        for (number, row) in rows.iter_mut().enumerate() {
            row.device = if number % 10 < 8 { 0 } else { 1 + number as u32 % 2 };
        }
        let findings = find(&rows, &names);
        assert!(findings.causes.is_empty(), "seed {seed}: {:?}", findings.causes);
    }
}

/// A second cause was told of the change of the mix: "garbage collection, or a cache".
#[test]
fn bursts_to_a_slow_device_alone_are_no_episodes_of_its_own() {
    let names: Vec<String> = ["a", "b"].map(str::to_string).to_vec();
    for seed in 940..944 {
        let mut rows = trace(Planted::Nothing, seed);
        for (number, row) in rows.iter_mut().enumerate() {
            // Of each thousand a hundred, and for the rest one in ten, go to it.
            let slow = number % 1000 < 100 || number % 10 == 0;
            row.device = u32::from(!slow);
            row.us *= if slow { 30.0 } else { 1.0 };
        }
        let findings = find(&rows, &names);
        let kinds: Vec<Kind> = findings.causes.iter().map(|cause| cause.kind).collect();
        assert_eq!(kinds, [Kind::Member], "seed {seed}: {findings:?}");
        assert!(findings.episodes.is_empty(), "seed {seed}: {:?}", findings.episodes);
    }
}

#[test]
fn a_pause_of_years_between_requests_takes_no_memory() {
    let mut rows = trace(Planted::Bursts(400, 0.5), 8);
    let near = look(&rows);
    let half = rows.len() / 2;
    rows[half..].iter_mut().for_each(|row| row.at_s += 1e9);
    let findings = look(&rows);
    assert_eq!((first(&near), first(&findings)), (Some(Kind::Burst), Some(Kind::Burst)));
}
