//! Results for the eye: a page that stands alone.
//!
//! Reading order: [`page`] makes `report.html` of a set of runs: `data` is what its charts draw,
//! `tables` what a person reads, `page.js` and `page.css` how it behaves. [`style`] and [`number`]
//! are what plots (`crates/plot`) share with it.
//!
//! [`twin`] tells how near fitted devices are to their drives.
//!
//! Nothing here reads a clock, a file or the environment: the same results are the same bytes.

#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

pub mod number;
pub mod page;
pub mod style;
pub mod twin;
