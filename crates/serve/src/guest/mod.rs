//! A Linux in exact virtual time, whose disks are the model.
//!
//! User Mode Linux runs as a process of this machine and asks a *calendar* when it may go on
//! (`time-travel=ext`): its clock moves only when the calendar says so, and so the guest and the
//! model have one time, whatever the machine does meanwhile. Processor time is free.
//!
//! Source: Linux 6.12, `include/uapi/linux/um_timetravel.h`, `arch/um/kernel/time.c` and
//! `arch/um/drivers/virtio_uml.c`.
//!
//! In reading order: [`terms`] is how a run may go; [`wire`] has the messages; [`shared`] the
//! memory in which both sides keep time, if the guest knows it; [`desk`] is a machine as a disk
//! sees it; [`calendar`] is the loop, [`one_core`] where it runs; [`process`] starts a guest, holds
//! what it writes, and leaves nothing of it behind; [`addresses`] gives it the memory of every run,
//! [`image`] is a root in a file, [`blocks`] what its block layer tells.

mod addresses;
mod blocks;
mod calendar;
mod desk;
mod image;
mod one_core;
mod process;
mod shared;
mod terms;
mod wire;

pub use calendar::Calendar;
pub use image::FileSystem;
pub use one_core::OneCore;
pub use process::{Cost, Guest, Image, Mission, Output, RootImage};
pub use terms::{Ended, Protocol, Terms, Told};
