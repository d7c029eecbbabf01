//! Manx: one exact, deterministic model of flash storage. The folders are the data path, read from
//! the bottom up:
//!
//! ```text
//! units ← sim ← flash ← ftl ← drive ← nvme ← array ← host
//! beside them: stats (what is counted)
//! ```
//!
//! * [`units`]: time, sizes, rates, addresses as types (of the crate `manx-base`).
//! * [`sim`]: timers, random streams, deterministic mathematics.
//! * [`flash`]: channels, dies, planes, blocks, pages: what takes time.
//! * [`ftl`]: where a logical page lies, where the next write goes, what is reclaimed; it never
//!   touches timing.
//! * [`drive`]: commands in, completions out; write buffer, scheduler, garbage collection at work.
//! * [`nvme`]: the drive as a host sees it through NVMe: commands, logs, features, predictable
//!   latency.
//! * [`array`]: RAID over drives, and the strategies of reading it.
//! * [`host`]: workloads, the driver that plays them against a drive, the integrity oracle.
//! * [`stats`]: latencies, counters, the result of a run.
//!
//! The crate `manx-config` reads scenarios, device tables and policies into these types.
//!
//! The core is *told* the time. It reads no clock, starts no thread, does no I/O (`clippy.toml`
//! bans it): the same scenario and seed give the same bytes on every machine. `ARCHITECTURE.md` has
//! the floor plan and the invariants.

pub mod array;
pub mod drive;
pub mod flash;
pub mod ftl;
pub mod host;
pub mod nvme;
pub mod sim;
pub mod stats;

pub use manx_base::{id, units};
