//! The watch over a server, and the bounds that it is given.

use crate::control::{Asked, Change};
use crate::store::Head;
use manx_core::host::Records;
use serde_json::Value;
use std::time;

/// Bounds of a server.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Connections at once; more are closed as they come.
    pub connections: usize,
    /// Seconds for a client's negotiation.
    pub negotiation_s: u64,
    /// Bytes that all connections hold together.
    pub memory: u64,
    /// Wall time in which a server that has just worked looks for more without sleeping.
    pub spin: time::Duration,
    /// Lateness that is told at once.
    pub late: time::Duration,
    /// Wall time at the end for requests under way.
    pub ending: time::Duration,
    /// Wall time that the transport takes, and that is taken off: a request came so much earlier.
    pub compensation: time::Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 64,
            negotiation_s: 10,
            memory: 256 << 20,
            spin: time::Duration::from_micros(100),
            late: time::Duration::from_millis(10),
            ending: time::Duration::from_secs(1),
            compensation: time::Duration::ZERO,
        }
    }
}

/// The watch over a server: it says when the server is to end, and what it is to do besides.
pub trait Watch {
    /// The server is to end.
    fn stops(&self) -> bool;
    /// Records of commands, where they are kept.
    fn records(&mut self, records: &Records) -> Result<(), String>;
    /// True where orders may come.
    fn is_asked(&self) -> bool {
        false
    }
    /// The next order.
    fn asked(&mut self) -> Option<Asked> {
        None
    }
    /// Settings with those changes, if they can be; they are in force afterwards.
    fn changed(&mut self, _sets: &[String]) -> Result<Change, String> {
        Err("nothing can be changed".to_string())
    }
    /// The changes are not in force after all.
    fn refused(&mut self) {}
    /// The head of a store with the drive as it is now.
    ///
    /// # Errors
    /// No store can hold it, in words.
    fn head(&self) -> Result<Head, String> {
        Err("nothing is known of the drive".to_string())
    }
    /// Settings that may change, as they are.
    fn settings(&self) -> Value {
        Value::Null
    }
}
