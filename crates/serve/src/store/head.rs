//! The head of a store: a file that names the drive, and the generation of the others.

use super::StoreError;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

/// The file of the head.
pub(super) const NAME: &str = "store.json";
/// Its next version, until it is whole.
pub(super) const DRAFT: &str = "store.json.new";
/// The layout of the folder.
const SCHEMA: &str = "manx-store-1";

/// A description of the drive in a store.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Head {
    /// The layout of the folder.
    pub(super) schema: String,
    /// The version of the program that made it.
    pub manx: String,
    /// The generation of the base and its log.
    pub generation: u64,
    /// The scenario's name.
    pub scenario: String,
    /// Bytes of the device.
    pub bytes: u64,
    /// Bytes of a page.
    pub page_bytes: u32,
    /// Every setting of the drive.
    pub settings: Value,
    /// Its log is of the drive behind an NVMe controller.
    #[serde(default, skip_serializing_if = "is_false")]
    pub has_controller: bool,
}

fn is_false(value: &bool) -> bool {
    !value
}

impl Head {
    /// The head of a new store.
    pub fn new(scenario: &str, bytes: u64, page_bytes: u32, settings: Value) -> Self {
        Self {
            schema: SCHEMA.to_string(),
            manx: env!("CARGO_PKG_VERSION").to_string(),
            generation: 0,
            scenario: scenario.to_string(),
            bytes,
            page_bytes,
            settings,
            has_controller: false,
        }
    }

    /// The head of one whose log is of the drive behind an NVMe controller.
    pub fn with_controller(self) -> Self {
        Self { has_controller: true, ..self }
    }

    /// Pages of the device.
    pub fn pages(&self) -> u32 {
        (self.bytes / u64::from(self.page_bytes)) as u32
    }

    /// The head of the store in that folder.
    ///
    /// # Errors
    /// There is none, or it is damaged.
    pub fn read(folder: &Path) -> Result<Self, StoreError> {
        let path = folder.join(NAME);
        let text = fs::read_to_string(&path).map_err(|error| match error.kind() {
            ErrorKind::NotFound if folder.is_dir() => {
                StoreError::Missing(folder.to_path_buf(), "the folder holds no store")
            }
            ErrorKind::NotFound => StoreError::Missing(folder.to_path_buf(), "there is no folder"),
            ErrorKind::NotADirectory => {
                StoreError::Missing(folder.to_path_buf(), "this is no folder")
            }
            _ => StoreError::File(path.clone(), error),
        })?;
        let value: Value = serde_json::from_str(&text)
            .map_err(|error| StoreError::damaged(&path, error.to_string()))?;
        if value["schema"] != SCHEMA {
            let (there, here) = (value["schema"].to_string(), format!("\"{SCHEMA}\""));
            return Err(StoreError::Other(folder.to_path_buf(), "schema".into(), there, here));
        }
        let head: Self = serde_json::from_value(value)
            .map_err(|error| StoreError::damaged(&path, error.to_string()))?;
        let is_whole = head.page_bytes > 0 && head.bytes.is_multiple_of(u64::from(head.page_bytes));
        if !is_whole || head.bytes / u64::from(head.page_bytes) >= u64::from(u32::MAX) {
            return Err(StoreError::damaged(&path, "bytes are no whole pages"));
        }
        Ok(head)
    }

    /// Writes it whole or not at all.
    pub(super) fn write(&self, folder: &Path) -> Result<(), StoreError> {
        let (draft, path) = (folder.join(DRAFT), folder.join(NAME));
        let text = serde_json::to_string_pretty(self).expect("a head is plain data") + "\n";
        fs::write(&draft, text).map_err(StoreError::at(&draft))?;
        fs::rename(&draft, &path).map_err(StoreError::at(&path))
    }

    /// Whether it is of the same drive as `other`.
    pub(super) fn must_be(&self, other: &Self, folder: &Path) -> Result<(), StoreError> {
        let differs = |key: &str, there: String, here: String| {
            Err(StoreError::Other(folder.to_path_buf(), key.to_string(), there, here))
        };
        if self.manx != other.manx {
            return differs("the program's version", self.manx.clone(), other.manx.clone());
        }
        if let Some((key, there, here)) = first_difference(&self.settings, &other.settings) {
            return differs(&key, there, here);
        }
        if (self.bytes, self.page_bytes) != (other.bytes, other.page_bytes) {
            let of = |head: &Self| format!("{} bytes", head.bytes);
            return differs("the size", of(self), of(other));
        }
        Ok(())
    }
}

/// The first key whose value differs, and both values.
fn first_difference(there: &Value, here: &Value) -> Option<(String, String, String)> {
    let (Value::Object(a), Value::Object(b)) = (there, here) else {
        return (there != here).then(|| (String::new(), there.to_string(), here.to_string()));
    };
    let missing = Value::Null;
    a.keys().chain(b.keys()).find_map(|key| {
        let (x, y) = (a.get(key).unwrap_or(&missing), b.get(key).unwrap_or(&missing));
        let (below, there, here) = first_difference(x, y)?;
        let path = if below.is_empty() { key.clone() } else { format!("{key}.{below}") };
        Some((path, there, here))
    })
}
