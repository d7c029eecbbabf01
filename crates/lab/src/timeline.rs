//! A drive's timeline as a file for Perfetto (https://ui.perfetto.dev).
//!
//! The format is Perfetto's own: a `Trace` message of `TracePacket`s (protos/perfetto/trace in its
//! repository; "Synthetic Track Events" in its documentation). It holds times as whole nanoseconds;
//! in Chrome's JSON format they are microseconds, and Perfetto's reader multiplies a double by 1000
//! and cuts it off, which loses a nanosecond here and there. Names are interned where they first
//! occur. Packets stand track by track, each track in the order of time: at one instant a slice
//! ends before the next begins, and Perfetto keeps that order when it sorts by time.

mod host;
mod proto;

use crate::save::Part;
use manx_core::drive::Storage;
use manx_core::drive::{Collection, Drive, Op, Recorded, SlowCommand, Step, Story, TimelineSpec};
use manx_core::flash::{Act, Layout, Room, Slice};
use manx_core::host::{BlockRequest, Driver};
use manx_core::units::{Cause, Duration, Instant, Lanes, Pool, Split, Stage};
use proto::{Args, Trace, Track};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::fmt;
use std::path::PathBuf;

/// Records in a timeline, of each drive, where nothing else was said.
pub const TIMELINE_LIMIT: u64 = 200_000;

/// Counts of a timeline's contents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TimelineReport {
    /// Where it is.
    pub path: PathBuf,
    /// Slices, collections and requests in it.
    pub kept: u64,
    /// Of the window, those that the limit left out.
    pub left_out: u64,
    /// When the first of these began.
    pub full_at: Option<Instant>,
    /// Requests of this latency or more are in it.
    pub slow: Duration,
}

impl fmt::Display for TimelineReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, kept, left_out, full_at, slow } = self;
        write!(f, "timeline of {kept} records, requests of {slow} or more, in {}", path.display())?;
        match full_at {
            Some(at) => {
                let at = at.since(Instant::START);
                write!(f, "; warning: {left_out} more were left out, the first began at {at}: ")?;
                write!(f, "choose a --timeline-window, or raise --timeline-limit")
            }
            None if *kept == 0 => {
                write!(f, "; nothing happened in --timeline-window, or in the run")
            }
            None => Ok(()),
        }
    }
}

/// The timeline of one run.
#[derive(Debug)]
pub(crate) struct TimelineFile {
    /// Under another name until it is whole.
    part: Part,
    title: String,
    trace: Trace,
    report: TimelineReport,
}

impl TimelineFile {
    /// An empty file.
    pub(crate) fn create(path: PathBuf, title: String) -> Result<Self, String> {
        match Part::create(&path) {
            Ok(part) => {
                let report = TimelineReport { path, ..TimelineReport::default() };
                Ok(Self { part, title, trace: Trace::new(), report })
            }
            Err(error) => {
                Err(format!("--timeline {}: cannot make this file: {error}", path.display()))
            }
        }
    }

    /// Adds the events of a drive, which stands for `device` where a run has several; or of an
    /// array and its drives.
    pub(crate) fn add<S: Storage>(&mut self, driver: &Driver<S>, device: Option<&String>) {
        let title =
            device.map_or(self.title.clone(), |device| format!("{}, device {device}", self.title));
        let root = self.trace.group(None, &title, 0);
        let storage = driver.storage();
        let Some((room, requests)) = storage.slow_requests() else {
            return self.add_drive(root, storage.drive(0), driver.now(), &Place::default());
        };
        self.count(room);
        self.note_limit(root, room);
        let group = self.trace.group(Some(root), "slow requests", 1);
        let requests: Vec<_> =
            requests.iter().map(|walked| (&walked.request, walked.steps.as_slice())).collect();
        write_requests(&mut self.trace, group, "slow requests", requests);
        for number in 0..storage.drives() {
            let group = self.trace.group(Some(root), &format!("drive {number}"), 2 + number as u32);
            let before = format!("drive {number}/");
            let place = Place { requests: format!("{before}slow commands"), before };
            self.add_drive(group, storage.drive(number), driver.now(), &place);
        }
    }

    fn add_drive(&mut self, root: Track, drive: &Drive, now: Instant, place: &Place) {
        let Some(recorded) = drive.recorded(now) else { return };
        self.count(&recorded.room);
        self.report.slow = recorded.slow;
        self.note_limit(root, &recorded.room);
        let lanes = |pool: Pool| drive.ftl().lanes_of(pool);
        write_drive(&mut self.trace, root, &recorded, &drive.flash().layout, lanes, place);
    }

    /// Adds what a real host's block layer tells, above the drives.
    pub(crate) fn add_host(&mut self, asked: &[BlockRequest], spec: &TimelineSpec) {
        if !asked.is_empty() {
            let root = self.trace.group(None, "block layer of the host", 0);
            let room = host::write(&mut self.trace, root, asked, spec);
            self.count(&room);
            self.note_limit(root, &room);
        }
    }

    fn count(&mut self, room: &Room) {
        let report = &mut self.report;
        (report.kept, report.left_out) = (report.kept + room.kept, report.left_out + room.left_out);
        report.full_at = [report.full_at, room.full_at].into_iter().flatten().min();
    }

    fn note_limit(&mut self, root: Track, room: &Room) {
        if let Some(at) = room.full_at {
            let track = self.trace.track(root, "limit reached", 0);
            let args = Args::default().uint("left_out", room.left_out).uint("limit", room.limit);
            self.trace.instant(track, at, "limit reached", &args);
        }
    }

    /// Writes it.
    pub(crate) fn finish(self) -> Result<TimelineReport, String> {
        let Self { part, trace, report, .. } = self;
        part.finish(trace.bytes())
            .map_err(|error| format!("{}: cannot write it: {error}", report.path.display()))?;
        Ok(report)
    }
}

/// Names of a drive's tracks.
struct Place {
    /// Before the names of its dies, channels and pools.
    before: String,
    /// Name of the track of its requests.
    requests: String,
}

impl Default for Place {
    fn default() -> Self {
        Self { before: String::new(), requests: "slow requests".to_string() }
    }
}

fn write_drive(
    trace: &mut Trace,
    root: Track,
    recorded: &Recorded<'_>,
    layout: &Layout,
    lanes: impl Fn(Pool) -> Lanes,
    Place { before, requests }: &Place,
) {
    let group = trace.group(Some(root), requests, 1);
    write_requests(
        trace,
        group,
        requests,
        recorded.requests.iter().map(|request| (request, &[][..])).collect(),
    );
    let collections = trace.group(Some(root), "garbage collection", 2);
    let mut by_pool: BTreeMap<Pool, Vec<&Collection>> = BTreeMap::new();
    recorded
        .collections
        .iter()
        .for_each(|collection| by_pool.entry(collection.pool).or_default().push(collection));
    for (pool, of_pool) in by_pool {
        let lanes = lanes(pool);
        let name = match lanes.len() {
            1 => format!("{before}pool {pool} (die {})", layout.die_of(lanes.first())),
            _ => format!(
                "{before}pool {pool} (dies {}..{})",
                layout.die_of(lanes.first()),
                layout.die_of(lanes.last_lane())
            ),
        };
        let track = trace.track(collections, &name, pool.0);
        of_pool.into_iter().for_each(|collection| write_collection(trace, track, collection));
    }
    let mut on_die: Vec<Vec<&Slice>> = vec![Vec::new(); layout.dies as usize];
    let mut suspended: Vec<Vec<&Slice>> = vec![Vec::new(); layout.dies as usize];
    let mut on_channel: Vec<Vec<&Slice>> = vec![Vec::new(); layout.channels as usize];
    for slice in recorded.slices {
        match slice.act.is_on_channel() {
            true => on_channel[layout.channel_of(slice.die).index()].push(slice),
            false if slice.act == Act::Suspended => suspended[slice.die.index()].push(slice),
            false => on_die[slice.die.index()].push(slice),
        }
    }
    for channel in layout.each_channel() {
        let group = trace.group(Some(root), &format!("{before}channel {channel}"), 3 + channel.0);
        let track = trace.track(group, &format!("{before}channel {channel} bus"), 0);
        write_slices(trace, track, &mut on_channel[channel.index()], layout);
        for die in layout.dies_on(channel) {
            let track = trace.track(group, &format!("{before}die {die}"), 1 + die.0);
            write_slices(trace, track, &mut on_die[die.index()], layout);
            let suspended = &mut suspended[die.index()];
            if !suspended.is_empty() {
                let track = trace.track(group, &format!("{before}die {die} suspended"), 1 + die.0);
                write_slices(trace, track, suspended, layout);
            }
        }
    }
}

fn write_slices(trace: &mut Trace, track: Track, slices: &mut [&Slice], layout: &Layout) {
    slices.sort_by_key(|slice| slice.start);
    for slice in slices {
        let mut args =
            Args::default().uint("die", slice.die.0.into()).uint("block", slice.block.0.into());
        args = args.uint("block_in_lane", layout.index_of(slice.block).into());
        args = args.uint("lane", layout.lane_of(slice.block).0.into());
        if slice.page.is_some() {
            args = args
                .uint("row", layout.row_of(slice.page).into())
                .uint("sectors", slice.sectors.into());
        }
        trace.slice(track, (slice.start, slice.end), name_of(slice), &args);
    }
}

/// Name of a slice: what the die or the channel did.
pub fn name_of(slice: &Slice) -> &'static str {
    // An erase is about a block, a program about a page.
    let is_program = slice.page.is_some();
    match (slice.act, slice.gc) {
        (Act::Read, false) => "read",
        (Act::Read, true) => "GC read",
        (Act::Program, false) => "program",
        (Act::Program, true) => "GC program",
        (Act::Erase, _) => "erase",
        (Act::Suspending, _) if is_program => "program suspending",
        (Act::Suspended, _) if is_program => "program suspended",
        (Act::Resuming, _) if is_program => "program resuming",
        (Act::Suspending, _) => "erase suspending",
        (Act::Suspended, _) => "erase suspended",
        (Act::Resuming, _) => "erase resuming",
        (Act::Wait, _) => "waits for the channel",
        (Act::ReadCommand, false) => "read command",
        (Act::ReadCommand, true) => "GC read command",
        (Act::EraseCommand, _) => "erase command",
        (Act::SuspendCommand, _) => "suspend command",
        (Act::ResumeCommand, _) => "resume command",
        (Act::DataOut, false) => "data out",
        (Act::DataOut, true) => "GC data out",
        (Act::DataRest, _) => "rest of data",
        (Act::DataIn, false) => "data in",
        (Act::DataIn, true) => "GC data in",
    }
}

/// A collection, and within it its phases.
fn write_collection(trace: &mut Trace, track: Track, collection: &Collection) {
    let Collection {
        pool,
        block,
        draining,
        copying,
        erasing,
        end,
        valid,
        copied,
        forced,
        held,
        unfinished,
    } = *collection;
    let mut args = Args::default().uint("pool", pool.0.into()).uint("block", block.0.into());
    args = args.uint("valid_pages", valid.into()).uint("copied_pages", copied.into());
    args = args.uint("forced", forced.into()).uint("unfinished", unfinished.into());
    let (first, channels) = held;
    if channels > 0 {
        args =
            args.uint("first_channel_held", first.0.into()).uint("channels_held", channels.into());
    }
    trace.begin(track, draining, "collection", &args);
    for (from, to, name) in
        [(draining, copying, "draining"), (copying, erasing, "copying"), (erasing, end, "erasing")]
    {
        if from < to {
            trace.slice(track, (from, to), name, &Args::default());
        }
    }
    trace.end(track, end);
}

/// Requests overlap: each goes to a track that is free, all of one name, which Perfetto shows as
/// one.
fn write_requests(
    trace: &mut Trace,
    group: Track,
    name: &str,
    mut requests: Vec<(&SlowCommand, &[Step])>,
) {
    requests.sort_by_key(|(request, _)| request.start);
    for requests in apart(requests, |(request, _)| (request.start, request.end)) {
        let track = trace.track(group, name, 0);
        for (request, steps) in requests {
            trace.begin(track, request.start, name_of_op(request.op), &args_of(request));
            for step in steps {
                trace.slice(track, (step.from, step.to), step_of(step.stage), &args_of_step(step));
            }
            trace.end(track, request.end);
        }
    }
}

/// Slices on tracks on which none overlaps another; they come in the order of their begins.
fn apart<T>(all: Vec<T>, span: impl Fn(&T) -> (Instant, Instant)) -> Vec<Vec<T>> {
    let mut tracks: Vec<Vec<T>> = Vec::new();
    let mut free: BinaryHeap<Reverse<(Instant, usize)>> = BinaryHeap::new();
    for one in all {
        let (start, end) = span(&one);
        let track = match free.peek() {
            Some(Reverse((free_at, _))) if *free_at <= start => {
                free.pop().map_or(0, |Reverse((_, track))| track)
            }
            _ => {
                tracks.push(Vec::new());
                tracks.len() - 1
            }
        };
        tracks[track].push(one);
        free.push(Reverse((end, track)));
    }
    tracks
}

fn name_of_op(op: Op) -> &'static str {
    match op {
        Op::Read => "read",
        Op::Write => "write",
        Op::Trim => "trim",
        Op::Flush => "flush",
    }
}

fn args_of(request: &SlowCommand) -> Args {
    let latency = request.end.since(request.start).as_ns();
    let mut args =
        Args::default().uint("lba", request.lba.0).uint("sectors", request.sectors.into());
    args = args.uint("latency_ns", latency);
    let Some(attributed) = &request.attributed else { return args };
    with_parts(args, &attributed.split, attributed.story)
}

fn with_parts(mut args: Args, split: &Split, story: Option<Story>) -> Args {
    for (cause, time) in split.iter().filter(|(_, time)| !time.is_zero()) {
        args = args.uint(part_of(cause), time.as_ns());
    }
    if let Some(Story { die, met, times: [came, began, ended], .. }) = story {
        args = args.uint("die", die.0.into()).text("die_was_kept_by", met.keeper.name());
        args = args
            .uint("waited_for_die_ns", began.since(came).as_ns())
            .uint("served_ns", ended.since(began).as_ns());
    }
    args
}

fn args_of_step(step: &Step) -> Args {
    let args =
        step.drive.map_or_else(Args::default, |drive| Args::default().uint("drive", drive.into()));
    with_parts(args, &step.split, step.story)
}

/// A step of an array's request, within its slice.
fn step_of(stage: Stage) -> &'static str {
    match stage {
        Stage::Read => "reads its own drive",
        Stage::Retry => "in vain on a drive",
        Stage::Reconstruct => "reads the rest of its row",
        Stage::Xor => "computes the page",
        Stage::PreRead => "reads old pages",
        Stage::Write => "writes data and parity",
        Stage::Flush => "flushes the drives",
        Stage::Stripe => "waits for its row",
        Stage::Cache => "waits for memory",
    }
}

/// A dot makes a group of them in Perfetto.
fn part_of(cause: Cause) -> &'static str {
    const PARTS: [&str; Cause::ALL.len()] = [
        "parts_ns.service",
        "parts_ns.erase",
        "parts_ns.program",
        "parts_ns.gc_copy",
        "parts_ns.reads",
        "parts_ns.channel",
        "parts_ns.link",
        "parts_ns.queue",
        "parts_ns.buffer",
        "parts_ns.suspension",
        "parts_ns.reconstruct",
        "parts_ns.retry",
        "parts_ns.stripe",
        "parts_ns.space",
        "parts_ns.flush",
    ];
    PARTS[cause as usize]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_bear_the_names_of_their_causes() {
        for cause in Cause::ALL {
            assert_eq!(part_of(cause), format!("parts_ns.{}", cause.name()));
        }
    }
}
