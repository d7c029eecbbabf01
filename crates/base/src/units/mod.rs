//! Units are types: times, sizes, rates and addresses, each with named conversions and no bare
//! numbers.
//!
//! Everything here is integer arithmetic, but for shares of a whole in settings. Reading order:
//! `time`, `size`, `address`, `op`, `split`.

mod address;
mod ids;
mod op;
mod power;
mod quantity;
mod share;
mod size;
mod split;
mod stage;
mod time;

pub use address::{Lba, Lpn, Ppn, SECTOR};
pub use ids::{Channel, Die, Id, Lane, Lanes, Member, Pool};
pub use op::Op;
pub use power::Power;
pub use quantity::QuantityError;
pub use share::{over_provisioning, parse_over_provisioning, percentage, share, share_schema};
pub use size::{Bandwidth, Bytes};
pub use split::{CAUSES, Cause, Split};
pub use stage::{STAGES, Stage, Stages};
pub use time::{Duration, Instant};
