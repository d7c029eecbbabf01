//! An array whose drives are elsewhere: the host half of IODA, over NVMe/TCP.
//!
//! Array and strategies of the model ([`manx_core::array`]) drive targets over
//! the network: any that speak NVMe/TCP, and where the strategy asks for it fail reads fast and
//! keep windows, as `manx serve` does. What the array hands around as stamps names real bytes here.
//!
//! [`MemberAddress`] says where a member is; [`member`] is its link, [`ledger`] has the bytes;
//! [`ArrayHost`] is the array as a server serves it.

mod address;
mod host;
mod ledger;
mod member;

pub use address::MemberAddress;
pub use host::{ArrayHost, ConnectError};

use ledger::Shared;
use manx_core::array::MemberLink;
use manx_core::units::Instant;
use std::os::fd::BorrowedFd;

/// The link to a member that is elsewhere, and holds bytes.
pub trait Elsewhere: MemberLink<Matter = Shared> {
    /// Its sockets.
    fn sockets(&self) -> Vec<BorrowedFd<'_>>;
    /// Takes what came, at `now`.
    fn hear(&mut self, now: Instant);
    /// Sends what the sockets take.
    fn send(&mut self, now: Instant);
    /// Lines to tell.
    fn take_news(&mut self) -> Vec<String>;
}
