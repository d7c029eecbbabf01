//! Points of a sweep on the workers of a Dask cluster.
//!
//! Dask speaks Python: a child, `python3 -m manx._dask ADDRESS`, is the cluster's client. It takes
//! points and gives results as lines of JSON on its standard input and output, and ends where the
//! input does. Which interpreter that is, `MANX_PYTHON` says.

use super::Failure;
use crate::say::say_line;
use crate::signals::STOP;
use manx_config::ConfigError;
use manx_core::stats::{Program, RunResult};
use manx_lab::campaign::{Elsewhere, Point};
use manx_lab::run::RunError;
use manx_lab::{save, stamp};
use serde::Deserialize;
use std::env;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::Duration;

/// Time between two looks at Ctrl-C.
const LOOK: Duration = Duration::from_millis(50);

/// Looks that a client is given to end by itself.
const LOOKS_MAX: usize = 60;

/// A cluster, by its client.
pub struct Cluster {
    address: String,
    verify: bool,
    is_cached: bool,
    client: Mutex<Client>,
}

/// The process that is the cluster's client.
struct Client {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    errors: Option<JoinHandle<String>>,
}

/// A line of the client.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Answer {
    /// It is connected, to so many workers.
    Ready { program: Program, workers: usize },
    /// A point ended.
    Ended { point: usize, result: Box<RunResult> },
    /// All points of the question ended.
    Done,
    /// The question was wrong.
    Refused(String),
    /// The work failed.
    Failed(String),
}

impl Cluster {
    /// The cluster whose scheduler is at `address`.
    ///
    /// # Errors
    /// There is no Python that has `manx` and Dask, it is another build than this program, or
    /// nothing answers at the address.
    pub fn connect(address: &str, verify: bool, is_cached: bool) -> Result<Self, Failure> {
        let python = env::var_os("MANX_PYTHON").unwrap_or_else(|| "python3".into());
        let shown = python.to_string_lossy().into_owned();
        let input = |why: String| -> Failure {
            ConfigError::new(format!("--dask {address}: {why}")).into()
        };
        let child = Command::new(&python)
            .args(["-m", "manx._dask", address])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| input(format!("cannot run {shown}: {error}; {MENDED}")))?;
        let mut client = Client::of(child);
        match client.answer() {
            Some(Ok(Answer::Ready { program, workers })) => {
                let remark = same_build(&program, &stamp::program())
                    .map_err(|why| input(format!("{shown} has {why}")))?;
                if let Some(remark) = remark {
                    say_line(&format!("--dask {address}: {remark}"));
                }
                if workers == 0 {
                    say_line(&format!("--dask {address}: no worker is there yet"));
                }
            }
            Some(Ok(Answer::Refused(why))) => return Err(input(why)),
            Some(Ok(_)) => return Err(input(format!("{shown} did not begin as it should"))),
            Some(Err(why)) => return Err(input(why)),
            None if STOP.load(Ordering::Relaxed) => {
                return Err(Failure::Interrupted("nothing was begun"));
            }
            None => {
                let said = client.last_words();
                let lacks = said.contains("No module named");
                let mended = if lacks { format!("; {MENDED}") } else { String::new() };
                return Err(input(format!("{shown}: {said}{mended}")));
            }
        }
        let client = Mutex::new(client);
        Ok(Self { address: address.to_string(), verify, is_cached, client })
    }
}

/// How a missing client is mended.
const MENDED: &str = "a Python with this build of manx-ssd and with `distributed` is needed: \
                      MANX_PYTHON names one";

/// Whether both are built from the same source, as far as they say; a remark where they do not.
fn same_build(theirs: &Program, ours: &Program) -> Result<Option<String>, String> {
    let shown = |program: &Program| {
        let commit = program.commit.as_ref().map_or(String::new(), |hash| format!(" ({hash})"));
        format!("manx {}{commit}", program.version)
    };
    let known = |program: &Program| {
        // A dirty tree has changes that its commit does not name.
        program.commit.clone().filter(|commit| !commit.ends_with("-dirty"))
    };
    let (of_theirs, of_ours) = (known(theirs), known(ours));
    let is_told = of_theirs.is_some() && of_ours.is_some();
    if is_told && of_theirs != of_ours
        || (&theirs.version, theirs.schema) != (&ours.version, ours.schema)
    {
        let (theirs, ours) = (shown(theirs), shown(ours));
        return Err(format!("{theirs}, and this is {ours}: another build computes other results"));
    }
    Ok((!is_told).then(|| {
        format!(
            "both are manx {}; that they are built from one commit is not recorded",
            ours.version
        )
    }))
}

impl Client {
    fn of(mut child: Child) -> Self {
        let (input, output, errors) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (sender, lines) = channel();
        let read = move |output: ChildStdout| {
            // A line that nobody takes any more is of a client that is being ended.
            BufReader::new(output).lines().map_while(Result::ok).try_for_each(|l| sender.send(l))
        };
        if let Some(output) = output {
            spawn(move || read(output));
        }
        let errors = errors.map(|mut errors| {
            spawn(move || {
                let mut said = Vec::new();
                let _ = errors.read_to_end(&mut said);
                String::from_utf8_lossy(&said).into_owned()
            })
        });
        Self { child, input, lines, errors }
    }

    /// The next answer; `None` where the client ended, or Ctrl-C was pressed.
    fn answer(&mut self) -> Option<Result<Answer, String>> {
        loop {
            match self.lines.recv_timeout(LOOK) {
                Ok(line) => {
                    let of = serde_json::from_str(&line);
                    return Some(of.map_err(|error| format!("its client said {line:?}: {error}")));
                }
                Err(RecvTimeoutError::Timeout) if !STOP.load(Ordering::Relaxed) => {}
                Err(_) => return None,
            }
        }
    }

    /// Last line on its standard error, which tells why it ended.
    fn last_words(&mut self) -> String {
        self.end();
        let said = self.errors.take().and_then(|errors| errors.join().ok()).unwrap_or_default();
        let last = said.lines().rev().map(str::trim).find(|line| !line.is_empty());
        last.unwrap_or("the client ended without a word").to_string()
    }

    /// Ends it: by the end of its input, or by force where that does not help.
    fn end(&mut self) {
        drop(self.input.take());
        for _ in 0..LOOKS_MAX {
            match self.child.try_wait() {
                Ok(None) => sleep(LOOK),
                _ => return,
            }
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.end();
    }
}

impl Elsewhere for Cluster {
    fn run(
        &self,
        points: &[Point],
        ended: &mut dyn FnMut(usize, RunResult),
    ) -> Result<(), RunError> {
        if points.is_empty() {
            return Ok(());
        }
        let failed = |why: String| RunError::Elsewhere(format!("--dask {}: {why}", self.address));
        let written = points.iter().map(|(policy, scenario)| {
            Ok((policy, save::as_run(scenario).map_err(RunError::Beside)?))
        });
        let written: Vec<_> = written.collect::<Result<_, RunError>>()?;
        let question = serde_json::json!({
            "verify": self.verify,
            "cache": if self.is_cached { "user" } else { "" },
            "points": written,
        });
        let mut client = self.client.lock().unwrap_or_else(PoisonError::into_inner);
        let asked = client.input.as_mut().map(|input| writeln!(input, "{question}"));
        let Some(Ok(())) = asked else { return Err(failed(client.last_words())) };
        loop {
            match client.answer() {
                Some(Ok(Answer::Ended { point, result })) if point < points.len() => {
                    ended(point, *result);
                }
                Some(Ok(Answer::Done)) => return Ok(()),
                Some(Ok(Answer::Refused(why))) => {
                    return Err(RunError::Beside(format!("--dask {}: {why}", self.address)));
                }
                Some(Ok(Answer::Failed(why)) | Err(why)) => return Err(failed(why)),
                Some(Ok(_)) => return Err(failed("its client gave another answer".to_string())),
                None if STOP.load(Ordering::Relaxed) => return Ok(()),
                None => return Err(failed(client.last_words())),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_build_is_refused_and_an_unknown_one_is_said() {
        let of = |version: &str, commit: Option<&str>, schema| Program {
            version: version.to_string(),
            commit: commit.map(str::to_string),
            schema,
        };
        let ours = of("1.0", Some("abc"), 3);
        assert_eq!(same_build(&ours, &ours), Ok(None));
        for other in [of("1.1", Some("abc"), 3), of("1.0", Some("abd"), 3), of("1.0", None, 4)] {
            assert!(same_build(&other, &ours).unwrap_err().contains("another build"));
        }
        assert!(same_build(&of("1.0", None, 3), &ours).unwrap().is_some());
    }
}
