//! Submission and completion entries.

use super::*;
use crate::drive::{CommandId, Status};
use crate::nvme::sqe::Request;
use crate::nvme::{Accepted, Cqe, DsmRange, Terms};
use crate::sim::Rng;
use zerocopy::{FromBytes, IntoBytes};

const TERMS: Terms =
    Terms { sectors: SECTORS, transfer_max: 2048, artefact: false, limited_retry: false };

fn decode(bytes: &[u8; 64], terms: &Terms) -> Result<Command, StatusField> {
    match Sqe::ref_from_bytes(bytes).unwrap().decode(CommandId(7), &[], terms)? {
        Request::One(command) => Ok(command),
        other => panic!("{other:?}"),
    }
}

/// Base 2.1, 4.1, and Read of the NVM Command Set: opcode 02h, CID 1234h, NSID 1, PL 01b in CDW2,
/// SLBA 0001_0203h in CDW10, 8 blocks in CDW12 as 7.
const READ: [(usize, &[u8]); 6] = [
    (0, &[0x02]),
    (2, &[0x34, 0x12]),
    (4, &[0x01, 0x00, 0x00, 0x00]),
    (8, &[0x01]),
    (40, &[0x03, 0x02, 0x01, 0x00]),
    (48, &[0x07, 0x00]),
];

#[test]
fn a_read_lies_as_the_specification_says() {
    let command = Command {
        predictable: PredictableLatency::On,
        ..command(0x1234, Op::Read, 0x0001_0203, 8)
    };
    let (sqe, range) = Sqe::encode(&command).unwrap();
    assert_eq!(sqe.as_bytes(), laid_out::<64>(&READ));
    assert_eq!(range, None);
    let read = decode(&laid_out(&READ), &TERMS).unwrap();
    assert_eq!(
        (read.id, read.op, read.lba, read.sectors),
        (CommandId(7), Op::Read, Lba(0x0001_0203), 8)
    );
    assert_eq!((read.predictable, read.fua, read.stream), (PredictableLatency::On, false, 0));
}

/// FUA is CDW12 bit 30; DTYPE 1 in bits 23:20; DSPEC in CDW13 bits 31:16; the upper half of the LBA
/// is CDW11.
#[test]
fn a_write_lies_as_the_specification_says() {
    let bytes: [u8; 64] = laid_out(&[
        (0, &[0x01]),
        (2, &[0xff, 0xff]),
        (4, &[0x01]),
        (40, &[0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x00, 0x00]),
        (48, &[0xff, 0x07, 0x10, 0x40]),
        (52, &[0x00, 0x00, 0x05, 0x00]),
    ]);
    let write =
        Command { fua: true, stream: 5, ..command(0xffff, Op::Write, 0x3344_5566_7788, 2048) };
    assert_eq!(Sqe::encode(&write).unwrap().0.as_bytes(), bytes);
    let terms = Terms { sectors: u64::MAX, ..TERMS };
    let decoded = decode(&bytes, &terms).unwrap();
    assert_eq!((decoded.op, decoded.lba.0, decoded.sectors), (Op::Write, 0x3344_5566_7788, 2048));
    assert!(decoded.fua && decoded.stream == 5);
}

#[test]
fn a_flush_and_a_deallocation_lie_as_the_specification_says() {
    let flush = Sqe::encode(&command(2, Op::Flush, 0, 0)).unwrap().0;
    assert_eq!(flush.as_bytes(), laid_out::<64>(&[(2, &[2]), (4, &[1])]));
    // One range is 0; Deallocate is CDW11 bit 2. Its length lies at 7:4, its start at 15:8.
    let (trim, range) = Sqe::encode(&command(3, Op::Trim, 0x0102, 0x0a0b)).unwrap();
    assert_eq!(trim.as_bytes(), laid_out::<64>(&[(0, &[0x09]), (2, &[3]), (4, &[1]), (44, &[4])]));
    assert_eq!(
        range.unwrap().as_bytes(),
        laid_out::<16>(&[(4, &[0x0b, 0x0a]), (8, &[0x02, 0x01])])
    );
}

/// Status: SC in 24:17 of DW3, SCT in 27:25, DNR in 31, so 8E02h | phase for SCT 7, SC 1, DNR:
/// 4701h as hosts print it.
#[test]
fn a_fast_fail_carries_its_busy_remaining_time_in_dw0_and_dw1() {
    let completion = Completion {
        id: CommandId(0x0003_1234),
        at: ms(1),
        status: Status::PredictableLatencyNotMet,
        dnr: true,
        result64: 0x0102_0304_0506_0708,
        gc_blocked: true,
        gc_blocked_at_split: true,
        payload: None,
    };
    let cqe = Cqe::of(&completion, &TERMS).in_queue(0x0a0b, true);
    let expected = [
        0x08, 0x07, 0x06, 0x05, 0x04, 0x03, 0x02, 0x01, 0x0b, 0x0a, 0x03, 0x00, 0x34, 0x12, 0x03,
        0x8e,
    ];
    assert_eq!(cqe.as_bytes(), expected);
    assert_eq!(cqe.status(), StatusField(0x4701));
    assert_eq!(cqe.result(), 0x0102_0304_0506_0708);
    // The artefact: 4000h, which Linux 4.15 takes for success.
    let artefact = Cqe::of(&completion, &Terms { artefact: true, ..TERMS });
    assert_eq!(artefact.status(), StatusField(0x4000));
    assert_eq!(artefact.as_bytes()[14..], [0x00, 0x80]);
    assert!(artefact.status().is_success() && !cqe.status().is_success());
}

/// Base 2.1, 4.2.3: generic 00h, 07h, 20h, 80h; media 81h; vendor 01h.
#[test]
fn every_status_of_a_drive_has_its_code_and_comes_back() {
    let table = [
        (Status::Success, 0x000),
        (Status::Aborted, 0x007),
        (Status::NamespaceWriteProtected, 0x020),
        (Status::LbaOutOfRange, 0x080),
        (Status::UnrecoveredRead, 0x281),
        (Status::PredictableLatencyNotMet, 0x701),
    ];
    for (status, code) in table {
        let completion = Completion {
            id: CommandId(0),
            at: ms(0),
            status,
            dnr: false,
            result64: 0,
            gc_blocked: false,
            gc_blocked_at_split: false,
            payload: None,
        };
        let field = StatusField::of(&completion, &TERMS);
        assert_eq!((field.0, field.status()), (code, Some(status)));
    }
    assert_eq!(StatusField::INVALID_FIELD.status(), None);
}

#[test]
fn what_is_encoded_decodes_to_the_same_command() {
    let mut rng = Rng::stream(8, "entries");
    let terms = Terms { sectors: u64::MAX, transfer_max: 0, ..TERMS };
    for _ in 0..20_000 {
        let op = [Op::Read, Op::Write, Op::Flush, Op::Trim][rng.below(4) as usize];
        let lba = rng.next_u64() >> rng.below(64).max(1);
        let mut sent = command(rng.below(1 << 16) as u32, op, lba, 1 + rng.below(1 << 16) as u32);
        match op {
            Op::Read => {
                let flags =
                    [PredictableLatency::Off, PredictableLatency::On, PredictableLatency::MustWait];
                (sent.predictable, sent.fua) = (flags[rng.below(3) as usize], rng.below(2) == 1);
            }
            Op::Write => (sent.stream, sent.fua) = (rng.below(256) as u8, rng.below(2) == 1),
            Op::Flush => (sent.lba, sent.sectors) = (Lba(0), 0),
            Op::Trim => {}
        }
        let (sqe, range) = Sqe::encode(&sent).unwrap();
        let data = range.map(|range| range.as_bytes().to_vec()).unwrap_or_default();
        match sqe.decode(sent.id, &data, &terms).unwrap() {
            Request::One(got) => {
                let parts =
                    |c: &Command| (c.id, c.op, c.lba, c.sectors, c.fua, c.predictable, c.stream);
                assert_eq!(parts(&got), parts(&sent));
            }
            Request::Deallocate([range]) => {
                assert_eq!((range.lba.get(), range.sectors.get()), (sent.lba.0, sent.sectors));
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(Sqe::encode(&command(0, Op::Read, 0, 0)).is_none());
    assert!(Sqe::encode(&command(0, Op::Write, 0, 65_537)).is_none());
}

#[test]
fn what_is_invalid_is_refused_with_its_status() {
    let read = |changes: &[(usize, &[u8])]| {
        let mut all = READ.to_vec();
        all.extend(changes);
        decode(&laid_out(&all), &TERMS).map(|_| ()).unwrap_err()
    };
    let invalid_field = StatusField(0x4002);
    assert_eq!(read(&[(0, &[0x05])]), StatusField(0x4001), "Compare is not there");
    assert_eq!(read(&[(1, &[0x01])]), invalid_field, "fused");
    assert_eq!(read(&[(1, &[0xc0])]), invalid_field, "PSDT 11b");
    assert_eq!(read(&[(1, &[0x04])]), invalid_field, "reserved flags");
    for nsid in [0u32, 2, 0xffff_ffff] {
        assert_eq!(read(&[(4, &nsid.to_le_bytes())]), StatusField(0x400b), "namespace {nsid}");
    }
    assert_eq!(read(&[(8, &[0x03])]), invalid_field, "PL 11b");
    assert_eq!(read(&[(8, &[0x04])]), invalid_field, "reserved in CDW2");
    assert_eq!(read(&[(12, &[0x01])]), invalid_field, "reserved in CDW3");
    assert_eq!(read(&[(48, &[0x00, 0x08])]), invalid_field, "2,049 blocks, of 2,048");
    assert_eq!(read(&[(50, &[0x01])]), invalid_field, "command extension");
    let last = (SECTORS as u32 - 8).to_le_bytes();
    assert!(decode(&laid_out(&[&READ[..], &[(40, &last)]].concat()), &TERMS).is_ok());
    let beyond = (SECTORS as u32 - 7).to_le_bytes();
    assert_eq!(read(&[(40, &beyond)]), StatusField(0x4080));
    assert_eq!(read(&[(40, &[0xff; 8])]), StatusField(0x4080), "the sum overflows");
    // Writes carry no flag; directive types beyond Streams are not there, nor streams beyond 255.
    assert_eq!(read(&[(0, &[0x01])]), invalid_field);
    assert_eq!(read(&[(0, &[0x01]), (8, &[0x00]), (50, &[0x20])]), invalid_field);
    assert_eq!(
        read(&[(0, &[0x01]), (8, &[0x00]), (50, &[0x10]), (54, &[0x00, 0x01])]),
        invalid_field
    );
}

#[test]
fn a_flush_may_go_to_all_namespaces() {
    let flush = |nsid: u32| decode(&laid_out(&[(4, &nsid.to_le_bytes())]), &TERMS).map(|_| ());
    assert_eq!(flush(0xffff_ffff), Ok(()));
    assert_eq!(flush(0), Err(StatusField(0x400b)));
}

/// 911 is "may fail fast", 1024 "do not fail me" (IODA artefact); anything else, and on writes all
/// of them, is nothing.
#[test]
fn the_artefacts_numbers_are_flags_when_asked_for() {
    let terms = Terms { artefact: true, ..TERMS };
    let flagged = |opcode: u8, number: u64| {
        let bytes = laid_out(&[&READ[..], &[(0, &[opcode]), (8, &number.to_le_bytes())]].concat());
        decode(&bytes, &terms).unwrap().predictable
    };
    assert_eq!(flagged(2, 911), PredictableLatency::On);
    assert_eq!(flagged(2, 1024), PredictableLatency::MustWait);
    assert_eq!(flagged(2, 1), PredictableLatency::Off);
    assert_eq!(flagged(2, 911 | 1 << 32), PredictableLatency::Off);
    assert_eq!(flagged(1, 911), PredictableLatency::Off);
}

#[test]
fn limited_retry_is_an_alias_when_asked_for() {
    let alias = Terms { limited_retry: true, ..TERMS };
    let flagged = |flag: u8, terms: &Terms| {
        let bytes = laid_out(&[&READ[..], &[(8, &[flag]), (51, &[0x80])]].concat());
        decode(&bytes, terms).unwrap().predictable
    };
    assert_eq!(flagged(0, &TERMS), PredictableLatency::Off);
    assert_eq!(flagged(0, &alias), PredictableLatency::On);
    assert_eq!(flagged(2, &alias), PredictableLatency::MustWait);
}

fn ranges(list: &[(u64, u32)]) -> Vec<u8> {
    let range = |(lba, sectors): &(u64, u32)| DsmRange {
        attributes: 0.into(),
        sectors: (*sectors).into(),
        lba: (*lba).into(),
    };
    list.iter().flat_map(|r| range(r).as_bytes().to_vec()).collect()
}

/// 0's based in CDW10, deallocate in CDW11.
fn dsm(count: u8, cdw11: u8) -> Sqe {
    let bytes: [u8; 64] =
        laid_out(&[(0, &[0x09]), (2, &[9]), (4, &[1]), (40, &[count - 1]), (44, &[cdw11])]);
    Sqe::read_from_bytes(&bytes).unwrap()
}

#[test]
fn several_ranges_are_one_command_and_complete_once() {
    let mut controller = controller();
    let data = ranges(&[(0, 8), (64, 0), (128, 16), (SECTORS - 8, 8)]);
    assert_eq!(controller.submit_entry(ms(0), 1, &dsm(4, 4), &data), Accepted::UnderWay);
    let completions = advance(&mut controller, Instant::NEVER);
    let ids: Vec<_> = completions.iter().map(|done| (done.id, done.status)).collect();
    assert_eq!(ids, [(CommandId::of_entry(1, 9), Status::Success)]);
}

#[test]
fn ranges_that_are_wrong_are_refused_whole_and_hints_do_nothing() {
    let mut controller = controller();
    let mut status = |sqe: &Sqe, data: &[u8]| match controller.submit_entry(ms(0), 1, sqe, data) {
        Accepted::Done(cqe) => cqe.status().0,
        Accepted::UnderWay => panic!("accepted"),
    };
    assert_eq!(status(&dsm(2, 4), &ranges(&[(0, 8), (SECTORS - 7, 8)])), 0x4080);
    assert_eq!(status(&dsm(1, 4), &ranges(&[(u64::MAX, 1)])), 0x4080);
    assert_eq!(status(&dsm(2, 4), &ranges(&[(0, 8)])), 0x400f, "one range of two");
    assert_eq!(status(&dsm(1, 0), &ranges(&[(0, 8)])), 0, "no Deallocate: hints");
    assert_eq!(status(&dsm(1, 4), &ranges(&[(0, 0)])), 0, "an empty range");
    assert_eq!(advance(&mut controller, Instant::NEVER).len(), 0);
}

#[test]
fn an_entry_is_a_command_of_the_drive() {
    let mut controller = controller();
    let sqe = Sqe::read_from_bytes(&laid_out::<64>(&[(0, &[2]), (2, &[5]), (4, &[1]), (48, &[7])]))
        .unwrap();
    assert_eq!(controller.submit_entry(ms(0), 2, &sqe, &[]), Accepted::UnderWay);
    let [read] = &advance(&mut controller, Instant::NEVER)[..] else { panic!("one completion") };
    // 175 ns command, 40 us tR, 4,096 bytes of 25 ns.
    assert_eq!((read.id, read.at.as_ns()), (CommandId::of_entry(2, 5), 142_575));
    let refused = controller.submit_entry(ms(1), 0x8000, &sqe, &[]);
    assert!(matches!(refused, Accepted::Done(cqe) if cqe.status() == StatusField::INVALID_FIELD));
}
