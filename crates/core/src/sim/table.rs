//! Tables of a hot path, read by numbers that their owner gave out.

use std::ops::{Deref, DerefMut, Index, IndexMut};

/// A vector whose single elements are read without a check of the bounds.
///
/// A number comes from the table's owner: the layout that it was sized by, or the slab that gave it
/// out. No number from outside (a command, a file) is used before it was compared with the size of
/// the drive. Builds with debug assertions, so all tests, check every access; `get` and iterators
/// are those of a slice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Table<T>(Vec<T>);

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> From<Vec<T>> for Table<T> {
    fn from(rows: Vec<T>) -> Self {
        Self(rows)
    }
}

impl<T> FromIterator<T> for Table<T> {
    fn from_iter<I: IntoIterator<Item = T>>(rows: I) -> Self {
        Self(rows.into_iter().collect())
    }
}

impl<T> Table<T> {
    /// Adds a row.
    #[inline]
    pub fn push(&mut self, row: T) {
        self.0.push(row);
    }

    /// Grows, or shrinks, to `len` rows, new ones like `row`.
    pub fn resize(&mut self, len: usize, row: T)
    where
        T: Clone,
    {
        self.0.resize(len, row);
    }
}

impl<T> Index<usize> for Table<T> {
    type Output = T;

    #[inline(always)]
    fn index(&self, number: usize) -> &T {
        debug_assert!(number < self.0.len(), "row {number} of a table of {}", self.0.len());
        // SAFETY: the owner of the table gave the number out, see above.
        unsafe { self.0.get_unchecked(number) }
    }
}

impl<T> IndexMut<usize> for Table<T> {
    #[inline(always)]
    fn index_mut(&mut self, number: usize) -> &mut T {
        debug_assert!(number < self.0.len(), "row {number} of a table of {}", self.0.len());
        // SAFETY: the owner of the table gave the number out, see above.
        unsafe { self.0.get_unchecked_mut(number) }
    }
}

impl<T> Deref for Table<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T> DerefMut for Table<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.0
    }
}

impl<'a, T> IntoIterator for &'a Table<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(expected = "row 3 of a table of 3")]
    fn a_number_that_nobody_gave_out_is_a_defect() {
        let table: Table<u32> = (0..3).collect();
        let _ = table[3];
    }

    #[test]
    fn rows_are_those_of_the_vector() {
        let mut table = Table::from(vec![1, 2, 3]);
        table[1] = 7;
        table.push(4);
        assert_eq!((table.iter().copied().collect(), table.get(4)), (vec![1, 7, 3, 4], None));
    }
}
