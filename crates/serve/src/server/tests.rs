//! A server with clients of NBD, on sockets and on the wall clock.

use super::Server;
use crate::clock::{Clock, Speed};
use crate::front::{Export, Transport};
use crate::listen::{Address, Listener};
use crate::machine::Machine;
use crate::machine::tests::{drive, scenario};
use crate::nbd::Exports;
use crate::tally::Tally;
use crate::watch::{Limits, Watch};
use manx_core::host::Records;
use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time;

/// Reads of each client; a flush behind them takes most of a second at this speed.
const READS: u64 = 32;
const SPEED: f64 = 0.001;
/// Bytes of all replies.
const REPLIES: u64 = READS * (16 + 4096) + 16;

struct Stop(Arc<AtomicBool>);

impl Watch for Stop {
    fn stops(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    fn records(&mut self, _: &Records) -> Result<(), String> {
        Ok(())
    }
}

/// A server of a small drive in a thread of its own, and a client in its transmission.
fn served(name: &str, limits: Limits) -> (UnixStream, Arc<AtomicBool>, JoinHandle<Tally>) {
    let path = std::env::temp_dir().join(format!("manx-serve-{}-{name}", std::process::id()));
    let listener = Listener::bind(&Address::Unix(path.clone(), 0o600)).unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let watched = stop.clone();
    let thread = thread::spawn(move || {
        let export = Export { name: String::new(), description: String::new(), preferred: 4096 };
        let transport = Transport::Nbd(Exports { all: vec![export], tls: None });
        let machine = Machine::new(drive(&scenario(&["drive.power_loss_protection=false"])));
        let clock = Clock::start(Speed::new(SPEED).unwrap());
        let mut server = Server::new(vec![machine], clock, &listener, transport, limits).unwrap();
        server.serve(&mut Stop(watched)).unwrap()
    });
    let mut client = UnixStream::connect(path).unwrap();
    client.set_read_timeout(Some(time::Duration::from_secs(60))).unwrap();
    client.read_exact(&mut [0; 18]).unwrap();
    // Flags, and the export without a name.
    client.write_all(&[&[0, 0, 0, 3][..], b"IHAVEOPT", &[0, 0, 0, 1], &[0; 4]].concat()).unwrap();
    client.read_exact(&mut [0; 10]).unwrap();
    // Bytes for the flush.
    client.write_all(&[&request(1, READS, 64 << 10)[..], &[7; 64 << 10]].concat()).unwrap();
    client.read_exact(&mut [0; 16]).unwrap();
    (client, stop, thread)
}

fn request(command: u16, cookie: u64, length: u32) -> Vec<u8> {
    [
        &0x2560_9513u32.to_be_bytes()[..],
        &[0, 0],
        &command.to_be_bytes(),
        &cookie.to_be_bytes(),
        &(cookie * 4096).to_be_bytes(),
        &length.to_be_bytes(),
    ]
    .concat()
}

fn requests() -> Vec<u8> {
    let mut all: Vec<u8> = (0..READS).flat_map(|cookie| request(0, cookie, 4096)).collect();
    all.extend(request(3, READS, 0));
    all
}

/// Bytes of the replies that come until the server closes.
fn replies(client: &mut UnixStream) -> u64 {
    let mut all = Vec::new();
    match client.read_to_end(&mut all) {
        Ok(_) => {}
        // There was more to hear for the server.
        Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset),
    }
    all.len() as u64
}

#[test]
fn what_was_asked_before_a_good_bye_is_answered() {
    type Bye = fn(&mut UnixStream);
    let goodbyes: [(&str, Bye); 2] = [
        // A request behind it is none.
        ("disc", |client| {
            client.write_all(&[request(2, 99, 0), request(0, 9, 4096)].concat()).unwrap();
        }),
        ("half", |client| client.shutdown(Shutdown::Write).unwrap()),
    ];
    for (name, bye) in goodbyes {
        let (mut client, stop, thread) = served(name, Limits::default());
        client.write_all(&requests()).unwrap();
        bye(&mut client);
        assert_eq!(replies(&mut client), REPLIES, "{name}");
        stop.store(true, Ordering::Relaxed);
        assert_eq!(thread.join().unwrap().requests(), READS + 2, "{name}");
    }
}

#[test]
fn a_server_that_ends_waits_for_what_is_under_way_as_long_as_it_may() {
    for (name, ending) in [("patient", 60), ("hasty", 0)] {
        let ending = time::Duration::from_secs(ending);
        let (mut client, stop, thread) = served(name, Limits { ending, ..Limits::default() });
        client.write_all(&requests()).unwrap();
        // The first answer: all have come.
        client.read_exact(&mut vec![0; 16 + 4096]).unwrap();
        stop.store(true, Ordering::Relaxed);
        let replies = 16 + 4096 + replies(&mut client);
        assert_eq!(replies == REPLIES, name == "patient", "{replies} of {REPLIES}");
        assert_eq!(thread.join().unwrap().requests() == READS + 2, name == "patient", "{name}");
    }
}
