//! The floor of a transport: what the way there and back takes without any drive.
//!
//! A client asks for 4 KiB over a socket of the same kind, and a server that looks as
//! [`crate::Server`] looks answers at once. The client waits in its read, as most do: its waking is
//! part of the way.

use crate::listen::Listener;
use rustix::event::{Timespec, epoll};
use rustix::io::Errno;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// Round trips; the first half is to warm up.
const ROUNDS: usize = 4000;
/// Bytes of a request and of its answer: NBD's heads and a page.
const REQUEST: usize = 28;
const ANSWER: usize = 16 + 4096;

/// The median round trip over a socket like that of `listener`, on this machine as it is now.
///
/// # Errors
/// A socket cannot be had.
pub fn floor(listener: &Listener) -> io::Result<Duration> {
    if listener.tcp().is_none() {
        let (client, server) = UnixStream::pair()?;
        server.set_nonblocking(true)?;
        return measured(client, server);
    }
    let own = TcpListener::bind("127.0.0.1:0")?;
    let client = TcpStream::connect(own.local_addr()?)?;
    let (server, _) = own.accept()?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    server.set_nonblocking(true)?;
    measured(client, server)
}

fn measured<S: Read + Write + AsFd + Send>(mut client: S, server: S) -> io::Result<Duration> {
    std::thread::scope(|scope| {
        let answers = scope.spawn(|| answer(server));
        let mut times = Vec::with_capacity(ROUNDS);
        let mut page = [0; ANSWER];
        for _ in 0..ROUNDS {
            let began = Instant::now();
            client.write_all(&[0; REQUEST])?;
            client.read_exact(&mut page)?;
            times.push(began.elapsed());
        }
        drop(client);
        answers.join().map_err(|_| io::Error::other("the other side ended"))??;
        let late = &mut times[ROUNDS / 2..];
        late.sort_unstable();
        Ok(late[late.len() / 2])
    })
}

fn answer<S: Read + Write + AsFd>(mut server: S) -> io::Result<()> {
    let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    epoll::add(&epoll, &server, epoll::EventData::new_u64(0), epoll::EventFlags::IN)?;
    let flags = epoll::EventFlags::empty();
    let mut events = [epoll::Event { flags, data: epoll::EventData::new_u64(0) }; 1];
    let (mut request, mut got) = ([0; REQUEST], 0);
    loop {
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        match epoll::wait(&epoll, &mut events, Some(&now)) {
            Ok(1..) => {}
            Ok(0) | Err(Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        }
        match server.read(&mut request[got..]) {
            Ok(0) => return Ok(()),
            Ok(read) => got += read,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
            Err(error) => return Err(error),
        }
        if got == REQUEST {
            got = 0;
            server.write_all(&[0; ANSWER])?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::floor;
    use crate::listen::{Address, Listener};
    use std::time::Duration;

    #[test]
    fn both_kinds_of_sockets_take_some_time() {
        let path = std::env::temp_dir().join(format!("manx-floor-{}", std::process::id()));
        let tcp = Address::Tcp("127.0.0.1:0".parse().unwrap());
        for address in [Address::Unix(path, 0o600), tcp] {
            let took = floor(&Listener::bind(&address).unwrap()).unwrap();
            assert!(took > Duration::ZERO);
        }
    }
}
