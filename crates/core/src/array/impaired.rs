//! Rows whose members do not do what they must: pages that no member takes, old pages that nobody
//! can read, and the restoration of a new member's rows.

use super::link::MemberLink;
use super::members::State;
use super::piece::PieceId;
use super::rows::{Phase, RowId};
use super::{Array, RaidLevel, Timer};
use crate::drive::Status;
use crate::units::{Duration, Instant};

/// How long a restoration waits for a row that is being updated.
const RETRY: Duration = Duration::from_us(100);

impl<L: MemberLink> Array<L> {
    /// Pages of the row under update that are known, or can be read, a bit each.
    pub(super) fn obtainable(&self, slot: RowId) -> u32 {
        let row = &self.rows[slot];
        row.known | (self.readable(row.row) & !row.unread)
    }

    /// Without pages that their members could not read too few are left to know the row: those
    /// members are failed.
    pub(super) fn fail_who_cannot_read(&mut self, now: Instant, slot: RowId) {
        let (number, unread) = (self.rows[slot].row, self.rows[slot].unread);
        let computes = self.layout.level.computes();
        if unread == 0 || !computes || self.obtainable(slot).count_ones() >= self.layout.data {
            return;
        }
        for index in (0..self.layout.members).filter(|index| unread >> index & 1 == 1) {
            self.is_failed_for(now, self.layout.member(number, index));
        }
    }

    /// Dirty pages of an update that is over which could not be read again, a bit each.
    fn pages_not_taken(&self, slot: RowId) -> u32 {
        let (row, layout) = (&self.rows[slot], &self.layout);
        let (dirty, readable) = (row.now.dirty(), self.readable(row.row));
        let written = (0..layout.members)
            .filter(|index| row.written(*index, layout))
            .fold(0, |set, at| set | 1 << at);
        let current = readable & (row.landed | !written);
        let is_stale = readable & written & !row.landed != 0;
        match layout.level {
            RaidLevel::Raid0 => (dirty & !current) | row.baseless,
            // The last member of a mirror is still read, though it was not written.
            _ if is_stale => dirty,
            _ if current.count_ones() < layout.data => (dirty & !current) | row.baseless,
            _ => row.baseless,
        }
    }

    /// An update is over: pages that no member took stay in memory, or their requests are told.
    pub(super) fn keep_what_no_member_took(&mut self, slot: RowId) {
        if !self.is_impaired && self.rows[slot].baseless == 0 {
            return;
        }
        let pages = self.pages_not_taken(slot);
        if pages == 0 {
            return;
        }
        if self.writes.room == 0 {
            let is_read_error = pages & !self.rows[slot].baseless == 0;
            let status = if is_read_error {
                Status::UnrecoveredRead
            } else {
                Status::NamespaceWriteProtected
            };
            self.counters.refused_pages += u64::from(pages.count_ones());
            for at in 0..self.rows[slot].now.waiters.len() {
                let request = self.rows[slot].now.waiters[at];
                self.note_status(request, status);
            }
            return;
        }
        let (data, row) = (self.layout.data, &mut self.rows[slot]);
        let kept = u64::from((pages & !row.kept.dirty()).count_ones());
        let now = std::mem::take(&mut row.now);
        row.kept.put_all(&mut self.matter, &now, pages, data);
        row.now = now;
        // Kept pages occupy memory as held ones do.
        self.writes.held += kept;
        self.writes.kept += kept;
    }

    /// Too few members are left to read the piece from.
    pub(super) fn lost_piece(&mut self, now: Instant, piece: PieceId) {
        self.counters.lost_reads += 1;
        self.fail_piece(now, piece, Status::MembersLost);
    }

    /// The next row of a new member is restored: computed from the others and written.
    pub(super) fn restore_next(&mut self, now: Instant) {
        let (member, number) = (self.replaced, self.writes.next_restore);
        let is_new = self.members[member.index()].state == State::Rebuilding;
        // Where too few others are left nothing can be restored any more, here or behind.
        if !is_new
            || number == self.layout.rows
            || self.readable(number).count_ones() < self.layout.data
        {
            return;
        }
        let slot = self.rows.enter(number);
        if self.rows[slot].phase != Phase::Idle || self.rows[slot].queued {
            // The row's own update goes first.
            return self.set_timer(now + RETRY, Timer::Restore);
        }
        self.writes.next_restore += 1;
        self.writes.restoring.push(number);
        self.rows[slot].restore = 1 << self.layout.index(number, member);
        self.begin_update(now, slot);
    }

    /// Too few of the row's pages can be read: it is not restored, and stays among those that are
    /// to be.
    pub(super) fn give_up_restoring(&mut self, now: Instant, slot: RowId) {
        self.rows[slot].turn_over();
        self.wants_update(now, slot);
        self.rows.leave(slot);
    }

    /// The update that restores a row is over; it did if the new member `landed` it.
    pub(super) fn row_restored(&mut self, now: Instant, row: u32, landed: bool) {
        let member = self.replaced.index();
        if !landed || self.members[member].state != State::Rebuilding {
            return;
        }
        self.counters.restored_rows += 1;
        self.counters.restored_at = Some(now);
        self.writes.restoring.retain(|other| *other != row);
        self.restored =
            self.writes.restoring.iter().copied().min().unwrap_or(self.writes.next_restore);
        if self.restored == self.layout.rows {
            self.members[member].state = State::Alive;
        }
        self.restore_next(now);
    }
}
