//! The controller's limits: cores that work on commands one after the other, DRAM that data cross,
//! commands that wait for the drive to cool (`heat`), and writes that are throttled (`throttle`).
//!
//! A core takes a command when it is fetched, works on it, and lets go of it before it crosses the
//! link; so a command waits in its queue for a core as for a place. Commands leave the cores in
//! the order of their fetch, or else a short write could pass a long one of the same place: a core
//! whose command is ready early holds it until those before it have left. Data cross the DRAM first
//! come first served, in both directions.

use super::heat::Heat;
use super::throttle::Throttle;
use crate::drive::{Command, FirmwareSpec, Op};
use crate::units::{Bandwidth, Duration, Instant, Lba};
use std::collections::VecDeque;

/// Cores, DRAM, heat, and a throttle.
#[derive(Clone, Debug)]
pub(in crate::drive) struct Limits {
    cores: usize,
    command: Duration,
    look_up: Duration,
    unit_shift: u32,
    /// Under work, with the end of it.
    working: VecDeque<(Instant, Command)>,
    dram: Bandwidth,
    dram_free_at: Instant,
    /// On the link, if data of theirs cross the DRAM behind it.
    landing: VecDeque<(Instant, Command)>,
    heat: Option<Heat>,
    throttle: Option<Throttle>,
}

impl Limits {
    /// None where nothing is limited.
    pub fn new(spec: &FirmwareSpec, unit_shift: u32) -> Option<Box<Self>> {
        let (heat, throttle) = (Heat::new(spec), Throttle::new(spec.throttle));
        let has_rates = spec.dram != Bandwidth::default() || throttle.is_some() || heat.is_some();
        (spec.cores > 0 || has_rates).then(|| {
            Box::new(Self {
                cores: spec.cores as usize,
                command: spec.command,
                look_up: spec.look_up,
                unit_shift,
                working: VecDeque::new(),
                dram: spec.dram,
                dram_free_at: Instant::START,
                landing: VecDeque::new(),
                heat,
                throttle,
            })
        })
    }

    pub fn has_cores(&self) -> bool {
        self.cores > 0
    }

    pub fn has_dram(&self) -> bool {
        self.dram != Bandwidth::default()
    }

    pub fn has_idle_core(&self) -> bool {
        self.cores == 0 || self.working.len() < self.cores
    }

    /// Commands that are not yet begun.
    pub fn under_way(&self) -> usize {
        let held = self.throttle.as_ref().map_or(0, Throttle::held);
        let warm = self.heat.as_ref().map_or(0, Heat::held);
        self.working.len() + self.landing.len() + held + warm
    }

    /// Work of a core for a command.
    pub fn work(&self, op: Op, lba: Lba, sectors: u32) -> Duration {
        if self.cores == 0 {
            return Duration::ZERO;
        }
        let units = match op {
            Op::Read | Op::Write if sectors > 0 => {
                let last = lba.0.saturating_add(u64::from(sectors) - 1) >> self.unit_shift;
                last - (lba.0 >> self.unit_shift) + 1
            }
            // Ranges of the map are dropped as a whole.
            Op::Read | Op::Write | Op::Trim | Op::Flush => 0,
        };
        self.command + self.look_up * units
    }

    /// An idle core takes the command.
    pub fn begin(&mut self, now: Instant, command: Command) {
        debug_assert!(self.has_idle_core(), "a command is fetched when a core is idle");
        let end = now + self.work(command.op, command.lba, command.sectors);
        let last = self.working.back().map_or(end, |(last, _)| *last);
        self.working.push_back((end.max(last), command));
    }

    pub fn take_worked(&mut self, now: Instant) -> Option<Command> {
        self.working.pop_front_if(|(at, _)| *at == now).map(|(_, command)| command)
    }

    /// The heat, if the drive may be too warm.
    pub fn heat(&mut self) -> Option<&mut Heat> {
        self.heat.as_mut()
    }

    /// The throttle, if writes are throttled.
    pub fn throttle(&mut self) -> Option<&mut Throttle> {
        self.throttle.as_mut()
    }

    /// The command is on the link until then.
    pub fn land(&mut self, at: Instant, command: Command) {
        self.landing.push_back((at, command));
    }

    pub fn take_landed(&mut self, now: Instant) -> Option<Command> {
        self.landing.pop_front_if(|(at, _)| *at == now).map(|(_, command)| command)
    }

    /// When these bytes have crossed the DRAM, in and out.
    pub fn cross_dram(&mut self, now: Instant, bytes: u64) -> Instant {
        if bytes == 0 || !self.has_dram() {
            return now;
        }
        self.dram_free_at = self.dram_free_at.max(now) + self.dram_time(bytes);
        self.dram_free_at
    }

    /// Time of the DRAM for these bytes, in and out.
    pub fn dram_time(&self, bytes: u64) -> Duration {
        if self.has_dram() { self.dram.time_for(2 * bytes) } else { Duration::ZERO }
    }

    /// When a core ends, a command lands, or one is admitted.
    pub fn next_at(&self) -> Instant {
        let first =
            |of: &VecDeque<(Instant, Command)>| of.front().map_or(Instant::NEVER, |(at, _)| *at);
        let admit = self.throttle.as_ref().map_or(Instant::NEVER, Throttle::next_at);
        let cools = self.heat.as_ref().map_or(Instant::NEVER, Heat::next_at);
        first(&self.working).min(first(&self.landing)).min(admit).min(cools)
    }
}
