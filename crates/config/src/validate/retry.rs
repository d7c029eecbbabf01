//! The limits of the settings of read retry and of the age of flash.

use super::device::CYCLES_MAX;
use super::{Check, require, require_operation_time, require_time, word};
use crate::Scenario;
use manx_core::flash::{AgeingSpec, ChannelOrder, RetryMode, RetrySpec};
use manx_core::ftl::{FtlKind, GcMode};

/// The entry that worked last in a block is kept in a byte.
const ENTRIES_MAX: u32 = 254;
/// More wrong bits than any codeword has.
const BITS_MAX: u32 = 1_000_000;
const READS_MAX: u32 = 1_000_000_000;
/// More senses than any soft decoder takes.
const SOFT_READS_MAX: u32 = 64;
/// As many as a list of times has at most.
const PAGE_TYPES_MAX: usize = 16;

/// Checks everything under `retry` and `ageing`.
pub(super) fn all(scenario: &Scenario) -> Check {
    ageing(&scenario.ageing)?;
    retry(&scenario.retry)?;
    match scenario.retry.is_on() {
        true => beside(scenario),
        false => Ok(()),
    }
}

fn ageing(age: &AgeingSpec) -> Check {
    let cycles = age.pe_cycles;
    let message = format!("from 0 to {CYCLES_MAX} program/erase cycles");
    require(cycles <= CYCLES_MAX, "ageing.pe_cycles", cycles, message)?;
    require_time(age.retention, "ageing.retention")?;
    let message = format!("from 0 to {READS_MAX} array reads of a block");
    require(age.reads <= READS_MAX, "ageing.reads", age.reads, message)?;
    for (key, value) in [
        ("ageing.drift", age.drift),
        ("ageing.drift_wear", age.drift_wear),
        ("ageing.disturb", age.disturb),
        ("ageing.floor_wear", age.floor_wear),
    ] {
        require((0.0..=1000.0).contains(&value), key, value, "from 0 to 1000")?;
    }
    let (floor, slope, spread) = (age.floor, age.slope, age.spread);
    let message = format!("wrong bits of a codeword, above 0 and at most {BITS_MAX}");
    require(floor > 0.0 && floor <= f64::from(BITS_MAX), "ageing.floor", floor, message)?;
    let message = "above 0 and at most 100: wrong bits grow away from the best voltages";
    require(slope > 0.0 && slope <= 100.0, "ageing.slope", slope, message)?;
    require((0.0..=1.0).contains(&spread), "ageing.spread", spread, "a share, from 0 to 1")?;
    let count = age.page_types.len();
    let message = format!("from 1 to {PAGE_TYPES_MAX} factors, one for each page type");
    let holds = (1..=PAGE_TYPES_MAX).contains(&count);
    require(holds, "ageing.page_types", format!("a list of {count}"), message)?;
    for (i, factor) in age.page_types.iter().enumerate() {
        let holds = *factor > 0.0 && *factor <= 1000.0;
        require(holds, &format!("ageing.page_types.{i}"), factor, "above 0 and at most 1000")?;
    }
    Ok(())
}

fn retry(retry: &RetrySpec) -> Check {
    let entries = retry.entries;
    let message = format!("from 1 to {ENTRIES_MAX} entries behind the default voltages");
    require((1..=ENTRIES_MAX).contains(&entries), "retry.entries", entries, message)?;
    let message = format!("from 1 to {BITS_MAX} wrong bits of a codeword");
    let holds = (1..=BITS_MAX).contains(&retry.correctable);
    require(holds, "retry.correctable", retry.correctable, message)?;
    let message = format!("from 0 for no soft decoder to {SOFT_READS_MAX} senses");
    let holds = retry.soft_reads <= SOFT_READS_MAX;
    require(holds, "retry.soft_reads", retry.soft_reads, message)?;
    let message = format!(
        "from retry.correctable = {} to {BITS_MAX}: a soft decoder corrects no less than a hard \
         one",
        retry.correctable
    );
    let holds = (retry.correctable..=BITS_MAX).contains(&retry.soft_correctable);
    require(
        holds || retry.soft_reads == 0,
        "retry.soft_correctable",
        retry.soft_correctable,
        message,
    )?;
    let message = "a share of tR, from 0 for none to 0.9: the array senses for some time";
    require((0.0..=0.9).contains(&retry.shorten), "retry.shorten", retry.shorten, message)?;
    let message = format!("from 0 to {BITS_MAX} wrong bits of a codeword");
    require(retry.short_errors <= BITS_MAX, "retry.short_errors", retry.short_errors, message)?;
    let message = format!("0 for never, or from 1 to retry.entries = {entries} retries of a read");
    require(retry.refresh_at <= entries, "retry.refresh_at", retry.refresh_at, message)?;
    for (key, time) in [
        ("retry.decode", retry.decode),
        ("retry.soft_decode", retry.soft_decode),
        ("retry.check", retry.check),
        ("retry.reset", retry.reset),
    ] {
        require_operation_time(time, key)?;
    }
    Ok(())
}

/// Checks what does not go together.
fn beside(scenario: &Scenario) -> Check {
    let Scenario { retry, drive, gc, ftl, device, recovery, .. } = scenario;
    let message = "with retry.mode it needs false: ages of blocks, and retries of the scan, are \
                   not kept over a power loss";
    require(!recovery.keep, "recovery.keep", recovery.keep, message)?;
    let message = "ftl.kind = \"log-block\" needs 0: its merges choose their blocks by themselves";
    let holds = retry.refresh_at == 0 || ftl.kind == FtlKind::Page;
    require(holds, "retry.refresh_at", retry.refresh_at, message)?;
    if retry.mode != RetryMode::Pipelined {
        return Ok(());
    }
    let (key, value) = ("retry.mode", "\"pipelined\"");
    let message = "it needs device.feature.cache_read = true: the next sense goes beside the \
                   transfer by CACHE READ";
    require(device.feature.cache_read, key, value, message)?;
    let message = "retry.mode = \"pipelined\" needs \"first-come\": in another order the end of a \
                   transfer is not known when the next sense begins";
    let holds = drive.channel_order == ChannelOrder::FirstCome;
    require(holds, "drive.channel_order", word(drive.channel_order), message)?;
    let message = "gc.mode = \"plane-blocking\" needs another, or gc.cut_transfers = false: the \
                   end of a transfer that may be cut is not known when the next sense begins";
    let cuts = gc.mode == GcMode::PlaneBlocking && gc.cut_transfers;
    require(!cuts, key, value, message)
}
