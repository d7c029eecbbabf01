//! Numbers that no drive has: a unit that was mistaken, a fresh drive that was none.

use super::{Latencies, Window};

/// Reads from flash take longer (us): the fastest cells with one bit are read in 3 us, and the host
/// and the link come on top.
const READ: f64 = 3.0;
/// Sixteen lanes of PCIe 5.0 carry so many bytes a second.
const RATE: f64 = 64e9;
/// The share of its slots that a closed loop has under way, where more than one may be: that of
/// fio's runs is 0.94 and more, and a depth that is said to be twice what it was halves it.
const LEAST_UNDER_WAY: f64 = 0.55;
/// Of one at a time it is less: the host's own time is then part of each.
const LEAST_OF_ONE: f64 = 0.3;
/// Capacities that are simulated.
const CAPACITIES: f64 = 1000.0;
/// WAF of random writes to a drive with 2 % of spare space, the least that is fitted, is half of
/// this.
const WAF: f64 = 50.0;
/// Until so much was written a fresh drive has nothing to collect: what is programmed twice there
/// went through a cache.
const EARLY: f64 = 0.9;
const EARLY_WAF: f64 = 3.0;
/// A drive with half of its blocks spare, the most that is fitted, collects behind 2 capacities.
const COLLECTS_BY: f64 = 3.0;

/// The least share of slots that a closed loop has under way.
pub(super) fn least_under_way(slots: f64) -> f64 {
    if slots > 1.0 { LEAST_UNDER_WAY } else { LEAST_OF_ONE }
}

/// Nothing if a drive can have made these latencies.
pub(super) fn load(of: &Latencies) -> Result<(), String> {
    let (median, rate) = (of.percentiles_us[0], of.iops * of.block as f64);
    if of.is_read && median < READ {
        return Err(format!(
            "a median of {median} us: no flash is read within {READ} us; did a cache answer, or is \
             the unit another one?"
        ));
    }
    if rate > RATE * f64::from(of.drives) {
        return Err(format!(
            "iops x bs are {:.1} GB a second, more than the {:.0} of sixteen lanes of PCIe 5.0",
            rate / 1e9,
            RATE / 1e9
        ));
    }
    Ok(())
}

/// Nothing if a drive, `is_fresh` before the first window, can have made this one. `names` are
/// those of its end, its WAF and its rate.
pub(super) fn window(of: &Window, names: [&str; 3], is_fresh: bool) -> Result<(), String> {
    let [end, waf_name, rate] = names;
    if of.to > CAPACITIES {
        return Err(format!(
            "{end} = {} is not allowed: up to {CAPACITIES}, where 1 is the whole drive written \
             once, no bytes and no percentage",
            of.to
        ));
    }
    if let Some(waf) = of.waf.filter(|waf| *waf > WAF) {
        return Err(format!(
            "{waf_name} = {waf} is not allowed: up to {WAF}, where 1 is a byte of the flash for \
             each of the host, no percentage"
        ));
    }
    if let Some(waf) = of.waf.filter(|waf| is_fresh && of.to <= EARLY && *waf > EARLY_WAF) {
        return Err(format!(
            "{waf_name} = {waf} before the drive was written once: a fresh one has nothing to \
             collect there (up to {EARLY_WAF}, of one that folds a cache); is it a percentage, or \
             was the drive not fresh?"
        ));
    }
    if of.bytes_per_s > RATE {
        return Err(format!(
            "{rate} = {} is not allowed: GB a second, up to the {:.0} of sixteen lanes of PCIe \
             5.0; are they MB?",
            of.bytes_per_s / 1e9,
            RATE / 1e9
        ));
    }
    Ok(())
}

/// Nothing if a drive that was fresh can have collected as late as these windows say.
pub(super) fn course(windows: &[Window]) -> Result<(), String> {
    let begins = windows.first().map_or(0.0, |of| of.from);
    let collects = |of: &&Window| of.waf.is_some_and(|waf| waf > 1.05);
    let first = windows.iter().find(collects).filter(|of| of.from > COLLECTS_BY);
    match first.filter(|_| begins < 1.0) {
        Some(of) => Err(format!(
            "nothing is collected before {} capacities were written: a drive with half of its \
             blocks spare does behind 2, under random writes; are these percent of the capacity?",
            of.from
        )),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{DriveState, Measurement, Said};

    const HEAD: &str =
        "capacities_written_from,capacities_written_to,waf_in_window,host_gb_per_s\n";

    fn refused(rows: &str) -> String {
        let found = Measurement::of("w.csv", &format!("{HEAD}{rows}"), &Said::default());
        found.unwrap_err().to_string()
    }

    /// The lines of a drive that was measured, each in another unit.
    #[test]
    fn windows_in_another_unit_are_refused_with_line_key_and_value() {
        let bytes = "0,628224000000,1,3.5\n628224000000,1261056000000,1,5.3\n";
        let cases = [
            (bytes, "line 2", "capacities_written_to = 628224000000", "1 is the whole drive"),
            ("0,0.1,1,5\n0.1,0.2,1,5278\n", "line 3", "host_gb_per_s = 5278", "are they MB?"),
            ("0,0.1,100,5\n0.1,0.2,100,5\n", "line 2", "waf_in_window = 100", "no percentage"),
            ("0,0.1,4,5\n0.1,0.2,4,5\n", "line 2", "waf_in_window = 4", "nothing to collect"),
        ];
        for (rows, line, key, why) in cases {
            let said = refused(rows);
            assert!([line, key, why].iter().all(|word| said.contains(word)), "{said}");
        }
        let percent = "0,8,1,5\n8,100,1,5\n100,140,1,5\n140,144,2.4,2\n";
        let said = refused(percent);
        assert!(said.contains("nothing is collected before 140") && said.contains("percent"));
        // Of a drive that was written before, a first window may collect.
        let filled = Said { state: Some(DriveState::Filled), ..Said::default() };
        let rows = format!("{HEAD}0,0.1,4,2\n0.1,0.2,4,2\n0.2,0.3,4,2\n");
        assert!(Measurement::of("w.csv", &rows, &filled).is_ok());
    }

    /// A run of fio of one block and depth, that many reads a second of that latency.
    fn fio(block: u64, depth: u32, iops: f64, us: f64) -> Result<Measurement, String> {
        let (total, ns) = ((iops * 10.0) as u64, us * 1e3);
        let text = format!(
            "{{\"fio version\": \"fio-3.35\", \"global options\": {{\"bs\": \"{block}\", \"rw\": \
             \"randread\", \"iodepth\": \"{depth}\", \"ioengine\": \"io_uring\", \"direct\": \
             \"1\"}}, \"jobs\": [{{\"error\": 0, \"read\": {{\"io_bytes\": {}, \"iops\": {iops}, \
             \"runtime\": 10000, \"total_ios\": {total}, \"clat_ns\": {{\"mean\": {ns}, \
             \"percentile\": {{\"50.000000\": {ns}, \"90.000000\": {ns}, \"99.000000\": {ns}, \
             \"99.900000\": {ns}}}}}}}}}]}}",
            total * block
        );
        Measurement::of("a.json", &text, &Said::default()).map_err(|error| error.to_string())
    }

    #[test]
    fn reads_that_no_flash_and_no_link_does_are_refused_and_a_depth_said_twice_too_high() {
        assert!(fio(4096, 16, 200_000.0, 78.0).is_ok() && fio(4096, 1, 14_000.0, 68.0).is_ok());
        let fast = fio(4096, 1, 700_000.0, 1.3).unwrap_err();
        assert!(fast.contains("a median of 1.3 us: no flash is read within 3 us"), "{fast}");
        let wide = fio(1 << 20, 16, 100_000.0, 155.0).unwrap_err();
        assert!(wide.contains("104.9 GB a second"), "{wide}");
        let deep = fio(4096, 32, 200_000.0, 78.0).unwrap_err();
        assert!(
            deep.contains("15.60 requests under way") && deep.contains("said too high"),
            "{deep}"
        );
    }
}
