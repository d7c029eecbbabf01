//! The storages that a driver plays, each with a loop of its own.

use super::Driver;
use crate::array::Array;
use crate::drive::{Drive, Storage};

/// A storage whose play is compiled in this crate in the tests: the loop calls it for each request,
/// and the crates that start a run are not optimised there. A release compiles it in the crate that
/// starts the run, which takes 1 to 3 % fewer instructions.
pub trait Playable: Storage + Sized {
    /// Plays until `goal` requests have completed, as of [`Driver::play_while`]. A storage of
    /// another crate needs none of its own.
    fn play_to(driver: &mut Driver<Self>, goal: u64, go_on: &mut dyn FnMut(u64) -> bool) -> bool {
        driver.play_to(goal, go_on)
    }
}

impl Playable for Drive {
    #[cfg_attr(not(debug_assertions), inline)]
    fn play_to(driver: &mut Driver<Self>, goal: u64, go_on: &mut dyn FnMut(u64) -> bool) -> bool {
        driver.play_to(goal, go_on)
    }
}

impl Playable for Array {
    #[cfg_attr(not(debug_assertions), inline)]
    fn play_to(driver: &mut Driver<Self>, goal: u64, go_on: &mut dyn FnMut(u64) -> bool) -> bool {
        driver.play_to(goal, go_on)
    }
}

impl<S: Playable> Driver<S> {
    /// Plays until `completions` more requests have completed; false when the workload is over.
    pub fn play(&mut self, completions: u64) -> bool {
        self.play_while(completions, &mut |_| true)
    }

    /// Plays until `completions` more requests have completed, or `go_on` says no; false when the
    /// workload is over. It is asked now and then, also while nothing completes, and told how many
    /// requests are outstanding.
    pub fn play_while(&mut self, completions: u64, go_on: &mut dyn FnMut(u64) -> bool) -> bool {
        S::play_to(self, self.progress().completed.saturating_add(completions), go_on)
    }

    /// Plays to the end.
    pub fn play_to_the_end(&mut self) {
        self.play(u64::MAX);
    }
}
