//! `manx serve --protocol vhost-user` with Debian's own User Mode Linux.

use crate::support::assert_refused;
use std::path::Path;
use std::process::Command;

#[test]
fn user_mode_linux_makes_a_file_system_on_a_served_drive_and_verifies_files_in_it() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/uml/run");
    let ended = Command::new(script).env("MANX", env!("CARGO_BIN_EXE_manx")).output().unwrap();
    let said = String::from_utf8_lossy(&ended.stdout);
    print!("{said}");
    assert!(ended.status.success(), "{said}{}", String::from_utf8_lossy(&ended.stderr));
}

#[test]
fn a_guest_shares_memory_with_this_machine_alone() {
    let args = ["serve", "--protocol", "vhost-user", "--listen", "127.0.0.1:0"];
    assert_refused(&args, &["shares memory", "--socket"]);
    let socket = std::env::temp_dir().join("manx-no-members");
    let args = ["serve", "--protocol", "vhost-user", "--members", "--socket"];
    assert_refused(&[&args[..], &[socket.to_str().unwrap()]].concat(), &["--members", "nvme-tcp"]);
}
