//! Identify's data, field by field from the specification's tables.

use super::*;

fn identify(cns: u8, nsid: u32, specific: u16) -> Vec<u8> {
    let sqe = Sqe::identify(cns, nsid, specific);
    let done = done(&mut controller(), ms(0), &sqe, &[]);
    assert_eq!(done.status, StatusField::SUCCESS);
    assert_eq!(done.data.len(), 4096);
    done.data
}

/// Every byte that is not zero, with its offset.
fn filled(data: &[u8]) -> Vec<(usize, u8)> {
    data.iter().copied().enumerate().filter(|(_, byte)| *byte != 0).collect()
}

#[test]
fn the_controller_says_what_it_can() {
    let mut data = identify(0x01, 0, 0);
    assert_eq!(&data[4..24], b"MANX0               ");
    assert_eq!(&data[24..64], b"Manx simulated flash drive              ");
    // The firmware revision has eight bytes: of a version under development, those before its
    // suffix.
    let version = env!("CARGO_PKG_VERSION").split('-').next().unwrap();
    assert_eq!(&data[64..69], version.as_bytes());
    data[..72].fill(0);
    // 128 MiB of the host's.
    let expected: [u8; 4096] = laid_out(&[
        (77, &[8]),                      // MDTS: 2^8 x 4 KiB
        (78, &[1, 0]),                   // CNTLID
        (80, &[0x00, 0x04, 0x01, 0x00]), // VER 1.4.0
        (92, &[0x00, 0x10, 0x00, 0x00]), // OAES bit 12
        (96, &[0x3c, 0x00, 0x00, 0x00]), // CTRATT bits 2, 3, 4, 5
        (100, &[0x10, 0x80]),            // RRLS 4 and 15
        (111, &[1]),                     // CNTRLTYPE
        (259, &[3]),                     // AERL
        (261, &[4]),                     // LPA bit 2
        (283, &[0x08]),                  // TNVMCAP
        (338, &[2, 0]),                  // NSETIDMAX, even
        (340, &[1, 0]),                  // ENDGIDMAX
        (512, &[0x66, 0x44]),            // SQES, CQES
        (516, &[1, 0, 0, 0]),            // NN
        (520, &[4, 0]),                  // ONCS bit 2
        (525, &[6]),                     // VWC: none to speak of, a flush may go to all
        (536, &[1]),                     // SGLS
    ]);
    assert_eq!(filled(&data), filled(&expected));
}

#[test]
fn the_namespace_says_its_size_and_its_set() {
    for nsid in [1, 0xffff_ffff] {
        let mut data = identify(0x00, nsid, 0);
        assert!(data[104..120].iter().any(|byte| *byte != 0), "NGUID");
        data[104..120].fill(0);
        let expected: [u8; 4096] = laid_out(&[
            (0, &[0x00, 0x00, 0x04]),              // NSZE 262,144
            (8, &[0x00, 0x00, 0x04]),              // NCAP
            (16, &[0x00, 0x00, 0x04]),             // NUSE
            (24, &[0x10]),                         // NSFEAT bit 4
            (33, &[0x01]),                         // DLFEAT
            (51, &[0x08]),                         // NVMCAP
            (64, &[7, 0, 7, 0, 7, 0, 7, 0, 7, 0]), // NPWG, NPWA, NPDG, NPDA, NOWS: 4 KiB
            (100, &[1, 0]),                        // NVMSETID
            (102, &[1, 0]),                        // ENDGID
            (130, &[9]),                           // LBADS
        ]);
        assert_eq!(filled(&data), filled(&expected));
    }
}

#[test]
fn the_list_of_sets_has_one_from_set_one_on() {
    // R4KRT: 142,575 ns are 1,426 units begun; OWS 4,096 bytes; 128 MiB.
    let expected: [u8; 4096] = laid_out(&[
        (0, &[1]),
        (128, &[1, 0]),
        (130, &[1, 0]),
        (136, &[0x92, 0x05, 0, 0]),
        (140, &[0x00, 0x10, 0, 0]),
        (147, &[0x08]),
    ]);
    assert_eq!(filled(&identify(0x04, 0, 0)), filled(&expected));
    assert_eq!(filled(&identify(0x04, 0, 1)), filled(&expected));
    assert_eq!(filled(&identify(0x04, 0, 2)), []);
}

#[test]
fn the_lists_of_namespaces() {
    assert_eq!(filled(&identify(0x02, 0, 0)), [(0, 1)]);
    assert_eq!(filled(&identify(0x02, 1, 0)), []);
    let data = identify(0x03, 1, 0);
    let guid = &identify(0x00, 1, 0)[104..120];
    assert_eq!((&data[..4], &data[4..20], data[20]), (&[2, 16, 0, 0][..], guid, 0));
}

#[test]
fn other_identifies_are_refused() {
    let mut controller = controller();
    let mut status =
        |cns, nsid| status(&mut controller, ms(0), &Sqe::identify(cns, nsid, 0), &[]).0;
    assert_eq!(status(0x00, 0), 0x400b);
    assert_eq!(status(0x00, 2), 0x400b);
    assert_eq!(status(0x03, 0xffff_ffff), 0x400b);
    assert_eq!(status(0x02, 0xffff_fffe), 0x400b);
    for cns in [0x05, 0x06, 0x10, 0x13, 0x19, 0x1c, 0xff] {
        assert_eq!(status(cns, 1), 0x4002, "CNS {cns:x}");
    }
}

/// Computed by hand from the table in `device`: 8,192 pages of reserve.
#[test]
fn what_the_drive_promises_follows_from_its_times() {
    let attributes = Attributes::of(&drive(0), &spec(), &gc());
    assert_eq!(attributes.sectors, SECTORS);
    assert_eq!(attributes.read_typical.as_ns(), 142_575);
    assert_eq!(attributes.optimal_write, 4096);
    // 8,192 pages on 64 dies are 128 programs each: 102.4 ms.
    assert_eq!((attributes.dtwin_writes, attributes.dtwin_time_ms), (8_192, 102));
    // 102 ms hold 715 reads a die.
    assert_eq!(attributes.dtwin_reads, 715 * 64);
    // A page moves in 40,175 + 2 x 102,575 + 800,000 ns; a block has 256, and an erase of 2,000,125
    // ns: 269.6 ms.
    assert_eq!(attributes.ndwin_low_ms, 270);
    // A block a die, half of it valid, twice: 271.6 ms.
    assert_eq!(attributes.ndwin_high_ms, 272);
}
