//! A lane of BAST, FAST, FASTer or LAST after a power loss.
//!
//! Log blocks of random writes, second chances and cold pages go back to their queues in the order
//! in which they were opened, if anything in them counts. A data block holds each page in its
//! place, and so do the sequential log block of FAST and the target of a merge: where a logical
//! block is left with several of these, its pages are brought together in a free block (one of
//! `spare_blocks`) and they are erased. So the sequential log block of FAST is closed by a power
//! loss, and a merge that had programmed the host's page is done anew.
//!
//! A log block of one logical block (all of BAST's, the sequential ones of LAST) is bound to it
//! again. No header tells that such a block became the data block by a switch or a partial merge:
//! it did if all its pages are in their places and no page of another data block counts. It is in
//! order if it holds the front of the data block and nothing there counts in the data block itself,
//! as a copy of a merge that was cut would leave it.
//!
//! Second chances are known again by the block that they are in; a mark without a block of its own
//! (`tail = "mixed"`, renewed blocks) is lost, and the page has another chance. The pointer of the
//! isolation area begins at the first. LAST has nothing in the hot partition at first, and its
//! share and age begin anew; a log block that was open and is not the last one takes no more pages.

use super::{Cell, Scanned, carry_out, erase};
use crate::flash::Block;
use crate::ftl::log::Policy;
use crate::ftl::recovery::{Repair, Role};
use std::collections::BTreeMap;

/// A policy with data blocks: it says which blocks a scan finds, and fills its queues again.
pub(in crate::ftl::log) trait DataBlocks: Policy {
    /// Blocks of this role hold the pages of one logical block, each in its place.
    fn is_in_place(role: Role) -> bool {
        matches!(role, Role::Data | Role::Copies)
    }

    /// Blocks of this role are the log of one logical block.
    fn is_bound(role: Role) -> bool;

    /// Takes the other log blocks back, the longest in use first.
    fn requeue(&mut self, blocks: impl Iterator<Item = (Block, Role)>);

    /// Takes the log block of a logical block back, the longest in use first; it may hold its front
    /// in order.
    fn bind_again(&mut self, lbn: u32, log: Block, in_order: bool);
}

/// Blocks of a logical block, with the number of their opening: that hold its pages in their
/// places, and its log.
#[derive(Default)]
struct Family {
    in_place: Vec<(u64, Block)>,
    bound: Vec<(u64, Block)>,
}

/// The lane is fresh: takes over what a scan found, and says what must be done on flash for it, and
/// how many logical blocks were merged.
pub(super) fn rebuild<P: DataBlocks>(policy: &mut P, scanned: &Scanned) -> (Vec<Repair>, u32) {
    let (mut families, mut queued, mut dead) =
        (BTreeMap::<u32, Family>::new(), Vec::new(), Vec::new());
    for (block, header) in scanned.take_over(policy.lane_mut()) {
        let counts = policy.lane().valid(block) > 0;
        match header {
            Some((order, role)) if P::is_in_place(role) => {
                match logical_block(policy, scanned, block) {
                    Some((lbn, in_place)) => {
                        assert!(in_place, "block {} holds each page in its place", block.0);
                        families.entry(lbn).or_default().in_place.push((order, block));
                    }
                    None => dead.push(block),
                }
            }
            Some((order, role)) if P::is_bound(role) && counts => {
                match logical_block(policy, scanned, block) {
                    Some((lbn, _)) => families.entry(lbn).or_default().bound.push((order, block)),
                    None => dead.push(block),
                }
            }
            Some((order, role)) if counts => queued.push((order, block, role)),
            _ => dead.push(block),
        }
    }
    let (mut merges, mut bound) = (Vec::new(), Vec::new());
    for (lbn, mut family) in families {
        family.in_place.sort_unstable();
        family.bound.sort_unstable();
        let others = find_data_block(policy, scanned, lbn, &mut family, &mut dead);
        match (&others[..], &family.bound[..], policy.lane().data_block(lbn)) {
            ([], [], _) => {}
            ([], [(order, log)], Some(data)) => {
                bound.push((*order, lbn, *log, is_front(policy, scanned, *log, data)));
            }
            _ => {
                let logs = family.bound.iter().map(|(_, log)| *log);
                merges.push((lbn, others.iter().copied().chain(logs).collect::<Vec<_>>()));
            }
        }
    }
    let mut repairs = Vec::new();
    dead.into_iter().for_each(|block| erase(policy, block, &mut repairs));
    queued.sort_unstable_by_key(|(order, ..)| *order);
    policy.requeue(queued.into_iter().map(|(_, block, role)| (block, role)));
    bound.sort_unstable();
    for (_, lbn, log, in_order) in bound {
        policy.bind_again(lbn, log, in_order);
    }
    let merged = merges.len() as u32;
    for (lbn, others) in merges {
        policy.lane_mut().merge_full(lbn, false, None);
        carry_out(policy, &mut repairs);
        others.into_iter().for_each(|block| erase(policy, block, &mut repairs));
    }
    (repairs, merged)
}

/// Chooses the data block of a logical block; returns the others that hold pages that count. What
/// is left of its log stays in the family.
fn find_data_block<P: DataBlocks>(
    policy: &mut P,
    scanned: &Scanned,
    lbn: u32,
    family: &mut Family,
    dead: &mut Vec<Block>,
) -> Vec<Block> {
    let counts = |block: &Block| policy.lane().valid(*block) > 0;
    let (with, mut without): (Vec<_>, Vec<_>) =
        family.in_place.iter().map(|(_, block)| *block).partition(counts);
    let became = family.bound.first().map(|(_, log)| *log).filter(|log| {
        with.is_empty() && logical_block(policy, scanned, *log).is_some_and(|(_, placed)| placed)
    });
    let data = became.or(with.first().copied()).or(without.first().copied());
    if became.is_some() {
        family.bound.remove(0);
    }
    if let Some(data) = data {
        policy.lane_mut().set_data(lbn, data);
        without.retain(|block| *block != data);
    }
    dead.extend(without);
    with.into_iter().skip(1).collect()
}

/// The logical block of the first legible page in a block, and whether each legible page is in its
/// place there.
fn logical_block(policy: &impl Policy, scanned: &Scanned, block: Block) -> Option<(u32, bool)> {
    let lane = policy.lane();
    let pages = || (0..).zip(scanned.cells_of(block, lane.pages).iter().map(Cell::page));
    let lbn = pages().find_map(|(_, page)| page.map(|page| lane.split(page).0))?;
    let placed =
        |(at, page): (u32, Option<_>)| page.is_none_or(|page| lane.split(page) == (lbn, at));
    Some((lbn, pages().all(placed)))
}

/// True where a log block holds the first pages of its logical block, each in its place, and none
/// of them counts in the data block.
fn is_front(policy: &impl Policy, scanned: &Scanned, log: Block, data: Block) -> bool {
    let (lane, written) = (policy.lane(), policy.lane().written(log) as usize);
    let front = &scanned.cells_of(log, lane.pages)[..written];
    let counts = |cell: &Cell| matches!(cell, Cell::Counts(_));
    front.iter().all(|cell| cell.page().is_some())
        && logical_block(policy, scanned, log).is_some_and(|(_, placed)| placed)
        && !scanned.cells_of(data, lane.pages)[..written].iter().any(counts)
}
