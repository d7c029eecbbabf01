//! The tests of page and plots from outside, one module each: one executable links once.

mod page;
#[cfg(feature = "plot")]
mod plot;
mod vendor;
