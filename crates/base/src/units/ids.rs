//! Numbers of things that a drive has many of, as types: a die is no lane.

use std::fmt;

/// Makes a number a type of its own.
macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(transparent)]
        pub struct $name(pub u32);

        impl $name {
            /// The number, to index a list of all of them.
            #[inline]
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.0, f)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }
    };
}

id! {
    /// A server of the flash, which does one array operation at a time: a die, or a lane where
    /// planes are independent.
    Die
}

id! {
    /// A channel.
    Channel
}

id! {
    /// The planes of one multi-plane program, or one plane.
    Lane
}

id! {
    /// Lanes that are reclaimed together.
    Pool
}

id! {
    /// A drive of an array.
    Member
}
