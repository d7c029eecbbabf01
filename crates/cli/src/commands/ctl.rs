//! `manx ctl`: an order to a server at work.

use super::{Failure, print};
use crate::args::{CtlArgs, CtlOrder};
use manx_config::ConfigError;
use manx_lab::json::indented;
use manx_serve::control::{Order, socket};
use serde_json::Value;

/// Gives the order.
pub fn run(args: &CtlArgs) -> Result<(), Failure> {
    let order = match &args.order {
        CtlOrder::State => Order::State,
        CtlOrder::Pause => Order::Pause,
        CtlOrder::Resume => Order::Resume,
        CtlOrder::Set { sets } => Order::Set(sets.clone()),
        CtlOrder::Snapshot { folder } => {
            // The server may stand in another folder.
            let whole = std::path::absolute(folder);
            let why = |error| ConfigError::new(format!("{}: {error}", folder.display()));
            Order::Snapshot(whole.map_err(why)?)
        }
        CtlOrder::Stop => Order::Stop,
    };
    let state = socket::give(&args.socket, &order);
    let at = args.socket.display();
    let state = state.map_err(|why| ConfigError::new(format!("{at}: {why}")))?;
    print(&if args.json { indented(&state) + "\n" } else { in_words(&state) })
}

fn in_words(state: &Value) -> String {
    let number =
        |value: &Value| value.as_f64().map_or("-".to_string(), |value| format!("{value:.1}"));
    let mut text = format!(
        "{} s of the model in {} s at speed {}{}\n",
        number(&state["model_s"]),
        number(&state["wall_s"]),
        state["speed"],
        if state["paused"] == true { ", GC is paused" } else { "" },
    );
    text += &format!(
        "{} requests, {} errors, {} under way, {} connections\n",
        state["requests"], state["errors"], state["under_way"], state["connections"]
    );
    let head = ["us", "count", "p50", "p99", "p99.9", "max"];
    text += &line(head[0], &head[1..].iter().map(ToString::to_string).collect::<Vec<_>>());
    for (name, of, kind) in [
        ("reads", "run", "read"),
        ("  last second", "second", "read"),
        ("writes", "run", "write"),
        ("  last second", "second", "write"),
        ("lateness", "run", "lateness_us"),
    ] {
        let told = &state[of][kind];
        let cells = ["p50", "p99", "p99_9", "max"].map(|key| number(&told[key]));
        let count = [told["count"].to_string()];
        text += &line(name, &[&count[..], &cells[..]].concat());
    }
    for (number_of, drive) in state["drives"].as_array().into_iter().flatten().enumerate() {
        let free = drive["free"].as_f64().unwrap_or(0.0) * 100.0;
        let waf = drive["waf"].as_f64().map_or("-".to_string(), |waf| format!("{waf:.2}"));
        text += &format!(
            "drive {number_of}: WAF {waf}, {free:.1} % free, {} in its queue, {} GC runs, {} of \
             them forced, {} fast-fails\n",
            drive["outstanding"], drive["collections"], drive["forced"], drive["fast_fails"]
        );
    }
    for (key, value) in state["settings"].as_object().into_iter().flatten() {
        text += &format!("{key} = {}\n", value.as_str().unwrap_or_default());
    }
    text
}

fn line(name: &str, cells: &[String]) -> String {
    let cells: String = cells.iter().map(|cell| format!(" {cell:>10}")).collect();
    format!("{name:<14}{cells}\n")
}
