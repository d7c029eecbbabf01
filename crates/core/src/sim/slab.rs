//! A slab: objects under way in one growing array, addressed by index; freed places are used again,
//! so steady work allocates nothing.

use super::prefetch;
use crate::units::Id;

/// No index.
pub const NIL: u32 = u32::MAX;

/// Objects of type `T`, whose numbers are an `I`.
#[derive(Clone, Debug)]
pub struct Slab<I, T> {
    items: Vec<T>,
    free: Vec<I>,
    /// Whether each place is free, by which a place freed twice is found: the list is long.
    #[cfg(debug_assertions)]
    is_free: Vec<bool>,
}

impl<I, T> Default for Slab<I, T> {
    fn default() -> Self {
        Self {
            items: Vec::new(),
            free: Vec::new(),
            #[cfg(debug_assertions)]
            is_free: Vec::new(),
        }
    }
}

impl<I: Id, T> Slab<I, T> {
    /// Stores `item` and says where.
    #[inline]
    pub fn insert(&mut self, item: T) -> I {
        match self.free.pop() {
            Some(index) => {
                self.items[index.index()] = item;
                #[cfg(debug_assertions)]
                {
                    self.is_free[index.index()] = false;
                }
                index
            }
            None => {
                self.items.push(item);
                #[cfg(debug_assertions)]
                self.is_free.push(false);
                I::at(self.items.len() - 1)
            }
        }
    }

    /// Gives the place back. The item stays until it is overwritten.
    #[inline]
    pub fn release(&mut self, index: I) {
        #[cfg(debug_assertions)]
        {
            let was = std::mem::replace(&mut self.is_free[index.index()], true);
            assert!(!was, "place {index} freed twice");
        }
        self.free.push(index);
    }

    /// Hints that an object is needed soon.
    #[inline]
    pub fn prefetch(&self, index: I) {
        prefetch(&self.items, index.index());
    }

    /// Every place that was ever used, also those given back.
    pub fn places(&self) -> impl Iterator<Item = I> + use<I, T> {
        (0..self.items.len()).map(I::at)
    }

    /// Objects under way.
    pub fn len(&self) -> usize {
        self.items.len() - self.free.len()
    }

    /// True when nothing is under way.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<I: Id, T> std::ops::Index<I> for Slab<I, T> {
    type Output = T;
    #[inline]
    fn index(&self, index: I) -> &T {
        &self.items[index.index()]
    }
}

impl<I: Id, T> std::ops::IndexMut<I> for Slab<I, T> {
    #[inline]
    fn index_mut(&mut self, index: I) -> &mut T {
        &mut self.items[index.index()]
    }
}
