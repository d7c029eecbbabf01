//! The timeline of an array beside those of its drives: its own slow requests, with their steps
//! where latencies are attributed.

use super::under_way::RequestId;
use super::{Array, MemberLink};
use crate::drive::{SLOW_FACTOR, SlowCommand, Storage, TimelineSpec, Walked};
use crate::flash::Room;
use crate::units::{Duration, Instant};

/// The log of an array's requests.
#[derive(Clone, Debug)]
pub(super) struct Timeline {
    room: Room,
    slow: Duration,
    /// By request: when it came.
    came: Vec<Instant>,
    requests: Vec<Walked>,
}

impl Array {
    /// Keeps a timeline of the array and of each drive.
    pub(super) fn keep_timelines(&mut self, spec: &TimelineSpec) {
        self.members.iter_mut().for_each(|member| member.drive_mut().keep_timeline(spec));
        if let Some(spare) = &mut self.spare {
            spare.drive_mut().keep_timeline(spec);
        }
        let slow = spec.slow.unwrap_or_else(|| self.drive(0).unloaded_read() * SLOW_FACTOR);
        let room = Room::new(spec.from, spec.to, spec.limit);
        self.timeline =
            Some(Box::new(Timeline { room, slow, came: Vec::new(), requests: Vec::new() }));
    }
}

impl<L: MemberLink> Array<L> {
    #[inline]
    pub(super) fn timeline_begins(&mut self, now: Instant, request: RequestId) {
        if let Some(timeline) = &mut self.timeline {
            let request = request.index();
            if request >= timeline.came.len() {
                timeline.came.resize(request + 1, now);
            }
            timeline.came[request] = now;
        }
    }

    /// A request is done; the books of it are closed.
    #[inline]
    pub(super) fn timeline_completes(&mut self, now: Instant, request: RequestId) {
        if self.timeline.is_some() {
            self.timeline_completes_on_demand(now, request);
        }
    }

    #[inline(never)]
    fn timeline_completes_on_demand(&mut self, now: Instant, request: RequestId) {
        let Some(timeline) = &mut self.timeline else { return };
        let start = timeline.came[request.index()];
        if now.since(start) < timeline.slow || !timeline.room.take(start, now) {
            return;
        }
        let command = &self.requests[request].command;
        let (attributed, steps) = match self.books.as_ref().and_then(|books| books.latest()) {
            Some((attributed, steps)) => (Some(*attributed), steps.to_vec()),
            None => (None, Vec::new()),
        };
        let (op, lba, sectors) = (command.op, command.lba, command.sectors);
        let request = SlowCommand { start, end: now, op, lba, sectors, attributed };
        timeline.requests.push(Walked { request, steps });
    }

    pub(super) fn slow_of_timeline(&self) -> Option<(&Room, &[Walked])> {
        self.timeline.as_ref().map(|timeline| (&timeline.room, timeline.requests.as_slice()))
    }
}
