//! Events of a guest's block layer, as its kernel's hooks write them (`guest/hooks.c`).

use super::calendar::DAY;
use manx_core::host::BlockRequest;
use manx_core::units::{Instant, Lba, Op};
use std::collections::BTreeMap;
use zerocopy::{FromBytes, Immutable, KnownLayout, little_endian as le};

/// An event.
#[derive(Clone, Copy, Debug, FromBytes, Immutable, KnownLayout)]
#[repr(C)]
struct Event {
    time: le::U64,
    sector: le::U64,
    disk: [u8; 8],
    bytes: le::U32,
    process: le::U32,
    kind: u8,
    operation: u8,
    none: [u8; 6],
}

/// Kinds of events, as blktrace names them: queued, issued to the drive, completed.
const QUEUED: u8 = b'Q';
const ISSUED: u8 = b'D';
const COMPLETED: u8 = b'C';

/// The operation of a request that only empties caches (`enum req_op` of linux/blk_types.h).
const FLUSH: u8 = 2;

/// A request under way; `ended` is not known, and `issued` may not be.
struct UnderWay {
    request: BlockRequest,
    is_issued: bool,
}

/// The requests that ended, in the order in which they did. Of loop devices and the like there is
/// nothing.
pub(super) fn asked(bytes: &[u8]) -> Vec<BlockRequest> {
    let (mut open, mut ended) = (BTreeMap::<[u8; 8], Vec<UnderWay>>::new(), Vec::new());
    for event in bytes.chunks_exact(size_of::<Event>()) {
        let Ok(event) = Event::read_from_bytes(event) else { continue };
        if ![&b"vd"[..], b"nvme"].iter().any(|prefix| event.disk.starts_with(prefix)) {
            continue;
        }
        let open = open.entry(event.disk).or_default();
        match event.kind {
            QUEUED => open.extend(event.queued()),
            ISSUED => {
                for one in open.iter_mut().filter(|one| !one.is_issued && event.holds(one)) {
                    (one.is_issued, one.request.issued) = (true, event.at());
                    let left = event.end().saturating_sub(one.request.lba.0);
                    // A request that was split is queued again with its rest.
                    one.request.sectors = one.request.sectors.min(left as u32);
                }
            }
            COMPLETED => open.retain_mut(|one| {
                let is_done = one.is_issued && event.holds(one);
                if is_done {
                    one.request.ended = event.at();
                    ended.push(one.request.clone());
                }
                !is_done
            }),
            _ => {}
        }
    }
    ended
}

impl Event {
    fn at(&self) -> Instant {
        Instant::from_ns(self.time.get().saturating_sub(DAY))
    }

    fn end(&self) -> u64 {
        self.sector.get() + u64::from(self.bytes.get() / 512)
    }

    fn op(&self) -> Option<Op> {
        match self.operation {
            0 => Some(Op::Read),
            // A write without data is a flush.
            1 if self.bytes.get() == 0 => Some(Op::Flush),
            1 | 9 => Some(Op::Write),
            FLUSH => Some(Op::Flush),
            3 | 5 => Some(Op::Trim),
            _ => None,
        }
    }

    fn queued(&self) -> Option<UnderWay> {
        let op = self.op()?;
        let name = self.disk.split(|byte| *byte == 0).next().unwrap_or_default();
        let request = BlockRequest {
            disk: String::from_utf8_lossy(name).into_owned(),
            process: self.process.get(),
            op,
            lba: Lba(if op == Op::Flush { 0 } else { self.sector.get() }),
            sectors: self.bytes.get() / 512,
            queued: self.at(),
            issued: self.at(),
            ended: self.at(),
        };
        Some(UnderWay { request, is_issued: false })
    }

    /// The drive's request carries it, alone or merged with others.
    fn holds(&self, one: &UnderWay) -> bool {
        let BlockRequest { op, lba, .. } = one.request;
        self.op() == Some(op)
            && (op == Op::Flush || (self.sector.get()..self.end()).contains(&lba.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(kind: u8, operation: u8, at: u64, (sector, bytes): (u64, u32)) -> Vec<u8> {
        let mut all = [(DAY + at).to_le_bytes(), sector.to_le_bytes(), *b"vda\0\0\0\0\0"].concat();
        all.extend([bytes.to_le_bytes(), 7u32.to_le_bytes()].concat());
        all.extend([kind, operation, 0, 0, 0, 0, 0, 0]);
        all
    }

    #[test]
    fn requests_are_merged_split_and_flushed() {
        let events = [
            // Two that are merged.
            event(QUEUED, 0, 10, (8, 4096)),
            event(QUEUED, 0, 11, (16, 4096)),
            event(ISSUED, 0, 12, (8, 8192)),
            // One that is split.
            event(QUEUED, 1, 13, (100, 8192)),
            event(ISSUED, 1, 14, (100, 4096)),
            event(QUEUED, 1, 15, (108, 4096)),
            event(ISSUED, 1, 16, (108, 4096)),
            event(COMPLETED, 0, 20, (8, 8192)),
            event(QUEUED, 1, 21, (0, 0)),
            event(ISSUED, FLUSH, 22, (0, 0)),
            event(COMPLETED, 1, 23, (100, 4096)),
            event(COMPLETED, 1, 24, (108, 4096)),
            event(COMPLETED, FLUSH, 30, (0, 0)),
            // One that does not end.
            event(QUEUED, 0, 31, (8, 4096)),
        ]
        .concat();
        let all = asked(&[events, vec![0; 13]].concat());
        let told: Vec<_> = all
            .iter()
            .map(|one| {
                let [queued, issued, ended] = [one.queued, one.issued, one.ended];
                (one.op, one.lba.0, one.sectors, [queued.as_ns(), issued.as_ns(), ended.as_ns()])
            })
            .collect();
        assert_eq!(
            told,
            [
                (Op::Read, 8, 8, [10, 12, 20]),
                (Op::Read, 16, 8, [11, 12, 20]),
                (Op::Write, 100, 8, [13, 14, 23]),
                (Op::Write, 108, 8, [15, 16, 24]),
                (Op::Flush, 0, 0, [21, 22, 30]),
            ]
        );
        assert!(all.iter().all(|one| one.disk == "vda" && one.process == 7));
    }
}
