//! The state a run starts from: made by preconditioning, or taken from the cache, or shared with
//! another policy's run.
//!
//! A state is determined by its [`Key`]: device geometry, placement, reclaiming (but not what a
//! collection blocks, which takes time and so no part in preconditioning), the kind of state, the
//! seed, the program. Runs of one comparison with the same key share the state: it is made once and
//! cloned.

use crate::cache::Cache;
use crate::machine::Stopwatch;
use crate::open::files_of;
use crate::overwrite::WorkloadPages;
use crate::run::RunError;
use crate::stamp;
use manx_config::Scenario;
use manx_core::array::member_seed;
use manx_core::drive::precondition::{Preconditioned, precondition};
use manx_core::drive::{Overwrite, PreconditionState};
use manx_core::ftl::{FtlKind, PageMap};
use manx_core::units::{Bytes, Lpn, Member, SECTOR};
use manx_trace::TraceError;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt;
use std::io::Read;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Name of a state: the SHA-256 of everything that determines it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key(pub(crate) [u8; 32]);

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({self})")
    }
}

/// Preconditioning's account of its result.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct About {
    pub(crate) waf: f64,
    pub(crate) passes: f64,
    pub(crate) settled: bool,
    /// Which pages were overwritten, where any were.
    pub(crate) overwrite: Overwrite,
    /// Warnings for the result.
    pub(crate) notes: Vec<String>,
}

impl About {
    /// The account of one more drive.
    pub(crate) fn add(&mut self, drive: &About) {
        self.settled &= drive.settled;
        (self.waf, self.overwrite) = (drive.waf, drive.overwrite);
        self.passes = self.passes.max(drive.passes);
        if self.notes.is_empty() {
            self.notes.clone_from(&drive.notes);
        }
    }
}

/// A state, ready for a run to begin.
#[derive(Clone, Debug)]
pub(crate) struct Prepared {
    pub(crate) map: PageMap,
    pub(crate) about: About,
    /// CPU time of making it, or of reading it.
    pub(crate) cpu_s: f64,
    pub(crate) from_cache: bool,
    /// It is what its key says: nobody stopped its making. Otherwise it is neither kept nor shared.
    pub(crate) whole: bool,
    /// Trouble with the cache, if any.
    pub(crate) trouble: Option<String>,
}

/// The states of one comparison, and the cache behind them.
#[derive(Debug)]
pub(crate) struct States {
    cache: Option<Cache>,
    shared: BTreeMap<Key, Mutex<Shared>>,
}

/// A state that several runs start from.
#[derive(Debug, Default)]
struct Shared {
    /// Runs that have not taken it yet.
    users: usize,
    state: Option<Prepared>,
}

impl States {
    /// The states of runs with these keys.
    pub(crate) fn new(keys: &[Key], cache: Option<Cache>) -> Self {
        let mut shared: BTreeMap<Key, Mutex<Shared>> = BTreeMap::new();
        for key in keys {
            let entry = shared.entry(*key).or_default();
            entry.get_mut().unwrap_or_else(PoisonError::into_inner).users += 1;
        }
        // Without knowing the program a stale state could be used.
        Self { cache: cache.filter(|_| program().is_some()), shared }
    }

    /// The state of `key`, which is that of `scenario`. `progress` as in [`precondition`]; a state
    /// that it stopped is not whole, and neither kept nor shared.
    pub(crate) fn take(
        &self,
        key: &Key,
        scenario: &Scenario,
        progress: &mut dyn FnMut(u64) -> bool,
    ) -> Result<Prepared, RunError> {
        // Runs that ask while the state is being made wait here for it.
        let mut shared = self.shared[key].lock().unwrap_or_else(PoisonError::into_inner);
        shared.users = shared.users.saturating_sub(1);
        let state = match shared.state.take() {
            Some(state) => state,
            None => self.load_or_make(key, scenario, progress)?,
        };
        if shared.users > 0 && state.whole {
            shared.state = Some(state.clone());
        }
        Ok(state)
    }

    fn load_or_make(
        &self,
        key: &Key,
        scenario: &Scenario,
        progress: &mut dyn FnMut(u64) -> bool,
    ) -> Result<Prepared, RunError> {
        // Snapshots are of page maps only.
        let kept = scenario.precondition.state != PreconditionState::Empty
            && scenario.ftl.kind == FtlKind::Page
            // Its name does not tell a program's own policy from another one.
            && scenario.brought_to_drives().next().is_none();
        let cache = self.cache.as_ref().filter(|_| kept);
        if let Some(state) = cache.and_then(|cache| load(cache, key, scenario)) {
            return Ok(state);
        }
        let mut state = make(scenario, progress)?;
        if let Some(cache) = cache
            && state.whole
            && cache.is_worth(state.cpu_s, 4 * u64::from(scenario.drive_config().mapped_units()))
        {
            let kept = cache.store(key, &state.about, &state.map.snapshot());
            let folder = cache.folder().display();
            state.trouble =
                kept.err().map(|error| format!("cannot keep the state in {folder}: {error}"));
        }
        Ok(state)
    }
}

/// Sectors that the host sees: of the drive, or of the array.
pub(crate) fn host_sectors(scenario: &Scenario) -> u64 {
    let user = scenario.device.geometry.map_unit.get() * u64::from(logical_pages(scenario));
    scenario.array.user_bytes(Bytes::new(user)).get() / SECTOR
}

/// The scenario of one drive of an array: its own random streams.
pub(crate) fn member(scenario: &Scenario, number: u32) -> Scenario {
    Scenario { seed: member_seed(scenario.seed, Member(number)), ..scenario.clone() }
}

/// Logical pages of the scenario's drive.
pub(crate) fn logical_pages(scenario: &Scenario) -> u32 {
    (scenario.capacity().user.get() / scenario.device.geometry.map_unit.get()) as u32
}

fn load(cache: &Cache, key: &Key, scenario: &Scenario) -> Option<Prepared> {
    let watch = Stopwatch::start();
    let (about, snapshot) = cache.load(key)?;
    let mut map = scenario.drive_config().empty_map();
    map.restore(&snapshot).ok()?;
    Some(Prepared {
        map,
        about,
        cpu_s: watch.cpu_s(),
        from_cache: true,
        whole: true,
        trouble: None,
    })
}

pub(crate) fn make(
    scenario: &Scenario,
    progress: &mut dyn FnMut(u64) -> bool,
) -> Result<Prepared, RunError> {
    let (watch, mut notes, mut whole) = (Stopwatch::start(), Vec::new(), true);
    let mut map = scenario.drive_config().empty_map();
    let mut pages = None;
    if overwrites_as_workload(scenario) {
        pages = WorkloadPages::new(scenario, logical_pages(scenario))?;
        if pages.is_none() {
            let note = "the workload writes nothing, so \
                        precondition.overwrite = \"workload\" overwrote random pages";
            notes.push(note.to_string());
        }
    }
    let (spec, seed) = (&scenario.precondition, scenario.seed);
    let mut progress = |done| {
        whole &= progress(done);
        whole
    };
    let Preconditioned { waf, passes, settled, .. } = match &mut pages {
        Some(pages) => {
            let mut next = || pages.next();
            precondition(
                &mut map,
                spec,
                seed,
                Some(&mut next as &mut dyn FnMut() -> (Lpn, u8)),
                &mut progress,
            )
        }
        None => precondition(&mut map, spec, seed, None, &mut progress),
    }
    .map_err(RunError::Full)?;
    let overwrite = if pages.is_some() { Overwrite::Workload } else { Overwrite::Random };
    if pages.as_ref().is_some_and(WorkloadPages::reread) {
        notes.push(TOO_LONG.to_string());
    }
    if pages.is_some_and(|pages| pages.ended()) {
        whole = false;
        notes.push(
            "a trace changed while the drive was overwritten with it: random pages took its place"
                .to_string(),
        );
    }
    let about = About { waf, passes, settled, overwrite, notes };
    Ok(Prepared { map, about, cpu_s: watch.cpu_s(), from_cache: false, whole, trouble: None })
}

/// Why preconditioning took long.
const TOO_LONG: &str = "the trace has too many requests to be kept (16,777,216): \
                        preconditioning with precondition.overwrite = \"workload\" read it again \
                        in each pass; \"random\" is faster";

fn overwrites_as_workload(scenario: &Scenario) -> bool {
    let spec = &scenario.precondition;
    spec.state == PreconditionState::Steady && spec.overwrite == Overwrite::Workload
}

/// Makes keys; remembers the hashes of trace files between the policies of one comparison.
#[derive(Debug, Default)]
pub(crate) struct Keys {
    traces: BTreeMap<String, String>,
}

impl Keys {
    /// The keys of the states that the drives of `scenario` start from.
    pub(crate) fn of_drives(&mut self, scenario: &Scenario) -> Result<Vec<Key>, RunError> {
        (0..scenario.array.members).map(|number| self.of(&member(scenario, number))).collect()
    }

    /// The key of the state that `scenario`'s drive starts from.
    pub(crate) fn of(&mut self, scenario: &Scenario) -> Result<Key, RunError> {
        let device = &scenario.device;
        let mut gc = json!(scenario.gc);
        if let Value::Object(gc) = &mut gc {
            ["mode", "when", "copyback", "reads_first"]
                .into_iter()
                .for_each(|name| drop(gc.remove(name)));
        }
        let mut all = json!({
            "program": program(),
            "device": { "geometry": device.geometry, "feature": device.feature, "op": device.op },
            "ftl": scenario.ftl,
            "gc": gc,
            "precondition": scenario.precondition,
            "seed": scenario.seed,
        });
        if scenario.rain.width > 0 {
            all["rain"] = json!([scenario.rain.width, scenario.rain.update]);
        }
        if scenario.faults.is_on() {
            // Blocks that are bad from the start, and whether a reserve is kept for failures.
            all["faults"] = json!([scenario.faults.factory_bad, scenario.faults.fails()]);
        }
        if scenario.brought_to_drives().next().is_some() {
            let (gc, ftl) = (&scenario.gc, &scenario.ftl);
            let of = [gc.brought.identity(), gc.onset.identity(), ftl.brought.identity()];
            all["brought"] = json!(of);
        }
        if overwrites_as_workload(scenario) {
            all["workload"] = json!(scenario.workload);
            let traces = scenario.workload.jobs.iter().filter_map(|job| job.trace.as_ref());
            all["traces"] =
                traces.map(|trace| self.trace(&trace.file)).collect::<Result<_, _>>()?;
        }
        let text = serde_json::to_vec(&all).expect("a scenario is plain data");
        Ok(Key(Sha256::digest(text).into()))
    }

    /// A key of `what`, of the content of the scenario's traces and of the program.
    pub(crate) fn of_all(&mut self, scenario: &Scenario, what: &Value) -> Result<Key, RunError> {
        let traces = scenario.workload.jobs.iter().filter_map(|job| job.trace.as_ref());
        let traces = traces.map(|trace| self.trace(&trace.file)).collect::<Result<Vec<_>, _>>()?;
        let all = json!({ "program": program(), "what": what, "traces": traces });
        Ok(Key(Sha256::digest(serde_json::to_vec(&all).expect("a scenario is plain data")).into()))
    }

    fn trace(&mut self, file: &str) -> Result<Value, TraceError> {
        if let Some(hash) = self.traces.get(file) {
            return Ok(hash.as_str().into());
        }
        let refused = |error: std::io::Error| TraceError::Open {
            file: Arc::from(file),
            reason: error.to_string(),
        };
        let hashes =
            files_of(Path::new(file))?.into_iter().map(|part| hash_file(&part).map_err(refused));
        let hash = hashes.collect::<Result<Vec<_>, _>>()?.join(" ");
        self.traces.insert(file.to_string(), hash.clone());
        Ok(hash.into())
    }
}

/// The hash of the running program; `None` where it cannot be read.
fn program() -> Option<&'static str> {
    static HASH: OnceLock<Option<String>> = OnceLock::new();
    HASH.get_or_init(|| hash_file(&stamp::file()?).ok()).as_deref()
}

fn hash_file(path: &Path) -> std::io::Result<String> {
    let (mut file, mut hash, mut buffer) =
        (std::fs::File::open(path)?, Sha256::new(), vec![0; 1 << 20]);
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(Key(hash.finalize().into()).to_string()),
            read => hash.update(&buffer[..read]),
        }
    }
}
