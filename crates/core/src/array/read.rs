//! Reads: pieces from their own members, and pieces that are computed from the rest of their rows.
//!
//! A piece whose member fails it fast is computed: k of the other members are read at the same
//! place, and `extra_reads` more, of which the last are not waited for. When one of those fails too
//! and nobody is left to ask, the strategy chooses: the piece is waited for at its own member, or
//! the others at theirs, those first that are free first; who is waited for is asked again and must
//! wait (its true cost; the IODA artefact hid it behind 100 us). Busy remaining times of different
//! instants are compared as instants.

use super::link::MemberLink;
use super::piece::{Piece, PieceId, Rebuild, RebuildId};
use super::rows::Phase;
use super::under_way::RequestId;
use super::{Array, Owner, Timer};
use crate::drive::{Completion, PredictableLatency, Status};
use crate::units::{Instant, Lba, Member};

/// Nobody knows when the member will serve it, if ever.
pub(super) const NEVER_SERVED: u64 = u64::MAX;

impl<L: MemberLink> Array<L> {
    pub(super) fn begin_read(&mut self, now: Instant, request: RequestId) {
        let (lba, sectors) = (
            self.requests[request].command.lba.0,
            u64::from(self.requests[request].command.sectors),
        );
        let per_page = u64::from(self.layout.page_sectors);
        let (first_page, last_page) = (lba / per_page, (lba + sectors - 1) / per_page);
        if self.content {
            let pages = (last_page - first_page + 1) as usize;
            self.requests[request].versions = Some(vec![0; pages].into_boxed_slice());
        }
        let (mut page, mut last_piece) = (first_page, PieceId::NIL);
        while page <= last_page {
            let place = self.layout.place(page);
            let in_chunk = u64::from(self.layout.chunk - place.row % self.layout.chunk);
            let rows = in_chunk.min(last_page + 1 - page);
            let start = (page * per_page).max(lba);
            let end = ((page + rows) * per_page).min(lba + sectors);
            let piece = Piece {
                request,
                next: PieceId::NIL,
                first: (page - first_page) as u32,
                member: place.member,
                row: place.row,
                rows: rows as u32,
                lba: Lba(self.layout.lba(place.row).0 + (start - page * per_page)),
                sectors: (end - start) as u32,
                ticket: self.ticket(),
                direct: false,
                age: 0,
                rebuild: RebuildId::NIL,
                refused: None,
                computes: false,
                done: false,
                overlays: Vec::new(),
            };
            let piece = self.pieces.insert(piece);
            match last_piece {
                PieceId::NIL => self.requests[request].pieces = piece,
                last => self.pieces[last].next = piece,
            }
            last_piece = piece;
            self.requests[request].left += 1;
            page += rows;
        }
        // Those that are computed come last: they look at what their neighbours read.
        let (first, mut any) = (self.requests[request].pieces, false);
        let mut piece = first;
        while piece != PieceId::NIL {
            let next = self.pieces[piece].next;
            self.begin_piece(now, piece);
            any |= self.pieces[piece].computes;
            piece = next;
        }
        piece = if any { first } else { PieceId::NIL };
        while piece != PieceId::NIL {
            let Piece { next, computes, .. } = self.pieces[piece];
            if computes {
                self.compute(now, piece);
            }
            piece = next;
        }
    }

    fn begin_piece(&mut self, now: Instant, piece: PieceId) {
        self.counters.pieces += 1;
        let Piece { member, row, rows, .. } = self.pieces[piece];
        let index = self.layout.index(row, member);
        let mut whole = 0;
        for at in 0..rows {
            let Some(slot) = self.rows.find(row + at) else { continue };
            whole += u32::from(self.rows[slot].has_whole(index));
            if self.content {
                let overlays =
                    self.rows[slot].overlays(index).map(|(stamp, whole)| (at, stamp, whole));
                self.pieces[piece].overlays.extend(overlays);
            }
        }
        if whole == rows {
            self.counters.from_memory += 1;
            let ticket = self.pieces[piece].ticket;
            return self.set_timer(now, Timer::Computed { piece, ticket });
        }
        let redundant = self.layout.data < self.layout.members;
        if redundant && !self.is_read(member, row + rows - 1) {
            (self.pieces[piece].refused, self.pieces[piece].computes) = (Some(NEVER_SERVED), true);
            return;
        }
        if redundant && self.strategy.avoids(now, member).is_some() {
            self.counters.avoided += 1;
            self.pieces[piece].computes = true;
            return;
        }
        self.ask_directly(now, piece, self.strategy.flag());
        if redundant && self.strategy.asks_all() {
            self.pieces[piece].computes = true;
        } else if redundant && let Some(after) = self.strategy.hedges_after() {
            let ticket = self.pieces[piece].ticket;
            self.set_timer(now + after, Timer::Hedge { piece, ticket });
        }
    }

    fn ask_directly(&mut self, now: Instant, piece: PieceId, flag: PredictableLatency) {
        let p = &mut self.pieces[piece];
        // Only other pieces of the request ask for its age.
        let is_alone = self.requests[p.request].pieces == piece && p.next == PieceId::NIL;
        (p.direct, p.age) = (true, if is_alone { 0 } else { self.rows.age(p.row..p.row + p.rows) });
        let (member, ticket, command) =
            (p.member, p.ticket, Self::read_command(p.lba, p.sectors, flag));
        if self.members[member.index()].state == super::State::Dead {
            self.pieces[piece].direct = false;
            return self.lost_piece(now, piece);
        }
        self.submit_io(now, member, Owner::Direct { piece, ticket }, command);
    }

    pub(super) fn direct_done(
        &mut self,
        now: Instant,
        piece: PieceId,
        ticket: u32,
        completion: Completion,
    ) {
        let p = &mut self.pieces[piece];
        if p.ticket != ticket || p.done {
            return;
        }
        p.direct = false;
        if completion.status == Status::Success {
            if let Some(free_at) = p.refused.filter(|free_at| *free_at != NEVER_SERVED) {
                self.counters.brt_late_ns += now.as_ns().saturating_sub(free_at);
            }
            self.note_collections(piece, &completion);
            self.abandon(now, piece);
            return self.finish_piece(now, piece, completion.payload.as_deref());
        }
        p.refused = Some(match completion.status {
            Status::PredictableLatencyNotMet => now.as_ns().saturating_add(completion.result64),
            _ => NEVER_SERVED,
        });
        self.refuse_neighbours(now, piece);
        if self.layout.data == self.layout.members {
            return match completion.status {
                Status::PredictableLatencyNotMet => self.must_wait(now, piece),
                status => self.fail_piece(now, piece, status),
            };
        }
        if self.pieces[piece].rebuild == RebuildId::NIL {
            self.compute(now, piece);
        }
    }

    fn must_wait(&mut self, now: Instant, piece: PieceId) {
        self.counters.must_waits += 1;
        if let Some(free_at) = self.pieces[piece].refused.filter(|at| *at != NEVER_SERVED) {
            self.counters.brt_promised_ns += free_at.saturating_sub(now.as_ns());
        }
        self.ask_directly(now, piece, PredictableLatency::MustWait);
    }

    fn note_collections(&mut self, piece: PieceId, completion: &Completion) {
        let request = &mut self.requests[self.pieces[piece].request];
        request.gc_blocked |= completion.gc_blocked;
        request.gc_blocked_at_split |= completion.gc_blocked_at_split;
    }

    pub(super) fn hedge(&mut self, now: Instant, piece: PieceId, ticket: u32) {
        let p = &self.pieces[piece];
        if p.ticket == ticket && !p.done && p.rebuild == RebuildId::NIL {
            self.counters.hedges += 1;
            self.compute(now, piece);
        }
    }

    /// Computes the piece from the rest of its rows, as soon as no update of them waits with its
    /// writes.
    fn compute(&mut self, now: Instant, piece: PieceId) {
        let Piece { row, rows, .. } = self.pieces[piece];
        let ticket = self.ticket();
        let rebuild = Rebuild { piece, ticket, row, rows, ..Rebuild::default() };
        let rebuild = self.rebuilds.insert(rebuild);
        self.pieces[piece].rebuild = rebuild;
        self.enter_rows(now, rebuild);
    }

    /// Enters the rows of a computation, or waits for the first that does not let it in.
    pub(super) fn enter_rows(&mut self, now: Instant, rebuild: RebuildId) {
        let Rebuild { row, rows, .. } = self.rebuilds[rebuild];
        let held = (row..row + rows).find_map(|row| {
            let slot = self.rows.find(row)?;
            (self.rows[slot].phase == Phase::Ready).then_some(slot)
        });
        if let Some(slot) = held {
            self.book_blocked(rebuild);
            return self.rows[slot].blocked.push(rebuild);
        }
        for row in row..row + rows {
            let slot = self.rows.enter(row);
            self.rows[slot].readers += 1;
        }
        self.rebuilds[rebuild].entered = true;
        if self.content {
            self.rebuilds[rebuild].stamps =
                vec![vec![None; self.layout.members as usize]; rows as usize];
        }
        self.ask_rest(now, rebuild);
    }

    /// Asks as many members as are missing.
    fn ask_rest(&mut self, now: Instant, rebuild: RebuildId) {
        let Rebuild { piece, row, rows, .. } = self.rebuilds[rebuild];
        let target = self.pieces[piece].member;
        let Rebuild { asked, refused, .. } = self.rebuilds[rebuild];
        let wanted = self.layout.data + self.spec.extra_reads;
        let mut missing = wanted.saturating_sub((asked & !refused).count_ones());
        // Data first, parities last; who had better not be read comes after those who may.
        for avoided in [false, true] {
            for index in 0..self.layout.members {
                let member = self.layout.member(row, index);
                let r = &self.rebuilds[rebuild];
                let taken = member == target || (r.asked | r.refused) >> member.0 & 1 == 1;
                if missing == 0 || taken || !self.is_read(member, row + rows - 1) {
                    continue;
                }
                if self.strategy.avoids(now, member).is_some() != avoided {
                    continue;
                }
                missing -= 1;
                self.ask_member(now, rebuild, member, self.strategy.flag());
            }
        }
        let Rebuild { asked, refused, .. } = self.rebuilds[rebuild];
        if (asked & !refused).count_ones() < self.layout.data {
            return self.is_stuck(now, rebuild);
        }
        self.look_if_known(now, rebuild);
    }

    /// Asks a member for its share, unless the rows' updates have it or the request reads it
    /// anyway.
    fn ask_member(
        &mut self,
        now: Instant,
        rebuild: RebuildId,
        member: Member,
        flag: PredictableLatency,
    ) {
        let Rebuild { piece, ticket, row, rows, .. } = self.rebuilds[rebuild];
        self.rebuilds[rebuild].asked |= 1 << member.0;
        let mut here = 0;
        for at in 0..rows {
            let index = self.layout.index(row + at, member);
            let Some(slot) = self.rows.find(row + at) else { continue };
            let update = &self.rows[slot];
            if update.phase == Phase::Writing && update.written(index, &self.layout) {
                here += 1;
                if self.content {
                    self.rebuilds[rebuild].stamps[at as usize][index as usize] =
                        Some(update.new[index as usize]);
                }
            }
        }
        if here == rows {
            self.rebuilds[rebuild].got |= 1 << member.0;
            return;
        }
        self.rebuilds[rebuild].waits |= 1 << member.0;
        if flag != PredictableLatency::MustWait && self.neighbour(piece, member).is_some() {
            self.rebuilds[rebuild].shared |= 1 << member.0;
            return;
        }
        self.rebuilds[rebuild].shared &= !(1 << member.0);
        let (lba, sectors) = (self.layout.lba(row), rows * self.layout.page_sectors);
        self.submit_io(
            now,
            member,
            Owner::Rest { rebuild, ticket },
            Self::read_command(lba, sectors, flag),
        );
    }

    /// A member's share of a computation.
    pub(super) fn rest_done(
        &mut self,
        now: Instant,
        rebuild: RebuildId,
        ticket: u32,
        member: Member,
        completion: Completion,
    ) {
        if self.rebuilds[rebuild].ticket != ticket
            || self.rebuilds[rebuild].waits >> member.0 & 1 == 0
        {
            return;
        }
        if completion.status == Status::Success {
            self.note_collections(self.rebuilds[rebuild].piece, &completion);
            return self.share_came(now, rebuild, member, completion.payload.as_deref());
        }
        let free_at = match completion.status {
            Status::PredictableLatencyNotMet => now.as_ns().saturating_add(completion.result64),
            _ => NEVER_SERVED,
        };
        self.share_refused(now, rebuild, member, free_at);
    }

    pub(super) fn share_came(
        &mut self,
        now: Instant,
        rebuild: RebuildId,
        member: Member,
        versions: Option<&[u32]>,
    ) {
        let (layout, r) = (&self.layout, &mut self.rebuilds[rebuild]);
        r.waits &= !(1 << member.0);
        r.got |= 1 << member.0;
        for (at, version) in versions.unwrap_or_default().iter().enumerate() {
            let index = layout.index(r.row + at as u32, member);
            r.stamps[at][index as usize].get_or_insert(*version);
        }
        self.look_if_known(now, rebuild);
    }

    pub(super) fn share_refused(
        &mut self,
        now: Instant,
        rebuild: RebuildId,
        member: Member,
        free_at: u64,
    ) {
        let r = &mut self.rebuilds[rebuild];
        r.waits &= !(1 << member.0);
        r.refused |= 1 << member.0;
        r.free_at.push((free_at, self.layout.index(r.row, member), member));
        self.ask_rest(now, rebuild);
    }

    /// More members refused than there are parities: the piece must wait for a busy one.
    fn is_stuck(&mut self, now: Instant, rebuild: RebuildId) {
        let Rebuild { piece, refused, row, rows, .. } = self.rebuilds[rebuild];
        self.counters.double_fails += u64::from(refused != 0);
        if self.pieces[piece].direct {
            // Its own member has not failed it: that read is under way.
            return self.abandon(now, piece);
        }
        // Of the others as many as are needed, those first that are free first.
        let mut free_at = std::mem::take(&mut self.rebuilds[rebuild].free_at);
        free_at.retain(|(_, _, member)| self.is_read(*member, row + rows - 1));
        free_at.sort_unstable();
        let r = &mut self.rebuilds[rebuild];
        let missing = self.layout.data.saturating_sub((r.got | r.waits).count_ones()) as usize;
        let others = missing.checked_sub(1).and_then(|last| free_at.get(last));
        let others = others.map_or(NEVER_SERVED, |(free_at, ..)| *free_at);
        // Its member may have failed since it said when it is free.
        let own = self.pieces[piece].refused;
        let is_read = self.is_read(self.pieces[piece].member, row + rows - 1);
        let computes = match (if is_read { own } else { Some(NEVER_SERVED) }, others) {
            (Some(NEVER_SERVED), NEVER_SERVED) => {
                self.abandon(now, piece);
                return self.lost_piece(now, piece);
            }
            (_, NEVER_SERVED) => false,
            (Some(NEVER_SERVED) | None, _) => true,
            (Some(own), others) => self.strategy.computes(own, others),
        };
        if !computes {
            self.abandon(now, piece);
            return self.must_wait(now, piece);
        }
        let r = &mut self.rebuilds[rebuild];
        (r.asked, r.refused) = (r.asked & !refused, 0);
        for (_, _, member) in free_at.into_iter().take(missing) {
            self.counters.must_waits += 1;
            self.ask_member(now, rebuild, member, PredictableLatency::MustWait);
        }
        self.look_if_known(now, rebuild);
    }

    /// Everything that is needed is there: the piece is computed.
    fn look_if_known(&mut self, now: Instant, rebuild: RebuildId) {
        let Rebuild { piece, got, rows, .. } = self.rebuilds[rebuild];
        if got.count_ones() < self.layout.data {
            return;
        }
        // Those that were asked beyond what it takes come too late.
        self.rebuilds[rebuild].waits = 0;
        let ticket = self.pieces[piece].ticket;
        let at = now + self.spec.xor * u64::from(rows);
        if at == now {
            self.computed(now, piece, ticket)
        } else {
            self.set_timer(at, Timer::Computed { piece, ticket })
        }
    }

    /// The piece is computed, or lay in memory.
    pub(super) fn computed(&mut self, now: Instant, piece: PieceId, ticket: u32) {
        let p = &self.pieces[piece];
        if p.ticket != ticket || p.done {
            return;
        }
        if p.rebuild == RebuildId::NIL {
            return self.finish_piece(now, piece, None);
        }
        self.counters.reconstructs += 1;
        self.counters.hedges_won += u64::from(p.direct);
        let (member, rows, rebuild) = (p.member, p.rows, p.rebuild);
        let versions: Option<Vec<u32>> = self.content.then(|| {
            let (rebuild, matter) = (&self.rebuilds[rebuild], &mut self.matter);
            (0..rows).map(|at| rebuild.stamp(matter, &self.layout, at, member)).collect()
        });
        self.abandon(now, piece);
        self.finish_piece(now, piece, versions.as_deref());
    }

    /// The computation of a piece is over, or not wanted any more: its rows may be written.
    fn abandon(&mut self, now: Instant, piece: PieceId) {
        let rebuild = std::mem::replace(&mut self.pieces[piece].rebuild, RebuildId::NIL);
        if rebuild == RebuildId::NIL {
            return;
        }
        let Rebuild { row, rows, entered, .. } = self.rebuilds[rebuild];
        self.rebuilds[rebuild].ticket = 0;
        self.rebuilds[rebuild].stamps = Vec::new();
        for row in row..row + rows {
            let Some(slot) = self.rows.find(row) else { continue };
            self.rows[slot].blocked.retain(|other| *other != rebuild);
            if entered {
                self.rows[slot].readers -= 1;
                self.reader_left(now, slot);
            }
        }
        self.rebuilds.release(rebuild);
    }

    fn finish_piece(&mut self, now: Instant, piece: PieceId, versions: Option<&[u32]>) {
        self.pieces[piece].done = true;
        let Piece { request, first, member, .. } = self.pieces[piece];
        if self.content {
            // Neighbours that are being computed get the pages as the member holds them.
            if let Some(versions) = versions {
                self.tell_neighbours(now, piece, member, versions);
            }
            let pages = self.pieces[piece].overlaid(&mut self.matter, versions);
            if let Some(all) = &mut self.requests[request].versions {
                all[first as usize..][..pages.len()].copy_from_slice(&pages);
            }
        } else {
            self.tell_neighbours(now, piece, member, &[]);
        }
        self.part_done(now, request);
    }

    pub(super) fn fail_piece(&mut self, now: Instant, piece: PieceId, status: Status) {
        self.pieces[piece].done = true;
        let request = self.pieces[piece].request;
        self.note_status(request, status);
        self.part_done(now, request);
    }
}
