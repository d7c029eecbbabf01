//! Admin commands: who answers which, and how a host writes them (NVMe Base 2.1, 5.1).
//!
//! Answered: Get Log Page, Identify, Abort, Set Features, Get Features, Asynchronous Event Request.
//! Everything else is Invalid Command Opcode: nothing succeeds in silence. Answers come at once,
//! but for an event request and for a window that may not begin yet; those come from
//! [`Controller::take_admin_completion`].
//!
//! A namespace identifier of 0, 1 or FFFFFFFFh names the drive where a command is not about one
//! namespace: nvme-cli sends FFFFFFFFh through a controller's character device, and 0 for logs.

use super::plm::{Config, Window};
use super::{ALL_NAMESPACES, Controller, NAMESPACE, NVM_SET, Sqe, StatusField, feature, log};
use crate::drive::CommandId;
use crate::units::Instant;
use zerocopy::little_endian::U32;

/// Opcodes of admin commands.
pub mod opcode {
    /// Get Log Page.
    pub const GET_LOG_PAGE: u8 = 0x02;
    /// Identify.
    pub const IDENTIFY: u8 = 0x06;
    /// Abort.
    pub const ABORT: u8 = 0x08;
    /// Set Features.
    pub const SET_FEATURES: u8 = 0x09;
    /// Get Features.
    pub const GET_FEATURES: u8 = 0x0a;
    /// Asynchronous Event Request.
    pub const EVENT_REQUEST: u8 = 0x0c;
}

/// How an admin command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdminCompletion {
    /// The command's identifier.
    pub cid: u16,
    /// When.
    pub at: Instant,
    /// How.
    pub status: StatusField,
    /// DW0.
    pub result: u32,
    /// Data for the host: at most what it asked for. A transport fills the rest of the host's
    /// buffer with zeros.
    pub data: Vec<u8>,
}

/// The answer to an admin command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AdminReply {
    /// It is done.
    Done(AdminCompletion),
    /// [`Controller::take_admin_completion`] will have it.
    Later,
}

/// The outcome of a command, before it is a completion.
#[derive(Clone, Debug, Default)]
pub(super) struct Outcome {
    pub result: u32,
    pub data: Vec<u8>,
}

impl AdminCompletion {
    /// A completion without data.
    pub fn new(cid: u16, at: Instant, status: StatusField) -> Self {
        Self { cid, at, status, result: 0, data: Vec::new() }
    }
}

impl AdminReply {
    /// The data and DW0 of a command that succeeded at once; its status otherwise.
    pub fn into_result(self) -> Result<(Vec<u8>, u32), StatusField> {
        match self {
            AdminReply::Done(done) if done.status.is_success() => Ok((done.data, done.result)),
            AdminReply::Done(done) => Err(done.status),
            AdminReply::Later => Ok((Vec::new(), 0)),
        }
    }
}

impl Controller {
    /// An admin command with the data that the host sends with it. Everything before `now` has been
    /// done.
    pub fn admin(&mut self, now: Instant, sqe: &Sqe, data: &[u8]) -> AdminReply {
        let done = match self.answer(now, sqe, data) {
            Ok(None) => return AdminReply::Later,
            Ok(Some(Outcome { result, data })) => AdminCompletion {
                result,
                data,
                ..AdminCompletion::new(sqe.cid.get(), now, StatusField::SUCCESS)
            },
            Err(status) => AdminCompletion::new(sqe.cid.get(), now, status),
        };
        AdminReply::Done(done)
    }

    fn answer(
        &mut self,
        now: Instant,
        sqe: &Sqe,
        data: &[u8],
    ) -> Result<Option<Outcome>, StatusField> {
        sqe.check_flags()?;
        match sqe.opcode {
            opcode::GET_LOG_PAGE => self.get_log_page(now, sqe).map(Some),
            opcode::IDENTIFY => self.identify(sqe).map(Some),
            opcode::ABORT => Ok(Some(self.abort_entry(now, sqe))),
            opcode::SET_FEATURES => self.set_features(now, sqe, data),
            opcode::GET_FEATURES => self.get_features(now, sqe).map(Some),
            opcode::EVENT_REQUEST => self.request_event(now, sqe),
            _ => Err(StatusField::INVALID_OPCODE),
        }
    }

    /// Best effort: DW0 bit 0 is 1 when nothing was aborted. Queue 0 holds admin commands: of those
    /// only event requests wait for long enough.
    fn abort_entry(&mut self, now: Instant, sqe: &Sqe) -> Outcome {
        let (queue, cid) = (sqe.cdw10.get() as u16, (sqe.cdw10.get() >> 16) as u16);
        let is_aborted = match queue {
            0 => self.abort_event_request(now, cid),
            _ => self.abort(now, CommandId::of_entry(queue, cid)),
        };
        Outcome { result: u32::from(!is_aborted), data: Vec::new() }
    }

    /// Feature 13h through its bytes, as any host would set it.
    pub fn set_predictable(
        &mut self,
        now: Instant,
        config: &Config,
        on: bool,
    ) -> Result<(), StatusField> {
        let data = config.encode().ok_or(StatusField::INVALID_FIELD)?;
        let sqe = Sqe::set_features(feature::PLM_CONFIG, NVM_SET.into(), on.into());
        self.admin(now, &sqe, &data).into_result().map(|_| ())
    }

    /// Feature 14h through its bytes. `cid` comes back if the window begins later.
    pub fn select_window(&mut self, now: Instant, window: Window, cid: u16) -> AdminReply {
        let sqe = Sqe::set_features(feature::PLM_WINDOW, NVM_SET.into(), window as u32);
        self.admin(now, &Sqe { cid: cid.into(), ..sqe }, &[])
    }

    /// Log 0Ah through its bytes; without `retain` its events are cleared.
    pub fn predictable_log(
        &mut self,
        now: Instant,
        retain: bool,
    ) -> Result<log::PredictableLog, StatusField> {
        let sqe = Sqe::get_log_page(log::PREDICTABLE, NVM_SET, retain, 512);
        let (data, _) = self.admin(now, &sqe, &[]).into_result()?;
        log::PredictableLog::decode(&data)
    }

    /// The vendor's log C0h through its bytes.
    pub fn vendor_log(&mut self, now: Instant) -> Result<log::VendorLog, StatusField> {
        let sqe = Sqe::get_log_page(log::VENDOR, 0, true, 512);
        let (data, _) = self.admin(now, &sqe, &[]).into_result()?;
        log::VendorLog::decode(&data)
    }
}

/// Admin commands as a host writes them; the command identifier is 0.
impl Sqe {
    /// Identify: what (CNS), of which namespace, with the specific identifier in CDW11.
    pub fn identify(cns: u8, nsid: u32, specific: u16) -> Self {
        let (cdw10, cdw11) = (u32::from(cns).into(), u32::from(specific).into());
        Self { opcode: opcode::IDENTIFY, nsid: nsid.into(), cdw10, cdw11, ..Self::default() }
    }

    /// Get Log Page of `bytes` (a multiple of 4, not 0) from its start; `specific` is the log
    /// specific identifier, for log 0Ah the NVM Set.
    pub fn get_log_page(page: u8, specific: u16, retain: bool, bytes: u32) -> Self {
        debug_assert!(bytes >= 4 && bytes.is_multiple_of(4));
        let dwords = bytes / 4 - 1;
        let cdw10 = u32::from(page) | u32::from(retain) << 15 | dwords << 16;
        let cdw11 = dwords >> 16 | u32::from(specific) << 16;
        Self {
            opcode: opcode::GET_LOG_PAGE,
            cdw10: cdw10.into(),
            cdw11: cdw11.into(),
            ..Self::default()
        }
    }

    /// Set Features with CDW11 and CDW12.
    pub fn set_features(feature: u8, cdw11: u32, cdw12: u32) -> Self {
        Self { opcode: opcode::SET_FEATURES, ..Self::feature(feature, cdw11, cdw12) }
    }

    /// Get Features with CDW11.
    pub fn get_features(feature: u8, cdw11: u32) -> Self {
        Self { opcode: opcode::GET_FEATURES, ..Self::feature(feature, cdw11, 0) }
    }

    /// Asynchronous Event Request.
    pub fn event_request(cid: u16) -> Self {
        Self { opcode: opcode::EVENT_REQUEST, cid: cid.into(), ..Self::default() }
    }

    fn feature(feature: u8, cdw11: u32, cdw12: u32) -> Self {
        let cdw10: U32 = u32::from(feature).into();
        Self { cdw10, cdw11: cdw11.into(), cdw12: cdw12.into(), ..Self::default() }
    }

    /// A command about the drive: namespace 0, 1 or all.
    pub(super) fn check_any_namespace(&self) -> Result<(), StatusField> {
        match self.nsid.get() {
            0 | NAMESPACE | ALL_NAMESPACES => Ok(()),
            _ => Err(StatusField::INVALID_NAMESPACE),
        }
    }

    /// The NVM Set in a dword: there is one.
    pub(super) fn check_set(set: u32) -> Result<(), StatusField> {
        if set & 0xffff == u32::from(NVM_SET) { Ok(()) } else { Err(StatusField::INVALID_FIELD) }
    }
}
