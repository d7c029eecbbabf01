//! The limits of the settings of bit errors and scrubbing.

use super::{Check, require};
use manx_core::drive::ScrubSpec;
use manx_core::flash::Device;

/// Errors of a codeword are counted in a byte: one more than what is corrected must fit.
const CORRECTABLE_MAX: u32 = 254;

/// Bits of the smallest codeword.
const CODEWORD_BITS_MIN: f64 = 4096.0;

/// More than this no codeword of any size could have, and be corrected when it was just written.
const RBER_MAX: f64 = CORRECTABLE_MAX as f64 / CODEWORD_BITS_MIN;

/// Faster than any array reads.
const RATE_MAX: f64 = 1e8;

/// A page a day.
const RATE_MIN: f64 = 1e-5;

/// Checks everything under `scrub`.
pub fn all(scrub: &ScrubSpec, device: &Device) -> Check {
    let ScrubSpec { rber, codeword, correctable, rate, rewrite_at, .. } = *scrub;
    let message = format!(
        "a share of the bits, from 0 to {RBER_MAX:.4}: {CORRECTABLE_MAX} of the \
         {CODEWORD_BITS_MIN} bits of the smallest codeword"
    );
    require((0.0..=RBER_MAX).contains(&rber), "scrub.rber", rber, message)?;
    let message = format!("from 1 to {CORRECTABLE_MAX} bits in a codeword");
    require(
        (1..=CORRECTABLE_MAX).contains(&correctable),
        "scrub.correctable",
        correctable,
        message,
    )?;
    let holds = rate == 0.0 || (RATE_MIN..=RATE_MAX).contains(&rate);
    let message = format!("0 for no scrubbing, or from {RATE_MIN} to {RATE_MAX} pages per second");
    require(holds, "scrub.rate", rate, message)?;
    let message = format!(
        "0 for never, or from 1 to scrub.correctable = {correctable}: a page beyond correction \
         cannot be written anew"
    );
    require(rewrite_at <= correctable, "scrub.rewrite_at", rewrite_at, message)?;
    if !scrub.is_on() {
        return Ok(());
    }
    let (bytes, unit) = (codeword.get(), device.geometry.map_unit.get());
    let holds = bytes >= 512 && bytes.is_multiple_of(512) && unit.is_multiple_of(bytes);
    let message =
        format!("whole sectors of 512B, and a divisor of device.geometry.map_unit = {unit}B");
    require(holds, "scrub.codeword", codeword, message)?;
    let mean = rber * 8.0 * bytes as f64;
    let message = format!(
        "so low that a codeword of {bytes} B, which then has {mean:.1} wrong bits on average, is \
         within scrub.correctable = {correctable}: data that was just written must be readable"
    );
    require(mean <= f64::from(correctable), "scrub.rber", rber, message)
}
