//! `manx serve` with clients: one of our own, from the protocol's text, and those that people use.

use crate::support::{assert_refused, manx, stdout};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// A server under test, and its socket.
pub struct Served {
    child: Child,
    pub socket: PathBuf,
}

impl Served {
    pub fn start(name: &str, args: &[&str]) -> Self {
        let socket = std::env::temp_dir().join(format!("manx-{}-{name}", std::process::id()));
        let mut child = Command::new(env!("CARGO_BIN_EXE_manx"))
            .args(["serve", "quick", "--no-cache", "--json", "--socket"])
            .arg(&socket)
            .args(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        while !line.starts_with("serving") {
            line.clear();
            assert_ne!(said.read_line(&mut line).unwrap(), 0, "it ended before it served");
        }
        // Nobody may be left to block on.
        std::thread::spawn(move || std::io::copy(&mut said, &mut std::io::sink()));
        Self { child, socket }
    }

    pub fn uri(&self) -> String {
        format!("nbd+unix:///?socket={}", self.socket.display())
    }

    pub fn client(&self) -> Client {
        self.client_of("")
    }

    /// A client of the export with that name.
    pub fn client_of(&self, export: &str) -> Client {
        Client::new(UnixStream::connect(&self.socket).unwrap(), export)
    }

    /// Ends it as Ctrl-C does; its report.
    pub fn end(mut self) -> Value {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
        let mut report = String::new();
        self.child.stdout.take().unwrap().read_to_string(&mut report).unwrap();
        assert!(self.child.wait().unwrap().success());
        assert!(!self.socket.exists(), "its socket goes with it");
        serde_json::from_str(&report).unwrap()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A client with simple replies, one request at a time.
pub struct Client {
    stream: UnixStream,
    pub size: u64,
}

impl Client {
    fn new(mut stream: UnixStream, export: &str) -> Self {
        let mut greeting = [0; 18];
        stream.read_exact(&mut greeting).unwrap();
        assert_eq!(greeting[..16], *b"NBDMAGICIHAVEOPT");
        // Fixed newstyle without padding; EXPORT_NAME.
        stream.write_all(&[0, 0, 0, 3]).unwrap();
        stream.write_all(b"IHAVEOPT\0\0\0\x01").unwrap();
        stream.write_all(&(export.len() as u32).to_be_bytes()).unwrap();
        stream.write_all(export.as_bytes()).unwrap();
        let mut export = [0; 10];
        stream.read_exact(&mut export).unwrap();
        Self { stream, size: u64::from_be_bytes(export[..8].try_into().unwrap()) }
    }

    pub fn ask(&mut self, command: u16, offset: u64, length: u32, data: &[u8]) -> (u32, Vec<u8>) {
        let mut request = 0x25609513u32.to_be_bytes().to_vec();
        request.extend_from_slice(&[0, 0]);
        request.extend_from_slice(&command.to_be_bytes());
        request.extend_from_slice(&77u64.to_be_bytes());
        request.extend_from_slice(&offset.to_be_bytes());
        request.extend_from_slice(&length.to_be_bytes());
        request.extend_from_slice(data);
        self.stream.write_all(&request).unwrap();
        let mut head = [0; 16];
        self.stream.read_exact(&mut head).unwrap();
        assert_eq!(head[..4], 0x67446698u32.to_be_bytes());
        assert_eq!(head[8..], 77u64.to_be_bytes());
        let error = u32::from_be_bytes(head[4..8].try_into().unwrap());
        let mut bytes = vec![0; if command == 0 && error == 0 { length as usize } else { 0 }];
        self.stream.read_exact(&mut bytes).unwrap();
        (error, bytes)
    }
}

#[test]
fn a_client_reads_what_another_wrote_and_the_report_counts_both() {
    let served = Served::start("two", &["--policy", "base"]);
    let (mut one, mut other) = (served.client(), served.client());
    assert_eq!(one.size, 192 << 20);
    let data: Vec<u8> = (0..65_536).map(|at| (at / 512) as u8).collect();
    assert_eq!(one.ask(1, 1 << 20, 65_536, &data).0, 0);
    assert_eq!(one.ask(3, 0, 0, &[]).0, 0);
    assert_eq!(other.ask(0, 1 << 20, 65_536, &[]), (0, data));
    assert_eq!(other.ask(4, 1 << 20, 4096, &[]).0, 0);
    assert_eq!(one.ask(0, 1 << 20, 4096, &[]), (0, vec![0; 4096]));
    assert_eq!(one.ask(0, one.size, 512, &[]).0, 22);
    let report = served.end();
    for (path, expected) in [
        ("/schema", Value::from("manx-serve-1")),
        ("/policy", "base".into()),
        ("/requests", 5.into()),
        ("/errors", 0.into()),
        ("/refused_requests", 1.into()),
        ("/connections", 2.into()),
        ("/read/count", 2.into()),
        ("/read/bytes", 69_632.into()),
        ("/write/count", 1.into()),
        ("/trim/count", 1.into()),
        ("/flush/count", 1.into()),
    ] {
        assert_eq!(report.pointer(path), Some(&expected), "{path}: {report}");
    }
}

#[test]
fn an_array_serves_and_other_machines_are_not_invited() {
    let served = Served::start("array", &["--policy", "raid", "--set", "array.members=4"]);
    let mut client = served.client();
    assert_eq!(client.ask(1, 0, 4096, &[7; 4096]).0, 0);
    assert_eq!(client.ask(0, 0, 4096, &[]), (0, vec![7; 4096]));
    served.end();
    assert_refused(&["serve", "--listen", "0.0.0.0:0"], &["--remote"]);
}

#[test]
fn peers_that_are_hostile_or_silent_do_not_keep_others_from_being_served() {
    let served = Served::start("hostile", &["--connections", "4"]);
    let mut good = served.client();
    let noise: Vec<u8> = (0..100_000u32).map(|at| (at * 7 + at / 251) as u8).collect();
    let silent = UnixStream::connect(&served.socket).unwrap();
    for _ in 0..20 {
        let mut peer = UnixStream::connect(&served.socket).unwrap();
        let _ = (peer.write_all(&noise), peer.read_to_end(&mut Vec::new()));
    }
    for _ in 0..200 {
        let mut peer = UnixStream::connect(&served.socket).unwrap();
        // It may be closed before it has sent everything.
        let _ = peer.write_all(&noise);
    }
    let many: Vec<_> = (0..50).map(|_| UnixStream::connect(&served.socket).unwrap()).collect();
    assert_eq!(good.ask(1, 0, 512, &[1; 512]).0, 0);
    assert_eq!(good.ask(0, 0, 512, &[]), (0, vec![1; 512]));
    drop((silent, many));
    let report = served.end();
    let count = |path| report.pointer(path).and_then(Value::as_u64).unwrap();
    assert!(count("/refused_connections") > 0 && count("/faulty_connections") > 0, "{report}");
}

#[test]
fn two_thousand_connections_are_too_many_and_those_that_are_in_are_served() {
    let served = Served::start("many", &["--connections", "300"]);
    let mut good = served.client();
    // As many as this process may have open, time and again, and none says anything.
    for round in 0..4u8 {
        let connect = |_| UnixStream::connect(&served.socket).ok();
        let many: Vec<UnixStream> = (0..500).filter_map(connect).collect();
        assert_eq!(many.len(), 500, "the kernel takes them");
        assert_eq!(good.ask(1, 0, 512, &[round; 512]).0, 0);
        assert_eq!(good.ask(0, 0, 512, &[]), (0, vec![round; 512]));
    }
    let report = served.end();
    let count = |path| report.pointer(path).and_then(Value::as_u64).unwrap();
    assert!(count("/connections") > 2_000 && count("/refused_connections") > 500, "{report}");
}

#[test]
fn a_server_without_descriptors_says_so_once_a_second_and_serves_who_is_in() {
    let socket = std::env::temp_dir().join(format!("manx-{}-doors", std::process::id()));
    let child = Command::new("sh")
        .args(["-c", "ulimit -n 24 && exec \"$@\"", "sh", env!("CARGO_BIN_EXE_manx")])
        .args(["serve", "quick", "--no-cache", "--for", "4s", "--socket"])
        .arg(&socket)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let pause = |ms| std::thread::sleep(std::time::Duration::from_millis(ms));
    let connect = || UnixStream::connect(&socket).ok();
    let mut good = (0..2000).find_map(|_| connect().or_else(|| (pause(5), None).1)).unwrap();
    good.read_exact(&mut [0; 18]).unwrap();
    let many: Vec<_> = (0..30).filter_map(|_| connect()).collect();
    pause(1500);
    good.write_all(&[&[0, 0, 0, 3][..], b"IHAVEOPT", &[0, 0, 0, 1], &[0; 4]].concat()).unwrap();
    good.read_exact(&mut [0; 10]).unwrap();
    drop(many);
    // Those that were closed leave room, and the next gets its greeting.
    connect().unwrap().read_exact(&mut [0; 18]).unwrap();
    let said = String::from_utf8(child.wait_with_output().unwrap().stderr).unwrap();
    let warnings = said.matches("cannot accept a connection").count();
    assert!((1..5).contains(&warnings), "{warnings} warnings: {}", &said[..said.len().min(2000)]);
}

#[test]
fn what_was_recorded_is_a_trace_for_other_policies() {
    recorded("record", &[]);
}

#[test]
fn requests_that_came_earlier_by_the_transports_time_are_recorded_so() {
    // Several at a time, with writes and their GC: the model's own events bound how much earlier.
    for (name, time) in [("earlier", "30us"), ("far-earlier", "1ms"), ("measured", "auto")] {
        let report = recorded(name, &["--policy", "base", "--compensate", time]);
        let taken_off = report["compensated_us"].as_f64().unwrap();
        assert!(taken_off > 0.5 && taken_off <= 1000.0, "{taken_off}");
    }
}

/// Serves with these options, records, and asks the model once more; the report.
fn recorded(name: &str, args: &[&str]) -> Value {
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.parquet"));
    let path = file.to_str().unwrap();
    let served = Served::start(name, &[&["--record", path], args].concat());
    let clients = [served.client(), served.client()];
    let tasks = clients.map(|mut client| {
        std::thread::spawn(move || {
            for at in 0..64u64 {
                assert_eq!(client.ask(1, at * 8192, 32768, &[3; 32768]).0, 0);
                assert_eq!(client.ask(0, at * 8192, 4096, &[]).0, 0);
            }
        })
    });
    tasks.into_iter().for_each(|task| task.join().unwrap());
    let report = served.end();
    let policy = args.iter().position(|arg| *arg == "--policy").map(|at| args[at + 1]);
    let policy = policy.map_or(Vec::new(), |policy| vec!["--policy", policy]);
    let run = [&["run", "quick", "--trace", path, "--json", "--no-cache"], &policy[..]].concat();
    let result: Value = serde_json::from_str(&stdout(&manx(&run))).unwrap();
    let run = &result["runs"][0];
    assert_eq!((&run["read"]["count"], &run["write"]["count"]), (&128.into(), &128.into()));
    // From the same state the same requests take the same time, to the nanosecond.
    for kind in ["read", "write"] {
        for figure in ["mean_us", "stddev_us", "p50_us", "p90_us", "max_us"] {
            assert_eq!(report[kind][figure], run[kind][figure], "{name}: {kind} {figure}");
        }
    }
    report
}

#[test]
fn systemd_hands_over_the_socket() {
    let path = std::env::temp_dir().join(format!("manx-{}-given", std::process::id()));
    let script = "import os, socket, sys\n\
        s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen()\n\
        os.dup2(s.fileno(), 3) if s.fileno() != 3 else os.set_inheritable(3, True)\n\
        os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS='1')\n\
        served = ['serve', 'quick', '--json', '--for', '20s']\n\
        os.execv(sys.argv[2], [sys.argv[2]] + served + sys.argv[3:])";
    let manx = env!("CARGO_BIN_EXE_manx");
    let mut command = Command::new("python3");
    command.args(["-c", script]).arg(&path).arg(manx).stdout(Stdio::null()).stderr(Stdio::null());
    let Ok(mut child) = command.spawn() else {
        return println!("SKIPPED: python3 is not installed");
    };
    let stream = (0..2_000).find_map(|_| {
        std::thread::sleep(std::time::Duration::from_millis(10));
        UnixStream::connect(&path).ok()
    });
    // The socket holds the client until the server is ready.
    let mut client = Client::new(stream.expect("systemd's part listens"), "");
    assert_eq!(client.ask(1, 0, 512, &[9; 512]).0, 0);
    assert_eq!(client.ask(0, 0, 512, &[]), (0, vec![9; 512]));
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    assert!(child.wait().unwrap().success());
    assert!(path.exists(), "the socket is systemd's");
    std::fs::remove_file(path).unwrap();
    assert_refused(&["serve", "quick"], &["--socket"]);
}

#[test]
fn wrong_options_are_told() {
    for (args, piece) in [
        (&["--socket", "/tmp/x", "--speed", "0"][..], "0.0001 to 100"),
        (&["--socket", "/tmp/x", "--speed", "fast"], "0.0001 to 100"),
        (&["--socket", "/tmp/x", "--mode", "9"], "octal"),
        (&["--socket", "/tmp/x", "--mode", "7777"], "octal"),
        (&["--socket", "/tmp/x", "--listen", "127.0.0.1:0"], "--listen"),
        (&["--socket", "/tmp/x", "--connections", "0"], "--connections"),
        (&["--socket", "/tmp/x", "--late", "soon"], "--late"),
        (&["--socket", "/tmp/x", "--compensate", "2ms"], "from 0s to 1ms"),
        (&["--socket", "/tmp/x", "--compensate", "some"], "auto"),
        (&["--socket", "/tmp/x", "--compensate", "1us", "--store", "/tmp/y"], "--store"),
        (
            &["--socket", "/tmp/x", "--protocol", "vhost-user", "--compensate", "auto"],
            "a time is wanted",
        ),
        (&["--socket", "/tmp/x", "--log", "loud"], "error, warn, info, debug, trace"),
        (&["--socket", "/tmp/x", "--for", "-1s"], "--for"),
        (&["--socket", "/tmp/x", "--record", "x.csv"], ".parquet"),
        (&["--socket", "/tmp/x", "--record", "/tmp"], "a folder"),
        (&["--socket", "/tmp/x", "--policy", "nothing"], "nothing"),
        (
            &[
                "--socket",
                "/tmp/x",
                "--set",
                "recovery.keep=true",
                "--set",
                "recovery.cut_at=\"1s\"",
            ],
            "recovery.cut_at",
        ),
        (&["--socket", "/tmp/x", "--set", "measure.percentiles=[50]"], "measure.percentiles"),
        (&["--socket", "/nowhere/at/all"], "cannot listen"),
        (&["--socket", "/etc/passwd"], "no socket"),
        (&["--listen", "127.0.0.1"], "--listen"),
        (&["--socket", "/tmp/x", "--nqn", "nqn.a"], "--protocol nvme-tcp"),
        (&["--listen", "127.0.0.1:0", "--protocol", "nvme-tcp", "--export", "a"], "--nqn"),
        (&["--socket", "/tmp/x", "--export", &"a".repeat(4094)], "4093 bytes"),
        (&[], "--socket"),
    ] {
        assert_refused(&[&["serve", "quick"], args].concat(), &[piece]);
    }
    let served = Served::start("taken", &[]);
    let path = served.socket.to_str().unwrap();
    assert_refused(&["serve", "quick", "--socket", path], &["another server listens there"]);
    drop(served.client());
}

#[test]
fn the_log_tells_as_much_as_its_level() {
    for (level, told, silent) in [
        ("error", &[][..], &["is closed", "DEBUG"][..]),
        ("warn", &["is closed"], &["DEBUG", "WARN"]),
        ("debug", &["DEBUG connection 1 begins", "WARN"], &["TRACE"]),
        ("trace", &["TRACE", "kind: Read"], &[]),
    ] {
        let socket = std::env::temp_dir().join(format!("manx-{}-log", std::process::id()));
        let path = socket.to_str().unwrap();
        let child = Command::new(env!("CARGO_BIN_EXE_manx"))
            .args(["serve", "quick", "--no-cache", "--for", "1s", "--socket", path, "--log", level])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let connect = || UnixStream::connect(&socket).ok();
        let wait = || std::thread::sleep(std::time::Duration::from_millis(5));
        let stream = (0..2000).find_map(|_| connect().or_else(|| (wait(), None).1)).unwrap();
        assert_eq!(Client::new(stream, "").ask(0, 0, 4096, &[]).0, 0);
        let mut rude = connect().unwrap();
        rude.read_exact(&mut [0; 18]).unwrap();
        rude.write_all(&[b'x'; 64]).unwrap();
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(told.iter().all(|piece| said.contains(piece)), "{level}: {said}");
        assert!(!silent.iter().any(|piece| said.contains(piece)), "{level}: {said}");
    }
}

/// Runs a client's program; `None`, and SKIPPED is said, where it is not installed.
pub fn program(name: &str, args: &[&str]) -> Option<String> {
    match Command::new(name).args(args).output() {
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stdout).into_owned()
                + &String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{name} {args:?}: {said}");
            Some(said)
        }
        Err(_) => {
            println!("SKIPPED: {name} is not installed");
            None
        }
    }
}

#[test]
fn libnbd_copies_and_asks_everything() {
    let served = Served::start("libnbd", &["--policy", "base"]);
    let uri = served.uri();
    let Some(said) = program("nbdinfo", &[&uri]) else { return };
    for piece in ["export-size: 201326592", "base:allocation", "can_fast_zero: true"] {
        assert!(said.contains(piece), "{said}");
    }
    let image = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("served.img");
    let back = image.with_extension("back");
    let mut bytes: Vec<u8> = (0..8u32 << 20).map(|at| (at ^ at >> 9) as u8).collect();
    bytes.resize(192 << 20, 0);
    std::fs::write(&image, &bytes).unwrap();
    program("nbdcopy", &[image.to_str().unwrap(), &uri]);
    program("nbdcopy", &[&uri, back.to_str().unwrap()]);
    assert!(std::fs::read(&back).unwrap() == bytes, "a round trip");
    std::fs::remove_file(back).unwrap();
    if program("/usr/bin/python3", &["-c", "import nbd"]).is_some() {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/all/serve.py");
        program("/usr/bin/python3", &[script, &uri]);
    }
    std::fs::remove_file(image).unwrap();
    served.end();
}

#[test]
fn qemu_and_fio_find_no_mismatch() {
    let served = Served::start("qemu", &["--policy", "preemptive"]);
    let uri = served.uri();
    let commands = [
        "write -P 5 0 64k",
        "discard 0 32k",
        "read -P 0 0 32k",
        "read -P 5 32k 32k",
        "write -z 4k 1M",
        "read -P 0 4k 1M",
        "flush",
    ];
    let commands: Vec<&str> = commands.iter().flat_map(|command| ["-c", command]).collect();
    program("qemu-io", &[&["-f", "raw"], commands.as_slice(), &[&uri]].concat());
    let copy = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("served.qcow2");
    let path = copy.to_str().unwrap();
    if program("qemu-img", &["convert", "-f", "raw", "-O", "qcow2", &uri, path]).is_some() {
        let compared = program("qemu-img", &["compare", "-f", "raw", "-F", "qcow2", &uri, path]);
        assert!(compared.unwrap().contains("identical"));
    }
    let uri = format!("--uri={uri}");
    let job = [
        "--name=verify",
        "--ioengine=nbd",
        &uri,
        "--rw=randrw",
        "--bsrange=512-64k",
        "--size=16M",
        "--iodepth=32",
        "--verify=crc32c",
        "--verify_fatal=1",
        "--fsync=64",
        "--verify_state_save=0",
        "--output-format=terse",
    ];
    if let Some(engines) = program("fio", &["--enghelp"]) {
        match engines.contains("nbd") {
            true => drop(program("fio", &job)),
            false => println!("SKIPPED: fio has no NBD engine"),
        }
    }
    // Four jobs at once, each over its own part and its own connection.
    let jobs = ["--numjobs=4", "--offset_increment=16M", "--thread", "--trim_verify_zero=0"];
    if program("fio", &["--enghelp"]).is_some_and(|engines| engines.contains("nbd")) {
        program("fio", &[&job[..], &jobs].concat());
        // Each block trimmed and then written.
        let trims = ["--rw=randtrimwrite", "--bs=4k"];
        program("fio", &[&job[..], &jobs, &trims].concat());
    }
    let report = served.end();
    assert_eq!(report["errors"], 0, "{report}");
}

#[test]
fn a_file_system_of_the_hosts_kernel_lies_on_a_served_drive() {
    let served = Served::start("loop", &["--policy", "base"]);
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("loop");
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/all/serve_loop.sh");
    let output = Command::new(script).arg(&folder).arg(served.uri()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    match output.status.code() {
        Some(0) => {}
        Some(77) => println!("SKIPPED: {}", said.trim()),
        _ => panic!("{said}"),
    }
    let report = served.end();
    assert_eq!(report["errors"], 0, "{report}");
}
