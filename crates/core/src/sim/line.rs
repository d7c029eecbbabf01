//! A queue with its first at hand, for what is mostly alone in it.

use super::Ring;

/// A first-in-first-out queue: the first in its place, the others behind it in a ring.
#[derive(Clone, Debug)]
pub(crate) struct Line<T> {
    len: usize,
    first: T,
    others: Ring<T>,
}

impl<T: Copy + Default> Default for Line<T> {
    fn default() -> Self {
        Self { len: 0, first: T::default(), others: Ring::default() }
    }
}

impl<T: Copy + Default> Line<T> {
    /// True when nothing waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The first in the queue.
    #[inline]
    pub fn front(&self) -> Option<T> {
        (self.len > 0).then_some(self.first)
    }

    /// Takes the first.
    #[inline]
    pub fn pop_front(&mut self) -> Option<T> {
        let front = self.front()?;
        self.len -= 1;
        if let Some(next) = self.others.pop_front() {
            self.first = next;
        }
        Some(front)
    }

    /// Puts `item` behind the others.
    #[inline]
    pub fn push_back(&mut self, item: T) {
        match self.len {
            0 => self.first = item,
            _ => self.others.push_back(item),
        }
        self.len += 1;
    }
}

impl<T: Copy + Default> FromIterator<T> for Line<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        let mut line = Self::default();
        items.into_iter().for_each(|item| line.push_back(item));
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::Rng;
    use std::collections::VecDeque;

    #[test]
    fn a_line_agrees_with_a_deque_from_none_to_many() {
        let (mut rng, mut line, mut deque) =
            (Rng::stream(1, "line"), Line::default(), VecDeque::new());
        for step in 0..20_000u32 {
            if rng.below(5) < if step / 500 % 2 == 0 { 3 } else { 2 } {
                line.push_back(step);
                deque.push_back(step);
            } else {
                assert_eq!(line.pop_front(), deque.pop_front());
            }
            assert_eq!((line.front(), line.is_empty()), (deque.front().copied(), deque.is_empty()));
        }
    }
}
