//! Windows of a long write, as CSV: capacities written from and to, the WAF between them by the
//! drive's counters, and the rate.

use super::said::Said;
use super::{MeasureError, Window, plausible};

/// The columns, by their names in the first line; in any order, others are not looked at.
const COLUMNS: [&str; 4] =
    ["capacities_written_from", "capacities_written_to", "waf_in_window", "host_gb_per_s"];

/// Counters are read now and then, and a program that waits in a buffer counts for the next window:
/// so much below 1 may be measured.
const WAF_MIN: f64 = 0.9;

/// Reads the windows.
pub(super) fn read(file: &str, text: &str, said: &Said) -> Result<Vec<Window>, MeasureError> {
    let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let (_, head) = lines.next().ok_or_else(|| MeasureError::new(file, "", "the file is empty"))?;
    let names: Vec<&str> = head.split(',').map(str::trim).collect();
    let mut places = [0; 4];
    for (place, column) in places.iter_mut().zip(COLUMNS) {
        *place = names.iter().position(|name| *name == column).ok_or_else(|| {
            let columns = COLUMNS.join(", ");
            let message = format!(
                "there is no column {column}; neither fio's JSON nor a CSV of windows ({columns})"
            );
            MeasureError::new(file, "line 1", message)
        })?;
    }
    let mut windows: Vec<Window> = Vec::new();
    for (number, line) in lines {
        let error =
            |message: String| MeasureError::new(file, format!("line {}", number + 1), message);
        let cells: Vec<&str> = line.split(',').map(str::trim).collect();
        if cells.len() != names.len() {
            let (cells, names) = (cells.len(), names.len());
            return Err(error(format!("{cells} values under {names} columns")));
        }
        let mut values = [0.0; 4];
        for ((value, place), column) in values.iter_mut().zip(places).zip(COLUMNS) {
            let cell = cells[place];
            let parsed = cell.parse().ok().filter(|number: &f64| number.is_finite());
            *value = parsed.ok_or_else(|| error(format!("{column} = {cell} is no number")))?;
        }
        let [from, to, waf, rate] = values;
        let last = windows.last().map_or(0.0, |window| window.to);
        // Figures are rounded to some digits.
        if (from - last).abs() > 1e-3 && !(windows.is_empty() && from >= 0.0) {
            return Err(error(format!(
                "the window begins at {from}, the one before it ends at {last}: without a gap or \
                 an overlap it is known what was written"
            )));
        }
        if to <= from {
            return Err(error(format!("the window ends at {to}, not behind its begin at {from}")));
        }
        if waf < WAF_MIN {
            return Err(error(format!(
                "waf_in_window = {waf} is not allowed: the flash gets what the host writes, 1 and \
                 more ({WAF_MIN} where counters are read early); a drive that compresses cannot be \
                 fitted"
            )));
        }
        if rate <= 0.0 {
            return Err(error(format!("host_gb_per_s = {rate} is not allowed: above 0")));
        }
        let window = Window { from, to, waf: Some(waf.max(1.0)), bytes_per_s: rate * 1e9 };
        let names = [COLUMNS[1], COLUMNS[2], COLUMNS[3]];
        plausible::window(&window, names, said.is_fresh()).map_err(error)?;
        windows.push(window);
    }
    if windows.len() < 3 {
        let message = format!("{} windows: at least 3 are needed", windows.len());
        return Err(MeasureError::new(file, "", message));
    }
    plausible::course(&windows).map_err(|why| MeasureError::new(file, "", why))?;
    Ok(windows)
}
