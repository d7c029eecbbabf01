//! Being told the time: however the advance is cut, cloned or watched, the drive does the same.

use super::{Setup, drawn, small};
use crate::drive::{CommandId, Completion, Drive};
use crate::host::driver::command;
use crate::host::generate::Generator;
use crate::host::{Oracle, Request, RequestSource};
use crate::sim::Rng;
use crate::units::{Duration, Instant};

/// Plays a setup's first job by hand, in a closed loop or at drawn arrival times.
#[derive(Clone)]
struct Player {
    drive: Drive,
    oracle: Oracle,
    requests: Vec<Request>,
    arrivals: Option<Vec<Instant>>,
    depth: usize,
    next: usize,
    now: Instant,
    log: Vec<Completion>,
}

impl Player {
    fn new(setup: &Setup, requests: u64, open: bool) -> Self {
        let mut job = setup.jobs[0].clone();
        job.requests = requests;
        let drive = setup.drive();
        let mut source = Generator::new(&job, drive.sectors(), setup.seed, 0).expect("a valid job");
        let requests: Vec<Request> = std::iter::from_fn(|| source.next_request()).collect();
        let mut rng = Rng::stream(setup.seed, "arrivals");
        let mut at = Instant::START;
        let arrivals = requests.iter().map(|_| {
            at += Duration::from_ns(rng.below(600_000));
            at
        });
        let arrivals = open.then(|| arrivals.collect());
        let (oracle, depth) = (Oracle::new(&drive), job.queue_depth as usize);
        Self {
            drive,
            oracle,
            requests,
            arrivals,
            depth,
            next: 0,
            now: Instant::START,
            log: Vec::new(),
        }
    }

    fn next_submit_at(&self) -> Instant {
        match &self.arrivals {
            _ if self.next == self.requests.len() => Instant::NEVER,
            Some(arrivals) => arrivals[self.next],
            None if self.next - self.log.len() < self.depth => self.now,
            None => Instant::NEVER,
        }
    }

    /// Until `completions` are logged or nothing is left; `cut` says how far to advance at most,
    /// when asked.
    fn play(&mut self, completions: usize, mut cut: impl FnMut(&Drive, Instant) -> Instant) {
        let mut limit = cut(&self.drive, self.now);
        while self.log.len() < completions {
            let due = self.next_submit_at();
            if due == Instant::NEVER && self.drive.next_event_at() == Instant::NEVER {
                break;
            }
            match self.drive.advance_before(due.min(limit)) {
                Some(completion) => {
                    self.now = completion.at;
                    self.oracle.complete(&completion);
                    self.log.push(completion);
                }
                None if due <= limit && due != Instant::NEVER => self.submit(due),
                None => limit = cut(&self.drive, limit),
            }
        }
    }

    fn submit(&mut self, at: Instant) {
        self.now = at;
        let command =
            self.oracle.submit(command(CommandId(self.next as u32), &self.requests[self.next]));
        self.next += 1;
        self.drive.submit(at, command);
    }

    fn play_uncut(&mut self) {
        self.play(usize::MAX, |_, _| Instant::NEVER);
    }

    /// Everything that the host or a report could see.
    fn digest(&self) -> String {
        assert_eq!(self.log.len(), self.requests.len(), "every request completes");
        assert_eq!(self.oracle.mismatches(), 0);
        let (flash, ftl) = (self.drive.flash(), self.drive.ftl());
        let state = (self.drive.counters(), flash.operations(), flash.busy(), ftl.wear());
        format!("{:?} {state:?} {:?}", self.log, ftl.mapping().table())
    }
}

/// Setups over everything that can be combined, each in a closed and in an open loop.
fn players() -> impl Iterator<Item = (u64, Player)> {
    (0..60).flat_map(|seed| [false, true].map(|open| (seed, Player::new(&drawn(seed), 250, open))))
}

/// The next cut: now and then at the next event itself, a nanosecond behind it, or wherever chance
/// falls.
fn anywhere(rng: &mut Rng, drive: &Drive, last: Instant) -> Instant {
    let next = drive.next_event_at();
    let scale = 1 << rng.below(21);
    match rng.below(4) {
        0 if next != Instant::NEVER => next.max(last),
        1 if next != Instant::NEVER => next.max(last) + Duration::from_ns(1),
        _ => last + Duration::from_ns(1 + rng.below(scale)),
    }
}

#[test]
fn an_advance_cut_anywhere_gives_the_same_completions_and_counters() {
    let mut cuts = 0u64;
    for (seed, player) in players() {
        let (mut uncut, mut cut) = (player.clone(), player);
        uncut.play_uncut();
        let mut rng = Rng::stream(seed, "cuts");
        cut.play(usize::MAX, |drive, last| {
            cuts += 1;
            anywhere(&mut rng, drive, last)
        });
        assert_eq!(cut.digest(), uncut.digest(), "seed {seed}");
    }
    assert!(cuts > 20_000, "{cuts} cuts");
}

#[test]
fn a_cloned_drive_goes_on_as_the_original_does() {
    for (seed, mut player) in players() {
        player.play(100, |_, _| Instant::NEVER);
        let mut clone = player.clone();
        player.play_uncut();
        clone.play_uncut();
        assert_eq!(clone.digest(), player.digest(), "seed {seed}");
    }
}

#[test]
fn nothing_changes_before_the_next_event_and_something_does_at_it() {
    for seed in 0..12 {
        let mut player = Player::new(&drawn(seed), 250, seed % 2 == 0);
        for stop in 1..20 {
            player.play(stop * 10, |_, _| Instant::NEVER);
            let next = player.drive.next_event_at();
            if next == Instant::NEVER {
                break;
            }
            let before = format!("{:?}", player.drive);
            assert!(player.drive.advance_before(next).is_none());
            assert_eq!(
                format!("{:?}", player.drive),
                before,
                "seed {seed}: something happened before {next:?}"
            );
            let mut copy = player.drive.clone();
            let completion = copy.advance_before(next + Duration::from_ns(1));
            assert!(completion.is_none_or(|completion| completion.at == next));
            assert_ne!(format!("{copy:?}"), before, "seed {seed}: nothing happened at {next:?}");
        }
    }
}

#[test]
fn completions_come_in_order_and_never_before_their_command() {
    for (seed, mut player) in players().take(40) {
        player.play_uncut();
        assert!(player.log.windows(2).all(|pair| pair[0].at <= pair[1].at), "seed {seed}");
        let mut ids: Vec<u32> = player.log.iter().map(|completion| completion.id.0).collect();
        ids.sort_unstable();
        assert!(ids.into_iter().eq(0..player.requests.len() as u32), "seed {seed}: each once");
        if let Some(arrivals) = &player.arrivals {
            assert!(player.log.iter().all(|done| done.at >= arrivals[done.id.index()]));
        }
    }
}

#[test]
fn commands_aborted_at_random_complete_as_aborted_and_the_others_keep_the_data() {
    for seed in 0..20 {
        let mut setup = small();
        setup.drive.queue_depth = 3;
        setup.seed = seed;
        let mut player = Player::new(&setup, 400, false);
        let (mut rng, mut aborted) = (Rng::stream(seed, "abort"), Vec::new());
        for stop in 1..400 {
            player.play(stop, |_, _| Instant::NEVER);
            let id = CommandId(rng.below(player.next as u64) as u32);
            let waits = player.log.iter().all(|done| done.id != id);
            if player.drive.abort(player.now, id) {
                assert!(waits, "what is completed is not aborted");
                aborted.push(id);
            }
        }
        player.play_uncut();
        let is_aborted = |done: &&Completion| done.status == crate::drive::Status::Aborted;
        let mut completed: Vec<CommandId> =
            player.log.iter().filter(is_aborted).map(|done| done.id).collect();
        completed.sort_unstable();
        aborted.sort_unstable();
        assert_eq!(completed, aborted, "seed {seed}");
        assert!(aborted.len() > 10);
        assert_eq!(
            (player.log.len(), player.oracle.mismatches()),
            (400, 0),
            "{:?}",
            player.oracle.first_mismatch()
        );
    }
}
