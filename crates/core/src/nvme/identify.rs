//! Identify: the controller (CNS 01h), the namespace (00h), the list of active namespaces (02h), a
//! namespace's identifiers (03h), the list of NVM Sets (04h). Others are Invalid Field in Command.
//!
//! References: NVMe Base 2.1, 5.1.13 (NVM Set List: 5.1.13.2.4); the namespace structure is of the
//! NVM Command Set Specification. The version told is 1.4, the first with Predictable Latency Mode:
//! later ones make pages and data structures mandatory that are not here.
//!
//! Trap: NSETIDMAX is 2 though there is one NVM Set. nvme-cli asks for 8 + 2 x NSETIDMAX bytes of
//! log 0Bh, which must be whole dwords: with 1 it would lose the only entry.

use super::admin::Outcome;
use super::{
    ALL_NAMESPACES, Attributes, Controller, NAMESPACE, NVM_SET, Options, Sqe, StatusField, event,
    feature,
};
use crate::units::SECTOR;
use zerocopy::little_endian::{U16, U32, U64, U128};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Values of Controller or Namespace Structure.
pub mod cns {
    /// Identify Namespace.
    pub const NAMESPACE: u8 = 0x00;
    /// Identify Controller.
    pub const CONTROLLER: u8 = 0x01;
    /// Active namespace identifiers.
    pub const ACTIVE: u8 = 0x02;
    /// Namespace Identification Descriptors.
    pub const DESCRIPTORS: u8 = 0x03;
    /// NVM Set List.
    pub const NVM_SETS: u8 = 0x04;
}

/// Entries that nvme-cli may ask log 0Bh for.
pub const NVM_SET_MAX: u16 = 2;
/// 1.4.0.
const VERSION: u32 = 0x0001_0400;
/// CTRATT: NVM Sets, Read Recovery Levels, Endurance Groups, Predictable Latency Mode.
const CONTROLLER_ATTRIBUTES: u32 = 1 << 2 | 1 << 3 | 1 << 4 | 1 << 5;
/// LPA: Get Log Page takes 32 bits of length, and offsets.
const LOG_EXTENDED: u8 = 1 << 2;
/// ONCS: Dataset Management.
const DATASET_MANAGEMENT: u16 = 1 << 2;
/// VWC: bit 0 present; bits 2:1 11b a flush takes all namespaces.
const FLUSH_ALL: u8 = 0b110;
/// SGLS: SGLs are supported, without alignment.
const SGL_ANY: u32 = 1;

/// Identify Controller, byte for byte, as far as there is something to say.
#[derive(Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct ControllerData {
    /// 3:0 PCI vendor: none.
    vendor: [u8; 4],
    /// 23:4
    serial: [u8; 20],
    /// 63:24
    model: [u8; 40],
    /// 71:64
    firmware: [u8; 8],
    reserved_72: [u8; 5],
    /// 77 MDTS, as a power of two of 4 KiB.
    transfer_max: u8,
    /// 79:78 CNTLID.
    controller: U16,
    /// 83:80
    version: U32,
    reserved_84: [u8; 8],
    /// 95:92 OAES.
    events: U32,
    /// 99:96 CTRATT.
    attributes: U32,
    /// 101:100 RRLS.
    recovery_levels: U16,
    reserved_102: [u8; 9],
    /// 111 CNTRLTYPE: 1 is an I/O controller.
    kind: u8,
    reserved_112: [u8; 147],
    /// 259 AERL, 0's based.
    event_requests: u8,
    reserved_260: u8,
    /// 261 LPA.
    log_attributes: u8,
    reserved_262: [u8; 18],
    /// 295:280 TNVMCAP.
    capacity: U128,
    reserved_296: [u8; 42],
    /// 339:338 NSETIDMAX.
    nvm_set_max: U16,
    /// 341:340 ENDGIDMAX.
    endurance_group_max: U16,
    reserved_342: [u8; 170],
    /// 512 SQES: entries of 2^6 bytes, no less and no more.
    sqe_size: u8,
    /// 513 CQES: 2^4.
    cqe_size: u8,
    reserved_514: [u8; 2],
    /// 519:516 NN.
    namespaces: U32,
    /// 521:520 ONCS.
    commands: U16,
    reserved_522: [u8; 3],
    /// 525 VWC.
    write_cache: u8,
    reserved_526: [u8; 10],
    /// 539:536 SGLS.
    sgl: U32,
    reserved_540: [u8; 228],
    /// 1023:768 SUBNQN.
    name: [u8; 256],
    reserved_1024: [u8; 3072],
}

/// Identify Namespace, likewise.
#[derive(Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct NamespaceData {
    /// 7:0 NSZE.
    size: U64,
    /// 15:8 NCAP.
    capacity: U64,
    /// 23:16 NUSE: no thin provisioning.
    used: U64,
    /// 24 NSFEAT: bit 4, the fields of preferred writes and deallocations are there.
    features: u8,
    /// 25 NLBAF, 0's based.
    formats: u8,
    reserved_26: [u8; 7],
    /// 33 DLFEAT: 001b, what is deallocated reads as zeros.
    deallocated: u8,
    reserved_34: [u8; 14],
    /// 63:48 NVMCAP.
    bytes: U128,
    /// 65:64 NPWG, 0's based, as the next four.
    write_granularity: U16,
    /// 67:66 NPWA.
    write_alignment: U16,
    /// 69:68 NPDG.
    deallocate_granularity: U16,
    /// 71:70 NPDA.
    deallocate_alignment: U16,
    /// 73:72 NOWS.
    optimal_write: U16,
    reserved_74: [u8; 26],
    /// 101:100 NVMSETID.
    nvm_set: U16,
    /// 103:102 ENDGID.
    endurance_group: U16,
    /// 119:104 NGUID.
    guid: [u8; 16],
    /// 127:120 EUI64.
    eui: [u8; 8],
    /// 131:128 LBAF0: no metadata, 2^9 bytes.
    format: U32,
    reserved_132: [u8; 3964],
}

/// The list of NVM Sets with its one entry.
#[derive(Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct NvmSetList {
    /// 0 NUMENT.
    entries: u8,
    reserved_1: [u8; 127],
    /// 129:128 NSETID.
    set: U16,
    /// 131:130 ENDGID.
    endurance_group: U16,
    reserved_132: [u8; 4],
    /// 139:136 R4KRT, in 100 ns.
    read_typical: U32,
    /// 143:140 OWS, in bytes.
    optimal_write: U32,
    /// 159:144 TNVMSC.
    capacity: U128,
    /// 175:160 UNVMSC.
    unallocated: U128,
    reserved_176: [u8; 3920],
}

/// Bytes that every Identify returns.
pub const IDENTIFY_BYTES: usize = 4096;
const _: () = assert!(size_of::<ControllerData>() == IDENTIFY_BYTES);
const _: () = assert!(size_of::<NamespaceData>() == IDENTIFY_BYTES);
const _: () = assert!(size_of::<NvmSetList>() == IDENTIFY_BYTES);

/// The answer to Identify: of a drive with these attributes, as a controller with these options
/// tells it.
pub fn identify(
    attributes: &Attributes,
    options: &Options,
    sqe: &Sqe,
) -> Result<Vec<u8>, StatusField> {
    Told { attributes, options }.identify(sqe)
}

impl Controller {
    pub(super) fn identify(&self, sqe: &Sqe) -> Result<Outcome, StatusField> {
        identify(&self.attributes, &self.options, sqe).map(|data| Outcome { result: 0, data })
    }
}

/// Identify is told of these.
struct Told<'a> {
    attributes: &'a Attributes,
    options: &'a Options,
}

impl Told<'_> {
    fn identify(&self, sqe: &Sqe) -> Result<Vec<u8>, StatusField> {
        let nsid = sqe.nsid.get();
        let data = match sqe.cdw10.get() as u8 {
            cns::NAMESPACE if nsid == NAMESPACE || nsid == ALL_NAMESPACES => {
                self.namespace_data().as_bytes().to_vec()
            }
            cns::DESCRIPTORS if nsid == NAMESPACE => self.descriptors(),
            cns::NAMESPACE | cns::DESCRIPTORS => return Err(StatusField::INVALID_NAMESPACE),
            cns::CONTROLLER => self.controller_data().as_bytes().to_vec(),
            // Identifiers greater than the one asked for; no namespace comes after the last two
            // numbers.
            cns::ACTIVE if nsid >= ALL_NAMESPACES - 1 => {
                return Err(StatusField::INVALID_NAMESPACE);
            }
            cns::ACTIVE => {
                let mut list = vec![0; IDENTIFY_BYTES];
                if nsid < NAMESPACE {
                    list[..4].copy_from_slice(&NAMESPACE.to_le_bytes());
                }
                list
            }
            cns::NVM_SETS => self.set_list(sqe.cdw11.get() as u16).as_bytes().to_vec(),
            _ => return Err(StatusField::INVALID_FIELD),
        };
        Ok(data)
    }

    fn controller_data(&self) -> ControllerData {
        let mut data = ControllerData::new_zeroed();
        data.serial = padded(&self.options.serial, b' ');
        data.model = padded("Manx simulated flash drive", b' ');
        data.firmware = padded(env!("CARGO_PKG_VERSION"), b' ');
        data.transfer_max = self.options.transfer_max.min(31);
        data.controller = 1.into();
        data.version = VERSION.into();
        data.events = feature::PLM_NOTICES.into();
        data.attributes = CONTROLLER_ATTRIBUTES.into();
        data.recovery_levels = feature::RECOVERY_LEVELS.into();
        data.kind = 1;
        data.event_requests = event::REQUESTS_MAX as u8 - 1;
        data.log_attributes = LOG_EXTENDED;
        data.capacity = self.bytes().into();
        data.nvm_set_max = NVM_SET_MAX.into();
        data.endurance_group_max = 1.into();
        (data.sqe_size, data.cqe_size) = (0x66, 0x44);
        data.namespaces = NAMESPACE.into();
        data.commands = DATASET_MANAGEMENT.into();
        data.write_cache = FLUSH_ALL | u8::from(self.attributes.is_cache_volatile);
        data.sgl = SGL_ANY.into();
        data.name = padded(&self.options.name, 0);
        data
    }

    fn namespace_data(&self) -> NamespaceData {
        let a = self.attributes;
        let blocks = |sectors: u32| U16::from(u16::try_from(sectors - 1).unwrap_or(u16::MAX));
        let mut data = NamespaceData::new_zeroed();
        (data.size, data.capacity, data.used) =
            (a.sectors.into(), a.sectors.into(), a.sectors.into());
        data.features = 1 << 4;
        data.deallocated = 0b001;
        data.bytes = self.bytes().into();
        data.write_granularity = blocks(a.map_unit_sectors);
        data.write_alignment = blocks(a.map_unit_sectors);
        data.deallocate_granularity = blocks(a.map_unit_sectors);
        data.deallocate_alignment = blocks(a.map_unit_sectors);
        data.optimal_write = blocks(a.optimal_write / SECTOR as u32);
        data.nvm_set = NVM_SET.into();
        data.endurance_group = 1.into();
        data.guid = self.guid();
        // LBADS in bits 23:16.
        data.format = (SECTOR.trailing_zeros() << 16).into();
        data
    }

    /// One descriptor: NGUID (type 2, 16 bytes).
    fn descriptors(&self) -> Vec<u8> {
        let mut list = vec![0; IDENTIFY_BYTES];
        list[..2].copy_from_slice(&[2, 16]);
        list[4..20].copy_from_slice(&self.guid());
        list
    }

    /// The sets from `first` on: one, or none.
    fn set_list(&self, first: u16) -> NvmSetList {
        let a = self.attributes;
        let mut list = NvmSetList::new_zeroed();
        if first <= NVM_SET {
            list.entries = 1;
            list.set = NVM_SET.into();
            list.endurance_group = 1.into();
            list.read_typical = (a.read_typical.as_ns().div_ceil(100) as u32).into();
            list.optimal_write = a.optimal_write.into();
            list.capacity = self.bytes().into();
        }
        list
    }

    fn bytes(&self) -> u128 {
        u128::from(self.attributes.sectors) * u128::from(SECTOR)
    }

    /// A name for the namespace, different for different serial numbers: FNV-1a of it, twice.
    fn guid(&self) -> [u8; 16] {
        let hash = |basis: u64| {
            let bytes = self.options.serial.bytes();
            bytes.fold(basis, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
        };
        let mut guid = [0; 16];
        guid[..8].copy_from_slice(&hash(0xcbf2_9ce4_8422_2325).to_be_bytes());
        guid[8..].copy_from_slice(&hash(0x6c62_272e_07bb_0142).to_be_bytes());
        guid
    }
}

/// `text` cut or filled up to `N` bytes.
fn padded<const N: usize>(text: &str, fill: u8) -> [u8; N] {
    let mut bytes = [fill; N];
    for (byte, from) in bytes.iter_mut().zip(text.bytes()) {
        *byte = from;
    }
    bytes
}
