//! The machinery of a deterministic simulation: random streams, timers, mathematics.
mod rng;
pub use rng::Rng;
