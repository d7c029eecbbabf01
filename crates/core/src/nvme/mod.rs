//! NVMe: the only window into a drive. What a host may ask, what it is told, and how the bytes lie.
//!
//! On the data path between the drive and the owner of several of them. A [`Controller`] owns one
//! drive and shows it as one namespace in one NVM Set. Commands go through [`Controller::submit`]
//! and [`Controller::advance_before`] as with the drive itself, at the same cost; what is
//! *configured* or *read out* goes through [`Controller::admin`] as the 64 bytes of a command and
//! its data, so that a strategy of an array and a client on a network see the same things.
//!
//! References: NVM Express Base Specification 2.1 (sections are cited where they were read), the
//! NVM Command Set Specification, and IODA (SOSP '21), whose fields go into bytes that the
//! specification leaves to vendors or reserves; `docs/nvme.md` has their table.
//!
//! In reading order: [`sqe`] and [`cqe`] are the two entries of a queue pair; [`Attributes`] is
//! what a drive can promise, and never changes; [`plm`] has the data of Predictable Latency Mode
//! and its windows as a state machine; [`Controller`] puts them around a drive; [`admin`],
//! [`identify`], [`feature`], [`log`] and [`event`] answer.
//!
//! Not here: queues, doorbells, PRPs and SGLs, Fabrics commands (they belong to a transport),
//! several namespaces or NVM Sets, metadata and protection information, Directives administration,
//! reservations, firmware, security.

pub mod admin;
mod attributes;
mod controller;
pub mod cqe;
pub mod event;
pub mod feature;
pub mod identify;
pub mod log;
pub mod plm;
pub mod sqe;
mod storage;
#[cfg(test)]
mod tests;
mod window;

pub use admin::{AdminCompletion, AdminReply};
pub use attributes::Attributes;
pub use controller::{Accepted, Controller, Options};
pub use cqe::{Cqe, StatusField};
pub use sqe::{DsmRange, Sqe, Terms};

/// The one namespace of a drive.
pub const NAMESPACE: u32 = 1;
/// The one NVM Set of a drive.
pub const NVM_SET: u16 = 1;
/// Every namespace (NVMe Base 2.1, 3.2.1).
pub const ALL_NAMESPACES: u32 = 0xffff_ffff;
