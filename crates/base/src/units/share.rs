//! Shares of a whole: a number as it is, or a percentage as text.
//!
//! `0.05` and `"5%"` are the same share. Over-provisioning is told in two ways in the field: data
//! sheets say how much spare there is over what the user sees ("7 %"), the models say which share
//! of the raw capacity is spare (0.0654). A number in a device table is the latter; a percentage is
//! the former, as on a data sheet, unless it says "of raw".

use serde::de::{Deserializer, Error, Visitor};
use std::fmt;

const SHARE: &str = "a number, or a percentage such as \"5%\"";
const OP: &str = "a number (the share of the raw capacity that is spare), or a \
                  percentage: \"7%\" or \"7% of user\" (spare over user capacity, as \
                  data sheets say), \"6.5% of raw\"";

/// For serde: a share, from a number or a percentage.
pub fn share<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    deserializer.deserialize_any(Share { expected: SHARE, read: percentage })
}

/// For serde: over-provisioning as a share of the raw capacity, from a number or a percentage.
pub fn over_provisioning<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    deserializer.deserialize_any(Share { expected: OP, read: spare_of_raw })
}

/// Reads over-provisioning as `device.op` takes it, for an option: the share of the raw capacity.
pub fn parse_over_provisioning(text: &str) -> Result<f64, String> {
    let number = text.trim().parse().ok().filter(|number: &f64| number.is_finite());
    number.or_else(|| spare_of_raw(text)).ok_or_else(|| format!("expected {OP}"))
}

/// The JSON schema of a share.
pub fn share_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({ "type": ["number", "string"] })
}

/// Reads a percentage: "5%" as 0.05.
pub fn percentage(text: &str) -> Option<f64> {
    let number: f64 = text.trim().strip_suffix('%')?.trim_end().parse().ok()?;
    number.is_finite().then_some(number / 100.0)
}

/// "7%", "7% of user", "6.5% of raw" as a share of the raw capacity.
fn spare_of_raw(text: &str) -> Option<f64> {
    let text = text.trim();
    if let Some(raw) = text.strip_suffix("of raw") {
        return percentage(raw);
    }
    let of_user = percentage(text.strip_suffix("of user").unwrap_or(text))?;
    // Nothing is -100 % of the user capacity or less; a share that is refused says so.
    Some(if of_user > -1.0 { of_user / (1.0 + of_user) } else { of_user })
}

struct Share {
    expected: &'static str,
    read: fn(&str) -> Option<f64>,
}

impl Visitor<'_> for Share {
    type Value = f64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expected)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<f64, E> {
        Ok(value)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<f64, E> {
        Ok(value as f64)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<f64, E> {
        Ok(value as f64)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<f64, E> {
        (self.read)(text).ok_or_else(|| E::custom(format!("`{text}` is not {}", self.expected)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentage_of_over_provisioning_is_over_the_user_capacity_as_on_a_data_sheet() {
        // 28 % over user: 128 raw for 100 user, so 28 of 128 are spare.
        assert_eq!(parse_over_provisioning("28%"), Ok(0.28 / 1.28));
        assert_eq!(parse_over_provisioning(" 28 % of user"), Ok(0.28 / 1.28));
        assert_eq!(parse_over_provisioning("25% of raw"), Ok(0.25));
        assert_eq!(parse_over_provisioning("0.25"), Ok(0.25));
        for wrong in ["", "%", "7 percent", "7% of nothing", "inf", "nan%"] {
            assert!(parse_over_provisioning(wrong).is_err(), "{wrong}");
        }
    }
}
