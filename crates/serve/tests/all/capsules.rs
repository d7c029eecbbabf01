//! The PDUs by which a host begins (NVMe/TCP): for `parsers.rs`, and for the unit tests of
//! `src/nvme_tcp`.

/// Name of the subsystem.
pub const NQN: &str = "nqn.2026-01.io.manx:disk";

/// ICReq: version 0, HPDA 0, these digests, one R2T.
pub fn ic_request(digests: u8) -> Vec<u8> {
    let mut request = vec![0, 0, 128, 0, 128, 0, 0, 0, 0, 0, 0, digests];
    request.resize(128, 0);
    request
}

/// A command capsule without digests.
pub fn capsule(entry: &[u8; 64], data: &[u8]) -> Vec<u8> {
    let plen = (72 + data.len()) as u32;
    let pdo = if data.is_empty() { 0 } else { 72 };
    [&[4, 0, 72, pdo][..], &plen.to_le_bytes(), entry, data].concat()
}

/// An entry with its SGL: of `kind`, so long.
pub fn entry(opcode: u8, cid: u16, nsid: u32, length: u32, kind: u8) -> [u8; 64] {
    let mut entry = [0; 64];
    (entry[0], entry[1], entry[39]) = (opcode, 0x40, kind);
    entry[2..4].copy_from_slice(&cid.to_le_bytes());
    entry[4..8].copy_from_slice(&nsid.to_le_bytes());
    entry[32..36].copy_from_slice(&length.to_le_bytes());
    entry
}

/// Connect of that controller's queue.
pub fn connect(controller: u16, queue: u16) -> Vec<u8> {
    let mut connect = entry(0x7f, 1, 1, 1024, 0x01);
    connect[42..44].copy_from_slice(&queue.to_le_bytes());
    connect[44] = 31;
    let mut data = vec![0; 1024];
    data[16..18].copy_from_slice(&controller.to_le_bytes());
    data[256..256 + NQN.len()].copy_from_slice(NQN.as_bytes());
    data[512..520].copy_from_slice(b"nqn.host");
    capsule(&connect, &data)
}
