//! Members of tar archives, read in place: nothing is unpacked, and no more is held than a buffer.
//!
//! The `tar` crate walks the headers (long names, pax sizes) once and says where a member's bytes
//! lie. They are then read by position: in a plain archive by seeking, in a compressed one by
//! decompressing up to there on each pass.

use super::container::{BUFFER, Container, container, unwrap};
use super::per_cpu::{self, PerCpu};
use manx_trace::Stream;
use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Seek, SeekFrom};
use std::path::Path;

/// Bytes of a header.
const BLOCK: usize = 512;

/// Names that an error lists.
const SHOWN: usize = 20;

/// Names that an error suggests.
const NEAREST: usize = 5;

/// A file in an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Member {
    /// Its path there.
    pub(super) name: String,
    /// Where its bytes start in the decompressed archive.
    offset: u64,
    size: u64,
    /// It has holes, which are not in the archive.
    is_sparse: bool,
}

/// Whether the bytes inside a file, decompressed, begin with the header of a tar archive.
pub(super) fn is_tar(path: &Path) -> io::Result<bool> {
    let mut head = Vec::new();
    let inside = unwrap(BufReader::new(File::open(path)?))?;
    // A damaged container is no archive here; the reader of traces says what is wrong with it.
    let is_read = inside.take(BLOCK as u64).read_to_end(&mut head).is_ok();
    Ok(is_read && is_header(&head))
}

/// A header has a checksum, of all its bytes with spaces in place of the checksum (POSIX ustar;
/// also older tars, which have no magic number).
fn is_header(block: &[u8]) -> bool {
    if block.len() != BLOCK || block[0] == 0 {
        return false;
    }
    let stated = block[148..156].trim_ascii_start();
    let digits = stated.iter().take_while(|byte| matches!(byte, b'0'..=b'7')).count();
    let ends = stated[digits..].iter().all(|byte| matches!(byte, 0 | b' '));
    let value =
        stated[..digits].iter().fold(0u64, |value, digit| value * 8 + u64::from(digit - b'0'));
    let sum = |bytes: &[u8]| bytes.iter().map(|byte| u64::from(*byte)).sum::<u64>();
    digits > 0 && ends && value == sum(&block[..148]) + 8 * u64::from(b' ') + sum(&block[156..])
}

/// The members that make the trace when none is named: the only one, or the files of all CPUs.
/// `None` if the archive is cut: the head of one is kept as a file of lines sometimes, and its
/// reader knows better what to do with it.
pub(super) fn only(path: &Path) -> Result<Option<Vec<Member>>, String> {
    let Ok(members) = walk(path, |_| false) else { return Ok(None) };
    let cpus: Vec<_> =
        members.iter().filter_map(|member| Some((PerCpu::of(&member.name)?, member))).collect();
    let all_cpus = cpus.len() == members.len()
        && cpus.windows(2).all(|two| two[0].0.prefix == two[1].0.prefix);
    match members.as_slice() {
        [] => Err("the archive holds no file".to_string()),
        [_] => Ok(Some(members)),
        _ if all_cpus => Ok(Some(per_cpu::in_order(cpus).into_iter().cloned().collect())),
        _ => {
            let archive = path.display();
            Err(format!("the archive holds {}; name one as `{archive}:MEMBER`", list(&members)))
        }
    }
}

/// The member of that name, or the files of all CPUs that begin with it.
pub(super) fn find(path: &Path, name: &str) -> Result<Vec<Member>, String> {
    let wanted = plain(name);
    let members = walk(path, |member| plain(&member.name) == wanted)
        .map_err(|error| format!("a damaged archive: {error}"))?;
    if let Some(member) = members.last().filter(|member| plain(&member.name) == wanted) {
        return match member.is_sparse {
            true => {
                Err("the member has holes (a sparse file); unpack it to a file first".to_string())
            }
            false => Ok(vec![member.clone()]),
        };
    }
    let cpus = members.iter().filter_map(|member| Some((PerCpu::of(plain(&member.name))?, member)));
    let cpus: Vec<_> = cpus.filter(|(cpu, _)| cpu.is_of(wanted)).collect();
    if !cpus.is_empty() {
        return Ok(per_cpu::in_order(cpus).into_iter().cloned().collect());
    }
    match members.is_empty() {
        true => Err("the archive holds no file".to_string()),
        false => Err(format!("the archive has no member `{name}`; {}", nearest(&members, wanted))),
    }
}

/// A name without the `./` that some archives put before each.
fn plain(name: &str) -> &str {
    name.strip_prefix("./").unwrap_or(name)
}

fn list(members: &[Member]) -> String {
    let names: Vec<_> =
        members.iter().take(SHOWN).map(|member| format!("`{}`", member.name)).collect();
    let more = match members.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{} files: {}{more}", members.len(), names.join(", "))
}

fn nearest(members: &[Member], wanted: &str) -> String {
    let file = |path: &str| path.rsplit('/').next().unwrap_or_default().to_string();
    let distance = |member: &&Member| {
        let is_elsewhere = file(&member.name) == file(wanted);
        (!is_elsewhere, strsim::levenshtein(plain(&member.name), wanted))
    };
    if members.len() <= NEAREST {
        return format!("it holds {}", list(members));
    }
    let mut all: Vec<&Member> = members.iter().collect();
    all.sort_by_cached_key(distance);
    let names: Vec<_> =
        all.iter().take(NEAREST).map(|member| format!("`{}`", member.name)).collect();
    format!("of {} files the nearest are {}", members.len(), names.join(", "))
}

/// The members up to the first that `is_last`; all where none is. An archive that ends within a
/// member is an error.
fn walk(path: &Path, is_last: impl Fn(&Member) -> bool) -> io::Result<Vec<Member>> {
    let mut file = BufReader::with_capacity(BUFFER, File::open(path)?);
    if container(file.fill_buf()?) != Container::Plain {
        return collect(tar::Archive::new(unwrap(file)?).entries()?, is_last);
    }
    let length = file.get_ref().metadata()?.len();
    let members = collect(tar::Archive::new(file).entries_with_seek()?, is_last)?;
    // Seeking beyond an end is no error.
    match members.iter().any(|member| member.offset.saturating_add(member.size) > length) {
        true => Err(ErrorKind::UnexpectedEof.into()),
        false => Ok(members),
    }
}

fn collect<R: Read>(
    entries: tar::Entries<'_, R>,
    is_last: impl Fn(&Member) -> bool,
) -> io::Result<Vec<Member>> {
    let mut members = Vec::new();
    for entry in entries {
        let mut entry = entry?;
        let kind = entry.header().entry_type();
        if !(kind.is_file() || kind.is_contiguous() || kind.is_gnu_sparse()) {
            continue;
        }
        let (offset, size) = (entry.raw_file_position(), entry.size());
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let has_holes = |key: &[u8]| key.starts_with(b"GNU.sparse.");
        let pax = entry.pax_extensions()?.into_iter().flatten();
        let is_sparse =
            kind.is_gnu_sparse() || pax.flatten().any(|pair| has_holes(pair.key_bytes()));
        members.push(Member { name, offset, size, is_sparse });
        if members.last().is_some_and(&is_last) {
            break;
        }
    }
    Ok(members)
}

/// The bytes of a member of the archive, decompressed.
pub(super) fn open(path: &Path, member: &Member) -> io::Result<Stream> {
    let mut file = BufReader::with_capacity(BUFFER, File::open(path)?);
    let inside: Stream = match container(file.fill_buf()?) {
        Container::Plain => {
            file.seek(SeekFrom::Start(member.offset))?;
            Box::new(file)
        }
        _ => {
            let mut inside = unwrap(file)?;
            if io::copy(&mut (&mut inside).take(member.offset), &mut io::sink())? < member.offset {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            inside
        }
    };
    unwrap(BufReader::with_capacity(BUFFER, Exactly { inside, left: member.size }))
}

/// So many bytes, no more and no less.
struct Exactly {
    inside: Stream,
    left: u64,
}

impl Read for Exactly {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let wanted = usize::try_from(self.left).unwrap_or(usize::MAX).min(buffer.len());
        let read = self.inside.read(&mut buffer[..wanted])?;
        if read == 0 && wanted > 0 {
            return Err(io::Error::new(
                ErrorKind::UnexpectedEof,
                "the archive ends within the member",
            ));
        }
        self.left -= read as u64;
        Ok(read)
    }
}
