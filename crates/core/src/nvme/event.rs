//! Asynchronous events (NVMe Base 2.1, 5.1.2): the host leaves requests, the controller completes
//! one when the NVM Set comes into log 0Bh.
//!
//! After a notice no other is sent until the host has read log 0Bh with Retain Asynchronous Event
//! cleared. What comes into the log while no request waits is told when one does.

use super::admin::AdminCompletion;
use super::{StatusField, feature, log};
use crate::units::Instant;
use std::collections::VecDeque;

/// Requests that may wait at once (AERL, 0's based, is one less).
pub const REQUESTS_MAX: usize = 4;

/// Type Notice, information Predictable Latency Event Aggregate Log Change, log page 0Bh: DW0 of
/// the completion.
pub const PLM_NOTICE: u32 = 0x02 | 0x04 << 8 | (log::EVENT_AGGREGATE as u32) << 16;

/// Requests and notices.
#[derive(Clone, Debug, Default)]
pub(super) struct Events {
    /// Feature 0Bh.
    pub enabled: u32,
    waiting: VecDeque<u16>,
    is_pending: bool,
    is_masked: bool,
}

impl Events {
    /// A request. Its completion, if a notice is pending; an error when too many wait.
    pub fn request(
        &mut self,
        now: Instant,
        cid: u16,
    ) -> Result<Option<AdminCompletion>, StatusField> {
        if self.waiting.len() == REQUESTS_MAX {
            return Err(StatusField::EVENT_REQUEST_LIMIT);
        }
        self.waiting.push_back(cid);
        Ok(self.send(now))
    }

    /// The NVM Set came into log 0Bh.
    pub fn log_changed(&mut self, now: Instant) -> Option<AdminCompletion> {
        self.is_pending |= self.enabled & feature::PLM_NOTICES != 0;
        self.send(now)
    }

    /// The host read log 0Bh and does not retain the event.
    pub fn log_read(&mut self) {
        (self.is_pending, self.is_masked) = (false, false);
    }

    /// The host takes request `cid` back: true when it waited.
    pub fn abort(&mut self, cid: u16) -> bool {
        let place = self.waiting.iter().position(|waiting| *waiting == cid);
        place.is_some_and(|at| self.waiting.remove(at).is_some())
    }

    fn send(&mut self, now: Instant) -> Option<AdminCompletion> {
        if !self.is_pending || self.is_masked {
            return None;
        }
        let cid = self.waiting.pop_front()?;
        (self.is_pending, self.is_masked) = (false, true);
        Some(AdminCompletion {
            result: PLM_NOTICE,
            ..AdminCompletion::new(cid, now, StatusField::SUCCESS)
        })
    }
}
