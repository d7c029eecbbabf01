//! Measurements of a drive, as the numbers of a result, and the warnings about them.

use super::words::{
    behind_warning, power_loss_in_words, resets_in_words, under_way_warning, why_read_only,
};
use super::{Run, RunError};
use crate::machine::peak_rss_bytes;
use crate::prepare::{About, logical_pages};
use manx_config::{MeasureSpec, PolicyPath, Scenario};
use manx_core::drive::{Drive, Op, Overwrite, PreconditionState, Step, Storage, Story, Update};
use manx_core::flash::{Capacity, Device};
use manx_core::ftl::{DIRECTORY_ENTRY, DataPlacement, FtlKind, GcMode, Pace, Rotate, Watermark};
use manx_core::host::{Causes, Driver, Measured, Oracle, Slow, Starved};
use manx_core::stats::{
    Attribution, Began, CauseTimes, Counters, MachineReport, MapMemory, Outcome, Parts, RainKind,
    RunTotals, SlowFlash, SlowRequest, SlowStep, StateTotals, StressCounters, VerifyReport,
    WarmupExcluded,
};
use manx_core::units::Instant;

/// With `--verify`: bytes of the content that stands for a physical page's data, and of what the
/// oracle keeps for a logical page.
const CONTENT_BYTES: u64 = 4;
const ORACLE_BYTES: u64 = 8;

/// Bytes of RAM for a page's place with page mapping: a 32-bit physical page number.
const MAP_ENTRY: u64 = 4;

impl Run<'_> {
    /// Totals of the run of a drive, or of an array of them, without what became of its traces.
    pub(super) fn totals<S: Storage>(
        &self,
        driver: &Driver<S>,
        outcome: Outcome,
    ) -> Result<RunTotals, RunError> {
        driver.measured().causes.as_deref().map_or(Ok(()), RunError::of_causes)?;
        let mut all = self.drive_totals(driver, 0, driver.measured(), outcome);
        // The requests are the array's: they are counted once.
        let nothing = Measured::default();
        for number in 1..driver.storage().drives() {
            all.add_drive(self.drive_totals(driver, number, &nothing, outcome));
        }
        all.state.halves = driver.halves();
        all.verify = driver.oracle().map(|oracle| VerifyReport {
            reads_checked: oracle.reads_checked(),
            mismatches: oracle.mismatches(),
        });
        all.warnings = self.drive_warnings(driver, outcome);
        Ok(all)
    }

    /// Counts of one drive, and `measured`.
    fn drive_totals<S: Storage>(
        &self,
        driver: &Driver<S>,
        number: usize,
        measured: &Measured,
        outcome: Outcome,
    ) -> RunTotals {
        let (scenario, drive) = (self.scenario, driver.storage().drive(number));
        let (capacity, state) = (scenario.capacity(), self.state_totals(driver, number));
        let unit = state.unit;
        let path = PolicyPath::of(scenario);
        let counters = drive.counters().since(&counters_before(driver, number));
        RunTotals {
            scenario: scenario.name.clone(),
            policy: self.policy.to_string(),
            path: path.to_string(),
            axes: path.by_axis(),
            title: title(scenario),
            seed: scenario.seed,
            outcome,
            drives: 1,
            span: measured.until.max(measured.since).since(measured.since),
            since: measured.since,
            read: measured.read.clone(),
            write: measured.write.clone(),
            trim: measured.trim.clone(),
            flush: measured.flush.clone(),
            state,
            counters,
            parts: parts(scenario),
            blocked_reads: measured.gc_blocked_reads,
            blocked_at_split_reads: measured.gc_blocked_at_split_reads,
            host_pages_written: (counters.host_bytes_written + unit / 2) / unit,
            used_max_millionths: (drive.ftl().log_blocks().is_none())
                .then(|| 1_000_000 - drive.ftl().least_free_millionths()),
            wear: drive.wear(),
            stress: stress(drive),
            rber_per_1000: scenario.erase.rber_per_1000,
            array: None,
            power_loss: driver.outages().first().map(|outage| outage.report),
            resets: driver.resets().map(|all| all.since(&measured.resets_before)),
            map: scenario.ftl.map.is_cached().then(|| map_memory(scenario)),
            raw: capacity.raw,
            user: capacity.user,
            map_ram: map_ram(scenario, drive),
            trace: None,
            act: None,
            over_time: measured.over_time.clone(),
            attribution: measured
                .causes
                .as_ref()
                .map(|causes| attribution(causes, &scenario.device)),
            verify: None,
            warmup_excluded: WarmupExcluded {
                rule: warmup_rule(&scenario.measure),
                requests: measured.warmup_requests,
            },
            warnings: Vec::new(),
        }
    }

    /// Sizes of a drive's units, and its free bytes when the measurement began.
    fn state_totals<S: Storage>(&self, driver: &Driver<S>, number: usize) -> StateTotals {
        let geometry = &self.scenario.device.geometry;
        let unit = geometry.map_unit.get();
        let free = driver.measured().free_before.get(number).copied().flatten();
        let units_per_lane = driver.storage().drive(number).ftl().layout().units_per_lane();
        StateTotals {
            free_bytes: free.map(|units| units * unit),
            unit,
            block: unit * u64::from(units_per_lane / geometry.blocks),
            ..StateTotals::default()
        }
    }

    /// Memory of a simulated page: the maps, its bit errors if there are any, and with `--verify`
    /// its content and what the oracle knows of it.
    pub(super) fn with_memory<S: Storage>(
        &self,
        machine: MachineReport,
        driver: &Driver<S>,
    ) -> MachineReport {
        let (ftl, pages) = (driver.drive().ftl(), Capacity::of(&self.scenario.device));
        let pages = pages.raw.get() / self.scenario.device.geometry.map_unit.get();
        let verified = if self.context.verify {
            CONTENT_BYTES * pages + ORACLE_BYTES * u64::from(ftl.logical())
        } else {
            0
        };
        let flash = driver.drive().flash();
        let errors = flash.bit_errors().map_or(0, |errors| errors.bytes());
        let held = (ftl.bytes() + errors + flash.retry_bytes()) as u64 + verified;
        machine.with_memory(peak_rss_bytes(), held, pages)
    }

    /// Warnings about the state that the drives started from.
    pub(super) fn state_warnings(&self, about: About, outcome: Outcome) -> Vec<String> {
        let mut warnings = about.notes;
        if !about.settled && outcome != Outcome::Partial {
            let passes = about.passes;
            let limit = self.scenario.precondition.settled_below * 100.0;
            warnings.push(format!(
                "preconditioning did not settle: after {passes} passes the WAF still changed by \
                 {limit} % or more; precondition.passes_max allows more"
            ));
        }
        warnings
    }

    fn drive_warnings<S: Storage>(&self, driver: &Driver<S>, outcome: Outcome) -> Vec<String> {
        let (progress, measured) = (driver.progress(), driver.measured());
        let mut warnings = Vec::new();
        if let Some(Starved { op, age, outstanding }) = driver.starved() {
            let (op, timeout) = (kind(*op), self.scenario.measure.timeout);
            warnings.push(format!(
                "starved: the oldest request, a {op}, had waited {age} when the run ended, with \
                 {outstanding} outstanding; measure.timeout = {timeout} is what a host waits"
            ));
        }
        if outcome == Outcome::Stuck {
            let lost = progress.issued - progress.completed;
            warnings.push(format!(
                "{lost} of {} requests never completed: a defect of the model",
                progress.issued
            ));
            for number in 0..driver.storage().drives() {
                let drive = if driver.storage().drives() == 1 {
                    "the drive".to_string()
                } else {
                    format!("member {number}")
                };
                let waits = driver.storage().drive(number).describe();
                warnings.push(format!("what {drive} waited for then: {}", waits.trim_end()));
            }
        }
        let lost = driver.outages().iter().map(|outage| outage.report.commands_lost).sum::<u64>();
        // Of an array its own warnings say it, member by member.
        let faults = &driver.drive().counters().faults;
        if let Some(at) = faults.read_only_at.filter(|_| driver.storage().drives() == 1) {
            let (why, at) = (why_read_only(faults), seconds(at));
            warnings.push(format!(
                "the drive {why} and turned read-only after {at} s: \
                 writes failed from then on, and are in no latency"
            ));
        }
        if progress.failed > lost {
            warnings.push(format!("{} requests completed with an error", progress.failed - lost));
        }
        warnings.extend(driver.outages().iter().flat_map(power_loss_in_words));
        warnings.extend(driver.resets().and_then(resets_in_words));
        if progress.issued > 0 && measured.warmup_requests == progress.issued {
            warnings.push("every request belongs to the warm-up: nothing was measured".to_string());
        } else if progress.completed > 0 && measured.read.count() == 0 {
            warnings.push("nothing was read: there are no read latencies".to_string());
        }
        warnings.extend(behind_warning(driver, self.scenario));
        warnings.extend(under_way_warning(driver, self.scenario));
        warnings.extend(self.buffer_warning(driver));
        warnings.extend(self.forced_warning(driver));
        if let Some(mismatch) = driver.oracle().and_then(Oracle::first_mismatch) {
            warnings.push(format!(
                "a read returned what it may not: {mismatch}: a defect of the model"
            ));
        }
        warnings
    }

    /// The WAF counts what the host wrote and what was programmed; what is in the buffers at an end
    /// is in one of them only.
    fn buffer_warning<S: Storage>(&self, driver: &Driver<S>) -> Option<String> {
        let drives = driver.storage().drives();
        let (mut before, mut now, mut kept, mut written) = (0, 0, 0, 0);
        for number in 0..drives {
            let drive = driver.storage().drive(number);
            let (then, left) = (buffered_before(driver, number), u64::from(drive.buffered()));
            (before, now, kept) = (before + then, now + left, kept + left.abs_diff(then));
            written += drive.counters().host_bytes_written
                - counters_before(driver, number).host_bytes_written;
        }
        let pages = written / self.scenario.device.geometry.map_unit.get();
        let buffer =
            if drives == 1 { "the write buffer" } else { "the write buffers of all members" };
        (kept * 50 > pages && pages > 0).then(|| {
            format!(
                "{buffer} held {before} pages when counting began and {now} at the end, of \
                 {pages} written: the WAF is off by up to {:.0} %; more writes, a warm-up or a \
                 smaller drive.buffer mend that",
                100.0 * kept as f64 / pages as f64
            )
        })
    }

    /// A small drive can make `preemptive` into `base`: a soft threshold of two blocks lies on the
    /// hard one.
    fn forced_warning<S: Storage>(&self, driver: &Driver<S>) -> Option<String> {
        let Scenario { gc, device, .. } = self.scenario;
        let counted = (0..driver.storage().drives()).map(|number| {
            let (now, before) =
                (driver.storage().drive(number).counters(), counters_before(driver, number));
            (
                now.collections - before.collections,
                now.forced_collections - before.forced_collections,
            )
        });
        let (runs, forced) = counted.fold((0, 0), |sum, of| (sum.0 + of.0, sum.1 + of.1));
        let blocks = |mark: Watermark| {
            mark.share_of(device.geometry.blocks) * f64::from(device.geometry.blocks)
        };
        (gc.mode == GcMode::Preemptive && !gc.reads_first && forced * 2 > runs).then(|| {
            format!(
                "{forced} of {runs} GC runs began at or below gc.hard, where they go before \
                 the host, as under base: gc.soft and gc.hard are {:.1} and {:.1} of a plane's \
                 {} blocks; raise gc.soft",
                blocks(gc.soft),
                blocks(gc.hard),
                device.geometry.blocks
            )
        })
    }
}

/// Title of a run, load on drive: a trace by the name of its file, which is not the scenario's own
/// load any more.
fn title(scenario: &Scenario) -> String {
    let jobs = scenario.workload.jobs.iter();
    let mut traces: Vec<&str> =
        jobs.filter_map(|job| Some(job.trace.as_ref()?.file.as_str())).collect();
    traces.dedup();
    let names: Vec<&str> =
        traces.iter().map(|file| file.rsplit(['/', '\\']).next().unwrap_or(file)).collect();
    let drives = if scenario.array.is_on() {
        format!("{} x ", scenario.array.members)
    } else {
        String::new()
    };
    let what = if names.is_empty() { scenario.name.clone() } else { names.join(" and ") };
    format!("{what} on {drives}{}", scenario.device.name)
}

/// How the drives were prepared.
pub(super) fn began(about: &About, state: PreconditionState) -> Began {
    let steady = state == PreconditionState::Steady;
    let name = match state {
        PreconditionState::Empty => "empty",
        PreconditionState::Fill => "fill",
        PreconditionState::Steady => "steady",
        PreconditionState::Aged => "aged",
    };
    let by = match about.overwrite {
        Overwrite::Random => "random",
        Overwrite::Workload => "workload",
    };
    Began {
        state: name.to_string(),
        overwrites: about.passes,
        overwritten_by: steady.then(|| by.to_string()),
        waf: (state != PreconditionState::Empty).then_some(about.waf),
        settled: about.settled,
    }
}

/// Which parts of a result the drives of `scenario` have.
fn parts(scenario: &Scenario) -> Parts {
    let rain = &scenario.rain;
    let kind = RainKind {
        tolerant: rain.is_tolerant(),
        over_superblocks: rain.update == Update::Superblock,
    };
    Parts {
        rain: (rain.width > 0).then_some(kind),
        rotation: scenario.gc.rotate != Rotate::Off,
        pace: scenario.gc.pace != Pace::Off,
        scrub: scenario.scrub.is_on(),
        retry: scenario.retry.is_on(),
        power: !scenario.drive.power.is_off(),
        pslc: scenario.ftl.placement == DataPlacement::Pslc,
        log: scenario.ftl.kind == FtlKind::LogBlock,
        faults: scenario.faults.is_on(),
    }
}

/// Where a map that lies on flash has its entries.
fn map_memory(scenario: &Scenario) -> MapMemory {
    let (map, logical) = (&scenario.ftl.map, u64::from(logical_pages(scenario)));
    let cached_entries = map.entries().min(logical);
    MapMemory {
        cached_entries,
        cache_bytes: cached_entries * map.entry.get(),
        directory_bytes: map.pages(logical, scenario.device.geometry.map_unit.get())
            * DIRECTORY_ENTRY,
        whole_map_bytes: logical * map.stored.get(),
    }
}

/// Bytes of RAM that the drive spends on its map.
fn map_ram(scenario: &Scenario, drive: &Drive) -> u64 {
    let ftl = drive.ftl();
    let (map, logical) = (&scenario.ftl.map, u64::from(ftl.logical()));
    match ftl.log_blocks() {
        Some(log) => log.map_ram(),
        None if map.is_cached() => {
            let unit = scenario.device.geometry.map_unit.get();
            map.entries().min(logical) * map.entry.get()
                + map.pages(logical, unit) * DIRECTORY_ENTRY
        }
        None => logical * MAP_ENTRY,
    }
}

/// Stress of erase suspension on the blocks, where it is on.
fn stress(drive: &Drive) -> Option<StressCounters> {
    let flash = drive.flash();
    let start = StressCounters {
        blocks: flash.stress().len() as u64,
        suspensions_per_erase_max: flash.suspensions().per_erase_max,
        ..StressCounters::default()
    };
    let stress = flash.stress().iter().fold(start, |sum, block| StressCounters {
        erases: sum.erases + u64::from(block.erases),
        suspensions: sum.suspensions + u64::from(block.suspensions),
        extra_ramps: sum.extra_ramps + u64::from(block.extra_ramps),
        extra_ramps_per_block_max: sum.extra_ramps_per_block_max.max(block.extra_ramps.into()),
        pulse_ns: sum.pulse_ns + block.pulse.as_ns(),
        aborted_pulse_ns: sum.aborted_pulse_ns + block.aborted.as_ns(),
        aborted_pulse_per_block_max_ns: sum
            .aborted_pulse_per_block_max_ns
            .max(block.aborted.as_ns()),
        ..sum
    });
    (stress.blocks > 0).then_some(stress)
}

/// The parts of latencies as a result tells them.
fn attribution(causes: &Causes, device: &Device) -> Attribution {
    let sectors_per_page = device.geometry.map_unit.get() / 512;
    let told =
        |list: &[Slow]| list.iter().map(|slow| slow_request(slow, sectors_per_page)).collect();
    Attribution {
        read: causes.read.clone(),
        write: causes.write.clone(),
        slowest: told(&causes.slowest),
        slowest_reads: told(&causes.slowest_reads),
        slowest_writes: told(&causes.slowest_writes),
    }
}

fn kind(op: Op) -> &'static str {
    match op {
        Op::Read => "read",
        Op::Write => "write",
        Op::Trim => "trim",
        Op::Flush => "flush",
    }
}

fn slow_request(slow: &Slow, sectors_per_page: u64) -> SlowRequest {
    let Slow { record, split, story, steps } = slow;
    let op = kind(record.op);
    SlowRequest {
        op: op.to_string(),
        lba: record.lba.0,
        lpn: record.lba.0 / sectors_per_page,
        sectors: record.sectors,
        job: record.job,
        at_s: seconds(record.at),
        latency_us: record.latency.as_us_f64(),
        parts_us: CauseTimes::of(split),
        flash: story.as_ref().map(slow_flash),
        steps: steps.iter().map(slow_step).collect(),
    }
}

fn slow_step(step: &Step) -> SlowStep {
    SlowStep {
        stage: step.stage.name().to_string(),
        drive: step.drive,
        from_s: seconds(step.from),
        took_us: step.to.since(step.from).as_us_f64(),
        parts_us: CauseTimes::of(&step.split),
        flash: step.story.as_ref().map(slow_flash),
    }
}

fn slow_flash(story: &Story) -> SlowFlash {
    let Story { die, met, times: [came, began, ended], forced, makes_room } = *story;
    SlowFlash {
        die: die.0,
        met: met.keeper.name().to_string(),
        block: met.block.map(|block| block.0),
        since_s: seconds(met.since),
        came_s: seconds(came),
        began_s: seconds(began),
        ended_s: seconds(ended),
        forced,
        makes_room,
    }
}

pub(super) fn seconds(at: Instant) -> f64 {
    at.since(Instant::START).as_s_f64()
}

/// The counters of a drive when the counted part began; those of now if it never did.
fn counters_before<S: Storage>(driver: &Driver<S>, number: usize) -> Counters {
    let measured = driver.measured();
    let never =
        measured.warmup_requests > 0 && measured.warmup_requests == driver.progress().issued;
    match measured.counters_before.get(number) {
        _ if never => driver.storage().drive(number).counters(),
        before => before.copied().unwrap_or_default(),
    }
}

/// Pages in a drive's write buffer when the counted part began.
fn buffered_before<S: Storage>(driver: &Driver<S>, number: usize) -> u64 {
    driver.measured().buffered_before.get(number).copied().unwrap_or_default().into()
}

fn warmup_rule(measure: &MeasureSpec) -> String {
    match (measure.warmup.is_zero(), measure.warmup_requests) {
        (true, 0) => "every request is counted".to_string(),
        (true, requests) => format!("the first {requests} requests are not counted"),
        (false, 0) => format!("requests that arrive before {} are not counted", measure.warmup),
        (false, requests) => {
            format!(
                "requests that arrive before {}, and the first {requests}, are not counted",
                measure.warmup
            )
        }
    }
}
