//! The oracle can fail: a drive that lies is found out, whatever the lie.

use super::small;
use crate::drive::{Command, CommandId, Completion, Drive, Op, PredictableLatency, Stamp};
use crate::host::Oracle;
use crate::units::{Instant, Lba};

const PAGE: u64 = 8;

/// A drive, its oracle, and a hand between them.
struct Between {
    drive: Drive,
    oracle: Oracle,
    now: Instant,
}

impl Between {
    fn new() -> Self {
        let drive = small().drive();
        Self { oracle: Oracle::new(&drive), drive, now: Instant::START }
    }

    fn command(&self, op: Op, first_sector: u64, sectors: u64) -> Command {
        let (lba, sectors, predictable) =
            (Lba(first_sector), sectors as u32, PredictableLatency::Off);
        Command {
            id: CommandId(0),
            op,
            lba,
            sectors,
            fua: false,
            predictable,
            stream: 0,
            queue: 0,
            payload: None,
        }
    }

    /// The drive does it, and nobody is told yet.
    fn perform(&mut self, command: Command) -> Completion {
        self.drive.submit(self.now, command);
        let completion = self.drive.advance_before(Instant::NEVER).expect("it completes");
        self.now = completion.at;
        completion
    }

    /// An honest drive, with a hand on the completion.
    fn tampered(
        &mut self,
        op: Op,
        first: u64,
        sectors: u64,
        tamper: impl Fn(&mut Completion),
    ) -> u64 {
        let command = self.oracle.submit(self.command(op, first, sectors));
        let mut completion = self.perform(command);
        tamper(&mut completion);
        let before = self.oracle.mismatches();
        self.oracle.complete(&completion);
        self.oracle.mismatches() - before
    }

    fn honest(&mut self, op: Op, first: u64, sectors: u64) -> u64 {
        self.tampered(op, first, sectors, |_| {})
    }

    /// The command is acknowledged and never done.
    fn lost(&mut self, op: Op, first: u64, sectors: u64) {
        self.oracle.submit(self.command(op, first, sectors));
        let nothing = self.command(Op::Flush, 0, 0);
        let completion = self.perform(nothing);
        self.oracle.complete(&completion);
    }
}

fn versions(completion: &mut Completion) -> &mut [u32] {
    completion.payload.as_deref_mut().expect("a read brings versions")
}

#[test]
fn an_honest_drive_has_no_mismatch() {
    let mut between = Between::new();
    for round in 0..3 {
        between.honest(Op::Write, 0, 2 * PAGE);
        between.honest(Op::Write, 3, PAGE);
        between.honest(Op::Trim, 4 * PAGE, PAGE);
        assert_eq!(between.honest(Op::Read, 0, 6 * PAGE), 0, "round {round}");
    }
    assert_eq!((between.oracle.reads_checked(), between.oracle.pages_checked()), (3, 18));
}

#[test]
fn a_torn_page_is_a_mismatch() {
    let mut between = Between::new();
    assert_eq!(between.tampered(Op::Read, 0, 3 * PAGE, |read| versions(read)[1] = Stamp::TORN), 1);
    assert!(between.oracle.first_mismatch().unwrap().starts_with("page 1 "));
}

#[test]
fn two_pages_swapped_are_two_mismatches() {
    let mut between = Between::new();
    (0..3).for_each(|_| _ = between.honest(Op::Write, 0, PAGE));
    assert_eq!(between.tampered(Op::Read, 0, 2 * PAGE, |read| versions(read).swap(0, 1)), 2);
}

#[test]
fn an_old_version_and_one_of_the_future_are_mismatches() {
    let mut between = Between::new();
    between.honest(Op::Write, 0, PAGE);
    assert_eq!(between.tampered(Op::Read, 0, PAGE, |read| versions(read)[0] -= 1), 1);
    assert_eq!(between.tampered(Op::Read, 0, PAGE, |read| versions(read)[0] += 1), 1);
    assert_eq!(
        between.tampered(Op::Read, 0, PAGE, |read| versions(read)[0] = 0),
        1,
        "nor was it ever unwritten"
    );
}

#[test]
fn an_acknowledged_write_that_is_lost_is_a_mismatch() {
    let mut between = Between::new();
    between.lost(Op::Write, 0, PAGE);
    assert_eq!(between.honest(Op::Read, 0, 2 * PAGE), 1);
}

#[test]
fn a_write_that_is_lost_beneath_a_partial_one_is_a_torn_page() {
    let mut between = Between::new();
    between.lost(Op::Write, 0, PAGE);
    between.honest(Op::Write, 2, 3);
    let torn = std::cell::Cell::new(0);
    assert_eq!(between.tampered(Op::Read, 0, PAGE, |read| torn.set(versions(read)[0])), 1);
    assert_eq!(
        torn.get(),
        Stamp::TORN,
        "the drive itself finds that the sectors are of two histories"
    );
}

#[test]
fn a_deallocation_that_is_lost_is_a_mismatch() {
    let mut between = Between::new();
    between.lost(Op::Trim, 0, PAGE);
    assert_eq!(between.honest(Op::Read, 0, PAGE), 1);
}

#[test]
fn a_write_whose_content_is_another_pages_is_a_mismatch() {
    let mut between = Between::new();
    (0..4).for_each(|_| _ = between.honest(Op::Write, PAGE, PAGE));
    let mut command = between.oracle.submit(between.command(Op::Write, 0, 2 * PAGE));
    command.payload.as_mut().unwrap().swap(0, 1);
    let completion = between.perform(command);
    between.oracle.complete(&completion);
    assert_eq!(between.honest(Op::Read, 0, 2 * PAGE), 2);
}
