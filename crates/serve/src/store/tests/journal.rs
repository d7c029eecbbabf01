//! The journal of a client that writes to a store.

use std::collections::BTreeMap;

/// The client's journal: of each sector every value since the one that is promised, each with the
/// number of its request.
pub(super) struct Journal {
    pub sectors: Vec<Vec<(u32, u32)>>,
    /// Writes under way or acknowledged since the last loss, in their order: the first sector, how
    /// many, and the value.
    pub next: u32,
    pub under_way: BTreeMap<u64, Vec<(usize, u32)>>,
    pub acknowledged: Vec<(usize, u32)>,
    pub flushes: BTreeMap<u64, Vec<(usize, u32)>>,
}

impl Journal {
    pub fn new(sectors: usize) -> Self {
        Self {
            sectors: vec![vec![(0, 0)]; sectors],
            next: 0,
            under_way: BTreeMap::new(),
            acknowledged: Vec::new(),
            flushes: BTreeMap::new(),
        }
    }

    pub fn promise(&mut self, written: &[(usize, u32)]) {
        for (sector, number) in written {
            let history = &mut self.sectors[*sector];
            if let Some(at) = history.iter().rposition(|(old, _)| old == number) {
                history.drain(..at);
            }
        }
    }

    pub fn lost(&mut self, values: &[u32], is_protected: bool) {
        if is_protected {
            let all = std::mem::take(&mut self.acknowledged);
            self.promise(&all);
        }
        for (sector, (history, value)) in self.sectors.iter_mut().zip(values).enumerate() {
            assert!(
                history.iter().any(|(_, old)| old == value),
                "sector {sector}: {value}, allowed {history:?}"
            );
            *history = vec![(0, *value)];
        }
        self.under_way.clear();
        self.flushes.clear();
        self.acknowledged.clear();
    }
}
