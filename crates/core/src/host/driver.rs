//! The driver: plays jobs against a drive in virtual time and records what they see.
//!
//! Latency counts from the intended arrival (open loop) or from the issue (closed loop) to the
//! completion at the host. At one instant the host acts before the drive does, and jobs act in
//! their order.

use super::measured::{Measured, free_units};
use super::patience::{LOOK_EVERY, Patience};
use super::reset::Resets;
use super::{ActRecorder, Job, Oracle, Outage, Records, Request, Starved};
use crate::drive::{
    Command, CommandId, Completion, Drive, Op, PredictableLatency, Status, Storage,
};
use crate::units::{Duration, Instant, Lba, SECTOR};

/// The time that a host takes to deal with an error that comes at once. Assumed; without it a
/// closed loop over an array that has lost its members asks for ever at one instant.
const TURNED_AWAY: Duration = Duration::from_us(10);

/// Plays jobs against a drive, or an array of drives.
#[derive(Debug)]
pub struct Driver<S: Storage = Drive> {
    pub(super) storage: S,
    pub(super) jobs: Vec<Job>,
    pub(super) oracle: Option<Oracle>,
    /// Requests under way, by command identifier.
    pub(super) issued: Vec<Issued>,
    /// Where they begin, by command identifier too: kept only where [`Driver::explain`] asks.
    pub(super) begins: Vec<Lba>,
    pub(super) free: Vec<CommandId>,
    now: Instant,
    /// The storage has done everything before: a request that is due then may be issued.
    done_before: Instant,
    /// The drive takes no command before: the power failed, and it recovers.
    ready: Instant,
    pub(super) outages: Vec<Outage>,
    warmup: Warmup,
    pub(super) measured: Measured,
    progress: Progress,
    /// Sum of outstanding x time, in request-nanoseconds: for Little's law.
    outstanding_time: u128,
    outstanding_since: Instant,
    pub(super) act: Option<ActRecorder>,
    /// Every request since they were last taken, if they are wanted.
    pub(super) records: Option<Records>,
    /// More than its latency is wanted of a request: one of these, the oracle's check, or resets.
    pub(super) watches: bool,
    pub(super) patience: Patience,
    /// The host resets its drive instead of ending the run.
    pub(super) resets: Option<Box<Resets>>,
    /// When the run is looked at next ([`Driver::play_while`]).
    pub(super) look_at: Instant,
    /// Every issue, for the tests of pacing.
    #[cfg(test)]
    pub(super) issues: Vec<(Instant, u32, Request)>,
}

/// A request under way. A backlog holds millions of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Issued {
    pub at: Instant,
    pub op: Op,
    pub sectors: u32,
    pub job: u32,
    pub thread: u32,
    pub counted: bool,
}

/// Which first requests are not counted.
#[derive(Clone, Copy, Debug)]
struct Warmup {
    until: Instant,
    requests: u64,
    over: bool,
}

/// How far a run is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Requests issued.
    pub issued: u64,
    /// Requests completed.
    pub completed: u64,
    /// Requests whose completion carried an error.
    pub failed: u64,
}

impl<S: Storage> Driver<S> {
    /// A driver of `jobs` against `storage`. Requests that arrive before `warmup`, and the first
    /// `warmup_requests`, are not counted. With an oracle every read is checked (the drive then
    /// carries content).
    pub fn new(
        storage: S,
        jobs: Vec<Job>,
        oracle: Option<Oracle>,
        warmup: Duration,
        warmup_requests: u64,
    ) -> Self {
        let warmup =
            Warmup { until: Instant::START + warmup, requests: warmup_requests, over: false };
        let watches = oracle.is_some();
        Self {
            storage,
            jobs,
            oracle,
            issued: Vec::new(),
            begins: Vec::new(),
            free: Vec::new(),
            now: Instant::START,
            done_before: Instant::NEVER,
            ready: Instant::START,
            outages: Vec::new(),
            warmup,
            measured: Measured::default(),
            progress: Progress::default(),
            outstanding_time: 0,
            outstanding_since: Instant::START,
            act: None,
            records: None,
            watches,
            patience: Patience::default(),
            resets: None,
            look_at: Instant::START + LOOK_EVERY,
            #[cfg(test)]
            issues: Vec::new(),
        }
    }

    /// This driver, which also reports its completions to `recorder`.
    pub fn with_act(mut self, recorder: ActRecorder) -> Self {
        self.act = Some(recorder);
        self.watches = true;
        self
    }

    /// This driver, which also splits every latency into its causes (`Measured::causes`).
    pub fn with_attribution(mut self) -> Self {
        self.storage.attribute();
        self.measured.causes = Some(Box::default());
        self.watches = true;
        self
    }

    /// This driver, which also keeps every request until [`Driver::take_records`].
    pub fn with_records(mut self) -> Self {
        self.records = Some(Records::default());
        self.watches = true;
        self
    }

    /// This driver, which ends the run when a request is `timeout` old ([`Driver::starved`]).
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.patience = Patience::of(timeout);
        self.look_at = self.look_at.min(self.patience.due);
        self
    }

    /// The request that waited too long, if that ended the run.
    pub fn starved(&self) -> Option<&Starved> {
        self.patience.starved()
    }

    /// Plays until `goal` requests have completed, as of [`Driver::play_while`].
    pub(super) fn play_to(&mut self, goal: u64, go_on: &mut dyn FnMut(u64) -> bool) -> bool {
        while self.progress.completed < goal {
            if self.turn(goal) {
                continue;
            }
            if !self.look() {
                return false;
            }
            if !go_on(self.progress.issued - self.progress.completed) {
                break;
            }
        }
        true
    }

    /// One completion, with the request of a closed loop that follows it at once unless the `goal`
    /// is reached, or one request; false when nothing is left, or when it is time to look at the
    /// run.
    #[inline]
    fn turn(&mut self, goal: u64) -> bool {
        let (job, at) = self.next_due();
        if at == Instant::NEVER && self.progress.issued == self.progress.completed {
            // The run ends with its last completion: what the drive would do in peace afterwards is
            // not part of it.
            return false;
        }
        let is_done = S::does_all_before() && at == self.done_before && at <= self.look_at;
        if !is_done && let Some(completion) = self.storage.advance_before(at.min(self.look_at)) {
            let (id, now) = (completion.id, completion.at);
            if self.watches && self.resets.is_some() && self.comes_late(id) {
                self.goes_on_at(now);
                self.free.push(id);
                return true;
            }
            self.complete(completion);
            if S::does_all_before()
                && let [job] = self.jobs.as_slice()
                && job.next_at() == now
                && self.ready <= now
                && self.progress.completed < goal
            {
                self.issue_as(id, 0, now);
            } else {
                self.free.push(id);
            }
            return true;
        }
        if self.look_at < at || at == Instant::NEVER {
            return false;
        }
        self.issue(job, at);
        true
    }

    /// When each request under way came, what it is, and whether there is one.
    pub(super) fn under_way(&self) -> impl Iterator<Item = (Instant, Op)> {
        let mut under_way = vec![true; self.issued.len()];
        self.free.iter().for_each(|id| under_way[id.index()] = false);
        let all = self.issued.iter().zip(under_way);
        all.filter(|(_, under_way)| *under_way).map(|(issued, _)| (issued.at, issued.op))
    }

    /// The run ends at `now`, before its requests do.
    pub(super) fn end_at(&mut self, now: Instant) {
        self.now = now;
        self.account_outstanding(now);
    }

    /// The job whose request is issued next, and when.
    #[inline]
    pub(super) fn next_due(&self) -> (usize, Instant) {
        let (job, at) = self.next_job();
        (job, at.max(self.ready))
    }

    /// Commands under way are lost; how many they were. The drive takes commands again at `ready`.
    pub(super) fn lose_commands(&mut self, ready: Instant) -> u64 {
        let mut under_way = vec![true; self.issued.len()];
        self.free.iter().for_each(|id| under_way[id.index()] = false);
        self.begin_again(ready);
        let mut lost = 0;
        for id in (0..under_way.len()).filter(|id| under_way[*id]) {
            lost += 1;
            self.free.push(CommandId(id as u32));
            self.fail(ready, self.issued[id]);
        }
        lost
    }

    /// The drive takes commands again at `ready`, and none before.
    pub(super) fn begin_again(&mut self, ready: Instant) {
        self.account_outstanding(ready);
        (self.now, self.ready, self.done_before) = (ready, ready, Instant::NEVER);
    }

    /// A request ends at `now` with an error of the host's own.
    pub(super) fn fail(&mut self, now: Instant, issued: Issued) {
        self.progress.completed += 1;
        self.progress.failed += 1;
        if issued.counted {
            self.measured.lasts_to(now);
        }
        self.jobs[issued.job as usize].completed(now, issued.thread);
    }

    /// Time goes on, and no request has ended.
    pub(super) fn goes_on_at(&mut self, now: Instant) {
        (self.now, self.done_before) = (now, now);
        self.account_outstanding(now);
    }

    #[inline]
    pub(super) fn next_job(&self) -> (usize, Instant) {
        if let [job] = self.jobs.as_slice() {
            return (0, job.next_at());
        }
        let mut first = (0, Instant::NEVER);
        for (number, job) in self.jobs.iter().enumerate() {
            if job.next_at() < first.1 {
                first = (number, job.next_at());
            }
        }
        first
    }

    pub(super) fn issue(&mut self, job: usize, now: Instant) {
        let id = self.free.pop().unwrap_or(CommandId(self.issued.len() as u32));
        self.issue_as(id, job, now);
    }

    /// Issues the request that is due, under the free number `id`.
    #[inline]
    fn issue_as(&mut self, id: CommandId, job: usize, now: Instant) {
        debug_assert!(self.now <= now, "time does not go back");
        (self.now, self.done_before) = (now, now);
        self.account_outstanding(now);
        // Its own time: it may have waited for the drive.
        let at = self.jobs[job].next_at();
        let (request, thread) = self.jobs[job].take(&self.storage);
        #[cfg(test)]
        self.issues.push((at, job as u32, request));
        let counted = self.counts(at);
        let Request { op, sectors, .. } = request;
        let issued = Issued { at, op, sectors, job: job as u32, thread, counted };
        self.keep(id, issued);
        self.progress.issued += 1;
        let command = Command { queue: job as u16, ..command(id, &request) };
        if self.watches {
            self.submit_watched(now, command);
        } else {
            self.storage.submit(now, command);
        }
    }

    /// A request is under way as `id`, which was free, or is the next one.
    #[inline(always)]
    pub(super) fn keep(&mut self, id: CommandId, issued: Issued) {
        match self.issued.get_mut(id.index()) {
            Some(place) => *place = issued,
            None => self.issued.push(issued),
        }
    }

    /// Notes a request that a client numbered.
    pub(super) fn note(&mut self, id: CommandId, issued: Issued, lba: Lba, now: Instant) {
        debug_assert!(self.now <= now, "time does not go back");
        self.now = now;
        self.account_outstanding(now);
        let place = id.index();
        if self.issued.len() <= place {
            self.issued.resize(place + 1, issued);
        }
        self.issued[place] = issued;
        if self.explains() {
            self.note_begin(id, lba);
        }
        self.progress.issued += 1;
    }

    #[inline]
    pub(super) fn counts(&mut self, at: Instant) -> bool {
        if self.warmup.over {
            return true;
        }
        if self.measured.free_before.is_empty() {
            // Before the first request: later it depends on how finely the drive is simulated what
            // is free.
            self.measured.free_before = (0..self.storage.drives())
                .map(|drive| free_units(self.storage.drive(drive)))
                .collect();
        }
        if at < self.warmup.until || self.progress.issued < self.warmup.requests {
            self.measured.warmup_requests += 1;
            return false;
        }
        self.warmup.over = true;
        let drives = || (0..self.storage.drives()).map(|number| self.storage.drive(number));
        if self.warmup.until > Instant::START || self.warmup.requests > 0 {
            self.measured.since = at;
            self.measured.counters_before = drives().map(Drive::counters).collect();
        }
        self.measured.under_way_before = self.progress.issued - self.progress.completed;
        self.measured.buffered_before = drives().map(Drive::buffered).collect();
        self.measured.resets_before = self.resets().copied().unwrap_or_default();
        true
    }

    /// A request of a job completed; the caller gives its number to another one, or back.
    #[inline]
    pub(super) fn complete(&mut self, completion: Completion) {
        let Issued { job, thread, .. } = self.issued[completion.id.index()];
        let seen = self.count(&completion);
        if self.watches {
            self.tell_watchers(completion, seen);
        } else {
            self.jobs[job as usize].completed(seen, thread);
        }
    }

    /// Counts a completion; when the host has dealt with it.
    #[inline(always)]
    pub(super) fn count(&mut self, completion: &Completion) -> Instant {
        let Issued { at, op, sectors, job, counted, .. } = self.issued[completion.id.index()];
        (self.now, self.done_before) = (completion.at, completion.at);
        self.account_outstanding(completion.at);
        self.progress.completed += 1;
        self.progress.failed += u64::from(completion.status != Status::Success);
        let of_job = self.jobs.get_mut(job as usize);
        let seen = of_job.map_or(completion.at, |job| job.seen(completion.at, sectors));
        if !completion.status.is_served() {
            if counted {
                self.measured.lasts_to(seen);
            }
            return if seen == at { seen + TURNED_AWAY } else { seen };
        }
        if counted {
            let (latency, bytes) = (seen.since(at), u64::from(sectors) * SECTOR);
            if self.measured.record(completion, op, (seen, latency), bytes) {
                self.keep_moment();
            }
        }
        seen
    }

    #[inline]
    fn account_outstanding(&mut self, now: Instant) {
        if now == self.outstanding_since {
            return;
        }
        let outstanding = self.progress.issued - self.progress.completed;
        self.outstanding_time +=
            u128::from(outstanding) * u128::from(now.since(self.outstanding_since).as_ns());
        self.outstanding_since = now;
    }

    /// The virtual time reached.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// When the last request so far came.
    pub fn last_arrival(&self) -> Instant {
        self.issued.iter().map(|issued| issued.at).max().unwrap_or(Instant::START)
    }

    /// How far the run is.
    pub fn progress(&self) -> Progress {
        self.progress
    }

    /// The measured part so far; requests that a read-only drive refused are not in it.
    pub fn measured(&self) -> &Measured {
        &self.measured
    }

    /// The drive, or array, that the jobs are played against.
    pub fn storage(&self) -> &S {
        &self.storage
    }

    /// The drive, or the first of them.
    pub fn drive(&self) -> &Drive {
        self.storage.drive(0)
    }

    /// The oracle, if reads are checked.
    pub fn oracle(&self) -> Option<&Oracle> {
        self.oracle.as_ref()
    }

    /// The recorder of the Aerospike Certification Tool's load, if there is one.
    pub fn act(&mut self) -> Option<&mut ActRecorder> {
        self.act.as_mut()
    }

    /// The requests that completed since this was last asked, if they are kept.
    pub fn take_records(&mut self) -> Option<Records> {
        self.records.as_mut().map(std::mem::take)
    }

    /// Mean number of requests outstanding so far, the time average L of Little's law.
    pub fn mean_outstanding(&self) -> f64 {
        match self.outstanding_since.as_ns() {
            0 => 0.0,
            ns => self.outstanding_time as f64 / ns as f64,
        }
    }
}

pub(super) fn command(id: CommandId, request: &Request) -> Command {
    Command {
        id,
        op: request.op,
        lba: request.lba,
        sectors: request.sectors,
        fua: request.fua,
        predictable: PredictableLatency::Off,
        stream: request.stream,
        queue: 0,
        payload: None,
    }
}
