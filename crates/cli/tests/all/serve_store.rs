//! `manx serve --store` and `kill -9`: a writer's journal says what must be there afterwards.

use crate::initiator::{self, Entry, Host, Terms};
use crate::support::{assert_refused, manx, stdout};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Sectors that the writer uses.
const SECTORS: usize = 4096;

/// A folder that goes with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("manx-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Starts a server; what it said before it served.
fn start(mut command: Command) -> (Child, Vec<String>) {
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap());
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        assert_ne!(said.read_line(&mut line).unwrap(), 0, "it ended before it served: {lines:?}");
        let is_ready = line.starts_with("serving");
        lines.push(line);
        if is_ready {
            break;
        }
    }
    std::thread::spawn(move || std::io::copy(&mut said, &mut std::io::sink()));
    (child, lines)
}

fn arguments(folder: &Folder, sets: &[&str]) -> Vec<String> {
    let (store, socket) = (folder.path("store"), folder.path("socket"));
    let own = ["serve", "quick", "--no-cache", "--json", "--store", &store, "--socket", &socket];
    own.iter().chain(sets).map(ToString::to_string).collect()
}

fn serve(folder: &Folder, sets: &[&str]) -> (Child, Vec<String>) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_manx"));
    command.args(arguments(folder, sets));
    start(command)
}

fn end(mut child: Child) {
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    assert!(child.wait().unwrap().success());
}

/// Of each sector the writes since the one that is promised: number and value.
struct Journal {
    sectors: Vec<Vec<(u32, u32)>>,
    next: u32,
    acknowledged: Vec<(usize, u32)>,
    promised: u64,
}

/// A request on its way.
struct Asked {
    writes: Vec<(usize, u32)>,
    fua: bool,
    /// A flush promises these.
    promises: Option<Vec<(usize, u32)>>,
}

impl Journal {
    fn new() -> Self {
        Self {
            sectors: vec![vec![(0, 0)]; SECTORS],
            next: 0,
            acknowledged: Vec::new(),
            promised: 0,
        }
    }

    fn promise(&mut self, writes: &[(usize, u32)]) {
        for (sector, number) in writes {
            let history = &mut self.sectors[*sector];
            if let Some(at) = history.iter().position(|(old, _)| old == number) {
                history.drain(..at);
                self.promised += 1;
            }
        }
    }

    fn came_back(&mut self, bytes: &[u8]) {
        for (sector, bytes) in bytes.chunks_exact(512).enumerate() {
            let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
            let value = word(0);
            assert!((0..512).step_by(4).all(|at| word(at) == value), "sector {sector} is torn");
            let history = &mut self.sectors[sector];
            assert!(
                history.iter().any(|(_, old)| *old == value),
                "sector {sector} holds {value}, allowed are {history:?}"
            );
            *history = vec![(0, value)];
        }
        self.acknowledged.clear();
    }
}

/// The middle of xorshift: the test's own numbers.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % limit
    }
}

fn connect(folder: &Folder) -> UnixStream {
    let mut stream = UnixStream::connect(folder.0.join("socket")).unwrap();
    let mut greeting = [0; 18];
    stream.read_exact(&mut greeting).unwrap();
    stream.write_all(b"\0\0\0\x03IHAVEOPT\0\0\0\x01\0\0\0\0").unwrap();
    stream.read_exact(&mut [0; 10]).unwrap();
    stream
}

fn request(kind: u16, flags: u16, cookie: u64, offset: u64, length: u32) -> Vec<u8> {
    let mut out = 0x2560_9513u32.to_be_bytes().to_vec();
    out.extend_from_slice(&flags.to_be_bytes());
    out.extend_from_slice(&kind.to_be_bytes());
    out.extend_from_slice(&cookie.to_be_bytes());
    out.extend_from_slice(&offset.to_be_bytes());
    out.extend_from_slice(&length.to_be_bytes());
    out
}

/// The cookie and the error of a reply.
fn reply(stream: &mut UnixStream) -> std::io::Result<(u64, u32)> {
    let mut head = [0; 16];
    stream.read_exact(&mut head)?;
    assert_eq!(head[..4], 0x6744_6698u32.to_be_bytes());
    let cookie = u64::from_be_bytes(head[8..].try_into().unwrap());
    Ok((cookie, u32::from_be_bytes(head[4..8].try_into().unwrap())))
}

fn read_all(stream: &mut UnixStream) -> Vec<u8> {
    let length = SECTORS * 512;
    stream.write_all(&request(0, 0, 0, 0, length as u32)).unwrap();
    assert_eq!(reply(stream).unwrap(), (0, 0));
    let mut bytes = vec![0; length];
    stream.read_exact(&mut bytes).unwrap();
    bytes
}

/// Writes until the server is gone.
fn write_until_gone(stream: &mut UnixStream, journal: &mut Journal, numbers: &mut Numbers) {
    let mut under_way: BTreeMap<u64, Asked> = BTreeMap::new();
    let mut cookie = 0;
    loop {
        while under_way.len() < 16 {
            cookie += 1;
            journal.next += 1;
            let number = journal.next;
            let sectors = 1 + numbers.below(24);
            let first = numbers.below(SECTORS as u64 - sectors);
            let (kind, fua) = match numbers.below(20) {
                0 => (3, false),
                1 => (4, false),
                2 => (6, numbers.below(2) == 0),
                _ => (1, numbers.below(8) == 0),
            };
            let (first, sectors) = if kind == 3 { (0, 0) } else { (first, sectors) };
            let mut range = first as usize..(first + sectors) as usize;
            if kind == 4 {
                range = range.start.next_multiple_of(8)..range.end / 8 * 8;
            }
            let value = if kind == 1 { number } else { 0 };
            let writes: Vec<_> = range.map(|sector| (sector, number)).collect();
            writes.iter().for_each(|(at, _)| journal.sectors[*at].push((number, value)));
            let promises = (kind == 3).then(|| journal.acknowledged.clone());
            under_way.insert(cookie, Asked { writes, fua, promises });
            let (offset, length) = (first * 512, sectors as u32 * 512);
            let mut bytes = request(kind, u16::from(fua), cookie, offset, length);
            if kind == 1 {
                bytes.extend((0..length / 4).flat_map(|_| value.to_le_bytes()));
            }
            if stream.write_all(&bytes).is_err() {
                break;
            }
        }
        let Ok((cookie, error)) = reply(stream) else { return };
        assert_eq!(error, 0);
        let Asked { writes, fua, promises } = under_way.remove(&cookie).unwrap();
        if fua {
            journal.promise(&writes);
        }
        journal.promise(&promises.unwrap_or_default());
        journal.acknowledged.extend(writes);
    }
}

fn kill_often(name: &str, sets: &[&str], rounds: u32) {
    let folder = Folder::new(name);
    let (mut journal, mut numbers) = (Journal::new(), Numbers(88_172_645_463_325_252));
    for round in 0..rounds {
        let (mut child, said) = serve(&folder, sets);
        let was_killed = said.iter().any(|line| line.contains("was not closed"));
        assert!(round == 0 || was_killed, "{said:?}");
        assert!(!said.iter().any(|line| line.contains("fault of Manx")), "{said:?}");
        let mut stream = connect(&folder);
        journal.came_back(&read_all(&mut stream));
        let (pid, after) = (child.id().to_string(), Duration::from_micros(numbers.below(120_000)));
        let killer = std::thread::spawn(move || {
            std::thread::sleep(after);
            assert!(Command::new("kill").args(["-9", &pid]).status().unwrap().success());
        });
        write_until_gone(&mut stream, &mut journal, &mut numbers);
        killer.join().unwrap();
        child.wait().unwrap();
    }
    let checked = info(&folder);
    assert!(checked.contains("was replayed") && checked.contains("not closed"), "{checked}");
    let (child, _) = serve(&folder, sets);
    journal.came_back(&read_all(&mut connect(&folder)));
    end(child);
    assert!(journal.promised > u64::from(rounds), "{}", journal.promised);
    assert!(info(&folder).contains("closed: the next start replays nothing"));
    let (child, said) = serve(&folder, sets);
    assert_eq!(said.len(), 1, "{said:?}");
    journal.came_back(&read_all(&mut connect(&folder)));
    end(child);
}

fn info(folder: &Folder) -> String {
    stdout(&manx(&["store", "check", &folder.path("store")]))
}

fn rounds() -> u32 {
    if std::env::var_os("MANX_LONG").is_some() { 150 } else { 8 }
}

#[test]
fn a_killed_server_has_lost_nothing_that_was_durable() {
    kill_often("killed", &["--set", "drive.power_loss_protection=false"], rounds());
}

#[test]
fn with_a_capacitor_and_a_short_log_nothing_is_lost_either() {
    kill_often("capacitor", &["--policy", "preemptive", "--store-log", "1MiB"], rounds());
}

#[test]
fn a_store_that_cannot_grow_is_read_only_and_keeps_what_was_acknowledged() {
    let folder = Folder::new("full");
    end(serve(&folder, &[]).0);
    let mut command = Command::new("sh");
    // A file of at most 1 MiB: a disk that is full from there on.
    let script = "trap '' XFSZ; ulimit -f 2048; exec \"$0\" \"$@\"";
    command.args(["-c", script, env!("CARGO_BIN_EXE_manx")]).args(arguments(&folder, &[]));
    is_read_only_then(&folder, command, |_| ());
}

#[test]
fn a_store_with_io_errors_is_read_only_and_keeps_what_was_acknowledged() {
    let folder = Folder::new("eio");
    end(serve(&folder, &[]).0);
    // A disk that fails every write from the moment at which a file is there.
    let (source, object) = (folder.path("eio.c"), folder.path("eio.so"));
    std::fs::write(
        &source,
        "#define _GNU_SOURCE\n#include <dlfcn.h>\n#include <errno.h>\n#include <stdio.h>\n\
         #include <stdlib.h>\n#include <string.h>\n#include <unistd.h>\n\
         ssize_t write(int file, const void *from, size_t length) {\n\
         static ssize_t (*real)(int, const void *, size_t);\n\
         char link[64], path[512] = \"\";\n\
         if (!real) real = dlsym(RTLD_NEXT, \"write\");\n\
         snprintf(link, sizeof link, \"/proc/self/fd/%d\", file);\n\
         if (readlink(link, path, sizeof path - 1) > 0 && strstr(path, \"/store/\") &&\n\
         access(getenv(\"BROKEN\"), F_OK) == 0) { errno = EIO; return -1; }\n\
         return real(file, from, length); }\n",
    )
    .unwrap();
    let compiled = Command::new("cc").args(["-shared", "-fPIC", "-o", &object, &source]).status();
    assert!(compiled.unwrap().success());
    let broken = folder.path("broken");
    let mut command = Command::new(env!("CARGO_BIN_EXE_manx"));
    command.args(arguments(&folder, &[])).env("LD_PRELOAD", object).env("BROKEN", &broken);
    is_read_only_then(&folder, command, |acknowledged| {
        if acknowledged == 50 {
            std::fs::write(&broken, "").unwrap();
        }
    });
}

/// Writes until the store takes no more, which `before` each write may see to, and then looks.
fn is_read_only_then(folder: &Folder, command: Command, before: impl Fn(u32)) {
    let (mut child, _) = start(command);
    let mut stream = connect(folder);
    let mut acknowledged = 0u32;
    let error = loop {
        before(acknowledged);
        let mut bytes = request(1, 0, 1, u64::from(acknowledged) * 16_384, 16_384);
        bytes.extend(std::iter::repeat_n(acknowledged as u8 + 1, 16_384));
        stream.write_all(&bytes).unwrap();
        match reply(&mut stream).unwrap() {
            (1, 0) => acknowledged += 1,
            (_, error) => break error,
        }
    };
    assert_eq!(error, 1, "EPERM: read-only");
    assert!((30..70).contains(&acknowledged), "{acknowledged}");
    let first = |stream: &mut UnixStream| {
        stream.write_all(&request(0, 0, 2, 0, 16_384)).unwrap();
        assert_eq!(reply(stream).unwrap(), (2, 0), "it still reads");
        let mut bytes = vec![0; 16_384];
        stream.read_exact(&mut bytes).unwrap();
        bytes
    };
    assert_eq!(first(&mut stream), [1; 16_384]);
    child.kill().unwrap();
    child.wait().unwrap();
    let (child, said) = serve(folder, &[]);
    assert!(said[0].contains("was not closed"), "{said:?}");
    let mut stream = connect(folder);
    assert_eq!(first(&mut stream), [1; 16_384]);
    let all = read_all(&mut stream);
    for number in 0..acknowledged as usize {
        let part = &all[number * 16_384..(number + 1) * 16_384];
        assert!(part.iter().all(|byte| *byte == number as u8 + 1), "write {number}");
    }
    end(child);
}

#[test]
fn the_log_goes_forwards_after_a_base_that_was_made_under_load() {
    let folder = Folder::new("forwards");
    let (mut child, _) = serve(&folder, &["--store-log", "1MiB", "--speed", "0.1"]);
    // A client with more under way than is heard of, whose rest comes when the base is made.
    let mut deep = connect(&folder);
    let mut answers = deep.try_clone().unwrap();
    let drained = std::thread::spawn(move || std::io::copy(&mut answers, &mut std::io::sink()));
    let reader = std::thread::spawn(move || {
        let batch: Vec<u8> =
            (0..512u64).flat_map(|at| request(0, 0, at, at * 4096, 4096)).collect();
        while deep.write_all(&batch).is_ok() {}
    });
    let mut writer = connect(&folder);
    for number in 0..60u64 {
        let mut write = request(1, 0, number, number << 16, 65_536);
        write.resize(write.len() + 65_536, number as u8);
        writer.write_all(&write).unwrap();
        std::thread::sleep(Duration::from_millis(40));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let checked = info(&folder);
    assert!(checked.contains("every checksum is right"), "{checked}");
    assert!(!checked.contains("base 1:"), "no base was made meanwhile: {checked}");
    reader.join().unwrap();
    let _ = drained.join().unwrap();
}

#[test]
fn over_nvme_what_was_flushed_or_fua_outlives_the_server() {
    let folder = Folder::new("nvme");
    let store = folder.path("store");
    let args = [
        &["--policy", "preemptive", "--store", &store, "--store-log", "1MiB"][..],
        &["--set", "drive.power_loss_protection=false"],
    ]
    .concat();
    // Of each of 64 places of 16 KiB the values since the one that is durable.
    let mut places = vec![vec![0u8]; 64];
    let bytes = 16_384;
    for round in 1..=6u8 {
        let served = initiator::Served::start(&args);
        let mut host = Host::new(served.address, Terms::default(), 1);
        let queue = &mut host.queues[0];
        let block = |place: usize| place as u64 * 32;
        for (place, values) in places.iter_mut().enumerate() {
            let entry = Entry::new(initiator::READ, 1).blocks(block(place), 32);
            let (done, read) = queue.ask(entry, &[], bytes);
            assert_eq!(done.status, 0);
            assert!(read.chunks(512).all(|sector| sector.iter().all(|byte| *byte == sector[0])));
            assert!(read.iter().all(|byte| values.contains(byte)), "{place}: {values:?}");
            // A sector of each may be what it was.
            *values = read.iter().step_by(512).copied().collect();
        }
        // Windows, which are replayed with what was asked within them.
        let set = |feature| Entry::new(0x09, 0).dword(10, feature).dword(11, 1).dword(12, 1);
        assert_eq!(host.admin.ask(set(0x13), &[0; 512], 0).0.status, 0);
        for step in 0..120usize {
            let (place, value) = (step * 7 % 64, round * 20 + (step % 19) as u8);
            let fua = u32::from(step % 5 == 0) << 30;
            let entry = Entry::new(initiator::WRITE, 1).dword(12, fua).blocks(block(place), 32);
            assert_eq!(queue.ask(entry, &vec![value; bytes], 0).0.status, 0);
            let values = &mut places[place];
            if fua > 0 {
                values.clear();
            }
            values.push(value);
            if step % 50 == 40 {
                assert_eq!(queue.ask(Entry::new(initiator::FLUSH, 1), &[], 0).0.status, 0);
                places.iter_mut().for_each(|values| drop(values.drain(..values.len() - 1)));
            }
            if step % 30 == 10 {
                assert_eq!(host.admin.ask(set(0x14), &[], 0).0.status, 0);
            }
        }
        served.kill();
        let checked = info(&folder);
        assert!(checked.contains("was replayed"), "{checked}");
    }
    let socket = folder.path("socket");
    let nbd = ["serve", "quick", "--policy", "preemptive", "--socket", &socket, "--store", &store];
    let nbd = [&nbd[..], &["--set", "drive.power_loss_protection=false"]].concat();
    assert_refused(&nbd, &["--protocol nvme-tcp", "nothing was touched"]);
    initiator::Served::start(&args).end();
    let brief = [&nbd[..], &["--for", "100ms"]].concat();
    stdout(&manx(&brief));
    initiator::Served::start(&args).end();
}

#[test]
fn another_drive_and_a_damaged_store_are_refused_and_nothing_is_touched() {
    let folder = Folder::new("refused");
    end(serve(&folder, &[]).0);
    let (store, socket) = (folder.path("store"), folder.path("socket"));
    let refuse = |sets: &[&str], pieces: &[&str]| {
        let own = ["serve", "quick", "--store", &store, "--socket", &socket];
        assert_refused(&[&own, sets].concat(), pieces);
    };
    refuse(&["--policy", "preemptive"], &["gc.mode", "nothing was touched"]);
    refuse(&["--set", "seed=9"], &["seed", "nothing was touched"]);
    refuse(&["--set", "array.members=4"], &["--store", "array.members"]);
    refuse(&["--set", "recovery.keep=false"], &["recovery.keep"]);
    refuse(&["--set", "faults.factory_bad=0.01"], &["--store", "faults"]);
    refuse(&["--store-log", "1KiB"], &["--store-log", "1MiB"]);
    let asks = "name the folder of a drive that `manx serve --store FOLDER` made";
    let (none, bare, plain) = (folder.path("none"), folder.path("bare"), folder.path("plain"));
    std::fs::create_dir(&bare).unwrap();
    std::fs::write(&plain, "").unwrap();
    for verb in ["info", "check"] {
        assert_refused(&["store", verb, &none], &["there is no folder", asks]);
        assert_refused(&["store", verb, &bare], &["the folder holds no store", asks]);
        assert_refused(&["store", verb, &plain], &["this is no folder", asks]);
    }
    let base = Path::new(&store).join("base-1");
    let mut bytes = std::fs::read(&base).unwrap();
    bytes[100] ^= 1;
    std::fs::write(&base, &bytes).unwrap();
    refuse(&[], &["base-1", "damaged", "checksum"]);
    assert_refused(&["store", "check", &store], &["base-1", "damaged"]);
    assert_eq!(std::fs::read(&base).unwrap(), bytes);
}
