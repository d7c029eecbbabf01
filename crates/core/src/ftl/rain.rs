//! The geometry of RAIN: which pages form a stripe, and where its members live. It never touches
//! timing.
//!
//! ttFlash (Yan et al., FAST '17), section 4.2, with the closed form of the authors' code
//! (tinyTailFlash, flash.c, static case 5): of `width` members in as many channels one holds the
//! parity, and it rotates. An address decides its lane for ever, so a stripe's members never
//! change, and a copy that stays in its lane leaves the parity right.
//!
//! With fewer members than channels, stripes lie side by side in sets of `width` channels. Parity
//! pages are logical pages behind the host's, `user + stripe`: the same map, rows and collections
//! serve them.
//!
//! **Trap: deallocation.** The parity still holds a page that the host gave back, so the page stays
//! mapped, hidden from the host, until an update computes the parity without it or the whole stripe
//! is given back.

use super::{Dimension, FtlSpec, PageMap, Stripe, placement};
use crate::flash::Device;
use crate::sim::Divisor;
use crate::units::{Lane, Lpn, Ppn};

/// Members of a stripe at most: more channels than any drive has.
pub const WIDTH_MAX: u32 = 64;

/// The stripes of a drive.
#[derive(Clone, Debug)]
pub struct Stripes {
    /// Map units that the host sees; parity pages follow.
    user: u32,
    by_unit: Divisor,
    by_data: Divisor,
    by_sets: Divisor,
    by_groups: Divisor,
    by_width: Divisor,
    /// The lane of each (group, channel).
    lanes: Vec<u16>,
    channels: u32,
}

impl Stripes {
    /// Stripes of `width` members over `device`, whose `user` map units are whole stripes.
    fn new(ftl: &FtlSpec, device: &Device, width: u32, user: u32, unit: u32) -> Self {
        let channels = device.geometry.channels;
        debug_assert!(
            width >= 2 && channels.is_multiple_of(width) && user.is_multiple_of((width - 1) * unit)
        );
        // Groups are numbered in the order of placement, without the channel.
        let mut order = [Dimension::Channel; 4];
        let others = ftl.order.into_iter().filter(|dimension| *dimension != Dimension::Channel);
        order[1..].iter_mut().zip(others).for_each(|(slot, dimension)| *slot = dimension);
        let lanes = placement::lane_order(order, device);
        Self {
            user,
            by_unit: Divisor::new(unit),
            by_data: Divisor::new(width - 1),
            by_sets: Divisor::new(channels / width),
            by_groups: Divisor::new(lanes.len() as u32 / channels),
            by_width: Divisor::new(width),
            lanes,
            channels,
        }
    }

    /// The lanes of each group in turn, and how many they are: a stripe spreads over the lanes of
    /// one.
    fn groups(&self) -> (&[u16], u32) {
        (&self.lanes, self.by_width.get())
    }

    /// Data pages in a stripe.
    #[inline]
    pub fn data(&self) -> u32 {
        self.by_data.get()
    }

    /// How many stripes there are.
    pub fn count(&self) -> u32 {
        self.user / self.data()
    }

    /// Map units that go to a lane before the next: stripes that interleave.
    pub fn unit(&self) -> u32 {
        self.by_unit.get()
    }

    /// The stripe of a data page, and its number in it.
    #[inline]
    pub fn member_of(&self, lpn: Lpn) -> (u32, u32) {
        debug_assert!(lpn.0 < self.user);
        let (chunk, offset) = self.by_unit.split(lpn.0);
        let (stripe, member) = self.by_data.split(chunk);
        (stripe * self.unit() + offset, member)
    }

    /// Data page `member` of a stripe.
    #[inline]
    pub fn member(&self, stripe: u32, member: u32) -> Lpn {
        let (row, offset) = self.by_unit.split(stripe);
        Lpn((row * self.data() + member) * self.unit() + offset)
    }

    /// The data pages of a stripe in their order.
    #[inline]
    pub fn members(&self, stripe: u32) -> impl Iterator<Item = Lpn> + use<> {
        let (Lpn(first), unit) = (self.member(stripe, 0), self.unit());
        (0..self.data()).map(move |member| Lpn(first + member * unit))
    }

    /// The parity page of a stripe.
    #[inline]
    pub fn parity(&self, stripe: u32) -> Lpn {
        Lpn(self.user + stripe)
    }

    /// The lane where a page, data or parity, always lives.
    #[inline]
    pub fn lane_of(&self, lpn: Lpn) -> Lane {
        if lpn.0 >= self.user {
            let (base, parity) = self.place(lpn.0 - self.user);
            return Lane(self.lanes[(base + parity) as usize].into());
        }
        let (stripe, member) = self.member_of(lpn);
        let (base, parity) = self.place(stripe);
        Lane(self.lanes[(base + member + u32::from(member >= parity)) as usize].into())
    }

    /// The first of the stripe's places in `lanes`, and which of them is the parity's.
    #[inline]
    fn place(&self, stripe: u32) -> (u32, u32) {
        let (rest, set) = self.by_sets.split(self.by_unit.quotient(stripe));
        let (round, group) = self.by_groups.split(rest);
        let (_, turn) = self.by_width.split(group + round);
        (group * self.channels + set * self.by_width.get(), self.data() - turn)
    }
}

impl PageMap {
    /// This empty map with parity: of its logical pages one in `width` becomes parity; 0 is none.
    pub fn with_parity(mut self, ftl: &FtlSpec, device: &Device, width: u32) -> Self {
        let Some(stripes) = self.mapping.logical().checked_div(width) else { return self };
        let unit = match ftl.stripe {
            Stripe::MapUnit => 1,
            Stripe::ProgramUnit => self.layout.units_per_row,
        };
        self.user = stripes * (width - 1);
        self.trimmed = vec![0; (self.user as usize).div_ceil(64)];
        self.placement
            .set_stripes(Some(Box::new(Stripes::new(ftl, device, width, self.user, unit))));
        self
    }

    /// The stripes, where there is parity.
    #[inline]
    pub fn stripes(&self) -> Option<&Stripes> {
        self.placement.stripes()
    }

    /// The lanes of each plane group in turn, in the order of their channels, and how many they
    /// are: those over which a stripe spreads, or without parity one of each channel, at the same
    /// place in it.
    pub fn plane_groups(&self) -> (Vec<Lane>, u32) {
        if let Some((lanes, width)) = self.stripes().map(Stripes::groups) {
            return (lanes.iter().map(|lane| Lane((*lane).into())).collect(), width);
        }
        let (lanes, channels) = (self.layout.lanes, self.layout.channels);
        let groups = lanes / channels;
        let lane_at = |place| Lane(place % channels * groups + place / channels);
        ((0..lanes).map(lane_at).collect(), channels)
    }

    /// Where a page of a stripe lies that its parity holds, deallocated or not; `None` where there
    /// is none.
    #[inline]
    pub fn member_at(&self, lpn: Lpn) -> Option<Ppn> {
        Some(self.mapping.physical(lpn)).filter(|ppn| ppn.is_some())
    }

    /// True when the host gave `lpn` back and its stripe's parity still holds it.
    #[inline]
    pub fn is_trimmed(&self, lpn: Lpn) -> bool {
        self.trimmed_pages > 0 && self.trimmed[(lpn.0 / 64) as usize] >> (lpn.0 % 64) & 1 == 1
    }

    /// With parity: the host gives `lpn` back, or has it again.
    #[inline]
    pub fn set_trimmed(&mut self, lpn: Lpn, trimmed: bool) {
        if self.is_trimmed(lpn) != trimmed {
            self.trimmed[(lpn.0 / 64) as usize] ^= 1 << (lpn.0 % 64);
            self.trimmed_pages =
                if trimmed { self.trimmed_pages + 1 } else { self.trimmed_pages - 1 };
        }
    }

    /// With parity: lets go of a deallocated page that the parity does not hold any more.
    pub fn release_trimmed(&mut self, lpn: Lpn) {
        if self.is_trimmed(lpn) {
            self.set_trimmed(lpn, false);
            self.trim(lpn);
        }
    }

    /// Lets go of a stripe of which the host has nothing any more; its parity is on flash.
    pub fn release_empty(&mut self, stripe: u32) {
        let Some(stripes) = self.placement.stripes().filter(|_| self.trimmed_pages > 0) else {
            return;
        };
        let (members, parity) = (stripes.data(), stripes.parity(stripe));
        let page = |map: &Self, member| map.stripes().map(|stripes| stripes.member(stripe, member));
        let holds = |lpn: Lpn| self.member_at(lpn).is_some() && !self.is_trimmed(lpn);
        if (0..members).filter_map(|member| page(self, member)).any(holds) {
            return;
        }
        for member in 0..members {
            if let Some(lpn) = page(self, member) {
                self.release_trimmed(lpn);
            }
        }
        self.trim(parity);
    }
}
