//! TLS around the bytes of a connection, by rustls.
//!
//! A session that was asked for it says so once ([`crate::Session::encrypts`]); from then on its
//! connection gives it, and takes from it, what stands in the clear.

use crate::listen::Stream;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection};
use std::fmt;
use std::io::{self, ErrorKind, Read, Write};
use std::path::Path;
use std::sync::Arc;

/// The server's certificate with those above it, its key, and who signs those of clients.
const CERTIFICATE: &str = "server-cert.pem";
const KEY: &str = "server-key.pem";
const AUTHORITY: &str = "ca-cert.pem";

/// The certificates of a server, and what it asks of its clients.
#[derive(Clone)]
pub struct Tls {
    config: Arc<ServerConfig>,
    /// Nothing is served in the clear.
    pub is_required: bool,
}

impl Tls {
    /// Takes `server-cert.pem` and `server-key.pem` of a folder; `verifies`: a client needs a
    /// certificate that one of `ca-cert.pem` has signed. libnbd, nbdkit and QEMU name them so.
    ///
    /// # Errors
    /// A file is missing or holds something else, in words.
    pub fn read(folder: &Path, verifies: bool, is_required: bool) -> Result<Self, String> {
        let path = |name| folder.join(name);
        let of = |name, why: &dyn fmt::Display| format!("{}: {why}", path(name).display());
        let certificates = |name| -> Result<Vec<CertificateDer<'static>>, String> {
            let read = CertificateDer::pem_file_iter(path(name)).and_then(Iterator::collect);
            let all: Vec<_> = read.map_err(|error| of(name, &error))?;
            if all.is_empty() { Err(of(name, &"no certificate in it")) } else { Ok(all) }
        };
        let chain = certificates(CERTIFICATE)?;
        let key = PrivateKeyDer::from_pem_file(path(KEY)).map_err(|error| of(KEY, &error))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(provider.clone());
        let builder = builder.with_safe_default_protocol_versions();
        let builder = builder.map_err(|error| error.to_string())?;
        let builder = if verifies {
            let mut roots = RootCertStore::empty();
            for root in certificates(AUTHORITY)? {
                roots.add(root).map_err(|error| of(AUTHORITY, &error))?;
            }
            let verifier =
                WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
            builder.with_client_cert_verifier(verifier.map_err(|error| of(AUTHORITY, &error))?)
        } else {
            builder.with_no_client_auth()
        };
        let config = builder.with_single_cert(chain, key).map_err(|error| of(KEY, &error))?;
        Ok(Self { config: Arc::new(config), is_required })
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls").field("is_required", &self.is_required).finish_non_exhaustive()
    }
}

/// More than the records that one read of the socket can complete: nothing decrypted stays behind,
/// which no socket would tell of.
const RECORDS: usize = 64 << 10;

/// One connection's keys, between its socket and its session.
pub(crate) struct Cipher(ServerConnection);

impl Cipher {
    /// Awaits the client's first message.
    pub fn new(tls: &Tls) -> Result<Self, String> {
        ServerConnection::new(tls.config.clone()).map(Self).map_err(|error| error.to_string())
    }

    /// Reads what came, in the clear; all that was decrypted fits into `buffer`.
    ///
    /// # Errors
    /// As of a socket; `InvalidData` where the client breaks TLS or has no right certificate.
    pub fn read(&mut self, stream: &mut Stream, buffer: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        loop {
            match self.0.reader().read(&mut buffer[filled..]) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(_) if filled > 0 => return Ok(filled),
                Ok(read) if read > 0 && buffer.len() - filled - read > RECORDS => filled += read,
                read => return read.map(|read| filled + read),
            }
            match self.0.read_tls(stream) {
                Err(error) if error.kind() == ErrorKind::WouldBlock && filled > 0 => {
                    return Ok(filled);
                }
                Err(error) => return Err(error),
                Ok(0) => return Ok(filled),
                Ok(_) => {}
            }
            if let Err(error) = self.0.process_new_packets() {
                // The alert says why; nobody may be there to hear it.
                let _ = self.flush(stream);
                return Err(io::Error::new(ErrorKind::InvalidData, format!("TLS: {error}")));
            }
            self.flush(stream)?;
        }
    }

    /// Encrypts and sends the front of `bytes`, as much as there is room for.
    pub fn write(&mut self, stream: &mut Stream, bytes: &[u8]) -> io::Result<usize> {
        self.flush(stream)?;
        if self.has_unsent() {
            return Err(ErrorKind::WouldBlock.into());
        }
        let taken = self.0.writer().write(bytes)?;
        self.flush(stream)?;
        if taken == 0 { Err(ErrorKind::WouldBlock.into()) } else { Ok(taken) }
    }

    /// Sends what is encrypted, as far as the socket takes it.
    pub fn flush(&mut self, stream: &mut Stream) -> io::Result<()> {
        while self.0.wants_write() {
            match self.0.write_tls(stream) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                sent => sent.map(drop)?,
            }
        }
        Ok(())
    }

    /// The socket has not taken all.
    pub fn has_unsent(&self) -> bool {
        self.0.wants_write()
    }

    /// Says that nothing follows.
    pub fn end(&mut self, stream: &mut Stream) {
        self.0.send_close_notify();
        // The client may be gone already.
        let _ = self.flush(stream);
    }
}
