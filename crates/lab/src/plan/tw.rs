//! How long a busy window TW may be in an array whose drives take turns to collect (IODA, Li et
//! al., SOSP '21).
//!
//! A cycle is N windows, one for each drive. In a cycle a drive takes in N TW B of host writes and
//! reclaims TW B_gc in its own window. Its over-provisioned space must bear the difference, and,
//! before that window, those of the others:
//!
//! ```text
//! TW <= S_p / (N B - B_gc),           TW <= S_p / ((N - 1) B)
//! TW >= T_gc + guard, or no collection ends within its window
//! B_gc = (1 - R_v) N_ch S_pg N_pg / T_gc,   T_gc = (t_r + t_w + 2 t_cpt) R_v N_pg + t_e
//! B_burst = min(B_pcie, B_nand),            B_norm = N_dwpd (S_t - S_p) / 8 h
//! ```
//!
//! Traps. The second argument of the paper's `Max(..)` in B_burst is lost (the project takes what
//! the flash can take, [`Flash::write_rate`]). The first bound is the paper's. It is of one cycle
//! that begins with all of S_p, and exists only for loads that cannot be sustained (N B > B_gc):
//! the space is used up after N TW of the bound, however short TW is. The second is the project's,
//! and the lower of the two where B < B_gc; both must hold. S_p is not what a drive may use: GC
//! starts at the soft mark and breaks the contract at the hard one ([`Inputs::reserve`]). A drive
//! may reclaim more blocks at once than one of each channel ([`Parallel`]). R_v depends on TW and
//! on the load; it is taken as given.

use manx_core::drive::RunsAtOnce;
use manx_core::flash::{Capacity, Device, Layout, Timing};
use manx_core::ftl::{GcSpec, VictimUnit, Watermark};
use manx_core::units::{Bandwidth, Bytes, Duration};

/// The busy hours into which a day's writes fall, in seconds (IODA's formula: 8 h).
pub const BUSY_SECONDS: u64 = 28_800;

/// The fullest victim that IODA's artefact takes in the background: a quarter of it is invalid.
pub const VALID: f64 = 0.75;

/// Unit that a drive reclaims together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GcUnit {
    /// One block of every die, each for itself.
    Block,
    /// One block of every channel: the formula's.
    Channel,
    /// A block of every plane group of every die.
    PlaneGroup,
    /// A block of every lane of the drive.
    Superblock,
}

impl GcUnit {
    /// All of them, in the order they are listed.
    pub const ALL: [GcUnit; 4] = [Self::Block, Self::Channel, Self::PlaneGroup, Self::Superblock];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Block => "block",
            Self::Channel => "channel",
            Self::PlaneGroup => "plane-group",
            Self::Superblock => "superblock",
        }
    }

    /// The victim of a drive that reclaims so.
    pub fn victim(self) -> VictimUnit {
        match self {
            Self::Block | Self::Channel => VictimUnit::Block,
            Self::PlaneGroup => VictimUnit::PlaneGroup,
            Self::Superblock => VictimUnit::Superblock,
        }
    }
}

/// Flash parameters of the formula. A page here is a row: what one program covers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Flash {
    /// N_ch.
    pub channels: u32,
    /// Parts that work by themselves: dies, or plane groups where these are independent.
    pub dies: u32,
    /// Plane groups of the drive; each has blocks of its own.
    pub lanes: u32,
    /// Plane groups of a physical die.
    pub group: u32,
    /// S_pg: page x planes of a program x pages of a word line.
    pub page: Bytes,
    /// N_pg: pages of a block.
    pub pages: u32,
    /// t_r: mean tR, for each page of the word line.
    pub read: Duration,
    /// t_w: mean tPROG.
    pub program: Duration,
    /// t_e: all erase steps, and the command.
    pub erase: Duration,
    /// t_cpt: S_pg over the channel, one way; nothing with copyback.
    pub transfer: Duration,
    /// Commands of a copied page on the channel. Not in the paper's formula.
    pub commands: Duration,
    /// Data rate of a channel.
    pub rate: Bandwidth,
}

impl Flash {
    /// The numbers of a validated device.
    pub fn of(device: &Device, copyback: bool) -> Self {
        let layout = Layout::new(device);
        let timing = Timing::new(device, &layout);
        let (read, program) = timing.means();
        let page = Bytes::new(u64::from(layout.units_per_row) * u64::from(layout.unit_bytes));
        let shot = u64::from(device.feature.program_pages);
        let transfer =
            if copyback { Duration::ZERO } else { device.channel.rate.time_for(page.get()) };
        Self {
            channels: layout.channels,
            dies: layout.dies,
            lanes: layout.lanes,
            group: layout.lanes_per_plane_group,
            page,
            pages: layout.rows,
            read: read * shot,
            program,
            erase: timing.erase(),
            transfer,
            commands: timing.command * (shot + 1),
            rate: device.channel.rate,
        }
    }

    /// The most that the flash can take (bytes a second): every die programs without a pause,
    /// unless the channels cannot bring as much.
    pub fn write_rate(&self) -> f64 {
        let array = f64::from(self.dies) * self.page.get() as f64 / self.program.as_s_f64();
        match self.rate.get() {
            0 => array,
            rate => array.min(f64::from(self.channels) * rate as f64),
        }
    }

    /// Bytes of a block.
    pub fn block(&self) -> u64 {
        self.page.get() * u64::from(self.pages)
    }
}

/// How many blocks are reclaimed at once, and how many of them share a die or a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parallel {
    /// On the drive.
    pub blocks: u32,
    /// On a channel that has any.
    pub per_channel: u32,
    /// On a die that has any.
    pub per_die: u32,
}

impl Parallel {
    /// The formula's: a block of every channel.
    pub fn formula(flash: &Flash) -> Self {
        Self { blocks: flash.channels, per_channel: 1, per_die: 1 }
    }

    /// Of a drive that reclaims `unit` together.
    pub fn of_unit(unit: GcUnit, flash: &Flash) -> Self {
        match unit {
            GcUnit::Channel => Self::formula(flash),
            GcUnit::Block => {
                Self { blocks: flash.dies, per_channel: flash.dies / flash.channels, per_die: 1 }
            }
            GcUnit::PlaneGroup | GcUnit::Superblock => Self {
                blocks: flash.lanes,
                per_channel: flash.lanes / flash.channels,
                per_die: flash.lanes / flash.dies,
            },
        }
    }

    /// Of a drive with these settings: a collection that holds its channel, or the drive, is alone
    /// there.
    pub fn of(gc: &GcSpec, flash: &Flash) -> Self {
        let per_die = flash.lanes / flash.dies;
        let (victim, per_die) = match gc.unit {
            VictimUnit::Superblock => return Self::of_unit(GcUnit::Superblock, flash),
            VictimUnit::PlaneGroup => (flash.group, per_die),
            VictimUnit::Block => (1, 1),
        };
        let at_once = match (gc.mode.runs_at_once(), gc.per_channel) {
            (RunsAtOnce::OnDrive, _) => {
                return Self { blocks: victim, per_channel: victim, per_die };
            }
            (RunsAtOnce::OnChannel, _) => 1,
            (RunsAtOnce::OnDie, limit @ 1..) => limit.min(flash.dies / flash.channels),
            (RunsAtOnce::OnDie | RunsAtOnce::InPool, _) => {
                let unit =
                    if gc.unit == VictimUnit::Block { GcUnit::Block } else { GcUnit::PlaneGroup };
                return Self::of_unit(unit, flash);
            }
        };
        Self { blocks: flash.channels * victim * at_once, per_channel: victim * at_once, per_die }
    }
}

/// Everything that the bounds depend on. The fields may be changed between [`Inputs::of`] and
/// [`Inputs::bounds`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Inputs {
    /// N_ssd: drives of the array, windows of a cycle; at least 2.
    pub drives: u32,
    /// S_t: what the dies hold.
    pub raw: Bytes,
    /// S_p: what the host does not see of it.
    pub spare: Bytes,
    /// Space between the soft and the hard mark of GC: what a cycle may really use.
    pub reserve: Bytes,
    /// R_v: share of valid pages in a victim, from 0 to below 1.
    pub valid: f64,
    /// The flash.
    pub flash: Flash,
    /// Blocks that are reclaimed at once.
    pub parallel: Parallel,
    /// B_pcie: the host link; unlimited is 0.
    pub link: Bandwidth,
    /// B_burst, where it is known; else min(B_pcie, B_nand).
    pub burst: Option<Bandwidth>,
    /// N_dwpd: drive writes a day.
    pub dwpd: f64,
    /// Time added to that of a collection for the least window.
    pub guard: Duration,
}

impl Inputs {
    /// For `drives` of a validated device with these GC settings: victims [`VALID`] full, one drive
    /// write a day, no limit by the link, no guard.
    pub fn of(device: &Device, drives: u32, gc: &GcSpec) -> Self {
        let capacity = Capacity::of(device);
        let flash = Flash::of(device, gc.copyback);
        Self {
            drives,
            raw: capacity.raw,
            spare: Bytes::new(capacity.raw.get() - capacity.user.get()),
            reserve: reserve(device, gc),
            valid: VALID,
            flash,
            parallel: Parallel::of(gc, &flash),
            link: Bandwidth::default(),
            burst: None,
            dwpd: 1.0,
            guard: Duration::ZERO,
        }
    }

    /// B_burst (bytes a second).
    pub fn burst_rate(&self) -> f64 {
        match (self.burst, self.link.get()) {
            (Some(burst), _) => burst.get() as f64,
            (None, 0) => self.flash.write_rate(),
            (None, link) => self.flash.write_rate().min(link as f64),
        }
    }

    /// B_norm (bytes a second): the rated writes of a day, within its busy hours.
    pub fn norm_rate(&self) -> f64 {
        self.dwpd * (self.raw.get() - self.spare.get()) as f64 / BUSY_SECONDS as f64
    }

    /// The bounds: by the formula as it is, and for what this drive reclaims at once.
    pub fn bounds(&self) -> Bounds {
        Bounds {
            formula: self.side(Parallel::formula(&self.flash)),
            actual: self.side(self.parallel),
            burst_rate: self.burst_rate(),
            norm_rate: self.norm_rate(),
        }
    }

    /// How long the window may be where each drive takes in `rate` and reclaims `gc_rate` (bytes a
    /// second).
    pub fn load(&self, rate: f64, gc_rate: f64) -> Load {
        let drives = f64::from(self.drives);
        let upper = |space: Bytes| Upper {
            credited: window(space, drives * rate - gc_rate),
            conservative: window(space, (drives - 1.0) * rate),
        };
        Load {
            rate,
            spare: upper(self.spare),
            usable: upper(self.reserve),
            sustainable: drives * rate <= gc_rate,
        }
    }

    fn side(&self, parallel: Parallel) -> Side {
        let unit_ns = self.unit_ns(parallel);
        let freed = (1.0 - self.valid) * f64::from(parallel.blocks) * self.flash.block() as f64;
        let gc_rate = freed / unit_ns * 1e9;
        let unit = Duration::from_ns(unit_ns.ceil() as u64);
        Side {
            parallel,
            unit,
            gc_rate,
            sustained: gc_rate / f64::from(self.drives),
            lower: Duration::from_ns(unit.as_ns().saturating_add(self.guard.as_ns())),
            burst: self.load(self.burst_rate(), gc_rate),
            norm: self.load(self.norm_rate(), gc_rate),
        }
    }

    /// The time to reclaim what is reclaimed at once. Blocks of a die follow one another; those of
    /// a channel share it.
    fn unit_ns(&self, parallel: Parallel) -> f64 {
        let flash = &self.flash;
        let channel = (flash.transfer * 2 + flash.commands).as_ns() as f64;
        let copy = (flash.read + flash.program).as_ns() as f64 + channel;
        let page =
            (f64::from(parallel.per_die) * copy).max(f64::from(parallel.per_channel) * channel);
        page * self.valid * f64::from(flash.pages)
            + f64::from(parallel.per_die) * flash.erase.as_ns() as f64
    }
}

/// The bounds of TW for `drives` of a validated device with these GC settings and the defaults of
/// [`Inputs::of`].
pub fn bounds(device: &Device, drives: u32, gc: &GcSpec) -> Bounds {
    Inputs::of(device, drives, gc).bounds()
}

/// Space between the two marks of GC, counted as the translation layer does: in whole mapping units
/// of each pool.
pub fn reserve(device: &Device, gc: &GcSpec) -> Bytes {
    let layout = Layout::new(device);
    let lanes = match gc.unit {
        VictimUnit::Block => 1,
        VictimUnit::PlaneGroup => layout.lanes_per_plane_group,
        VictimUnit::Superblock => layout.lanes,
    };
    let pool = u64::from(layout.units_per_lane()) * u64::from(lanes);
    let mark = |mark: Watermark| (mark.share_of(layout.blocks) * pool as f64) as u64;
    let units = mark(gc.soft).saturating_sub(mark(gc.hard)) * u64::from(layout.lanes / lanes);
    Bytes::new(units * u64::from(layout.unit_bytes))
}

/// How long `space` lasts when it shrinks by `rate` bytes a second; it lasts for ever when it does
/// not shrink.
fn window(space: Bytes, rate: f64) -> Option<Duration> {
    // A float that is too large for the integer becomes the largest.
    (rate > 0.0).then(|| Duration::from_ns((space.get() as f64 / rate * 1e9) as u64))
}

/// Results of the calculator.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// With N_ch blocks at once, as the formula says.
    pub formula: Side,
    /// With what this drive reclaims at once.
    pub actual: Side,
    /// B_burst (bytes a second).
    pub burst_rate: f64,
    /// B_norm (bytes a second).
    pub norm_rate: f64,
}

/// The bounds under one assumption of how many blocks are reclaimed at once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Side {
    /// How many.
    pub parallel: Parallel,
    /// T_gc: the time to reclaim them, which nothing interrupts.
    pub unit: Duration,
    /// B_gc (bytes a second).
    pub gc_rate: f64,
    /// B_gc / N: the writes (bytes a second) of a drive that go on for ever.
    pub sustained: f64,
    /// The least TW: T_gc and the guard.
    pub lower: Duration,
    /// The most TW under B_burst.
    pub burst: Load,
    /// The most TW under B_norm.
    pub norm: Load,
}

/// How long a window may be under a load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Load {
    /// Host writes of a drive (bytes a second).
    pub rate: f64,
    /// With all over-provisioned space, as the formula says.
    pub spare: Upper,
    /// With what lies between the marks of GC.
    pub usable: Upper,
    /// N B <= B_gc: the load may go on for ever, and the paper's bound does not exist.
    pub sustainable: bool,
}

/// The longest window by two rules, `None` where a rule gives no bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Upper {
    /// S / (N B - B_gc), the paper's: what a whole cycle takes of the space.
    pub credited: Option<Duration>,
    /// S / ((N - 1) B), the project's: what the other drives' windows take, before the drive's own
    /// reclaims any.
    pub conservative: Option<Duration>,
}

impl Upper {
    /// Both hold: the lower of the two.
    pub fn both(&self) -> Option<Duration> {
        self.credited.into_iter().chain(self.conservative).min()
    }
}

impl Load {
    /// True where some window of `lower` or more keeps the contract for a cycle with the usable
    /// reserve.
    pub fn fits(&self, lower: Duration) -> bool {
        self.usable.both().is_none_or(|upper| lower <= upper)
    }

    /// How long the load may go on from a full usable reserve: S / (B - B_gc / N), which is N TW of
    /// the paper's bound; `None` is for ever.
    pub fn lasts(&self, drives: u32) -> Option<Duration> {
        self.usable
            .credited
            .map(|upper| Duration::from_ns(upper.as_ns().saturating_mul(u64::from(drives))))
    }
}

#[cfg(test)]
mod tests;
