//! The tests of the model from outside, one module each: one executable links once.

mod array;
mod config;
mod devices;
mod map_on_flash;
mod placement;
mod replaced;
mod workloads;
