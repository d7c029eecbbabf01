//! Fabrics commands: Connect, Property Get and Set, Disconnect (NVMe Base 2.1, 6).

use super::pointer::whole;
use super::queue::{ENTRIES, Phase, Queue};
use super::shared::{ENABLE, HostController, QUEUES, SHUTDOWN};
use super::wire::{le16, le32};
use super::{DISCOVERY, identify};
use crate::front::Desk;
use manx_core::nvme::{Sqe, StatusField};
use std::collections::BTreeSet;
use std::time;
use tracing::debug;
use zerocopy::IntoBytes;

/// The opcode of all of them; their type lies where others have the namespace.
pub(super) const OPCODE: u8 = 0x7f;

/// Types.
pub(super) mod kind {
    pub const PROPERTY_SET: u8 = 0x00;
    pub const CONNECT: u8 = 0x01;
    pub const PROPERTY_GET: u8 = 0x04;
    pub const DISCONNECT: u8 = 0x08;
}

/// Properties by their offsets.
pub(super) mod property {
    pub const CAPABILITIES: u32 = 0x00;
    pub const VERSION: u32 = 0x08;
    pub const CONFIGURATION: u32 = 0x14;
    pub const STATUS: u32 = 0x1c;
}

const INCOMPATIBLE_FORMAT: StatusField = StatusField::new(1, 0x80, true);
const CONTROLLER_BUSY: StatusField = StatusField::new(1, 0x81, false);
const INVALID_PARAMETER: StatusField = StatusField::new(1, 0x82, true);
const INVALID_HOST: StatusField = StatusField::new(1, 0x84, true);

/// CSTS: the shutdown is complete.
const SHUTDOWN_COMPLETE: u64 = 0b10 << 2;
/// CATTR of Connect: no flow control of the submission queue.
pub(super) const NO_FLOW: u8 = 1 << 2;
/// Bytes of Connect's data.
pub(super) const CONNECT_DATA: usize = 1024;
/// The controller's identifier where the target is to choose one.
pub(super) const DYNAMIC: u16 = 0xffff;

type Answer = Result<u64, (StatusField, u64)>;

/// A parameter of Connect that may not be so: where it lies in the command, or in its data.
fn invalid(at: u64, is_in_data: bool) -> (StatusField, u64) {
    (INVALID_PARAMETER, at | u64::from(is_in_data) << 16)
}

impl Queue {
    pub(super) fn execute_fabrics(
        &mut self,
        place: u32,
        sqe: &Sqe,
        data: &[u8],
        out: &mut Vec<u8>,
        desk: &mut dyn Desk,
    ) {
        let kind = if sqe.opcode == OPCODE { sqe.nsid.get() as u8 } else { u8::MAX };
        let answer = match (self.phase, kind) {
            (Phase::Initialized, kind::CONNECT) => self.connect(sqe, data),
            (Phase::Initialized, _) => Err((StatusField::COMMAND_SEQUENCE, 0)),
            (_, kind::CONNECT) => Err((StatusField::COMMAND_SEQUENCE, 0)),
            (Phase::Admin, kind::PROPERTY_GET) => self.property_get(sqe),
            (Phase::Admin, kind::PROPERTY_SET) => self.property_set(place, sqe, desk),
            (Phase::Io, kind::DISCONNECT) => {
                self.phase = Phase::Gone;
                Ok(0)
            }
            _ => Err((StatusField::INVALID_OPCODE, 0)),
        };
        match answer {
            Ok(result) => self.answer(place, StatusField::SUCCESS, result, out),
            Err((status, result)) => self.answer(place, status, result, out),
        }
    }

    fn connect(&mut self, sqe: &Sqe, data: &[u8]) -> Answer {
        let bytes = sqe.as_bytes();
        let (format, queue, size) = (le16(bytes, 40), le16(bytes, 42), le16(bytes, 44));
        if format != 0 {
            return Err((INCOMPATIBLE_FORMAT, 0));
        }
        let data = whole(data, CONNECT_DATA).map_err(|status| (status, 0))?;
        if size == 0 || u32::from(size) >= ENTRIES {
            return Err(invalid(44, false));
        }
        let controller = match queue {
            0 => self.connect_admin(data, le32(bytes, 48))?,
            _ => self.connect_io(data, queue)?,
        };
        (self.controller, self.id, self.entries) = (controller, queue, u32::from(size) + 1);
        self.phase = if queue == 0 { Phase::Admin } else { Phase::Io };
        self.has_no_flow = bytes[46] & NO_FLOW != 0;
        debug!(controller, queue, entries = self.entries, "connected");
        Ok(controller.into())
    }

    fn connect_admin(&mut self, data: &[u8], timeout_ms: u32) -> Result<u16, (StatusField, u64)> {
        if le16(data, 16) != DYNAMIC {
            return Err(invalid(16, true));
        }
        let mut shared = self.shared.borrow_mut();
        let name = text(&data[256..512]);
        let is_discovery = name == DISCOVERY.as_bytes();
        if !is_discovery && name != shared.subsystem.options.name.as_bytes() {
            return Err(invalid(256, true));
        }
        let host_name = text(&data[512..768]);
        if host_name.is_empty() || host_name.len() > 223 {
            return Err(invalid(512, true));
        }
        let mut host_id = [0; 16];
        host_id.copy_from_slice(&data[..16]);
        let controller = HostController {
            is_discovery,
            host_id,
            host_name: host_name.to_vec(),
            config: 0,
            is_shut: false,
            lives: 0,
            granted: QUEUES,
            connected: BTreeSet::new(),
            answered: Vec::new(),
        };
        let admitted = shared.admit(controller).ok_or((CONTROLLER_BUSY, 0))?;
        debug!(controller = admitted, host = %String::from_utf8_lossy(host_name), is_discovery);
        drop(shared);
        self.set_keep_alive(timeout_ms);
        Ok(admitted)
    }

    fn connect_io(&mut self, data: &[u8], queue: u16) -> Result<u16, (StatusField, u64)> {
        let mut shared = self.shared.borrow_mut();
        let (number, name) = (le16(data, 16), text(&data[256..512]));
        if name != shared.subsystem.options.name.as_bytes() {
            return Err(invalid(256, true));
        }
        let Some(controller) = shared.controllers.get_mut(&number) else {
            return Err(invalid(16, true));
        };
        if controller.is_discovery {
            return Err(invalid(16, true));
        }
        if controller.host_id != data[..16] || controller.host_name != text(&data[512..768]) {
            return Err((INVALID_HOST, 0));
        }
        if !controller.is_ready() {
            return Err((StatusField::COMMAND_SEQUENCE, 0));
        }
        if queue > controller.granted || !controller.connected.insert(queue) {
            return Err(invalid(42, false));
        }
        self.lives = controller.lives;
        Ok(number)
    }

    /// A timeout of 0 is none; times are whole seconds, and one is added for the way.
    pub(super) fn set_keep_alive(&mut self, timeout_ms: u32) {
        let seconds = u64::from(timeout_ms).div_ceil(1000) + 1;
        self.keep_alive = (timeout_ms > 0).then_some(time::Duration::from_secs(seconds));
    }

    fn property_get(&mut self, sqe: &Sqe) -> Answer {
        let bytes = sqe.as_bytes();
        let (is_long, at) = (bytes[40] & 7 == 1, le32(bytes, 44));
        let shared = self.shared.borrow();
        let held = shared.controllers.get(&self.controller);
        let (config, is_shut) = held.map_or((0, false), |held| (held.config, held.is_shut));
        let is_shut = is_shut || config & SHUTDOWN != 0;
        let ready = u64::from(config & ENABLE);
        let value = match at {
            // Entries, contiguous queues, five seconds to be ready, the NVM command set.
            property::CAPABILITIES => u64::from(ENTRIES - 1) | 1 << 16 | 10 << 24 | 1 << 37,
            property::VERSION => identify::VERSION.into(),
            property::CONFIGURATION => config.into(),
            property::STATUS if is_shut => ready | SHUTDOWN_COMPLETE,
            property::STATUS => ready,
            _ => return Err((StatusField::INVALID_FIELD, 0)),
        };
        match is_long == (at == property::CAPABILITIES) && bytes[40] & 6 == 0 {
            true => Ok(value),
            false => Err((StatusField::INVALID_FIELD, 0)),
        }
    }

    fn property_set(&mut self, place: u32, sqe: &Sqe, desk: &mut dyn Desk) -> Answer {
        let bytes = sqe.as_bytes();
        if le32(bytes, 44) != property::CONFIGURATION || bytes[40] & 7 != 0 {
            return Err((StatusField::INVALID_FIELD, 0));
        }
        let mut shared = self.shared.borrow_mut();
        let Some(controller) = shared.controllers.get_mut(&self.controller) else {
            return Err((StatusField::COMMAND_SEQUENCE, 0));
        };
        if !controller.configure(le32(bytes, 48)) {
            return Ok(0);
        }
        shared.has_ended = true;
        let late = shared.late_of(self.controller);
        drop(shared);
        for (drive, abort) in late {
            desk.admin(drive, &abort, &[]);
        }
        self.discard_but(place);
        Ok(0)
    }
}

/// A name up to its end.
fn text(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    &bytes[..end]
}
