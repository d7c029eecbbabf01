//! Settings as a user meets them, one module each: one executable links once.

mod array;
mod devices;
mod map_on_flash;
mod placement;
mod replaced;
mod scenario;
mod workloads;
