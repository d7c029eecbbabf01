//! Parity inside the drive: stripes are updated in place when their pages leave the write buffer.
//!
//! ttFlash (Yan et al., FAST '17), sections 4.2 and 4.4, and the authors' code (tinyTailFlash,
//! creat_parity_read). Where members live is in `ftl/rain.rs`, how a read uses parity in
//! `reconstruct`.
//!
//! **An update.** Dirty pages of one stripe leave the buffer together (`rain.evict`) and are
//! frozen: a later write of one of them takes a slot behind it. The parity is made from what leaves
//! and either the old copies of just these pages and the old parity (*subtractive*), or all other
//! members (*additive*), whichever reads fewer pages; a page never written is not read and counts
//! as nothing. The read of an old copy also fills up a page written in part. Each page that leaves
//! is staged in its lane's row as soon as its own old copy is read; the parity, when every read is
//! done. The XOR itself takes no time here. With `rain.update_reads = "reconstruct"` the other way
//! is taken where garbage collection keeps a page that this one reads, and the other is expected to
//! have its reads sooner.
//!
//! **Atomicity.** From its first read to its last program a stripe is *under update* (`update_of`,
//! one look-up): its parity and its members on flash may disagree, so it is not reconstructed, and
//! a second update cannot begin: pages of it that should leave are parked, and are the next to go
//! when the update ends. A read that is reconstructed looks up all members at one instant, outside
//! updates; the marks on their blocks keep what it found until it has read it, whatever updates and
//! collections do meanwhile. Collections move members and parity as they are.
//!
//! **Deallocation** reads nothing: a page given back stays mapped, hidden from the host, as long as
//! the parity holds it. The next additive update leaves it out; a stripe of which everything was
//! given back is released, parity and all. A page given back while it is on its way is committed,
//! and hidden.
//!
//! **Nothing waits in a circle.** An update needs no room in the buffer: its parity has a slot of
//! its own, taken when it begins. Its reads wait for dies only, never behind programs, in their own
//! list. Its programs are those of rows: they wait for their lane's collection, which waits for
//! reads. What waits for an update (parked pages, pages behind frozen ones) waits for its rows; a
//! row that does not fill is programmed with padding when it has waiters (`awaited`), when a flush
//! or a stalled write wants everything out, and when no slot for parity is left. Parity pages are
//! logical pages of their lanes: `validate/space.rs` of `manx-config` counts them like the host's.
//!
//! Not modelled: what a power cut does to a stripe under update (the write hole).

use crate::drive::buffer::slot::State;
use crate::drive::dies::queues::{Class, FlashOp, Owner};
use crate::drive::features::Scheme;
use crate::drive::parity::reconstruct::Rebuild;
use crate::drive::parity::xor::XorEngines;
use crate::drive::parity::{RebuildId, UpdateId};
use crate::drive::{Drive, Evict, RainSpec, SlotId, UpdateReads};
use crate::ftl::{Stripes, Translation};
use crate::sim::{Slab, mix, prefetch, unmix};
use crate::units::{Instant, Lpn, Ppn};

/// Updates at once are never fewer than this, or the buffer's pages.
const UPDATES_MIN: u32 = 1024;

/// The state of parity.
#[derive(Clone, Debug)]
pub(in crate::drive) struct Rain {
    pub spec: RainSpec,
    pub(super) engines: XorEngines,
    /// By stripe: its update, or `NIL`.
    pub(super) update_of: Vec<UpdateId>,
    pub(super) updates: Vec<Update>,
    pub(super) free: Vec<UpdateId>,
    /// The buffer slot of the first update's parity.
    first_slot: SlotId,
    /// The update that begins: by member the slot that leaves, or `NIL`; between updates all are
    /// that.
    leaving: Vec<SlotId>,
    pub rebuilds: Slab<RebuildId, Rebuild>,
    /// The read that begins: stripes and the member of each that is reconstructed.
    pub targets: Vec<(u32, u32)>,
}

/// A stripe under update.
#[derive(Clone, Debug, Default)]
pub(super) struct Update {
    pub(super) stripe: u32,
    /// Reads until the parity is known.
    pub(super) reads_left: u32,
    /// Programs until the stripe is whole again, that of the parity among them.
    pub(super) pages_left: u32,
    pub(super) subtractive: bool,
    /// The parity so far.
    pub(super) parity: u32,
    /// Deallocated members that it does not hold any more, a bit each.
    pub(super) left_out: u64,
    /// Pages of the stripe that wait for its end, the last to come first.
    pub(super) parked: SlotId,
    /// A request waits for its end: its rows are not kept until they fill.
    pub(super) awaited: bool,
}

impl Rain {
    pub fn is_updating(&self, stripe: u32) -> bool {
        self.update_of[stripe as usize] != UpdateId::NIL
    }

    pub(super) fn update_mut(&mut self, update: UpdateId) -> &mut Update {
        &mut self.updates[update.index()]
    }
}

/// The part of a page in the parity of its stripe: a bijection of its version, another one for each
/// page.
pub(in crate::drive) fn mixed(lpn: Lpn, version: u32) -> u32 {
    mix(version ^ key(lpn))
}

/// The version that adds `value` to the parity.
pub(in crate::drive) fn unmixed(lpn: Lpn, value: u32) -> u32 {
    unmix(value) ^ key(lpn)
}

fn key(lpn: Lpn) -> u32 {
    lpn.0.wrapping_mul(0xc2b2_ae35).rotate_left(13)
}

/// The members in a set of them, in their order.
pub(super) fn bits(mut members: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let first = members.trailing_zeros();
        members &= members.wrapping_sub(1);
        (first < u64::BITS).then_some(first)
    })
}

impl Drive {
    /// Parity is kept as `spec` says; the map was made with parity.
    pub(in crate::drive) fn keep_parity(&mut self, spec: &RainSpec) {
        self.keep_superblock_parity(spec);
        let Some(stripes) = self.ftl.stripes().cloned() else { return };
        debug_assert_eq!(spec.width, stripes.data() + 1);
        let layout = &self.flash.layout;
        let updates =
            self.buffer.slots().min(UPDATES_MIN.max(4 * layout.lanes * layout.units_per_row));
        assert_eq!(self.scheme, Scheme::Page, "settings choose one scheme");
        self.scheme = Scheme::ParityInPlace;
        self.writes.by_stripe = spec.evict == Evict::StripeLru;
        self.rain = Some(Box::new(Rain {
            spec: spec.clone(),
            engines: XorEngines::new(spec),
            update_of: vec![UpdateId::NIL; stripes.count() as usize],
            updates: vec![Update::default(); updates as usize],
            free: (0..updates).rev().map(UpdateId).collect(),
            first_slot: self.buffer.add_parity_slots(updates),
            leaving: Vec::new(),
            rebuilds: Slab::default(),
            targets: Vec::new(),
        }));
        self.buffer.count_groups(stripes.unit() * stripes.data(), self.ftl.logical());
        self.make_parity();
    }

    /// The parity of what the pages hold, where the run carries content: before the first command,
    /// once that is settled ([`Drive::put_content`]).
    pub fn make_parity(&mut self) {
        self.make_superblock_parity();
        let Some(stripes) = self.ftl.stripes().filter(|_| self.flash.has_content()).cloned() else {
            return;
        };
        for stripe in 0..stripes.count() {
            if let Some(ppn) = self.ftl.member_at(stripes.parity(stripe)) {
                self.flash.store(ppn, self.parity_of_members(&stripes, stripe));
            }
        }
    }

    /// The parity of a stripe by the content of its members on flash.
    fn parity_of_members(&self, stripes: &Stripes, stripe: u32) -> u32 {
        let held = |lpn| self.ftl.member_at(lpn).map(|ppn| mixed(lpn, self.flash.load(ppn)));
        (0..stripes.data())
            .filter_map(|member| held(stripes.member(stripe, member)))
            .fold(0, |sum, part| sum ^ part)
    }

    /// Asserts that every stripe that is not under update has the parity of its members. Slow; for
    /// tests.
    pub fn check_parity(&self) {
        self.check_superblock_parity();
        let (Some(rain), Some(stripes)) = (&self.rain, self.ftl.stripes()) else { return };
        for stripe in (0..stripes.count()).filter(|stripe| !rain.is_updating(*stripe)) {
            let parity = self.ftl.member_at(stripes.parity(stripe));
            let members = (0..stripes.data()).map(|member| stripes.member(stripe, member));
            let seen =
                members.filter(|lpn| self.ftl.translate(*lpn) != Translation::Unwritten).count();
            assert_eq!(
                parity.is_some(),
                seen > 0,
                "stripe {stripe}: the host has {seen} of its pages"
            );
            if let Some(ppn) = parity.filter(|_| self.flash.has_content()) {
                assert_eq!(
                    self.flash.load(ppn),
                    self.parity_of_members(stripes, stripe),
                    "parity of stripe {stripe}"
                );
            }
        }
    }

    /// The stripe of a data page, where there is parity.
    #[inline]
    pub(super) fn stripe_of(&self, lpn: Lpn) -> Option<u32> {
        self.ftl.stripes().map(|stripes| stripes.member_of(lpn).0)
    }

    /// The update of a page's stripe begins soon: what it looks up is asked for.
    #[inline]
    pub(in crate::drive) fn hint_update(&self, lpn: Lpn) {
        let (Some(rain), Some(stripes)) = (&self.rain, self.ftl.stripes()) else { return };
        let (stripe, member) = stripes.member_of(lpn);
        prefetch(&rain.update_of, stripe as usize);
        self.buffer.prefetch_group(lpn);
        // The ends of the stripe's entries, which are neighbours or not far from each other.
        let first = lpn.0 - member * stripes.unit();
        self.ftl.prefetch(Lpn(first));
        self.ftl.prefetch(Lpn(first + (stripes.data() - 1) * stripes.unit()));
        self.ftl.prefetch(stripes.parity(stripe));
    }

    /// Sends a dirty page on its way with its stripe, or lets it wait for the update under way;
    /// false when no update can begin now.
    pub(in crate::drive) fn evict_stripe(&mut self, now: Instant, slot: SlotId) -> bool {
        let Some(stripe) = self.stripe_of(self.buffer.slot(slot).lpn) else { return false };
        let Some(rain) = &mut self.rain else { return false };
        let update = rain.update_of[stripe as usize];
        if update != UpdateId::NIL {
            self.park(slot, update);
            return true;
        }
        let Some(update) = rain.free.pop() else {
            // Parity that waits for a row to fill keeps its slot: it must go.
            self.writes.seal_wanted = true;
            return false;
        };
        rain.update_of[stripe as usize] = update;
        self.begin_update(now, update, stripe, slot);
        true
    }

    /// A dirty page waits for the end of its stripe's update.
    fn park(&mut self, slot: SlotId, update: UpdateId) {
        let Some(rain) = &mut self.rain else { return };
        let u = rain.update_mut(update);
        self.buffer.leave_dirty(slot, State::Parked);
        self.buffer.link_parked(slot, u.parked);
        u.parked = slot;
        if self.buffer.slot(slot).has_waiters() {
            u.awaited = true;
            self.writes.seal_wanted = true;
        }
    }

    /// A request waits for a page that waits for its stripe's update.
    pub(in crate::drive) fn await_update(&mut self, lpn: Lpn) {
        let Some(stripe) = self.stripe_of(lpn) else { return };
        let Some(rain) = &mut self.rain else { return };
        let update = rain.update_of[stripe as usize];
        rain.update_mut(update).awaited = true;
        self.writes.seal_wanted = true;
    }

    /// Chooses what leaves with `oldest`, a bit for each member, and how its parity is made: true
    /// for the subtractive way.
    fn plan_update(&mut self, now: Instant, stripe: u32, oldest: SlotId) -> (u64, bool) {
        let is_short = self.takes_shortcuts();
        let (Some(rain), Some(stripes)) = (&mut self.rain, self.ftl.stripes()) else {
            return (0, false);
        };
        let lpn = self.buffer.slot(oldest).lpn;
        let (_, first) = stripes.member_of(lpn);
        let mut members = 1 << first;
        rain.leaving.resize(stripes.data() as usize, SlotId::NIL);
        rain.leaving[first as usize] = oldest;
        if rain.spec.evict != Evict::Page && !(is_short && self.buffer.is_alone(lpn)) {
            for (member, lpn) in
                (0..).zip(stripes.members(stripe)).filter(|(member, _)| *member != first)
            {
                if let Some(slot) = self
                    .buffer
                    .find(lpn)
                    .filter(|slot| self.buffer.slot(*slot).state == State::Dirty)
                {
                    members |= 1 << member;
                    rain.leaving[member as usize] = slot;
                }
            }
        }
        let is_visible = |lpn| self.ftl.member_at(lpn).is_some() && !self.ftl.is_trimmed(lpn);
        let mut subtractive = u32::from(self.ftl.member_at(stripes.parity(stripe)).is_some());
        let mut additive = 0;
        for member in bits(members) {
            let (lpn, slot) = (stripes.member(stripe, member), rain.leaving[member as usize]);
            subtractive += u32::from(self.ftl.member_at(lpn).is_some());
            additive += u32::from(!self.buffer.is_whole(slot) && is_visible(lpn));
        }
        let may_turn = rain.spec.update_reads == UpdateReads::Reconstruct;
        for (_, lpn) in
            (0..).zip(stripes.members(stripe)).filter(|(member, _)| members >> member & 1 == 0)
        {
            // How many more there are would change nothing.
            if additive >= subtractive && !may_turn && is_short {
                break;
            }
            additive += u32::from(is_visible(lpn));
        }
        let pages = members.count_ones();
        let is_full = pages == stripes.data();
        let mut is_subtractive = subtractive <= additive;
        if may_turn && !is_full {
            let turned =
                self.turns_update(now, stripe, is_subtractive, subtractive.abs_diff(additive));
            self.counters.rain.turned_updates += u64::from(turned);
            is_subtractive ^= turned;
        }
        let counters = &mut self.counters.rain;
        counters.full_stripes += u64::from(is_full);
        counters.partial_stripes += u64::from(!is_full);
        counters.subtractive_stripes += u64::from(!is_full && is_subtractive);
        counters.stripe_pages += u64::from(pages);
        (members, is_subtractive)
    }

    /// True when the way that reads `more` pages is expected to have them sooner than the other,
    /// whose reads garbage collection keeps. What one way must wait for the other computes: a
    /// stripe's members and its parity sum to zero.
    fn turns_update(&self, now: Instant, stripe: u32, is_subtractive: bool, more: u32) -> bool {
        let (Some(rain), Some(stripes)) = (&self.rain, self.ftl.stripes()) else { return false };
        let kept_by = |subtractive| {
            let members = (0..)
                .zip(&rain.leaving)
                .map(|(member, slot)| (stripes.member(stripe, member), *slot));
            let read = members.filter(|(lpn, slot)| match (*slot == SlotId::NIL, subtractive) {
                (false, true) => true,
                (true, true) => false,
                (false, false) => !self.ftl.is_trimmed(*lpn) && !self.buffer.is_whole(*slot),
                (true, false) => !self.ftl.is_trimmed(*lpn),
            });
            let parity = Some(stripes.parity(stripe)).filter(|_| subtractive);
            let pages = read
                .map(|(lpn, _)| lpn)
                .chain(parity)
                .filter(|lpn| self.ftl.member_at(*lpn).is_some());
            pages.map(|lpn| self.forecast_of(now, lpn).left).max().unwrap_or_default()
        };
        let cost = self.read_alone(self.flash.layout.unit_sectors) * u64::from(more);
        let kept = kept_by(is_subtractive);
        !kept.is_zero() && kept_by(!is_subtractive) + cost < kept
    }

    fn begin_update(&mut self, now: Instant, update: UpdateId, stripe: u32, oldest: SlotId) {
        let (members, subtractive) = self.plan_update(now, stripe, oldest);
        let (Some(rain), Some(stripes)) = (&mut self.rain, self.ftl.stripes()) else { return };
        let (data, parity) = (stripes.data(), stripes.parity(stripe));
        let pages_left = members.count_ones() + 1;
        *rain.update_mut(update) =
            Update { stripe, pages_left, subtractive, parked: SlotId::NIL, ..Update::default() };
        // A read that starts may begin another update.
        let mut leaving = std::mem::take(&mut rain.leaving);
        for member in bits(members) {
            self.leaves(leaving[member as usize], State::Flying);
        }
        // The others are read the additive way only.
        for member in bits(if subtractive { members } else { u64::MAX >> (u64::BITS - data) }) {
            let slot = std::mem::replace(&mut leaving[member as usize], SlotId::NIL);
            self.update_member(now, update, member, slot);
        }
        if let Some(ppn) = self.ftl.member_at(parity).filter(|_| subtractive) {
            self.read_for_update(now, update, SlotId::NIL, ppn);
        }
        let Some(rain) = &mut self.rain else { return };
        rain.leaving = leaving;
        if rain.update_mut(update).reads_left == 0 {
            self.stage_parity(now, update);
        }
    }

    /// Reads what the update needs of a member, and stages the page that leaves if it needs
    /// nothing.
    fn update_member(&mut self, now: Instant, update: UpdateId, member: u32, slot: SlotId) {
        let (Some(rain), Some(stripes)) = (&mut self.rain, self.ftl.stripes()) else { return };
        let u = rain.update_mut(update);
        let lpn = stripes.member(u.stripe, member);
        let (on_flash, trimmed, subtractive) =
            (self.ftl.member_at(lpn), self.ftl.is_trimmed(lpn), u.subtractive);
        if slot == SlotId::NIL {
            match on_flash {
                Some(_) if trimmed => u.left_out |= 1 << member,
                Some(ppn) => self.read_for_update(now, update, SlotId::NIL, ppn),
                None => {}
            }
            return;
        }
        if on_flash.is_none() || trimmed {
            self.buffer.filled(slot, 0);
        }
        match on_flash {
            Some(ppn) if subtractive || !self.buffer.is_whole(slot) => {
                self.read_for_update(now, update, slot, ppn)
            }
            _ => self.stage_member(now, update, slot),
        }
    }

    fn read_for_update(&mut self, now: Instant, update: UpdateId, slot: SlotId, ppn: Ppn) {
        let Some(rain) = &mut self.rain else { return };
        rain.update_mut(update).reads_left += 1;
        if slot != SlotId::NIL && !self.buffer.is_whole(slot) {
            self.counters.buffer.rmw_reads += 1;
        } else {
            self.counters.rain.parity_reads += 1;
        }
        self.writes.leaving += 1;
        let ppn = self.settled(now, ppn);
        self.ftl.read_started(ppn);
        let lane = self.flash.layout.lane_of(self.flash.layout.block_of(ppn));
        let owner = Owner::Update { update, slot };
        let op = FlashOp::new(owner, Class::Write, lane, ppn, 1, self.flash.layout.unit_sectors);
        let op = self.ops.insert(op);
        self.enqueue_known(now, op, Class::Write, owner, lane);
    }

    /// The part of a page on flash in the parity; of a parity page, its content.
    pub(in crate::drive) fn part_of_parity(&self, page: Ppn) -> u32 {
        if !self.flash.has_content() {
            return 0;
        }
        let (lpn, held) = (self.ftl.mapping().logical_of(page), self.flash.load(page));
        if lpn.0 >= self.ftl.logical() { held } else { mixed(lpn, held) }
    }

    /// A page that leaves goes to its lane's row.
    pub(super) fn stage_member(&mut self, now: Instant, update: UpdateId, slot: SlotId) {
        let Some(rain) = &mut self.rain else { return };
        let (s, u) = (self.buffer.slot(slot), rain.update_mut(update));
        u.parity ^= mixed(s.lpn, s.stamp.version);
        self.stage_of(now, update, slot);
    }

    pub(super) fn stage_parity(&mut self, now: Instant, update: UpdateId) {
        let (Some(rain), Some(stripes)) = (&mut self.rain, self.ftl.stripes()) else { return };
        let slot = SlotId(rain.first_slot.0 + update.0);
        let (s, u) = (self.buffer.slot_mut(slot), rain.update_mut(update));
        (s.lpn, s.stamp.version) = (stripes.parity(u.stripe), u.parity);
        self.stage_of(now, update, slot);
    }

    fn stage_of(&mut self, now: Instant, update: UpdateId, slot: SlotId) {
        let lpn = self.buffer.slot(slot).lpn;
        self.writes.seal_wanted |=
            self.rain.as_mut().is_some_and(|rain| rain.update_mut(update).awaited);
        self.ftl.prefetch(lpn);
        let class = self.ftl.class_of_write(lpn, self.buffer.slot(slot).stream);
        self.stage(now, slot, self.ftl.striped_lane(lpn), class);
    }

    /// The host gives a page back: it is hidden until its stripe's parity does not hold it any
    /// more.
    pub(in crate::drive) fn trim_member(&mut self, lpn: Lpn) {
        if self.ftl.member_at(lpn).is_some() {
            self.ftl.set_trimmed(lpn, true);
        }
        let Some(stripe) = self.stripe_of(lpn) else { return };
        if !self.rain.as_ref().is_some_and(|rain| rain.is_updating(stripe)) {
            self.ftl.release_empty(stripe);
        }
    }

    /// At most so many updates at once, of what there is room for.
    #[cfg(test)]
    pub(crate) fn limit_updates(&mut self, updates: usize) {
        self.rain.as_mut().expect("there is parity").free.truncate(updates);
    }

    /// Two pages take each other's content.
    #[cfg(test)]
    pub(crate) fn exchange(&mut self, a: Ppn, b: Ppn) {
        let held = [self.flash.load(a), self.flash.load(b)];
        self.flash.store(a, held[1]);
        self.flash.store(b, held[0]);
    }

    /// Spoils a page's content.
    #[cfg(test)]
    pub(crate) fn spoil(&mut self, page: Ppn) {
        let held = self.flash.load(page);
        self.flash.store(page, held ^ 1);
    }
}
