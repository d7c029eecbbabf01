//! Pieces of a read and their computations: what the host gets is put together here.

use super::layout::ArrayLayout;
use super::link::{Matter, MemberLink};
use super::read::NEVER_SERVED;
use super::under_way::RequestId;
use super::{Array, parity};
use crate::drive::Stamp;
use crate::units::{Instant, Lba, Member};

crate::id! {
    /// A piece: its place among those under way.
    pub(super) PieceId, or NIL
}

crate::id! {
    /// A computation of a piece.
    pub(super) RebuildId, or NIL
}

/// The part of a read that lies together on one member.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    pub request: RequestId,
    /// The request's next piece.
    pub next: PieceId,
    /// Its first page within the request.
    pub first: u32,
    pub member: Member,
    pub row: u32,
    pub rows: u32,
    pub lba: Lba,
    pub sectors: u32,
    /// Tells reads of this piece from those of one before in its slot.
    pub ticket: u32,
    /// It is being read from its member, since when its rows had this age.
    pub direct: bool,
    pub age: u32,
    /// The computation under way, or `NIL`.
    pub rebuild: RebuildId,
    /// The member failed it, and said that it is free from this nanosecond on.
    pub refused: Option<u64>,
    /// It is computed from the start.
    pub computes: bool,
    pub done: bool,
    /// Newer data over the members' pages: page of the piece, stamp, whether of the whole page.
    /// Content only.
    pub overlays: Vec<(u32, Stamp, bool)>,
}

/// A piece that is being computed.
#[derive(Clone, Debug, Default)]
pub(super) struct Rebuild {
    pub piece: PieceId,
    pub ticket: u32,
    pub row: u32,
    pub rows: u32,
    /// Members asked, members that answered, members that failed it fast.
    pub asked: u32,
    pub got: u32,
    pub refused: u32,
    /// From which nanosecond on those are free, and their place in the row and number.
    pub free_at: Vec<(u64, u32, Member)>,
    /// Members whose share is waited for, and those of them whose share a neighbour reads.
    pub waits: u32,
    pub shared: u32,
    /// It reads the rows whole, or will when their updates have begun to write.
    pub entered: bool,
    /// By row and index: what is known. Content only.
    pub stamps: Vec<parity::Row>,
}

impl Piece {
    /// The piece's pages: those that its member holds, under what lies over them.
    pub fn overlaid<M: Matter>(&self, matter: &mut M, versions: Option<&[u32]>) -> Vec<u32> {
        let mut pages: Vec<u32> = versions.map_or(vec![0; self.rows as usize], <[u32]>::to_vec);
        for (at, stamp, whole) in &self.overlays {
            let page = &mut pages[*at as usize];
            *page = matter.overlaid(*page, *stamp, *whole);
        }
        pages
    }
}

impl Rebuild {
    /// The page of `member` in the row `at` of this computation, from the shares that arrived.
    pub fn stamp<M: Matter>(
        &self,
        matter: &mut M,
        layout: &ArrayLayout,
        at: u32,
        member: Member,
    ) -> u32 {
        let known = &self.stamps[at as usize];
        let stamp = parity::recover(matter, layout, known, layout.index(self.row + at, member));
        stamp.unwrap_or(Stamp::TORN)
    }
}

impl<L: MemberLink> Array<L> {
    /// The piece of the same request that is read from `member`, now, whole and at the same place,
    /// and will be told of it: unless the writing of its rows has begun or ended since it was asked
    /// for, which may bring what they held before.
    pub(super) fn neighbour(&self, piece: PieceId, member: Member) -> Option<PieceId> {
        let p = &self.pieces[piece];
        let mut other = self.requests[p.request].pieces;
        while other != PieceId::NIL {
            let o = &self.pieces[other];
            let whole = o.sectors == o.rows * self.layout.page_sectors;
            let same = o.member == member && o.row == p.row && o.rows == p.rows;
            let is_told = o.direct && !o.done;
            if same && whole && is_told && o.age == self.rows.age(o.row..o.row + o.rows) {
                return Some(other);
            }
            other = o.next;
        }
        None
    }

    /// Pieces of the request that wait for `member`'s share at the same place have it now.
    pub(super) fn tell_neighbours(
        &mut self,
        now: Instant,
        piece: PieceId,
        member: Member,
        versions: &[u32],
    ) {
        let Piece { request, .. } = self.pieces[piece];
        if self.requests[request].left == 1 {
            return;
        }
        let mut next = self.requests[request].pieces;
        while let Some((rebuild, others)) = self.next_neighbour(piece, member, next) {
            self.share_came(now, rebuild, member, Some(versions));
            next = others;
        }
    }

    /// Pieces of the request that share this one's read count it as refused and ask other members.
    pub(super) fn refuse_neighbours(&mut self, now: Instant, piece: PieceId) {
        let Piece { request, member, refused, .. } = self.pieces[piece];
        let mut next = self.requests[request].pieces;
        while let Some((rebuild, others)) = self.next_neighbour(piece, member, next) {
            self.share_refused(now, rebuild, member, refused.unwrap_or(NEVER_SERVED));
            next = others;
        }
    }

    /// From `other` on, the next rebuild at the place of `piece` that shares its read of `member`
    /// and waits for it, and the pieces behind.
    fn next_neighbour(
        &self,
        piece: PieceId,
        member: Member,
        mut other: PieceId,
    ) -> Option<(RebuildId, PieceId)> {
        let p = &self.pieces[piece];
        while other != PieceId::NIL {
            let o = &self.pieces[other];
            let same = other != piece && o.row == p.row && o.rows == p.rows;
            if let Some(rebuild) = o.rebuild.some().filter(|_| same) {
                let Rebuild { waits, shared, .. } = &self.rebuilds[rebuild];
                if waits & shared & 1 << member.0 != 0 {
                    return Some((rebuild, o.next));
                }
            }
            other = o.next;
        }
        None
    }
}
