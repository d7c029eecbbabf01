//! Late binding: of k + r pieces those k count that come first.

use super::*;

/// A drive's page that its strategy computes, with so many reads beyond those that it needs: when
/// it is done, and how many reads the members had.
fn computed(extra_reads: u32, valid: [u32; 7]) -> (Instant, u64) {
    let valid = valid.map(|valid| (valid > 0).then_some(valid));
    let spec = ArraySpec {
        members: 7,
        level: RaidLevel::Ec,
        parities: 4,
        extra_reads,
        strategy: ReadStrategy::Proactive,
        xor: XOR,
        ..ArraySpec::default()
    };
    let drives = valid.iter().map(|valid| drive(*valid)).collect();
    let mut array = Array::new(&spec, drives, None, false, 1);
    let row = OTHER_CHIP;
    let members: Vec<u32> = (0..7).map(|index| array.layout.member(row, index).0).collect();
    // Row 8 of seven: data on these three, parities on the others.
    assert_eq!(members, [2, 3, 4, 5, 6, 0, 1]);
    let page = array.layout.page(row, 0);
    let end = ends(&mut array, begins() + NS, vec![command(0, page, 1)])[0];
    (end, array.counters().drive_reads)
}

#[test]
fn any_k_of_k_and_r_pieces_that_come_first_make_the_page() {
    let (at, Times { page_read, .. }) = (begins() + NS, times());
    let whole = at + page_read;
    // Its own member is free: its page counts alone.
    assert_eq!(computed(0, [0; 7]), (whole, 4));
    assert_eq!(computed(3, [0; 7]), (whole, 7));
    // It collects, and so do one, two and three of the six others, for as long as they have pages
    // to copy; data are asked first, then parities in order.
    let end = |valid: u32| free(OTHER_CHIP, valid) + page_read;
    let one = [0, 0, 9, 5, 0, 0, 0];
    assert_eq!(computed(0, one), (end(5) + XOR, 4), "one of the three that it asks");
    assert_eq!(computed(1, one), (whole + XOR, 5));
    let two = [0, 0, 9, 5, 7, 0, 0];
    assert_eq!(computed(1, two), (end(5) + XOR, 5));
    assert_eq!(computed(2, two), (whole + XOR, 6));
    let three = [0, 0, 9, 5, 7, 3, 0];
    assert_eq!(computed(2, three), (end(3) + XOR, 6));
    assert_eq!(computed(3, three), (whole + XOR, 7));
    // All but two collect: the third that comes is the one with the fewest pages.
    let four = [0, 0, 9, 5, 7, 3, 4];
    assert_eq!(computed(3, four), (end(3) + XOR, 7));
}

/// One that fails a read fast is made up for by those that were asked beside it.
#[test]
fn a_fast_fail_is_made_up_for_by_a_piece_that_was_asked_anyway() {
    let (at, Times { page_read, .. }) = (begins() + NS, times());
    for (extra_reads, reads) in [(0, 5), (1, 6), (2, 6)] {
        let valid = [0, 0, 9, 5, 0, 0].map(|valid| (valid > 0).then_some(valid));
        let spec = ArraySpec {
            members: 6,
            level: RaidLevel::Ec,
            parities: 3,
            extra_reads,
            strategy: ReadStrategy::Iod2,
            xor: XOR,
            ..ArraySpec::default()
        };
        let drives = valid.iter().map(|valid| drive(*valid)).collect();
        let mut array = Array::new(&spec, drives, None, false, 1);
        let row = OTHER_CHIP;
        let first = (0..6).map(|index| array.layout.member(row, index).0).position(|at| at == 2);
        let page = array.layout.page(row, first.unwrap() as u32);
        let end = ends(&mut array, at, vec![command(0, page, 1)])[0];
        assert_eq!(end, at + page_read + XOR, "{extra_reads}");
        assert_eq!(array.counters().drive_reads, reads, "{extra_reads}");
        assert_eq!(array.counters().fast_fails, 2);
    }
}
