//! Checksums of a journal's lines.

use crate::prepare::Key;
use sha2::{Digest, Sha256};

/// Text before the checksum of a line; then come its 64 digits, and [`SEAL_END`].
const SEAL: &[u8] = b",\"sha256\":\"";
const SEAL_END: &[u8] = b"\"}\n";

/// Trust in a line of a journal.
pub enum Seal<'a> {
    /// It is as it was written.
    Whole(&'a [u8]),
    Altered,
    /// No checksum: of an older program.
    None,
    /// It has no end.
    Cut,
}

/// A JSON object as a line whose last field is the SHA-256 of all before it.
pub fn seal(mut object: Vec<u8>) -> Vec<u8> {
    object.pop();
    let hash = Key(Sha256::digest(&object).into()).to_string();
    [&object, SEAL, hash.as_bytes(), SEAL_END].concat()
}

/// Whether a line is what [`seal`] made.
pub fn unseal(line: &[u8]) -> Seal<'_> {
    let object =
        line.len().checked_sub(SEAL.len() + 64 + SEAL_END.len()).map(|length| &line[..length]);
    match object {
        _ if line.ends_with(b"}}\n") => Seal::None,
        Some(object) if line.ends_with(SEAL_END) => match seal([object, b"}"].concat()) == line {
            true => Seal::Whole(line),
            false => Seal::Altered,
        },
        _ => Seal::Cut,
    }
}
