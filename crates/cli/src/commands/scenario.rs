//! `manx scenario`: the built-in scenarios, what they are about and how they are written.

use super::{Failure, print};
use crate::args::ScenarioCommand;
use manx_config::scenario_names;
use manx_lab::about;
use manx_lab::json::indented;
use manx_lab::load::{Request, read_scenario};
use manx_lab::save::as_run;
use serde_json::{Value, json};
use std::fmt::Write;

/// Does what was asked.
pub fn run(command: &ScenarioCommand) -> Result<(), Failure> {
    match command {
        ScenarioCommand::List { json: false } => print(&list()?),
        ScenarioCommand::List { json: true } => print(&indented(&document()?)),
        ScenarioCommand::Show { name, resolved: false } => show(name),
        ScenarioCommand::Show { name, resolved: true } => {
            let scenario = Request::read(name, Vec::new())?.plain()?;
            print(&as_run(&scenario).map_err(Failure::Work)?)
        }
    }
}

fn list() -> Result<String, Failure> {
    let mut text = String::new();
    for name in scenario_names() {
        let scenario = Request::read(name, Vec::new())?.plain()?;
        let _ = writeln!(text, "{name:<10} {}", scenario.summary);
        let drives = about::drives(&[(String::new(), scenario.clone())]).concat();
        let workload = about::workload(None, &scenario);
        let workload = workload.strip_prefix(&format!("{name}: ")).unwrap_or(&workload);
        let rows = [
            ("drive", drives.as_str()),
            ("workload", workload),
            ("policies", &scenario.policies.join(", ")),
        ];
        for (head, said) in rows {
            let _ = writeln!(text, "{:<10}   {head:<9} {said}", "");
        }
    }
    Ok(text)
}

fn document() -> Result<Value, Failure> {
    let mut scenarios = Vec::new();
    for name in scenario_names() {
        let scenario = Request::read(name, Vec::new())?.plain()?;
        scenarios.push(json!({
            "name": name,
            "summary": scenario.summary,
            "device": scenario.device.name,
            "raw_bytes": scenario.capacity().raw.get(),
            "user_bytes": scenario.capacity().user.get(),
            "drives": scenario.array.members,
            "workload": about::workload(None, &scenario),
            "policies": scenario.policies,
        }));
    }
    Ok(json!({ "scenarios": scenarios }))
}

/// The text as it is written, once it is known to be a scenario.
fn show(name: &str) -> Result<(), Failure> {
    Request::read(name, Vec::new())?.plain()?;
    print(&format!("{}\n", read_scenario(name)?.text.trim_end()))
}
