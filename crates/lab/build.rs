//! Says whether the folder of real traces is there: without it the tests that need it are reported
//! as ignored.

use std::path::PathBuf;

fn main() {
    println!("cargo::rustc-check-cfg=cfg(shared_traces)");
    println!("cargo::rerun-if-env-changed=MANX_TRACES");
    let folder = std::env::var_os("MANX_TRACES")
        .map_or_else(|| "../../../shared/traces".into(), PathBuf::from);
    if folder.is_dir() {
        println!("cargo::rustc-cfg=shared_traces");
    }
    // A folder that is not there would have the script, and all that hangs on it, built again each
    // time.
    println!("cargo::rerun-if-changed=build.rs");
}
