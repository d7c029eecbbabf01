//! Measurements of one drive, taken together: none twice, none against another.

use super::{Latencies, MeasureError, Measurement};

/// Medians of one condition that lie further apart are not of one drive in one state.
const APART: f64 = 1.5;

/// None is there twice, and no two of the same conditions contradict each other.
pub fn consistent(all: &[Measurement]) -> Result<(), MeasureError> {
    for (number, one) in all.iter().enumerate() {
        for other in &all[..number] {
            if one.name == other.name {
                return Err(MeasureError::new(&one.name, "", "it is given twice"));
            }
            if one.what == other.what {
                let message = format!("it is the same as {}: each would count twice", other.name);
                return Err(MeasureError::new(&one.name, "", message));
            }
            let (Some(a), Some(b)) = (one.latencies(), other.latencies()) else { continue };
            let (fast, slow) = {
                let (a, b) = (a.percentiles_us[0], b.percentiles_us[0]);
                (a.min(b), a.max(b))
            };
            if conditions(a) == conditions(b) && one.state == other.state && slow > APART * fast {
                let message = format!(
                    "its median contradicts that of {}, of the same load and the same state: \
                     {fast:.1} and {slow:.1} us; leave one of them out, or say its state \
                     (FILE@STATE)",
                    other.name
                );
                return Err(MeasureError::new(&one.name, "", message));
            }
        }
    }
    Ok(())
}

fn conditions(of: &Latencies) -> (&str, bool, bool, u64, u32, u32, u32) {
    let Latencies { engine, is_read, is_sequential, block, depth, processes, drives, .. } = of;
    (engine, *is_read, *is_sequential, *block, *depth, *processes, *drives)
}
