//! A queue in a ring of 2^n places: what waits in turn on the path of every request.

/// A first-in-first-out queue. It grows when it is full; steady work allocates nothing.
#[derive(Clone, Debug)]
pub(crate) struct Ring<T> {
    places: Box<[T]>,
    /// Counts of what was taken and put; both run on and are cut to the ring where they are used.
    first: usize,
    end: usize,
}

impl<T: Copy + Default> Default for Ring<T> {
    fn default() -> Self {
        Self { places: vec![T::default(); 16].into_boxed_slice(), first: 0, end: 0 }
    }
}

impl<T: Copy + Default> Ring<T> {
    /// How many wait.
    #[inline]
    pub fn len(&self) -> usize {
        self.end.wrapping_sub(self.first)
    }

    /// True when nothing waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.first == self.end
    }

    /// The first in the queue.
    #[inline]
    pub fn front(&self) -> Option<T> {
        (!self.is_empty()).then(|| self.places[self.first & (self.places.len() - 1)])
    }

    /// The last in the queue.
    #[inline]
    pub fn back(&self) -> Option<T> {
        let last = self.end.wrapping_sub(1);
        (!self.is_empty()).then(|| self.places[last & (self.places.len() - 1)])
    }

    /// The one with so many before it.
    #[inline]
    pub fn get(&self, at: usize) -> Option<&T> {
        let place = self.first.wrapping_add(at) & (self.places.len() - 1);
        (at < self.len()).then(|| &self.places[place])
    }

    /// Exchanges two of them, which have so many before them.
    #[inline]
    pub fn swap(&mut self, one: usize, other: usize) {
        let place = |at| self.first.wrapping_add(at) & (self.places.len() - 1);
        let (one, other) = (place(one), place(other));
        self.places.swap(one, other);
    }

    /// Takes the first.
    #[inline]
    pub fn pop_front(&mut self) -> Option<T> {
        let front = self.front()?;
        self.first = self.first.wrapping_add(1);
        Some(front)
    }

    /// Takes the first as long as it `is_over`.
    #[inline]
    pub fn drop_while(&mut self, is_over: impl Fn(&T) -> bool) {
        let mask = self.places.len() - 1;
        while self.first != self.end && is_over(&self.places[self.first & mask]) {
            self.first = self.first.wrapping_add(1);
        }
    }

    /// Puts `item` behind the others.
    #[inline]
    pub fn push_back(&mut self, item: T) {
        *self.push_place() = item;
    }

    /// A place behind the others, which holds anything.
    #[inline]
    pub fn push_place(&mut self) -> &mut T {
        if self.len() == self.places.len() {
            self.grow();
        }
        let end = self.end;
        self.end = end.wrapping_add(1);
        &mut self.places[end & (self.places.len() - 1)]
    }

    #[cold]
    fn grow(&mut self) {
        let (len, mask) = (self.len(), self.places.len() - 1);
        let mut wider = vec![T::default(); 2 * self.places.len()];
        for (at, place) in wider.iter_mut().take(len).enumerate() {
            *place = self.places[self.first.wrapping_add(at) & mask];
        }
        (self.places, self.first, self.end) = (wider.into_boxed_slice(), 0, len);
    }
}

impl<T: Copy + Default> FromIterator<T> for Ring<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        let mut ring = Self::default();
        items.into_iter().for_each(|item| ring.push_back(item));
        ring
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::Rng;
    use std::collections::VecDeque;

    #[test]
    fn a_ring_agrees_with_a_deque_while_it_grows_and_goes_round() {
        let (mut rng, mut ring, mut deque) =
            (Rng::stream(1, "ring"), Ring::default(), VecDeque::new());
        for step in 0..20_000u32 {
            // Longer and shorter by turns.
            if rng.below(5) < if step / 2_000 % 2 == 0 { 3 } else { 2 } {
                ring.push_back(step);
                deque.push_back(step);
            } else {
                assert_eq!(ring.pop_front(), deque.pop_front());
            }
            assert_eq!((ring.front(), ring.len()), (deque.front().copied(), deque.len()));
            assert_eq!(ring.back(), deque.back().copied());
            assert!((0..ring.len()).filter_map(|at| ring.get(at)).eq(&deque), "in their order");
        }
        assert!(ring.places.len() > 16, "it has grown");
    }
}
