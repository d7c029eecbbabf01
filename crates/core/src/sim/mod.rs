//! The machinery of a deterministic simulation: timers, random streams, and the small tools of a hot path.

mod divide;
mod prefetch;
mod rng;
mod slab;
mod timers;

pub use divide::Divisor;
pub use prefetch::prefetch;
pub use rng::Rng;
pub use slab::{NIL, Slab};
pub use timers::Timers;
