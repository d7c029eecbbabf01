//! A part that a program brings along in place of one of the core's: a policy of its own.

use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;

/// Nothing, or the maker of a part and its name. No file can name it: a scenario that has one was
/// given it by the program that runs it, and is no longer told by its text alone.
///
/// Two are equal where they are one maker, or nothing.
pub struct External<Part: ?Sized>(Option<Arc<Maker<Part>>>);

struct Maker<Part: ?Sized> {
    name: String,
    make: Box<dyn Fn() -> Box<Part> + Send + Sync>,
}

impl<Part: ?Sized> External<Part> {
    /// A part called `name`; each drive, or array, has one of its own from `make`.
    pub fn new(
        name: impl Into<String>,
        make: impl Fn() -> Box<Part> + Send + Sync + 'static,
    ) -> Self {
        Self(Some(Arc::new(Maker { name: name.into(), make: Box::new(make) })))
    }

    /// Its name, if there is one.
    pub fn name(&self) -> Option<&str> {
        self.0.as_ref().map(|maker| maker.name.as_str())
    }

    /// A new one, if there is a maker.
    pub fn make(&self) -> Option<Box<Part>> {
        self.0.as_ref().map(|maker| (maker.make)())
    }

    /// A number that tells it from every other one of this process as long as it lives; 0 is none.
    pub fn identity(&self) -> u64 {
        self.0.as_ref().map_or(0, |maker| Arc::as_ptr(maker).addr() as u64)
    }
}

// A maker is only ever asked for a new part: one that panicked is never met again.
impl<Part: ?Sized> UnwindSafe for External<Part> {}
impl<Part: ?Sized> RefUnwindSafe for External<Part> {}

impl<Part: ?Sized> Clone for External<Part> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<Part: ?Sized> Default for External<Part> {
    fn default() -> Self {
        Self(None)
    }
}

impl<Part: ?Sized> PartialEq for External<Part> {
    fn eq(&self, other: &Self) -> bool {
        self.identity() == other.identity()
    }
}

impl<Part: ?Sized> fmt::Debug for External<Part> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name().unwrap_or("none"))
    }
}
