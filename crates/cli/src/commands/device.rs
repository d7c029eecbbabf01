//! `manx device`: the device tables and where their numbers are from.

use super::{Failure, print};
use crate::args::DeviceCommand;
use manx_config::devices;
use manx_core::flash::{Capacity, Device};
use manx_lab::load::read_device;
use serde_json::Value;
use std::fmt::Write;

/// Does what was asked about devices.
pub fn run(command: &DeviceCommand) -> Result<(), Failure> {
    match command {
        DeviceCommand::List => print(&list(&devices()?)),
        DeviceCommand::Show { name } => print(&show(&read_device(name)?)),
    }
}

fn list(devices: &[Device]) -> String {
    devices.iter().fold(String::new(), |mut text, device| {
        let _ = writeln!(
            text,
            "{:<16} {}\n{:<16} {}",
            device.name,
            device.summary,
            "",
            Capacity::of(device)
        );
        text
    })
}

fn show(device: &Device) -> String {
    let mut text = format!("{}: {}\n{}\n\n", device.name, device.summary, Capacity::of(device));
    let json = serde_json::to_value(device).unwrap_or_default();
    for (key, value) in json.as_object().into_iter().flatten() {
        match value {
            Value::Object(table) if key != "source" => {
                for (inner, value) in table {
                    line(&mut text, device, &format!("{key}.{inner}"), value);
                }
            }
            Value::Number(_) => line(&mut text, device, key, value),
            _ => {}
        }
    }
    text
}

fn line(text: &mut String, device: &Device, key: &str, value: &Value) {
    let shown = match value {
        Value::String(text) => text.clone(),
        Value::Array(values) => {
            values.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" / ")
        }
        value => value.to_string(),
    };
    let _ = writeln!(text, "{key:<24} {shown:<22} {}", source(device, key));
}

/// The most exact entry of `source` for a key.
fn source<'a>(device: &'a Device, key: &str) -> &'a str {
    let covers = |entry: &str| {
        key == entry || key.strip_prefix(entry).is_some_and(|rest| rest.starts_with('.'))
    };
    let entries = device.source.iter().filter(|(entry, _)| covers(entry));
    let nothing_said =
        if key.starts_with("feature.") { "(the plainest die)" } else { "(no source)" };
    entries.max_by_key(|(entry, _)| entry.len()).map_or(nothing_said, |(_, source)| source)
}
