//! Many runs with a memory: a journal of what is done, so that a campaign that was stopped does
//! only what is left.
//!
//! The journal is a file of lines, each the key of a run and its result as JSON. The key is the
//! SHA-256 of everything that determines the result: the scenario with its policy, the traces'
//! content, the program. A line ends in the SHA-256 of all before it: one that was altered is
//! found, told ([`Campaign::remark`]), and its run is done again, as is that of a line cut short
//! (the machine went down). Results come back in the order of the points, whichever ended first, so
//! that what is made of them is the same bytes for any number of threads and interruptions. Of the
//! journal only the places of the results are held in memory: a campaign may have more than fit
//! there.

mod seal;

use self::seal::{Seal, seal, unseal};
use crate::compare::{Options, compare};
use crate::json::from_bytes;
use crate::prepare::{Key, Keys};
use crate::run::{Counted, Finished, Limits, RunError};
use manx_config::Scenario;
use manx_core::stats::{Outcome, RunResult};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// A run to be done: the name of the policy and the scenario with it laid over.
pub type Point = (String, Scenario);

/// Runs points on other machines, as [`compare`] does on the threads of this process.
pub trait Elsewhere: Sync {
    /// Runs each of `points`, and hands its result to `ended` with its number, as soon as it is
    /// there. It may return before all are: when the user stopped it.
    ///
    /// # Errors
    /// The machines are not to be had any more, or would compute something else. Results that were
    /// handed on are kept.
    fn run(
        &self,
        points: &[Point],
        ended: &mut dyn FnMut(usize, RunResult),
    ) -> Result<(), RunError>;
}

/// One process at a time has a journal: two would write into the files of one folder. The lock is
/// held as long as the file.
pub fn lock(journal: &Path) -> Result<Option<File>, String> {
    let file = OpenOptions::new().create(true).append(true).open(journal);
    let refused = |error| format!("{}: cannot keep the journal here: {error}", journal.display());
    // Only where a lock keeps out nobody but those who ask for it.
    let file = Some(file.map_err(refused)?).filter(|_| cfg!(unix));
    match file.as_ref().map(File::try_lock) {
        Some(Err(TryLockError::WouldBlock)) => {
            Err(format!("{}: another run of manx is at work in this folder", journal.display()))
        }
        // A file system without locks is no reason not to run.
        _ => Ok(file),
    }
}

/// Runs, and the journal of those that are done.
#[derive(Debug)]
pub struct Campaign {
    path: PathBuf,
    file: File,
    done: BTreeMap<String, Place>,
    /// Lines that were altered, by number, and how many have no checksum.
    altered: Vec<usize>,
    unsealed: usize,
    keys: Keys,
}

/// Where a line of the journal lies, in bytes.
#[derive(Clone, Copy, Debug)]
struct Place {
    from: u64,
    length: usize,
}

/// A line of the journal.
#[derive(Serialize, Deserialize)]
struct Line {
    key: String,
    result: RunResult,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    counted: Option<Counted>,
}

/// Result of a campaign.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Done {
    /// A result for each point; `None` for one that was stopped before its end or never begun.
    pub results: Vec<Option<RunResult>>,
    /// Counts of each point beside its limits, where it had any.
    pub counted: Vec<Option<Counted>>,
    /// Points that were taken from the journal.
    pub from_journal: usize,
}

impl Done {
    /// Every point has its result.
    pub fn is_complete(&self) -> bool {
        self.results.iter().all(Option::is_some)
    }
}

impl Campaign {
    /// The campaign of this journal, which is made if it is not there.
    pub fn open(path: &Path) -> Result<Self, String> {
        let refused = |error| format!("{}: cannot keep the journal here: {error}", path.display());
        let mut file =
            OpenOptions::new().create(true).read(true).append(true).open(path).map_err(refused)?;
        let mut done = BTreeMap::new();
        let (mut altered, mut unsealed) = (Vec::new(), 0);
        let mut reader = BufReader::new(&mut file);
        let (mut line, mut from, mut number) = (Vec::new(), 0, 0);
        while reader.read_until(b'\n', &mut line).map_err(refused)? > 0 {
            number += 1;
            match unseal(&line) {
                // Any other text that cannot be read is of a program with other results: its run is
                // done again.
                Seal::Whole(text) => {
                    if let Some(Line { key, .. }) = from_bytes(text) {
                        done.insert(key, Place { from, length: line.len() });
                    }
                }
                Seal::Altered => altered.push(number),
                Seal::None => unsealed += 1,
                Seal::Cut => {}
            }
            from += line.len() as u64;
            line.clear();
        }
        end_last_line(&mut file).map_err(refused)?;
        Ok(Self { path: path.to_path_buf(), file, done, altered, unsealed, keys: Keys::default() })
    }

    /// Remark on the journal: lines that are not believed.
    pub fn remark(&self) -> Option<String> {
        let list =
            |lines: &[usize]| lines.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
        let altered = match self.altered.as_slice() {
            [] => None,
            [line] => {
                Some(format!("line {line} was altered since it was written: its run is done again"))
            }
            lines => Some(format!(
                "lines {} were altered since they were written: their runs are done again",
                list(lines)
            )),
        };
        let unsealed = match self.unsealed {
            0 => None,
            1 => Some(
                "a line has no checksum (an older manx wrote it): its run is done again"
                    .to_string(),
            ),
            lines => Some(format!(
                "{lines} lines have no checksum (an older manx wrote them): \
                 their runs are done again"
            )),
        };
        let remarks: Vec<String> = [altered, unsealed].into_iter().flatten().collect();
        (!remarks.is_empty()).then(|| format!("{}: {}", self.path.display(), remarks.join("; ")))
    }

    /// Which of the points are in the journal.
    pub fn known(&mut self, points: &[Point], verify: bool) -> Result<Vec<bool>, RunError> {
        let keys = self.keys(points, verify, None)?;
        Ok(keys.iter().map(|key| self.done.contains_key(key)).collect())
    }

    /// Runs the points that are not in the journal. `each` is told of every result in the order of
    /// the points, as soon as all before it are there.
    pub fn run(
        &mut self,
        points: &[Point],
        options: &Options<'_>,
        each: &mut (dyn FnMut(usize, &RunResult) -> Result<(), RunError> + Send),
    ) -> Result<Done, RunError> {
        self.run_at(None, points, options, each)
    }

    /// As [`Campaign::run`], on the machines of `elsewhere`.
    pub fn run_at(
        &mut self,
        elsewhere: Option<&dyn Elsewhere>,
        points: &[Point],
        options: &Options<'_>,
        each: &mut (dyn FnMut(usize, &RunResult) -> Result<(), RunError> + Send),
    ) -> Result<Done, RunError> {
        let keys = self.keys(points, options.verify, options.limits)?;
        let (results, counted): (Vec<_>, Vec<_>) =
            keys.iter().map(|key| self.known_result(key)).unzip();
        let from_journal = results.iter().filter(|result| result.is_some()).count();
        // Points that are the same run are run once.
        let mut left: Vec<Vec<usize>> = Vec::new();
        let mut places = BTreeMap::new();
        for point in (0..points.len()).filter(|point| results[*point].is_none()) {
            let place = *places.entry(&keys[point]).or_insert(left.len());
            if place == left.len() {
                left.push(Vec::new());
            }
            left[place].push(point);
        }
        let runs: Vec<Point> = left.iter().map(|same| points[same[0]].clone()).collect();
        let ledger = Mutex::new(Ledger { results, counted, told: 0, each, failed: None });
        let (journal, path) = (Mutex::new((&mut self.file, &mut self.done)), &self.path);
        let ended = |run: usize, result: &RunResult, counted: Option<&Counted>| {
            // One that was given up is as it is whenever it is run; one that was stopped is not.
            let is_given_up = counted.is_some_and(|counted| counted.ended.is_some());
            if result.outcome == Outcome::Partial && !is_given_up {
                return;
            }
            let key = &keys[left[run][0]];
            let mut journal = journal.lock().unwrap_or_else(PoisonError::into_inner);
            let written = write_line(journal.0, key, result, counted);
            let mut ledger = ledger.lock().unwrap_or_else(PoisonError::into_inner);
            match written {
                Ok(place) => drop(journal.1.insert(key.clone(), place)),
                Err(error) => {
                    let message = format!("{}: cannot write the journal: {error}", path.display());
                    ledger.failed.get_or_insert(RunError::Write(message));
                }
            }
            drop(journal);
            for point in &left[run] {
                ledger.results[*point] = Some(result.clone());
                ledger.counted[*point] = counted.cloned();
            }
            ledger.tell();
        };
        ledger.lock().unwrap_or_else(PoisonError::into_inner).tell();
        match elsewhere {
            Some(elsewhere) => {
                elsewhere.run(&runs, &mut |run, result| ended(run, &result, None))?;
            }
            None => {
                let finished = |run, of: &Finished| ended(run, &of.result, of.counted.as_ref());
                compare(&runs, &Options { finished: Some(&finished), ..*options })?;
            }
        }
        let Ledger { results, counted, failed, .. } =
            ledger.into_inner().unwrap_or_else(PoisonError::into_inner);
        match failed {
            Some(error) => Err(error),
            None => Ok(Done { results, counted, from_journal }),
        }
    }

    /// A result of the journal; `None` too where the file is no longer what it was.
    fn result(&mut self, key: &str) -> Option<Line> {
        let Place { from, length } = *self.done.get(key)?;
        let mut text = vec![0; length];
        self.file.seek(SeekFrom::Start(from)).and_then(|_| self.file.read_exact(&mut text)).ok()?;
        let Seal::Whole(text) = unseal(&text) else { return None };
        from_bytes(text).filter(|line: &Line| line.key == key)
    }

    fn known_result(&mut self, key: &str) -> (Option<RunResult>, Option<Counted>) {
        self.result(key).map_or((None, None), |line| (Some(line.result), line.counted))
    }

    fn keys(
        &mut self,
        points: &[Point],
        verify: bool,
        limits: Option<&Limits>,
    ) -> Result<Vec<String>, RunError> {
        let key = |(policy, scenario): &Point| {
            Ok(self.keys.of_result(policy, scenario, verify, limits)?.to_string())
        };
        points.iter().map(key).collect()
    }
}

/// Runs known so far, and how many of them were told.
struct Ledger<'a> {
    results: Vec<Option<RunResult>>,
    counted: Vec<Option<Counted>>,
    told: usize,
    each: &'a mut (dyn FnMut(usize, &RunResult) -> Result<(), RunError> + Send),
    failed: Option<RunError>,
}

impl Ledger<'_> {
    fn tell(&mut self) {
        while let Some(Some(result)) = self.results.get(self.told)
            && self.failed.is_none()
        {
            self.failed = (self.each)(self.told, result).err();
            self.told += 1;
        }
    }
}

/// A whole line in one write, at the end of the file.
fn write_line(
    file: &mut File,
    key: &str,
    result: &RunResult,
    counted: Option<&Counted>,
) -> std::io::Result<Place> {
    let line = Line { key: key.to_string(), result: result.clone(), counted: counted.cloned() };
    let text = seal(serde_json::to_vec(&line)?);
    file.write_all(&text)?;
    // Wherever it was read before: what is appended ends where the file does.
    let end = file.stream_position()?;
    file.sync_data()?;
    Ok(Place { from: end - text.len() as u64, length: text.len() })
}

/// Ends a last line that was cut short, so that an appended line does not join it.
fn end_last_line(file: &mut File) -> std::io::Result<()> {
    if file.seek(SeekFrom::End(0))? == 0 {
        return Ok(());
    }
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    if last != [b'\n'] { file.write_all(b"\n") } else { Ok(()) }
}

/// The key of a point's result, in hexadecimal: of everything that determines it, the program
/// included. Where it is known, the run need not be done again.
///
/// # Errors
/// A trace cannot be read, or a policy is the program's own, which no text tells from another one.
pub fn key((policy, scenario): &Point, verify: bool) -> Result<String, RunError> {
    Ok(Keys::default().of_result(policy, scenario, verify, None)?.to_string())
}

impl Keys {
    /// The key of a result: of everything that determines it.
    fn of_result(
        &mut self,
        policy: &str,
        scenario: &Scenario,
        verify: bool,
        limits: Option<&Limits>,
    ) -> Result<Key, RunError> {
        if let Some(name) = scenario.brought().next() {
            return Err(RunError::Beside(format!(
                "{policy}: {name} is a policy of the program's own: what it does is in no file, so \
                 that no journal can tell a run with it from another one"
            )));
        }
        let mut what =
            serde_json::json!({ "policy": policy, "scenario": scenario, "verify": verify });
        if let Some(limits) = limits {
            what["limits"] = serde_json::json!(limits);
        }
        self.of_all(scenario, &what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::Request;
    use crate::run::Beside;
    use manx_config::Override;
    use manx_core::stats::RunSet;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    fn points(rates: &[u32]) -> Vec<Point> {
        let point = |rate: &u32| {
            let keys =
                [("workload.rate", rate.to_string()), ("workload.requests", "3000".to_string())];
            let overrides = keys.map(|(key, value)| Override::new(key, value, "a test"));
            (
                "base".to_string(),
                Request::read("quick", overrides.to_vec()).unwrap().under("base").unwrap(),
            )
        };
        rates.iter().map(point).collect()
    }

    /// Runs the points, and says which of them were simulated and in which order results were told.
    fn run(path: &Path, points: &[Point], stop_after: Option<usize>) -> (Done, Vec<usize>) {
        let (stop, simulated, told) =
            (AtomicBool::new(false), AtomicUsize::new(0), Mutex::new(Vec::new()));
        let options = Options {
            // Results are told in order: one thread alone cannot be ahead of what is told when the
            // stop comes.
            jobs: std::num::NonZero::new(if stop_after.is_some() { 1 } else { 2 }),
            verify: false,
            cache: None,
            beside: Beside::default(),
            stop: &stop,
            observer: &|_| {},
            finished: None,
            limits: None,
        };
        let mut campaign = Campaign::open(path).unwrap();
        let mut each = |point, _: &RunResult| {
            told.lock().unwrap().push(point);
            if stop_after
                .is_some_and(|after| simulated.fetch_add(1, Ordering::Relaxed) + 1 >= after)
            {
                stop.store(true, Ordering::Relaxed);
            }
            Ok(())
        };
        let done = campaign.run(points, &options, &mut each).unwrap();
        (done, told.into_inner().unwrap())
    }

    fn without_machine(done: &Done) -> String {
        let runs = done.results.iter().map(|result| result.clone().unwrap()).collect();
        crate::json::strip_machine(&crate::json::to_json(&RunSet { runs })).unwrap()
    }

    #[cfg(unix)]
    #[test]
    fn two_processes_cannot_have_one_journal_at_a_time() {
        let journal = std::env::temp_dir().join(format!("manx-lock-{}", std::process::id()));
        let first = lock(&journal).unwrap();
        let refused = lock(&journal).unwrap_err();
        assert!(refused.contains("another run of manx is at work in this folder"), "{refused}");
        drop(first);
        assert!(lock(&journal).is_ok());
        std::fs::remove_file(&journal).unwrap();
        assert!(
            lock(Path::new("/proc/nowhere/x")).unwrap_err().contains("cannot keep the journal")
        );
    }

    #[test]
    fn a_line_that_was_altered_is_found_told_and_run_again() {
        let folder = std::env::temp_dir().join(format!("manx-altered-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (path, points) = (folder.join("journal"), points(&[1000, 2000]));
        let (whole, _) = run(&path, &points, None);
        assert_eq!(Campaign::open(&path).unwrap().remark(), None);
        let text = std::fs::read_to_string(&path).unwrap();
        // Every digit of a number, the key, the checksum itself: one byte in a line, at many
        // places.
        let second = text.find('\n').unwrap() + 1;
        for at in (second..text.len() - 3).step_by(97).chain([text.len() - 5]) {
            let mut bytes = text.clone().into_bytes();
            bytes[at] = if bytes[at] == b'1' { b'2' } else { b'1' };
            std::fs::write(&path, bytes).unwrap();
            let remark = Campaign::open(&path).unwrap().remark().unwrap();
            assert!(
                remark.ends_with("line 2 was altered since it was written: its run is done again"),
                "{remark}"
            );
        }
        let (again, _) = run(&path, &points, None);
        assert_eq!(again.from_journal, 1);
        assert!(without_machine(&again) == without_machine(&whole));
        // As an older program wrote it.
        let lines =
            text.lines().map(|line| format!("{}}}\n", line.split(",\"sha256\"").next().unwrap()));
        std::fs::write(&path, lines.collect::<String>()).unwrap();
        let old = Campaign::open(&path).unwrap().remark().unwrap();
        assert!(old.contains("2 lines have no checksum"), "{old}");
        assert_eq!(run(&path, &points, None).0.from_journal, 0);
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_campaign_goes_on_where_it_was_stopped_and_ends_as_if_it_had_not_been() {
        let folder = std::env::temp_dir().join(format!("manx-campaign-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let points = points(&[1000, 2000, 3000, 4000, 5000, 6000]);
        let (whole, told) = run(&folder.join("whole"), &points, None);
        assert_eq!((whole.from_journal, whole.is_complete()), (0, true));
        assert_eq!(told, [0, 1, 2, 3, 4, 5]);

        let path = folder.join("cut");
        let (part, _) = run(&path, &points, Some(2));
        assert!(!part.is_complete(), "it was stopped");
        // As if the machine had gone down in the middle of a line.
        let text = std::fs::read(&path).unwrap();
        let lines = text.iter().filter(|byte| **byte == b'\n').count();
        std::fs::write(&path, &text[..text.len() - 7]).unwrap();
        let (rest, told) = run(&path, &points, None);
        assert_eq!(rest.from_journal, lines - 1);
        assert_eq!(told, [0, 1, 2, 3, 4, 5]);
        assert!(
            without_machine(&rest) == without_machine(&whole),
            "the results are the same bytes"
        );
        // Everything is known now; another point is not.
        assert_eq!(run(&path, &points, None).0.from_journal, 6);
        let other = self::points(&[1000, 7000]);
        assert_eq!(Campaign::open(&path).unwrap().known(&other, false).unwrap(), [true, false]);
        assert_eq!(Campaign::open(&path).unwrap().known(&other, true).unwrap(), [false, false]);
        // A run that is asked for twice is done once, and told twice.
        let (twice, told) = run(&folder.join("twice"), &self::points(&[1000, 2000, 1000]), None);
        assert_eq!((told, twice.results[0] == twice.results[2]), (vec![0, 1, 2], true));
        assert_eq!(std::fs::read_to_string(folder.join("twice")).unwrap().lines().count(), 2);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
