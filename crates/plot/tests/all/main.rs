//! The tests of plots from outside, one module each: one executable links once.

mod command;
mod plot;
mod vendor;
