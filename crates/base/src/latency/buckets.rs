//! Log-linear buckets: below 2 x 2^BITS every value has its own, above it each octave is cut into
//! 2^BITS equal ones.

/// The bucket of a value: the octave above the exact range, then the top BITS + 1 bits, of which
/// the first is set.
#[inline]
pub fn index_of<const BITS: u32>(value: u64) -> usize {
    let octave = u64::BITS - 1 - BITS - (value | 1 << BITS).leading_zeros();
    ((u64::from(octave) << BITS) + (value >> octave)) as usize
}

/// The smallest and the largest value of a bucket.
#[inline]
pub fn bounds_of<const BITS: u32>(index: usize) -> (u64, u64) {
    let octave = (index as u64 >> BITS).saturating_sub(1);
    let low = (index as u64 - (octave << BITS)) << octave;
    (low, low + ((1 << octave) - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meet<const BITS: u32>() {
        let mut next = 0;
        for index in 0..=index_of::<BITS>(u64::MAX) {
            let (low, high) = bounds_of::<BITS>(index);
            assert_eq!((low, index_of::<BITS>(low), index_of::<BITS>(high)), (next, index, index));
            assert!(high - low <= low >> BITS, "{low} to {high}");
            next = high.wrapping_add(1);
        }
        assert_eq!(next, 0, "they end with the largest value");
    }

    #[test]
    fn buckets_meet_and_are_as_narrow_as_promised() {
        meet::<3>();
        meet::<6>();
        meet::<10>();
    }
}
