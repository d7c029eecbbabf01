//! Set Features and Get Features: 06h, 0Bh, 12h, 13h, 14h (NVMe Base 2.1, 5.1.25 and 5.1.11).
//!
//! No value is saved over a power cycle, so Set Features with SV is Feature Identifier Not
//! Saveable, and Get Features answers the current value only (ONCS does not promise Save and
//! Select). Other features are Invalid Field in Command; Number of Queues and Keep Alive belong to
//! the transport that has queues.

use super::admin::{AdminCompletion, Outcome};
use super::plm::{Config, Window};
use super::window::Selected;
use super::{Controller, Sqe, StatusField};
use crate::units::Instant;

/// Volatile Write Cache.
pub const WRITE_CACHE: u8 = 0x06;
/// Asynchronous Event Configuration.
pub const EVENT_CONFIG: u8 = 0x0b;
/// Read Recovery Level Config.
pub const RECOVERY_LEVEL: u8 = 0x12;
/// Predictable Latency Mode Config.
pub const PLM_CONFIG: u8 = 0x13;
/// Predictable Latency Mode Window.
pub const PLM_WINDOW: u8 = 0x14;

/// Feature 0Bh: Predictable Latency Event Aggregate Log Change Notices.
pub const PLM_NOTICES: u32 = 1 << 12;
/// Read Recovery Levels that a drive takes: 4 (default) and 15 (fast fail), both mandatory.
pub const RECOVERY_LEVELS: u16 = 1 << 4 | 1 << 15;

/// CDW10 of Set Features: save.
const SAVE: u32 = 1 << 31;

impl Controller {
    pub(super) fn set_features(
        &mut self,
        now: Instant,
        sqe: &Sqe,
        data: &[u8],
    ) -> Result<Option<Outcome>, StatusField> {
        let (cdw10, cdw11, cdw12) = (sqe.cdw10.get(), sqe.cdw11.get(), sqe.cdw12.get());
        sqe.check_any_namespace()?;
        let feature = cdw10 as u8;
        if !matches!(feature, WRITE_CACHE | EVENT_CONFIG | RECOVERY_LEVEL | PLM_CONFIG | PLM_WINDOW)
        {
            return Err(StatusField::INVALID_FIELD);
        }
        if cdw10 & SAVE != 0 {
            return Err(StatusField::NOT_SAVEABLE);
        }
        match feature {
            WRITE_CACHE if self.write_cache().is_some_and(|on| on == cdw11) => {}
            WRITE_CACHE if self.write_cache().is_some() => return Err(StatusField::NOT_CHANGEABLE),
            EVENT_CONFIG if cdw11 & !PLM_NOTICES == 0 => self.events.enabled = cdw11,
            RECOVERY_LEVEL => {
                Sqe::check_set(cdw11)?;
                let is_level = cdw12 < 16 && RECOVERY_LEVELS >> cdw12 & 1 == 1;
                self.recovery_level =
                    if is_level { cdw12 as u8 } else { return Err(StatusField::INVALID_FIELD) };
            }
            PLM_CONFIG => {
                Sqe::check_set(cdw11)?;
                if cdw12 > 1 {
                    return Err(StatusField::INVALID_FIELD);
                }
                self.configure(now, Config::decode(data)?, cdw12 == 1);
            }
            PLM_WINDOW => return self.set_window(now, sqe),
            _ => return Err(StatusField::INVALID_FIELD),
        }
        Ok(Some(Outcome::default()))
    }

    fn configure(&mut self, now: Instant, config: Config, on: bool) {
        if self.plm.configure(now, config, on) {
            self.answer_window_requests(now, StatusField::COMMAND_SEQUENCE);
        }
        self.windows_changed(now);
    }

    /// Feature 14h. Where a schedule says which window it is, the host may not: Command Sequence
    /// Error.
    fn set_window(&mut self, now: Instant, sqe: &Sqe) -> Result<Option<Outcome>, StatusField> {
        Sqe::check_set(sqe.cdw11.get())?;
        let window = match sqe.cdw12.get() {
            1 => Window::Deterministic,
            2 => Window::NonDeterministic,
            _ => return Err(StatusField::INVALID_FIELD),
        };
        let selected = self.plm.select(now, window);
        if window == Window::NonDeterministic && self.plm.take_back(now) {
            self.answer_window_requests(now, StatusField::COMMAND_SEQUENCE);
        }
        self.windows_changed(now);
        match selected {
            Selected::Now => Ok(Some(Outcome::default())),
            Selected::Later => {
                self.window_requests.push(sqe.cid.get());
                Ok(None)
            }
            Selected::Off => Err(StatusField::INVALID_FIELD),
            Selected::Scheduled => Err(StatusField::COMMAND_SEQUENCE),
        }
    }

    /// Those who wait for the deterministic window are told.
    pub(super) fn answer_window_requests(&mut self, now: Instant, status: StatusField) {
        let waiting = std::mem::take(&mut self.window_requests);
        self.admin_done
            .extend(waiting.into_iter().map(|cid| AdminCompletion::new(cid, now, status)));
    }

    pub(super) fn get_features(&mut self, now: Instant, sqe: &Sqe) -> Result<Outcome, StatusField> {
        let (cdw10, cdw11) = (sqe.cdw10.get(), sqe.cdw11.get());
        sqe.check_any_namespace()?;
        if cdw10 >> 8 & 7 != 0 {
            return Err(StatusField::INVALID_FIELD);
        }
        let value = |result| Ok(Outcome { result, data: Vec::new() });
        match cdw10 as u8 {
            WRITE_CACHE => self.write_cache().ok_or(StatusField::INVALID_FIELD).and_then(value),
            EVENT_CONFIG => value(self.events.enabled),
            RECOVERY_LEVEL => {
                Sqe::check_set(cdw11).and_then(|()| value(self.recovery_level.into()))
            }
            PLM_CONFIG => {
                Sqe::check_set(cdw11)?;
                let data = self.plm.config().encode().ok_or(StatusField::INVALID_FIELD)?;
                Ok(Outcome { result: self.plm.is_on().into(), data: data.to_vec() })
            }
            PLM_WINDOW => {
                Sqe::check_set(cdw11)?;
                match self.plm.window(now) {
                    Window::Off => Err(StatusField::INVALID_FIELD),
                    window => value(window as u32),
                }
            }
            _ => Err(StatusField::INVALID_FIELD),
        }
    }

    /// Feature 06h, where there is a volatile write cache: it is always on.
    fn write_cache(&self) -> Option<u32> {
        self.attributes.is_cache_volatile.then_some(1)
    }
}
