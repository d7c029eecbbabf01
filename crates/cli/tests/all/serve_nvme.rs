//! `manx serve --protocol nvme-tcp` with a host of our own.

use crate::initiator::{
    COMPARE, Came, DATASET_MANAGEMENT, DISCOVERY, Entry, FLUSH, Host, NQN, Queue, READ, Served,
    Terms, WRITE, WRITE_ZEROES, identify, le16, le64, log, pattern, verify_at_depth,
};
use crate::support::assert_refused;
use serde_json::Value;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

const FUA: u32 = 1 << 30;

#[test]
fn every_command_does_what_the_specification_says_with_digests_and_without() {
    let served = Served::start(&["--policy", "base"]);
    for (number, digests) in (0..4).map(|number| (number, (number & 1 == 1, number & 2 == 2))) {
        let terms = Terms {
            header_digest: digests.0,
            data_digest: digests.1,
            alignment: [0, 3, 31, 7][number],
            no_flow: number == 2,
            ..Terms::default()
        };
        let mut host = Host::new(served.address, terms, 1);
        let queue = &mut host.queues[0];
        let base = number as u64 * 4096;
        // In the capsule, and by R2T in several PDUs.
        for (lba, blocks) in [(base, 16), (base + 16, 2048)] {
            let data = pattern(lba, blocks as usize * 512);
            let write = Entry::new(WRITE, 1).blocks(lba, blocks);
            assert_eq!(queue.ask(write, &data, 0).0.status, 0);
            let read = Entry::new(READ, 1).blocks(lba, blocks);
            let (done, bytes) = queue.ask(read, &[], data.len());
            assert_eq!(done.status, 0);
            assert!(bytes == data, "{blocks} blocks");
            let compare = Entry::new(COMPARE, 1).blocks(lba, blocks);
            assert_eq!(queue.ask(compare, &data, 0).0.status, 0);
            let mut other = data;
            *other.last_mut().unwrap() ^= 1;
            assert_eq!(queue.ask(compare, &other, 0).0.status, 0x285, "Compare Failure");
        }
        let durable = Entry::new(WRITE, 1).dword(12, FUA).blocks(base, 8);
        assert_eq!(queue.ask(durable, &pattern(9, 4096), 0).0.status, 0);
        assert_eq!(queue.ask(Entry::new(FLUSH, 1), &[], 0).0.status, 0);
        for extra in [0, 1 << 25, FUA] {
            let fill = Entry::new(WRITE, 1).blocks(base + 64, 8);
            assert_eq!(queue.ask(fill, &[5; 4096], 0).0.status, 0);
            let zeroes = Entry::new(WRITE_ZEROES, 1).dword(12, extra).blocks(base + 65, 6);
            assert_eq!(queue.ask(zeroes, &[], 0).0.status, 0);
            let bytes = queue.ask(Entry::new(READ, 1).blocks(base + 64, 8), &[], 4096).1;
            assert_eq!((bytes[0], bytes[512], bytes[3583], bytes[3584]), (5, 0, 0, 5));
        }
        // Two ranges, each after four bytes of attributes.
        let range = |lba: u64, blocks: u32| {
            [&[0; 4][..], &blocks.to_le_bytes(), &lba.to_le_bytes()].concat()
        };
        let ranges = [range(base + 16, 8), range(base + 32, 8)].concat();
        let trim = Entry::new(DATASET_MANAGEMENT, 1).dword(10, 1).dword(11, 4);
        assert_eq!(queue.ask(trim, &ranges, 0).0.status, 0);
        let bytes = queue.ask(Entry::new(READ, 1).blocks(base + 16, 24), &[], 12_288).1;
        assert!(bytes[..4096] == [0; 4096] && bytes[8192..] == [0; 4096]);
        assert!(bytes[4096..8192] == pattern(base + 16, 1 << 20)[4096..8192]);
    }
    let report = served.end();
    assert_eq!(report["errors"], 0, "{report}");
    assert_eq!(report["faulty_connections"], 0, "{report}");
}

#[test]
fn commands_that_may_not_be_are_refused_with_their_status() {
    let served = Served::start(&[]);
    let mut host = Host::new(served.address, Terms::default(), 1);
    let queue = &mut host.queues[0];
    let blocks = (192 << 20) / 512;
    let ones = [1; 512];
    let read = |lba, count| Entry::new(READ, 1).blocks(lba, count);
    let mut fused = read(0, 1);
    fused.0[1] = 0x41;
    let range = [&[0; 4][..], &8u32.to_le_bytes(), &u64::to_le_bytes(blocks)].concat();
    for (entry, data, length, status) in [
        (read(blocks, 1), &[][..], 512, 0x80),
        (read(u64::MAX, 2), &[], 1024, 0x80),
        (read(0, 4096), &[], 2 << 20, 0x02),
        (read(0, 2), &[], 512, 0x0f),
        (Entry::new(READ, 2).blocks(0, 1), &[], 512, 0x0b),
        (Entry::new(READ, 1).blocks(0, 1).dword(2, 3), &[], 512, 0x02),
        (fused, &[], 512, 0x02),
        (Entry::new(WRITE, 1).blocks(blocks, 1), &ones, 0, 0x80),
        (Entry::new(WRITE, 1).blocks(0, 2), &ones, 0, 0x0f),
        (Entry::new(WRITE, 1).blocks(0, 1).dword(2, 1), &ones, 0, 0x02),
        (Entry::new(COMPARE, 1).blocks(0, 2), &ones, 0, 0x0f),
        (Entry::new(WRITE_ZEROES, 1).blocks(blocks - 1, 2), &[], 0, 0x80),
        (Entry::new(DATASET_MANAGEMENT, 1).dword(11, 4), &range, 0, 0x80),
        (Entry::new(DATASET_MANAGEMENT, 1).dword(11, 4).dword(10, 1), &range, 0, 0x0f),
        (Entry::new(0x0d, 1), &[], 0, 0x01),
        (Entry::fabrics(1), &[9; 1024], 0, 0x0c),
    ] {
        let (done, bytes) = queue.ask(entry, data, length);
        assert_eq!((done.status, done.dnr), (status, true), "opcode {:02x}h", entry.0[0]);
        assert!(bytes.is_empty());
    }
    assert_eq!(queue.ask(read(0, 1), &[], 512).0.status, 0, "it goes on");
    let admin = &mut host.admin;
    for (entry, length, status) in [
        (identify(0, 9), 4096, 0x0b),
        (identify(0x99, 1), 4096, 0x02),
        (identify(1, 0), 512, 0x0f),
        (log(0x70, 1024), 1024, 0x109),
        (log(0x99, 512), 512, 0x109),
        (Entry::new(0x09, 0).dword(10, 0x07).dword(11, 0xffff), 0, 0x02),
        (Entry::new(0x09, 0).dword(10, 0x07).dword(11, 0), 0, 0x0c),
        (Entry::new(0x09, 0).dword(10, 0x99), 0, 0x02),
        (Entry::new(0x14, 0), 0, 0x01),
        (Entry::fabrics(4).dword(11, 0x99), 0, 0x02),
        (Entry::fabrics(4).dword(11, 0), 0, 0x02),
        (Entry::fabrics(8), 0, 0x01),
    ] {
        assert_eq!(admin.ask(entry, &[], length).0.status, status, "{:02x?}", &entry.0[..48]);
    }
    served.end();
}

#[test]
fn identify_logs_and_features_are_those_of_the_drive() {
    let served = Served::start(&["--policy", "base"]);
    let mut host = Host::new(served.address, Terms::default(), 2);
    let admin = &mut host.admin;
    let capabilities = admin.property(0, true);
    assert_eq!(capabilities & 0xffff, 127, "MQES");
    assert_eq!(capabilities >> 37 & 1, 1, "the NVM command set");
    assert_eq!(admin.property(8, false), 0x0001_0400);
    let page = admin.ask(identify(1, 0), &[], 4096).1;
    assert_eq!(le16(&page, 78), host.controller, "CNTLID");
    assert!(le16(&page, 320) > 0, "KAS: keep alive is mandatory for Fabrics");
    assert_eq!((le16(&page, 514), page[111]), (128, 1));
    assert!(page[768..].starts_with(NQN.as_bytes()));
    assert_eq!(le64(&page, 1792), 516 | 1 << 32, "IOCCSZ, IORCSZ");
    assert_eq!(le16(&page, 520) & 0b1101, 0b1101, "Compare, DSM, Write Zeroes");
    let namespace = admin.ask(identify(0, 1), &[], 4096).1;
    assert_eq!(le64(&namespace, 0), (192 << 20) / 512);
    assert_eq!(namespace[130], 9, "blocks of 512 bytes");
    assert_eq!(admin.ask(identify(2, 0), &[], 4096).1[..8], [1, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(admin.ask(identify(3, 1), &[], 4096).1[..2], [2, 16], "NGUID");
    assert_eq!(admin.ask(identify(4, 0), &[], 4096).1[0], 1, "one NVM Set");

    host.queues[0].ask(Entry::new(WRITE, 1).blocks(0, 8), &[1; 4096], 0);
    let smart = admin.ask(log(2, 512), &[], 512).1;
    assert_eq!((le64(&smart, 80), smart[3]), (1, 100), "a write, all of the spare");
    assert_eq!(admin.ask(log(1, 64), &[], 64).1, [0; 64]);
    assert_eq!(admin.ask(log(3, 512), &[], 512).1[0], 1);
    let set = |page, bytes| log(page, bytes).dword(11, 1 << 16);
    assert_eq!(admin.ask(set(0x0a, 512), &[], 512).1[0], 0, "no window: the mode is off");
    assert_eq!(admin.ask(log(0x0b, 12), &[], 12).1[..8], [0; 8]);

    // Predictable Latency Mode: on, its configuration back, and a window.
    let feature = |opcode, number, value| {
        Entry::new(opcode, 0).dword(10, number).dword(11, 1).dword(12, value)
    };
    assert_eq!(admin.ask(feature(0x09, 0x13, 1), &[0; 512], 0).0.status, 0);
    let (done, config) = admin.ask(feature(0x0a, 0x13, 0), &[], 512);
    assert_eq!((done.result, config), (1, vec![0; 512]));
    assert_eq!(admin.ask(set(0x0a, 512), &[], 512).1[0], 2, "the non-deterministic window");
    assert_eq!(admin.ask(feature(0x09, 0x14, 1), &[], 0).0.status, 0, "when it may begin");
    assert_eq!(admin.ask(set(0x0a, 512), &[], 512).1[0], 1, "the deterministic window");
    assert_eq!(admin.ask(feature(0x0a, 0x07, 0), &[], 0).0.result, 1 | 1 << 16);
    let flagged = Entry::new(READ, 1).blocks(0, 8).dword(2, 1);
    assert_eq!(host.queues[1].ask(flagged, &[], 4096).0.status, 0, "nothing is collected");
    served.end();
}

#[test]
fn event_requests_are_kept_taken_back_and_limited() {
    let served = Served::start(&["--policy", "base"]);
    let mut host = Host::new(served.address, Terms::default(), 0);
    let admin = &mut host.admin;
    let events: Vec<u16> = (0..4).map(|_| admin.send(Entry::new(0x0c, 0), &[], 0)).collect();
    assert_eq!(admin.ask(Entry::new(0x0c, 0), &[], 0).0.status, 0x105, "a fifth");
    let abort = admin.send(Entry::new(0x08, 0).dword(10, u32::from(events[2]) << 16), &[], 0);
    let mut ended: Vec<_> = (0..2)
        .map(|_| match admin.take() {
            Came::Completion(done) => (done.cid, done.status, done.result),
            came => panic!("{came:?}"),
        })
        .collect();
    ended.sort_unstable();
    assert_eq!(ended, [(events[2], 0x07, 0), (abort, 0, 0)]);
    let other = Entry::new(0x08, 0).dword(10, 77 << 16 | 1);
    assert_eq!(admin.ask(other, &[], 0).0.result, 1, "a read is not taken back");
    assert_eq!(admin.ask(Entry::new(0x18, 0), &[], 0).0.status, 0, "keep alive");
    served.end();
}

#[test]
fn a_window_that_ends_by_itself_is_told_to_who_waits_for_it() {
    let served = Served::start(&["--policy", "base"]);
    let mut host = Host::new(served.address, Terms::default(), 0);
    let admin = &mut host.admin;
    let set = |feature, cdw11| Entry::new(0x09, 0).dword(10, feature).dword(11, cdw11);
    assert_eq!(admin.ask(set(0x0b, 1 << 12), &[], 0).0.status, 0, "notices of log 0Bh");
    let mut config = [0; 512];
    // Bit 14: the deterministic window ended by itself.
    config[1] = 0x40;
    assert_eq!(admin.ask(set(0x13, 1).dword(12, 1), &config, 0).0.status, 0);
    let event = admin.send(Entry::new(0x0c, 0), &[], 0);
    assert_eq!(admin.ask(set(0x14, 1).dword(12, 1), &[], 0).0.status, 0);
    // Its longest time is a fraction of a second.
    let Came::Completion(done) = admin.take() else { panic!("no completion") };
    assert_eq!((done.cid, done.status, done.result), (event, 0, 0x000b_0402));
    let sets = admin.ask(log(0x0b, 12), &[], 12).1;
    assert_eq!((le64(&sets, 0), le16(&sets, 8)), (1, 1));
    let window = admin.ask(log(0x0a, 512).dword(11, 1 << 16), &[], 512).1;
    assert_eq!((window[0], le16(&window, 2)), (2, 0x4000));
    served.end();
}

#[test]
fn connections_are_a_controllers_queues() {
    let served = Served::start(&[]);
    let mut host = Host::new(served.address, Terms::default(), 2);
    let try_one = |subsystem, ids, size| {
        Queue::open(served.address, Terms::default()).try_connect(subsystem, ids, size)
    };
    let id = host.controller;
    // Where the parameter lies, and whether in the data.
    for (subsystem, ids, size, status, result) in [
        (NQN, (0xffff, 0), 0, 0x182, 44),
        (NQN, (0xffff, 0), 128, 0x182, 44),
        (NQN, (5, 0), 31, 0x182, 16 | 1 << 16),
        ("nqn.other", (0xffff, 0), 31, 0x182, 256 | 1 << 16),
        (NQN, (id, 1), 31, 0x182, 42),
        (NQN, (id, 3), 31, 0x182, 42),
        (NQN, (id + 1, 1), 31, 0x182, 16 | 1 << 16),
        (DISCOVERY, (id, 1), 31, 0x182, 256 | 1 << 16),
    ] {
        let done = try_one(subsystem, ids, size);
        assert_eq!((done.status, done.result), (status, result), "{subsystem} {ids:?}");
    }
    let mut early = Queue::open(served.address, Terms::default());
    assert_eq!(early.ask(identify(1, 0), &[], 4096).0.status, 0x0c, "Connect comes first");
    let mut disabled = Queue::connect(served.address, Terms::default(), NQN, (0xffff, 0));
    assert_eq!(disabled.ask(identify(1, 0), &[], 4096).0.status, 0x0c, "not enabled");

    let second = host.queues.pop().unwrap();
    drop(second);
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(try_one(NQN, (id, 2), 31).status, 0, "its number is free again");
    assert_eq!(host.queues[0].ask(Entry::fabrics(8), &[], 0).0.status, 0, "Disconnect");
    // A shutdown is complete at once, and a reset alone ends it; both take the queues with them.
    let config = 4 << 20 | 6 << 16;
    let mut queue = Queue::connect(served.address, Terms::default(), NQN, (id, 1));
    host.admin.set_property(0x14, config | 1 << 14 | 1);
    assert_eq!(host.admin.property(0x1c, false) >> 2 & 3, 2);
    assert_eq!(queue.stream.read(&mut [0; 64]).unwrap_or(0), 0, "closed");
    assert_eq!(try_one(NQN, (id, 1), 31).status, 0x0c, "shut down");
    [config, config | 1].into_iter().for_each(|value| host.admin.set_property(0x14, value));
    let mut queue = Queue::connect(served.address, Terms::default(), NQN, (id, 1));
    host.admin.set_property(0x14, config);
    assert_eq!(queue.stream.read(&mut [0; 64]).unwrap_or(0), 0, "closed");
    assert_eq!(host.admin.property(0x1c, false), 0);
    served.end();
}

#[test]
fn the_discovery_subsystem_tells_where_to_connect() {
    let served = Served::start(&[]);
    let terms = Terms::default();
    let mut queue = Queue::connect(served.address, terms, DISCOVERY, (0xffff, 0));
    queue.set_property(0x14, 4 << 20 | 6 << 16 | 1);
    let page = queue.ask(identify(1, 0), &[], 4096).1;
    assert_eq!(page[111], 2, "a discovery controller");
    assert!(page[768..].starts_with(DISCOVERY.as_bytes()));
    let log_page = queue.ask(log(0x70, 2048), &[], 2048).1;
    assert_eq!((le64(&log_page, 8), le16(&log_page, 16)), (1, 0));
    let entry = &log_page[1024..];
    assert_eq!(entry[..3], [3, 1, 2], "TCP, IPv4, a subsystem");
    let text = |range: std::ops::Range<usize>| String::from_utf8(entry[range].to_vec()).unwrap();
    assert_eq!(text(32..64).trim_end(), served.address.port().to_string());
    assert_eq!(text(512..768).trim_end(), "127.0.0.1");
    assert_eq!(text(256..512).trim_end_matches('\0'), NQN);
    let half = log(0x70, 1024).dword(12, 1024);
    assert_eq!(queue.ask(half, &[], 1024).1, entry);
    assert_eq!(queue.ask(identify(0, 1), &[], 4096).0.status, 0x02);
    assert_eq!(queue.ask(log(2, 512), &[], 512).0.status, 0x109);
    served.end();
}

#[test]
fn several_queues_of_several_hosts_read_what_they_wrote() {
    let served = Served::start(&["--policy", "preemptive"]);
    let digests = Terms { header_digest: true, data_digest: true, ..Terms::default() };
    let mut hosts =
        [Host::new(served.address, Terms::default(), 4), Host::new(served.address, digests, 2)];
    std::thread::scope(|scope| {
        let queues = hosts.iter_mut().flat_map(|host| &mut host.queues);
        for (number, queue) in (0..).zip(queues) {
            scope.spawn(move || verify_at_depth(queue, number * 40_000, 600));
        }
    });
    let report = served.end();
    assert_eq!((&report["errors"], &report["requests"]), (&0.into(), &3600.into()), "{report}");
}

#[test]
fn an_array_serves_without_windows() {
    let served = Served::start(&["--policy", "raid", "--set", "array.members=4"]);
    let mut host = Host::new(served.address, Terms::default(), 1);
    let page = host.admin.ask(identify(1, 0), &[], 4096).1;
    assert_eq!(page[96..102], [0; 6], "no NVM Sets, no windows");
    assert_eq!(host.admin.ask(identify(4, 0), &[], 4096).0.status, 0x02);
    assert_eq!(host.admin.ask(log(2, 512), &[], 512).1[3], 100);
    assert_eq!(host.admin.ask(log(0x0a, 512), &[], 512).0.status, 0x109);
    let data = pattern(3, 65_536);
    let queue = &mut host.queues[0];
    assert_eq!(queue.ask(Entry::new(WRITE, 1).blocks(128, 128), &data, 0).0.status, 0);
    assert!(queue.ask(Entry::new(READ, 1).blocks(128, 128), &[], 65_536).1 == data);
    served.end();
}

#[test]
fn the_members_of_an_array_are_namespaces_of_their_own() {
    let args = ["--members", "--policy", "ioda", "--set", "array.members=4"];
    let served = Served::start(&args);
    let mut host = Host::new(served.address, Terms::default(), 1);
    let queue = &mut host.queues[0];
    let read = |namespace| Entry::new(READ, namespace).blocks(64, 24);
    for namespace in 1..=4 {
        let write = Entry::new(WRITE, namespace).blocks(64, 24);
        assert_eq!(queue.ask(write, &pattern(namespace.into(), 12_288), 0).0.status, 0);
    }
    for namespace in 1..=4 {
        let (done, bytes) = queue.ask(read(namespace), &[], 12_288);
        assert!(done.status == 0 && bytes == pattern(namespace.into(), 12_288), "{namespace}");
    }
    assert_eq!(queue.ask(read(5), &[], 12_288).0.status, 0x0b);
    assert_eq!(queue.ask(Entry::new(FLUSH, u32::MAX), &[], 0).0.status, 0);
    let admin = &mut host.admin;
    let page = admin.ask(identify(1, 0), &[], 4096).1;
    assert_eq!((page[516], le16(&page, 338)), (4, 4), "namespaces, NVM Sets");
    let list = admin.ask(identify(2, 1), &[], 4096).1;
    assert_eq!((list[0], list[4], list[8], list[12]), (2, 3, 4, 0));
    let sets = admin.ask(identify(4, 0), &[], 4096).1;
    assert_eq!([sets[0], sets[128], sets[256], sets[384], sets[512]], [4, 1, 2, 3, 4]);
    let sets = admin.ask(identify(4, 0).dword(11, 3), &[], 4096).1;
    assert_eq!((sets[0], le16(&sets, 128), le16(&sets, 256)), (2, 3, 4));
    let guids = (1..=4).map(|namespace| admin.ask(identify(3, namespace), &[], 4096).1);
    let guids: std::collections::BTreeSet<_> = guids.collect();
    assert_eq!(guids.len(), 4, "each has its own identifier");
    let namespace = admin.ask(identify(0, 3), &[], 4096).1;
    assert_eq!((le64(&namespace, 0) > 0, le16(&namespace, 100)), (true, 3));
    assert_eq!(admin.ask(identify(0, 5), &[], 4096).0.status, 0x0b);
    let smart = admin.ask(log(2, 512), &[], 512).1;
    assert_eq!((le64(&smart, 64), le64(&smart, 80)), (4, 4), "reads and writes of all");
    // Predictable Latency Mode of the third alone.
    let set = Entry::new(0x09, 0).dword(10, 0x13).dword(11, 3).dword(12, 1);
    assert_eq!(admin.ask(set, &[0; 512], 0).0.status, 0);
    let windows = (1..=4).map(|set| admin.ask(log(0x0a, 512).dword(11, set << 16), &[], 512).1[0]);
    assert_eq!(windows.collect::<Vec<_>>(), [0, 0, 2, 0]);
    assert_eq!(admin.ask(log(0x0a, 512).dword(11, 5 << 16), &[], 512).0.status, 0x02);
    assert_eq!(admin.ask(log(0x0b, 16), &[], 16).1, [0; 16]);
    let report = served.end();
    assert_eq!((&report["errors"], &report["flush"]["count"]), (&0.into(), &4.into()), "{report}");
}

#[test]
fn a_flagged_read_fails_fast_where_garbage_is_collected_and_an_unflagged_one_waits() {
    let served = Served::start(&["--policy", "base"]);
    let mut host = Host::new(served.address, Terms::default(), 2);
    let [writer, reader] = &mut host.queues[..] else { panic!("two queues") };
    let (mut failed, mut served_fast, mut at) = (0, 0, 1u64);
    let until = Instant::now() + Duration::from_secs(20);
    while failed < 5 && Instant::now() < until {
        for _ in 0..32 {
            at = at.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            writer.send(Entry::new(WRITE, 1).blocks((at >> 33) % 49_152 * 8, 8), &[1; 4096], 0);
        }
        for _ in 0..8 {
            at = at.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let read = Entry::new(READ, 1).blocks((at >> 33) % 49_152 * 8, 8);
            let (done, bytes) = reader.ask(read.dword(2, 1), &[], 4096);
            if done.status == 0 {
                served_fast += 1;
                continue;
            }
            assert_eq!((done.status, done.dnr, bytes.len()), (0x701, true, 0));
            assert!(done.result > 0, "its busy remaining time");
            failed += 1;
            // Without the flag, or with the word to wait, that read is served.
            assert_eq!(reader.ask(read, &[], 4096).0.status, 0);
            assert_eq!(reader.ask(read.dword(2, 2), &[], 4096).0.status, 0);
        }
        for _ in 0..32 {
            assert!(matches!(writer.take(), Came::Completion(done) if done.status == 0));
        }
    }
    assert!(failed >= 5 && served_fast > 0, "{failed} failed fast, {served_fast} did not");
    let vendor = host.admin.ask(log(0xc0, 512), &[], 512).1;
    assert_eq!(le64(&vendor, 72), failed, "log C0h counts them");
    served.end();
}

#[test]
fn pdus_that_break_the_protocol_end_their_connection_with_the_field() {
    let served = Served::start(&[]);
    let terms = Terms::default();
    let mut host = Host::new(served.address, terms, 1);
    let entry = Entry::new(READ, 1).blocks(0, 8).0;
    let data = |cid: u16, tag: u16, offset: u32, length: u32| {
        let mut fields = vec![0; 16];
        fields[..2].copy_from_slice(&cid.to_le_bytes());
        fields[2..4].copy_from_slice(&tag.to_le_bytes());
        fields[4..8].copy_from_slice(&offset.to_le_bytes());
        fields[8..12].copy_from_slice(&length.to_le_bytes());
        fields
    };
    for (kind, flags, fields, bytes, status, information) in [
        (0x05, 0, &entry[..16], 0, 1, 0),
        (0x04, 0, &entry[..32], 0, 1, 2),
        (0x04, 1, &entry, 0, 1, 1),
        (0x04, 0, &entry, 9000, 1, 4),
        (0x06, 4, &data(0, 9, 0, 512), 512, 1, 10),
        (0x06, 4, &data(0, 0, 0, 512), 300 << 10, 5, 0),
        (0x00, 0, &[0; 120], 0, 2, 0),
    ] {
        let mut queue = Queue::open(served.address, terms);
        assert_eq!(queue.try_connect(NQN, (0xffff, 0), 31).status, 0);
        queue.put(kind, flags, fields, &vec![0; bytes]);
        match queue.take() {
            Came::Terminated { status: told, information: at } => {
                assert_eq!((told, at), (status, information), "type {kind:02x}h {flags}");
            }
            came => panic!("{came:?}"),
        }
        assert_eq!(queue.stream.read(&mut [0; 8]).unwrap_or(0), 0, "closed");
    }
    // Data beyond what was asked for, of a write that waits for them.
    let queue = &mut host.queues[0];
    queue.send(Entry::new(WRITE, 1).blocks(0, 32), &[1; 16_384], 0);
    let Came::Ready { cid, tag, .. } = queue.take() else { panic!("no R2T") };
    queue.put(6, 4, &data(cid, tag, 0, 20_000), &[1; 20_000]);
    assert!(matches!(queue.take(), Came::Terminated { status: 4, .. }));
    let report = served.end();
    assert_eq!(report["faulty_connections"], 8, "{report}");
}

#[test]
fn a_wrong_digest_of_data_fails_the_command_alone() {
    let served = Served::start(&[]);
    let terms = Terms { data_digest: true, ..Terms::default() };
    let mut host = Host::new(served.address, terms, 1);
    let queue = &mut host.queues[0];
    let mut entry = Entry::new(WRITE, 1).blocks(0, 1);
    (entry.0[2], entry.0[33], entry.0[39]) = (99, 2, 1);
    let length = (72 + 512 + 4u32).to_le_bytes();
    let pdu = [&[4, 2, 72, 72][..], &length, &entry.0, &[3; 512], &[1, 2, 3, 4]].concat();
    queue.stream.write_all(&pdu).unwrap();
    let Came::Completion(done) = queue.take() else { panic!() };
    assert_eq!((done.cid, done.status, done.dnr), (99, 0x22, false), "it may be tried again");
    assert_eq!(queue.ask(Entry::new(READ, 1).blocks(0, 1), &[], 512).1, [0; 512]);
    served.end();
}

#[test]
fn silence_is_closed_and_noise_keeps_no_other_from_being_served() {
    let served = Served::start(&["--connections", "8"]);
    let mut host = Host::new(served.address, Terms::default(), 1);
    let silent = TcpStream::connect(served.address).unwrap();
    let mut sleeper = Queue::open(served.address, Terms { keep_alive: 1000, ..Terms::default() });
    assert_eq!(sleeper.try_connect(NQN, (0xffff, 0), 31).status, 0);
    let noise: Vec<u8> = (0..100_000u32).map(|at| (at * 7 + at / 251) as u8).collect();
    for _ in 0..200 {
        let mut peer = TcpStream::connect(served.address).unwrap();
        // It may be closed before it has sent everything.
        let _ = peer.write_all(&noise);
    }
    verify_at_depth(&mut host.queues[0], 0, 300);
    let many: Vec<_> = (0..50).map(|_| TcpStream::connect(served.address).unwrap()).collect();
    verify_at_depth(&mut host.queues[0], 4096, 300);
    assert_eq!(sleeper.stream.read(&mut [0; 8]).unwrap_or(0), 0, "no keep-alive");
    drop((silent, many));
    let report = served.end();
    let count = |path| report.pointer(path).and_then(Value::as_u64).unwrap();
    assert!(count("/refused_connections") > 0 && count("/faulty_connections") > 0, "{report}");
}

#[test]
fn wrong_options_are_told() {
    let tcp = ["serve", "quick", "--protocol", "nvme-tcp"];
    for (args, piece) in [
        (&["--socket", "/tmp/x"][..], "--listen"),
        (&["--listen", "0.0.0.0:0"], "--remote"),
        (&["--listen", "127.0.0.1:0", "--nqn", "disk"], "nqn."),
        (&["--listen", "127.0.0.1:0", "--members"], "array.members"),
        (&["--listen", "127.0.0.1:0", "--nqn", DISCOVERY], "nqn."),
    ] {
        assert_refused(&[&tcp, args].concat(), &[piece]);
    }
    assert_refused(&["serve", "--protocol", "iscsi", "--socket", "/tmp/x"], &["nvme-tcp"]);
}
