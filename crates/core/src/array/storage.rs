//! An array of models as a storage: what a driver plays on.

use super::Array;
use crate::drive::{Attributed, Command, Completion, Drive, Step, Storage, TimelineSpec, Walked};
use crate::flash::Room;
use crate::units::{Instant, Lba};

impl Storage for Array {
    fn submit(&mut self, now: Instant, command: Command) {
        Array::submit(self, now, command);
    }

    fn advance_before(&mut self, limit: Instant) -> Option<Completion> {
        Array::advance_before(self, limit)
    }

    fn next_event_at(&self) -> Instant {
        Array::next_event_at(self)
    }

    fn hint(&self, lba: Lba) {
        let place = self.layout.place(lba.0 / u64::from(self.layout.page_sectors));
        if place.row < self.layout.rows {
            self.members[place.member.index()].drive().hint(self.layout.lba(place.row));
        }
    }

    fn attribute(&mut self) {
        self.keep_books();
    }

    fn attributed(&self) -> Option<&Attributed> {
        self.attributed_last()
    }

    fn steps(&self) -> &[Step] {
        self.steps_last()
    }

    fn keep_timeline(&mut self, spec: &TimelineSpec) {
        self.keep_timelines(spec);
    }

    fn slow_requests(&self) -> Option<(&Room, &[Walked])> {
        self.slow_of_timeline()
    }

    fn drives(&self) -> usize {
        self.members.len() + usize::from(self.retired.is_some())
    }

    fn drive(&self, number: usize) -> &Drive {
        match &self.retired {
            Some(retired) if number == self.replaced.index() => retired.drive(),
            Some(_) if number == self.members.len() => self.members[self.replaced.index()].drive(),
            _ => self.members[number].drive(),
        }
    }

    fn outstanding(&self) -> usize {
        self.requests.len()
    }

    fn sectors(&self) -> u64 {
        Array::sectors(self)
    }

    fn page_sectors(&self) -> u32 {
        Array::page_sectors(self)
    }

    fn holds(&self, page: u32) -> bool {
        let place = self.layout.place(page.into());
        self.members[place.member.index()].drive().holds_page(place.row)
    }

    fn keeps_deallocated(&self) -> bool {
        true
    }
}
