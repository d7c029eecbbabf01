//! Why the tail is there: the parts of latencies, added up for all requests and for those beyond
//! each percentile.
//!
//! Requests are kept in buckets of their latency, 64 an octave, with the sum of each part: a band
//! "beyond p99.9" is every request from the lower edge of the bucket in which that percentile lies,
//! so it may hold a few more than the share that gives it its name, and its count says how many.

use super::buckets::{bounds_of, index_of};
use super::ratio;
use super::stages::StageTimes;
use crate::units::{CAUSES, Cause, Duration, Split, Stages};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

const SUB_BITS: u32 = 6;

/// The bands and the share of requests in each, in parts of 10^4.
const BANDS: [(&str, u64); 4] = [("all", 10_000), ("p99", 100), ("p99_9", 10), ("p99_99", 1)];

/// The parts of the latencies of one kind of request.
#[derive(Clone, Debug, Default)]
pub struct SplitStats {
    buckets: Vec<Bucket>,
    /// By bucket: the stages of an array's requests; empty where none took time, and for a drive's.
    stages: Vec<Stages>,
    count: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Bucket {
    count: u64,
    split: Split,
}

impl SplitStats {
    /// Counts a request of `latency`, split; says what the parts add up to.
    #[inline]
    pub fn record(&mut self, latency: Duration, split: &Split) -> Duration {
        let bucket = index_of::<SUB_BITS>(latency.as_ns());
        if bucket >= self.buckets.len() {
            self.buckets.resize(bucket + 1, Bucket::default());
        }
        self.count += 1;
        self.buckets[bucket].count += 1;
        self.buckets[bucket].split.take_in(split)
    }

    /// Adds the stages of a request of `latency` that is counted.
    pub fn record_stages(&mut self, latency: Duration, stages: &Stages) {
        let bucket = index_of::<SUB_BITS>(latency.as_ns());
        if bucket >= self.stages.len() {
            self.stages.resize(bucket + 1, Stages::default());
        }
        self.stages[bucket] += *stages;
    }

    /// Adds what `other` counted.
    pub fn merge(&mut self, other: &SplitStats) {
        if self.buckets.len() < other.buckets.len() {
            self.buckets.resize(other.buckets.len(), Bucket::default());
        }
        for (mine, theirs) in self.buckets.iter_mut().zip(&other.buckets) {
            mine.count += theirs.count;
            mine.split += theirs.split;
        }
        if self.stages.len() < other.stages.len() {
            self.stages.resize(other.stages.len(), Stages::default());
        }
        for (mine, theirs) in self.stages.iter_mut().zip(&other.stages) {
            *mine += *theirs;
        }
        self.count += other.count;
    }

    /// How many requests were counted, and the parts of all of them.
    pub fn total(&self) -> (u64, Split) {
        let add = |mut sum: Split, bucket: &Bucket| {
            sum += bucket.split;
            sum
        };
        (self.count, self.buckets.iter().fold(Split::NONE, add))
    }

    /// The stages of all of them.
    pub fn total_stages(&self) -> Stages {
        self.stages.iter().fold(Stages::default(), |mut sum, stages| {
            sum += *stages;
            sum
        })
    }

    /// The bands that hold something. All of an array's have stages, also where its memory took
    /// every write at once: then they are zero.
    pub fn bands(&self, of_array: bool) -> Vec<AttributionBand> {
        let mut bands = Vec::with_capacity(BANDS.len());
        for (name, share) in BANDS {
            // A band of less than one request says nothing.
            let wanted = self.count * share / 10_000;
            if wanted == 0 {
                break;
            }
            let (mut count, mut split, mut from, mut stages) =
                (0, Split::NONE, 0, Stages::default());
            for (bucket, held) in
                self.buckets.iter().enumerate().rev().filter(|(_, held)| held.count > 0)
            {
                count += held.count;
                split += held.split;
                stages += self.stages.get(bucket).copied().unwrap_or_default();
                from = bounds_of::<SUB_BITS>(bucket).0;
                if count >= wanted {
                    break;
                }
            }
            bands.push(AttributionBand {
                band: name.to_string(),
                from_us: if name == "all" { 0.0 } else { Duration::from_ns(from).as_us_f64() },
                count,
                mean_us: CauseTimes::mean(&split, count),
                stages_us: of_array.then(|| StageTimes::mean(&stages, count)),
            });
        }
        bands
    }
}

/// Where the time of requests went.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AttributionReport {
    /// Reads: all, and those at p99, p99.9 and p99.99 and beyond, from `from_us` on.
    pub read: Vec<AttributionBand>,
    /// Writes: the same.
    pub write: Vec<AttributionBand>,
    /// The slowest requests of every kind, the slowest first.
    pub slowest: Vec<SlowRequest>,
    /// The slowest reads, the slowest first.
    #[serde(default)]
    pub slowest_reads: Vec<SlowRequest>,
    /// The slowest writes, the slowest first.
    #[serde(default)]
    pub slowest_writes: Vec<SlowRequest>,
}

/// The requests from a latency on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AttributionBand {
    /// `all`, `p99`, `p99_9` or `p99_99`: beyond which percentile.
    pub band: String,
    /// The shortest latency that belongs to it (microseconds): the lower edge, on a grid of 64 an
    /// octave, of where the percentile lies.
    pub from_us: f64,
    /// Requests that belong to it (requests).
    pub count: u64,
    /// Time of one of them on average, by cause (microseconds).
    pub mean_us: CauseTimes,
    /// Mean time by stage, of an array's requests (microseconds): in every band of an array, and in
    /// none of a drive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stages_us: Option<StageTimes>,
}

/// Time by cause (microseconds); the parts add up to the latency.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CauseTimes {
    /// Own work: commands, array operations, transfers, fixed times of buffer and controller
    /// (microseconds).
    pub service: f64,
    /// Behind an erase on the die (microseconds).
    pub erase: f64,
    /// Behind programs of host data on the die (microseconds).
    pub program: f64,
    /// Behind garbage collection's copies: on the die, on the channel, or because GC holds the
    /// channel (microseconds).
    pub gc_copy: f64,
    /// Behind other reads on the die (microseconds).
    pub reads: f64,
    /// Behind other requests' transfers on the channel (microseconds).
    pub channel: f64,
    /// On the host link, and behind others there (microseconds).
    pub link: f64,
    /// For a place in the drive's queue, its turn in a strict order, or a share of the power budget
    /// (microseconds).
    pub queue: f64,
    /// For the write buffer or the array's memory itself, while nothing that held it up was on its
    /// way to flash (microseconds).
    pub buffer: f64,
    /// For an operation to be suspended and resumed (microseconds).
    pub suspension: f64,
    /// For the other members of a parity stripe; an array: for the computation alone
    /// (microseconds).
    pub reconstruct: f64,
    /// On a command that brought nothing. An array: it failed fast, its drive died, or it was
    /// waited for in vain; a host that resets its drive: until the reset, and while the drive was
    /// not ready (microseconds).
    #[serde(default)]
    pub retry: f64,
    /// An array: for its row, behind another update of it or reads of the whole row (microseconds).
    #[serde(default)]
    pub stripe: f64,
    /// For a free block: a row of the write buffer had none to go to until garbage collection gave
    /// one, and its die stood idle (microseconds).
    #[serde(default)]
    pub space: f64,
    /// Behind programs of host data that a flush of the host had sent to flash: rows which would
    /// have stayed in the write buffer without it (microseconds).
    #[serde(default)]
    pub flush: f64,
}

impl CauseTimes {
    /// The parts of one request.
    pub fn of(split: &Split) -> Self {
        Self::mean(split, 1)
    }

    /// The parts of `count` requests, for one of them, to the nearest nanosecond.
    fn mean(split: &Split, count: u64) -> Self {
        let part = |cause| {
            let ns = u128::from(split.get(cause).as_ns());
            ratio::rounded(ns, u128::from(count) * 1000, 3).unwrap_or(0.0)
        };
        Self::from_fn(part)
    }

    fn from_fn(mut part: impl FnMut(Cause) -> f64) -> Self {
        Self {
            service: part(Cause::Service),
            erase: part(Cause::Erase),
            program: part(Cause::Program),
            gc_copy: part(Cause::GcCopy),
            reads: part(Cause::Reads),
            channel: part(Cause::Channel),
            link: part(Cause::Link),
            queue: part(Cause::Queue),
            buffer: part(Cause::Buffer),
            suspension: part(Cause::Suspension),
            reconstruct: part(Cause::Reconstruct),
            retry: part(Cause::Retry),
            stripe: part(Cause::Stripe),
            space: part(Cause::Space),
            flush: part(Cause::Flush),
        }
    }

    /// The times with their causes, in the order of [`Cause::ALL`].
    pub fn all(&self) -> [(Cause, f64); CAUSES] {
        Cause::ALL.map(|cause| (cause, self.get(cause)))
    }

    /// The time of one cause.
    pub fn get(&self, cause: Cause) -> f64 {
        match cause {
            Cause::Service => self.service,
            Cause::Erase => self.erase,
            Cause::Program => self.program,
            Cause::GcCopy => self.gc_copy,
            Cause::Reads => self.reads,
            Cause::Channel => self.channel,
            Cause::Link => self.link,
            Cause::Queue => self.queue,
            Cause::Buffer => self.buffer,
            Cause::Suspension => self.suspension,
            Cause::Reconstruct => self.reconstruct,
            Cause::Retry => self.retry,
            Cause::Stripe => self.stripe,
            Cause::Space => self.space,
            Cause::Flush => self.flush,
        }
    }
}

/// One of the slowest requests.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SlowRequest {
    /// `read`, `write`, `trim` or `flush`.
    pub op: String,
    /// Its first sector (sectors of 512 bytes).
    pub lba: u64,
    /// Its first logical page (mapping units).
    pub lpn: u64,
    /// Its length (sectors).
    pub sectors: u32,
    /// The job it belongs to (number, from 0).
    pub job: u32,
    /// When it came (seconds, in whole nanoseconds).
    pub at_s: f64,
    /// How long it took (microseconds).
    pub latency_us: f64,
    /// Where the time went (microseconds).
    pub parts_us: CauseTimes,
    /// The die of its last flash operation, of a write in the buffer that of the row which it
    /// waited for longest, of an array's request that of its longest step; null where flash took no
    /// part.
    pub flash: Option<SlowFlash>,
    /// An array's request step by step; none of a drive's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<SlowStep>,
}

/// A step of an array's slow request. Steps follow one another from its coming to its end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SlowStep {
    /// The stage that it waited for, by its name in `stages_us`.
    pub stage: String,
    /// The drive whose command ended the step (number, from 0); null where the array waited for
    /// itself.
    pub drive: Option<u32>,
    /// When it began (seconds).
    pub from_s: f64,
    /// How long it took (microseconds).
    pub took_us: f64,
    /// Where the time went (microseconds).
    pub parts_us: CauseTimes,
    /// The die of that command's last flash operation; null where flash took no part.
    pub flash: Option<SlowFlash>,
}

/// The last flash operation of a slow request.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SlowFlash {
    /// The die it went to (number, from 0).
    pub die: u32,
    /// The work that it met there: `nothing`, `erase`, `program`, `flush` (a program that a flush
    /// had sent), `gc_copy`, `read`, `slot` (its channel, which gives none), `power` (an operation
    /// of it waits for the power budget), or `closed` (GC drains or holds the channel).
    pub met: String,
    /// The block that the die worked on (number on the whole drive); null if none.
    pub block: Option<u32>,
    /// Since when the die had done so (seconds).
    pub since_s: f64,
    /// When the operation came to the die (seconds).
    pub came_s: f64,
    /// When the die began it (seconds).
    pub began_s: f64,
    /// When it ended (seconds).
    pub ended_s: f64,
    /// Garbage collection on the die was forced: at or below the critical watermark (`gc.hard`) it
    /// goes before the host.
    #[serde(default)]
    pub forced: bool,
    /// The operation was a row of other data: the request waited for the room that it made in the
    /// write buffer, or for the buffer to be on flash.
    #[serde(default)]
    pub makes_room: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(parts: &[(Cause, u64)]) -> Split {
        parts.iter().fold(Split::NONE, |mut split, (cause, us)| {
            split.add(*cause, Duration::from_us(*us));
            split
        })
    }

    #[test]
    fn bands_hold_the_tail_and_say_what_it_waited_for() {
        let mut stats = SplitStats::default();
        // 99.5 % take 100 us of service, the rest wait 5 ms for an erase.
        (0..9950).for_each(|_| {
            stats.record(Duration::from_us(100), &split(&[(Cause::Service, 100)]));
        });
        let slow = split(&[(Cause::Service, 100), (Cause::Erase, 5000)]);
        (0..50).for_each(|_| {
            stats.record(Duration::from_us(5100), &slow);
        });
        let bands = stats.bands(false);
        let names: Vec<&str> = bands.iter().map(|band| band.band.as_str()).collect();
        assert_eq!(names, ["all", "p99", "p99_9", "p99_99"]);
        assert_eq!(
            (bands[0].count, bands[0].mean_us.service, bands[0].mean_us.erase),
            (10_000, 100.0, 25.0)
        );
        // p99 lies among the fast ones, which share a bucket.
        assert_eq!(bands[1].count, 10_000);
        assert_eq!((bands[2].count, bands[2].mean_us.erase), (50, 5000.0));
        assert!(bands[2].from_us <= 5100.0 && bands[2].from_us > 5000.0);
        assert_eq!(stats.bands(false)[3].count, 50);
    }

    #[test]
    fn few_requests_have_few_bands_and_none_has_none() {
        assert!(SplitStats::default().bands(false).is_empty());
        let mut stats = SplitStats::default();
        (0..99).for_each(|_| {
            stats.record(Duration::from_us(1), &split(&[(Cause::Link, 1)]));
        });
        assert_eq!(stats.bands(false).len(), 1);
        stats.record(Duration::from_us(1), &split(&[(Cause::Link, 1)]));
        assert_eq!(stats.bands(false).len(), 2);
    }

    #[test]
    fn every_band_of_an_array_has_stages_and_none_of_a_drive_has() {
        let mut stats = SplitStats::default();
        (0..100).for_each(|_| {
            stats.record(Duration::ZERO, &Split::NONE);
        });
        let stages = |of_array| stats.bands(of_array).into_iter().map(|band| band.stages_us);
        assert!(stages(true).all(|stages| stages == Some(StageTimes::default())));
        assert!(stages(false).all(|stages| stages.is_none()));
    }

    #[test]
    fn merged_stats_are_as_if_recorded_together() {
        let (mut one, mut two, mut both) =
            (SplitStats::default(), SplitStats::default(), SplitStats::default());
        for us in 1..3000u64 {
            let parts = split(&[(Cause::Queue, us / 2), (Cause::Channel, us - us / 2)]);
            if us % 3 == 0 { &mut one } else { &mut two }.record(Duration::from_us(us), &parts);
            both.record(Duration::from_us(us), &parts);
        }
        one.merge(&two);
        assert_eq!(one.bands(false), both.bands(false));
    }
}
