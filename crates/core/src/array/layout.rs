//! Where a page of the array lies: which member, which row, and which members hold the row's
//! parity.
//!
//! A *row* is one page of each member at the same place, and the unit in which parity is kept, as
//! is Linux md's stripe head. A *stripe* is a chunk of each member: `chunk` rows. Parity rotates
//! from stripe to stripe in md's default order, left-symmetric: data begins on the member after the
//! parity and wraps around.

use crate::units::{Lba, Member};

/// How data is kept on several members.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum RaidLevel {
    /// Striped, without redundancy.
    Raid0,
    /// Every member holds everything.
    Raid1,
    /// One parity: any one member may be missing.
    #[default]
    Raid5,
    /// Two parities: any two members may be missing.
    Raid6,
    /// `array.parities` of them, an erasure code: any so many members may be missing.
    Ec,
}

impl RaidLevel {
    /// Members whose content follows from the others' in each row, so many of an erasure code.
    pub fn parities(self, members: u32, of_code: u32) -> u32 {
        match self {
            Self::Raid0 => 0,
            Self::Raid1 => members - 1,
            Self::Raid5 => 1,
            Self::Raid6 => 2,
            Self::Ec => of_code,
        }
    }

    /// True where a page is computed from several others.
    pub fn computes(self) -> bool {
        matches!(self, Self::Raid5 | Self::Raid6 | Self::Ec)
    }

    /// The fewest members that make sense.
    pub fn least_members(self, of_code: u32) -> u32 {
        match self {
            Self::Raid0 | Self::Raid1 => 2,
            Self::Raid5 => 3,
            Self::Raid6 => 4,
            Self::Ec => of_code.saturating_add(2),
        }
    }
}

/// The geometry of an array.
#[derive(Clone, Debug)]
pub struct ArrayLayout {
    /// How data is kept.
    pub level: RaidLevel,
    /// Members, N.
    pub members: u32,
    /// Members with data in a row, k.
    pub data: u32,
    /// Rows of a stripe: pages of a chunk.
    pub chunk: u32,
    /// Sectors of a page.
    pub page_sectors: u32,
    /// Rows that are used: whole stripes.
    pub rows: u32,
}

/// A page's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The row: the page's number on its member.
    pub row: u32,
    /// The member.
    pub member: Member,
    /// Which data page of its row it is, from 0 to k - 1.
    pub index: u32,
}

impl ArrayLayout {
    /// An array of `members` with `member_pages` pages each and chunks of `chunk` pages.
    pub fn new(
        (level, of_code): (RaidLevel, u32),
        members: u32,
        chunk: u32,
        page_sectors: u32,
        member_pages: u32,
    ) -> Self {
        let data = members - level.parities(members, of_code);
        Self { level, members, data, chunk, page_sectors, rows: member_pages / chunk * chunk }
    }

    /// Pages that the host sees.
    pub fn pages(&self) -> u64 {
        u64::from(self.rows) * u64::from(self.data)
    }

    /// Where page `page` lies.
    #[inline]
    pub fn place(&self, page: u64) -> Place {
        let chunk = u64::from(self.chunk);
        let (number, offset) = if chunk == 1 { (page, 0) } else { (page / chunk, page % chunk) };
        let (stripe, index) =
            (number / u64::from(self.data), (number % u64::from(self.data)) as u32);
        let row = (stripe * chunk + offset) as u32;
        Place { row, member: self.member_at(self.first_data(row), index), index }
    }

    /// The page at a place: the inverse of [`ArrayLayout::place`].
    pub fn page(&self, row: u32, index: u32) -> u64 {
        let (stripe, offset) = (u64::from(row / self.chunk), u64::from(row % self.chunk));
        (stripe * u64::from(self.data) + u64::from(index)) * u64::from(self.chunk) + offset
    }

    /// The member that holds the row's page `index`: data from 0 to k - 1, parity from k on.
    #[inline]
    pub fn member(&self, row: u32, index: u32) -> Member {
        self.member_at(self.first_data(row), index)
    }

    /// Index of the page that `member` holds in the row: below k data, from k on parity.
    #[inline]
    pub fn index(&self, row: u32, member: Member) -> u32 {
        let (member, first) = (member.0, self.first_data(row).0);
        if member >= first { member - first } else { member + self.members - first }
    }

    /// The row's first sector on a member.
    pub fn lba(&self, row: u32) -> Lba {
        Lba(u64::from(row) * u64::from(self.page_sectors))
    }

    #[inline]
    fn member_at(&self, first: Member, index: u32) -> Member {
        let member = first.0 + index;
        Member(if member >= self.members { member - self.members } else { member })
    }

    /// The member of the row's first data page: the one after the parities. Parity P of stripe 0 is
    /// on the last member.
    #[inline]
    fn first_data(&self, row: u32) -> Member {
        if self.level == RaidLevel::Raid0 {
            return Member(0);
        }
        let stripe = if self.chunk == 1 { row } else { row / self.chunk };
        let parity = self.members - 1 - stripe % self.members;
        let parities = self.members - self.data;
        Member((parity + parities) % self.members)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// md's left-symmetric table for four members, as every text on RAID-5 prints it.
    #[test]
    fn raid5_of_four_is_left_symmetric() {
        let layout = ArrayLayout::new((RaidLevel::Raid5, 0), 4, 1, 8, 8);
        let row = |row: u32| -> Vec<String> {
            let name = |index| {
                if index < 3 { format!("{}", layout.page(row, index)) } else { "P".to_string() }
            };
            (0..4).map(|member| name(layout.index(row, Member(member)))).collect()
        };
        assert_eq!(row(0), ["0", "1", "2", "P"]);
        assert_eq!(row(1), ["4", "5", "P", "3"]);
        assert_eq!(row(2), ["8", "P", "6", "7"]);
        assert_eq!(row(3), ["P", "9", "10", "11"]);
        assert_eq!(row(4), ["12", "13", "14", "P"]);
    }

    #[test]
    fn raid6_has_q_after_p_and_data_after_both() {
        let layout = ArrayLayout::new((RaidLevel::Raid6, 0), 4, 1, 8, 8);
        let members = |row| (0..4).map(|index| layout.member(row, index).0).collect::<Vec<_>>();
        // Data 0 and 1, then P and Q.
        assert_eq!(members(0), [1, 2, 3, 0]);
        assert_eq!(members(1), [0, 1, 2, 3]);
        assert_eq!(members(3), [2, 3, 0, 1]);
    }

    #[test]
    fn every_page_has_a_place_of_its_own() {
        for (level, members, chunk) in [
            (RaidLevel::Raid0, 3, 4),
            (RaidLevel::Raid1, 3, 2),
            (RaidLevel::Raid5, 5, 3),
            (RaidLevel::Raid6, 6, 1),
            (RaidLevel::Raid5, 3, 16),
            (RaidLevel::Ec, 9, 2),
        ] {
            let layout = ArrayLayout::new((level, 4), members, chunk, 8, 100);
            assert_eq!(layout.rows, 100 / chunk * chunk);
            let mut taken = vec![false; (layout.rows * members) as usize];
            for page in 0..layout.pages() {
                let Place { row, member, index } = layout.place(page);
                assert!(row < layout.rows && index < layout.data);
                assert_eq!((layout.page(row, index), layout.member(row, index)), (page, member));
                assert_eq!(layout.index(row, member), index);
                assert!(!std::mem::replace(&mut taken[(row * members + member.0) as usize], true));
            }
            for row in 0..layout.rows {
                for index in layout.data..members {
                    let member = layout.member(row, index);
                    assert!(!std::mem::replace(
                        &mut taken[(row * members + member.0) as usize],
                        true
                    ));
                }
            }
            assert!(taken.into_iter().all(|taken| taken));
        }
    }
}
