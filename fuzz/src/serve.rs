//! Feeds bytes to what `manx serve` reads of strangers, and checks what comes through.
//!
//! `MANX_FUZZ_FORMAT` names it: `serve-nbd`, `serve-nvme-tcp`, `serve-vhost-user`, `serve-store`.

#![no_main]

#[path = "../../crates/serve/tests/all/capsules.rs"]
mod capsules;
#[path = "../../crates/serve/tests/all/parsers.rs"]
mod parsers;

use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;

static FORMAT: LazyLock<String> = LazyLock::new(|| {
    std::env::var("MANX_FUZZ_FORMAT").unwrap_or_else(|_| panic!("MANX_FUZZ_FORMAT is missing"))
});

fuzz_target!(|data: &[u8]| parsers::check(&FORMAT, data));
