//! Division by a number fixed at start-up, as one multiplication: addresses are taken apart several
//! times a request.

/// A divisor of 32-bit numbers.
#[derive(Clone, Copy, Debug)]
pub struct Divisor {
    divisor: u32,
    /// floor((2^64 - 1) / divisor): with the dividend rounded up the quotient is exact for every
    /// 32-bit one, and a divisor of 1 is none of its own.
    reciprocal: u64,
}

impl Divisor {
    /// Division by `divisor`, which is not zero.
    pub fn new(divisor: u32) -> Self {
        assert!(divisor > 0, "division by zero");
        Self { divisor, reciprocal: u64::MAX / u64::from(divisor) }
    }

    /// The divisor.
    pub fn get(self) -> u32 {
        self.divisor
    }

    /// The quotient.
    #[inline]
    pub fn quotient(self, n: u32) -> u32 {
        ((u128::from(self.reciprocal) * (u128::from(n) + 1)) >> 64) as u32
    }

    /// The quotient and the remainder.
    #[inline]
    pub fn split(self, n: u32) -> (u32, u32) {
        let quotient = self.quotient(n);
        (quotient, n - quotient * self.divisor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quotient_is_exact_at_every_edge() {
        for divisor in [1, 2, 3, 7, 48, 255, 256, 1104, 65_535, 1 << 20, u32::MAX - 1, u32::MAX] {
            let by = Divisor::new(divisor);
            for n in [0, 1, divisor - 1, divisor, divisor.saturating_add(1), u32::MAX - 1, u32::MAX]
                .into_iter()
                .chain((0..1000).map(|i| i * 4_294_967))
            {
                assert_eq!(by.split(n), (n / divisor, n % divisor), "{n} / {divisor}");
            }
        }
    }
}
