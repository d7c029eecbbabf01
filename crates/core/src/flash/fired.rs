//! The outcome of a timer of the flash.

use crate::sim::NIL;
use crate::units::Die;

/// The outcome of a timer. Numbers or `NIL`: it is made and taken apart at every event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fired {
    pub(super) done: u32,
    pub(super) free: u32,
    pub(super) preload: u32,
    /// The operation that is done waited on the channel for a garbage collection.
    pub behind_gc: bool,
}

impl Fired {
    /// Nothing that anybody need know.
    pub const NOTHING: Fired = Fired { done: NIL, free: NIL, preload: NIL, behind_gc: false };

    /// The operation that is done.
    #[inline]
    pub fn done(&self) -> Option<u32> {
        (self.done != NIL).then_some(self.done)
    }

    /// The die that may be given the next operation.
    #[inline]
    pub fn free(&self) -> Option<Die> {
        (self.free != NIL).then_some(Die(self.free))
    }

    /// The die that may be given the next program ahead, into its cache register.
    #[inline]
    pub fn preload(&self) -> Option<Die> {
        (self.preload != NIL).then_some(Die(self.preload))
    }
}
