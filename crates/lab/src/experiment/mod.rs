//! Experiments: the figures and tables of papers, and laws of arithmetic, as checks that anyone can
//! run.
//!
//! An experiment is a file: named runs of scenarios and the claims about them. A claim says what is
//! measured (an expression over results), what was published and where, the band that counts as
//! reproduced, and why that band. `docs/experiments.md` says how to write one.
//!
//! Reading order: [`library`] holds what is compiled in; `file` is the file as it is written;
//! `grid` makes runs of axes; [`load`] checks it all and makes the scenarios; [`expression`] is
//! what a claim measures; [`outcome`] runs an experiment as a campaign and judges its claims;
//! [`render`] prints; [`save`] writes a folder.
//!
//! Invariant: an experiment that was loaded can be run. Runs and quantities that a claim names
//! exist, bands are bands.
//!
//! Trap: bands stand before the experiment first runs. A later change carries its reason in the
//! file.

pub mod expression;
mod file;
mod grid;
pub mod library;
pub mod load;
pub mod outcome;
pub mod render;
pub mod save;
#[cfg(test)]
mod tests;

pub use library::{builtin_experiment, experiment_names};
pub use load::{Asked, Band, Claim, Experiment, Run};
pub use outcome::{Measured, Outcome};
