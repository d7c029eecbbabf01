//! The machinery of a deterministic simulation: timers, random streams, mathematics, and the small
//! tools of a hot path.

mod divide;
mod external;
mod line;
pub mod math;
mod mix;
mod prefetch;
mod ring;
mod rng;
mod slab;
mod timers;

pub use divide::Divisor;
pub use external::External;
pub(crate) use line::Line;
pub use mix::{mix, unmix};
pub use prefetch::prefetch;
pub(crate) use ring::Ring;
pub use rng::Rng;
pub use slab::{NIL, Slab};
pub use timers::Timers;
