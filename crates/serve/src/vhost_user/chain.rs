//! Chains of descriptors (Virtio 1.2, 2.7.5 and 2.7.5.3), as the driver may wrongly make them too.

use super::memory::Memory;
use super::ring::outside;
use super::wire::{Descriptor, QUEUE_SIZE_MAX, descriptor};
use zerocopy::IntoBytes;

/// Bytes of a descriptor.
const ENTRY: u64 = 16;

/// A buffer of the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub at: u64,
    pub length: u32,
}

/// Descriptors in the client's memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Table {
    pub at: u64,
    pub size: u32,
}

/// Appends the buffers of the chain that begins with a descriptor: those that the device reads, and
/// those that it writes, which follow.
pub(super) fn walk(
    memory: &Memory,
    table: Table,
    head: u16,
    has_tables: bool,
    readable: &mut Vec<Span>,
    writable: &mut Vec<Span>,
) -> Result<(), String> {
    let (mut table, mut number, mut is_indirect) = (table, head, false);
    let mut count = 0;
    loop {
        if u32::from(number) >= table.size {
            return Err(format!("names descriptor {number} of {}", table.size));
        }
        // A chain that comes back to a descriptor is longer than its table.
        count += 1;
        if count > table.size {
            return Err(format!("has a chain of more than {} descriptors", table.size));
        }
        let mut entry = Descriptor::default();
        let at = table.at + u64::from(number) * ENTRY;
        memory.read(at, entry.as_mut_bytes()).map_err(outside)?;
        let (at, length, flags) = (entry.address.get(), entry.length.get(), entry.flags.get());
        if flags & descriptor::INDIRECT != 0 {
            let size = length / ENTRY as u32;
            let is_whole = length > 0 && length % ENTRY as u32 == 0 && size <= QUEUE_SIZE_MAX;
            if !has_tables || is_indirect || flags & descriptor::NEXT != 0 || !is_whole {
                return Err(format!("has a table of {length} bytes that may not be"));
            }
            memory.check(at, length.into()).map_err(outside)?;
            (table, number, is_indirect, count) = (Table { at, size }, 0, true, 0);
            continue;
        }
        memory.check(at, length.into()).map_err(outside)?;
        match flags & descriptor::WRITE != 0 {
            true => writable.push(Span { at, length }),
            false if !writable.is_empty() => {
                return Err("has a buffer to read behind one to write".into());
            }
            false => readable.push(Span { at, length }),
        }
        if flags & descriptor::NEXT == 0 {
            return Ok(());
        }
        number = entry.next.get();
    }
}

/// Bytes of buffers.
pub(super) fn total(spans: &[Span]) -> u64 {
    spans.iter().map(|span| u64::from(span.length)).sum()
}

/// Each piece of the `length` bytes of buffers behind the first `skip`: its address, its first byte
/// behind `skip`, and its bytes.
pub(super) fn pieces(
    spans: &[Span],
    skip: u64,
    length: u64,
) -> impl Iterator<Item = (u64, usize, usize)> + '_ {
    let end = skip + length;
    let mut passed = 0;
    spans.iter().filter_map(move |span| {
        let (from, to) = (passed, passed + u64::from(span.length));
        passed = to;
        let (first, last) = (from.max(skip), to.min(end));
        (first < last)
            .then(|| (span.at + (first - from), (first - skip) as usize, (last - first) as usize))
    })
}
