//! A bijection of 32 bits that scatters: what a page adds to the parity of its stripe.

const FIRST: u32 = 0x9e37_79b1;
const SECOND: u32 = 0x85eb_ca6b;

/// `x`, scattered.
pub fn mix(mut x: u32) -> u32 {
    x = (x ^ (x >> 16)).wrapping_mul(FIRST);
    x = (x ^ (x >> 16)).wrapping_mul(SECOND);
    x ^ (x >> 16)
}

/// The number of which [`mix`] made `value`.
pub fn unmix(value: u32) -> u32 {
    let mut x = value ^ (value >> 16);
    x = x.wrapping_mul(inverse(SECOND));
    x = (x ^ (x >> 16)).wrapping_mul(inverse(FIRST));
    x ^ (x >> 16)
}

/// The inverse of an odd number modulo 2^32 (Newton: each step doubles the bits that are right).
const fn inverse(odd: u32) -> u32 {
    let (mut x, mut step) = (odd, 0);
    while step < 5 {
        x = x.wrapping_mul(2u32.wrapping_sub(odd.wrapping_mul(x)));
        step += 1;
    }
    x
}
