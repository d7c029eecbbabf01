//! One file for each format: what a piece of it says, and what is strange about it.

pub mod alibaba;
pub mod ascii;
pub mod blkparse;
pub mod blkreplay;
pub mod blktrace;
pub mod columns;
pub mod disksim;
pub mod etw;
pub mod fio;
pub mod fio_lat;
pub mod fiu;
pub mod ftrace;
pub mod libcachesim;
pub mod manx;
pub mod manx_records;
pub mod msr;
pub mod oracle;
pub mod spc;
pub mod systor;
pub mod tencent;
pub mod ucare;
pub mod ucare_log;
pub mod vscsi;
pub mod wpa;
