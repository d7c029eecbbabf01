//! The outcome of a timer of the flash.

use super::die::OpId;
use crate::sim::NIL;
use crate::units::Die;

/// The outcome of a timer. It is made and taken apart at every event: two words, which travel in
/// registers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Fired {
    /// The operation that is done, or `NIL`; in the upper half 1 where it waited on the channel for
    /// a garbage collection.
    ended: u64,
    /// The die that is free, or `NIL`; in the upper half the one that preloads.
    dies: u64,
}

impl Fired {
    /// Nothing that anybody need know.
    pub const NOTHING: Fired = Fired { ended: NIL as u64, dies: u64::MAX };

    /// The die in `slot` may be given the next operation.
    #[inline]
    pub(super) fn freed(slot: usize) -> Self {
        Self::NOTHING.and_freed(slot)
    }

    /// The die in `slot` may be given the next program ahead.
    #[inline]
    pub(super) fn preloads(slot: usize) -> Self {
        Self::NOTHING.and_preloads(Some(Die(slot as u32)))
    }

    /// An operation is done.
    #[inline]
    pub(super) fn ended(token: OpId, behind_gc: bool) -> Self {
        Self { ended: u64::from(token.0) | u64::from(behind_gc) << 32, ..Self::NOTHING }
    }

    /// Besides, the die in `slot` may be given the next operation.
    #[inline]
    pub(super) fn and_freed(self, slot: usize) -> Self {
        Self { dies: self.dies & !u64::from(u32::MAX) | slot as u64, ..self }
    }

    /// Besides, a die may be given the next program ahead, if there is one.
    #[inline]
    pub(super) fn and_preloads(self, die: Option<Die>) -> Self {
        let die = die.map_or(NIL, |die| die.0);
        Self { dies: self.dies & u64::from(u32::MAX) | u64::from(die) << 32, ..self }
    }

    /// The operation that is done.
    #[inline]
    pub fn done(self) -> Option<OpId> {
        OpId(self.ended as u32).some()
    }

    /// The operation that is done waited on the channel for a garbage collection.
    #[inline]
    pub fn behind_gc(self) -> bool {
        self.ended >> 32 != 0
    }

    /// The die that may be given the next operation.
    #[inline]
    pub fn free(self) -> Option<Die> {
        (self.dies as u32 != NIL).then_some(Die(self.dies as u32))
    }

    /// The die that may be given the next program ahead, into its cache register.
    #[inline]
    pub fn preload(self) -> Option<Die> {
        ((self.dies >> 32) as u32 != NIL).then_some(Die((self.dies >> 32) as u32))
    }
}

impl std::fmt::Debug for Fired {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (done, free, preload) = (self.done(), self.free(), self.preload());
        write!(f, "Fired {{ {done:?}, {free:?}, {preload:?}, behind_gc: {} }}", self.behind_gc())
    }
}
