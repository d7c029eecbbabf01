//! Get Log Page: 02h SMART, 0Ah Predictable Latency Per NVM Set, 0Bh Predictable Latency Event
//! Aggregate, and the vendor's C0h (NVMe Base 2.1, 5.1.12; 5.1.12.1.3, .11 and .12). Others are
//! Invalid Log Page.
//!
//! Log 0Ah is about the NVM Set in the log specific identifier. Read with Retain Asynchronous Event
//! cleared, its events are cleared and the set leaves log 0Bh (8.1.18.3). The vendor's page shows
//! what the specification has no place for: the schedule as the drive keeps it, violations of it,
//! and the busy remaining times that reads failed fast with.
//!
//! Trap: a log's times are whole milliseconds; windows of an array may be shorter. The vendor's
//! page has nanoseconds.

use super::admin::Outcome;
use super::plm::{SCHEDULE_BYTES, Schedule, Window};
use super::{Controller, NVM_SET, Sqe, StatusField};
use crate::drive::{Op, Status};
use crate::units::{Duration, Instant, SECTOR};
use zerocopy::little_endian::{U16, U64, U128};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned};

/// SMART / Health Information.
pub const SMART: u8 = 0x02;
/// Predictable Latency Per NVM Set.
pub const PREDICTABLE: u8 = 0x0a;
/// Predictable Latency Event Aggregate.
pub const EVENT_AGGREGATE: u8 = 0x0b;
/// The vendor's: schedule, violations, fast-fails.
pub const VENDOR: u8 = 0xc0;

/// The version of the vendor page's layout; a change of the layout changes it.
pub const VENDOR_VERSION: u8 = 1;
/// Buckets of the histogram of busy remaining times: bucket `i` counts those from 2^i ns to 2^(i+1)
/// ns, 0 is in the first.
pub const BUCKETS: usize = 32;

/// SMART, byte for byte, as far as the drive knows. It has no temperature (0 K is told).
#[derive(Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct SmartData {
    /// 0: bit 0 spare below its threshold, bit 3 read-only.
    critical: u8,
    temperature: [u8; 2],
    /// 3 percent.
    spare: u8,
    /// 4 percent.
    spare_threshold: u8,
    /// 5 percent of the rated cycles, 255 from 255 on; 0 where the device states none.
    used: u8,
    reserved_6: [u8; 26],
    /// 47:32 in 1000 sectors, rounded up.
    units_read: U128,
    /// 63:48
    units_written: U128,
    /// 79:64
    reads: U128,
    /// 95:80
    writes: U128,
    reserved_96: [u8; 32],
    /// 143:128 hours.
    power_on: U128,
    reserved_144: [u8; 16],
    /// 175:160
    media_errors: U128,
    reserved_176: [u8; 336],
}

/// Predictable Latency Per NVM Set, byte for byte.
#[derive(Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct PredictableData {
    status: u8,
    reserved_1: u8,
    /// 3:2
    events: U16,
    reserved_4: [u8; 28],
    /// 39:32
    dtwin_reads_typical: U64,
    /// 47:40
    dtwin_writes_typical: U64,
    /// 55:48
    dtwin_time_maximum: U64,
    /// 63:56
    ndwin_time_minimum_high: U64,
    /// 71:64
    ndwin_time_minimum_low: U64,
    reserved_72: [u8; 56],
    /// 135:128
    dtwin_reads_estimate: U64,
    /// 143:136
    dtwin_writes_estimate: U64,
    /// 151:144
    dtwin_time_estimate: U64,
    reserved_152: [u8; 360],
}

/// The vendor's page, byte for byte.
#[derive(Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct VendorData {
    /// 0 [`VENDOR_VERSION`].
    version: u8,
    /// 1 as log 0Ah's status.
    status: u8,
    reserved_2: [u8; 6],
    /// 15:8 now, in ns.
    now: U64,
    /// 23:16 when this window ends; all ones: not before the host says so.
    window_end: U64,
    reserved_24: [u8; 8],
    /// 63:32 as bytes 511:480 of feature 13h.
    schedule: [u8; SCHEDULE_BYTES],
    /// 71:64 collections outside the window for them.
    violations: U64,
    /// 79:72 reads that failed fast.
    fast_fails: U64,
    /// 87:80 the sum of their busy remaining times, in ns.
    busy_sum: U64,
    /// 95:88 the longest.
    busy_max: U64,
    /// 103:96 collections.
    collections: U64,
    /// 111:104 of those, forced.
    forced: U64,
    reserved_112: [u8; 16],
    /// 383:128
    busy: [U64; BUCKETS],
    reserved_384: [u8; 128],
}

const LOG_BYTES: usize = 512;
const _: () = assert!(size_of::<SmartData>() == LOG_BYTES);
const _: () = assert!(size_of::<PredictableData>() == LOG_BYTES);
const _: () = assert!(size_of::<VendorData>() == LOG_BYTES);

/// Log 0Ah as a host reads it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PredictableLog {
    /// Which window it is.
    pub window: Window,
    /// Events ([`super::plm::event`]).
    pub events: u16,
    /// 4 KiB reads in a deterministic window, and what is left of them.
    pub reads: (u64, u64),
    /// Writes of the optimal size, and what is left.
    pub writes: (u64, u64),
    /// Milliseconds of a deterministic window at most, and what is left.
    pub time_ms: (u64, u64),
    /// Milliseconds of a non-deterministic window: after the longest deterministic one, and at
    /// least.
    pub ndwin_ms: (u64, u64),
}

/// The vendor's page as a host reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VendorLog {
    /// The drive's time.
    pub now: Instant,
    /// Which window it is.
    pub window: Window,
    /// When it ends; [`Instant::NEVER`]: when the host says so.
    pub window_end: Instant,
    /// The schedule, if there is one.
    pub schedule: Option<Schedule>,
    /// Collections outside the window for them.
    pub violations: u64,
    /// Reads that failed fast.
    pub fast_fails: FastFails,
    /// Collections, and how many of them were forced.
    pub collections: (u64, u64),
}

/// Reads that failed fast, and the busy remaining times that they came back with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FastFails {
    /// How many.
    pub count: u64,
    /// Their times, added up.
    pub busy_sum: Duration,
    /// The longest.
    pub busy_max: Duration,
    /// By powers of two of a nanosecond.
    pub busy: [u64; BUCKETS],
}

/// The controller's counters for SMART.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Traffic {
    reads: u64,
    writes: u64,
    sectors_read: u64,
    sectors_written: u64,
    media_errors: u64,
    fast_fails: FastFails,
}

impl Traffic {
    #[inline]
    pub fn submitted(&mut self, op: Op, sectors: u32) {
        match op {
            Op::Read => {
                (self.reads, self.sectors_read) =
                    (self.reads + 1, self.sectors_read + u64::from(sectors))
            }
            Op::Write => {
                (self.writes, self.sectors_written) =
                    (self.writes + 1, self.sectors_written + u64::from(sectors));
            }
            Op::Flush | Op::Trim => {}
        }
    }

    /// A command did not succeed.
    pub fn failed(&mut self, status: Status, result: u64) {
        match status {
            Status::UnrecoveredRead => self.media_errors += 1,
            Status::PredictableLatencyNotMet => {
                let fails = &mut self.fast_fails;
                fails.count += 1;
                fails.busy_sum += Duration::from_ns(result);
                fails.busy_max = fails.busy_max.max(Duration::from_ns(result));
                fails.busy[(result.max(1).ilog2() as usize).min(BUCKETS - 1)] += 1;
            }
            _ => {}
        }
    }
}

impl PredictableLog {
    /// Reads the 512 bytes.
    pub fn decode(data: &[u8]) -> Result<Self, StatusField> {
        let Ok((data, _)) = PredictableData::ref_from_prefix(data) else {
            return Err(StatusField::DATA_LENGTH);
        };
        Ok(Self {
            window: window_of(data.status)?,
            events: data.events.get(),
            reads: (data.dtwin_reads_typical.get(), data.dtwin_reads_estimate.get()),
            writes: (data.dtwin_writes_typical.get(), data.dtwin_writes_estimate.get()),
            time_ms: (data.dtwin_time_maximum.get(), data.dtwin_time_estimate.get()),
            ndwin_ms: (data.ndwin_time_minimum_high.get(), data.ndwin_time_minimum_low.get()),
        })
    }
}

impl VendorLog {
    /// Reads the 512 bytes.
    pub fn decode(data: &[u8]) -> Result<Self, StatusField> {
        let Ok((data, _)) = VendorData::ref_from_prefix(data) else {
            return Err(StatusField::DATA_LENGTH);
        };
        if data.version != VENDOR_VERSION {
            return Err(StatusField::INVALID_FIELD);
        }
        let fast_fails = FastFails {
            count: data.fast_fails.get(),
            busy_sum: Duration::from_ns(data.busy_sum.get()),
            busy_max: Duration::from_ns(data.busy_max.get()),
            busy: data.busy.map(U64::get),
        };
        Ok(Self {
            now: Instant::from_ns(data.now.get()),
            window: window_of(data.status)?,
            window_end: Instant::from_ns(data.window_end.get()),
            schedule: Schedule::decode(&data.schedule)?,
            violations: data.violations.get(),
            fast_fails,
            collections: (data.collections.get(), data.forced.get()),
        })
    }
}

fn window_of(status: u8) -> Result<Window, StatusField> {
    match status {
        0 => Ok(Window::Off),
        1 => Ok(Window::Deterministic),
        2 => Ok(Window::NonDeterministic),
        _ => Err(StatusField::INVALID_FIELD),
    }
}

/// Log 0Bh for these NVM Sets: their number in 8 bytes, then each in 2, ascending.
pub fn event_aggregate(sets: &[u16]) -> Vec<u8> {
    let mut sets = sets.to_vec();
    sets.sort_unstable();
    sets.dedup();
    let mut data = (sets.len() as u64).to_le_bytes().to_vec();
    data.extend(sets.into_iter().flat_map(u16::to_le_bytes));
    data
}

impl Controller {
    pub(super) fn get_log_page(&mut self, now: Instant, sqe: &Sqe) -> Result<Outcome, StatusField> {
        let (cdw10, cdw11) = (sqe.cdw10.get(), sqe.cdw11.get());
        sqe.check_any_namespace()?;
        let dwords = u64::from(cdw11 & 0xffff) << 16 | u64::from(cdw10 >> 16);
        let length = (dwords + 1) * 4;
        let offset = u64::from(sqe.cdw13.get()) << 32 | u64::from(sqe.cdw12.get());
        let (is_retained, set) = (cdw10 >> 15 & 1 == 1, (cdw11 >> 16) as u16);
        let most = self.transfer_bytes_max();
        if (most != 0 && length > most) || !offset.is_multiple_of(4) {
            return Err(StatusField::INVALID_FIELD);
        }
        let page = cdw10 as u8;
        let mut data = match page {
            SMART => self.smart(now).as_bytes().to_vec(),
            PREDICTABLE if set == NVM_SET => self.predictable(now).as_bytes().to_vec(),
            PREDICTABLE => return Err(StatusField::INVALID_FIELD),
            EVENT_AGGREGATE => {
                event_aggregate(if self.plm.events() == 0 { &[] } else { &[NVM_SET] })
            }
            VENDOR => self.vendor(now).as_bytes().to_vec(),
            _ => return Err(StatusField::INVALID_LOG_PAGE),
        };
        data.resize(data.len().next_multiple_of(4), 0);
        if offset > data.len() as u64 {
            return Err(StatusField::INVALID_FIELD);
        }
        if !is_retained {
            self.log_read(now, page);
        }
        data.drain(..offset as usize);
        data.truncate(usize::try_from(length).unwrap_or(usize::MAX));
        Ok(Outcome { result: 0, data })
    }

    fn log_read(&mut self, now: Instant, page: u8) {
        match page {
            PREDICTABLE => self.clear_events(now),
            EVENT_AGGREGATE => self.events.log_read(),
            _ => {}
        }
    }

    fn smart(&self, now: Instant) -> SmartData {
        let drive = self.drive();
        let traffic = &self.traffic;
        let spare = drive.counters().faults.spare_least;
        let percent = match self.spare_at_first {
            first if first > 0 => (spare.max(0) * 100 / first).min(100) as u8,
            _ => 100,
        };
        let mut data = SmartData::new_zeroed();
        data.spare = percent;
        data.spare_threshold = 10;
        // The cast rounds down, and saturates.
        data.used = drive.wear().percentage_used().unwrap_or(0.0) as u8;
        data.critical =
            u8::from(percent < data.spare_threshold) | u8::from(drive.is_read_only()) << 3;
        data.units_read = u128::from(traffic.sectors_read.div_ceil(1000)).into();
        data.units_written = u128::from(traffic.sectors_written.div_ceil(1000)).into();
        data.reads = u128::from(traffic.reads).into();
        data.writes = u128::from(traffic.writes).into();
        data.power_on = u128::from(now.as_ns() / Duration::from_s(3600).as_ns()).into();
        data.media_errors = u128::from(traffic.media_errors).into();
        data
    }

    fn predictable(&mut self, now: Instant) -> PredictableData {
        let (a, mut data) = (self.attributes, PredictableData::new_zeroed());
        data.status = self.plm.window(now) as u8;
        data.events = self.plm.events().into();
        data.dtwin_reads_typical = a.dtwin_reads.into();
        data.dtwin_writes_typical = a.dtwin_writes.into();
        data.dtwin_time_maximum = self.plm.dtwin_time_ms().into();
        data.ndwin_time_minimum_high = a.ndwin_high_ms.into();
        data.ndwin_time_minimum_low = a.ndwin_low_ms.into();
        let left = self.plm.left(now);
        data.dtwin_reads_estimate = left.reads.into();
        data.dtwin_writes_estimate = left.writes.into();
        data.dtwin_time_estimate = left.time_ms.into();
        data
    }

    fn vendor(&mut self, now: Instant) -> VendorData {
        let mut data = VendorData::new_zeroed();
        data.version = VENDOR_VERSION;
        data.status = self.plm.window(now) as u8;
        data.now = now.as_ns().into();
        data.window_end = self.plm.window_end(now).as_ns().into();
        data.schedule = self.schedule_bytes();
        data.violations = self.violations().into();
        let counters = self.drive().counters();
        (data.collections, data.forced) =
            (counters.collections.into(), counters.forced_collections.into());
        let fails = &self.traffic.fast_fails;
        data.fast_fails = fails.count.into();
        data.busy_sum = fails.busy_sum.as_ns().into();
        data.busy_max = fails.busy_max.as_ns().into();
        data.busy = fails.busy.map(U64::from);
        data
    }

    /// The schedule that is in force: zeros without one.
    fn schedule_bytes(&self) -> [u8; SCHEDULE_BYTES] {
        let schedule = self.plm.config().schedule.filter(|_| self.plm.is_on());
        schedule.and_then(|schedule| schedule.encode()).unwrap_or_default()
    }
}

/// A sector in bytes is what SMART counts in thousands.
const _: () = assert!(SECTOR == 512);
