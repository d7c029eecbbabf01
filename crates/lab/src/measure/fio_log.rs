//! fio's logs of latencies in their real form (`write_lat_log`: `NAME_clat.1.log`,
//! `NAME_lat.1.log`; fio's HOWTO, "Log File Formats"): milliseconds, latency in ns, direction,
//! bytes, offset, priority, a line for each request at its completion.

use super::MeasureError;
use super::samples::Sample;

/// Averages (`log_avg_msec`) come no more often than this, and requests no more seldom.
const AVERAGED_MS: f64 = 5.0;

/// A line of numbers between commas, and nothing else.
pub(super) fn is_log(text: &str) -> bool {
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let number = |cell: &str| {
        let cell = cell.trim();
        !cell.is_empty()
            && (cell.bytes().all(|byte| byte.is_ascii_digit())
                || cell.strip_prefix("0x").is_some_and(|hex| {
                    !hex.is_empty() && hex.bytes().all(|byte| byte.is_ascii_hexdigit())
                }))
    };
    (4..=8).contains(&line.split(',').count()) && line.split(',').all(number)
}

/// Reads the requests.
pub(super) fn read(file: &str, text: &str) -> Result<Vec<Sample>, MeasureError> {
    let name = std::path::Path::new(file).file_name().unwrap_or_default().to_string_lossy();
    for (part, what) in
        [("_slat.", "the time up to the submission"), ("_bw.", "bandwidth"), ("_iops.", "IOPS")]
    {
        if name.contains(part) {
            let message = format!(
                "by its name a log of {what}, not of latencies: NAME_clat.N.log or NAME_lat.N.log \
                 is expected"
            );
            return Err(MeasureError::new(file, "", message));
        }
    }
    let mut samples = Vec::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let error =
            |message: String| MeasureError::new(file, format!("line {}", number + 1), message);
        let cells: Vec<&str> = line.split(',').map(str::trim).collect();
        if cells.len() < 4 {
            let count = cells.len();
            return Err(error(format!(
                "{count} values: ms, latency, direction, bytes are expected"
            )));
        }
        let whole = |at: usize, what: &str| -> Result<u64, MeasureError> {
            let cell = cells[at];
            cell.parse().map_err(|_| error(format!("{what} = {cell} is no whole number")))
        };
        let (ms, latency_ns) = (whole(0, "time")?, whole(1, "latency")?);
        let is_read = match whole(2, "direction")? {
            0 => true,
            1 => false,
            2 => return Err(error("direction 2, a trim: reads (0) or writes (1)".to_string())),
            other => {
                return Err(error(format!(
                    "direction {other} is not allowed: 0 (read) or 1 (write)"
                )));
            }
        };
        let bytes = whole(3, "bytes")?;
        if bytes == 0 || bytes % 512 != 0 {
            return Err(error(format!(
                "bytes = {bytes} is not allowed: a multiple of 512; an average over time \
                 (log_avg_msec) has 0"
            )));
        }
        let offset = cells.get(4).and_then(|cell| cell.parse().ok());
        samples.push(Sample {
            is_read,
            bytes,
            offset,
            at_ns: ms.saturating_mul(1_000_000),
            latency_ns,
        });
    }
    averaged(file, &samples)?;
    Ok(samples)
}

/// A line for each span of time and not for each request: its latencies are means, without a tail.
fn averaged(file: &str, samples: &[Sample]) -> Result<(), MeasureError> {
    let (Some(first), Some(last)) = (samples.first(), samples.last()) else { return Ok(()) };
    let between = last.at_ns.saturating_sub(first.at_ns) as f64 / 1e6 / samples.len() as f64;
    let mean = samples.iter().map(|of| of.latency_ns as f64).sum::<f64>() / samples.len() as f64;
    if between > AVERAGED_MS && mean / 1e6 < 0.2 * between {
        return Err(MeasureError::new(
            file,
            "",
            format!(
                "a line each {between:.0} ms of latencies of {:.3} ms: averages (log_avg_msec), \
                 which have no tail; record the log without log_avg_msec",
                mean / 1e6
            ),
        ));
    }
    Ok(())
}
