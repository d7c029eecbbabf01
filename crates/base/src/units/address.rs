//! Addresses: what the host names (LBA), what an FTL maps (LPN), where a map unit lies (PPN).

/// Bytes in one logical block (sector), the unit of every host address.
pub const SECTOR: u64 = 512;

/// A logical block address: a 512-byte sector of the host's address space.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lba(pub u64);

/// A logical page number: one map unit of the host's address space.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lpn(pub u32);

/// A physical page number: one map unit of flash, numbered lane by lane, block by block, row by
/// row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ppn(pub u32);

impl Ppn {
    /// No place: an unmapped logical page.
    pub const NONE: Ppn = Ppn(u32::MAX);

    /// True unless this is [`Ppn::NONE`].
    #[inline]
    pub fn is_some(self) -> bool {
        self != Self::NONE
    }
}
