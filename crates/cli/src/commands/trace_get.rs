//! `manx trace get`: public traces by name.

use super::progress::Bar;
use super::{Failure, print};
use crate::args::TraceGetArgs;
use crate::say::say;
use crate::screen::Screen;
use crate::signals::{self, STOP};
use manx_config::ConfigError;
use manx_lab::registry::{Entry, GetError, Registry, folder};
use manx_lab::table::count;
use std::fmt::Write;
use std::io::{Read, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::Ordering;
use std::time::Duration;

impl From<GetError> for Failure {
    fn from(error: GetError) -> Self {
        match error {
            GetError::Input(why) => ConfigError::new(why).into(),
            GetError::Work(why) => Failure::Work(why),
            GetError::Stopped => Failure::Interrupted("nothing was kept"),
        }
    }
}

/// Gets each trace, and prints where its file is; without names, lists them. All names are looked
/// up before the first is downloaded.
pub fn get(args: &TraceGetArgs, screen: &Screen) -> Result<(), Failure> {
    let registry = match &args.registry {
        Some(file) => Registry::read(file)?,
        None => Registry::shipped(),
    };
    if args.names.is_empty() {
        return list(&registry, args.json);
    }
    let entries = args.names.iter().map(|name| Ok((name, registry.named(name)?)));
    let entries: Vec<_> = entries.collect::<Result<_, GetError>>()?;
    let folder = args.cache.clone().or_else(folder).ok_or_else(|| {
        let why = "no folder to keep it in: set MANX_CACHE, or name one with --cache";
        Failure::Input(ConfigError::new(why))
    })?;
    signals::listen();
    for (name, entry) in entries {
        let bar = Bar::new(screen, name, "bytes");
        let mut download = |url: &str, to: &Path| download((name, url, to), entry.bytes, &bar);
        let file = entry.get(name, &folder, &mut download);
        bar.clear();
        let file = file?;
        if !screen.quiet {
            say(&about(entry));
        }
        print(&format!("{}\n", file.display()))?;
    }
    Ok(())
}

fn list(registry: &Registry, as_json: bool) -> Result<(), Failure> {
    if as_json {
        let text = serde_json::to_string_pretty(registry).unwrap_or_default();
        return print(&(text + "\n"));
    }
    let width = registry.entries().map(|(name, _)| name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for (name, entry) in registry.entries() {
        let Entry { title, licence, .. } = entry;
        let _ = writeln!(text, "{name:width$}  {title}");
        let size = count(entry.bytes);
        let _ = writeln!(text, "{:width$}  {size} bytes; licence: {licence}", "");
    }
    print(&text)
}

/// Source, licence and citation of the data, and how the file is read.
fn about(entry: &Entry) -> String {
    let Entry { title, source, licence, cite, read, .. } = entry;
    let mut text = format!("{title}\nsource: {source}\nlicence: {licence}");
    if let Some(cite) = cite {
        let _ = write!(text, "\ncite: {cite}");
    }
    for (key, value) in read {
        let _ = write!(text, "\nread it with --{} {value}", key.replace('_', "-"));
    }
    text
}

/// A program that brings an address into a file. It reads the address from its standard input: one
/// that is signed stands in no list of processes.
struct Program {
    name: &'static str,
    /// Options, and then the file.
    options: &'static [&'static str],
    /// Text before and behind the address.
    around: [&'static str; 2],
}

const PROGRAMS: [Program; 2] = [
    Program {
        name: "curl",
        options: &[
            "--fail",
            "--location",
            "--silent",
            "--show-error",
            "--connect-timeout",
            "30",
            "--config",
            "-",
            "-o",
        ],
        around: ["url = \"", "\"\n"],
    },
    Program {
        name: "wget",
        options: &["--no-verbose", "--connect-timeout=30", "--tries=2", "-i", "-", "-O"],
        around: ["", "\n"],
    },
];

/// Address of the object of a bucket, `BUCKET/KEY`. It is signed (Signature Version 4) by the
/// credentials of the environment, if there are any; else the bucket must be public.
#[cfg(feature = "remote")]
fn stored(object: &str) -> Result<String, String> {
    use rusty_s3::actions::{GetObject, S3Action};
    use rusty_s3::{Bucket, Credentials, UrlStyle};
    /// Time in which the download must begin.
    const VALID: Duration = Duration::from_secs(3600);

    let said =
        |names: &[&str]| names.iter().find_map(|name| std::env::var(name).ok()).unwrap_or_default();
    let (name, key) = object
        .split_once('/')
        .filter(|(name, key)| !name.is_empty() && !key.is_empty())
        .ok_or_else(|| format!("s3://{object}: s3://BUCKET/KEY is needed"))?;
    let region = said(&["AWS_REGION", "AWS_DEFAULT_REGION"]);
    let region = if region.is_empty() { "us-east-1".to_string() } else { region };
    let endpoint = said(&["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"]);
    let (endpoint, style) = match endpoint.as_str() {
        "" => (format!("https://s3.{region}.amazonaws.com"), UrlStyle::VirtualHost),
        // A store of one's own seldom has a name for each bucket.
        _ => (endpoint, UrlStyle::Path),
    };
    let url = endpoint
        .parse()
        .map_err(|error| format!("AWS_ENDPOINT_URL = {endpoint:?} is no address: {error}"))?;
    let bucket = Bucket::new(url, style, name.to_string(), region)
        .map_err(|error| format!("s3://{object}: {error}"))?;
    let credentials = Credentials::from_env();
    Ok(GetObject::new(&bucket, credentials.as_ref(), key).sign(VALID).to_string())
}

#[cfg(not(feature = "remote"))]
fn stored(object: &str) -> Result<String, String> {
    Err(format!(
        "s3://{object}: this manx is built without `--features remote`, which s3 needs; download \
         the file, and name it where a trace is asked for"
    ))
}

/// Brings `url` by the first of the programs that is there.
fn download((name, url, to): (&str, &str, &Path), bytes: u64, bar: &Bar) -> Result<(), GetError> {
    let failed = |why: &str| {
        GetError::Work(format!(
            "{name}: cannot download {url}: {why}; a copy of the file that you have can be used as \
             it is, or by a registry with file:// (docs/traces.md)"
        ))
    };
    let address = match url.strip_prefix("s3://") {
        Some(object) => stored(object).map_err(|why| GetError::Input(format!("{name}: {why}")))?,
        None => url.to_string(),
    };
    if address.contains(['"', '\\', ' ']) || address.contains(char::is_control) {
        return Err(GetError::Input(format!("{name}: {url:?} is no address")));
    }
    for Program { name: program, options, around } in PROGRAMS {
        let mut command = Command::new(program);
        command.args(options).arg(to).stdin(Stdio::piped()).stdout(Stdio::null());
        let Ok(mut child) = command.stderr(Stdio::piped()).spawn() else { continue };
        if let Some(mut input) = child.stdin.take() {
            // One that does not read it says why when it ends.
            let _ = input.write_all(around.join(&address).as_bytes());
        }
        let ended = loop {
            match child.try_wait() {
                Ok(Some(status)) => break status,
                Ok(None) => {}
                Err(error) => return Err(failed(&error.to_string())),
            }
            if STOP.load(Ordering::Relaxed) {
                let _ = child.kill();
                let _ = child.wait();
                return Err(GetError::Stopped);
            }
            bar.show(to.metadata().map_or(0, |file| file.len()), Some(bytes), "");
            std::thread::sleep(Duration::from_millis(50));
        };
        if ended.success() {
            return Ok(());
        }
        let mut said = String::new();
        if let Some(mut stderr) = child.stderr.take() {
            let _ = stderr.read_to_string(&mut said);
        }
        let said = said.trim();
        return Err(failed(if said.is_empty() { program } else { said }));
    }
    Err(failed("neither curl nor wget is there"))
}
