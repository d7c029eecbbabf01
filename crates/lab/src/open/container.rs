//! Container of a file, or of a member of an archive: told by its first bytes, not by its name.
//! Downloaded traces lose their endings, and some that end in `.gz` were unpacked on the way.

use manx_trace::Stream;
use std::io::{self, BufRead};

/// Large enough that a call into the system or a decompressor is rare; small enough for the cache.
pub(super) const BUFFER: usize = 128 << 10;

/// Container of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Container {
    Plain,
    Gzip,
    Zstd,
    Xz,
    Bzip2,
    Parquet,
}

/// The container of bytes that begin so.
pub(super) fn container(head: &[u8]) -> Container {
    match head {
        [0x1f, 0x8b, ..] => Container::Gzip,
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Container::Zstd,
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Container::Xz,
        // The magic number of a block, or of the end where there is none.
        [b'B', b'Z', b'h', b'1'..=b'9', 0x31, 0x41, 0x59, 0x26, 0x53, 0x59, ..]
        | [b'B', b'Z', b'h', b'1'..=b'9', 0x17, 0x72, 0x45, 0x38, 0x50, 0x90, ..] => {
            Container::Bzip2
        }
        [b'P', b'A', b'R', b'1', ..] => Container::Parquet,
        _ => Container::Plain,
    }
}

/// The bytes inside, decompressed as they are read.
pub(super) fn unwrap(mut wrapped: impl BufRead + Send + 'static) -> io::Result<Stream> {
    Ok(match container(wrapped.fill_buf()?) {
        // Parquet is not read from front to back: where it is a file of its own, `open` hands it
        // on.
        Container::Plain | Container::Parquet => Box::new(wrapped),
        // Members, frames and streams may follow one another in one file: logs are appended and
        // rotated so.
        Container::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(wrapped)),
        Container::Zstd => {
            let mut decoder = zstd::Decoder::with_buffer(wrapped)?;
            // Archives of large traces are made with `--long`; the decoder refuses them unless
            // told.
            decoder.window_log_max(31)?;
            Box::new(decoder)
        }
        Container::Xz => Box::new(liblzma::bufread::XzDecoder::new_multi_decoder(wrapped)),
        Container::Bzip2 => Box::new(bzip2::bufread::MultiBzDecoder::new(wrapped)),
    })
}
