//! The content that an array begins with: parity over what its members hold, and the check of it.

use super::link::Stamps;
use super::{Array, parity};
#[cfg(test)]
use crate::units::{Instant, Member};

impl Array {
    /// The parity of what the members hold at the start.
    pub(super) fn make_parity(&mut self) {
        let (k, n) = (self.layout.data, self.layout.members);
        for row in 0..self.layout.rows {
            let version = |index| {
                let member = &self.members[self.layout.member(row, index).index()];
                u32::from(member.drive().holds_page(row))
            };
            let mut stamps: parity::Row = (0..k).map(|index| Some(version(index))).collect();
            stamps.resize(n as usize, None);
            for index in k..n {
                let stamp = parity::recover(&mut Stamps, &self.layout, &stamps, index).unwrap_or(0);
                self.members[self.layout.member(row, index).index()]
                    .drive_mut()
                    .put_content(row, stamp);
            }
        }
        // A drive's own parity is made of what it holds now.
        self.members.iter_mut().for_each(|member| member.drive_mut().make_parity());
    }

    /// The member fails now.
    #[cfg(test)]
    pub(crate) fn fails(&mut self, now: Instant, member: Member) {
        if self.fail_member(now, member, false) {
            self.bury(now, member);
        }
    }

    /// Rows whose parity is not that of their data, if `content` is what each member holds of each
    /// row.
    #[cfg(test)]
    pub(crate) fn wrong_rows(&self, content: impl Fn(Member, u32) -> u32) -> Vec<u32> {
        let (k, n) = (self.layout.data, self.layout.members);
        let is_wrong = |row: &u32| {
            let held = |index| Some(content(self.layout.member(*row, index), *row));
            let mut known: parity::Row = (0..k).map(held).collect();
            known.resize(n as usize, None);
            (k..n).any(|index| {
                parity::recover(&mut Stamps, &self.layout, &known, index) != held(index)
            })
        };
        (0..self.layout.rows).filter(is_wrong).collect()
    }
}
