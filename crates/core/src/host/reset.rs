//! A host that resets a drive of which a request waits too long, and sends again what was under
//! way (`[host]`).
//!
//! NVMe gives a host two ways to get a command back that does not end: Abort, which a controller
//! need not heed (NVMe Base 2.1, section 5.1), and a Controller Level Reset, which ends all of them
//! (section 3.7.2). Linux takes both (`nvme_timeout` in drivers/nvme/host/pci.c): the first time
//! that a command is older than its timeout it sends an Abort, the second time it resets the
//! controller. Whatever was under way is sent again when the controller is ready, and a command
//! that was sent again `nvme_core.max_retries` times (5) ends with an error.
//!
//! **The drive.** It aborts nothing, and ends what it took: its flash cannot stop a program, and
//! what becomes of a command under way the standard leaves open. Its answers to those come too
//! late for the host. Until it is ready no command comes, so that an erase that reads held
//! up goes on meanwhile. The write buffer keeps its pages, as with a reset of the controller alone.
//!
//! **Order.** Commands are sent again in the order in which they were sent. A drive takes writes of
//! a page in order, so that the later one is what is read; between a write that completed and an
//! earlier one that is sent again the host may not choose, here as there.

use super::Driver;
use super::driver::Issued;
use super::evidence::Record;
use crate::drive::{Attributed, Command, CommandId, Status, Storage};
use crate::stats::ResetCounters;
use crate::units::{Cause, Duration, Instant, Split};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The host's way with a request that is older than `measure.timeout`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OnTimeout {
    /// The run ends as starved.
    #[default]
    End,
    /// The host resets the drive, and sends again what was under way.
    Reset,
}

/// The host's driver, when a request waits too long.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HostSpec {
    /// The way with a request that is older than `measure.timeout`.
    pub on_timeout: OnTimeout,
    /// The first time an Abort is sent, which the drive does not heed: the request has another
    /// `measure.timeout` before the reset.
    pub abort: bool,
    /// From the reset until the drive takes commands again.
    pub reset: Duration,
    /// So often is a command sent again; then it ends with an error.
    pub retries: u32,
}

impl Default for HostSpec {
    fn default() -> Self {
        let (abort, reset) = (true, Duration::from_ms(500));
        Self { on_timeout: OnTimeout::End, abort, reset, retries: 5 }
    }
}

impl HostSpec {
    /// True where it says nothing of its own.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// True where the host resets a drive.
    pub fn resets(&self) -> bool {
        self.on_timeout == OnTimeout::Reset
    }
}

/// Commands as they were sent, by identifier, and what the host did when one was too old.
#[derive(Clone, Debug)]
pub(super) struct Resets {
    spec: HostSpec,
    timeout: Duration,
    sent: Vec<Sent>,
    commands: u64,
    counters: ResetCounters,
}

#[derive(Clone, Debug)]
struct Sent {
    command: Command,
    /// Its place among all commands.
    sequence: u64,
    /// Its time runs from here.
    since: Instant,
    was_aborted: bool,
    retries: u32,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The host waits for it.
    UnderWay,
    /// A reset took it; the drive has not answered yet.
    Late,
    /// The drive has answered.
    Ended,
}

impl Resets {
    fn new(spec: &HostSpec, timeout: Duration) -> Self {
        let counters = ResetCounters::default();
        Self { spec: spec.clone(), timeout, sent: Vec::new(), commands: 0, counters }
    }

    /// Notes a command that is sent; its time runs from `since` on.
    pub(super) fn note(&mut self, command: &Command, since: Instant) {
        debug_assert!(command.payload.is_none(), "its content is given to it later");
        let (id, command) = (command.id, command.clone());
        let (sequence, state) = (self.commands, State::UnderWay);
        self.commands += 1;
        let sent = Sent { command, sequence, since, was_aborted: false, retries: 0, state };
        match self.sent.get_mut(id.index()) {
            Some(place) => *place = sent,
            // Identifiers are given out one after the other.
            None => self.sent.push(sent),
        }
    }

    fn under_way(&mut self) -> impl Iterator<Item = &mut Sent> {
        self.sent.iter_mut().filter(|sent| sent.state == State::UnderWay)
    }

    /// The time of the command that has waited longest, if one is under way.
    fn oldest(&mut self) -> Option<Instant> {
        self.under_way().map(|sent| sent.since).min()
    }

    /// Requests that are too old get an Abort; true where one had it before, or none is sent.
    fn is_too_late(&mut self, now: Instant) -> bool {
        let (timeout, aborts) = (self.timeout, self.spec.abort);
        let (mut sent, mut too_late) = (0, false);
        for old in self.under_way().filter(|sent| sent.since + timeout <= now) {
            if aborts && !old.was_aborted {
                (old.was_aborted, old.since) = (true, now);
                sent += 1;
            } else {
                too_late = true;
            }
        }
        self.counters.aborts += sent;
        too_late
    }

    /// Takes all commands that are under way, in the order in which they were sent.
    fn take(&mut self, now: Instant) -> Vec<(Command, u32)> {
        self.counters.resets += 1;
        self.counters.first_at.get_or_insert(now);
        let mut taken: Vec<_> = self.under_way().collect();
        taken.sort_by_key(|sent| sent.sequence);
        let take = |sent: &mut Sent| {
            sent.state = State::Late;
            (sent.command.clone(), sent.retries)
        };
        taken.into_iter().map(take).collect()
    }
}

impl<S: Storage> Driver<S> {
    /// This driver, which resets its drive when a request is older than the timeout that it was
    /// given, instead of ending the run.
    pub fn with_resets(mut self, spec: &HostSpec) -> Self {
        self.resets = Some(Box::new(Resets::new(spec, self.patience.timeout())));
        self.watches = true;
        self
    }

    /// The host's resets, if it makes any.
    pub fn resets(&self) -> Option<&ResetCounters> {
        self.resets.as_deref().map(|resets| &resets.counters)
    }

    /// Commands that a reset took, and that the drive has not answered yet.
    pub fn late(&self) -> usize {
        let sent = self.resets.iter().flat_map(|resets| &resets.sent);
        sent.filter(|sent| sent.state == State::Late).count()
    }

    /// True where the drive answers a command that a reset took.
    #[inline(never)]
    pub(super) fn comes_late(&mut self, id: CommandId) -> bool {
        let Some(resets) = &mut self.resets else { return false };
        let sent = &mut resets.sent[id.index()];
        let state = std::mem::replace(&mut sent.state, State::Ended);
        resets.counters.late += u64::from(state == State::Late);
        state == State::Late
    }

    /// Deals with requests that are too old; then sets when to look again.
    #[inline(never)]
    pub(super) fn deal_with_old(&mut self, now: Instant) {
        if self.resets.as_mut().is_some_and(|resets| resets.is_too_late(now)) {
            self.reset(now);
        }
        let Some(resets) = &mut self.resets else { return };
        let (oldest, timeout) = (resets.oldest(), resets.timeout);
        // Without one, nothing waits before the next request has come.
        let since = oldest.unwrap_or_else(|| self.next_due().1.max(now));
        self.patience.due = Instant::from_ns(since.as_ns().saturating_add(timeout.as_ns()));
    }

    /// The host resets the drive at `now`, waits for it, and sends again what was under way.
    fn reset(&mut self, now: Instant) {
        let Some(resets) = &mut self.resets else { return };
        let (ready, most) = (now + resets.spec.reset, resets.spec.retries);
        // Their numbers go to others from here on.
        let of = |(command, retries): (Command, u32)| {
            let issued = self.issued[command.id.index()];
            (command, issued, retries)
        };
        let taken = resets.take(now);
        resets.counters.failed +=
            taken.iter().filter(|(_, retries)| *retries >= most).count() as u64;
        let taken: Vec<_> = taken.into_iter().map(of).collect();
        while let Some(completion) = self.storage.advance_before(ready) {
            let is_late = self.comes_late(completion.id);
            debug_assert!(is_late, "no command comes during a reset");
            self.free.push(completion.id);
        }
        self.begin_again(ready);
        for (command, issued, retries) in taken {
            if retries >= most {
                self.record_failed(ready, &command, issued);
                self.fail(ready, issued);
            } else {
                self.send_again(ready, command, issued, retries + 1);
            }
        }
    }

    /// Keeps a request that ends with an error of the host, if requests are kept. No part of the
    /// drive says where its time went.
    fn record_failed(&mut self, now: Instant, command: &Command, issued: Issued) {
        let Issued { at, op, sectors, job, .. } = issued;
        // It is in no latency.
        let counted = false;
        let (latency, status) = (now.since(at), Status::Aborted);
        let (lba, gc_blocked) = (command.lba, false);
        let record = Record { at, latency, op, lba, sectors, job, status, gc_blocked, counted };
        let mut split = Split::NONE;
        split.add(Cause::Retry, latency);
        let attributed =
            self.measured.causes.is_some().then_some(Attributed { split, story: None });
        if let Some(records) = &mut self.records {
            records.push(record, attributed.as_ref());
        }
    }

    fn send_again(&mut self, now: Instant, command: Command, issued: Issued, retries: u32) {
        let id = self.free.pop().unwrap_or(CommandId(self.issued.len() as u32));
        self.keep(id, issued);
        self.submit_watched(now, Command { id, ..command });
        if let Some(resets) = &mut self.resets {
            resets.counters.sent_again += 1;
            let sent = &mut resets.sent[id.index()];
            (sent.retries, sent.since) = (retries, now);
        }
    }

    /// The parts of a latency where commands are sent again: those of the command that answered,
    /// and the time before it was sent.
    #[cold]
    pub(super) fn parts_with_resets(
        &self,
        attributed: Option<&Attributed>,
        latency: Duration,
    ) -> Option<Attributed> {
        self.resets.as_ref()?;
        let mut attributed = *attributed?;
        let answered = attributed.split.total();
        attributed.split.add(Cause::Retry, latency - answered);
        Some(attributed)
    }
}
