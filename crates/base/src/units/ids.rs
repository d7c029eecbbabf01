//! Numbers of things that a drive has many of, as types: a die is no lane.

use std::fmt;
use std::iter::FusedIterator;
use std::ops::Range;

/// A number of one kind of thing: an index into a list of all of them.
pub trait Id: Copy + Eq + fmt::Display {
    /// The thing that stands at `index` in the list.
    fn at(index: usize) -> Self;

    /// The number, to index a list of all of them.
    fn index(self) -> usize;
}

/// Makes a number a type of its own. `Name, or NIL` has a number that is of no thing: what a link
/// in a list holds where it ends.
#[macro_export]
macro_rules! id {
    ($(#[$doc:meta])* $sight:vis $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(transparent)]
        $sight struct $name(pub u32);

        impl $name {
            /// The number, to index a list of all of them.
            #[inline]
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl $crate::units::Id for $name {
            #[inline]
            fn at(index: usize) -> Self {
                Self(index as u32)
            }

            #[inline]
            fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl ::std::fmt::Debug for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                ::std::fmt::Debug::fmt(&self.0, f)
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                ::std::fmt::Display::fmt(&self.0, f)
            }
        }
    };
    ($(#[$doc:meta])* $sight:vis $name:ident, or NIL) => {
        $crate::id! { $(#[$doc])* $sight $name }

        impl $name {
            /// The end of a list: no number of a thing.
            pub const NIL: Self = Self(u32::MAX);

            /// `None` for [`Self::NIL`].
            #[inline]
            pub fn some(self) -> Option<Self> {
                (self != Self::NIL).then_some(self)
            }
        }
    };
}

id! {
    /// A server of the flash, which does one array operation at a time: a die, or a lane where
    /// planes are independent.
    pub Die
}

id! {
    /// A channel.
    pub Channel
}

id! {
    /// The planes of one multi-plane program, or one plane.
    pub Lane
}

id! {
    /// Lanes that are reclaimed together.
    pub Pool
}

id! {
    /// A drive of an array.
    pub Member
}

/// Lanes side by side, in their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lanes(Range<u32>);

impl Lanes {
    /// `count` lanes from `first` on.
    #[inline]
    pub const fn new(first: Lane, count: u32) -> Self {
        Self(first.0..first.0 + count)
    }

    /// The first lane.
    #[inline]
    pub const fn first(&self) -> Lane {
        Lane(self.0.start)
    }

    /// The last lane.
    #[inline]
    pub const fn last_lane(&self) -> Lane {
        Lane(self.0.end - 1)
    }

    /// The lane whose turn comes after that of `lane`.
    #[inline]
    pub const fn after(&self, lane: Lane) -> Lane {
        if lane.0 + 1 == self.0.end { self.first() } else { Lane(lane.0 + 1) }
    }

    /// All of them in turn, from `lane` on.
    #[inline]
    pub fn turn_from(&self, lane: Lane) -> impl Iterator<Item = Lane> + use<> {
        (lane.0..self.0.end).chain(self.0.start..lane.0).map(Lane)
    }
}

impl Iterator for Lanes {
    type Item = Lane;

    #[inline]
    fn next(&mut self) -> Option<Lane> {
        self.0.next().map(Lane)
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl DoubleEndedIterator for Lanes {
    #[inline]
    fn next_back(&mut self) -> Option<Lane> {
        self.0.next_back().map(Lane)
    }
}

impl ExactSizeIterator for Lanes {}

impl FusedIterator for Lanes {}
