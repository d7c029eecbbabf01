//! The limits of garbage collection: watermarks, victims, and the modes that go together.

use super::{Check, require, require_operation_time};
use manx_core::flash::{Device, Geometry};
use manx_core::ftl::{
    Allocation, DataPlacement, Frontiers, FtlKind, FtlSpec, GcMode, GcSpec, GcWhen, Pace, Rotate,
    Victim, VictimUnit, Watermark,
};

/// Checks when and where garbage collection runs.
pub(super) fn all(gc: &GcSpec, ftl: &FtlSpec, device: &Device) -> Check {
    watermarks(gc, device)?;
    victims(gc, device)?;
    victim_unit(gc, ftl)?;
    plane_blocking(gc)?;
    let yields = matches!(gc.mode, GcMode::Preemptive | GcMode::ChannelPreemptive);
    require(
        !gc.reads_first || gc.mode == GcMode::Preemptive,
        "gc.reads_first",
        gc.reads_first,
        "it needs gc.mode = \"preemptive\": the other modes keep the host away or take no time",
    )?;
    pace(gc, ftl)?;
    let brought = gc.brought.name();
    require(
        brought.is_none() || ftl.kind == FtlKind::Page,
        "gc.victim",
        brought.unwrap_or_default(),
        "a victim policy of the program's own needs ftl.kind = \"page\": log blocks have rules of \
         their own (ftl.log.victim)",
    )?;
    onset(gc, ftl)?;
    require(
        !yields || gc.when == GcWhen::Background,
        "gc.when",
        "\"foreground\"",
        "gc.mode = \"preemptive\" and \"channel-preemptive\" need \"background\": a GC run that \
         goes before the host's requests cannot also yield to them",
    )
}

/// Rules of the program's own: for when collections begin, and for which data share a block.
fn onset(gc: &GcSpec, ftl: &FtlSpec) -> Check {
    let name = gc.onset.name().unwrap_or_default();
    let is_page = ftl.kind == FtlKind::Page;
    let needs = |holds: bool, what: &str| {
        let message = format!("a rule of the program's own for when GC begins needs {what}");
        require(gc.onset.name().is_none() || holds, "gc.soft", name, message)
    };
    needs(is_page, "ftl.kind = \"page\": log blocks are merged when there is none left")?;
    let is_share = matches!((gc.soft, gc.hard), (Watermark::Share(_), Watermark::Share(_)));
    needs(is_share, "gc.soft and gc.hard as shares: its marks are counted in pages")?;
    needs(gc.pace == Pace::Off, "gc.pace = \"off\": copies are paced from one mark")?;
    require(
        ftl.brought.name().is_none() || ftl.placement == DataPlacement::Stream,
        "ftl.placement",
        ftl.placement.name(),
        "a rule of the program's own for data placement needs \"stream\": it names the streams",
    )
}

fn pace(gc: &GcSpec, ftl: &FtlSpec) -> Check {
    let paced = gc.pace == Pace::Writes;
    require(
        !paced || gc.mode == GcMode::Preemptive,
        "gc.pace",
        "\"writes\"",
        "it needs gc.mode = \"preemptive\": the other modes keep the host away while they copy, so \
         that a GC run would wait for writes that it keeps out, or take no time",
    )?;
    require(
        !paced || ftl.kind == FtlKind::Page,
        "gc.pace",
        "\"writes\"",
        "it needs ftl.kind = \"page\": merges of log blocks go with the writes that cause them",
    )?;
    for (key, mark) in [("gc.soft", gc.soft), ("gc.hard", gc.hard)] {
        require(
            !paced || matches!(mark, Watermark::Share(_)),
            key,
            mark,
            "gc.pace = \"writes\" needs a share: copies are owed page by page",
        )?;
    }
    Ok(())
}

fn watermarks(gc: &GcSpec, device: &Device) -> Check {
    let blocks = device.geometry.blocks;
    let (soft, hard) = (gc.soft.share_of(blocks), gc.hard.share_of(blocks));
    require(
        soft > 0.0 && soft < 1.0,
        "gc.soft",
        gc.soft,
        format!(
            "a share of the raw pages, above 0 and below 1, or erased blocks of a lane's {blocks}: \
             \"3 blocks\""
        ),
    )?;
    require(
        hard >= 0.0 && hard < soft,
        "gc.hard",
        gc.hard,
        format!(
            "a share of the raw pages, or erased blocks of a lane's {blocks}, from 0 to below \
             gc.soft = {}",
            gc.soft
        ),
    )?;
    for (key, share) in
        [("gc.last_block_soft", gc.last_block_soft), ("gc.last_block_hard", gc.last_block_hard)]
    {
        require(
            (0.0..=1.0).contains(&share) && (share == 1.0 || gc.unit == VictimUnit::Block),
            key,
            share,
            "a share of a block, from 0 to 1; below 1 it needs gc.unit = \"block\"",
        )?;
    }
    Ok(())
}

fn victims(gc: &GcSpec, device: &Device) -> Check {
    require(gc.window > 0, "gc.window", gc.window, "at least 1 block to look at")?;
    let Geometry { channels, ways, dies, planes, blocks, .. } = device.geometry;
    let blocks: u64 = [channels, ways, dies, planes, blocks].into_iter().map(u64::from).product();
    require(
        gc.choices > 0 && (gc.victim != Victim::DChoices || u64::from(gc.choices) <= blocks),
        "gc.choices",
        gc.choices,
        format!(
            "from 1 to the {blocks} blocks of the drive; gc.victim = \"greedy\" looks at all of \
             them"
        ),
    )
}

/// Victims of several lanes need blocks that fill evenly.
fn victim_unit(gc: &GcSpec, ftl: &FtlSpec) -> Check {
    let wide = gc.unit != VictimUnit::Block;
    let unit = match gc.unit {
        VictimUnit::Block => "\"block\"",
        VictimUnit::PlaneGroup => "\"plane-group\"",
        VictimUnit::Superblock => "\"superblock\"",
    };
    require(
        !wide || ftl.allocation == Allocation::Dynamic,
        "gc.unit",
        unit,
        "it needs ftl.allocation = \"dynamic\": under static placement the blocks of a group fill \
         unevenly, and half-filled groups, which cannot be reclaimed, would pile up",
    )?;
    require(
        !wide || ftl.frontiers == Frontiers::Separate,
        "ftl.frontiers",
        "\"shared\"",
        "gc.unit = \"plane-group\" and \"superblock\" need \"separate\": their copies go round the \
         lanes of a group",
    )?;
    require(
        !(gc.copyback && wide),
        "gc.copyback",
        gc.copyback,
        "it needs gc.unit = \"block\": a copyback stays inside its plane, a wider victim's pages \
         go to other planes",
    )
}

fn plane_blocking(gc: &GcSpec) -> Check {
    let is_mode = gc.mode == GcMode::PlaneBlocking;
    require(
        !is_mode || gc.copyback,
        "gc.copyback",
        gc.copyback,
        "gc.mode = \"plane-blocking\" needs true: its copies stay inside the plane, so that the \
         channel is the host's",
    )?;
    let rotate = match gc.rotate {
        Rotate::Off => "\"off\"",
        Rotate::Static => "\"static\"",
        Rotate::Dynamic => "\"dynamic\"",
    };
    require(
        is_mode || gc.rotate == Rotate::Off,
        "gc.rotate",
        rotate,
        "it needs gc.mode = \"plane-blocking\": planes can take turns only where each collects by \
         itself",
    )?;
    require(
        !gc.rotate_urgent || gc.rotate != Rotate::Dynamic,
        "gc.rotate_urgent",
        gc.rotate_urgent,
        "gc.rotate = \"dynamic\" needs false: no plane takes turns while one is at or below \
         gc.hard",
    )?;
    let (key, window) = ("gc.rotate_window", gc.rotate_window);
    require(!window.is_zero(), key, window, "above 0: the rate of writes is measured over it")?;
    require_operation_time(window, key)?;
    let (key, share) = ("gc.rotate_hysteresis", gc.rotate_hysteresis);
    require(
        (0.0..1.0).contains(&share),
        key,
        share,
        "a share of the sustainable rate, from 0 to below 1",
    )
}
