//! One file for each format: what a piece of it says, and what is strange about it.

pub mod ascii;
pub mod blkparse;
pub mod blkreplay;
pub mod blktrace;
pub mod fio;
pub mod fiu;
pub mod ftrace;
pub mod manx_records;
pub mod msr;
pub mod oracle;
pub mod vscsi;
