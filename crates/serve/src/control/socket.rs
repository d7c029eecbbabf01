//! The control socket: a line of JSON each way.
//!
//! `{"order": "state"}`, `"pause"`, `"resume"`, `"stop"`, or `{"order": "set", "sets":
//! ["gc.soft=0.1"]}`, or `"snapshot"` with a `"folder"`; the answer is
//! `{"ok": STATE}` or `{"error": WHY}`.

use super::{Answer, Order, Orders};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Bytes of an order at most.
const LONGEST: u64 = 64 << 10;
/// How long a client may take for a line.
const PATIENCE: Duration = Duration::from_secs(5);

/// An order as it is written.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "order", rename_all = "lowercase", deny_unknown_fields)]
enum Line {
    State,
    Pause,
    Resume,
    Stop,
    Set { sets: Vec<String> },
    Snapshot { folder: PathBuf },
}

impl From<Line> for Order {
    fn from(line: Line) -> Self {
        match line {
            Line::State => Order::State,
            Line::Pause => Order::Pause,
            Line::Resume => Order::Resume,
            Line::Stop => Order::Stop,
            Line::Set { sets } => Order::Set(sets),
            Line::Snapshot { folder } => Order::Snapshot(folder),
        }
    }
}

impl From<&Order> for Line {
    fn from(order: &Order) -> Self {
        match order {
            Order::State => Line::State,
            Order::Pause => Line::Pause,
            Order::Resume => Line::Resume,
            Order::Stop => Line::Stop,
            Order::Set(sets) => Line::Set { sets: sets.clone() },
            Order::Snapshot(folder) => Line::Snapshot { folder: folder.clone() },
        }
    }
}

/// Hears orders on `listener` in a thread of its own, one client after the other.
///
/// # Errors
/// There is no thread to be had.
pub fn hear(listener: UnixListener, orders: Orders) -> io::Result<()> {
    let serve = move || {
        for stream in listener.incoming() {
            // A client that goes away is its own affair.
            let _ = stream.and_then(|stream| answer(stream, &orders));
        }
    };
    std::thread::Builder::new().name("control".to_string()).spawn(serve).map(drop)
}

fn answer(stream: UnixStream, orders: &Orders) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut out = stream.try_clone()?;
    let mut lines = BufReader::new(stream.take(LONGEST));
    let mut line = String::new();
    while lines.read_line(&mut line)? > 0 {
        let answer = match serde_json::from_str::<Line>(&line) {
            Ok(order) => orders.give(order.into()),
            Err(error) => Err(format!("no order: {error}")),
        };
        let told = match answer {
            Ok(state) => json!({ "ok": state }),
            Err(why) => json!({ "error": why }),
        };
        writeln!(out, "{told}")?;
        lines.get_mut().set_limit(LONGEST);
        line.clear();
    }
    Ok(())
}

/// Gives an order to the server whose control socket is at `path`.
///
/// # Errors
/// Nobody listens there, or the order is refused, in words.
pub fn give(path: &Path, order: &Order) -> Answer {
    let stream = UnixStream::connect(path).map_err(|error| match error.kind() {
        io::ErrorKind::ConnectionRefused => "its server has ended".to_string(),
        _ => error.to_string(),
    })?;
    let asked = |mut stream: &UnixStream| {
        stream.set_read_timeout(Some(order.patience() + PATIENCE))?;
        let line = serde_json::to_string(&Line::from(order)).expect("an order is plain data");
        writeln!(stream, "{line}")?;
        let mut answer = String::new();
        BufReader::new(stream).read_line(&mut answer)?;
        io::Result::Ok(answer)
    };
    let answer = asked(&stream).map_err(|error| error.to_string())?;
    let mut answer: Value =
        serde_json::from_str(&answer).map_err(|_| "there is no answer".to_string())?;
    match answer["error"].as_str() {
        Some(why) => Err(why.to_string()),
        None => Ok(answer["ok"].take()),
    }
}
