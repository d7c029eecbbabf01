//! An array of members that keep their bytes plainly and answer when they like, against bytes kept
//! plainly.

use super::*;
use crate::machine::tests::agrees_with_plain_bytes;
use manx_core::array::{MemberLink, RaidLevel, ReadStrategy};
use manx_core::drive::PredictableLatency;
use manx_core::nvme::plm::{Config, Window};
use manx_core::sim::Rng;
use manx_core::units::{Bytes, Duration};
use std::collections::BTreeMap;

const PAGE_SECTORS: u32 = 8;
const PAGE: usize = 4096;

/// A member whose answers take a drawn time, and which fails every eighth read that may fail fast.
#[derive(Debug)]
struct Plain {
    ledger: Shared,
    bytes: Vec<u8>,
    rng: Rng,
    due: BTreeMap<(Instant, CommandId), Command>,
    refuses: bool,
    /// Windows that were set.
    windows: u32,
}

impl MemberLink for Plain {
    type Matter = Shared;

    fn submit(&mut self, now: Instant, command: Command) {
        if command.op == Op::Write && !self.refuses {
            for (at, stamp) in command.payload.iter().flatten().enumerate() {
                let from = command.lba.0 as usize * 512 + at * PAGE;
                let ledger = self.ledger.0.borrow();
                let page = ledger.get(stamp.version, 0, PAGE).expect("all of it is known");
                self.bytes[from..from + PAGE].copy_from_slice(page);
            }
        }
        let after = Duration::from_ns(1 + self.rng.next_u64() % 300_000);
        self.due.insert((now + after, command.id), command);
    }

    fn advance_before(&mut self, limit: Instant) -> Option<Completion> {
        let ((at, id), command) = self.due.pop_first()?;
        if at >= limit {
            self.due.insert((at, id), command);
            return None;
        }
        let is_flagged = command.predictable == PredictableLatency::On;
        let status = match command.op {
            Op::Read if is_flagged && self.rng.next_u64().is_multiple_of(8) => {
                Status::PredictableLatencyNotMet
            }
            Op::Write | Op::Flush if self.refuses => Status::NamespaceWriteProtected,
            _ => Status::Success,
        };
        let payload = (command.op == Op::Read && status == Status::Success).then(|| {
            let (from, length) = (command.lba.0 * 512, command.bytes());
            let put = |(page, from, length): (u32, usize, usize)| {
                let at = page as usize * PAGE + from;
                self.ledger.0.borrow_mut().put(from, &self.bytes[at..at + length])
            };
            content::pages(PAGE as u64, from, length).map(put).collect()
        });
        let (dnr, result64) = (status != Status::Success, 100_000);
        let (gc_blocked, gc_blocked_at_split) = (false, false);
        Some(Completion { id, at, status, dnr, result64, gc_blocked, gc_blocked_at_split, payload })
    }

    fn next_event_at(&self) -> Instant {
        self.due.first_key_value().map_or(Instant::NEVER, |((at, _), _)| *at)
    }

    fn set_predictable(&mut self, _: Instant, _: &Config) {
        self.windows += 1;
    }

    fn select_window(&mut self, _: Instant, _: Window) {}
}

impl Elsewhere for Plain {
    fn sockets(&self) -> Vec<BorrowedFd<'_>> {
        Vec::new()
    }

    fn hear(&mut self, _: Instant) {}

    fn send(&mut self, _: Instant) {}

    fn take_news(&mut self) -> Vec<String> {
        Vec::new()
    }
}

fn host(spec: &ArraySpec, pages: u32) -> ArrayHost<Plain> {
    let ledger = Shared::new(PAGE_SECTORS);
    let member = |number: u64| Plain {
        ledger: ledger.clone(),
        bytes: vec![0; pages as usize * PAGE],
        rng: Rng::stream(number, "plain"),
        due: BTreeMap::new(),
        refuses: false,
        windows: 0,
    };
    let links = (0..spec.members.into()).map(member).collect();
    let shape = Shape { page_sectors: PAGE_SECTORS, pages, reserve: 1 << 20 };
    ArrayHost::over(spec, shape, links, ledger.clone(), 1)
}

fn spec(level: RaidLevel, members: u32, strategy: ReadStrategy) -> ArraySpec {
    ArraySpec { members, level, strategy, chunk: Bytes::kib(8), ..ArraySpec::default() }
}

#[test]
fn real_bytes_come_back_whatever_the_level_and_the_strategy() {
    for (level, members, strategy) in [
        (RaidLevel::Raid0, 3, ReadStrategy::Direct),
        (RaidLevel::Raid1, 2, ReadStrategy::Ioda),
        (RaidLevel::Raid5, 4, ReadStrategy::Ioda),
        (RaidLevel::Raid5, 3, ReadStrategy::Proactive),
        (RaidLevel::Raid6, 5, ReadStrategy::Iod3),
    ] {
        let mut host = host(&spec(level, members, strategy), 64);
        agrees_with_plain_bytes(&mut host, 3_000);
        let taken = host.ledger.0.borrow().taken();
        assert!(taken < 3 * STAMPS, "{taken} stamps are kept");
        let counters = host.array_counters().unwrap();
        let computes = level != RaidLevel::Raid0;
        assert_eq!(counters.reconstructs > 0, computes, "{level:?} {strategy:?}");
    }
}

#[test]
fn parity_on_the_members_is_that_of_their_bytes() {
    let mut host = host(&spec(RaidLevel::Raid5, 4, ReadStrategy::Direct), 64);
    agrees_with_plain_bytes(&mut host, 2_000);
    let sums = (0..64 * PAGE).map(|at| host.links().fold(0, |sum, link| sum ^ link.bytes[at]));
    assert_eq!(sums.filter(|sum| *sum != 0).count(), 0);
}

#[test]
fn a_member_that_refuses_writes_is_failed_and_nothing_is_lost() {
    let mut host = host(&spec(RaidLevel::Raid5, 4, ReadStrategy::Ioda), 64);
    host.array.with_link(Member(2), |link| link.refuses = true);
    agrees_with_plain_bytes(&mut host, 2_000);
    assert_eq!(host.take_news(), ["member 2 of the array is failed"]);
    assert!(host.take_news().is_empty(), "it is told once");
}

#[test]
fn a_strategy_with_windows_sets_them_at_every_member() {
    let host = host(&spec(RaidLevel::Raid5, 4, ReadStrategy::Ioda), 64);
    assert!(host.links().all(|link| link.windows == 1));
}
