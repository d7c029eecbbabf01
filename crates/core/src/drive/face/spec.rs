//! The settings of the controller's limits.

use crate::units::{Bandwidth, Bytes, Duration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The controller as a shared resource: firmware cores, DRAM, throttled writes, heat, and which
/// queue is served next. By default nothing of it takes time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FirmwareSpec {
    /// Cores, each of which works on one command at a time; 0 is no limit.
    pub cores: u32,
    /// Time of a core for each command.
    pub command: Duration,
    /// Time of a core for each look-up of the map: one for each mapping unit of a read or a write.
    pub look_up: Duration,
    /// Data rate of the DRAM, which each byte of the host crosses twice.
    pub dram: Bandwidth,
    /// Data rate at which writes of the host are admitted while the drive lives on what garbage
    /// collection gives it.
    pub throttle: Bandwidth,
    /// Data rate, of reads and writes together, whose heat the drive gives off; beyond it the drive
    /// warms up.
    #[serde(skip_serializing_if = "is_unlimited")]
    pub cooling: Bandwidth,
    /// Bytes beyond `cooling` that a cold drive absorbs before its host is held to that rate.
    #[serde(skip_serializing_if = "is_none")]
    pub heat: Bytes,
    /// Which waiting command is fetched next.
    pub arbitration: Arbitration,
    /// `round-robin`: commands in a row of the queue of the first job, of the second, ..; 1 where
    /// none is given.
    pub weights: Vec<u32>,
}

fn is_unlimited(rate: &Bandwidth) -> bool {
    *rate == Bandwidth::default()
}

fn is_none(bytes: &Bytes) -> bool {
    bytes.get() == 0
}

impl FirmwareSpec {
    /// True where the controller is a delay alone.
    pub fn is_off(&self) -> bool {
        *self == Self::default()
    }
}

/// Which waiting command is fetched next (NVMe Base 2.1, 3.4.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Arbitration {
    /// That which came first, of all queues.
    #[default]
    FirstCome,
    /// Each queue in turn.
    RoundRobin,
}
