//! Predictable Latency Mode as data: what feature 13h carries (NVMe Base 2.1, 5.1.25.1.12), with
//! the schedule of an array in bytes that the specification reserves.
//!
//! The schedule's place is bytes 511:480 of the Deterministic Threshold Configuration:
//!
//! | bytes | field |
//! |---|---|
//! | 480 | array type: 0 no schedule (the other fields are zero), 1, 5 or 6 for RAID-1, -5 or -6 |
//! | 481 | array width N, 1 to 255 |
//! | 483:482 | index of this drive, below N |
//! | 487:484 | reserved, zero |
//! | 495:488 | length of a window, TW, in nanoseconds |
//! | 503:496 | when slot 0 begins, in nanoseconds of the clock that all members share |
//! | 511:504 | guard, in nanoseconds, at most TW |
//!
//! Nanoseconds, not the microseconds of NVMe's habits: TW comes out of a formula, and what is
//! rounded is not what the host goes by: its idea of slot `s` and the drive's would part by `s`
//! times the rest.

use super::StatusField;
use crate::drive::WindowSchedule;
use crate::units::{Duration, Instant};
use zerocopy::little_endian::{U16, U64};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Bits of Enable Event (feature 13h) and of Event Type (log 0Ah).
pub mod event {
    /// DTWIN Reads Warning.
    pub const READS: u16 = 1 << 0;
    /// DTWIN Writes Warning.
    pub const WRITES: u16 = 1 << 1;
    /// DTWIN Time Warning.
    pub const TIME: u16 = 1 << 2;
    /// Autonomous transition to the non-deterministic window: a typical or maximum value was
    /// exceeded.
    pub const EXCEEDED: u16 = 1 << 14;
    /// Deterministic Excursion: garbage collection was forced in the deterministic window.
    pub const EXCURSION: u16 = 1 << 15;
    /// All of them.
    pub const ALL: u16 = READS | WRITES | TIME | EXCEEDED | EXCURSION;
}

/// Which window an NVM Set is in: Status of log 0Ah, Window Select of feature 14h.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Window {
    /// Predictable Latency Mode is off.
    #[default]
    Off = 0,
    /// The deterministic window, DTWIN.
    Deterministic = 1,
    /// The non-deterministic window, NDWIN.
    NonDeterministic = 2,
}

/// The settings of feature 13h.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// Events to be told of ([`event`]).
    pub events: u16,
    /// Reads left in the window at which the host is warned, in 4 KiB.
    pub reads_threshold: u64,
    /// Writes left, in the optimal write size.
    pub writes_threshold: u64,
    /// Milliseconds left.
    pub time_threshold: u64,
    /// By which the members of an array take turns; without it the host selects each window
    /// (feature 14h).
    pub schedule: Option<Schedule>,
}

/// The vendor's part of feature 13h.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// The kind of the array: told, not used.
    pub array: ArrayType,
    /// Whose turn it is when.
    pub windows: WindowSchedule,
}

/// Kinds of arrays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum ArrayType {
    /// RAID-1.
    Mirror = 1,
    /// RAID-5.
    SingleParity = 5,
    /// RAID-6.
    DoubleParity = 6,
}

/// Deterministic Threshold Configuration, byte for byte.
#[derive(Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct ThresholdData {
    /// 1:0 Enable Event.
    events: U16,
    /// 31:2
    reserved_2: [u8; 30],
    /// 39:32
    reads_threshold: U64,
    /// 47:40
    writes_threshold: U64,
    /// 55:48
    time_threshold: U64,
    /// 479:56
    reserved_56: [u8; 424],
    /// 511:480 vendor.
    schedule: ScheduleData,
}

/// The schedule, byte for byte.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    FromBytes,
    IntoBytes,
    KnownLayout,
    Immutable,
    Unaligned,
)]
#[repr(C)]
struct ScheduleData {
    array_type: u8,
    width: u8,
    index: U16,
    reserved: [u8; 4],
    length: U64,
    cycle_start: U64,
    guard: U64,
}

/// Bytes of the Deterministic Threshold Configuration.
pub const CONFIG_BYTES: usize = 512;
/// Bytes of a schedule.
pub const SCHEDULE_BYTES: usize = 32;

const _: () = assert!(size_of::<ThresholdData>() == CONFIG_BYTES);
const _: () = assert!(size_of::<ScheduleData>() == SCHEDULE_BYTES);

/// A cycle is at most 36 years, and so is the wait for the first: no sum of such times overflows in
/// a run.
const CYCLE_MAX: u64 = 1 << 60;

impl Config {
    /// The 512 bytes; `None` when the schedule is not one that they can hold
    /// ([`Schedule::encode`]).
    pub fn encode(&self) -> Option<[u8; CONFIG_BYTES]> {
        let mut data = ThresholdData::new_zeroed();
        data.events = self.events.into();
        data.reads_threshold = self.reads_threshold.into();
        data.writes_threshold = self.writes_threshold.into();
        data.time_threshold = self.time_threshold.into();
        if let Some(schedule) = &self.schedule {
            data.schedule = schedule.data()?;
        }
        Some(zerocopy::transmute!(data))
    }

    /// Reads the 512 bytes. Reserved bits must be zero.
    pub fn decode(data: &[u8]) -> Result<Self, StatusField> {
        let Ok((data, _)) = ThresholdData::ref_from_prefix(data) else {
            return Err(StatusField::DATA_LENGTH);
        };
        let events = data.events.get();
        let is_reserved_zero = data.reserved_2 == [0; 30] && data.reserved_56 == [0; 424];
        if events & !event::ALL != 0 || !is_reserved_zero {
            return Err(StatusField::INVALID_FIELD);
        }
        Ok(Self {
            events,
            reads_threshold: data.reads_threshold.get(),
            writes_threshold: data.writes_threshold.get(),
            time_threshold: data.time_threshold.get(),
            schedule: Schedule::of(&data.schedule)?,
        })
    }
}

impl Schedule {
    /// The 32 bytes; `None` when a drive would refuse them: more than 255 members, an index beyond
    /// them, a window of no time, a guard longer than it, or a cycle beyond 36 years.
    pub fn encode(&self) -> Option<[u8; SCHEDULE_BYTES]> {
        Some(zerocopy::transmute!(self.data()?))
    }

    /// Reads the 32 bytes; `None` in them is no schedule.
    pub fn decode(data: &[u8]) -> Result<Option<Self>, StatusField> {
        let Ok((data, _)) = ScheduleData::ref_from_prefix(data) else {
            return Err(StatusField::DATA_LENGTH);
        };
        Self::of(data)
    }

    fn data(&self) -> Option<ScheduleData> {
        let WindowSchedule { members, index, length, cycle_start, guard } = self.windows;
        let data = ScheduleData {
            array_type: self.array as u8,
            width: u8::try_from(members).ok()?,
            index: u16::try_from(index).ok()?.into(),
            reserved: [0; 4],
            length: length.as_ns().into(),
            cycle_start: cycle_start.as_ns().into(),
            guard: guard.as_ns().into(),
        };
        Self::of(&data).is_ok().then_some(data)
    }

    fn of(data: &ScheduleData) -> Result<Option<Self>, StatusField> {
        let array = match data.array_type {
            0 if *data == ScheduleData::default() => return Ok(None),
            1 => ArrayType::Mirror,
            5 => ArrayType::SingleParity,
            6 => ArrayType::DoubleParity,
            _ => return Err(StatusField::INVALID_FIELD),
        };
        let (width, index) = (data.width.into(), data.index.get().into());
        let (length, start, guard) = (data.length.get(), data.cycle_start.get(), data.guard.get());
        let cycle = length.checked_mul(u64::from(width));
        let is_valid = data.reserved == [0; 4]
            && index < width
            && length > 0
            && guard <= length
            && cycle.is_some_and(|cycle| cycle <= CYCLE_MAX)
            && start <= CYCLE_MAX;
        if !is_valid {
            return Err(StatusField::INVALID_FIELD);
        }
        let windows = WindowSchedule {
            members: width,
            index,
            length: Duration::from_ns(length),
            cycle_start: Instant::from_ns(start),
            guard: Duration::from_ns(guard),
        };
        Ok(Some(Self { array, windows }))
    }
}
