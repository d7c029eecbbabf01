//! Causes, weighed by the slow time that each explains.
//!
//! The *excess* of a request is what it took beyond the usual of its kind and size (`typical`).
//! Each cause says of which requests it may be the cause: those that came in a burst, those of one
//! member, of a size, after a flush. What these have beyond the others' excess on average is what
//! the cause explains. What is left and comes in episodes is the device's own: behind writes of the
//! host it is garbage collection or the like, else a pause.

use super::points::pieces;
use super::rows::Row;
use super::typical::Typical;
use crate::table::cell;
use manx_core::drive::Op;
use serde::Serialize;

/// A tail that is this much longer than the median says that there is something to find.
const LONG: f64 = 12.0;

/// A cause explains at least this share, and exposed requests have this much more excess.
const SHARE_MIN: f64 = 0.10;
const LIFT_MIN: f64 = 3.0;

/// A cause of fewer requests is no cause, nor is one of fewer slow requests: some way to split an
/// array always has a few chance ones in one member.
const EXPOSED_MIN: usize = 20;
const SLOW_MIN: usize = 20;

/// From this many medians on a request is slow.
const SLOW: f64 = 5.0;

/// Arrivals of a window over the median of all windows that make a burst, and the least of them.
const BURST: f64 = 4.0;
const BURST_MIN: usize = 8;

/// Devices that are looked at one by one: those with most excess.
const DEVICES_MAX: usize = 16;

/// Members and chunks of an array that is looked for.
const MEMBERS: std::ops::RangeInclusive<u64> = 2..=12;
const CHUNKS: [u64; 7] = [4096, 16_384, 32_768, 65_536, 131_072, 262_144, 524_288];

/// Kinds of causes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Many requests at once.
    Burst,
    /// One member of an array, or one device.
    Member,
    /// Behind flushes.
    Flush,
    /// Large requests.
    Size,
    /// Episodes behind writes: garbage collection, a cache that is written out.
    Collection,
    /// Episodes without writes before them.
    Pause,
    /// From some time on everything is slower.
    Shift,
}

/// A cause that was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cause {
    /// Its kind.
    pub kind: Kind,
    /// In words, with the evidence.
    pub text: String,
    /// Of the slow time, what it explains (percent).
    pub share_percent: f64,
    /// Requests that it touches (requests).
    pub requests: usize,
    /// The 99.9th percentile of all recorded requests without those (microseconds).
    pub without_p99_9_us: f64,
}

/// A time in which the recorded latency was another.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Episode {
    /// From (seconds).
    pub from_s: f64,
    /// To (seconds).
    pub to_s: f64,
    /// The highest level of the latency over that of the quiet rest (ratio).
    pub times: f64,
    /// Bytes that were written since the episode before (bytes).
    pub written: u64,
}

/// Everything that the recorded latencies say.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Findings {
    /// Requests with a latency.
    pub requests: usize,
    /// Their median (microseconds).
    pub p50_us: f64,
    /// 99th percentile.
    pub p99_us: f64,
    /// 99.9th percentile.
    pub p99_9_us: f64,
    /// The longest.
    pub max_us: f64,
    /// Episodes of slow requests, in their order.
    pub episodes: Vec<Episode>,
    /// The causes, the likeliest first; empty where there is nothing to find.
    pub causes: Vec<Cause>,
    /// Of the slow time, what no cause explains (percent).
    pub unexplained_percent: f64,
}

/// Looks for causes in recorded requests of `devices`, by name.
pub fn find(rows: &[Row], devices: &[String]) -> Findings {
    let timed: Vec<Row> = rows.iter().filter(|row| row.op != Op::Flush).copied().collect();
    let mut all: Vec<f64> = timed.iter().map(|row| row.us).collect();
    all.sort_by(f64::total_cmp);
    if all.is_empty() {
        return Findings::default();
    }
    let table = Table::of(rows, timed, devices);
    let mut findings = Findings {
        requests: all.len(),
        p50_us: at(&all, 0.5),
        p99_us: at(&all, 0.99),
        p99_9_us: at(&all, 0.999),
        max_us: at(&all, 1.0),
        episodes: table.episodes.clone(),
        ..Findings::default()
    };
    let shift = table.shift();
    let is_long = findings.p99_9_us > LONG * findings.p50_us;
    if !is_long && shift.is_none() && table.exposed(&table.members().1).lift < LIFT_MIN {
        findings.episodes.clear();
        return findings;
    }
    (findings.causes, findings.unexplained_percent) = table.causes(shift);
    findings
}

/// The value below which a share of sorted numbers lies.
pub(super) fn at(sorted: &[f64], share: f64) -> f64 {
    let place = (sorted.len() as f64 * share).ceil() as usize;
    sorted.get(place.clamp(1, sorted.len().max(1)) - 1).copied().unwrap_or(0.0)
}

/// The requests, and what each has beyond its kind's median.
pub(super) struct Table<'a> {
    pub(super) rows: Vec<Row>,
    devices: &'a [String],
    excess: Vec<f64>,
    total: f64,
    flushes: Vec<f64>,
    pub(super) median: f64,
    typical: Typical,
    episodes: Vec<Episode>,
    in_episode: Vec<bool>,
}

/// Excess of a set of requests over the others.
struct Exposed {
    share: f64,
    lift: f64,
}

impl<'a> Table<'a> {
    fn of(all: &[Row], rows: Vec<Row>, devices: &'a [String]) -> Self {
        let typical = Typical::of(&rows);
        let median = typical.median;
        let slow = |row: &Row| {
            let usual = typical.of_row(row);
            if row.us > SLOW * usual { row.us - usual } else { 0.0 }
        };
        let excess: Vec<f64> = rows.iter().map(slow).collect();
        let total: f64 = excess.iter().sum();
        let flushes = all.iter().filter(|row| row.op == Op::Flush).map(|row| row.at_s).collect();
        let mut table = Self {
            in_episode: vec![false; rows.len()],
            rows,
            devices,
            excess,
            total,
            flushes,
            median,
            typical,
            episodes: Vec::new(),
        };
        table.find_episodes();
        table
    }

    /// Equal numbers of requests, as many as show a change and few enough to be short.
    pub(super) fn bin(&self) -> usize {
        (self.rows.len() / 4096).clamp(8, 4096)
    }

    /// Means of logarithms of each bin, each device at the level of all: requests that go to a slow
    /// one for a while are no change of level.
    pub(super) fn series(&self) -> Vec<f64> {
        let log = |row: &Row| row.us.max(0.1).ln() - self.typical.level(row.device);
        let logs = |rows: &[Row]| rows.iter().map(log).sum::<f64>();
        self.rows.chunks(self.bin()).map(|rows| logs(rows) / rows.len() as f64).collect()
    }

    fn find_episodes(&mut self) {
        let (series, bin) = (self.series(), self.bin());
        let pieces = pieces(&series);
        let quiet = {
            let mut means: Vec<(f64, usize)> =
                pieces.iter().map(|piece| (piece.mean, piece.to - piece.from)).collect();
            means.sort_by(|one, other| one.0.total_cmp(&other.0));
            let half: usize = means.iter().map(|(_, length)| length).sum::<usize>() / 2;
            let mut passed = 0;
            let middle = means.iter().find(|(_, length)| {
                passed += length;
                passed >= half
            });
            middle.map_or(0.0, |(mean, _)| *mean)
        };
        let written =
            |rows: &[Row]| rows.iter().filter(|row| row.op == Op::Write).map(|row| row.bytes).sum();
        // Neighbours of different levels are one episode.
        let mut slow: Vec<(usize, usize, f64)> = Vec::new();
        for piece in pieces.iter().filter(|piece| piece.mean > quiet + 2f64.ln()) {
            match slow.last_mut().filter(|last| last.1 == piece.from) {
                Some(last) => (last.1, last.2) = (piece.to, last.2.max(piece.mean)),
                None => slow.push((piece.from, piece.to, piece.mean)),
            }
        }
        let mut before = 0;
        for (from, to, mean) in slow {
            let (from, to) = (from * bin, (to * bin).min(self.rows.len()));
            self.episodes.push(Episode {
                from_s: self.rows[from].at_s,
                to_s: self.rows[to - 1].at_s,
                times: (mean - quiet).exp(),
                written: written(&self.rows[before..from]),
            });
            self.in_episode[from..to].iter_mut().for_each(|inside| *inside = true);
            before = to;
        }
    }

    /// Excess of the marked requests over the others.
    fn exposed(&self, marked: &[bool]) -> Exposed {
        let sum = |wanted: bool| {
            let of = marked.iter().zip(&self.excess).filter(|(mark, _)| **mark == wanted);
            of.fold((0.0, 0usize), |(sum, count), (_, excess)| (sum + excess, count + 1))
        };
        let ((inside, count), (outside, others)) = (sum(true), sum(false));
        let slow =
            marked.iter().zip(&self.excess).filter(|(mark, us)| **mark && **us > 0.0).count();
        if count.min(others) < EXPOSED_MIN || slow < SLOW_MIN {
            return Exposed { share: 0.0, lift: 0.0 };
        }
        let (mean, base) = (inside / count as f64, outside / others as f64);
        let share = (inside - base * count as f64).max(0.0) / self.total;
        Exposed { share, lift: mean / base.max(1e-3 * self.median) }
    }

    /// Requests that came in a burst, or while it was worked off.
    fn bursts(&self) -> (Vec<bool>, usize) {
        let mut marked = vec![false; self.rows.len()];
        let span = self.rows.last().map_or(0.0, |last| last.at_s);
        let width = (20.0 * self.median / 1e6).max(1e-3).min((span / 50.0).max(1e-6));
        let count = |window: &[Row]| window.len();
        // Windows in which requests come: those of a pause between them would take memory for
        // years of it.
        let window = |row: &Row| (row.at_s / width) as u64;
        let busy = self.rows.chunk_by(|one, other| window(one) == window(other));
        let mut busy: Vec<usize> = busy.map(count).collect();
        busy.sort_unstable();
        let typical = busy.get(busy.len() / 2).copied().unwrap_or(0).max(1);
        let limit = ((BURST * typical as f64) as usize).max(BURST_MIN);
        let (mut first, mut until, mut bursts, mut last_burst) = (0, f64::MIN, 0, f64::MIN);
        for (number, row) in self.rows.iter().enumerate() {
            while self.rows[first].at_s < row.at_s - width {
                first += 1;
            }
            if count(&self.rows[first..=number]) >= limit {
                if row.at_s > last_burst + 2.0 * width {
                    bursts += 1;
                }
                last_burst = row.at_s;
                until = row.at_s + width;
                self.rows[first..=number].iter().enumerate().for_each(|(at, _)| {
                    marked[first + at] = true;
                });
            }
            // Requests that it left waiting are worked off behind it.
            if row.at_s <= until {
                marked[number] = true;
                if self.excess[number] > 0.0 {
                    until = until.max(row.at_s + width.min(row.us / 1e6));
                }
            }
        }
        (marked, bursts)
    }

    /// The devices with most excess, of several: more than a few are no cause.
    fn slow_devices(&self, last: u32) -> Vec<u32> {
        if last == 0 {
            return Vec::new();
        }
        let mut sums = vec![0.0; last as usize + 1];
        for (row, excess) in self.rows.iter().zip(&self.excess) {
            sums[row.device as usize] += excess;
        }
        let mut order: Vec<u32> = (0..=last).collect();
        order.sort_by(|one, other| sums[*other as usize].total_cmp(&sums[*one as usize]));
        order.truncate(DEVICES_MAX);
        order
    }

    /// The member whose requests have most beyond the others', in words, and its requests.
    fn members(&self) -> (String, Vec<bool>) {
        let mut best = (0.0, String::new(), vec![false; self.rows.len()]);
        let mut offer = |text: String, marked: Vec<bool>| {
            let Exposed { share, lift } = self.exposed(&marked);
            let count = marked.iter().filter(|mark| **mark).count() as f64;
            // Of two descriptions that explain as much, the one of fewer requests.
            let score = share * (1.0 - count / self.rows.len() as f64);
            if lift >= LIFT_MIN && score > best.0 {
                best = (score, text, marked);
            }
        };
        let devices = self.rows.iter().map(|row| row.device).max().unwrap_or(0);
        for device in self.slow_devices(devices) {
            let marked = self.rows.iter().map(|row| row.device == device).collect();
            let name = self.devices.get(device as usize).map_or("?", String::as_str);
            let medians = self.typical.beside(device).map_or(String::new(), |(own, others)| {
                let (own, others) = (cell::latency(own), cell::latency(others));
                format!(": its median is {own}, that of the others {others}")
            });
            let text = format!("device `{name}` of the trace is slower than the others{medians}");
            offer(text, marked);
        }
        for chunk in CHUNKS {
            for members in MEMBERS {
                let mut sums = vec![(0.0, 0u32); members as usize];
                let member = |row: &Row| (row.offset / chunk % members) as usize;
                for (row, excess) in self.rows.iter().zip(&self.excess) {
                    let sum = &mut sums[member(row)];
                    *sum = (sum.0 + excess, sum.1 + 1);
                }
                let mean = |sum: &(f64, u32)| sum.0 / f64::from(sum.1.max(1));
                let (most, _) = sums
                    .iter()
                    .enumerate()
                    .max_by(|one, other| mean(one.1).total_cmp(&mean(other.1)))
                    .unwrap_or((0, &(0.0, 0)));
                if sums[most].0 > 0.5 * self.total {
                    let marked = self.rows.iter().map(|row| member(row) == most).collect();
                    let kib = chunk / 1024;
                    let name = format!("member {most} of {members}, chunks of {kib} KiB");
                    offer(format!("{name} is slower than the others"), marked);
                }
            }
        }
        (best.1, best.2)
    }

    /// Requests that came within the time of a slow one behind a flush.
    fn behind_flushes(&self) -> Vec<bool> {
        let reach = SLOW * self.median / 1e6;
        let mut next = 0;
        let mark = |row: &Row| {
            while next < self.flushes.len() && self.flushes[next] <= row.at_s {
                next += 1;
            }
            next > 0 && row.at_s - self.flushes[next - 1] <= reach
        };
        self.rows.iter().map(mark).collect()
    }

    /// Requests far above the usual size.
    fn large(&self) -> (Vec<bool>, u64) {
        let mut sizes: Vec<u64> = self.rows.iter().map(|row| row.bytes).collect();
        sizes.sort_unstable();
        let limit = 8 * sizes.get(sizes.len() / 2).copied().unwrap_or(0).max(4096);
        (self.rows.iter().map(|row| row.bytes >= limit).collect(), limit)
    }

    /// The causes, and the slow time that none of them explains (percent).
    fn causes(&self, shift: Option<(f64, f64)>) -> (Vec<Cause>, f64) {
        let mut all: Vec<(Cause, Vec<bool>)> = Vec::new();
        let (marked, bursts) = self.bursts();
        let burst = marked.clone();
        let add = |all: &mut Vec<(Cause, Vec<bool>)>, kind, text: String, marked: &[bool]| {
            let Exposed { share, lift } = self.exposed(marked);
            if share >= SHARE_MIN && lift >= LIFT_MIN {
                all.push((self.cause(kind, text, share, marked), marked.to_vec()));
            }
        };
        let text = format!("{bursts} bursts: requests come faster than they are served");
        add(&mut all, Kind::Burst, text, &marked);
        let (text, marked) = self.members();
        add(&mut all, Kind::Member, text, &marked);
        if !self.flushes.is_empty() {
            let text = format!("requests behind {} flushes", self.flushes.len());
            add(&mut all, Kind::Flush, text, &self.behind_flushes());
        }
        let (marked, limit) = self.large();
        let text = format!("requests of {} KiB and more take long by themselves", limit / 1024);
        add(&mut all, Kind::Size, text, &marked);
        if let Some((at_s, times)) = shift {
            let marked: Vec<bool> = self.rows.iter().map(|row| row.at_s >= at_s).collect();
            let share = self.after(&marked);
            let text = format!("from {at_s:.3} s on everything takes {times:.1} times as long");
            all.push((self.cause(Kind::Shift, text, share, &marked), marked));
        } else {
            all.extend(self.own_episodes(&burst));
        }
        all.sort_by(|(one, _), (other, _)| other.share_percent.total_cmp(&one.share_percent));
        all.truncate(3);
        let of = |causes: &[(Cause, Vec<bool>)]| {
            let mut marked = vec![false; self.rows.len()];
            for (_, more) in causes {
                marked.iter_mut().zip(more).for_each(|(mark, more)| *mark |= more);
            }
            self.exposed(&marked).share
        };
        // Requests of two causes are explained once.
        let most = all.iter().map(|(cause, _)| cause.share_percent).fold(0.0, f64::max);
        let explained = most.max(100.0 * of(&all)).min(100.0);
        let unexplained = (10.0 * (100.0 - explained)).round() / 10.0;
        (all.into_iter().map(|(cause, _)| cause).collect(), unexplained)
    }

    /// Episodes of the device's own: not in bursts.
    fn own_episodes(&self, burst: &[bool]) -> Option<(Cause, Vec<bool>)> {
        let marked: Vec<bool> =
            self.in_episode.iter().zip(burst).map(|(inside, burst)| *inside && !burst).collect();
        let Exposed { share, lift } = self.exposed(&marked);
        if share < SHARE_MIN || lift < LIFT_MIN {
            return None;
        }
        let behind = self.episodes.iter().filter(|episode| episode.written > 0).count();
        let mut written: Vec<u64> = self.episodes.iter().map(|episode| episode.written).collect();
        written.sort_unstable();
        let median = written.get(written.len() / 2).copied().unwrap_or(0);
        let count = self.episodes.len();
        let cause = match 2 * behind >= count {
            true => self.cause(
                Kind::Collection,
                format!(
                    "{count} episodes, {behind} of them behind writes ({:.1} MB between two, by \
                     the median): garbage collection, or a cache that is written out",
                    median as f64 / 1e6
                ),
                share,
                &marked,
            ),
            false => self.cause(
                Kind::Pause,
                format!("{count} episodes without writes before them: the device pauses"),
                share,
                &marked,
            ),
        };
        Some((cause, marked))
    }

    fn cause(&self, kind: Kind, text: String, share: f64, marked: &[bool]) -> Cause {
        let rest = self.rows.iter().zip(marked).filter(|(_, mark)| !**mark);
        let mut rest: Vec<f64> = rest.map(|(row, _)| row.us).collect();
        rest.sort_by(f64::total_cmp);
        Cause {
            kind,
            text,
            share_percent: (1000.0 * share).round() / 10.0,
            requests: marked.iter().filter(|mark| **mark).count(),
            without_p99_9_us: at(&rest, 0.999),
        }
    }
}
