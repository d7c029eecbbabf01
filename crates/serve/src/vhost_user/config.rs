//! The device's configuration space (Virtio 1.2, 5.2.4).

use super::block::{DISCARD_MAX, RANGES, SEGMENTS, ZEROES_MAX};
use super::session::Device;
use super::socket;
use super::wire::{Config, ConfigHead, PAYLOAD_MAX, QUEUES};
use manx_core::units::SECTOR;
use zerocopy::{FromBytes, IntoBytes};

impl Device {
    /// The answer to a question for a piece of the configuration: its head again, and the piece;
    /// zeros lie behind its end.
    pub(super) fn config(&self, payload: &[u8], size: u64) -> Result<Vec<u8>, String> {
        let wrong = || format!("a payload of {} bytes", payload.len());
        let (head, _) = ConfigHead::read_from_prefix(payload).map_err(|_| wrong())?;
        let (offset, length) = (head.offset.get() as usize, head.size.get() as usize);
        if size_of::<ConfigHead>() + length > PAYLOAD_MAX || offset > PAYLOAD_MAX {
            return Err(format!("{length} bytes of configuration from byte {offset} on"));
        }
        let sectors = (u64::from(self.page) / SECTOR) as u32;
        let config = Config {
            capacity: (size / SECTOR).into(),
            size_max: 0.into(),
            seg_max: SEGMENTS.into(),
            geometry: [0; 4],
            blk_size: (SECTOR as u32).into(),
            physical_exponent: sectors.max(1).ilog2() as u8,
            alignment_offset: 0,
            min_io_size: (sectors as u16).into(),
            opt_io_size: 0.into(),
            writeback: 0,
            unused: 0,
            num_queues: (QUEUES as u16).into(),
            max_discard_sectors: DISCARD_MAX.into(),
            max_discard_seg: RANGES.into(),
            discard_alignment: sectors.into(),
            max_zeroes_sectors: ZEROES_MAX.into(),
            max_zeroes_seg: RANGES.into(),
            zeroes_may_unmap: 1,
            padding: [0; 3],
        };
        let mut answer = head.as_bytes().to_vec();
        let whole = match &self.socket {
            Some(_) => &socket::CONFIG[..],
            None => config.as_bytes(),
        };
        let known = whole.get(offset..).unwrap_or_default();
        answer.extend(known.iter().chain(std::iter::repeat(&0)).take(length));
        Ok(answer)
    }
}
