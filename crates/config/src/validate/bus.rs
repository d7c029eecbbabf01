//! The limits of channels and of the host link: in which order, and what crosses beside data.

use super::{Check, require, word};
use crate::Scenario;
use manx_core::drive::{EraseMode, ProgramMode, Scheduler};
use manx_core::flash::{ChannelOrder, ChannelTake};
use manx_core::ftl::GcMode;

/// More than any command, with the headers of its packets.
const LINK_BYTES_MAX: u64 = 4096;

/// Checks the settings of channels and link together with what they go with.
pub(super) fn all(scenario: &Scenario) -> Check {
    let Scenario { drive, gc, erase, program, .. } = scenario;
    let cuts = gc.mode == GcMode::PlaneBlocking && gc.cut_transfers;
    require(
        drive.channel_order == ChannelOrder::FirstCome || !cuts,
        "drive.channel_order",
        word(drive.channel_order),
        "gc.mode = \"plane-blocking\" needs \"first-come\", or gc.cut_transfers = false: transfers \
         that are cut have an order of their own",
    )?;
    if drive.channel_take == ChannelTake::WithSlot {
        let (key, value) = ("drive.channel_take", "\"with-slot\"");
        let message = "it needs drive.scheduler = \"read-first\" or \"out-of-order\": in a strict \
                       order an operation that waits for its channel would hold up all";
        require(drive.scheduler != Scheduler::Fifo, key, value, message)?;
        let message = "it needs erase.mode and program.mode = \"none\": a read that may suspend \
                       takes its die at once";
        let none = erase.mode == EraseMode::None && program.mode == ProgramMode::None;
        require(none, key, value, message)?;
        let message = "gc.mode = \"plane-blocking\" needs \"early\", or gc.cut_transfers = false: \
                       commands that cut transfers do not wait for the channel";
        require(!cuts, key, value, message)?;
    }
    for (key, bytes) in [
        ("drive.link_fetch", drive.link_fetch),
        ("drive.link_command", drive.link_command),
        ("drive.link_completion", drive.link_completion),
    ] {
        require(bytes.get() <= LINK_BYTES_MAX, key, bytes, format!("at most {LINK_BYTES_MAX}B"))?;
        let message = "above 0 it needs drive.link: an unlimited one takes no time for it";
        require(bytes.get() == 0 || drive.link.get() > 0, key, bytes, message)?;
    }
    Ok(())
}
