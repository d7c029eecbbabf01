//! A time as a result says it: in seconds from the start of the run on, or null. For serde's
//! `with`.

use crate::units::Instant;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub(super) fn serialize<S: Serializer>(
    at: &Option<Instant>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    at.map(|at| at.since(Instant::START).as_s_f64()).serialize(serializer)
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Instant>, D::Error> {
    let at = Option::<f64>::deserialize(deserializer)?;
    Ok(at.map(|s| Instant::from_ns((s * 1e9).round() as u64)))
}

#[cfg(test)]
mod tests {
    use crate::stats::FaultCounters;
    use crate::units::Instant;

    #[test]
    fn a_time_is_said_in_seconds_and_reads_back_as_it_was() {
        for ns in [None, Some(0), Some(1), Some(1_500_000_001), Some(86_400_123_456_789)] {
            let faults = FaultCounters {
                read_only_at: ns.map(Instant::from_ns),
                ..FaultCounters::default()
            };
            let said = serde_json::to_value(faults).unwrap();
            assert_eq!(said["read_only_at_s"].as_f64(), ns.map(|ns| ns as f64 / 1e9));
            assert_eq!(serde_json::from_value::<FaultCounters>(said).unwrap(), faults);
        }
    }
}
