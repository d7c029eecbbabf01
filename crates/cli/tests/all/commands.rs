//! Every command of README and docs/ runs as it stands.
//!
//! The commands of a document are the lines of its blocks marked `sh`, and the lines of blocks
//! marked `console` that begin with `$`. They run one after the other in a folder of the document's
//! own, where the sample trace lies as in the repository, and where a block `toml file: NAME` has
//! left its text. A block `python` runs with the Python of the tests. What a block marked `sh long:
//! WHY` holds is begun and, once it runs, stopped by Ctrl-C, as it takes too long for a test; with
//! MANX_LONG=1 it runs to its end. `sh elsewhere: WHY` needs files that the repository may not
//! hold: it runs as far as the error that names the missing file.

use crate::documents::{Block, Document, blocks, prose, root, spans, user_documents};
use crate::support::{manx, python, stdout};
use std::collections::BTreeMap;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// No command of a document runs so long: it hangs.
const HANGS_AFTER: Duration = Duration::from_secs(300);

/// A command that takes longer is named in the log: all of them are a large part of all tests.
const TOLD_AFTER: Duration = Duration::from_secs(3);

/// The shells of `sh` blocks know these; another word is an error, as nobody would have tried it.
const PROGRAMS: [&str; 5] = ["manx", "cargo", "make", "ls", "head"];

/// `cargo run --release -- ...` is the binary of this build; of `cargo build --release -p CRATE`
/// and `make TARGET` only the names are looked up.
const CARGO: &str = r#"#!/bin/sh
case "$1 $2 $3" in
"run --release --") shift 3; exec manx "$@" ;;
"build --release -p") grep -qr --include=Cargo.toml "^name = \"$4\"" "$MANX_ROOT/crates" ;;
*) exit 97 ;;
esac
"#;
const MAKE: &str = r#"#!/bin/sh
grep -q "^$1:" "$MANX_ROOT/Makefile" || { echo "no target $1" >&2; exit 97; }
"#;

#[test]
fn every_command_of_the_documents_runs_as_it_stands() {
    build_plot();
    let sandbox = Sandbox::new();
    let left = Mutex::new(user_documents());
    let complaints = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let Some(document) = left.lock().unwrap().pop() else { break };
                    let found = sandbox.run(&document);
                    complaints.lock().unwrap().extend(found);
                }
            });
        }
    });
    let complaints = complaints.into_inner().unwrap();
    assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
}

/// `manx plot` is a program of another crate, which is there when the whole workspace is tested.
fn build_plot() {
    if !Path::new(env!("CARGO_BIN_EXE_manx")).with_file_name("manx-plot").exists() {
        let built = Command::new(env!("CARGO"))
            .args(["build", "-q", "-p", "manx-plot"])
            .current_dir(root())
            .status();
        assert!(built.unwrap().success());
    }
}

/// Every text that looks like a command stands where the test above finds it.
#[test]
fn a_command_stands_in_a_block_that_is_run() {
    for document in user_documents() {
        for block in blocks(&document.text) {
            let looks = ["manx ", "$ manx ", "cargo run "];
            let found = block
                .lines
                .iter()
                .find(|line| looks.iter().any(|look| line.trim_start().starts_with(look)));
            let is_run = ["sh", "console"].contains(&block.language());
            let place = format!("{}:{}", document.name, block.line);
            assert!(
                is_run || found.is_none(),
                "{place}: this block holds commands, mark it `sh`: {found:?}"
            );
            let told = ["long", "elsewhere"].iter().find_map(|word| block.told(word));
            let told = block.info == block.language() || told.is_some_and(|why| !why.is_empty());
            assert!(
                !is_run || told,
                "{place}: `{}`, expected `sh`, `sh long: WHY` or `sh elsewhere: WHY`",
                block.info
            );
        }
    }
}

/// `manx sweep --pareto` in running text: the subcommand and its options exist.
#[test]
fn a_command_in_running_text_names_what_there_is() {
    build_plot();
    let mut helps: BTreeMap<String, Option<String>> = BTreeMap::new();
    for document in user_documents() {
        for (line, text) in prose(&document.text) {
            for span in spans(text).filter(|span| span.starts_with("manx ")) {
                let words: Vec<&str> = span.split_whitespace().skip(1).collect();
                let names = words
                    .iter()
                    .take_while(|word| word.bytes().all(|byte| byte.is_ascii_lowercase()));
                let names: Vec<&str> = names.copied().collect();
                let place = format!("{}:{line}: `{span}`", document.name);
                // The last words may be a scenario, a name.
                let known = (0..=names.len()).rev().find_map(|taken| {
                    let help = helps
                        .entry(names[..taken].join(" "))
                        .or_insert_with(|| help_of(&names[..taken]));
                    help.clone().map(|help| (help, taken))
                });
                let (help, taken) = known.unwrap();
                let family = help.contains("Commands:");
                assert!(
                    !family || words[taken..].iter().all(|word| word.starts_with('-')),
                    "{place}: no such command"
                );
                for option in words.iter().filter(|word| word.starts_with("--")) {
                    let option =
                        option.split('=').next().unwrap().trim_end_matches([',', ']', '.']);
                    assert!(help.contains(option), "{place}: no option {option}");
                }
            }
        }
    }
}

fn help_of(names: &[&str]) -> Option<String> {
    let output = manx(&[names, &["--help"]].concat());
    output.status.success().then(|| stdout(&output))
}

/// A folder for each document, beside the programs that its commands may call.
struct Sandbox {
    folder: PathBuf,
    path: String,
}

impl Sandbox {
    fn new() -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("documents");
        let _ = std::fs::remove_dir_all(&folder);
        let programs = folder.join("programs");
        std::fs::create_dir_all(&programs).unwrap();
        symlink(env!("CARGO_BIN_EXE_manx"), programs.join("manx")).unwrap();
        for (name, text) in [("cargo", CARGO), ("make", MAKE)] {
            std::fs::write(programs.join(name), text).unwrap();
            std::fs::set_permissions(programs.join(name), PermissionsExt::from_mode(0o755))
                .unwrap();
        }
        let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
        Self { folder, path }
    }

    /// Failures of the commands of a document.
    fn run(&self, document: &Document) -> Vec<String> {
        let folder = self.folder.join(document.name.replace('/', "_"));
        std::fs::create_dir_all(folder.join("traces")).unwrap();
        let sample = "traces/pgbench.csv.zst";
        std::fs::copy(root().join(sample), folder.join(sample)).unwrap();
        let mut complaints = Vec::new();
        for block in blocks(&document.text) {
            if let Some(name) = block.told("file") {
                std::fs::write(folder.join(name), block.lines.join("\n") + "\n").unwrap();
            }
            if block.language() == "python" {
                std::fs::write(folder.join("block.py"), block.lines.join("\n") + "\n").unwrap();
            }
            for (line, command) in commands(&block) {
                let began = Instant::now();
                let said = self.command(&folder, &command, block.told("long").is_some());
                let took = began.elapsed();
                if took > TOLD_AFTER {
                    let shown = took.as_secs_f64();
                    println!("{}:{line}: {shown:.1} s: {command}", document.name);
                }
                let said = if block.told("elsewhere").is_some() { missing(said) } else { said };
                complaints.extend(
                    said.err().map(|why| format!("{}:{line}: `{command}`: {why}", document.name)),
                );
            }
        }
        complaints
    }

    fn command(&self, folder: &Path, command: &str, long: bool) -> Result<(), String> {
        let first = command.split_whitespace().next().unwrap();
        if !PROGRAMS.contains(&first) && first != python() {
            return Err(format!(
                "no test runs `{first}`: mark the block `text` if it is not for this program"
            ));
        }
        let long = long && std::env::var_os("MANX_LONG").is_none();
        // So slow a machine that Ctrl-C came before the program could heed it: later then.
        for patience in [300, 1_000, 4_000, 16_000, 64_000].map(Duration::from_millis) {
            let begun = self.begin(folder, command);
            let status = await_end(begun, if long { patience } else { HANGS_AFTER }, long)?;
            match status.code() {
                Some(0) => return Ok(()),
                Some(130) if long => return Ok(()),
                None if long => continue,
                _ => return Err(format!("{status}: {}", said(folder))),
            }
        }
        Err("it does not heed Ctrl-C".to_string())
    }

    fn begin(&self, folder: &Path, command: &str) -> Child {
        // A shell that starts the tests in the background has them ignore Ctrl-C, and with them
        // every command until it listens for it.
        Command::new("env")
            .args(["--default-signal=INT", "sh", "-c"])
            // In the shell's place, so that a signal reaches it.
            .arg(if command.contains('|') {
                command.to_string()
            } else {
                format!("exec {command}")
            })
            .current_dir(folder)
            .env("PATH", &self.path)
            .env("MANX_CACHE", self.folder.join("cache"))
            .env("MANX_ROOT", root())
            .stdin(Stdio::null())
            .stdout(std::fs::File::create(folder.join(".stdout")).unwrap())
            .stderr(std::fs::File::create(folder.join(".stderr")).unwrap())
            .spawn()
            .unwrap()
    }
}

/// A command whose file is not here got so far as to say that.
fn missing(said: Result<(), String>) -> Result<(), String> {
    match said {
        Err(why) if why.to_lowercase().contains("no such file") => Ok(()),
        Err(why) => Err(why),
        Ok(()) => Err("it runs: take `elsewhere` away".to_string()),
    }
}

/// Output of the last command beside its result, cut to its beginning.
fn said(folder: &Path) -> String {
    let text = std::fs::read_to_string(folder.join(".stderr")).unwrap_or_default();
    text.trim_end().chars().take(600).collect()
}

/// Waits for the end of a command, of which a long one gets Ctrl-C and any other that goes on is
/// killed.
fn await_end(mut child: Child, patience: Duration, long: bool) -> Result<ExitStatus, String> {
    let begin = Instant::now();
    let mut stopped = false;
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if begin.elapsed() > HANGS_AFTER {
            child.kill().unwrap();
            child.wait().unwrap();
            return Err(format!("it hangs, or takes more than {HANGS_AFTER:?}"));
        }
        if long && !stopped && begin.elapsed() > patience {
            stopped = true;
            let sent =
                Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
            assert!(sent.success());
        }
        sleep(Duration::from_millis(5));
    };
    Ok(status)
}

/// The commands of a block and their lines: comments taken off, continued lines joined.
fn commands(block: &Block) -> Vec<(usize, String)> {
    let mut all: Vec<(usize, String)> = Vec::new();
    let mut goes_on = false;
    for (number, line) in block.lines.iter().enumerate() {
        let line = match block.language() {
            "sh" => Some(line.as_str()),
            "console" if goes_on => Some(line.as_str()),
            "console" => line.strip_prefix("$ "),
            _ => None,
        };
        let Some(line) = line.map(|line| line.split(" #").next().unwrap().trim()) else { continue };
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (text, continued) =
            line.strip_suffix('\\').map_or((line, false), |line| (line.trim_end(), true));
        match all.last_mut() {
            Some((_, before)) if goes_on => *before += &format!(" {text}"),
            _ => all.push((block.line + number + 1, text.to_string())),
        }
        goes_on = continued;
    }
    if block.language() == "python" {
        all.push((block.line, format!("{} block.py", python())));
    }
    all
}
