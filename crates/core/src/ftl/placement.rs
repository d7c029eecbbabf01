//! Placement: which lane a logical page is written to.

use super::{Allocation, Dimension, FtlSpec, Stripe};
use crate::flash::{Device, Layout};
use crate::sim::Divisor;
use crate::units::Lpn;

/// The order of the lanes and the cursor of dynamic allocation.
#[derive(Clone, Debug)]
pub struct Placement {
    allocation: Allocation,
    /// Lanes in the order in which consecutive stripe units visit them.
    order: Vec<u16>,
    by_stripe: Divisor,
    by_lanes: Divisor,
    /// Dynamic: the place in `order` that is written now, and map units left there.
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
        Self {
            allocation: spec.allocation,
            order: lane_order(spec.order, device),
            by_stripe: Divisor::new(stripe),
            by_lanes: Divisor::new(layout.lanes),
            cursor: 0,
            left: stripe,
        }
    }

    /// Static allocation: the lane of `lpn`, if its address decides.
    #[inline]
    pub fn fixed(&self, lpn: Lpn) -> Option<u32> {
        match self.allocation {
            Allocation::Static => Some(self.striped(lpn)),
            Allocation::Dynamic => None,
        }
    }

    /// The lane that striping gives `lpn`, whatever the allocation (preconditioning fills in this order).
    #[inline]
    pub fn striped(&self, lpn: Lpn) -> u32 {
        let (_, place) = self.by_lanes.split(self.by_stripe.quotient(lpn.0));
        u32::from(self.order[place as usize])
    }

    /// Dynamic allocation: the next lane in turn that `can_take` a page; `None` when none can.
    #[inline]
    pub fn next(&mut self, can_take: impl Fn(u32) -> bool) -> Option<u32> {
        for _ in 0..self.order.len() {
            let lane = u32::from(self.order[self.cursor as usize]);
            if can_take(lane) {
                self.left -= 1;
                if self.left == 0 {
                    self.advance();
                }
                return Some(lane);
            }
            self.advance();
        }
        None
    }

    /// Dynamic allocation: nothing more goes to `lane` in this turn.
    pub fn leave(&mut self, lane: u32) {
        if u32::from(self.order[self.cursor as usize]) == lane && self.left < self.by_stripe.get() {
            self.advance();
        }
    }

    fn advance(&mut self) {
        self.cursor = (self.cursor + 1) % self.order.len() as u32;
        self.left = self.by_stripe.get();
    }
}

/// Lanes in the order of `dimensions`, fastest first.
fn lane_order(dimensions: [Dimension; 4], device: &Device) -> Vec<u16> {
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
