//! CRC32C (Castagnoli), the digest of headers and data: sixteen bytes at a time by tables.

/// The polynomial, its bits turned round.
const POLYNOMIAL: u32 = 0x82f6_3b78;

static TABLES: [[u32; 256]; 16] = tables();

const fn tables() -> [[u32; 256]; 16] {
    let mut tables = [[0; 256]; 16];
    let mut byte = 0;
    while byte < 256 {
        let (mut crc, mut bit) = (byte as u32, 0);
        while bit < 8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ POLYNOMIAL } else { crc >> 1 };
            bit += 1;
        }
        tables[0][byte] = crc;
        byte += 1;
    }
    let mut table = 1;
    while table < 16 {
        let mut byte = 0;
        while byte < 256 {
            let before = tables[table - 1][byte];
            tables[table][byte] = before >> 8 ^ tables[0][(before & 0xff) as usize];
            byte += 1;
        }
        table += 1;
    }
    tables
}

/// The digest of `bytes`.
pub(super) fn crc32c(bytes: &[u8]) -> u32 {
    let mut crc = !0u32;
    let (chunks, rest) = bytes.as_chunks::<16>();
    for chunk in chunks {
        let (low, high) = chunk.split_at(8);
        let low = u64::from_le_bytes(low.try_into().unwrap_or_default()) ^ u64::from(crc);
        let high = u64::from_le_bytes(high.try_into().unwrap_or_default());
        let of =
            |word: u64, at: usize, table: usize| TABLES[table][(word >> (8 * at)) as u8 as usize];
        crc = (0..8).fold(0, |crc, at| crc ^ of(low, at, 15 - at) ^ of(high, at, 7 - at));
    }
    for byte in rest {
        crc = crc >> 8 ^ TABLES[0][((crc ^ u32::from(*byte)) & 0xff) as usize];
    }
    !crc
}

#[cfg(test)]
mod tests {
    use super::crc32c;

    #[test]
    fn digests_are_those_of_rfc_3720() {
        // RFC 3720, B.4.
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
        assert_eq!(crc32c(&[0xff; 32]), 0x62a8_ab43);
        let rising: Vec<u8> = (0..32).collect();
        assert_eq!(crc32c(&rising), 0x46dd_794e);
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
        assert_eq!(crc32c(&[]), 0);
    }
}
