//! Engines beside each other, one for each drive that is served.

use crate::engine::{Engine, Finished};
use manx_core::nvme::AdminCompletion;
use manx_core::units::Instant;

/// At least one engine; a request names its drive by number.
pub(crate) struct Fleet<E: Engine> {
    engines: Vec<E>,
}

impl<E: Engine> Fleet<E> {
    pub fn new(engines: Vec<E>) -> Self {
        assert!(!engines.is_empty(), "a server has a drive");
        Self { engines }
    }

    pub fn all(&self) -> &[E] {
        &self.engines
    }

    pub fn all_mut(&mut self) -> &mut [E] {
        &mut self.engines
    }

    /// The engine of a drive.
    pub fn of(&self, drive: u32) -> &E {
        &self.engines[drive as usize]
    }

    pub fn of_mut(&mut self, drive: u32) -> &mut E {
        &mut self.engines[drive as usize]
    }

    /// Does what is due before `limit`, up to the first request that is done, drive by drive.
    pub fn advance_before(&mut self, limit: Instant) -> Option<Finished> {
        self.engines.iter_mut().find_map(|engine| engine.advance_before(limit))
    }

    /// Stores keep what leads to answers that are due before `now`; a reason why not is told once.
    pub fn commit(&mut self, now: Instant) -> Option<String> {
        self.engines.iter_mut().filter_map(|engine| engine.commit(now)).next_back()
    }

    /// One of them has a store.
    pub fn has_stores(&self) -> bool {
        self.engines.iter().any(|engine| engine.store().is_some())
    }

    /// One of them is behind an NVMe controller.
    pub fn has_controllers(&mut self) -> bool {
        self.engines.iter_mut().any(|engine| engine.controller().is_some())
    }

    /// The log of a store is as long as it may be.
    pub fn is_log_full(&self) -> bool {
        self.engines.iter().any(Engine::is_log_full)
    }

    /// Logs become bases, when nothing is under way; the engines go on, or end.
    pub fn settle(&mut self, now: Instant, goes_on: bool) -> Result<(), String> {
        self.engines.iter_mut().try_for_each(|engine| engine.settle(now, goes_on))
    }

    /// Appends the bytes of a read that was the last to be handed out.
    pub fn data(&self, finished: &Finished, out: &mut Vec<u8>) {
        self.of(finished.done.ask.drive).data(finished, out);
    }

    /// Everything before this instant has been done.
    pub fn done_until(&self) -> Instant {
        self.engines.iter().map(Engine::done_until).min().unwrap_or(Instant::START)
    }

    pub fn under_way(&self) -> usize {
        self.engines.iter().map(Engine::under_way).sum()
    }

    pub fn next_event_at(&self) -> Instant {
        self.engines.iter().map(Engine::next_event_at).min().unwrap_or(Instant::NEVER)
    }

    /// There is something to do in time: requests are under way, or an engine keeps time anyway.
    pub fn keeps_time(&self) -> bool {
        self.engines.iter().any(|engine| engine.under_way() > 0 || engine.keeps_time())
    }

    pub fn first_mismatch(&self) -> Option<&str> {
        self.engines.iter().find_map(Engine::first_mismatch)
    }

    /// A controller has answered an admin command later.
    pub fn has_news(&self) -> bool {
        self.engines.iter().any(Engine::has_news)
    }

    pub fn take_admin_completion(&mut self) -> Option<AdminCompletion> {
        self.engines
            .iter_mut()
            .find_map(|engine| engine.controller().and_then(|held| held.take_admin_completion()))
    }

    /// Engines send what they have to send.
    pub fn send(&mut self, now: Instant) {
        self.engines.iter_mut().for_each(|engine| engine.send(now));
    }
}
