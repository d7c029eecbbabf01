//! A drive in a folder, for `manx serve --store` and `manx store`.

use super::{Failure, print};
use crate::args::{Protocol, ServeArgs, StoreCommand};
use crate::say::say_line;
use manx_config::{ConfigError, Scenario};
use manx_core::drive::Drive;
use manx_core::ftl::FtlKind;
use manx_core::nvme::{Attributes, Controller, Options};
use manx_lab::cache::Cache;
use manx_lab::json::indented;
use manx_lab::storage::{of_settings, restored, settings, state};
use manx_serve::{Engine, Head, Inspected, Kept, Lost, Machine, Store, StoreError, Woken, inspect};
use serde_json::{Value, json};
use std::path::Path;

/// Does what was asked about stores.
pub fn run(command: &StoreCommand) -> Result<(), Failure> {
    match command {
        StoreCommand::Info { folder, json } => {
            let found = inspect(folder).map_err(refused)?;
            print(&if *json { indented(&document(&found)) + "\n" } else { words(&found) })
        }
        StoreCommand::Check { folder } => {
            let found = inspect(folder).map_err(refused)?;
            let lost = rehearsed(folder, &found.head)?;
            let replayed = match &lost {
                None => "nothing is lost".to_string(),
                Some(lost) => replayed(lost),
            };
            print(&format!(
                "{}every checksum is right; the next start: {replayed}\n",
                words(&found)
            ))
        }
    }
}

/// The next start of the store, of which nothing is written.
fn rehearsed(folder: &Path, head: &Head) -> Result<Option<Lost>, Failure> {
    let wrong = |why: String| -> Failure {
        let path = folder.join("store.json");
        ConfigError::new(format!("{}: {why}", path.display())).into()
    };
    let scenario = of_settings(&head.scenario, &head.settings).map_err(wrong)?;
    let own = self::head(&scenario);
    let drive = |map: &[u8]| restored(&scenario, map);
    if !head.has_controller {
        let store = Store::open(folder, &own).map_err(refused)?;
        return store.rehearse(drive, &scenario.drive).map_err(refused);
    }
    let controller = |map: &[u8]| {
        drive(map).map(|drive| {
            let attributes = Attributes::of(&drive, &scenario.drive, &scenario.gc);
            Controller::new(drive, attributes, Options::default())
        })
    };
    let store = Store::open(folder, &own.with_controller()).map_err(refused)?;
    store.rehearse(controller, &scenario.drive).map_err(refused)
}

fn refused(error: StoreError) -> Failure {
    ConfigError::new(error.to_string()).into()
}

/// Whether a store can hold the scenario's drive, or why not.
pub fn storable(scenario: &Scenario) -> Result<(), &'static str> {
    Err(if scenario.array.is_on() {
        "array.members: a store holds one drive"
    } else if scenario.ftl.kind != FtlKind::Page {
        "ftl.kind: a store holds drives with a page map"
    } else if scenario.faults.is_on() {
        "faults: a store does not keep which blocks went bad"
    } else if !scenario.recovery.keep {
        "recovery.keep: false, and a store needs what a recovery does: where `true` is not \
         allowed, --set recovery.keep=true says why"
    } else {
        return Ok(());
    })
}

/// Whether a store can hold the drive that is served.
pub fn check(args: &ServeArgs, scenario: &Scenario) -> Result<(), Failure> {
    let Err(why) = storable(scenario) else { return Ok(()) };
    let folder = args.store.as_deref().unwrap_or(Path::new("")).display();
    Err(ConfigError::new(format!("--store {folder}: {why}")).into())
}

/// The head of a store of the scenario's drive.
pub fn head(scenario: &Scenario) -> Head {
    let page = scenario.device.geometry.map_unit.get();
    let bytes = scenario.capacity().user.get() / page * page;
    Head::new(&scenario.name, bytes, page as u32, settings(scenario))
}

/// The drive of the folder, or a new one that lies there from now on, as `model` shows it; `None`
/// when `progress` stopped its making.
pub fn machine<S: Kept>(
    folder: &Path,
    args: &ServeArgs,
    scenario: &Scenario,
    (cache, progress): (Option<&Cache>, &mut dyn FnMut(u64) -> bool),
    model: impl Fn(Drive) -> S + 'static,
) -> Result<Option<Machine<S>>, Failure> {
    let head = match args.protocol {
        Protocol::NvmeTcp => head(scenario).with_controller(),
        Protocol::Nbd | Protocol::VhostUser => head(scenario),
    };
    let build = {
        let scenario = scenario.clone();
        move |map: &[u8]| restored(&scenario, map).map(&model)
    };
    let store = if Store::is_in(folder) {
        let store = Store::open(folder, &head).map_err(refused)?;
        let woken = store.wake(&build, &scenario.drive).map_err(refused)?;
        let Woken { store, lost } = woken;
        lost.iter().for_each(tell);
        store
    } else {
        let Some(map) = state(scenario, cache, progress)? else { return Ok(None) };
        Store::create(folder, head, &map).map_err(refused)?
    };
    let store = store.with_log(args.store_log.get());
    let drive = build(store.map());
    let drive = drive.map_err(|why| Failure::Work(format!("{}: {why}", folder.display())))?;
    let machine = Machine::stored(drive, store, Box::new(build));
    let machine = machine.map_err(|why| Failure::Work(format!("{}: {why}", folder.display())))?;
    Ok(Some(machine))
}

/// A power loss, in words.
fn replayed(lost: &Lost) -> String {
    let Lost { commands, under_way, report, .. } = lost;
    format!(
        "its log of {commands} commands was replayed, {under_way} were under way when the power \
         failed; the drive recovered in {:.1} ms of its own time, {} pages and {} deallocations \
         were lost that no flush had asked for, {} pages were saved by its capacitor",
        report.recovery_us as f64 / 1e3,
        report.pages_lost,
        report.trims_lost,
        report.pages_saved,
    )
}

/// A power loss, and promises that it broke.
fn tell(lost: &Lost) {
    say_line(&format!("the store was not closed: {}", replayed(lost)));
    let broken = &lost.broken;
    broken.iter().for_each(|page| say_line(&format!("a fault of Manx: {page}")));
}

/// The stores of machines at the end of a server.
pub fn report<E: Engine>(engines: &[E]) -> Value {
    let store = engines.first().and_then(Engine::store);
    store.map_or(
        Value::Null,
        |store| json!({ "generation": store.head().generation, "read_only": store.is_broken() }),
    )
}

fn document(found: &Inspected) -> Value {
    let Inspected { head, pages_with_bytes, log_bytes, commands, is_clean, data_bytes } = found;
    json!({
        "schema": "manx-store-info-1",
        "scenario": head.scenario,
        "device": head.settings["device"]["name"],
        "manx": head.manx,
        "bytes": head.bytes,
        "page_bytes": head.page_bytes,
        "generation": head.generation,
        "pages_with_bytes": pages_with_bytes,
        "data_bytes": data_bytes,
        "log_bytes": log_bytes,
        "commands": commands,
        "clean": is_clean,
        "settings": head.settings,
    })
}

fn words(found: &Inspected) -> String {
    let Inspected { head, pages_with_bytes, log_bytes, commands, is_clean, data_bytes } = found;
    let state = match is_clean {
        true => "closed: the next start replays nothing".to_string(),
        false => format!("not closed: {commands} commands, {log_bytes} bytes of log to replay"),
    };
    format!(
        "{}, a model of {}, {} bytes in pages of {}, made by Manx {}\n\
         base {}: {pages_with_bytes} pages with bytes, {data_bytes} bytes on disk\n{state}\n",
        head.scenario,
        head.settings["device"]["name"].as_str().unwrap_or("?"),
        head.bytes,
        head.page_bytes,
        head.manx,
        head.generation,
    )
}
