//! Where an array's request waited, each cause and each stage by arithmetic.

use super::*;
use crate::drive::{Attributed, CommandId, Step};
use crate::units::{Cause, Split, Stage};

/// Time of each command of the drives in the controller: that is all that a fast failure takes.
const TRIP: Duration = Duration::from_ns(3_210);

/// A row on the channel that collects, whose data are on members 0 to 3 of five.
const ROW_OF_FIVE: u32 = 5 * OTHER_CHIP;

/// A request's step: its stage, the drive, the time, and the causes of that.
type Told = (Stage, Option<u32>, Duration, Vec<(Cause, Duration)>);

fn spec(level: RaidLevel, strategy: ReadStrategy, members: usize) -> ArraySpec {
    ArraySpec { members: members as u32, level, strategy, xor: XOR, ..ArraySpec::default() }
}

fn attributed(spec: &ArraySpec, valid: &[Option<u32>], controller: Duration) -> Array {
    let drives = valid.iter().map(|valid| drive_with(*valid, controller)).collect();
    let mut array = Array::new(spec, drives, None, false, 1);
    Storage::attribute(&mut array);
    array
}

fn causes(split: &Split) -> Vec<(Cause, Duration)> {
    split.iter().filter(|(_, time)| !time.is_zero()).collect()
}

/// The steps of each command, by its number, which are submitted at their times.
fn told(array: &mut Array, commands: Vec<(Instant, Command)>) -> Vec<Vec<Told>> {
    let came: Vec<Instant> = commands.iter().map(|(at, _)| *at).collect();
    let mut all = vec![Vec::new(); commands.len()];
    let mut take = |array: &Array, id: CommandId, end: Instant| {
        let steps: Vec<Step> = array.steps().to_vec();
        let Attributed { split, .. } = array.attributed().expect("asked for");
        assert_eq!(split.total(), end.since(came[id.index()]), "the parts add up to the latency");
        let tell =
            |step: &Step| (step.stage, step.drive, step.to.since(step.from), causes(&step.split));
        all[id.index()] = steps.iter().map(tell).collect();
    };
    for (at, command) in commands {
        while let Some(done) = array.advance_before(at) {
            take(array, done.id, done.at);
        }
        array.submit(at, command);
    }
    while let Some(done) = array.advance_before(Instant::NEVER) {
        take(array, done.id, done.at);
    }
    assert_eq!(array.rows_under_way(), 0);
    all
}

/// A read of the row's first page, which is member 0's.
fn first_page(array: &Array, row: u32) -> Command {
    assert_eq!(array.layout.member(row, 0), Member(0));
    command(0, array.layout.page(row, 0), 1)
}

fn some(valid: u32) -> Option<u32> {
    (valid > 0).then_some(valid)
}

/// When a drive with a controller of [`TRIP`] holds its channel no longer.
fn channel_free(valid: u32) -> Instant {
    released(valid) + TRIP + times().erase_command
}

fn service(time: Duration) -> Vec<(Cause, Duration)> {
    vec![(Cause::Service, time)]
}

const XORED: (Stage, Option<u32>, Duration) = (Stage::Xor, None, XOR);

fn computed() -> Told {
    (XORED.0, XORED.1, XORED.2, vec![(Cause::Reconstruct, XOR)])
}

fn failed(drive: u32) -> Told {
    (Stage::Retry, Some(drive), TRIP, vec![(Cause::Retry, TRIP)])
}

#[test]
fn a_fast_failure_costs_its_round_trip_and_who_must_wait_waits_for_the_collection() {
    let (at, read) = (begins() + TRIP + NS, times().page_read + TRIP);
    let steps = |valid: [u32; 4], at| {
        let mut array =
            attributed(&spec(RaidLevel::Raid5, ReadStrategy::Iod2, 4), &valid.map(some), TRIP);
        let command = first_page(&array, OTHER_CHIP);
        told(&mut array, vec![(at, command)]).remove(0)
    };
    assert_eq!(steps([0, 0, 0, 0], at), [(Stage::Read, Some(0), read, service(read))]);
    // The others' answers come at one instant, the last member's last.
    let rest = (Stage::Reconstruct, Some(3), read, service(read));
    assert_eq!(steps([9, 0, 0, 0], at), [failed(0), rest, computed()]);
    // Two fail, and the other one is free first: it holds its channel from before the command comes
    // to it.
    let fast_failed = at + TRIP * 2;
    let wait = channel_free(3).since(fast_failed + TRIP);
    let whole = wait + read;
    // The collection's erase command is before it on the channel too.
    let held = vec![(Cause::Service, read), (Cause::GcCopy, wait)];
    let rest = (Stage::Reconstruct, Some(1), whole, held);
    assert_eq!(steps([9, 3, 0, 0], at), [failed(0), failed(1), rest, computed()]);
}

#[test]
fn what_is_read_in_vain_until_the_hedge_or_the_death_is_retried() {
    let (at, page_read) = (begins() + NS, times().page_read);
    let after = Duration::from_us(50);
    let hedged =
        ArraySpec { hedge_after: after, ..spec(RaidLevel::Raid5, ReadStrategy::Hedged, 4) };
    let mut array = attributed(&hedged, &[Some(9), None, None, None], Duration::ZERO);
    let command = first_page(&array, OTHER_CHIP);
    // Answers of one instant come by the members' numbers.
    let rest = (Stage::Reconstruct, Some(3), page_read, service(page_read));
    let in_vain = |time| (Stage::Retry, Some(0), time, vec![(Cause::Retry, time)]);
    assert_eq!(
        told(&mut array, vec![(at, command.clone())]),
        [[in_vain(after), rest.clone(), computed()]]
    );
    let fail_at = at.since(Instant::START) + Duration::from_us(123);
    let dies = ArraySpec { fail_at, ..spec(RaidLevel::Raid5, ReadStrategy::Direct, 4) };
    let mut array = attributed(&dies, &[Some(9), None, None, None], Duration::ZERO);
    assert_eq!(
        told(&mut array, vec![(at, command)]),
        [[in_vain(Duration::from_us(123)), rest, computed()]]
    );
}

#[test]
fn a_write_waits_for_its_row_then_for_old_pages_then_for_its_writes() {
    let Times { page_read, page_program, .. } = times();
    let mut array =
        attributed(&spec(RaidLevel::Raid5, ReadStrategy::Direct, 5), &[None; 5], Duration::ZERO);
    let (at, page) = (Instant::from_ns(1_000_000), array.layout.page(ROW_OF_FIVE, 0));
    let last = array.layout.member(ROW_OF_FIVE, 0).max(array.layout.member(ROW_OF_FIVE, 4)).0;
    // Both are read and both are written in one time; the array is told of them by their numbers.
    let write = |id| Command { op: Op::Write, ..command(id, page, 1) };
    let later = at + Duration::from_ns(1_000);
    let steps = told(&mut array, vec![(at, write(0)), (later, write(1))]);
    let own = [
        (Stage::PreRead, Some(last), page_read, service(page_read)),
        (Stage::Write, Some(last), page_program, service(page_program)),
    ];
    assert_eq!(steps[0], own);
    let stripe = page_read + page_program - Duration::from_ns(1_000);
    assert_eq!(steps[1][0], (Stage::Stripe, None, stripe, vec![(Cause::Stripe, stripe)]));
    assert_eq!(steps[1][1..], own);
}

/// A read of the whole row keeps an update from its writes, and that another such read from the
/// row.
#[test]
fn updates_wait_for_readers_of_the_row_and_readers_for_them() {
    let (at, Times { page_read, page_program, .. }) = (begins() + TRIP + NS, times());
    let (read, program) = (page_read + TRIP, page_program + TRIP);
    let iod2 = spec(RaidLevel::Raid5, ReadStrategy::Iod2, 5);
    let mut array = attributed(&iod2, &[Some(9), Some(3), None, None, None], TRIP);
    let layout = array.layout.clone();
    let index = |member| {
        (0..layout.data).find(|index| layout.member(ROW_OF_FIVE, *index) == Member(member)).unwrap()
    };
    let page = |member| layout.page(ROW_OF_FIVE, index(member));
    // Member 0's page is computed from member 1's, which is waited for; member 2's is written; then
    // member 0's again.
    let write = Command { op: Op::Write, ..command(1, page(2), 1) };
    let again = at + read + Duration::from_us(1);
    let commands = vec![(at, command(0, page(0), 1)), (at, write), (again, command(2, page(0), 1))];
    let steps = told(&mut array, commands);
    let first: Duration =
        steps[0].iter().map(|step| step.2).fold(Duration::ZERO, |sum, time| sum + time);
    assert_eq!(at + first, channel_free(3) + page_read + XOR);
    let waited = first - read;
    let parity = layout.member(ROW_OF_FIVE, 4).0;
    let last = parity.max(2);
    assert_eq!(
        steps[1],
        [
            (Stage::PreRead, Some(last), read, service(read)),
            (Stage::Stripe, None, waited, vec![(Cause::Stripe, waited)]),
            (Stage::Write, Some(last), program, service(program)),
        ]
    );
    let blocked = (at + first).since(again + TRIP);
    assert_eq!(
        steps[2][..2],
        [failed(0), (Stage::Stripe, None, blocked, vec![(Cause::Stripe, blocked)])]
    );
    assert_eq!(steps[2].last(), Some(&computed()));
}

#[test]
fn a_full_memory_is_waited_for_and_one_with_room_is_not() {
    let Times { page_read, page_program, .. } = times();
    let cached =
        ArraySpec { cache: Bytes::kib(4), ..spec(RaidLevel::Raid5, ReadStrategy::Direct, 5) };
    let mut array = attributed(&cached, &[None; 5], Duration::ZERO);
    let (at, layout) = (Instant::from_ns(1_000_000), array.layout.clone());
    let write = |id, row| Command { op: Op::Write, ..command(id, layout.page(row, 0), 1) };
    let flush = Command { op: Op::Flush, sectors: 0, ..command(2, 0, 1) };
    let later = Instant::from_ns(9_000_000_000);
    let steps = told(
        &mut array,
        vec![(at, write(0, ROW_OF_FIVE)), (at, write(1, ROW_OF_FIVE + 1)), (later, flush)],
    );
    assert_eq!(steps[0], []);
    let wait = page_read + page_program;
    assert_eq!(steps[1], [(Stage::Cache, None, wait, vec![(Cause::Buffer, wait)])]);
    assert!(steps[2].iter().all(|step| step.0 == Stage::Flush), "{:?}", steps[2]);
}
