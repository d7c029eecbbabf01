//! The laboratory around the model: files, runs, comparisons, reports. What the core may not do
//! (clocks, threads, I/O) is done here.
//!
//! Reading order: [`ask`] is the door; [`load`] and [`open`] bring scenarios and traces in;
//! [`compare`] runs them side by side, [`run`] one of them, from a state that `prepare` makes or
//! finds in the [`cache`]; [`table`] and [`json`] print, under a head of [`about`]. [`campaign`] is
//! many runs that can be interrupted, [`quantity`] their numbers by name, [`sweep`] a table of
//! them. [`experiment`] is papers' claims and the runs that check them, [`explain`] a tail in
//! words. [`trace_info`] measures a trace without a drive, [`registry`] has
//! public ones by name. [`convert`] writes a trace in another
//! format. [`plan`] calculates what needs no run, [`rating`] searches for what ACT rates a drive.
//! [`measure`] reads what real drives did, [`twin`] fits a device to it, [`from_fio`] makes
//! workloads of fio's job files. [`torture`] lets the power fail in many small runs, [`storage`]
//! makes a drive ready for who submits to it himself.

#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

pub mod about;
pub mod act_log;
pub mod advise;
pub mod ask;
pub mod cache;
pub mod campaign;
pub mod compare;
pub mod convert;
pub mod experiment;
pub mod explain;
pub mod fit_check;
pub mod from_fio;
pub mod huge_pages;
pub mod json;
pub mod load;
pub mod machine;
pub mod measure;
pub mod memory;
pub mod open;
mod overwrite;
pub mod plan;
mod prepare;
pub mod pts;
pub mod quantity;
pub mod rating;
pub mod registry;
mod replay;
pub mod run;
pub mod save;
pub mod stamp;
pub mod state;
pub mod storage;
pub mod sweep;
pub mod table;
mod threads;
pub mod timeline;
pub mod torture;
pub mod trace_info;
pub mod twin;
pub mod why;
