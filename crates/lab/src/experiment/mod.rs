//! Experiments: the figures and tables of papers, and laws of arithmetic, as checks that anyone can
//! run.
//!
//! An experiment is a file: named runs of scenarios and the claims about them. A claim says what is
//! measured (an expression over results), what a paper prints and where, the band that counts as
//! consistent, and why that band. `docs/experiments.md` says how to write one.
//!
//! Reading order: [`library`] holds what is compiled in; `file` is the file as it is written;
//! `grid` makes runs of axes; [`load`] checks it all and makes the scenarios; [`expression`] is
//! what a claim measures; [`verdict`] compares it with what a source prints; [`calibrate`] solves
//! knobs beforehand; [`outcome`] runs an experiment as a campaign and judges its claims;
//! [`statements`] are what the papers say, and [`score`] how much of it is reproduced; [`render`]
//! prints; [`save`] writes a folder.
//!
//! Invariant: an experiment that was loaded can be run. Runs and quantities that a claim names
//! exist, bands are bands.
//!
//! Trap: bands stand before the experiment first runs. A later change carries its reason in the
//! file.

pub mod calibrate;
pub mod expression;
mod file;
mod grid;
pub mod library;
pub mod load;
pub mod outcome;
pub mod render;
pub mod save;
pub mod score;
pub mod statements;
#[cfg(test)]
mod tests;
pub mod verdict;

pub use calibrate::{Calibrated, Calibration, Solved};
pub use library::{builtin_experiment, experiment_names};
pub use load::{Asked, Band, Claim, Experiment, Run};
pub use outcome::{Measured, Outcome};
pub use verdict::{Figure, Origin, Verdict};
