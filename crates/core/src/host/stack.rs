//! Extents in the order of their last write: the LRU stack of Mattson et al. (IBM Systems Journal
//! 1970), which answers how many were written since and finds the one at a depth in O(log n).
//!
//! Positions are times: an extent that is written again leaves its position and takes the newest
//! one. A Fenwick tree (1994) counts those that are live below each position.

/// A stack of values with positions.
#[derive(Clone, Debug)]
pub(super) struct Stack<T> {
    /// Fenwick tree over the positions, 1-based.
    tree: Box<[u32]>,
    values: Box<[T]>,
    is_live: Box<[bool]>,
    /// The next position.
    next: usize,
    live: usize,
}

impl<T: Copy + Default> Stack<T> {
    /// Room for `most` live values, and as many positions again between two compactions.
    pub(super) fn new(most: usize) -> Self {
        let positions = 2 * most.max(1);
        Self {
            tree: vec![0; positions + 1].into(),
            values: vec![T::default(); positions].into(),
            is_live: vec![false; positions].into(),
            next: 0,
            live: 0,
        }
    }

    /// Live values.
    pub(super) fn len(&self) -> usize {
        self.live
    }

    /// No position is left: [`Self::compact`] makes room.
    pub(super) fn is_full(&self) -> bool {
        self.next == self.values.len()
    }

    /// The newest one; returns its position.
    pub(super) fn push(&mut self, value: T) -> usize {
        let at = self.next;
        (self.values[at], self.is_live[at]) = (value, true);
        self.next += 1;
        self.live += 1;
        let mut node = at + 1;
        while node < self.tree.len() {
            self.tree[node] += 1;
            node += node & node.wrapping_neg();
        }
        at
    }

    /// Takes the one at `at` out.
    pub(super) fn remove(&mut self, at: usize) -> T {
        debug_assert!(self.is_live[at]);
        self.is_live[at] = false;
        self.live -= 1;
        let mut node = at + 1;
        while node < self.tree.len() {
            self.tree[node] -= 1;
            node += node & node.wrapping_neg();
        }
        self.values[at]
    }

    /// Live values older than position `at`.
    pub(super) fn older(&self, at: usize) -> usize {
        let (mut node, mut sum) = (at, 0);
        while node > 0 {
            sum += self.tree[node] as usize;
            node &= node - 1;
        }
        sum
    }

    /// Position of the live value that has `older` live ones before it; there are more than that.
    pub(super) fn position(&self, older: usize) -> usize {
        debug_assert!(older < self.live);
        let (mut at, mut left) = (0, older);
        let mut step = self.tree.len().next_power_of_two() / 2;
        while step > 0 {
            let node = at + step;
            if node < self.tree.len() && self.tree[node] as usize <= left {
                left -= self.tree[node] as usize;
                at = node;
            }
            step /= 2;
        }
        at
    }

    /// Moves live values together, the order kept; returns where position `mark` is now: the first
    /// live one at or after it.
    pub(super) fn compact(&mut self, mark: usize) -> usize {
        let now = self.older(mark);
        let mut to = 0;
        for from in 0..self.next {
            if self.is_live[from] {
                self.values[to] = self.values[from];
                to += 1;
            }
        }
        self.next = to;
        for (at, is_live) in self.is_live.iter_mut().enumerate() {
            *is_live = at < to;
        }
        // A node counts the positions of its own low bits.
        for (node, count) in self.tree.iter_mut().enumerate().skip(1) {
            let low = node & node.wrapping_neg();
            *count = node.min(to).saturating_sub(node - low) as u32;
        }
        now
    }

    /// Live values with their positions, the oldest first.
    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, T)> + '_ {
        (0..self.next).filter(|at| self.is_live[*at]).map(|at| (at, self.values[at]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Held against a list in which the newest is the last.
    #[test]
    fn it_is_the_list_that_a_naive_model_keeps() {
        let mut random = crate::sim::Rng::stream(1, "stack");
        let (mut stack, mut list) = (Stack::new(50), Vec::new());
        for value in 0..2_000_u64 {
            if stack.is_full() {
                let mark = stack.compact(stack.position(list.len() / 2));
                assert_eq!(mark, list.len() / 2);
            }
            if list.len() == 50 || (!list.is_empty() && random.below(2) == 0) {
                let older = random.below(list.len() as u64) as usize;
                let at = stack.position(older);
                assert_eq!(stack.older(at), older);
                assert_eq!(stack.remove(at), list.remove(older));
            }
            stack.push(value);
            list.push(value);
            assert_eq!(stack.len(), list.len());
            assert!(stack.iter().map(|(_, value)| value).eq(list.iter().copied()));
        }
    }
}
