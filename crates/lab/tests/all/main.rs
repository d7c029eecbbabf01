//! The tests of the laboratory from outside, one module each: one executable links once.

mod brought;
mod comparisons;
mod faster_traces;
mod faults;
mod fio;
mod foreign;
mod members;
mod observers;
mod separate;
mod shared_kernel_traces;
mod shared_traces;
mod ttflash;
mod workloads;
