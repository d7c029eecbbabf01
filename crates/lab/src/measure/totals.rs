//! Counters of a drive that only rise, read now and then: host and media bytes since it was made
//! (OCP SMART log C0h, "Physical Media Units Written"; NVMe SMART log 02h, "Data Units Written").
//! The differences of one line and the next are the windows.

use super::said::Said;
use super::{MeasureError, Window, plausible};

/// NVMe Base 2.1, SMART / Health Information: a data unit is 1000 blocks of 512 B.
const DATA_UNIT: f64 = 512_000.0;

/// Names of the columns, and the bytes or seconds of one of their units.
const TIME: [(&str, f64); 3] = [("time_s", 1.0), ("time_ms", 1e-3), ("timestamp", 1.0)];
const HOST: [(&str, f64); 2] = [("host_bytes_written", 1.0), ("data_units_written", DATA_UNIT)];
const MEDIA: [(&str, f64); 3] = [
    ("media_bytes_written", 1.0),
    ("physical_media_units_written", 1.0),
    ("nand_bytes_written", 1.0),
];

/// Names of a window's figures in an error.
const NAMES: [&str; 3] = ["the capacities written", "media over host bytes", "the rate"];

type Column = (usize, f64);

fn column(names: &[String], of: &[(&str, f64)]) -> Option<Column> {
    of.iter().find_map(|(name, unit)| Some((names.iter().position(|known| known == name)?, *unit)))
}

fn head(text: &str) -> Vec<String> {
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    line.split(',').map(|name| name.trim().to_ascii_lowercase().replace(' ', "_")).collect()
}

pub(super) fn is_csv(text: &str) -> bool {
    let names = head(text);
    column(&names, &HOST).is_some() || column(&names, &MEDIA).is_some()
}

/// Reads the windows.
pub(super) fn read(file: &str, text: &str, said: &Said) -> Result<Vec<Window>, MeasureError> {
    let names = head(text);
    let need = |of: &[(&str, f64)]| {
        column(&names, of).ok_or_else(|| {
            let names: Vec<&str> = of.iter().map(|(name, _)| *name).collect();
            let message = format!("there is no column {}", names.join(" or "));
            MeasureError::new(file, "line 1", message)
        })
    };
    let columns = [need(&TIME)?, need(&HOST)?, need(&MEDIA)?];
    let capacity = said.capacity.ok_or_else(|| {
        let message = "counters need the drive's capacity: FILE@capacity=7.68TB";
        MeasureError::new(file, "", message)
    })? as f64;
    let mut before: Option<[f64; 3]> = None;
    let (mut windows, mut written) = (Vec::new(), 0.0);
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    for (number, line) in lines.skip(1) {
        let error =
            |message: String| MeasureError::new(file, format!("line {}", number + 1), message);
        let cells: Vec<&str> = line.split(',').map(str::trim).collect();
        if cells.len() != names.len() {
            let (cells, names) = (cells.len(), names.len());
            return Err(error(format!("{cells} values under {names} columns")));
        }
        let mut now = [0.0; 3];
        for (value, (place, unit)) in now.iter_mut().zip(columns) {
            let cell = cells[place];
            let number =
                cell.parse().ok().filter(|number: &f64| *number >= 0.0 && number.is_finite());
            let number =
                number.ok_or_else(|| error(format!("{} = {cell} is no number", names[place])))?;
            *value = number * unit;
        }
        if let Some(last) = before {
            let [seconds, host, media] = [0, 1, 2].map(|at| now[at] - last[at]);
            if seconds <= 0.0 {
                return Err(error("its time is not behind that of the line before".to_string()));
            }
            if host < 0.0 || media < 0.0 {
                return Err(error(
                    "a counter falls: it was reset, or the lines are of two drives".to_string(),
                ));
            }
            // Nothing was written: no window, but the time is gone.
            if host > 0.0 {
                let (from, to) = (written, written + host / capacity);
                let waf = media / host;
                if waf < 0.9 {
                    return Err(error(format!(
                        "{media:.0} B of the media for {host:.0} B of the host: fewer than the \
                         host writes; is the unit of a column another one?"
                    )));
                }
                let (waf, bytes_per_s) = (Some(waf.max(1.0)), host / seconds);
                let window = Window { from, to, waf, bytes_per_s };
                plausible::window(&window, NAMES, said.is_fresh()).map_err(error)?;
                windows.push(window);
                written = to;
            }
        }
        before = Some(now);
    }
    if windows.len() < 3 {
        let message =
            format!("{} windows: at least 4 lines with writes between are needed", windows.len());
        return Err(MeasureError::new(file, "", message));
    }
    Ok(windows)
}
