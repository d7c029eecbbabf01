//! A duration cut into its causes: what a request's latency was spent on, to the nanosecond.

use super::Duration;
use std::ops::AddAssign;

/// Cause that a nanosecond of a request's latency is charged to (DESIGN 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Cause {
    /// Its own work: commands, array operations, transfers, the buffer's and the controller's fixed
    /// times.
    Service,
    /// Behind an erase on its die.
    Erase,
    /// Behind programs of host data on its die.
    Program,
    /// Behind garbage collection's copies: on its die, on its channel, or because collection holds
    /// the channel.
    GcCopy,
    /// Behind other reads on its die.
    Reads,
    /// Behind other requests' transfers on its channel.
    Channel,
    /// On the host link, and behind others there.
    Link,
    /// For a place in the drive's queue, its turn in a strict order, or a share of the power
    /// budget.
    Queue,
    /// For the write buffer itself: no row that held it up was on its way yet.
    Buffer,
    /// For an operation to be suspended and resumed.
    Suspension,
    /// For the other members of a parity stripe.
    Reconstruct,
    /// On a command that brought nothing: of an array, one that failed fast; of a host that resets
    /// its drive, until the command that answers is sent.
    Retry,
    /// An array: for its row, behind another update of it or reads of the whole row.
    Stripe,
    /// For a free block: a row has none to go to until garbage collection gives one, and its die
    /// stands idle.
    Space,
    /// Behind programs of host data that a flush of the host had sent to flash.
    Flush,
}

/// How many causes there are.
pub const CAUSES: usize = 15;

impl Cause {
    /// Every cause, in the order of [`Split`].
    pub const ALL: [Cause; CAUSES] = [
        Cause::Service,
        Cause::Erase,
        Cause::Program,
        Cause::GcCopy,
        Cause::Reads,
        Cause::Channel,
        Cause::Link,
        Cause::Queue,
        Cause::Buffer,
        Cause::Suspension,
        Cause::Reconstruct,
        Cause::Retry,
        Cause::Stripe,
        Cause::Space,
        Cause::Flush,
    ];

    /// Its name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Cause::Service => "service",
            Cause::Erase => "erase",
            Cause::Program => "program",
            Cause::GcCopy => "gc_copy",
            Cause::Reads => "reads",
            Cause::Channel => "channel",
            Cause::Link => "link",
            Cause::Queue => "queue",
            Cause::Buffer => "buffer",
            Cause::Suspension => "suspension",
            Cause::Reconstruct => "reconstruct",
            Cause::Retry => "retry",
            Cause::Stripe => "stripe",
            Cause::Space => "space",
            Cause::Flush => "flush",
        }
    }
}

/// Nanoseconds by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Split([u64; CAUSES]);

impl Split {
    /// Nothing yet.
    pub const NONE: Split = Split([0; CAUSES]);

    /// So much more for a cause.
    #[inline]
    pub fn add(&mut self, cause: Cause, time: Duration) {
        self.0[cause as usize] += time.as_ns();
    }

    /// The time spent on a cause.
    #[inline]
    pub fn get(&self, cause: Cause) -> Duration {
        Duration::from_ns(self.0[cause as usize])
    }

    /// Charges to `to` all that was charged to `from`.
    pub fn recharge(&mut self, from: Cause, to: Cause) {
        self.0[to as usize] += std::mem::take(&mut self.0[from as usize]);
    }

    /// All causes together.
    #[inline]
    pub fn total(&self) -> Duration {
        Duration::from_ns(self.0.iter().sum())
    }

    /// Adds `other`, and says how much that was.
    #[inline]
    pub fn take_in(&mut self, other: &Split) -> Duration {
        let mut total = 0;
        for (sum, part) in self.0.iter_mut().zip(other.0) {
            *sum += part;
            total += part;
        }
        Duration::from_ns(total)
    }

    /// The part of it beyond `before`, which was a part of it.
    #[inline]
    pub fn beyond(&self, before: &Split) -> Split {
        let mut beyond = *self;
        for (part, before) in beyond.0.iter_mut().zip(&before.0) {
            *part -= before;
        }
        beyond
    }

    /// The causes and their times, in order.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = (Cause, Duration)> + '_ {
        Cause::ALL.into_iter().zip(self.0.iter().map(|ns| Duration::from_ns(*ns)))
    }

    /// The cause that took most, and its time.
    #[inline]
    pub fn largest(&self) -> (Cause, Duration) {
        self.iter().fold((Cause::Service, Duration::ZERO), |most, next| {
            if next.1 > most.1 { next } else { most }
        })
    }
}

impl AddAssign for Split {
    #[inline]
    fn add_assign(&mut self, other: Split) {
        self.take_in(&other);
    }
}
