//! Numbers in an order, linked both ways: any of them leaves, or goes to the end, at once.

/// The order; each number below a limit is in it once at most.
#[derive(Clone, Debug)]
pub(super) struct Queue {
    /// Before and after each number; the last entry is the ends.
    links: Vec<(u32, u32)>,
    pub len: u32,
}

impl Queue {
    pub fn new(numbers: u32) -> Self {
        Self { links: vec![(numbers, numbers); numbers as usize + 1], len: 0 }
    }

    fn ends(&self) -> u32 {
        self.links.len() as u32 - 1
    }

    pub fn first(&self) -> Option<u32> {
        (self.len > 0).then(|| self.links[self.ends() as usize].1)
    }

    /// All of them, in their order.
    pub fn iter(&self) -> impl Iterator<Item = u32> {
        let ends = self.ends();
        let after = move |number: u32| {
            let next = self.links[number as usize].1;
            (next != ends).then_some(next)
        };
        std::iter::successors(after(ends), move |number| after(*number))
    }

    pub fn push(&mut self, number: u32) {
        let ends = self.ends();
        let last = self.links[ends as usize].0;
        self.links[number as usize] = (last, ends);
        self.links[last as usize].1 = number;
        self.links[ends as usize].0 = number;
        self.len += 1;
    }

    pub fn remove(&mut self, number: u32) {
        let (before, after) = self.links[number as usize];
        self.links[before as usize].1 = after;
        self.links[after as usize].0 = before;
        self.len -= 1;
    }
}
