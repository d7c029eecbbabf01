//! The tests of the page from outside, one module each: one executable links once.

mod page;
mod vendor;
