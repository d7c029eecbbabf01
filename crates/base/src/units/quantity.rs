//! Reading "40us", "1.5 ms", "64MiB": a decimal number and a unit, exactly, in integer arithmetic.

use std::fmt;

/// Why a quantity could not be read; says the value and what is allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuantityError {
    value: String,
    expected: &'static str,
}

impl fmt::Display for QuantityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not {}", self.value, self.expected)
    }
}

impl std::error::Error for QuantityError {}

/// Reads `text` as a decimal number times one of `units` (name, value in base units), or says what
/// was `expected`. The result must be a whole number of base units: "0.5ns" is an error, not a
/// silent zero.
pub(super) fn parse(
    text: &str,
    units: &[(&str, u64)],
    expected: &'static str,
) -> Result<u64, QuantityError> {
    let error = || QuantityError { value: text.to_string(), expected };
    let trimmed = text.trim();
    let split = trimmed
        .find(|c: char| !c.is_ascii_digit() && c != '.' && c != '_')
        .unwrap_or(trimmed.len());
    let (number, unit) = (trimmed[..split].replace('_', ""), trimmed[split..].trim());
    let (whole, fraction) = number.split_once('.').unwrap_or((&number, ""));
    if whole.is_empty() || whole.len() > 20 || fraction.len() > 12 {
        return Err(error());
    }
    let digits: u128 = format!("{whole}{fraction}").parse().map_err(|_| error())?;
    let scale = 10u128.pow(fraction.len() as u32);
    let unit = match units.iter().find(|(name, _)| *name == unit) {
        Some((_, value)) => *value,
        None if unit.is_empty() && digits == 0 => 1,
        None => return Err(error()),
    };
    let total = digits.checked_mul(u128::from(unit)).ok_or_else(error)?;
    if !total.is_multiple_of(scale) {
        return Err(error());
    }
    u64::try_from(total / scale).map_err(|_| error())
}

/// Writes a type that is read from and shown as text for serde and the JSON schema.
macro_rules! text_quantity {
    ($type:ident, $expected:literal, $example:literal) => {
        impl std::str::FromStr for $type {
            type Err = crate::units::QuantityError;
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Self::parse(text)
            }
        }
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Text;
                impl serde::de::Visitor<'_> for Text {
                    type Value = $type;
                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str($expected)
                    }
                    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<$type, E> {
                        text.parse().map_err(E::custom)
                    }
                }
                deserializer.deserialize_str(Text)
            }
        }
        impl schemars::JsonSchema for $type {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($type).into()
            }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({
                    "type": "string", "description": $expected, "examples": [$example]
                })
            }
        }
    };
}
pub(super) use text_quantity;

#[cfg(test)]
mod tests {
    use crate::units::{Bytes, Duration};

    #[test]
    fn a_fraction_is_exact_or_refused() {
        assert_eq!("1.5ms".parse::<Duration>().unwrap(), Duration::from_us(1500));
        assert_eq!("142.575 us".parse::<Duration>().unwrap(), Duration::from_ns(142_575));
        assert!("0.5ns".parse::<Duration>().is_err());
    }

    #[test]
    fn an_error_names_the_value_and_what_is_allowed() {
        let error = "40 parsecs".parse::<Duration>().unwrap_err().to_string();
        assert!(error.contains("`40 parsecs`") && error.contains("us"), "{error}");
        assert!("-3us".parse::<Duration>().is_err());
        assert!("12".parse::<Bytes>().is_err());
        assert!("".parse::<Bytes>().is_err());
        assert!("99999999999TiB".parse::<Bytes>().is_err());
    }
}
