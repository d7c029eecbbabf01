//! Feeds bytes to one reader of traces and checks what every reader promises, whatever the bytes.
//!
//! `MANX_FUZZ_FORMAT` names the format (`manx trace formats`); without it the sniffer chooses.

#![no_main]

#[path = "../../crates/trace/tests/all/dice.rs"]
mod dice;
#[path = "../../crates/trace/tests/all/readers.rs"]
mod readers;

use libfuzzer_sys::fuzz_target;
use manx_trace::TraceFormat;
use std::sync::LazyLock;

/// The format under test; `None` is whichever the sniffer finds.
static FORMAT: LazyLock<Option<TraceFormat>> =
    LazyLock::new(|| std::env::var("MANX_FUZZ_FORMAT").ok().map(|name| readers::named(&name)));

fuzz_target!(|data: &[u8]| readers::check(*FORMAT, data));
