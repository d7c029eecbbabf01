//! The machinery of a deterministic simulation: random streams, timers, mathematics.
pub mod math;
mod rng;
pub use rng::Rng;
