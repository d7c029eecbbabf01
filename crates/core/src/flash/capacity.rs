//! How large a device is: what the dies hold, what the host sees, what lies between.

use super::Device;
use crate::units::Bytes;
use std::fmt;

/// The capacities of a device, a pure function of its table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Capacity {
    /// The capacity of the dies.
    pub raw: Bytes,
    /// The capacity that the host sees: raw x (1 - op), rounded down to a whole number of stripe
    /// rounds.
    pub user: Bytes,
    /// The share of the raw capacity that the host does not see, after that rounding.
    pub op: f64,
}

impl Capacity {
    /// The capacities of `device`, which must have passed validation.
    ///
    /// A stripe round is one program unit on every lane: rounding to it gives every lane the same
    /// number of user units, whatever order and stripe the placement uses.
    pub fn of(device: &Device) -> Self {
        let (raw, round) = (raw_bytes(device), lanes(device).saturating_mul(program_unit(device)));
        // Decimal shares are exact in parts per billion; a float product could lose a round to its
        // last bit.
        let visible = 1_000_000_000 - (device.op.clamp(0.0, 1.0) * 1e9).round() as u128;
        let user =
            (raw.saturating_mul(visible) / 1_000_000_000).checked_div(round).unwrap_or(0) * round;
        let op = if raw == 0 { 0.0 } else { (raw - user) as f64 / raw as f64 };
        Self { raw: bytes(raw), user: bytes(user), op }
    }

    /// This capacity where one page in `width` is parity (below 2: none is). A stripe has a page on
    /// `width` channels, so whole stripe rounds are whole stripes.
    pub fn behind_parity(self, width: u32) -> Self {
        if width < 2 {
            return self;
        }
        let (raw, width) = (self.raw.get(), u64::from(width));
        let user = self.user.get() / width * (width - 1);
        let op = if raw == 0 { 0.0 } else { (raw - user) as f64 / raw as f64 };
        Self { user: Bytes::new(user), op, ..self }
    }
}

impl Capacity {
    /// Over-provisioning as data sheets say it, spare over user capacity; infinite where the user
    /// sees nothing.
    pub fn op_of_user(&self) -> f64 {
        (self.raw.get() - self.user.get()) as f64 / self.user.get() as f64
    }
}

impl fmt::Display for Capacity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (raw, user) = (Readable(self.raw), Readable(self.user));
        let of_raw = 100.0 * self.op;
        match self.user.get() {
            0 => write!(f, "raw {raw}, user {user}, OP {of_raw:.1} % of raw"),
            _ => {
                let of_user = 100.0 * self.op_of_user();
                write!(
                    f,
                    "raw {raw}, user {user}, OP {of_user:.1} % of user ({of_raw:.1} % of raw)"
                )
            }
        }
    }
}

/// Lanes of a device: dies times the groups of planes that work as one.
pub fn lanes(device: &Device) -> u128 {
    let g = &device.geometry;
    let groups = g.planes / device.feature.program_planes.max(1);
    product(&[g.channels.into(), g.ways.into(), g.dies.into(), groups.into()])
}

/// Bytes that one program covers on a lane: its planes times the pages of a word line.
pub fn program_unit(device: &Device) -> u128 {
    let feature = &device.feature;
    product(&[
        device.geometry.page.get(),
        feature.program_planes.into(),
        feature.program_pages.into(),
    ])
}

/// Bytes that the dies hold. It saturates: absurd counts are for validation to refuse, not for
/// arithmetic to wrap.
pub fn raw_bytes(device: &Device) -> u128 {
    let g = &device.geometry;
    let counts = [g.channels, g.ways, g.dies, g.planes, g.blocks, g.pages].map(u64::from);
    product(&counts).saturating_mul(g.page.get().into())
}

fn product(factors: &[u64]) -> u128 {
    factors.iter().fold(1u128, |product, factor| product.saturating_mul(u128::from(*factor)))
}

fn bytes(bytes: u128) -> Bytes {
    Bytes::new(u64::try_from(bytes).unwrap_or(u64::MAX))
}

/// A size for people, in the largest binary unit that fits: whole, or with one decimal (two for
/// TiB, which are large).
struct Readable(Bytes);

impl fmt::Display for Readable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.0.get();
        let units = [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")];
        match units.iter().find(|(shift, _)| bytes >= 1 << shift) {
            Some((shift, unit)) if bytes.is_multiple_of(1 << shift) => {
                write!(f, "{} {unit}", bytes >> shift)
            }
            Some((shift, unit)) => {
                let decimals = if *shift == 40 { 2 } else { 1 };
                write!(f, "{:.decimals$} {unit}", bytes as f64 / (1u64 << shift) as f64)
            }
            None => write!(f, "{bytes} B"),
        }
    }
}
