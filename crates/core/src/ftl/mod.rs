//! FTL.
mod spec;
pub use spec::{Allocation, Dimension, FreeBlock, FtlSpec, GcMode, GcSpec, GcWhen, Stripe, Victim, VictimUnit};
