use super::*;
use proptest::prelude::*;
use std::collections::BTreeSet;

/// A set of all touched grains, counted one by one.
#[derive(Default)]
struct Counted(BTreeSet<u64>);

impl Counted {
    fn touch(&mut self, lba: u64, sectors: u32) {
        self.0.extend(lba / GRAIN..(lba + u64::from(sectors)).div_ceil(GRAIN));
    }

    fn position(&self, lba: u64) -> u64 {
        let below = self.0.range(..lba / GRAIN).count() as u64 * GRAIN;
        if self.0.contains(&(lba / GRAIN)) { below + lba % GRAIN } else { below }
    }

    fn place(&self, range: Range<u64>) -> Option<Range<u64>> {
        let place = self.position(range.start)..self.position(range.end);
        (!place.is_empty()).then_some(place)
    }
}

#[test]
fn touched_extents_lie_side_by_side_in_address_order() {
    let mut extents = Extents::default();
    extents.touch(0, 8000, 8);
    extents.touch(0, 80, 8);
    extents.touch(0, 83, 8); // straddles into the next grain
    let packing = extents.pack(&[0]);
    assert_eq!(packing.size, 24);
    assert_eq!(packing.place(80..88), Some(0..8));
    assert_eq!(packing.place(83..91), Some(3..11));
    assert_eq!(packing.place(8000..8008), Some(16..24));
    assert_eq!(packing.place(200..208), None);
    assert_eq!(packing.place(0..1 << 40), Some(0..24));
}

#[test]
fn the_first_and_the_last_grains_of_a_chunk_are_told_apart() {
    let sectors = CHUNK * GRAIN;
    let mut extents = Extents::default();
    for lba in [0, sectors - 8, 3 * sectors, 5 * sectors - 8, 5 * sectors] {
        extents.touch(0, lba, 8);
    }
    let packing = extents.pack(&[0]);
    assert_eq!(packing.size, 40);
    assert_eq!(packing.place(sectors - 16..sectors), Some(8..16));
    assert_eq!(packing.place(sectors..3 * sectors + 8), Some(16..24));
    assert_eq!(packing.place(5 * sectors - 8..5 * sectors + 8), Some(24..40));
    assert_eq!(packing.place(sectors..3 * sectors), None);
}

#[test]
fn extents_of_whole_chunks_swallow_what_they_hold() {
    let sectors = CHUNK * GRAIN;
    let mut extents = Extents::default();
    extents.touch(0, 2 * sectors + 80, 8); // inside the next one
    extents.touch(0, sectors - 8, 3 * sectors as u32); // ends 8 sectors before chunk 4
    extents.touch(0, 9 * sectors, sectors as u32);
    extents.touch(0, 3 * sectors, 2 * sectors as u32);
    let packing = extents.pack(&[0]);
    assert_eq!(packing.size, 5 * sectors + 8);
    assert_eq!(packing.place(sectors - 100..2 * sectors), Some(0..sectors + 8));
    assert_eq!(packing.place(2 * sectors + 83..2 * sectors + 90), Some(sectors + 91..sectors + 98));
    assert_eq!(
        packing.place(5 * sectors - 3..9 * sectors + 5),
        Some(4 * sectors + 5..4 * sectors + 13)
    );
    assert_eq!(packing.place(5 * sectors..9 * sectors), None);
    assert_eq!(packing.place(9 * sectors..20 * sectors), Some(4 * sectors + 8..5 * sectors + 8));
}

#[test]
fn a_chunk_of_many_single_grains_becomes_bits_and_fills_up() {
    let (mut extents, mut counted) = (Extents::default(), Counted::default());
    for grain in (0..CHUNK).step_by(2).chain((1..CHUNK / 2).step_by(2)) {
        extents.touch(0, grain * GRAIN, 8);
        counted.touch(grain * GRAIN, 8);
    }
    assert!(matches!(extents.chunks.values().next(), Some(Grains::Bits(_))));
    let packing = extents.pack(&[0]);
    assert_eq!(packing.size, CHUNK / 4 * 3 * GRAIN);
    for lba in (0..(CHUNK + 10) * GRAIN).step_by(8 * 97 + 3) {
        assert_eq!(packing.position(lba), counted.position(lba), "{lba}");
    }
}

#[test]
fn a_sequential_trace_and_one_of_huge_requests_take_no_chunks() {
    let mut extents = Extents::default();
    (0..1 << 20).for_each(|n| extents.touch(0, n * 8, 8));
    assert!(extents.chunks.is_empty());
    // Requests of 1 TiB, a gap of 8 chunks apart.
    (1..100u64).for_each(|n| extents.touch(1, n * ((1 << 31) + 8 * CHUNK * GRAIN), 1 << 31));
    assert!(extents.chunks.is_empty());
    assert_eq!(extents.whole.len(), 99);
    assert_eq!(extents.pack(&[0, 1 << 23]).size, (8 << 20) + 99 * (1 << 31));
}

/// Ranges of sectors: crowded in the first chunk, around borders of chunks, or over a whole one.
fn ranges() -> impl Strategy<Value = Vec<(u32, u64, u32)>> {
    let chunk = CHUNK * GRAIN;
    let crowded = (0..400u64, 1..40u32);
    let border = (1..4u64, 0..60u64, 1..80u32)
        .prop_map(move |(n, at, sectors)| (n * chunk - 30 + at, sectors));
    let whole = (0..3u64, 0..60u64, 0..60u32)
        .prop_map(move |(n, at, more)| ((n * chunk + at).saturating_sub(30), chunk as u32 + more));
    let range = prop_oneof![8 => crowded, 8 => border, 1 => whole];
    prop::collection::vec(
        (0..2u32, range).prop_map(|(device, (lba, sectors))| (device, lba, sectors)),
        1..40,
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// The packed place of a sector is the number of touched ones below it, whatever asks: a
    /// request that touched it, or a trim of any other range.
    #[test]
    fn packing_agrees_with_counting(touched in ranges(), asked in ranges()) {
        // The second device starts right after the first, in the middle of a chunk.
        let bases = [0, (5 * CHUNK + 77) * GRAIN];
        let (mut extents, mut counted) = (Extents::default(), Counted::default());
        for (device, lba, sectors) in &touched {
            extents.touch(*device, *lba, *sectors);
            counted.touch(bases[*device as usize] + lba, *sectors);
        }
        let packing = extents.pack(&bases);
        prop_assert_eq!(packing.size, counted.0.len() as u64 * GRAIN);
        for (device, lba, sectors) in touched.into_iter().chain(asked) {
            let lba = bases[device as usize] + lba;
            let range = lba..lba + u64::from(sectors);
            prop_assert_eq!(packing.place(range.clone()), counted.place(range));
        }
    }

    /// Runs and bits alike, wherever in the chunk.
    #[test]
    fn a_chunk_agrees_with_counting(
        runs in prop::collection::vec((any::<u16>(), 0..20u16), 1..60),
        step in prop::option::of(2..24u16),
    ) {
        let (mut grains, mut counted) = (Grains::default(), BTreeSet::new());
        let teeth = |step: u16| (0..u16::MAX).step_by(step.into()).map(|grain| (grain, 0));
        let comb = step.into_iter().flat_map(teeth);
        for (first, more) in runs.iter().copied().chain(comb) {
            let last = first.saturating_add(more);
            grains.add(first, last);
            counted.extend(first..=last);
        }
        let ranked = grains.ranked();
        prop_assert_eq!(ranked.count(), counted.len() as u64);
        let ends = runs.into_iter().flat_map(|(first, more)| [first, first.saturating_add(more)]);
        for grain in ends.chain([0, u16::MAX]) {
            for grain in [grain.saturating_sub(1), grain, grain.saturating_add(1)] {
                let below = counted.range(..grain).count() as u64;
                prop_assert_eq!(ranked.rank(grain), (below, counted.contains(&grain)), "{}", grain);
            }
        }
    }
}
