//! The windows of an NVM Set as a state machine (NVMe Base 2.1, 8.1.18).
//!
//! Three modes. **Off.** **Scheduled**: the window is a function of the time; nothing fires at its
//! edges, so a drive that is idle stays idle. **By the host**: feature 14h selects; the mode begins
//! in the non-deterministic window, leaves it no earlier than NDWIN Time Minimum Low allows, and
//! goes back to it by itself when a typical or maximum value is exceeded or garbage collection was
//! forced (the specification's "may").
//!
//! Under a schedule nothing is autonomous: the turns are agreed with the other members, and a
//! member that left them would break the agreement. Warnings and excursions are told in both modes,
//! each warning once a window.

use super::Attributes;
use super::attributes::READ_BYTES;
use super::plm::{Config, Window, event};
use crate::drive::{Op, WindowSchedule, Windows};
use crate::units::{Duration, Instant};

/// Predictable Latency Mode of the one NVM Set.
#[derive(Clone, Debug)]
pub(super) struct Plm {
    attributes: Attributes,
    config: Config,
    mode: Mode,
    /// The window since `entered`; under a schedule as of the last look.
    window: Window,
    entered: Instant,
    /// Under a schedule: when this window ends.
    until: Instant,
    /// 4 KiB reads since the deterministic window was entered, and bytes written.
    reads: u64,
    written: u64,
    /// Events told and not yet cleared.
    events: u16,
    /// Warnings given in this window.
    warned: u16,
    /// The host asked for the deterministic window and waits.
    is_asked: bool,
    /// The next thing that happens by itself.
    next_at: Instant,
    /// When the set was added to log 0Bh, until that is announced.
    added_at: Option<Instant>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Off,
    Scheduled(WindowSchedule),
    ByHost,
}

/// The rest of the deterministic window: log 0Ah's estimates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Left {
    pub reads: u64,
    pub writes: u64,
    pub time_ms: u64,
}

/// The outcome of selecting a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Selected {
    Now,
    Later,
    /// Predictable Latency Mode is off.
    Off,
    /// A schedule says which window it is.
    Scheduled,
}

const MS: u64 = 1_000_000;

impl Plm {
    pub fn new(attributes: Attributes) -> Self {
        Self {
            attributes,
            config: Config::default(),
            mode: Mode::Off,
            window: Window::Off,
            entered: Instant::START,
            until: Instant::START,
            reads: 0,
            written: 0,
            events: 0,
            warned: 0,
            is_asked: false,
            next_at: Instant::NEVER,
            added_at: None,
        }
    }

    pub fn config(&self) -> &Config {
        &self.config
    }

    pub fn is_on(&self) -> bool {
        self.mode != Mode::Off
    }

    /// When something happens by itself.
    pub fn next_at(&self) -> Instant {
        self.next_at
    }

    /// True while a forced collection would change something.
    pub fn watches(&self) -> bool {
        match self.mode {
            Mode::Off => false,
            Mode::ByHost => self.window == Window::Deterministic,
            Mode::Scheduled(_) => self.config.events & !self.events & event::EXCURSION != 0,
        }
    }

    /// The windows that the drive has to keep to.
    pub fn windows(&self) -> Windows {
        match (self.mode, self.window) {
            (Mode::Scheduled(schedule), _) => Windows::Scheduled(schedule),
            (Mode::ByHost, Window::Deterministic) => Windows::Deterministic,
            (Mode::ByHost, _) => Windows::NonDeterministic,
            (Mode::Off, _) => Windows::Off,
        }
    }

    /// Feature 13h. True when a host that waits for the deterministic window waits in vain.
    pub fn configure(&mut self, now: Instant, config: Config, on: bool) -> bool {
        let mode = match config.schedule {
            _ if !on => Mode::Off,
            Some(schedule) => Mode::Scheduled(schedule.windows),
            None => Mode::ByHost,
        };
        self.config = config;
        let is_new = mode != self.mode;
        let is_in_vain = is_new && std::mem::take(&mut self.is_asked);
        if is_new {
            self.mode = mode;
            self.until = now;
            self.enter(now, if mode == Mode::Off { Window::Off } else { Window::NonDeterministic });
            self.look(now);
        }
        self.check_counts(now);
        self.rearm(now);
        is_in_vain
    }

    /// Feature 14h.
    pub fn select(&mut self, now: Instant, window: Window) -> Selected {
        match self.mode {
            Mode::Off => return Selected::Off,
            Mode::Scheduled(_) => return Selected::Scheduled,
            Mode::ByHost => {}
        }
        if window == self.window {
            return Selected::Now;
        }
        if window == Window::NonDeterministic {
            self.enter(now, window);
            self.rearm(now);
            return Selected::Now;
        }
        if now < self.earliest_dtwin() {
            self.is_asked = true;
            self.rearm(now);
            return Selected::Later;
        }
        self.enter_deterministic(now);
        Selected::Now
    }

    /// The host gave the wait for the deterministic window up by asking for the other: true when
    /// there was one.
    pub fn take_back(&mut self, now: Instant) -> bool {
        let was_asked = std::mem::take(&mut self.is_asked);
        self.rearm(now);
        was_asked
    }

    /// The window at `now`, which is not before anything that was told.
    pub fn window(&mut self, now: Instant) -> Window {
        self.look(now);
        self.window
    }

    /// A command of the host. True when the window changed.
    pub fn count(&mut self, now: Instant, op: Op, bytes: u64) -> bool {
        self.look(now);
        if self.window != Window::Deterministic {
            return false;
        }
        match op {
            Op::Read => self.reads += bytes.div_ceil(READ_BYTES).max(1),
            Op::Write => self.written += bytes,
            Op::Flush | Op::Trim => return false,
        }
        self.check_counts(now);
        let is_exceeded = self.reads > self.attributes.dtwin_reads
            || self.writes() > self.attributes.dtwin_writes;
        if is_exceeded && self.mode == Mode::ByHost {
            self.leave(now, event::EXCEEDED);
            return true;
        }
        false
    }

    /// Garbage collection was forced outside the window for it. True when the window changed.
    pub fn excursion(&mut self, now: Instant) -> bool {
        match self.mode {
            Mode::Off => false,
            Mode::ByHost if self.window == Window::Deterministic => {
                self.leave(now, event::EXCURSION);
                true
            }
            Mode::ByHost | Mode::Scheduled(_) => {
                self.raise(now, event::EXCURSION);
                self.rearm(now);
                false
            }
        }
    }

    /// Does what is due at [`Plm::next_at`]. True when the host that waits for the deterministic
    /// window has it now.
    pub fn fire(&mut self, now: Instant) -> bool {
        self.look(now);
        if self.window == Window::Deterministic {
            if now >= self.time_warning_at() && self.warned & event::TIME == 0 {
                self.warn(now, event::TIME);
            }
            if self.mode == Mode::ByHost && now >= self.dtwin_end() {
                self.leave(now, event::EXCEEDED);
            }
        } else if self.is_asked && now >= self.earliest_dtwin() {
            self.is_asked = false;
            self.enter_deterministic(now);
            return true;
        }
        self.rearm(now);
        false
    }

    /// Events told since they were last cleared.
    pub fn events(&self) -> u16 {
        self.events
    }

    /// Clears them.
    pub fn clear_events(&mut self, now: Instant) {
        self.events = 0;
        self.rearm(now);
    }

    /// When the set came into log 0Bh, once.
    pub fn take_added(&mut self) -> Option<Instant> {
        self.added_at.take()
    }

    /// Milliseconds of the longest deterministic window.
    pub fn dtwin_time_ms(&self) -> u64 {
        match self.mode {
            Mode::Scheduled(schedule) => {
                (schedule.length * u64::from(schedule.members - 1)).as_ns() / MS
            }
            Mode::Off | Mode::ByHost => self.attributes.dtwin_time_ms,
        }
    }

    /// The rest of the deterministic window, or the whole of the next one.
    pub fn left(&mut self, now: Instant) -> Left {
        self.look(now);
        let a = &self.attributes;
        match self.window {
            Window::Off => Left::default(),
            Window::NonDeterministic => {
                Left { reads: a.dtwin_reads, writes: a.dtwin_writes, time_ms: self.dtwin_time_ms() }
            }
            Window::Deterministic => Left {
                reads: a.dtwin_reads.saturating_sub(self.reads),
                writes: a.dtwin_writes.saturating_sub(self.writes()),
                time_ms: self.dtwin_end().max(now).since(now).as_ns() / MS,
            },
        }
    }

    /// When the window that holds `now` ends by the schedule or at the latest; [`Instant::NEVER`]
    /// when the host decides.
    pub fn window_end(&mut self, now: Instant) -> Instant {
        self.look(now);
        match (self.mode, self.window) {
            (Mode::Scheduled(_), _) => self.until,
            (Mode::ByHost, Window::Deterministic) => self.dtwin_end(),
            _ => Instant::NEVER,
        }
    }

    fn writes(&self) -> u64 {
        self.written.div_ceil(u64::from(self.attributes.optimal_write))
    }

    /// Under a schedule: which window holds `now`.
    #[inline]
    fn look(&mut self, now: Instant) {
        if let Mode::Scheduled(schedule) = self.mode
            && now >= self.until
        {
            if schedule.is_busy(now) {
                self.until = schedule.slot_end(now);
                self.enter(now, Window::NonDeterministic);
            } else {
                self.until = schedule.next_busy(now);
                self.enter(now, Window::Deterministic);
            }
        }
    }

    fn enter(&mut self, now: Instant, window: Window) {
        (self.window, self.entered) = (window, now);
        (self.reads, self.written, self.warned) = (0, 0, 0);
    }

    fn enter_deterministic(&mut self, now: Instant) {
        self.enter(now, Window::Deterministic);
        self.check_counts(now);
        self.rearm(now);
    }

    /// To the non-deterministic window without the host's word.
    fn leave(&mut self, now: Instant, why: u16) {
        self.raise(now, why);
        self.enter(now, Window::NonDeterministic);
        self.rearm(now);
    }

    fn earliest_dtwin(&self) -> Instant {
        self.entered + Duration::from_ms(self.attributes.ndwin_low_ms)
    }

    fn dtwin_end(&self) -> Instant {
        match self.mode {
            Mode::Scheduled(_) => self.until,
            Mode::Off | Mode::ByHost => {
                self.entered + Duration::from_ms(self.attributes.dtwin_time_ms)
            }
        }
    }

    /// A warning is due when what is left does not exceed its threshold (NVMe Base 2.1, 8.1.18.3).
    fn check_counts(&mut self, now: Instant) {
        if self.window != Window::Deterministic {
            return;
        }
        let a = &self.attributes;
        let reads_left = a.dtwin_reads.saturating_sub(self.reads);
        let writes_left = a.dtwin_writes.saturating_sub(self.writes());
        if reads_left <= self.config.reads_threshold {
            self.warn(now, event::READS);
        }
        if writes_left <= self.config.writes_threshold {
            self.warn(now, event::WRITES);
        }
    }

    /// When the time left of this deterministic window no longer exceeds its threshold.
    fn time_warning_at(&self) -> Instant {
        self.warning_before(self.dtwin_end()).max(self.entered)
    }

    fn warning_before(&self, end: Instant) -> Instant {
        let ahead = self.config.time_threshold.saturating_mul(MS);
        Instant::from_ns(end.as_ns().saturating_sub(ahead))
    }

    /// A warning is given once a window, if it is wanted.
    fn warn(&mut self, now: Instant, which: u16) {
        if self.config.events & !self.warned & which != 0 {
            self.warned |= which;
            self.raise(now, which);
        }
    }

    fn raise(&mut self, now: Instant, which: u16) {
        if self.config.events & which == 0 {
            return;
        }
        if self.events == 0 {
            self.added_at = Some(now);
        }
        self.events |= which;
    }

    /// Says when something happens next. A time warning that is already told is not waited for:
    /// otherwise a schedule would keep an idle drive awake for ever.
    fn rearm(&mut self, now: Instant) {
        let wants_time = self.config.events & !self.events & event::TIME != 0;
        self.next_at = match self.mode {
            Mode::Off => Instant::NEVER,
            Mode::Scheduled(schedule) if wants_time => self.next_time_warning(now, schedule),
            Mode::Scheduled(_) => Instant::NEVER,
            Mode::ByHost if self.window == Window::Deterministic => {
                let is_due = wants_time && self.warned & event::TIME == 0;
                let warning = if is_due { self.time_warning_at().max(now) } else { Instant::NEVER };
                warning.min(self.dtwin_end())
            }
            Mode::ByHost if self.is_asked => self.earliest_dtwin(),
            Mode::ByHost => Instant::NEVER,
        };
    }

    /// The time warning of this deterministic window, or of the next.
    fn next_time_warning(&self, now: Instant, schedule: WindowSchedule) -> Instant {
        if schedule.members == 1 {
            // Always its turn, once the cycle has started.
            let is_before = self.window == Window::Deterministic && self.warned & event::TIME == 0;
            return if is_before { self.time_warning_at().max(now) } else { Instant::NEVER };
        }
        match self.window {
            Window::Deterministic if self.warned & event::TIME == 0 => {
                self.time_warning_at().max(now)
            }
            Window::Deterministic => self.warning_after(schedule, schedule.slot_end(self.until)),
            _ => self.warning_after(schedule, self.until),
        }
    }

    /// The time warning of the deterministic window that begins at `begin`.
    fn warning_after(&self, schedule: WindowSchedule, begin: Instant) -> Instant {
        self.warning_before(schedule.next_busy(begin)).max(begin)
    }
}
