//! A drive behind NVMe in the place of a drive: commands are played on either.

use super::Controller;
use crate::drive::{Attributed, Command, Completion, Drive, Storage, TimelineSpec};
use crate::units::{Instant, Lba};

impl Storage for Controller {
    #[inline]
    fn submit(&mut self, now: Instant, command: Command) {
        Controller::submit(self, now, command);
    }

    #[inline]
    fn advance_before(&mut self, limit: Instant) -> Option<Completion> {
        Controller::advance_before(self, limit)
    }

    #[inline]
    fn next_event_at(&self) -> Instant {
        Controller::next_event_at(self)
    }

    fn hint(&self, lba: Lba) {
        self.drive().hint(lba);
    }

    fn attribute(&mut self) {
        self.drive_mut().attribute();
    }

    fn attributed(&self) -> Option<&Attributed> {
        self.drive().attributed()
    }

    fn keep_timeline(&mut self, spec: &TimelineSpec) {
        self.drive_mut().keep_timeline(spec);
    }

    fn drives(&self) -> usize {
        1
    }

    fn drive(&self, _: usize) -> &Drive {
        Controller::drive(self)
    }

    fn outstanding(&self) -> usize {
        self.drive().outstanding()
    }

    fn sectors(&self) -> u64 {
        self.drive().sectors()
    }

    fn page_sectors(&self) -> u32 {
        self.drive().page_sectors()
    }

    fn holds(&self, page: u32) -> bool {
        self.drive().holds(page)
    }
}
