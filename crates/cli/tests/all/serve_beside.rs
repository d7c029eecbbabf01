//! `manx serve` with what stands beside its clients: drives that are elsewhere, orders, the page.

use crate::initiator;
use crate::serve::Served;
use crate::support::{assert_refused, manx, stdout};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;

/// Four drives behind NVMe/TCP, and their addresses as members.
fn drives(args: &[&str]) -> (Vec<initiator::Served>, String) {
    let drives: Vec<_> = (0..4).map(|_| initiator::Served::start(args)).collect();
    let members: Vec<String> =
        drives.iter().map(|drive| format!("nvme-tcp://{}", drive.address)).collect();
    (drives, members.join(","))
}

const ARRAY: [&str; 4] = ["--policy", "ioda", "--set", "array.members=4"];

#[test]
fn an_array_over_the_network_keeps_its_bytes_when_a_drive_dies() {
    let (mut drives, members) = drives(&[]);
    let host = Served::start("over", &[&ARRAY[..], &["--members", &members]].concat());
    let mut client = host.client();
    assert_eq!(client.size, 3 * (192 << 20));
    let of = |round: u64| (0..24_576u64).map(|at| (at / 512 + round) as u8).collect::<Vec<u8>>();
    for round in 0..64u64 {
        // Whole rows, parts of them, and parts of pages.
        let offset = round * 40_960 + round % 3 * 512;
        assert_eq!(client.ask(1, offset, 24_576, &of(round)).0, 0);
    }
    let check = |client: &mut crate::serve::Client| {
        for round in 0..64u64 {
            let offset = round * 40_960 + round % 3 * 512;
            assert!(client.ask(0, offset, 24_576, &[]) == (0, of(round)), "round {round}");
        }
    };
    check(&mut client);
    assert_eq!(client.ask(3, 0, 0, &[]).0, 0);
    drop(drives.remove(2));
    check(&mut client);
    assert_eq!(client.ask(1, 40_960 + 512, 24_576, &of(1)).0, 0, "degraded");
    check(&mut client);
    let report = host.end();
    let number = |path: &str| report.pointer(path).and_then(Value::as_u64).unwrap();
    assert_eq!(number("/errors"), 0);
    assert_eq!(report["members"].as_array().unwrap().len(), 4);
    assert_eq!(number("/array/failed_members"), 1);
    assert!(number("/array/reconstructs") > 30, "{report}");
}

#[test]
fn members_that_cannot_be_are_refused_with_the_reason() {
    let socket = std::env::temp_dir().join(format!("manx-{}-none", std::process::id()));
    let socket = socket.to_str().unwrap();
    let refuse = |args: &[&str], words: &[&str]| {
        assert_refused(&[&["serve", "quick", "--socket", socket][..], args].concat(), words);
    };
    let own = TcpListener::bind("127.0.0.1:0").unwrap();
    let silent = own.local_addr().unwrap();
    drop(own);
    let four = (0..4).map(|n| format!("nvme-tcp://{silent}/nqn.x/{}", n + 1));
    let four = four.collect::<Vec<_>>().join(",");
    refuse(&[&ARRAY[..], &["--members", &four]].concat(), &["--members", "refused"]);
    refuse(&["--members", &four], &["array.members=1"]);
    refuse(&["--members", "sata://x"], &["nvme-tcp://HOST:PORT"]);
    let twice = ["nvme-tcp://127.0.0.1:9"; 4].join(",");
    refuse(&[&ARRAY[..], &["--members", &twice]].concat(), &["given twice"]);
    let tcp = ["--protocol", "nvme-tcp", "--listen", "127.0.0.1:0"];
    let args = [&["serve", "quick"][..], &ARRAY, &tcp, &["--members", &four]].concat();
    assert_refused(&args, &["serves NBD or vhost-user"]);
    // Another pace: windows would not be the ones that the host goes by.
    let (_drives, members) = drives(&["--speed", "0.5"]);
    refuse(&[&ARRAY[..], &["--members", &members]].concat(), &["times as fast", "--speed"]);
}

fn beside(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("manx-{}-{name}", std::process::id()))
}

#[test]
fn orders_change_a_drive_at_work_and_what_may_not_be_is_refused() {
    let control = beside("ctl");
    let control = control.to_str().unwrap();
    let served = Served::start("ordered", &["--policy", "base", "--control", control]);
    let ctl = |args: &[&str]| -> Value {
        let told = stdout(&manx(&[&["ctl", control, "--json"][..], args].concat()));
        serde_json::from_str(&told).unwrap()
    };
    let mut client = served.client();
    let read = |client: &mut crate::serve::Client| {
        let began = std::time::Instant::now();
        (0..20u64).for_each(|at| assert_eq!(client.ask(0, at << 20, 4096, &[]).0, 0));
        began.elapsed()
    };
    read(&mut client);
    let state = ctl(&["state"]);
    assert_eq!(state["schema"], "manx-serve-state-1");
    assert_eq!(state["run"]["read"]["count"], 20);
    assert_eq!(state["drives"][0]["dies"].as_array().unwrap().len(), 4);
    let before = state["run"]["read"]["max"].as_f64().unwrap();
    let state = ctl(&["set", "device.timing.read=3ms", "gc.soft=0.2"]);
    assert!(state["settings"]["device.timing.read"].as_str().unwrap().contains("3ms"), "{state}");
    read(&mut client);
    let after = ctl(&["state"])["run"]["read"]["max"].as_f64().unwrap();
    assert!(after > 3_000.0 && before < 3_000.0, "{before} us, then {after} us");
    assert_eq!(ctl(&["pause"])["paused"], true);
    assert_eq!(ctl(&["resume"])["paused"], false);
    let refuse = |args: &[&str], words: &[&str]| {
        assert_refused(&[&["ctl", control][..], args].concat(), words);
    };
    refuse(&["set", "device.geometry.dies=2"], &["device.geometry.dies", "gc.soft"]);
    refuse(&["set", "gc.soft=-1"], &["gc.soft"]);
    let words = stdout(&manx(&["ctl", control, "state"]));
    assert!(words.contains("device.timing.read = ") && words.contains("WAF"), "{words}");
    served.end();
    assert_refused(&["ctl", control, "state"], &[control]);
    let suspends = ["--policy", "preemptive", "--set", "erase.mode=i-es", "--control", control];
    let served = Served::start("suspends", &suspends);
    refuse(&["set", "device.timing.read=3ms"], &["suspended"]);
    served.end();
}

#[test]
fn a_snapshot_is_a_store_from_which_a_server_goes_on() {
    let (control, folder) = (beside("snap-ctl"), beside("snap"));
    let (control, store) = (control.to_str().unwrap(), folder.to_str().unwrap());
    let with = ["--policy", "base", "--control", control];
    let served = Served::start("snapped", &[&with[..], &["--log", "debug"]].concat());
    let mut client = served.client();
    assert_eq!(client.ask(1, 8192, 4096, &[5; 4096]).0, 0);
    stdout(&manx(&["ctl", control, "set", "device.timing.read=50us"]));
    stdout(&manx(&["ctl", control, "snapshot", store]));
    assert_refused(&["ctl", control, "snapshot", store], &[store, "an empty or a new one"]);
    assert_refused(&["ctl", control, "snapshot", "/proc/nothing"], &["/proc/nothing"]);
    assert_eq!(client.ask(1, 8192, 4096, &[6; 4096]).0, 0);
    assert_eq!(client.ask(0, 8192, 4096, &[]).1, [6; 4096], "it goes on");
    drop(client);
    served.end();
    let checked = stdout(&manx(&["store", "check", store]));
    assert!(checked.contains("the next start: nothing is lost"), "{checked}");
    // The settings are those of the moment.
    let stored = ["serve", "quick", "--policy", "base", "--store", store, "--socket", "/tmp/x"];
    assert_refused(&stored, &["device.timing.read", "50us"]);
    let now = ["--policy", "base", "--store", store, "--set", "device.timing.read=[\"50us\"]"];
    let served = Served::start("from-snapshot", &now);
    assert_eq!(served.client().ask(0, 8192, 4096, &[]).1, [5; 4096]);
    served.end();
    std::fs::remove_dir_all(&folder).unwrap();
    let served = Served::start("array", &[&with[..], &["--set", "array.members=4"]].concat());
    assert_refused(&["ctl", control, "snapshot", store], &["array.members"]);
    served.end();
}

/// A request to the page, and the answer as it came.
fn fetch(address: SocketAddr, head: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "{head}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len())
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn the_page_needs_nobody_else_and_takes_orders_only_from_itself() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap();
    drop(free);
    let served = Served::start("live", &["--policy", "base", "--live", &address.to_string()]);
    let mut client = served.client();
    assert_eq!(client.ask(1, 0, 4096, &[7; 4096]).0, 0);
    let own = format!("Host: {address}");
    let page = fetch(address, &format!("GET / HTTP/1.1\r\n{own}"), "");
    assert!(
        page.starts_with("HTTP/1.1 200") && page.contains("uPlot") && page.contains("EventSource")
    );
    for foreign in ["src=\"http", "href=\"http", "url(http", "@import", "fetch(\"http"] {
        assert!(!page.contains(foreign), "{foreign}");
    }
    let state = fetch(address, &format!("GET /state HTTP/1.1\r\n{own}"), "");
    assert!(state.contains("manx-serve-state-1"), "{state}");
    let pause = r#"{"order":"pause"}"#;
    let without = fetch(address, &format!("POST /order HTTP/1.1\r\n{own}"), pause);
    assert!(without.starts_with("HTTP/1.1 403"), "{without}");
    let elsewhere = fetch(address, "GET /state HTTP/1.1\r\nHost: evil.example:80", "");
    assert!(elsewhere.starts_with("HTTP/1.1 403"), "{elsewhere}");
    let head = format!("POST /order HTTP/1.1\r\n{own}\r\nX-Manx-Order: 1");
    assert!(fetch(address, &head, pause).contains("\"paused\":true"));
    assert!(fetch(address, &head, r#"{"order":"stop"}"#).contains("error"), "it does not end it");
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET /states HTTP/1.1\r\n{own}\r\n\r\n").unwrap();
    let lines = BufReader::new(stream).lines().map_while(Result::ok);
    let states: Vec<String> = lines.filter(|line| line.starts_with("data: ")).take(2).collect();
    let state: Value = serde_json::from_str(&states[1]["data: ".len()..]).unwrap();
    assert_eq!(state["run"]["write"]["count"], 1);
    assert_refused(&["serve", "--socket", "x", "--live", "0.0.0.0:1"], &["--live", "loopback"]);
    served.end();
}
