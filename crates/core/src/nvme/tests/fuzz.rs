//! Whatever 64 bytes and whatever data a host sends: an answer with a status that the specification
//! has, no panic, and every command that was accepted completes.

use super::*;
use crate::nvme::Accepted;
use crate::sim::Rng;
use std::collections::BTreeSet;
use zerocopy::{FromBytes, IntoBytes};

/// Type and code of every status that a controller may answer with.
const STATUSES: [u16; 15] = [
    0x000, 0x001, 0x002, 0x007, 0x00b, 0x00c, 0x00f, 0x020, 0x080, 0x105, 0x109, 0x10d, 0x10e,
    0x281, 0x701,
];

/// Random bytes, many of them zero so that some entries are valid.
fn bytes<const N: usize>(rng: &mut Rng) -> [u8; N] {
    let zeros = rng.below(101);
    std::array::from_fn(|_| if rng.below(100) < zeros { 0 } else { rng.next_u64() as u8 })
}

fn entry(rng: &mut Rng, opcodes: &[u8], cid: u16) -> Sqe {
    let mut sqe = Sqe::read_from_bytes(&bytes::<64>(rng)).unwrap();
    sqe.cid = cid.into();
    if rng.below(10) > 0 {
        sqe.opcode = opcodes[rng.below(opcodes.len() as u64) as usize];
        sqe.flags = 0;
        sqe.nsid = [0u32, 1, 1, 1, 0xffff_ffff][rng.below(5) as usize].into();
    }
    if rng.below(2) == 0 {
        // Mostly inside the namespace.
        (sqe.cdw11, sqe.cdw2, sqe.cdw3) = (0.into(), (rng.below(3) as u32).into(), 0.into());
        sqe.cdw10 = (rng.below(SECTORS) as u32).into();
        sqe.cdw12 = (sqe.cdw12.get() & 0xc000_00ff).into();
    }
    sqe
}

fn admin_entry(rng: &mut Rng, cid: u16) -> Sqe {
    let mut sqe = entry(rng, &[0x02, 0x06, 0x08, 0x09, 0x0a, 0x0c], cid);
    if rng.below(4) > 0 {
        let low = match sqe.opcode {
            0x02 => [0x02, 0x0a, 0x0b, 0xc0, 0x01][rng.below(5) as usize],
            0x06 => rng.below(6) as u32,
            0x08 => (rng.below(4) | rng.below(64) << 16) as u32,
            _ => [0x06, 0x0b, 0x12, 0x13, 0x14][rng.below(5) as usize],
        };
        sqe.cdw10 =
            (if sqe.opcode == 0x02 { low | (rng.below(256) as u32) << 16 } else { low }).into();
        let set = if sqe.opcode == 0x02 { 1u32 << 16 } else { 1 };
        (sqe.cdw11, sqe.cdw12) = (set.into(), (rng.below(4) as u32).into());
        sqe.cdw13 = 0.into();
    }
    sqe
}

/// Data of feature 13h: random, or nearly valid.
fn data(rng: &mut Rng) -> Vec<u8> {
    let mut data = bytes::<512>(rng).to_vec();
    if rng.below(2) == 0 {
        data.fill(0);
        data[..2].copy_from_slice(&(rng.next_u64() as u16 & 0xc007).to_le_bytes());
        for at in (32..56).step_by(8) {
            data[at..at + 8].copy_from_slice(&(rng.next_u64() >> rng.below(64)).to_le_bytes());
        }
        if rng.below(2) == 0 {
            data[480..484].copy_from_slice(&[5, 1 + rng.below(8) as u8, rng.below(3) as u8, 0]);
            for at in [488, 496] {
                data[at..at + 8]
                    .copy_from_slice(&(rng.next_u64() >> (5 + rng.below(59))).to_le_bytes());
            }
        }
    }
    data.truncate(if rng.below(10) == 0 { rng.below(513) as usize } else { 512 });
    data
}

fn play(seed: u64) -> (usize, usize) {
    let mut rng = Rng::stream(seed, "nvme fuzz");
    let options = Options {
        artefact: rng.below(4) == 0,
        limited_retry: rng.below(4) == 0,
        transfer_max: rng.below(10) as u8,
        ..Options::default()
    };
    let mut controller = with(options);
    let terms = controller.terms();
    let (mut now, mut under_way, mut accepted, mut refused) = (ms(0), BTreeSet::new(), 0, 0);
    let seen = |field: StatusField| assert!(STATUSES.contains(&(field.0 & 0x7ff)), "{field:?}");
    for n in 0..1_500u16 {
        now += Duration::from_ns(rng.below(300_000) << rng.below(6));
        for done in advance(&mut controller, now) {
            seen(StatusField::of(&done, &terms));
            assert!(under_way.remove(&done.id.0), "{:x} was not under way", done.id.0);
        }
        if rng.below(3) > 0 {
            let queue = 1 + rng.below(3) as u16;
            let sqe = entry(&mut rng, &[0x00, 0x01, 0x02, 0x09], n);
            let ranges = bytes::<256>(&mut rng);
            match controller.submit_entry(now, queue, &sqe, &ranges[..rng.below(257) as usize]) {
                Accepted::UnderWay => {
                    accepted += 1;
                    assert!(under_way.insert(u32::from(queue) << 16 | u32::from(n)));
                }
                Accepted::Done(cqe) => {
                    refused += 1;
                    assert_eq!((cqe.cid.get(), cqe.sq_id.get()), (n, queue));
                    seen(cqe.status());
                }
            }
        } else {
            let sqe = admin_entry(&mut rng, n);
            let data = data(&mut rng);
            if let AdminReply::Done(done) = controller.admin(now, &sqe, &data) {
                assert_eq!((done.cid, done.at), (n, now));
                seen(done.status);
                assert!(done.data.len() <= 4096);
            }
        }
        std::iter::from_fn(|| controller.take_admin_completion())
            .for_each(|done| seen(done.status));
    }
    for done in advance(&mut controller, Instant::NEVER) {
        assert!(under_way.remove(&done.id.0));
    }
    assert!(under_way.is_empty(), "never completed: {under_way:x?}");
    assert_eq!(controller.next_event_at(), Instant::NEVER);
    (accepted, refused)
}

#[test]
fn random_entries_get_an_answer_and_what_is_accepted_completes() {
    let (mut accepted, mut refused) = (0, 0);
    for seed in 0..40 {
        let counts = play(seed);
        (accepted, refused) = (accepted + counts.0, refused + counts.1);
    }
    assert!(accepted > 5_000 && refused > 5_000, "{accepted} accepted, {refused} refused");
}

#[test]
fn every_entry_of_zeros_and_ones_gets_an_answer() {
    let mut controller = controller();
    for fill in [0x00, 0xff] {
        for opcode in 0..=255 {
            let mut bytes = [fill; 64];
            bytes[0] = opcode;
            let sqe = Sqe::read_from_bytes(&bytes).unwrap();
            assert_eq!(sqe.as_bytes(), bytes);
            controller.admin(ms(1), &sqe, &[fill; 512]);
            controller.submit_entry(ms(1), 1, &sqe, &[fill; 4096]);
        }
    }
    advance(&mut controller, Instant::NEVER);
}
