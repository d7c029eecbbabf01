//! The geometry in the four granularities that matter: map unit, read unit, program unit, block;
//! and lanes.
//!
//! A *lane* is what is programmed together: the planes of one multi-plane program, or one plane. A
//! lane has blocks, a block has rows, a row is one program operation (planes x word line) and holds
//! `units_per_row` map units. Physical page numbers count map units lane by lane, block by block,
//! row by row.

use super::Device;
use crate::sim::Divisor;
use crate::units::{Channel, Die, Lane, Lanes, Ppn};

/// Sizes of everything, derived once from a device table.
#[derive(Clone, Debug)]
pub struct Layout {
    /// Channels.
    pub channels: u32,
    /// Servers: what does one array operation at a time. Dies, or lanes where planes are
    /// independent.
    pub dies: u32,
    /// Lanes.
    pub lanes: u32,
    /// Lanes that share one server.
    pub lanes_per_die: u32,
    /// Lanes in a physical die (planes that can be reclaimed together).
    pub lanes_per_plane_group: u32,
    /// Blocks in a lane.
    pub blocks: u32,
    /// Rows (program operations) in a block.
    pub rows: u32,
    /// Map units that one array read brings into the registers.
    pub units_per_read: u32,
    /// Map units in a row.
    pub units_per_row: u32,
    /// Map units in a block of a lane.
    pub units_per_block: u32,
    /// Bytes in a map unit.
    pub unit_bytes: u32,
    /// Sectors in a map unit.
    pub unit_sectors: u32,
    /// A map unit's sectors as a shift: addresses are taken apart several times a request.
    pub unit_shift: u32,
    dies_per_channel: Divisor,
    by_block: Divisor,
    by_blocks: Divisor,
    by_row: Divisor,
    by_lanes_per_die: Divisor,
}

/// A block of a lane, numbered over the whole drive: `lane x blocks + block`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Block(pub u32);

impl Layout {
    /// The layout of a validated device.
    pub fn new(device: &Device) -> Self {
        let (g, f) = (&device.geometry, &device.feature);
        let unit_bytes = g.map_unit.get() as u32;
        let lanes_per_group = g.planes / f.program_planes;
        let lanes = g.channels * g.ways * g.dies * lanes_per_group;
        let lanes_per_die = if f.independent_planes { 1 } else { lanes_per_group };
        let units_per_read = (g.page.get() as u32 * f.program_planes) / unit_bytes;
        let units_per_row = units_per_read * f.program_pages;
        let rows = g.pages / f.program_pages;
        let dies = lanes / lanes_per_die;
        Self {
            channels: g.channels,
            dies,
            lanes,
            lanes_per_die,
            lanes_per_plane_group: lanes_per_group,
            blocks: g.blocks,
            rows,
            units_per_read,
            units_per_row,
            units_per_block: rows * units_per_row,
            unit_bytes,
            unit_sectors: unit_bytes / 512,
            unit_shift: (unit_bytes / 512).trailing_zeros(),
            dies_per_channel: Divisor::new(dies / g.channels),
            by_block: Divisor::new(rows * units_per_row),
            by_blocks: Divisor::new(g.blocks),
            by_row: Divisor::new(units_per_row),
            by_lanes_per_die: Divisor::new(lanes_per_die),
        }
    }

    /// Blocks on the whole drive.
    pub fn total_blocks(&self) -> u32 {
        self.lanes * self.blocks
    }

    /// Map units on the whole drive.
    pub fn total_units(&self) -> u32 {
        self.total_blocks() * self.units_per_block
    }

    /// Map units in a lane.
    pub fn units_per_lane(&self) -> u32 {
        self.blocks * self.units_per_block
    }

    /// The server of a lane.
    #[inline]
    pub fn die_of(&self, lane: Lane) -> Die {
        Die(self.by_lanes_per_die.quotient(lane.0))
    }

    /// Every lane.
    #[inline]
    pub fn each_lane(&self) -> Lanes {
        Lanes::new(Lane(0), self.lanes)
    }

    /// The lanes that share a server.
    #[inline]
    pub fn lanes_on(&self, die: Die) -> Lanes {
        Lanes::new(Lane(die.0 * self.lanes_per_die), self.lanes_per_die)
    }

    /// Every server.
    #[inline]
    pub fn each_die(&self) -> impl DoubleEndedIterator<Item = Die> + use<> {
        (0..self.dies).map(Die)
    }

    /// Every channel.
    #[inline]
    pub fn each_channel(&self) -> impl DoubleEndedIterator<Item = Channel> + use<> {
        (0..self.channels).map(Channel)
    }

    /// The servers on a channel.
    #[inline]
    pub fn dies_on(&self, channel: Channel) -> impl DoubleEndedIterator<Item = Die> + use<> {
        let dies = self.dies_per_channel();
        (channel.0 * dies..(channel.0 + 1) * dies).map(Die)
    }

    /// The first server on a channel.
    #[inline]
    pub fn first_die(&self, channel: Channel) -> Die {
        Die(channel.0 * self.dies_per_channel())
    }

    /// The channel of a server.
    #[inline]
    pub fn channel_of(&self, die: Die) -> Channel {
        Channel(self.dies_per_channel.quotient(die.0))
    }

    /// Servers on a channel.
    pub fn dies_per_channel(&self) -> u32 {
        self.dies_per_channel.get()
    }

    /// The block that holds a page.
    #[inline]
    pub fn block_of(&self, ppn: Ppn) -> Block {
        Block(self.by_block.quotient(ppn.0))
    }

    /// The lane of a block.
    #[inline]
    pub fn lane_of(&self, block: Block) -> Lane {
        Lane(self.by_blocks.quotient(block.0))
    }

    /// Block `index` of a lane.
    #[inline]
    pub fn block(&self, lane: Lane, index: u32) -> Block {
        Block(lane.0 * self.blocks + index)
    }

    /// The number of a block within its lane.
    #[inline]
    pub fn index_of(&self, block: Block) -> u32 {
        self.by_blocks.split(block.0).1
    }

    /// The first page of a block.
    #[inline]
    pub fn first_page(&self, block: Block) -> Ppn {
        Ppn(block.0 * self.units_per_block)
    }

    /// The first page of a row.
    #[inline]
    pub fn row_start(&self, block: Block, row: u32) -> Ppn {
        Ppn(block.0 * self.units_per_block + row * self.units_per_row)
    }

    /// True when `row` starts the last row of its block.
    #[inline]
    pub fn is_last_row(&self, block: Block, row: Ppn) -> bool {
        row.0 + self.units_per_row == (block.0 + 1) * self.units_per_block
    }

    /// The row of a page within its block.
    #[inline]
    pub fn row_of(&self, ppn: Ppn) -> u32 {
        let (_, unit) = self.by_block.split(ppn.0);
        self.by_row.quotient(unit)
    }

    /// The row of a page within its block, and the page's slot in the row.
    #[inline]
    pub fn slot_of(&self, ppn: Ppn) -> (u32, u32) {
        let (_, unit) = self.by_block.split(ppn.0);
        self.by_row.split(unit)
    }

    /// True when both pages come out of the same array read.
    #[inline]
    pub fn same_read(&self, a: Ppn, b: Ppn) -> bool {
        self.units_per_read > 1 && a.0 / self.units_per_read == b.0 / self.units_per_read
    }
}
