//! A slab: objects under way in one growing array, addressed by index; freed places are used again,
//! so steady work allocates nothing.

use super::prefetch;

/// No index.
pub const NIL: u32 = u32::MAX;

/// Objects addressed by a `u32`.
#[derive(Clone, Debug)]
pub struct Slab<T> {
    items: Vec<T>,
    free: Vec<u32>,
    /// Whether each place is free, by which a place freed twice is found: the list is long.
    #[cfg(debug_assertions)]
    is_free: Vec<bool>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self {
            items: Vec::new(),
            free: Vec::new(),
            #[cfg(debug_assertions)]
            is_free: Vec::new(),
        }
    }
}

impl<T> Slab<T> {
    /// Stores `item` and says where.
    #[inline]
    pub fn insert(&mut self, item: T) -> u32 {
        match self.free.pop() {
            Some(index) => {
                self.items[index as usize] = item;
                #[cfg(debug_assertions)]
                {
                    self.is_free[index as usize] = false;
                }
                index
            }
            None => {
                self.items.push(item);
                #[cfg(debug_assertions)]
                self.is_free.push(false);
                (self.items.len() - 1) as u32
            }
        }
    }

    /// Gives the place back. The item stays until it is overwritten.
    #[inline]
    pub fn release(&mut self, index: u32) {
        #[cfg(debug_assertions)]
        {
            let was = std::mem::replace(&mut self.is_free[index as usize], true);
            assert!(!was, "place {index} freed twice");
        }
        self.free.push(index);
    }

    /// Hints that an object is needed soon.
    #[inline]
    pub fn prefetch(&self, index: u32) {
        prefetch(&self.items, index as usize);
    }

    /// Every place that was ever used, also those given back.
    pub fn places(&self) -> std::ops::Range<u32> {
        0..self.items.len() as u32
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

impl<T> std::ops::Index<u32> for Slab<T> {
    type Output = T;
    #[inline]
    fn index(&self, index: u32) -> &T {
        &self.items[index as usize]
    }
}

impl<T> std::ops::IndexMut<u32> for Slab<T> {
    #[inline]
    fn index_mut(&mut self, index: u32) -> &mut T {
        &mut self.items[index as usize]
    }
}
