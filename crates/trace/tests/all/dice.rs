//! A stream of numbers that bytes decide: the same on every machine.

/// Knuth's MMIX.
pub struct Dice(u64);

impl Dice {
    /// Begins with FNV-1a of the bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Dice(bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
        }))
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}
