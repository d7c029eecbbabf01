//! `manx linux`: what it refuses, and, where `make linux` left a guest, what it does.

use crate::support::assert_refused;
use std::path::Path;
use std::process::Command;

/// The rest is `make test-linux`.
#[test]
fn a_linux_in_virtual_time_runs_twice_alike_and_leaves_nothing() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/linux/run");
    let mut command = Command::new(script);
    let ended = command.arg("short").env("MANX", env!("CARGO_BIN_EXE_manx")).output().unwrap();
    let said = String::from_utf8_lossy(&ended.stdout);
    print!("{said}");
    assert!(ended.status.success(), "{said}{}", String::from_utf8_lossy(&ended.stderr));
}

#[test]
fn what_a_guest_cannot_have_is_refused_before_anything_is_prepared() {
    for (args, words) in [
        (&["--root", "/no/such/folder"][..], &["--root /no/such/folder", "no folder"][..]),
        (&["--guest", "/no/such/folder"], &["--guest", "/no/such/folder/linux: no such file"]),
        (&["--mem", "1MiB"], &["--mem", "64MiB"]),
        (
            &["--drives", "2", "--policy", "raid", "--set", "array.members=4"],
            &["--drives 2", "array"],
        ),
        (&["--drives", "0"], &["--drives"]),
        (&["--set", "recovery.keep=true", "--set", "recovery.cut_at=1s"], &["recovery.cut_at"]),
        (&["--cuts", "2"], &["--check"]),
        (&["--check", "true"], &["--check", "--cuts"]),
        (
            &["--cuts", "2", "--check", "true", "--policy", "ioda", "--set", "array.members=4"],
            &["--cuts", "one drive"],
        ),
        (
            &["--cuts", "2", "--check", "true", "--policy", "fast", "--set", "device.op=0.5"],
            &["recovery.keep"],
        ),
        (&["--cut-at", "1s", "--check", "true", "--out", "x"], &["--cut-at", "--out"]),
        (&["--cuts", "0", "--check", "true"], &["--cuts", "from 1 to 1000000, or all"]),
        (&["--cpu-cost", "1us"], &["--cpu-cost", "syscall=TIME or request=TIME"]),
        (&["--cpu-cost", "read=1us"], &["--cpu-cost", "`read`: syscall or request"]),
        (&["--cpu-cost", "request=2s"], &["--cpu-cost", "at most 1s"]),
        (&["--image", "/no/such.img"], &["--image /no/such.img", "No such file"]),
        (&["--image", "/dev/null"], &["--image /dev/null", "no file"]),
        (&["--image", "Cargo.toml"], &["--image Cargo.toml", "ext4, xfs or btrfs"]),
        (&["--until", "0s"], &["--until", "above 0"]),
        (&["--record", "x.csv"], &["--record"]),
    ] {
        assert_refused(&[&["linux", "quick"], args, &["--", "true"]].concat(), words);
    }
    assert_refused(&["linux", "quick"], &["COMMAND"]);
}
