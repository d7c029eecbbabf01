//! How long each operation takes, resolved once from a device table.

use super::slc::Slc;
use super::{Block, Device, Layout, PageOrder};
use crate::units::{Bandwidth, Duration, Ppn};

/// Times of the operations of one device.
#[derive(Clone, Debug)]
pub struct Timing {
    read: Vec<Duration>,
    program: Vec<Duration>,
    /// The coarse pass of a program, where there are two.
    pub foggy: Duration,
    /// Where rows have their page types in an order of their own: the type of each row.
    types: Vec<u8>,
    /// Blocks with one bit a cell, where the drive uses any.
    slc: Option<Box<Slc>>,
    /// One erase step.
    pub erase_step: Duration,
    /// Steps in an erase.
    pub erase_steps: u32,
    /// Command and address cycles of a read or a program.
    pub command: Duration,
    /// Command and address cycles of an erase.
    pub erase_command: Duration,
    /// The command of a suspension, and that of a resumption; 0: neither crosses.
    pub suspend_command: Duration,
    rate: Bandwidth,
    /// Transfer time by sectors, up to one row: no division on the path of a request.
    transfer: Vec<Duration>,
    program_pages: u32,
}

impl Timing {
    /// The times of a validated device.
    pub fn new(device: &Device, layout: &Layout) -> Self {
        let rate = device.channel.rate;
        let row_sectors = layout.units_per_row * layout.unit_sectors;
        Self {
            read: device.timing.read.clone(),
            program: device.timing.program.clone(),
            foggy: device.timing.foggy,
            types: match device.feature.page_order {
                PageOrder::WordLine => Vec::new(),
                PageOrder::Paired => paired(layout.rows, page_types(device)),
            },
            slc: None,
            erase_step: device.timing.erase_step,
            erase_steps: device.timing.erase_steps,
            command: device.channel.command,
            erase_command: device.channel.erase_command,
            suspend_command: device.channel.suspend_command,
            rate,
            transfer: (0..=u64::from(row_sectors))
                .map(|sectors| rate.time_for(sectors * 512))
                .collect(),
            program_pages: device.feature.program_pages,
        }
    }

    /// Blocks may be used with one bit a cell, as `device` says.
    pub(super) fn use_slc(&mut self, device: &Device, layout: &Layout) {
        let Some(times) = &device.slc else { return };
        self.slc = Some(Box::new(Slc::new(times, self.program_pages, layout)));
        // Times then depend on the page: lists of one entry say that they do not.
        for list in [&mut self.read, &mut self.program].into_iter().filter(|list| list.len() == 1) {
            list.push(list[0]);
        }
    }

    /// Takes over which blocks hold one bit a cell.
    pub(super) fn keep_slc(&mut self, device: &Device, layout: &Layout, before: Option<Box<Slc>>) {
        let Some(before) = before else { return };
        self.use_slc(device, layout);
        if let Some(slc) = &mut self.slc {
            slc.take_blocks(*before);
        }
    }

    /// Gives away which blocks hold one bit a cell.
    pub(super) fn take_slc(&mut self) -> Option<Box<Slc>> {
        self.slc.take()
    }

    /// Blocks with one bit a cell, where the drive uses any.
    pub(super) fn slc_mut(&mut self) -> Option<&mut Slc> {
        self.slc.as_deref_mut()
    }

    /// True when blocks may hold one bit a cell.
    pub(super) fn uses_slc(&self) -> bool {
        self.slc.is_some()
    }

    /// True when `block` holds one bit a cell.
    #[inline]
    pub(super) fn is_slc(&self, block: Block) -> bool {
        self.slc.as_ref().is_some_and(|slc| slc.has(block))
    }

    /// tR of the physical page that holds `ppn`.
    #[inline(always)]
    pub fn read(&self, layout: &Layout, ppn: Ppn) -> Duration {
        match self.read.as_slice() {
            [read] => *read,
            _ => self.read_of_type(layout, ppn),
        }
    }

    fn read_of_type(&self, layout: &Layout, ppn: Ppn) -> Duration {
        if let Some(slc) = &self.slc
            && slc.has(layout.block_of(ppn))
        {
            return slc.read;
        }
        self.read[self.kind(layout, ppn) as usize % self.read.len()]
    }

    /// The place of a physical page in the lists of the page types.
    pub fn kind(&self, layout: &Layout, ppn: Ppn) -> u32 {
        let (row, slot) = layout.slot_of(ppn);
        match self.types.get(row as usize) {
            Some(kind) => (*kind).into(),
            None => row * self.program_pages + slot / layout.units_per_read,
        }
    }

    /// True when rows are programmed in one pass.
    pub fn is_one_pass(&self) -> bool {
        self.foggy.is_zero()
    }

    /// True when `row` is programmed in one pass.
    pub(super) fn is_one_pass_of(&self, layout: &Layout, row: Ppn) -> bool {
        self.is_one_pass() || self.is_slc(layout.block_of(row))
    }

    /// An erase with its command.
    pub fn erase(&self) -> Duration {
        self.erase_command + self.erase_step * u64::from(self.erase_steps)
    }

    /// A coarse pass with the data that crosses again behind it, of a whole row; 0 where there is
    /// one pass.
    pub fn coarse(&self) -> Duration {
        let row = self.transfer.last().copied().unwrap_or_default();
        if self.is_one_pass() { Duration::ZERO } else { self.foggy + self.command + row }
    }

    /// [`Timing::coarse`] of the row that starts at `row`.
    pub(super) fn coarse_of(&self, layout: &Layout, row: Ppn) -> Duration {
        if self.is_one_pass_of(layout, row) { Duration::ZERO } else { self.coarse() }
    }

    /// The mean tR of the page types, and the mean tPROG, of both passes where there are two.
    pub fn means(&self) -> (Duration, Duration) {
        let mean = |times: &[Duration]| {
            let sum = times.iter().fold(Duration::ZERO, |sum, time| sum + *time);
            Duration::from_ns(sum.as_ns() / (times.len() as u64).max(1))
        };
        (mean(&self.read), mean(&self.program) + self.coarse())
    }

    /// True when all pages are read, and all rows programmed, in the same time.
    pub fn is_uniform(&self) -> bool {
        self.read.len() == 1 && self.program.len() == 1
    }

    /// The longest tR of any page.
    pub fn longest_read(&self) -> Duration {
        let slc = self.slc.as_ref().map(|slc| slc.read);
        self.read.iter().copied().chain(slc).max().unwrap_or_default()
    }

    /// The longest tPROG of any row, both passes where there are two.
    pub fn longest_program(&self) -> Duration {
        let longest = self.program.iter().copied().max().unwrap_or_default() + self.coarse();
        self.slc.as_ref().map_or(longest, |slc| longest.max(slc.program))
    }

    /// tPROG of the row that starts at `ppn`.
    #[inline(always)]
    pub fn program(&self, layout: &Layout, ppn: Ppn) -> Duration {
        match self.program.as_slice() {
            [program] => *program,
            _ => self.program_of_type(layout, ppn),
        }
    }

    fn program_of_type(&self, layout: &Layout, ppn: Ppn) -> Duration {
        if let Some(slc) = &self.slc
            && slc.has(layout.block_of(ppn))
        {
            return slc.program;
        }
        let row = layout.row_of(ppn) as usize;
        let kind = self.types.get(row).map_or(row, |kind| usize::from(*kind));
        self.program[kind % self.program.len()]
    }

    /// Time of `sectors` on the channel, without the command.
    #[inline]
    pub fn transfer(&self, sectors: u32) -> Duration {
        match self.transfer.get(sectors as usize) {
            Some(time) => *time,
            None => self.long_transfer(sectors),
        }
    }

    #[cold]
    fn long_transfer(&self, sectors: u32) -> Duration {
        self.rate.time_for(u64::from(sectors) * 512)
    }
}

/// Page types that a device tells apart: the longer of its two lists.
pub fn page_types(device: &Device) -> u32 {
    device.timing.read.len().max(device.timing.program.len()) as u32
}

/// The page type of each of `rows` rows where those of neighbouring word lines take turns: by the
/// sum of word line and type, then by type.
fn paired(rows: u32, types: u32) -> Vec<u8> {
    let mut pages: Vec<(u32, u32)> = (0..rows / types)
        .flat_map(|line| (0..types).map(move |kind| (line + kind, kind)))
        .collect();
    pages.sort_unstable();
    pages.iter().map(|(_, kind)| *kind as u8).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_paired_page_comes_after_the_lower_one_of_the_next_word_line() {
        // Two types: L0, L1 U0, L2 U1, L3 U2, U3. Three: L0, L1 M0, L2 M1 U0, L3 M2 U1, M3 U2, U3.
        assert_eq!(paired(8, 2), [0, 0, 1, 0, 1, 0, 1, 1]);
        assert_eq!(paired(12, 3), [0, 0, 1, 0, 1, 2, 0, 1, 2, 1, 2, 2]);
        for (rows, types) in [(8, 1), (96, 2), (96, 3), (96, 4)] {
            let kinds = paired(rows, types);
            assert_eq!(kinds.len() as u32, rows);
            for kind in 0..types {
                let of_it = kinds.iter().filter(|one| u32::from(**one) == kind).count();
                assert_eq!(of_it as u32, rows / types, "every word line has each of its pages");
            }
        }
    }
}
