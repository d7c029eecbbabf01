//! Admin commands that the drives' controllers answer: which drive is asked, and how the answers of
//! several are put together. An array has no controller; it answers the little that is left.
//!
//! Each drive says of itself that it is namespace 1 in NVM Set 1; to a host their numbers follow
//! each other.

use super::admin::{Answer, EVENTS, log_length, part_of};
use super::queue::Queue;
use super::shared::abort;
use crate::front::Desk;
use manx_core::nvme::admin::opcode;
use manx_core::nvme::{
    ALL_NAMESPACES, AdminReply, NAMESPACE, NVM_SET, Sqe, StatusField, feature, log,
};

/// Bytes of the logs of drives.
const LOG_BYTES: usize = 512;
/// CDW10 of Get Log Page: retain the asynchronous event.
const RETAIN: u32 = 1 << 15;

impl Queue {
    /// The answer of the drives, or, without controllers, of an array.
    pub(super) fn ask_drives(
        &mut self,
        place: u32,
        sqe: &Sqe,
        data: &[u8],
        desk: &mut dyn Desk,
    ) -> Answer {
        let (drives, has_controller) = {
            let shared = self.shared.borrow();
            (shared.subsystem.drives, shared.subsystem.has_controller)
        };
        if !has_controller {
            return self.answer_for_array(sqe);
        }
        if drives == 1 {
            return self.ask_drive(place, 0, sqe, data, desk);
        }
        let nsid = sqe.nsid.get();
        let named = match nsid {
            0 | ALL_NAMESPACES => None,
            nsid if nsid <= drives => Some(nsid - 1),
            _ => return Err(StatusField::INVALID_NAMESPACE),
        };
        let own = Sqe { nsid: named.map_or(nsid, |_| NAMESPACE).into(), ..*sqe };
        let cdw11 = sqe.cdw11.get();
        match (sqe.opcode, sqe.cdw10.get() as u8) {
            (opcode::GET_LOG_PAGE, log::SMART) => self.smart(place, &own, drives, desk),
            (opcode::GET_LOG_PAGE, log::EVENT_AGGREGATE) => self.events(place, &own, drives, desk),
            (opcode::GET_LOG_PAGE, log::PREDICTABLE) => {
                let drive = drive_of(cdw11 >> 16, drives)?;
                let own = Sqe { cdw11: (cdw11 & 0xffff | u32::from(NVM_SET) << 16).into(), ..own };
                self.ask_drive(place, drive, &own, data, desk)
            }
            (opcode::GET_LOG_PAGE, _) => {
                let drive = named.ok_or(StatusField::INVALID_NAMESPACE)?;
                self.ask_drive(place, drive, &own, data, desk)
            }
            (_, feature::RECOVERY_LEVEL | feature::PLM_CONFIG | feature::PLM_WINDOW) => {
                let drive = drive_of(cdw11 & 0xffff, drives)?;
                let own = Sqe { cdw11: (cdw11 & !0xffff | u32::from(NVM_SET)).into(), ..own };
                self.ask_drive(place, drive, &own, data, desk)
            }
            (opcode::SET_FEATURES, _) => {
                for drive in 1..drives {
                    self.ask_drive(place, drive, &own, data, desk)?;
                }
                self.ask_drive(place, 0, &own, data, desk)
            }
            _ => self.ask_drive(place, 0, &own, data, desk),
        }
    }

    fn ask_drive(
        &mut self,
        place: u32,
        drive: u32,
        sqe: &Sqe,
        data: &[u8],
        desk: &mut dyn Desk,
    ) -> Answer {
        let identifier = self.shared.borrow_mut().late(self.controller, place, drive);
        let reply = desk.admin(drive, &Sqe { cid: identifier.into(), ..*sqe }, data);
        if matches!(reply, Some(AdminReply::Later)) {
            return Ok(None);
        }
        self.shared.borrow_mut().not_late(identifier);
        match reply {
            Some(AdminReply::Done(done)) if done.status.is_success() => {
                Ok(Some((done.result, done.data)))
            }
            Some(AdminReply::Done(done)) => Err(done.status),
            _ => Err(StatusField::INVALID_OPCODE),
        }
    }

    /// One log of each drive, from its beginning.
    fn logs(
        &mut self,
        place: u32,
        sqe: &Sqe,
        drives: u32,
        desk: &mut dyn Desk,
    ) -> Result<Vec<Vec<u8>>, StatusField> {
        let cdw10 = sqe.cdw10.get() & (RETAIN | 0xff) | (LOG_BYTES as u32 / 4 - 1) << 16;
        let zero = 0.into();
        let whole = Sqe { cdw10: cdw10.into(), cdw11: zero, cdw12: zero, cdw13: zero, ..*sqe };
        let ask = |drive| {
            let answer = self.ask_drive(place, drive, &whole, &[], desk)?;
            Ok(answer.map_or(Vec::new(), |(_, data)| data))
        };
        (0..drives).map(ask).collect()
    }

    /// SMART of all drives: traffic and errors are added up, of the spare the least is told.
    fn smart(&mut self, place: u32, sqe: &Sqe, drives: u32, desk: &mut dyn Desk) -> Answer {
        let mut logs = self.logs(place, sqe, drives, desk)?.into_iter();
        let mut all = logs.next().unwrap_or_default();
        for one in logs {
            all[0] |= one[0];
            all[3] = all[3].min(one[3]);
            // Units read and written, reads, writes, media errors.
            for at in [32, 48, 64, 80, 160] {
                let sum = number(&all, at) + number(&one, at);
                all[at..at + 16].copy_from_slice(&sum.to_le_bytes());
            }
        }
        part_of(sqe, all)
    }

    /// Log 0Bh: the sets that have events.
    fn events(&mut self, place: u32, sqe: &Sqe, drives: u32, desk: &mut dyn Desk) -> Answer {
        let logs = self.logs(place, sqe, drives, desk)?;
        let has_events = |log: &Vec<u8>| log.first().is_some_and(|count| *count > 0);
        let sets = (1..).zip(&logs).filter(|(_, log)| has_events(log)).map(|(set, _)| set);
        let mut all = log::event_aggregate(&sets.collect::<Vec<u16>>());
        all.resize(all.len().next_multiple_of(4).max(log_length(sqe).min(LOG_BYTES)), 0);
        part_of(sqe, all)
    }

    fn answer_for_array(&self, sqe: &Sqe) -> Answer {
        let page = sqe.cdw10.get() as u8;
        let is_volatile = self.shared.borrow().subsystem.attributes.is_cache_volatile;
        match sqe.opcode {
            opcode::GET_LOG_PAGE if page == log::SMART => {
                let mut smart = vec![0; LOG_BYTES];
                // Spare blocks, in percent, and their threshold.
                (smart[3], smart[4]) = (100, 10);
                part_of(sqe, smart)
            }
            opcode::GET_LOG_PAGE => Err(StatusField::INVALID_LOG_PAGE),
            opcode::GET_FEATURES if page == feature::WRITE_CACHE && is_volatile => {
                Ok(Some((1, Vec::new())))
            }
            _ => Err(StatusField::INVALID_FIELD),
        }
    }

    /// An event request waits, at each drive's controller that has room for it.
    pub(super) fn keep_event(
        &mut self,
        place: u32,
        sqe: &Sqe,
        is_discovery: bool,
        desk: &mut dyn Desk,
    ) -> Answer {
        if self.events.len() >= EVENTS {
            return Err(StatusField::EVENT_REQUEST_LIMIT);
        }
        let drives = self.shared.borrow().subsystem.drives;
        let mut held = Vec::new();
        for drive in (0..drives).filter(|_| !is_discovery) {
            let identifier = self.shared.borrow_mut().late(self.controller, place, drive);
            match desk.admin(drive, &Sqe { cid: identifier.into(), ..*sqe }, &[]) {
                Some(AdminReply::Later) => held.push(identifier),
                _ => drop(self.shared.borrow_mut().not_late(identifier)),
            }
        }
        self.events.push((place, held));
        Ok(None)
    }

    /// An event request ends: no drive is to answer it any more.
    pub(super) fn forget_event(&mut self, place: u32, desk: &mut dyn Desk) {
        let Some(at) = self.events.iter().position(|(event, _)| *event == place) else { return };
        for identifier in self.events.remove(at).1 {
            let drive = self.shared.borrow_mut().not_late(identifier);
            drive.map(|drive| desk.admin(drive, &abort(identifier), &[]));
        }
    }
}

/// The drive of an NVM Set.
fn drive_of(set: u32, drives: u32) -> Result<u32, StatusField> {
    (1..=drives).contains(&set).then(|| set - 1).ok_or(StatusField::INVALID_FIELD)
}

fn number(bytes: &[u8], at: usize) -> u128 {
    let mut number = [0; 16];
    number.copy_from_slice(&bytes[at..at + 16]);
    u128::from_le_bytes(number)
}
