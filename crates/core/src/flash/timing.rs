//! How long each operation takes, resolved once from a device table.

use super::{Device, Layout};
use crate::units::{Bandwidth, Duration, Ppn};

/// Times of the operations of one device.
#[derive(Clone, Debug)]
pub struct Timing {
    read: Vec<Duration>,
    program: Vec<Duration>,
    /// One erase step.
    pub erase_step: Duration,
    /// Steps in an erase.
    pub erase_steps: u32,
    /// Command and address cycles of a read or a program.
    pub command: Duration,
    /// Command and address cycles of an erase.
    pub erase_command: Duration,
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
            erase_step: device.timing.erase_step,
            erase_steps: device.timing.erase_steps,
            command: device.channel.command,
            erase_command: device.channel.erase_command,
            rate,
            transfer: (0..=u64::from(row_sectors))
                .map(|sectors| rate.time_for(sectors * 512))
                .collect(),
            program_pages: device.feature.program_pages,
        }
    }

    /// tR of the physical page that holds `ppn`.
    #[inline]
    pub fn read(&self, layout: &Layout, ppn: Ppn) -> Duration {
        if self.read.len() == 1 {
            return self.read[0];
        }
        let (row, slot) = layout.slot_of(ppn);
        let page = row * self.program_pages + slot / layout.units_per_read;
        self.read[page as usize % self.read.len()]
    }

    /// An erase with its command.
    pub fn erase(&self) -> Duration {
        self.erase_command + self.erase_step * u64::from(self.erase_steps)
    }

    /// The mean tR of the page types, and the mean tPROG.
    pub fn means(&self) -> (Duration, Duration) {
        let mean = |times: &[Duration]| {
            let sum = times.iter().fold(Duration::ZERO, |sum, time| sum + *time);
            Duration::from_ns(sum.as_ns() / (times.len() as u64).max(1))
        };
        (mean(&self.read), mean(&self.program))
    }

    /// True when all pages are read, and all rows programmed, in the same time.
    pub fn is_uniform(&self) -> bool {
        self.read.len() == 1 && self.program.len() == 1
    }

    /// The longest tR of any page.
    pub fn longest_read(&self) -> Duration {
        self.read.iter().copied().max().unwrap_or_default()
    }

    /// The longest tPROG of any row.
    pub fn longest_program(&self) -> Duration {
        self.program.iter().copied().max().unwrap_or_default()
    }

    /// tPROG of the row that starts at `ppn`.
    #[inline]
    pub fn program(&self, layout: &Layout, ppn: Ppn) -> Duration {
        if self.program.len() == 1 {
            return self.program[0];
        }
        self.program[layout.row_of(ppn) as usize % self.program.len()]
    }

    /// Time of `sectors` on the channel, without the command.
    #[inline]
    pub fn transfer(&self, sectors: u32) -> Duration {
        match self.transfer.get(sectors as usize) {
            Some(time) => *time,
            None => self.rate.time_for(u64::from(sectors) * 512),
        }
    }
}
