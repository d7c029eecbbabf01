//! A plan as text and as JSON: every symbol with its value, its unit and where it is from, then the
//! bounds.

use super::Plan;
use super::check::Windows;
use super::tw::{BUSY_SECONDS, Load, Side};
use crate::json::indented;
use crate::table::cell::{latency, three_digits};
use manx_core::flash::Capacity;
use manx_core::units::{Bandwidth, Bytes, Duration};
use serde_json::{Value, json};
use std::fmt::Write;

/// A symbol of the formula.
struct Symbol {
    name: &'static str,
    /// In `unit`.
    value: Value,
    /// The value for people, with its unit.
    shown: String,
    unit: &'static str,
    meaning: String,
    source: String,
}

impl Symbol {
    fn new(
        name: &'static str,
        value: Shown,
        meaning: impl Into<String>,
        source: impl Into<String>,
    ) -> Self {
        let Shown { value, shown, unit } = value;
        Self { name, value, shown, unit, meaning: meaning.into(), source: source.into() }
    }
}

/// A value in its unit, and for people.
struct Shown {
    value: Value,
    shown: String,
    unit: &'static str,
}

fn count(value: u32, unit: &'static str) -> Shown {
    Shown { value: value.into(), shown: value.to_string(), unit }
}

fn number(value: f64, unit: &'static str) -> Shown {
    Shown { value: value.into(), shown: three_digits(value), unit }
}

fn size(value: Bytes) -> Shown {
    Shown { value: value.get().into(), shown: readable(value), unit: "B" }
}

fn time(value: Duration) -> Shown {
    Shown { value: value.as_ns().into(), shown: latency(value.as_us_f64()), unit: "ns" }
}

fn per_second(value: f64) -> Shown {
    Shown { value: value.into(), shown: megabytes(value), unit: "B/s" }
}

/// A size with four digits in a binary unit.
fn readable(bytes: Bytes) -> String {
    let units = [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")];
    match units.iter().find(|(shift, _)| bytes.get() >= 1 << shift) {
        Some((shift, unit)) if bytes.get().is_multiple_of(1 << shift) => {
            format!("{}{unit}", bytes.get() >> shift)
        }
        Some((shift, unit)) => format!("{:.2}{unit}", bytes.get() as f64 / (1u64 << shift) as f64),
        None => format!("{}B", bytes.get()),
    }
}

/// A rate in MB/s of 10^6 bytes: "43.6MB/s".
fn megabytes(rate: f64) -> String {
    three_digits(rate / 1e6) + "MB/s"
}

fn symbols(plan: &Plan) -> Vec<Symbol> {
    let (inputs, from) = (&plan.inputs, &plan.from);
    let device = |key: &str| format!("{}{key}", from.flash);
    let op = inputs.spare.get() as f64 / inputs.raw.get() as f64;
    let link = match inputs.link.get() {
        0 => Shown { value: Value::Null, shown: "unlimited".to_string(), unit: "B/s" },
        rate => per_second(rate as f64),
    };
    let mut symbols = vec![
        Symbol::new(
            "N_ssd",
            count(inputs.drives, "drives"),
            "drives of the array, windows of a cycle",
            &from.drives,
        ),
        Symbol::new("S_t", size(inputs.raw), "raw capacity", device("geometry")),
        Symbol::new(
            "R_p",
            number(op, "share"),
            "spare share of raw, in whole stripe rounds",
            &from.op,
        ),
        Symbol::new("S_p", size(inputs.spare), "over-provisioned space", "R_p x S_t"),
        Symbol::new(
            "S_use",
            size(inputs.reserve),
            "what a cycle may really use of it",
            &from.reserve,
        ),
        Symbol::new("R_v", number(inputs.valid, "share"), "valid pages in a victim", &from.valid),
    ];
    symbols.extend(flash_symbols(plan, &device));
    let blocks = inputs.parallel.blocks;
    symbols.extend([
        Symbol::new(
            "N_gc",
            count(blocks, "blocks"),
            "blocks that this drive reclaims at once",
            &from.unit,
        ),
        Symbol::new("guard", time(inputs.guard), "added to the time of a GC run", &from.guard),
        Symbol::new("B_pcie", link, "host link", &from.link),
        Symbol::new(
            "B_nand",
            per_second(inputs.flash.write_rate()),
            "what the flash can take",
            "min(dies x S_pg / t_w, N_ch x rate)",
        ),
        Symbol::new(
            "B_burst",
            per_second(plan.bounds.burst_rate),
            "writes of a drive in a burst",
            &from.burst,
        ),
        Symbol::new("N_dwpd", number(inputs.dwpd, "1/day"), "drive writes a day", &from.dwpd),
        Symbol::new(
            "busy",
            time(Duration::from_s(BUSY_SECONDS)),
            "hours into which they fall: 8 h",
            "IODA's formula",
        ),
        Symbol::new(
            "B_norm",
            per_second(plan.bounds.norm_rate),
            "rated writes",
            "N_dwpd (1 - R_p) S_t / busy",
        ),
    ]);
    symbols
}

fn flash_symbols(plan: &Plan, device: &dyn Fn(&str) -> String) -> [Symbol; 8] {
    let flash = &plan.inputs.flash;
    [
        Symbol::new(
            "N_ch",
            count(flash.channels, "channels"),
            "channels; blocks at once",
            device("geometry.channels"),
        ),
        Symbol::new(
            "S_pg",
            size(flash.page),
            "what one program covers",
            device("geometry.page, feature"),
        ),
        Symbol::new(
            "N_pg",
            count(flash.pages, "pages"),
            "of these in a block",
            device("geometry.pages, feature"),
        ),
        Symbol::new("t_r", time(flash.read), "mean tR of S_pg", device("timing.read")),
        Symbol::new("t_w", time(flash.program), "mean tPROG of S_pg", device("timing.program")),
        Symbol::new(
            "t_e",
            time(flash.erase),
            "an erase, all steps",
            device("timing.erase_step x erase_steps"),
        ),
        Symbol::new(
            "t_cpt",
            time(flash.transfer),
            "S_pg over the channel, one way",
            &plan.from.transfer,
        ),
        Symbol::new(
            "t_cmd",
            time(flash.commands),
            "commands of a copy; not in the paper",
            device("channel.command"),
        ),
    ]
}

/// The plan as text.
pub fn text(plan: &Plan) -> String {
    let inputs = &plan.inputs;
    let mut text = format!(
        "{}: {}\nTW, the busy window of each of {} drives in turn (IODA, SOSP '21); \
         a cycle is {} windows\n\n",
        plan.device.name,
        Capacity::of(&plan.device),
        inputs.drives,
        inputs.drives,
    );
    for Symbol { name, shown, meaning, source, .. } in symbols(plan) {
        let _ = writeln!(text, "{name:<8} {shown:>10}  {meaning:<41}  {source}");
    }
    text.push_str(
        "\nB_gc = (1 - R_v) blocks S_pg N_pg / T_gc, T_gc = (t_r + t_w + 2 t_cpt + t_cmd) R_v \
         N_pg + t_e, longer where blocks\n\
         share a die or a channel. TW <= S / (N B - B_gc) for a whole cycle (IODA), TW <= \
         S / ((N - 1) B) for the time before\nthe own window (this project).\n\n",
    );
    text.push_str(&bounds(plan));
    text.push('\n');
    for note in notes(plan) {
        text.push_str(&wrapped(&note));
    }
    text
}

/// A note as a list item of lines of at most 120 characters.
fn wrapped(note: &str) -> String {
    let mut text = String::from("-");
    let mut column = 1;
    for word in note.split(' ') {
        if column + 1 + word.len() > 118 {
            text.push_str("\n ");
            column = 1;
        }
        column += 1 + word.len();
        text.push(' ');
        text.push_str(word);
    }
    text + "\n"
}

fn bounds(plan: &Plan) -> String {
    let (formula, actual) = (&plan.bounds.formula, &plan.bounds.actual);
    let mut text = String::new();
    let mut row = |what: &str, cell: &dyn Fn(&Side, bool) -> String| {
        let line = format!("{what:<52} {:>16} {:>16}", cell(formula, true), cell(actual, false));
        let _ = writeln!(text, "{}", line.trim_end());
    };
    row("", &|_, is_formula| if is_formula { "formula" } else { "this drive" }.to_string());
    row("blocks reclaimed at once", &|side, _| side.parallel.blocks.to_string());
    row("T_gc, uninterrupted", &|side, _| latency(side.unit.as_us_f64()));
    row("B_gc", &|side, _| megabytes(side.gc_rate));
    row("sustained: B at most B_gc / N", &|side, _| megabytes(side.sustained));
    row("TW at least T_gc + guard", &|side, _| latency(side.lower.as_us_f64()));
    let mut load = |name: &str, load: &dyn Fn(&Side, bool) -> Load| {
        let rate = megabytes(load(formula, true).rate);
        row(&format!("TW at most, {name}, B = {rate}"), &|_, _| String::new());
        row("  S_p / (N B - B_gc)", &|side, first| upper(load(side, first).spare.credited));
        row("  S_p / ((N - 1) B)", &|side, first| upper(load(side, first).spare.conservative));
        row("  S_use / (N B - B_gc)", &|side, first| upper(load(side, first).usable.credited));
        row("  S_use / ((N - 1) B)", &|side, first| upper(load(side, first).usable.conservative));
        row("  so, with S_use", &|side, first| upper(load(side, first).usable.both()));
    };
    load("burst", &|side, _| side.burst);
    load("norm", &|side, _| side.norm);
    if let Some((_, by_formula, by_drive)) = plan.raid5 {
        load("RAID-5", &|_, is_formula| if is_formula { by_formula } else { by_drive });
    }
    text
}

fn upper(bound: Option<Duration>) -> String {
    bound.map_or("none".to_string(), |bound| latency(bound.as_us_f64()))
}

/// Notes beside the numbers.
fn notes(plan: &Plan) -> Vec<String> {
    let (inputs, side) = (&plan.inputs, &plan.bounds.actual);
    let drives = f64::from(inputs.drives);
    let mut notes = Vec::new();
    let mut loads = vec![("burst", side.burst), ("norm", side.norm)];
    loads.extend(plan.raid5.map(|(_, _, load)| ("RAID-5", load)));
    for (name, load) in loads {
        let (total, gc) = (megabytes(drives * load.rate), megabytes(side.gc_rate));
        notes.push(match load.lasts(inputs.drives) {
            None => format!(
                "{name}: N B = {total} <= B_gc = {gc}: no upper bound by IODA's formula, as the \
                 own window reclaims what a cycle writes. The other windows must be borne before \
                 it: TW at most {} with S_use.",
                upper(load.usable.both()),
            ),
            Some(lasts) => format!(
                "{name}: N B = {total} > B_gc = {gc}: not sustained. \
                 A full S_use lasts {}, however short TW is; \
                 then GC is forced outside of its window.",
                latency(lasts.as_us_f64()),
            ),
        });
        if !load.fits(side.lower) {
            let least = latency(side.lower.as_us_f64());
            notes.push(format!(
                "{name}: no window fits: TW must be at least {least}, which S_use does not last."
            ));
        }
    }
    notes.push(format!(
        "RAID-5: a small write of the user is one of data and one of parity, so a drive writes \
         2 / N of the user's rate; the array sustains {} of them.",
        megabytes(side.gc_rate / 2.0),
    ));
    if let Some((writes, ..)) = plan.raid5 {
        let rate = writes.get() as f64;
        notes.push(format!(
            "--raid5-writes: {} of the user x 2 / {} drives = {} a drive.",
            megabytes(rate),
            inputs.drives,
            megabytes(2.0 * rate / drives),
        ));
    }
    notes.push(
        "B_nand stands for the second argument of the paper's Max(..), which the published text \
         lost: the project's reading."
            .to_string(),
    );
    notes.push(
        "R_v is taken as given; longer windows and more spare space make it smaller. Measure it."
            .to_string(),
    );
    notes.extend(plan.warnings.iter().cloned());
    notes
}

/// The plan as one JSON document; times are in ns, rates in bytes a second, `null` is "no bound".
/// With what was checked.
pub fn document(plan: &Plan, check: Option<&Windows>) -> String {
    let symbols: Vec<Value> = symbols(plan)
        .into_iter()
        .map(|Symbol { name, value, unit, meaning, source, .. }| {
            json!({
                "symbol": name,
                "value": value,
                "unit": unit,
                "meaning": meaning,
                "source": source,
            })
        })
        .collect();
    let side = |side: &Side, raid5: Option<Load>| {
        let drives = plan.inputs.drives;
        json!({
            "blocks": side.parallel.blocks,
            "t_gc_ns": side.unit.as_ns(),
            "b_gc": side.gc_rate,
            "sustained": side.sustained,
            "tw_min_ns": side.lower.as_ns(),
            "burst": load_value(&side.burst, side.lower, drives),
            "norm": load_value(&side.norm, side.lower, drives),
            "raid5": raid5.map(|load| load_value(&load, side.lower, drives)),
        })
    };
    let raid5 = plan.raid5.map(|(_, by_formula, by_drive)| (by_formula, by_drive));
    indented(&json!({
        "plan": "tw",
        "device": plan.device.name,
        "symbols": symbols,
        "formula": side(&plan.bounds.formula, raid5.map(|both| both.0)),
        "drive": side(&plan.bounds.actual, raid5.map(|both| both.1)),
        "raid5_writes": plan.raid5.map(|(writes, ..)| Bandwidth::get(writes)),
        "notes": notes(plan),
        "check": check,
    }))
}

fn load_value(load: &Load, lower: Duration, drives: u32) -> Value {
    let ns = |bound: Option<Duration>| bound.map(Duration::as_ns);
    json!({
        "b": load.rate,
        "sustainable": load.sustainable,
        "tw_max_ns": ns(load.spare.credited),
        "tw_max_usable_ns": ns(load.usable.credited),
        "tw_max_conservative_ns": ns(load.spare.conservative),
        "tw_max_usable_conservative_ns": ns(load.usable.conservative),
        "tw_max_usable_both_ns": ns(load.usable.both()),
        "lasts_ns": ns(load.lasts(drives)),
        "fits": load.fits(lower),
    })
}
