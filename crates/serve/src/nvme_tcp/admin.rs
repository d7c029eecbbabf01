//! Admin commands: what belongs to the transport is answered here, the rest by the drives'
//! controllers ([`super::drives`]).

use super::pointer::Pointer;
use super::queue::{Phase, Queue};
use super::shared::QUEUES;
use crate::front::Desk;
use manx_core::nvme::admin::opcode;
use manx_core::nvme::{Sqe, StatusField, identify};
use tracing::debug;

/// Keep Alive.
const KEEP_ALIVE: u8 = 0x18;
/// Event requests of a host that may wait.
pub(super) const EVENTS: usize = 4;
/// Features of the transport.
const NUMBER_OF_QUEUES: u8 = 0x07;
const KEEP_ALIVE_TIMER: u8 = 0x0f;
/// CDW10 of Set Features: save; of Get Features: another value than the current one.
const SAVE: u32 = 1 << 31;
const SELECT: u32 = 7 << 8;
/// Logs that every controller has, and the discovery log.
const ERRORS: u8 = 0x01;
const FIRMWARE: u8 = 0x03;
const DISCOVERY_LOG: u8 = 0x70;

/// Abort's DW0: nothing was aborted.
const NOT_ABORTED: u32 = 1;

/// The outcome of a command: DW0 and data, or nothing yet.
pub(super) type Answer = Result<Option<(u32, Vec<u8>)>, StatusField>;

impl Queue {
    pub(super) fn execute_admin(
        &mut self,
        place: u32,
        sqe: &Sqe,
        data: &[u8],
        out: &mut Vec<u8>,
        desk: &mut dyn Desk,
    ) {
        debug_assert_eq!(self.phase, Phase::Admin);
        let (opcode, nsid) = (sqe.opcode, sqe.nsid.get());
        debug!(opcode, nsid, cdw10 = sqe.cdw10.get(), cdw11 = sqe.cdw11.get(), "admin command");
        let (is_ready, is_discovery) = {
            let shared = self.shared.borrow();
            let controller = shared.controllers.get(&self.controller);
            controller.map_or((false, false), |held| (held.is_ready(), held.is_discovery))
        };
        let answer = match sqe.opcode {
            _ if !is_ready => Err(StatusField::COMMAND_SEQUENCE),
            KEEP_ALIVE => Ok(Some((0, Vec::new()))),
            opcode::EVENT_REQUEST => self.keep_event(place, sqe, is_discovery, desk),
            opcode::ABORT => self.abort_command(sqe, out, desk),
            _ if is_discovery => self.answer_discovery(sqe),
            _ => self.answer_admin(place, sqe, data, desk),
        };
        let (result, data) = match answer {
            Ok(None) => return,
            Ok(Some(told)) => told,
            Err(status) => return self.answer(place, status, 0, out),
        };
        // A log that is read from its end on brings zeros, as many as were asked for.
        let length = wanted(sqe).unwrap_or(data.len());
        if length == 0 {
            return self.answer(place, StatusField::SUCCESS, result.into(), out);
        }
        if let Err(status) = Pointer::of(sqe).takes(length) {
            return self.answer(place, status, 0, out);
        }
        let give = |out: &mut Vec<u8>| out.extend_from_slice(&data[..data.len().min(length)]);
        self.answer_with(place, length, result.into(), &give, out);
    }

    fn answer_discovery(&mut self, sqe: &Sqe) -> Answer {
        let shared = self.shared.borrow();
        let page = sqe.cdw10.get() as u8;
        match sqe.opcode {
            opcode::IDENTIFY if page == identify::cns::CONTROLLER => {
                Ok(Some((0, shared.subsystem.identify_discovery(self.controller))))
            }
            opcode::IDENTIFY => Err(StatusField::INVALID_FIELD),
            opcode::GET_LOG_PAGE if page == DISCOVERY_LOG => {
                part_of(sqe, shared.subsystem.discovery_log(self.local))
            }
            opcode::GET_LOG_PAGE => Err(StatusField::INVALID_LOG_PAGE),
            opcode::SET_FEATURES | opcode::GET_FEATURES => {
                drop(shared);
                self.own_feature(sqe).unwrap_or(Err(StatusField::INVALID_FIELD))
            }
            _ => Err(StatusField::INVALID_OPCODE),
        }
    }

    fn answer_admin(&mut self, place: u32, sqe: &Sqe, data: &[u8], desk: &mut dyn Desk) -> Answer {
        let page = sqe.cdw10.get() as u8;
        match sqe.opcode {
            opcode::IDENTIFY => {
                let shared = self.shared.borrow();
                let told = shared.subsystem.identify(sqe, self.controller, desk);
                told.map(|page| Some((0, page)))
            }
            opcode::GET_LOG_PAGE if page == ERRORS => part_of(sqe, vec![0; 64]),
            opcode::GET_LOG_PAGE if page == FIRMWARE => part_of(sqe, firmware()),
            opcode::SET_FEATURES | opcode::GET_FEATURES => match self.own_feature(sqe) {
                Some(answer) => answer,
                None => self.ask_drives(place, sqe, data, desk),
            },
            opcode::GET_LOG_PAGE => self.ask_drives(place, sqe, data, desk),
            _ => Err(StatusField::INVALID_OPCODE),
        }
    }

    /// Features of the transport; `None`: it is not one of them.
    fn own_feature(&mut self, sqe: &Sqe) -> Option<Answer> {
        let is_set = sqe.opcode == opcode::SET_FEATURES;
        let (cdw10, cdw11) = (sqe.cdw10.get(), sqe.cdw11.get());
        match cdw10 as u8 {
            // As the drives' controllers answer for theirs.
            NUMBER_OF_QUEUES | KEEP_ALIVE_TIMER if is_set && cdw10 & SAVE != 0 => {
                Some(Err(StatusField::NOT_SAVEABLE))
            }
            NUMBER_OF_QUEUES | KEEP_ALIVE_TIMER if !is_set && cdw10 & SELECT != 0 => {
                Some(Err(StatusField::INVALID_FIELD))
            }
            NUMBER_OF_QUEUES => Some(self.queues(is_set.then_some(cdw11))),
            KEEP_ALIVE_TIMER => {
                if is_set {
                    self.set_keep_alive(cdw11);
                }
                // Less the second for the way; the longest one, rounded up, has more than 32 bits.
                let timeout = self.keep_alive.map_or(0, |timeout| timeout.as_millis() - 1000);
                let told = u32::try_from(timeout).unwrap_or(u32::MAX);
                Some(Ok(Some((if is_set { 0 } else { told }, Vec::new()))))
            }
            _ => None,
        }
    }

    /// Number of Queues: 0's based, submission and completion queues alike.
    fn queues(&mut self, asked: Option<u32>) -> Answer {
        let mut shared = self.shared.borrow_mut();
        let Some(controller) = shared.controllers.get_mut(&self.controller) else {
            return Err(StatusField::COMMAND_SEQUENCE);
        };
        if let Some(asked) = asked {
            let (submission, completion) = (asked & 0xffff, asked >> 16);
            if submission == 0xffff || completion == 0xffff {
                return Err(StatusField::INVALID_FIELD);
            }
            if !controller.connected.is_empty() {
                return Err(StatusField::COMMAND_SEQUENCE);
            }
            controller.granted = (submission.min(completion) + 1).min(QUEUES.into()) as u16;
        }
        let told = u32::from(controller.granted) - 1;
        Ok(Some((told | told << 16, Vec::new())))
    }

    /// Abort: event requests are taken back; reads and writes are not.
    fn abort_command(&mut self, sqe: &Sqe, out: &mut Vec<u8>, desk: &mut dyn Desk) -> Answer {
        let (queue, cid) = (sqe.cdw10.get() as u16, (sqe.cdw10.get() >> 16) as u16);
        let places: Vec<u32> = self.events.iter().map(|(place, _)| *place).collect();
        let found = places.into_iter().find(|place| self.flight(*place).sqe.cid.get() == cid);
        let Some(place) = found.filter(|_| queue == 0) else {
            return Ok(Some((NOT_ABORTED, Vec::new())));
        };
        self.forget_event(place, desk);
        self.answer(place, StatusField::new(0, 0x07, false), 0, out);
        Ok(Some((0, Vec::new())))
    }
}

/// Bytes that a command with data for the host brings, filled up with zeros.
fn wanted(sqe: &Sqe) -> Option<usize> {
    match sqe.opcode {
        opcode::IDENTIFY => Some(identify::IDENTIFY_BYTES),
        opcode::GET_LOG_PAGE => Some(log_length(sqe)),
        _ => None,
    }
}

/// Bytes that Get Log Page asks for.
pub(super) fn log_length(sqe: &Sqe) -> usize {
    let dwords = u64::from(sqe.cdw11.get() & 0xffff) << 16 | u64::from(sqe.cdw10.get() >> 16);
    ((dwords + 1) * 4) as usize
}

/// The part of a log that is asked for.
pub(super) fn part_of(sqe: &Sqe, mut page: Vec<u8>) -> Answer {
    let offset = u64::from(sqe.cdw13.get()) << 32 | u64::from(sqe.cdw12.get());
    let is_valid = offset <= page.len() as u64 && offset.is_multiple_of(4);
    if !is_valid || log_length(sqe) > super::io::TRANSFER_MAX {
        return Err(StatusField::INVALID_FIELD);
    }
    page.drain(..offset as usize);
    page.truncate(log_length(sqe));
    Ok(Some((0, page)))
}

/// Firmware Slot Information: slot 1 is active.
fn firmware() -> Vec<u8> {
    let mut page = vec![0; 512];
    page[0] = 1;
    page[8..16].fill(b' ');
    let version = env!("CARGO_PKG_VERSION").as_bytes();
    let length = version.len().min(8);
    page[8..8 + length].copy_from_slice(&version[..length]);
    page
}
