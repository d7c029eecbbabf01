//! Orders to a server at work, given beside its clients: by a socket, or by a page.
//!
//! Orders come through a channel and are obeyed between two turns of the server's loop, some
//! tenths of a second later at most; who gives them waits in a thread of its own. [`socket`] is the
//! control socket of `manx ctl`, [`live`] the page; [`state`] is what both are told.

pub mod live;
pub mod socket;
mod state;

pub(crate) use state::{Seen, told};

use manx_core::flash::Device;
use manx_core::ftl::GcSpec;
use serde_json::Value;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::time::Duration;

/// Orders that may wait.
const WAITING: usize = 64;
/// How long the server may take to obey, and to write a snapshot.
const PATIENCE: Duration = Duration::from_secs(10);
const WRITING: Duration = Duration::from_secs(600);

/// An order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// Tell the state.
    State,
    /// Collections begin at the hard mark only.
    Pause,
    /// They begin at the soft mark again.
    Resume,
    /// Settings change: `key=value`.
    Set(Vec<String>),
    /// The drive as it is, into a folder: a store.
    Snapshot(PathBuf),
    /// The server ends.
    Stop,
}

impl Order {
    /// How long who gives it waits.
    pub(crate) fn patience(&self) -> Duration {
        if matches!(self, Order::Snapshot(_)) { WRITING } else { PATIENCE }
    }
}

/// The state after an order, or why it was not obeyed.
pub type Answer = Result<Value, String>;

/// An order, and who waits for its answer.
#[derive(Debug)]
pub struct Asked {
    /// The order.
    pub order: Order,
    reply: Sender<Answer>,
}

impl Asked {
    /// Answers it; nobody may be there any more.
    pub fn answer(self, answer: Answer) {
        let _ = self.reply.send(answer);
    }
}

/// Where orders are given.
#[derive(Clone, Debug)]
pub struct Orders(SyncSender<Asked>);

impl Orders {
    /// A way for orders, and its other end.
    pub fn new() -> (Self, Receiver<Asked>) {
        let (sender, receiver) = sync_channel(WAITING);
        (Self(sender), receiver)
    }

    /// Gives an order and waits for its answer.
    ///
    /// # Errors
    /// It was refused, or the server does not answer.
    pub fn give(&self, order: Order) -> Answer {
        let (reply, answer) = channel();
        let patience = order.patience();
        let asked = Asked { order, reply };
        self.0.try_send(asked).map_err(|_| "the server has ended, or is busy".to_string())?;
        answer.recv_timeout(patience).map_err(|_| "the server does not answer".to_string())?
    }
}

/// Settings of a drive at work.
#[derive(Clone, Debug)]
pub struct Change {
    /// Its device, of which the times count.
    pub device: Device,
    /// The marks of its collections count.
    pub gc: GcSpec,
    /// They begin at the hard mark only.
    pub is_paused: bool,
}

/// Keys that may change while a drive is served.
pub const KEYS: [&str; 7] = [
    "device.timing.read",
    "device.timing.program",
    "device.timing.erase_step",
    "device.channel.rate",
    "device.channel.command",
    "gc.soft",
    "gc.hard",
];
