//! Placement: which lane a logical page is written to.

use super::{Allocation, Dimension, FtlSpec, OpenBlocks, PageMap, Stream, Stripe, Stripes};
use crate::flash::{Device, Layout};
use crate::sim::Divisor;
use crate::units::{Lane, Lpn};

/// The order of the lanes and, for each class of data, the cursor of an allocation that the drive
/// chooses.
#[derive(Clone, Debug)]
pub struct Placement {
    allocation: Allocation,
    /// Lanes in the order in which consecutive stripe units visit them.
    order: Vec<u16>,
    /// The place of each lane in `order`.
    places: Vec<u16>,
    /// Dynamic: places whose lane takes rows, one bit each.
    taking: Vec<u64>,
    by_stripe: Divisor,
    by_lanes: Divisor,
    /// Dynamic, by class: whose turn it is.
    turns: Vec<Turn>,
    /// With parity: where the pages of a stripe live.
    stripes: Option<Box<Stripes>>,
}

/// The place in the order of the lanes that is written now, and map units left there.
#[derive(Clone, Copy, Debug)]
struct Turn {
    cursor: u32,
    left: u32,
}

impl Placement {
    /// The placement that `spec` asks for on `device`.
    pub fn new(spec: &FtlSpec, device: &Device, layout: &Layout) -> Self {
        let stripe = match spec.stripe {
            Stripe::MapUnit => 1,
            Stripe::ProgramUnit => layout.units_per_row,
        };
        let order = lane_order(spec.order, device);
        let mut places = vec![0; order.len()];
        for (place, lane) in order.iter().enumerate() {
            places[usize::from(*lane)] = place as u16;
        }
        let mut taking = vec![u64::MAX; order.len().div_ceil(64)];
        if !order.len().is_multiple_of(64) {
            *taking.last_mut().expect("there is a lane") = (1 << (order.len() % 64)) - 1;
        }
        Self {
            allocation: spec.allocation,
            order,
            places,
            taking,
            by_stripe: Divisor::new(stripe),
            by_lanes: Divisor::new(layout.lanes),
            turns: vec![Turn { cursor: 0, left: stripe }; OpenBlocks::of(spec).classes as usize],
            stripes: None,
        }
    }

    /// The way in which the lane of a page is chosen.
    pub fn allocation(&self) -> Allocation {
        self.allocation
    }

    /// Static allocation: pages live where their stripes say.
    pub fn set_stripes(&mut self, stripes: Option<Box<Stripes>>) {
        self.stripes = stripes;
    }

    /// The stripes, where there is parity.
    #[inline]
    pub fn stripes(&self) -> Option<&Stripes> {
        self.stripes.as_deref()
    }

    /// Takes the stripes out.
    pub fn take_stripes(&mut self) -> Option<Box<Stripes>> {
        self.stripes.take()
    }

    /// Static allocation: the lane of `lpn`, if its address decides.
    #[inline]
    pub fn fixed(&self, lpn: Lpn) -> Option<Lane> {
        match self.allocation {
            Allocation::Static => Some(self.striped(lpn)),
            Allocation::Dynamic | Allocation::RoundRobin => None,
        }
    }

    /// The lane of a write that `fixed` leaves open; `None` when none `has_room` now (never under
    /// strict round robin).
    #[inline]
    pub fn next(&mut self, class: u32, has_room: impl Fn(Lane) -> bool) -> Option<Lane> {
        match self.allocation {
            Allocation::RoundRobin => {
                let lane = self.lane_at(self.turns[class as usize].cursor);
                self.taken(class);
                Some(lane)
            }
            Allocation::Static | Allocation::Dynamic => self.next_with_room(class, has_room),
        }
    }

    /// The lane that striping gives `lpn`, whatever the allocation (preconditioning fills in this
    /// order).
    #[inline]
    pub fn striped(&self, lpn: Lpn) -> Lane {
        if let Some(stripes) = &self.stripes {
            return stripes.lane_of(lpn);
        }
        let (_, place) = self.by_lanes.split(self.by_stripe.quotient(lpn.0));
        self.lane_at(place)
    }

    #[inline]
    fn lane_at(&self, place: u32) -> Lane {
        Lane(self.order[place as usize].into())
    }

    /// Dynamic allocation: the next lane in turn that takes rows and `has_room`; `None` when there
    /// is none.
    #[inline]
    fn next_with_room(&mut self, class: u32, has_room: impl Fn(Lane) -> bool) -> Option<Lane> {
        let cursor = self.turns[class as usize].cursor;
        let first = self.next_taking(cursor)?;
        let mut at = first;
        loop {
            let lane = self.lane_at(at);
            if has_room(lane) {
                if at != cursor {
                    self.turns[class as usize] = Turn { cursor: at, left: self.by_stripe.get() };
                }
                self.taken(class);
                return Some(lane);
            }
            at = self.next_taking((at + 1) % self.order.len() as u32)?;
            if at == first {
                return None;
            }
        }
    }

    /// The first place at or after `from`, going round, whose lane takes rows: a word of places at
    /// a time.
    #[inline]
    fn next_taking(&self, from: u32) -> Option<u32> {
        let (words, start) = (self.taking.len() as u32, from / 64);
        let head = self.taking[start as usize] & (u64::MAX << (from % 64));
        if head != 0 {
            return Some(start * 64 + head.trailing_zeros());
        }
        let word = (1..=words)
            .map(|step| (start + step) % words)
            .find(|word| self.taking[*word as usize] != 0)?;
        Some(word * 64 + self.taking[word as usize].trailing_zeros())
    }

    /// Dynamic allocation: `lane` takes more rows, or is passed over.
    pub fn set_taking(&mut self, lane: Lane, taking: bool) {
        let place = self.places[lane.index()];
        let (word, bit) = (&mut self.taking[usize::from(place / 64)], 1 << (place % 64));
        *word = if taking { *word | bit } else { *word & !bit };
    }

    /// Dynamic allocation: nothing more of a class goes to `lane` in this turn.
    pub fn leave(&mut self, lane: Lane, class: u32) {
        let Turn { cursor, left } = self.turns[class as usize];
        if self.lane_at(cursor) == lane && left < self.by_stripe.get() {
            self.advance(class);
        }
    }

    /// Dynamic allocation, of class 0: if it is the turn of `lane`, it was that.
    pub fn skip(&mut self, lane: Lane) {
        let Turn { cursor, left } = self.turns[0];
        if self.lane_at(cursor) == lane && left == self.by_stripe.get() {
            self.advance(0);
        }
    }

    /// One more map unit went to the place of the cursor.
    #[inline]
    fn taken(&mut self, class: u32) {
        let turn = &mut self.turns[class as usize];
        turn.left -= 1;
        if turn.left == 0 {
            self.advance(class);
        }
    }

    fn advance(&mut self, class: u32) {
        let turn = &mut self.turns[class as usize];
        *turn = Turn {
            cursor: (turn.cursor + 1) % self.order.len() as u32,
            left: self.by_stripe.get(),
        };
    }
}

/// Lanes in the order of `dimensions`, fastest first.
pub(super) fn lane_order(dimensions: [Dimension; 4], device: &Device) -> Vec<u16> {
    let (g, planes) = (&device.geometry, device.geometry.planes / device.feature.program_planes);
    let size = |d| match d {
        Dimension::Channel => g.channels,
        Dimension::Way => g.ways,
        Dimension::Die => g.dies,
        Dimension::Plane => planes,
    };
    let lanes = g.channels * g.ways * g.dies * planes;
    let lane_at = |place: u32| {
        let (mut rest, mut at) = (place, [0; 4]);
        for d in dimensions {
            at[d as usize] = rest % size(d);
            rest /= size(d);
        }
        let [channel, way, die, plane] = at;
        (((channel * g.ways + way) * g.dies + die) * planes + plane) as u16
    };
    (0..lanes).map(lane_at).collect()
}
impl PageMap {
    /// The lane that a write of `lpn` goes to. Dynamic allocation passes over lanes that take no
    /// rows now ([`PageMap::set_taking`]) and lanes without room for one more than are `waiting`;
    /// `None` when no lane is left. Strict round robin passes over none. The turns of a class are
    /// its own, so that its rows fill one by one.
    #[inline]
    pub fn place(&mut self, lpn: Lpn, class: u32, waiting: impl Fn(Lane) -> u32) -> Option<Lane> {
        if let Some(lane) = self.placement.fixed(lpn) {
            return Some(lane);
        }
        if self.pslc.is_some() {
            return self.place_beside_cache(waiting);
        }
        let Self { placement, frontiers, pools, by_pool, layout, .. } = self;
        let rows_left = |lane: Lane| {
            let pool = by_pool.quotient(lane.0) as usize;
            if pools[pool].shared {
                return pools[pool].units_above_reserve(layout) / layout.units_per_row;
            }
            let frontier =
                &frontiers[(class * layout.lanes + lane.0) as usize][Stream::Host as usize];
            let blocks = pools[pool].host_blocks_left(class, frontier.opened);
            layout.rows - frontier.row + blocks * layout.rows
        };
        placement.next(class, |lane| waiting(lane) < rows_left(lane))
    }

    /// Dynamic allocation: `lane` takes more rows, or is passed over.
    pub fn set_taking(&mut self, lane: Lane, taking: bool) {
        self.placement.set_taking(lane, taking);
    }

    /// A row of `lane` was closed before it was full: the next page of a stripe goes to the next
    /// lane.
    pub fn row_closed_early(&mut self, lane: Lane, class: u32) {
        self.placement.leave(lane, class);
    }

    /// The lane that striping gives `lpn`, whatever the allocation.
    pub fn striped_lane(&self, lpn: Lpn) -> Lane {
        self.placement.striped(lpn)
    }
}
