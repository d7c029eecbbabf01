//! The settings of an ACT run, named as in its configuration file, and the jobs that they stand
//! for.

use crate::host::{Arrival, JobSpec};
use crate::units::{Bytes, Duration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The load of the Aerospike Certification Tool (`act_storage` 6.6) on one device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ActSpec {
    /// The "x" of the test: 1 is 2000 reads and 1000 writes of records per second.
    pub multiplier: f64,
    /// Reads of records per second; 2000 times the multiplier if absent.
    pub read_reqs_per_sec: Option<u32>,
    /// Writes of records per second; 1000 times the multiplier if absent.
    pub write_reqs_per_sec: Option<u32>,
    /// Threads that read records (the tool's default is five for each processor).
    pub service_threads: u32,
    /// Size of a record, bytes.
    pub record_bytes: u32,
    /// Size of the largest record, bytes; 0 if all are `record_bytes` large.
    pub record_bytes_range_max: u32,
    /// Size of the large reads and writes, KiB, a power of two.
    pub large_block_kbytes: u32,
    /// Copies of each record in the cluster: multiplies the writes.
    pub replication_factor: u32,
    /// Share of the writes that read the record first, percent.
    pub update_pct: u32,
    /// Blocks that hold less than this are emptied, percent: 50 doubles what is written.
    pub defrag_lwm_pct: u32,
    /// Defragmentation reads from memory: no large reads.
    pub no_defrag_reads: bool,
    /// Each record is written by itself, and only defragmentation writes large blocks.
    pub commit_to_device: bool,
    /// Writes do not carry FUA.
    pub disable_odsync: bool,
    /// The least size and alignment of a request that the device takes.
    pub min_op: Bytes,
    /// How far a thread may be behind its schedule before the test is stopped; 0s never stops it.
    pub max_lag: Duration,
    /// The threads' starts are spread over one period, unlike the tool's, which fire in lock step.
    pub smooth: bool,
    /// How long the test takes; 0s is one slice.
    pub time: Duration,
    /// The time over which shares of slow reads are taken; the tool's own rule has 1h.
    pub slice: Duration,
    /// The time between two reports in the log.
    pub report_interval: Duration,
    /// The log's histograms count microseconds instead of milliseconds.
    pub microsecond_histograms: bool,
}

impl Default for ActSpec {
    fn default() -> Self {
        Self {
            multiplier: 1.0,
            read_reqs_per_sec: None,
            write_reqs_per_sec: None,
            service_threads: 10,
            record_bytes: 1536,
            record_bytes_range_max: 0,
            large_block_kbytes: 128,
            replication_factor: 1,
            update_pct: 0,
            defrag_lwm_pct: 50,
            no_defrag_reads: false,
            commit_to_device: false,
            disable_odsync: false,
            min_op: Bytes::new(512),
            max_lag: Duration::from_s(10),
            smooth: false,
            time: Duration::ZERO,
            slice: Duration::from_s(600),
            report_interval: Duration::from_s(1),
            microsecond_histograms: false,
        }
    }
}

/// A setting of `workload.act` that cannot be honoured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActError {
    /// The key under `workload.act`.
    pub key: &'static str,
    /// Its value.
    pub value: String,
    /// The allowed values.
    pub allowed: String,
}

impl fmt::Display for ActError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "workload.act.{} = {} is not allowed: {}", self.key, self.value, self.allowed)
    }
}

impl std::error::Error for ActError {}

/// The plan that the tool derives from its settings.
#[derive(Clone, Debug, PartialEq)]
pub struct ActPlan {
    /// Size of a stored record, and of the largest, bytes.
    pub stored: (u32, u32),
    /// Record reads per second that the user asks for; the `reads` histogram is kept if there are
    /// any.
    pub read_reqs: u32,
    /// Record writes per second that the user asks for.
    pub write_reqs: u32,
    /// Record reads per second on the device.
    pub internal_reads: u32,
    /// Record writes per second on the device.
    pub internal_writes: u32,
    /// Large reads per second.
    pub large_reads: f64,
    /// Large writes per second.
    pub large_writes: f64,
    /// Large blocks on the device.
    pub large_blocks: u64,
    /// Requests per second of one service thread.
    pub thread_rate: u32,
    /// How long the test takes.
    pub time: Duration,
    /// The slice, rounded up to whole report intervals as the tool's script does.
    pub slice: Duration,
    /// The role of each job, in their order.
    pub roles: Vec<Role>,
}

/// The role of a job of the test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The service threads: records.
    Service,
    /// Large reads.
    LargeReads,
    /// Large writes.
    LargeWrites,
}

/// No record and no large block is larger, as in the database.
const WRITE_BLOCK_MAX: u32 = 8 << 20;
/// Records are stored in multiples of this.
const RECORD_UNIT: u32 = 16;
/// The resolution of the share of reads among the requests of a service thread.
const SPLIT: u64 = 1 << 20;
/// No test is longer: sums of times stay far from the end of the clock.
const TIME_MAX: Duration = Duration::from_s(366 * 24 * 3600);

impl ActSpec {
    /// The plan that the tool derives from these settings, for a device of which the host sees
    /// `user` bytes.
    pub fn plan(&self, user: Bytes) -> Result<ActPlan, ActError> {
        self.check(user)?;
        let (read_reqs, write_reqs) = self.rates()?;
        let round = |bytes: u32| bytes.next_multiple_of(RECORD_UNIT);
        let stored = round(self.record_bytes);
        let stored_max = round(self.record_bytes_range_max).max(stored);
        // Integers until here, as in the tool: 131072 / 1536 is 85.
        let per_block = self.large_bytes() / ((stored + stored_max) / 2);
        if per_block == 0 {
            let allowed =
                format!("a record that fits into large_block_kbytes = {}", self.large_block_kbytes);
            return Err(error("record_bytes", self.record_bytes, allowed));
        }
        let internal_reads =
            u64::from(read_reqs) + u64::from(write_reqs) * u64::from(self.update_pct) / 100;
        let all_writes = u64::from(self.replication_factor) * u64::from(write_reqs);
        let internal_writes = if self.commit_to_device { all_writes } else { 0 };
        let (fits, allowed) =
            (u64::from(u32::MAX), "a rate below 4294967296 requests per second of each kind");
        if internal_reads > fits || all_writes > fits {
            return Err(error("multiplier", self.multiplier, allowed));
        }
        let original = all_writes as f64 / f64::from(per_block);
        let amplification = 100.0 / f64::from(100 - self.defrag_lwm_pct);
        let large = original * amplification;
        let large_writes =
            if self.commit_to_device { original * (amplification - 1.0) } else { large };
        let large_reads = if self.no_defrag_reads { 0.0 } else { large };
        let total = internal_reads + internal_writes;
        let thread_rate = total / u64::from(self.service_threads);
        if total > 0 && thread_rate == 0 {
            let allowed = format!("at most {total} threads, one for each request per second");
            return Err(error("service_threads", self.service_threads, allowed));
        }
        let roles = [
            (Role::Service, total > 0),
            (Role::LargeReads, large_reads > 0.0),
            (Role::LargeWrites, large_writes > 0.0),
        ];
        let interval = self.report_interval.as_ns();
        Ok(ActPlan {
            stored: (stored, stored_max),
            read_reqs,
            write_reqs,
            internal_reads: internal_reads as u32,
            internal_writes: internal_writes as u32,
            large_reads,
            large_writes,
            large_blocks: user.get() / u64::from(self.large_bytes()),
            thread_rate: thread_rate as u32,
            time: if self.time.is_zero() { self.slice } else { self.time },
            slice: Duration::from_ns(self.slice.as_ns().next_multiple_of(interval)),
            roles: roles.into_iter().filter(|(_, some)| *some).map(|(role, _)| role).collect(),
        })
    }

    /// The jobs of the test, in the order of the plan's roles.
    pub fn jobs(&self, plan: &ActPlan) -> Vec<JobSpec> {
        let large = Bytes::new(u64::from(self.large_bytes()));
        let arrival = if self.smooth { Arrival::PacedSmooth } else { Arrival::Paced };
        let fua_percent = if self.disable_odsync { 0.0 } else { 100.0 };
        let base = JobSpec { arrival, fua_percent, time: plan.time, ..JobSpec::default() };
        let one = |read_percent: f64, rate: f64| JobSpec {
            read_percent,
            rate,
            queue_depth: 1,
            block_sizes: vec![(large, 1.0)],
            ..base.clone()
        };
        let job = |role: &Role| match role {
            Role::Service => {
                let total = u64::from(plan.internal_reads) + u64::from(plan.internal_writes);
                let split = SPLIT * u64::from(plan.internal_reads) / total;
                JobSpec {
                    read_percent: split as f64 / SPLIT as f64 * 100.0,
                    block_sizes: self.record_sizes(plan),
                    align: self.min_op,
                    // Whole large blocks only, as the tool.
                    size: Bytes::new(plan.large_blocks * large.get()),
                    queue_depth: self.service_threads,
                    rate: f64::from(plan.thread_rate) * f64::from(self.service_threads),
                    ..base.clone()
                }
            }
            Role::LargeReads => one(100.0, plan.large_reads),
            Role::LargeWrites => one(0.0, plan.large_writes),
        };
        plan.roles.iter().map(job).collect()
    }

    /// Bytes of a large block.
    pub fn large_bytes(&self) -> u32 {
        self.large_block_kbytes * 1024
    }

    /// The sizes of the requests for records: stored sizes rounded up to what the device takes, all
    /// as likely.
    fn record_sizes(&self, plan: &ActPlan) -> Vec<(Bytes, f64)> {
        let unit = self.min_op.get();
        let units = |bytes: u32| u64::from(bytes).div_ceil(unit);
        (units(plan.stored.0)..=units(plan.stored.1))
            .map(|units| (Bytes::new(units * unit), 1.0))
            .collect()
    }

    /// Record reads and writes per second.
    fn rates(&self) -> Result<(u32, u32), ActError> {
        let rate = |said: Option<u32>, times: f64| {
            said.unwrap_or((times * self.multiplier + 0.5).floor() as u32)
        };
        let (reads, writes) =
            (rate(self.read_reqs_per_sec, 2000.0), rate(self.write_reqs_per_sec, 1000.0));
        match (reads, writes) {
            (0, 0) if self.read_reqs_per_sec.is_some() => Err(error(
                "read_reqs_per_sec",
                0,
                "above 0 where write_reqs_per_sec is 0: there is nothing to do",
            )),
            (0, 0) => {
                Err(error("multiplier", self.multiplier, "large enough for a request per second"))
            }
            rates => Ok(rates),
        }
    }

    fn check(&self, user: Bytes) -> Result<(), ActError> {
        let require = |holds: bool, key, value: &dyn fmt::Display, allowed: &str| match holds {
            true => Ok(()),
            false => Err(error(key, value, allowed)),
        };
        let multiplier = self.multiplier;
        // 500 million requests a second of each kind, far beyond any device; and NaN is nothing.
        let sane = multiplier > 0.0 && multiplier <= 250_000.0;
        require(sane, "multiplier", &multiplier, "a number above 0 and at most 250000")?;
        require(
            (1..=1 << 16).contains(&self.service_threads),
            "service_threads",
            &self.service_threads,
            "from 1 to 65536 threads",
        )?;
        let (record, largest) = (self.record_bytes, self.record_bytes_range_max);
        let record_holds = (1..=WRITE_BLOCK_MAX).contains(&record);
        require(record_holds, "record_bytes", &record, "from 1 to 8388608 bytes")?;
        let range = largest == 0 || (largest > record && largest <= WRITE_BLOCK_MAX);
        let allowed = "0, or above record_bytes and at most 8388608 bytes";
        require(range, "record_bytes_range_max", &largest, allowed)?;
        let block = self.large_block_kbytes;
        let block_holds = block.is_power_of_two() && block <= WRITE_BLOCK_MAX / 1024;
        require(
            block_holds,
            "large_block_kbytes",
            &block,
            "a power of two of KiB, from 1 to 8192",
        )?;
        let replicas = self.replication_factor;
        require(replicas > 0, "replication_factor", &replicas, "at least 1 copy of a record")?;
        require(
            self.update_pct <= 100,
            "update_pct",
            &self.update_pct,
            "a percentage, from 0 to 100",
        )?;
        let defrag = self.defrag_lwm_pct;
        require(defrag < 100, "defrag_lwm_pct", &defrag, "a percentage, from 0 to 99")?;
        let odsync = !(self.disable_odsync && self.commit_to_device);
        require(
            odsync,
            "disable_odsync",
            &true,
            "false where commit_to_device is true: a commit must last",
        )?;
        let unit = [512, 1024, 2048, 4096].contains(&self.min_op.get());
        require(unit, "min_op", &self.min_op, "512B, 1KiB, 2KiB or 4KiB")?;
        let unit = u64::from(self.large_bytes());
        let fits = unit >= self.min_op.get() && unit <= user.get();
        let allowed = format!("from min_op to the {} B that the host sees", user.get());
        require(fits, "large_block_kbytes", &block, &allowed)?;
        self.check_times()
    }

    fn check_times(&self) -> Result<(), ActError> {
        let whole = |time: Duration| time.as_ns().is_multiple_of(1_000_000_000) && time <= TIME_MAX;
        let times =
            [("report_interval", self.report_interval), ("slice", self.slice), ("time", self.time)];
        for (key, time) in times {
            if !whole(time) || (time.is_zero() && key != "time") {
                return Err(error(
                    key,
                    time,
                    "whole seconds, at least 1s and at most 366 d, as its log counts them",
                ));
            }
        }
        if !self.time.is_zero() && self.time < self.slice {
            let allowed = format!(
                "0s for one slice, or at least slice = {}: only whole slices are judged",
                self.slice
            );
            return Err(error("time", self.time, allowed));
        }
        match self.max_lag <= TIME_MAX {
            true => Ok(()),
            false => Err(error("max_lag", self.max_lag, "at most 366 d, or 0s for no bound")),
        }
    }
}

fn error(key: &'static str, value: impl fmt::Display, allowed: impl Into<String>) -> ActError {
    ActError { key, value: value.to_string(), allowed: allowed.into() }
}
