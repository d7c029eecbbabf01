//! TLS of `manx serve`, as its options say.

use crate::args::{Protocol, ServeArgs, TlsMode};
use manx_config::ConfigError;
use manx_serve::Tls;

/// Checks the options, and the certificates: before a drive is prepared.
pub fn check_tls(args: &ServeArgs) -> Result<(), ConfigError> {
    match &args.tls_certificates {
        Some(folder) if args.protocol != Protocol::Nbd => Err(ConfigError::new(format!(
            "--tls-certificates {}: TLS is spoken with --protocol nbd",
            folder.display()
        ))),
        Some(_) if args.tls_verify_peer && args.tls == TlsMode::On => Err(ConfigError::new(
            "--tls on: clients in the clear show no certificate, and --tls-verify-peer wants one: \
             --tls require",
        )),
        _ => certificates(args).map(drop),
    }
}

/// The certificates, if there are any.
pub fn certificates(args: &ServeArgs) -> Result<Option<Tls>, ConfigError> {
    let Some(folder) = &args.tls_certificates else { return Ok(None) };
    let tls = Tls::read(folder, args.tls_verify_peer, args.tls == TlsMode::Require);
    tls.map(Some).map_err(|why| ConfigError::new(format!("--tls-certificates: {why}")))
}
