//! Identify and the discovery log: the model's own bytes, with what a transport adds to them.

use super::queue::ENTRIES;
use super::wire::IN_CAPSULE;
use super::{DISCOVERY, Subsystem};
use crate::front::Desk;
use manx_core::nvme::identify::{IDENTIFY_BYTES, cns};
use manx_core::nvme::{
    ALL_NAMESPACES, Attributes, NAMESPACE, Options, Sqe, StatusField, Terms, identify,
};
use manx_core::units::SECTOR;
use std::net::SocketAddr;

/// 1.4.0, as Identify tells it.
pub(super) const VERSION: u32 = 0x0001_0400;
/// Keep-alive timeouts are in tenths of a second times this.
const KEEP_ALIVE_UNIT: u16 = 10;
/// ONCS: Compare, Dataset Management, Write Zeroes.
const COMMANDS: u16 = 1 | 1 << 2 | 1 << 3;
/// SGLS: SGLs without alignment; addresses may be offsets within the capsule.
const SGLS: u32 = 1 | 1 << 20;
/// Several controllers, several hosts (CMIC bit 1), one namespace that they share (NMIC bit 0).
const SHARED_SUBSYSTEM: u8 = 1 << 1;
const SHARED_NAMESPACE: u8 = 1;
/// Bytes of the discovery log's head, and of an entry.
const ENTRY: usize = 1024;
/// Bytes of an entry of the list of NVM Sets, and before the first.
const SET: usize = 128;

impl Subsystem {
    /// The terms by which entries are judged, on a device of so many sectors.
    pub(super) fn terms(&self, sectors: u64) -> Terms {
        let transfer_max = (super::io::TRANSFER_MAX / 512) as u32;
        let (artefact, limited_retry) = (self.options.artefact, self.options.limited_retry);
        Terms { sectors, transfer_max, artefact, limited_retry }
    }

    /// The answer to Identify of a controller with that number.
    pub(super) fn identify(
        &self,
        sqe: &Sqe,
        controller: u16,
        desk: &dyn Desk,
    ) -> Result<Vec<u8>, StatusField> {
        let (what, nsid) = (sqe.cdw10.get() as u8, sqe.nsid.get());
        match what {
            cns::ACTIVE if nsid < ALL_NAMESPACES - 1 => return Ok(self.active(nsid)),
            cns::NVM_SETS if !self.has_controller => return Err(StatusField::INVALID_FIELD),
            cns::NAMESPACE | cns::DESCRIPTORS if nsid != ALL_NAMESPACES && nsid > self.drives => {
                return Err(StatusField::INVALID_NAMESPACE);
            }
            _ => {}
        }
        // Each drive is namespace 1 of its own.
        let is_named = (1..=self.drives).contains(&nsid);
        let drive = if is_named { nsid - 1 } else { 0 };
        let own = Sqe { nsid: if is_named { NAMESPACE } else { nsid }.into(), ..*sqe };
        let sectors = desk.size(drive) / SECTOR;
        let attributes = Attributes { sectors, ..self.attributes };
        let mut page = identify::identify(&attributes, &self.options_of(drive), &own)?;
        match what {
            cns::CONTROLLER => self.add_to_controller(&mut page, controller, desk),
            cns::NAMESPACE => {
                page[30] = SHARED_NAMESPACE;
                // DLFEAT: zeros are read there, and Write Zeroes may deallocate.
                page[33] = if desk.zeros_are_fast() { 0b1001 } else { 0 };
                let set = if self.has_controller && is_named { nsid as u16 } else { 0 };
                put16(&mut page, 100, set);
                put16(&mut page, 102, u16::from(set > 0));
            }
            cns::NVM_SETS => self.add_sets(&mut page, sqe.cdw11.get() as u16, desk),
            _ => {}
        }
        Ok(page)
    }

    /// The options of a drive: the first has the serial number as it is, and so its identifiers.
    fn options_of(&self, drive: u32) -> Options {
        let mut options = self.options.clone();
        if drive > 0 {
            options.serial += &format!("-{drive}");
        }
        options
    }

    fn active(&self, above: u32) -> Vec<u8> {
        let mut list = vec![0; IDENTIFY_BYTES];
        let numbers = (above.saturating_add(1)..=self.drives).zip(list.as_chunks_mut::<4>().0);
        numbers.for_each(|(number, place)| *place = number.to_le_bytes());
        list
    }

    fn add_to_controller(&self, page: &mut [u8], controller: u16, desk: &dyn Desk) {
        page[76] = SHARED_SUBSYSTEM;
        if !self.has_controller {
            // No sets, no windows, no notices of them.
            page[92..102].fill(0);
            page[338..342].fill(0);
        } else if self.drives > 1 {
            // An even number, as in the model's own page.
            put16(page, 338, self.drives.next_multiple_of(2) as u16);
        }
        let bytes: u128 = (0..self.drives).map(|drive| u128::from(desk.size(drive))).sum();
        page[280..296].copy_from_slice(&bytes.to_le_bytes());
        page[516..520].copy_from_slice(&self.drives.to_le_bytes());
        put16(page, 520, COMMANDS);
        add_fabrics(page, controller);
    }

    /// The sets from `first` on, each as the model tells its one.
    fn add_sets(&self, page: &mut [u8], first: u16, desk: &dyn Desk) {
        if self.drives == 1 || page[0] == 0 && u32::from(first) > self.drives {
            return;
        }
        let own = Sqe::identify(cns::NVM_SETS, 0, 0);
        let Ok(model) = identify::identify(&self.attributes, &self.options, &own) else { return };
        let first = u32::from(first.max(1));
        let numbers = first..=self.drives;
        page[0] = numbers.clone().count() as u8;
        for (number, entry) in numbers.zip(page[SET..].chunks_mut(SET)) {
            entry.copy_from_slice(&model[SET..2 * SET]);
            put16(entry, 0, number as u16);
            entry[16..32].copy_from_slice(&u128::from(desk.size(number - 1)).to_le_bytes());
        }
    }

    /// Identify Controller of the discovery subsystem.
    pub(super) fn identify_discovery(&self, controller: u16) -> Vec<u8> {
        let mut page = vec![0; IDENTIFY_BYTES];
        page[4..72].fill(b' ');
        put_text(&mut page, 4, 20, &self.options.serial);
        put_text(&mut page, 24, 40, "Manx discovery");
        put_text(&mut page, 64, 8, env!("CARGO_PKG_VERSION"));
        page[77] = 8;
        page[80..84].copy_from_slice(&VERSION.to_le_bytes());
        // A discovery controller.
        page[111] = 2;
        page[259] = super::admin::EVENTS as u8 - 1;
        // Get Log Page takes offsets.
        page[261] = 1 << 2;
        put_text(&mut page, 768, 256, DISCOVERY);
        add_fabrics(&mut page, controller);
        page
    }

    /// The discovery log for a host that reached `local`: one subsystem.
    pub(super) fn discovery_log(&self, local: Option<SocketAddr>) -> Vec<u8> {
        let mut log = vec![0; 2 * ENTRY];
        log[8] = 1;
        let entry = &mut log[ENTRY..];
        let Some(address) = local.or(self.address) else {
            return vec![0; ENTRY];
        };
        // TCP; IPv4 or IPv6; a subsystem with namespaces.
        entry[..3].copy_from_slice(&[3, if address.is_ipv4() { 1 } else { 2 }, 2]);
        put16(entry, 4, 1);
        put16(entry, 6, 0xffff);
        put16(entry, 8, ENTRIES as u16 - 1);
        entry[32..64].fill(b' ');
        put_text(entry, 32, 32, &address.port().to_string());
        put_text(entry, 256, 256, &self.options.name);
        entry[512..768].fill(b' ');
        put_text(entry, 512, 256, &address.ip().to_string());
        log
    }
}

/// Fields of Identify Controller that only a controller over fabrics has.
fn add_fabrics(page: &mut [u8], controller: u16) {
    put16(page, 78, controller);
    put16(page, 320, KEEP_ALIVE_UNIT);
    (page[512], page[513]) = (0x66, 0x44);
    put16(page, 514, ENTRIES as u16);
    page[536..540].copy_from_slice(&SGLS.to_le_bytes());
    // Capsules in units of 16 bytes; data begin right behind the command.
    page[1792..1796].copy_from_slice(&((64 + IN_CAPSULE as u32) / 16).to_le_bytes());
    page[1796..1800].copy_from_slice(&1u32.to_le_bytes());
    // One SGL descriptor; I/O queues may be disconnected.
    page[1803] = 1;
    put16(page, 1804, 1);
}

fn put16(bytes: &mut [u8], at: usize, value: u16) {
    bytes[at..at + 2].copy_from_slice(&value.to_le_bytes());
}

fn put_text(bytes: &mut [u8], at: usize, length: usize, text: &str) {
    let text = &text.as_bytes()[..text.len().min(length)];
    bytes[at..at + text.len()].copy_from_slice(text);
}
