//! The floor of a transport: what the way there and back takes without any drive.
//!
//! A client asks for 4 KiB over a socket of the same kind, and a server that waits and looks as
//! [`crate::Server`] does answers after the time of a read. The client sleeps in `poll`
//! meanwhile and then reads head and page, as libnbd does: its waking, which takes the longer the
//! longer it slept, is part of the way.

use crate::listen::Listener;
use crate::pause::Pause;
use rustix::event::{PollFd, PollFlags, Timespec, epoll, poll};
use rustix::io::Errno;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::num::NonZeroU64;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// Round trips at most and at least, and the time for all of them; the first half is to warm up.
const ROUNDS: usize = 4000;
const FEWEST: usize = 100;
const ALL: Duration = Duration::from_millis(500);
/// Bytes of a request and of its answer: NBD's heads and a page.
const REQUEST: usize = 28;
const HEAD: usize = 20;
const ANSWER: usize = HEAD + 4096;

/// The median round trip over a socket like that of `listener`, on this machine as it is now, less
/// the time `read` that the server waits before it answers.
///
/// # Errors
/// A socket cannot be had.
pub fn floor(listener: &Listener, read: Duration) -> io::Result<Duration> {
    if listener.tcp().is_none() {
        let (client, server) = UnixStream::pair()?;
        server.set_nonblocking(true)?;
        return measured(client, server, read);
    }
    let own = TcpListener::bind("127.0.0.1:0")?;
    let client = TcpStream::connect(own.local_addr()?)?;
    let (server, _) = own.accept()?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    server.set_nonblocking(true)?;
    measured(client, server, read)
}

fn measured<S>(mut client: S, server: S, read: Duration) -> io::Result<Duration>
where
    S: Read + Write + AsFd + Send,
{
    let rounds = ALL.as_nanos() / read.as_nanos().max(1);
    let rounds = rounds.clamp(FEWEST as u128, ROUNDS as u128) as usize;
    std::thread::scope(|scope| {
        let answers = scope.spawn(|| answer(server, read));
        let mut times = Vec::with_capacity(rounds);
        let mut page = [0; ANSWER];
        for _ in 0..rounds {
            let began = Instant::now();
            client.write_all(&[0; REQUEST])?;
            wait(&client)?;
            client.read_exact(&mut page[..HEAD])?;
            client.read_exact(&mut page[HEAD..])?;
            times.push(began.elapsed());
        }
        drop(client);
        answers.join().map_err(|_| io::Error::other("the other side ended"))??;
        let late = &mut times[rounds / 2..];
        late.sort_unstable();
        Ok(late[late.len() / 2].saturating_sub(read))
    })
}

/// Sleeps until there is something to read.
fn wait<S: AsFd>(client: &S) -> io::Result<()> {
    let mut files = [PollFd::new(client, PollFlags::IN)];
    match poll(&mut files, None) {
        Err(Errno::INTR) | Ok(_) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn answer<S: Read + Write + AsFd>(mut server: S, read: Duration) -> io::Result<()> {
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
    let mut pause = Pause::new();
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
            let came = Instant::now();
            while let Some(left) = read.checked_sub(came.elapsed()) {
                let sleep = pause.before(left.as_nanos() as u64);
                if sleep > Duration::ZERO {
                    std::thread::sleep(sleep);
                    pause.over(true);
                }
            }
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
            for read in [Duration::ZERO, Duration::from_micros(200)] {
                let took = floor(&Listener::bind(&address).unwrap(), read).unwrap();
                assert!(took > Duration::ZERO);
            }
        }
    }
}
