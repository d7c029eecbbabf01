//! Flash does physics: what takes time, and what must never happen.
//!
//! A die does one array operation at a time; a channel carries one transfer at a time, first come
//! first served, so its state is the time at which it is next free (no event is needed for a FIFO
//! resource), unless another order is asked for (`order`). A read is command, array, transfer; a
//! program is command and transfer, array; an erase is a command and steps. The drive says what
//! starts; the flash says when it is done ([`Flash::fire`]). Where the drive lets them, erases and
//! programs give way to reads.
//!
//! Asserted here: a row is programmed once, in order, into an erased block; only programmed pages
//! are read.
//!
//! Not modelled: status polling, power limits. Bit errors and read retries only where they are
//! asked for (`errors`, `retry`).
//!
//! Reading order: [`Device`] (the table), [`Layout`] (the geometry), `timing`, `channel`, `die`,
//! `execute`, `slc`, `features`, `registers`, `order`, `slot`, `cut`, `suspendable`, `suspend`,
//! `runs`, `whole`, `train`, `pulses`, `stress`, `remaining`, `errors`, `ageing`, `retry`,
//! `faults`, `spare`, `blame`, `books`, `past`, `activity`.

mod activity;
mod ageing;
mod blame;
mod books;
mod capacity;
mod channel;
mod cut;
mod device;
mod die;
mod endurance;
mod errors;
mod execute;
mod faults;
mod features;
mod fired;
mod gc_transfers;
mod layout;
mod lean;
mod occupation;
mod order;
mod past;
mod power;
mod pulses;
mod registers;
mod remaining;
mod retry;
mod rows;
mod runs;
mod slc;
mod slot;
mod spare;
mod stress;
mod suspend;
mod suspend_commands;
mod suspendable;
mod timing;
mod train;
mod whole;

pub use activity::{Act, Room, Slice};
pub use ageing::AgeingSpec;
pub use blame::{Doing, Keeper, Kept, Waits};
pub(crate) use blame::{add_kept, kept_between};
pub use capacity::{Capacity, lanes, program_unit, raw_bytes};
pub use device::{ArrayTiming, ChannelTiming, Device, Features, Geometry, PageOrder};
pub use die::{OpId, Operation, What};
pub use endurance::Rating;
pub use errors::{BitErrors, ErrorCounters, ErrorModel, Found};
pub use faults::{FaultDraws, FaultSpec};
pub use features::{BOOKED, LEAN, WATCHED};
pub use fired::Fired;
pub use layout::{Block, Layout};
pub use occupation::Occupation;
pub use order::{ChannelOrder, ChannelTake};
pub use pulses::EraseLengths;
pub use retry::{RetryMode, RetrySpec, RetryStart};
pub use runs::Run;
pub use slc::SlcTiming;
pub use spare::Spare;
pub use stress::BlockStress;
pub use suspendable::{
    ProgramSuspensionTimes, Progress, Stop, StopCommand, Suspendable, SuspensionLimits,
    SuspensionTimes,
};
pub use timing::{Timing, page_types};

use crate::sim::Timers;
use crate::units::{Die, Duration, Instant, Ppn};
use channel::ChannelState;
use die::DieState;

/// The content of a page that is erased or half programmed: no host ever wrote it.
pub const GARBAGE: u32 = u32::MAX - 1;

/// Every channel and die of a drive, and what their blocks hold.
#[derive(Clone, Debug)]
pub struct Flash {
    /// The geometry.
    pub layout: Layout,
    timing: Timing,
    channels: Vec<ChannelState>,
    dies: Vec<DieState>,
    timers: Timers,
    /// The end of what is programmed in each block; the next program of a block goes there and
    /// nowhere else.
    ends: Vec<Ppn>,
    /// Versions held by the physical pages, where the run carries content.
    content: Vec<u32>,
    cache_read: bool,
    cache_program: bool,
    /// The host's transfers give way to garbage collection.
    cuts: bool,
    /// The order of a channel, where that is not the order of asking.
    order: Option<ChannelOrder>,
    /// The dies that wait for a slot of their channel, where that is when they are taken.
    slots: Option<Box<slot::Slots>>,
    /// The first timer that is a channel's.
    channel_timers: usize,
    /// One of these: a transfer is more than a next-free time.
    watches_channels: bool,
    /// Which features look at single operations (`features`).
    way: u8,
    /// Rows are programmed in any order.
    any_order: bool,
    counters: FlashOperations,
    /// The drive must know when a program's data is in: the next one may be preloaded, or it may be
    /// suspended.
    watches_loads: bool,
    suspends_erases: bool,
    suspends_programs: bool,
    /// The states of erases and programs that can be suspended.
    suspensions: Option<Box<suspendable::Suspensions>>,
    /// The bit errors of every page, where they are modelled.
    errors: Option<Box<BitErrors>>,
    /// Reads that do not decode at once, where they are modelled.
    retries: Option<Box<retry::Retries>>,
    /// The spare areas, where the power may fail.
    spares: Option<Box<spare::Spares>>,
    /// Reads of the host whose command or data began to wait behind garbage collection on the
    /// channel, where the drive fails such reads.
    behind_gc: Vec<OpId>,
    reports_waits: bool,
    /// Sectors that whole copies send over the channel, either way.
    copy_sectors: u32,
    /// They send commands only, and meet the host's transfers.
    copies_in_two: bool,
    /// By die, and how many are of more than one copy.
    trains: Vec<train::Train>,
    trains_under_way: u32,
    /// By die: the run of copies that it works on, or worked on last; empty where there never was
    /// one.
    runs: Vec<Run>,
    seen: whole::Seen,
    /// Books of every wait, where they are wanted.
    blame: Option<Box<blame::Blame>>,
    /// The work of every die and channel, where it is recorded.
    activity: Option<Box<activity::Activity>>,
}

/// Array operations done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlashOperations {
    /// Array reads.
    pub reads: u64,
    /// Rows programmed.
    pub programs: u64,
    /// Blocks erased.
    pub erases: u64,
}

impl FlashOperations {
    /// All of them.
    pub fn total(&self) -> u64 {
        self.reads + self.programs + self.erases
    }
}

impl Flash {
    /// An erased flash; `with_content` keeps the version of every page.
    pub fn new(device: &Device, with_content: bool) -> Self {
        let layout = Layout::new(device);
        let timing = Timing::new(device, &layout);
        let dies = layout.dies as usize;
        let timer_slots = if device.feature.cache_read { 2 * dies } else { dies };
        let mut flash = Self {
            channels: vec![ChannelState::default(); layout.channels as usize],
            dies: layout.each_die().map(|die| DieState::new(layout.channel_of(die))).collect(),
            timers: Timers::new(timer_slots),
            ends: (0..layout.total_blocks()).map(|block| layout.first_page(Block(block))).collect(),
            content: if with_content {
                vec![GARBAGE; layout.total_units() as usize]
            } else {
                Vec::new()
            },
            cache_read: device.feature.cache_read,
            cache_program: device.feature.cache_program,
            cuts: false,
            order: None,
            slots: None,
            channel_timers: usize::MAX,
            watches_channels: false,
            way: WATCHED,
            any_order: false,
            counters: FlashOperations::default(),
            watches_loads: device.feature.cache_program || !device.timing.foggy.is_zero(),
            suspends_erases: false,
            suspends_programs: false,
            suspensions: None,
            errors: None,
            retries: None,
            spares: None,
            behind_gc: Vec::new(),
            reports_waits: false,
            copy_sectors: 0,
            copies_in_two: false,
            trains: vec![train::Train::SINGLE; dies],
            trains_under_way: 0,
            runs: Vec::new(),
            seen: whole::Seen::NOTHING,
            blame: None,
            activity: None,
            layout,
            timing,
        };
        flash.look_for_features();
        flash
    }

    /// The operation times.
    pub fn timing(&self) -> &Timing {
        &self.timing
    }

    /// From now on operations take the times of `device`, whose geometry is this one's.
    pub fn set_times(&mut self, device: &Device) {
        let slc = self.timing.take_slc();
        self.timing = Timing::new(device, &self.layout);
        self.timing.keep_slc(device, &self.layout, slc);
    }

    /// Blocks may be used with one bit a cell, as `device`, the one that this flash is of, says.
    pub fn use_slc(&mut self, device: &Device) {
        self.timing.use_slc(device, &self.layout);
        self.look_for_features();
    }

    /// True when `block` holds one bit a cell.
    pub fn is_slc(&self, block: Block) -> bool {
        self.timing.is_slc(block)
    }

    /// Array operations done so far.
    pub fn operations(&self) -> FlashOperations {
        let (reads, programs) = (self.counters.reads, self.counters.programs);
        let (run_reads, run_programs) = self.runs_over();
        let (reads, programs) =
            (reads + self.whole_copies_read() + run_reads, programs + run_programs);
        FlashOperations { reads, programs: programs + self.all_copies_over(), ..self.counters }
    }

    /// Time that the dies and the channels were busy, over all operations that ended: for
    /// utilisation laws.
    pub fn busy(&self) -> (Duration, Duration) {
        let dies = self.dies.iter().fold(Duration::ZERO, |sum, die| sum + die.busy);
        let channels = self.channels.iter().fold(Duration::ZERO, |sum, channel| sum + channel.busy);
        (dies, channels)
    }

    /// True when garbage collection works on the die or holds its channel at this moment.
    #[inline]
    pub fn is_collecting(&self, die: Die) -> bool {
        let d = &self.dies[die.index()];
        (!self.is_idle(die) && d.operation.gc) || self.is_held(die)
    }

    /// Declares that `block` holds `rows` programmed rows, or is erased: how what takes no time
    /// leaves its state.
    pub fn adopt(&mut self, block: Block, rows: u32) {
        self.set_rows_written(block, rows);
        if rows == 0 {
            self.erase_content(block);
        } else if let Some(spares) = &mut self.spares
            && !self.any_order
        {
            let first = self.layout.first_page(block).0 as usize;
            spares.adopted(first..first + (rows * self.layout.units_per_row) as usize);
        }
    }

    /// True when the run carries content.
    pub fn has_content(&self) -> bool {
        !self.content.is_empty()
    }

    /// Keeps `version` as the content of a page.
    #[inline]
    pub fn store(&mut self, ppn: Ppn, version: u32) {
        if let Some(page) = self.content.get_mut(ppn.0 as usize) {
            *page = version;
        }
    }

    /// The version that a page holds; 0 where the run carries no content.
    #[inline]
    pub fn load(&self, ppn: Ppn) -> u32 {
        self.content.get(ppn.0 as usize).copied().unwrap_or(0)
    }

    fn erase_content(&mut self, block: Block) {
        let pages = self.pages_of(block);
        if let Some(slc) = self.timing.slc_mut() {
            slc.erased(block);
        }
        if self.has_content() {
            self.content[pages.clone()].fill(GARBAGE);
        }
        if let Some(spares) = &mut self.spares {
            spares.erased(pages);
        }
        if let Some(retries) = &mut self.retries {
            retries.erased(block);
        }
    }

    /// Cache registers of a die, besides its page register.
    pub fn cache_registers(&self) -> u32 {
        u32::from(self.cache_read) + u32::from(self.cache_program)
    }

    /// Tells from now on of reads of the host that wait for garbage collection's transfers
    /// ([`Flash::next_behind_gc`]).
    pub fn report_waits(&mut self) {
        self.reports_waits = true;
        self.look_for_features();
    }

    /// A read that began to wait behind garbage collection on its channel, since this was asked
    /// last.
    pub fn next_behind_gc(&mut self) -> Option<OpId> {
        self.behind_gc.pop()
    }

    #[inline]
    fn report_wait(&mut self, operation: &Operation) {
        if self.reports_waits && !operation.gc && matches!(operation.what, What::Read { .. }) {
            self.behind_gc.push(operation.token);
        }
    }

    /// When the next thing happens inside the flash.
    #[inline]
    pub fn next_at(&self) -> Instant {
        self.timers.next_at()
    }
}

#[cfg(test)]
pub(crate) mod tests;
