//! Addresses, and the sockets that listen on them.

use crate::control::{Orders, socket};
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use std::fmt;
use std::io::{self, ErrorKind, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// Descriptors that are taken with one message; the kernel closes those beyond.
const DESCRIPTORS: usize = 8;

/// An address to listen on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A socket in the file system, and its mode.
    Unix(PathBuf, u32),
    /// An address and a port of TCP.
    Tcp(SocketAddr),
}

/// Why nothing listens there, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListenError(String);

impl fmt::Display for ListenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ListenError {}

/// A socket that listens; a socket in the file system goes with it.
#[derive(Debug)]
pub enum Listener {
    /// In the file system.
    Unix(UnixListener, PathBuf),
    /// Of TCP.
    Tcp(TcpListener),
    /// In the file system, of who started this process: it stays.
    Given(UnixListener, PathBuf),
}

/// A connection's socket.
#[derive(Debug)]
pub(crate) enum Stream {
    Unix(UnixStream),
    Tcp(TcpStream),
}

impl Listener {
    /// Listens; a socket that a dead server left is taken away first.
    pub fn bind(address: &Address) -> Result<Self, ListenError> {
        match address {
            Address::Unix(path, mode) => unix(path, *mode),
            Address::Tcp(address) => TcpListener::bind(address)
                .and_then(|listener| listener.set_nonblocking(true).map(|()| listener))
                .map(Listener::Tcp)
                .map_err(|error| ListenError(format!("cannot listen on {address}: {error}"))),
        }
    }

    /// The socket that systemd listens on for this process (`sd_listen_fds`): the first one that it
    /// hands over, descriptor 3; `None` without one.
    ///
    /// # Errors
    /// It is no socket of a kind that is served.
    pub fn given() -> Result<Option<Self>, ListenError> {
        let number = |name| std::env::var(name).ok().and_then(|text| text.parse::<u32>().ok());
        if number("LISTEN_PID") != Some(std::process::id()) || number("LISTEN_FDS") == Some(0) {
            return Ok(None);
        }
        let wrong = |why: String| ListenError(format!("LISTEN_FDS: descriptor 3: {why}"));
        // SAFETY: who set the variables for this very process gave it the descriptor, and nothing
        // else here takes it: this is called once, before any file is opened.
        let socket = unsafe { OwnedFd::from_raw_fd(3) };
        let name = rustix::net::getsockname(&socket).map_err(|error| wrong(error.to_string()))?;
        match name.address_family() {
            rustix::net::AddressFamily::UNIX => {
                let listener = UnixListener::from(socket);
                listener.set_nonblocking(true).map_err(|error| wrong(error.to_string()))?;
                let address = listener.local_addr().map_err(|error| wrong(error.to_string()))?;
                let path = address.as_pathname().unwrap_or(Path::new("")).to_path_buf();
                Ok(Some(Listener::Given(listener, path)))
            }
            rustix::net::AddressFamily::INET | rustix::net::AddressFamily::INET6 => {
                let listener = TcpListener::from(socket);
                listener.set_nonblocking(true).map_err(|error| wrong(error.to_string()))?;
                Ok(Some(Listener::Tcp(listener)))
            }
            other => Err(wrong(format!("a socket of family {}", other.as_raw()))),
        }
    }

    /// The address of TCP; the port is the one that was given.
    pub fn tcp(&self) -> Option<SocketAddr> {
        match self {
            Listener::Unix(..) | Listener::Given(..) => None,
            Listener::Tcp(listener) => listener.local_addr().ok(),
        }
    }

    /// The address as an NBD client writes it; the port is the one that was given.
    pub fn uri(&self, has_tls: bool) -> String {
        let nbd = if has_tls { "nbds" } else { "nbd" };
        match self {
            Listener::Unix(_, path) | Listener::Given(_, path) => {
                format!("{nbd}+unix:///?socket={}", path.display())
            }
            Listener::Tcp(listener) => match listener.local_addr() {
                Ok(address) => format!("{nbd}://{address}"),
                Err(_) => format!("{nbd}://"),
            },
        }
    }

    /// Hears orders where it listens in the file system.
    ///
    /// # Errors
    /// There is no thread to be had.
    pub fn orders(&self, orders: Orders) -> io::Result<()> {
        let Listener::Unix(listener, _) = self else { return Ok(()) };
        let own = listener.try_clone()?;
        own.set_nonblocking(false)?;
        socket::hear(own, orders)
    }

    /// A connection, if one waits.
    pub(crate) fn accept(&self) -> io::Result<Stream> {
        match self {
            Listener::Unix(listener, _) | Listener::Given(listener, _) => {
                let (stream, _) = listener.accept()?;
                stream.set_nonblocking(true)?;
                Ok(Stream::Unix(stream))
            }
            Listener::Tcp(listener) => {
                let (stream, _) = listener.accept()?;
                stream.set_nonblocking(true)?;
                stream.set_nodelay(true)?;
                Ok(Stream::Tcp(stream))
            }
        }
    }
}

impl Stream {
    /// The server's own address of TCP.
    pub(crate) fn local(&self) -> Option<SocketAddr> {
        match self {
            Stream::Unix(_) => None,
            Stream::Tcp(stream) => stream.local_addr().ok(),
        }
    }
}

impl Stream {
    /// Reads what fits, with the descriptors that came with it.
    pub(crate) fn receive(&self, buffer: &mut [u8], files: &mut Vec<OwnedFd>) -> io::Result<usize> {
        let Stream::Unix(stream) = self else { return Err(ErrorKind::Unsupported.into()) };
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let mut into = [IoSliceMut::new(buffer)];
        let read = recvmsg(stream, &mut into, &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
        for message in ancillary.drain() {
            if let RecvAncillaryMessage::ScmRights(rights) = message {
                files.extend(rights);
            }
        }
        Ok(read.bytes)
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Listener::Unix(_, path) = self {
            let _ = std::fs::remove_file(path);
        }
    }
}

fn unix(path: &Path, mode: u32) -> Result<Listener, ListenError> {
    let shown = path.display();
    let refused = |error: io::Error| ListenError(format!("cannot listen on {shown}: {error}"));
    match std::fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(refused(error)),
        Ok(there) if !there.file_type().is_socket() => {
            return Err(ListenError(format!("{shown}: a file is there that is no socket")));
        }
        Ok(_) if UnixStream::connect(path).is_ok() => {
            return Err(ListenError(format!("{shown}: another server listens there")));
        }
        Ok(_) => std::fs::remove_file(path).map_err(refused)?,
    }
    let listener = UnixListener::bind(path).map_err(refused)?;
    let listener = Listener::Unix(listener, path.to_path_buf());
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).map_err(refused)?;
    if let Listener::Unix(socket, _) = &listener {
        socket.set_nonblocking(true).map_err(refused)?;
    }
    Ok(listener)
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Listener::Unix(listener, _) | Listener::Given(listener, _) => listener.as_fd(),
            Listener::Tcp(listener) => listener.as_fd(),
        }
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Stream::Unix(stream) => stream.as_fd(),
            Stream::Tcp(stream) => stream.as_fd(),
        }
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Unix(stream) => stream.read(buffer),
            Stream::Tcp(stream) => stream.read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Unix(stream) => stream.write(buffer),
            Stream::Tcp(stream) => stream.write(buffer),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
