//! Parity over superblocks: which rows form a stripe, which of them is parity, and when a lane may
//! take what.
//!
//! Current drives do it in this way: a superblock is written once, row by row over all its lanes,
//! one row of each stripe holds the XOR of the others, and the whole of it is reclaimed at once. So
//! membership is physical, nothing is ever updated in place, and a stripe ends with the erase of
//! its superblock.
//!
//! **Stripes.** The lanes at one place of `width` channels are a *set* (as in `rain`: with more
//! channels sets lie side by side). Row r of the block of one number on the lanes of set k is a
//! stripe; its place (r + k) mod `width` is the parity's, and each map unit of that row is the XOR
//! of the same map unit of the others. The number of the block is left out on purpose: a lane must
//! know that its next row is parity before its next block is chosen.
//!
//! **Order.** A lane's rows are programmed in order, so one whose next row is parity takes no data
//! before that row is on its way, and it is when all others of its stripe are (*sealed*: their data
//! is known). A row of host data is opened when its first page is placed, not when its program
//! starts: only so is its stripe known while it gathers.
//!
//! **Nothing waits in a circle.** Take a lane of a set with the fewest rows opened, p, which
//! gathers nothing. If row p is data there, the lane takes data (there is room: see below). If it
//! is parity, each other lane has opened at least p rows; if all have sealed row p, the parity is
//! on its way that instant ([`PageMap::due_parity`] is asked whenever a row is sealed). Otherwise
//! one has not: either it has not opened row p, which is data there (a stripe has one parity), and
//! it takes data; or it gathers it, takes data, and is sealed when it is full or has waiters. So at
//! any time some lane of each set takes data. On the dies, a program was given its row and its
//! content when it was queued, and waits for nothing but those queued before it.
//!
//! **Room.** A lane behind the others finds their superblock open. Only a lane in front needs a
//! free one, and then all others end in superblocks that are open; so what is closed suffices for a
//! collection, as without parity. Copies fill their superblock row by row: a lane takes its next
//! copy only when no lane is behind it (or that one waits for parity of the very row). So one free
//! superblock holds a victim's copies: of its rows one in `width` was parity, too.
//!
//! **Open stripes.** Between two parity rows of a lane lie less than 2 x `width` rows, so a lane is
//! never further ahead of its set. (Where blocks have fewer rows than `width` a lane may hold no
//! parity; then the host's two open superblocks are the limit.) The controller keeps a row of sums
//! for each open stripe: at most 2 x `width` for each set and stream, and about one where lanes
//! keep pace.

use super::placement::lane_order;
use super::{Dimension, FtlSpec, Mapping, PageMap, Stream};
use crate::flash::{Block, Device, GARBAGE};
use crate::sim::{Divisor, mix, unmix};
use crate::units::{Lane, Pool, Ppn};

/// The stripes of a drive with parity over superblocks.
#[derive(Clone, Debug)]
pub struct Superstripes {
    by_width: Divisor,
    by_lane: Divisor,
    /// The lanes of each set in turn.
    lanes: Vec<u16>,
    /// The place of each lane in `lanes`.
    places: Vec<u16>,
    /// By lane: the host's last row is opened and not yet sealed.
    gathers: Vec<bool>,
    /// Rows of the copy stream that every lane has opened, as last seen.
    copied_evenly: u64,
}

impl Superstripes {
    fn new(ftl: &FtlSpec, device: &Device, width: u32, units_per_lane: u32) -> Self {
        debug_assert!(width >= 2 && device.geometry.channels.is_multiple_of(width));
        // Channels first, whatever the order of placement: neighbours in the list are on
        // neighbouring channels.
        let mut order = [Dimension::Channel; 4];
        let others = ftl.order.into_iter().filter(|dimension| *dimension != Dimension::Channel);
        order[1..].iter_mut().zip(others).for_each(|(slot, dimension)| *slot = dimension);
        let lanes = lane_order(order, device);
        let mut places = vec![0; lanes.len()];
        lanes
            .iter()
            .enumerate()
            .for_each(|(place, lane)| places[usize::from(*lane)] = place as u16);
        let (by_width, by_lane) = (Divisor::new(width), Divisor::new(units_per_lane));
        Self {
            by_width,
            by_lane,
            gathers: vec![false; lanes.len()],
            lanes,
            places,
            copied_evenly: 0,
        }
    }

    /// Members of a stripe, the parity among them.
    pub fn width(&self) -> u32 {
        self.by_width.get()
    }

    /// The lanes of the set to which `lane` belongs.
    #[inline]
    pub fn set_of(&self, lane: Lane) -> impl Iterator<Item = Lane> + '_ {
        let set = self.by_width.quotient(u32::from(self.places[lane.index()])) * self.width();
        self.lanes[set as usize..(set + self.width()) as usize]
            .iter()
            .map(|lane| Lane((*lane).into()))
    }

    /// True when row `row` of a block of `lane` is parity.
    #[inline]
    pub fn is_parity(&self, lane: Lane, row: u32) -> bool {
        let (set, place) = self.by_width.split(u32::from(self.places[lane.index()]));
        self.by_width.split(row + set).1 == place
    }

    /// The lane that holds the parity of row `row` in the set of `lane`.
    #[inline]
    pub fn parity_lane(&self, lane: Lane, row: u32) -> Lane {
        let set = self.by_width.quotient(u32::from(self.places[lane.index()]));
        Lane(self.lanes[(set * self.width() + self.by_width.split(row + set).1) as usize].into())
    }

    /// The pages of the stripe of `page`, itself among them: the same place on each lane of the
    /// set.
    #[inline]
    pub fn stripe_of(&self, page: Ppn) -> impl Iterator<Item = Ppn> + '_ {
        let (lane, offset) = self.by_lane.split(page.0);
        self.set_of(Lane(lane)).map(move |lane| Ppn(lane.0 * self.by_lane.get() + offset))
    }

    /// The page of the stripe of `page` on `lane`, which is of its set.
    #[inline]
    pub fn fellow(&self, page: Ppn, lane: Lane) -> Ppn {
        Ppn(lane.0 * self.by_lane.get() + self.by_lane.split(page.0).1)
    }

    /// True when the host's last row on `lane` is opened and not yet sealed.
    #[inline]
    pub fn gathers(&self, lane: Lane) -> bool {
        self.gathers[lane.index()]
    }
}

/// Share of a page that holds `version` in the parity of its stripe: a bijection of it, another one
/// for each page; nothing where it is padding.
pub fn part_of(page: Ppn, version: u32) -> u32 {
    if version == GARBAGE { 0 } else { mix(version ^ key(page)) }
}

/// The version that adds `part`.
pub fn version_of(page: Ppn, part: u32) -> u32 {
    unmix(part) ^ key(page)
}

fn key(page: Ppn) -> u32 {
    page.0.wrapping_mul(0xc2b2_ae35).rotate_left(13)
}

impl PageMap {
    /// This empty map with parity over superblocks: of its logical pages one in `width` makes room
    /// for parity; 0 is none.
    pub fn with_superblock_parity(mut self, ftl: &FtlSpec, device: &Device, width: u32) -> Self {
        let Some(stripes) = self.mapping.logical().checked_div(width) else { return self };
        self.user = stripes * (width - 1);
        self.mapping = Mapping::new(self.user, self.layout.total_units());
        let stripes = Superstripes::new(ftl, device, width, self.layout.units_per_lane());
        self.superstripes = Some(Box::new(stripes));
        self.pass_over_parity();
        self
    }

    /// The stripes over superblocks, where there is parity of that kind.
    #[inline]
    pub fn superstripes(&self) -> Option<&Superstripes> {
        self.superstripes.as_deref()
    }

    /// Rows of a group block that hold data.
    pub(super) fn data_rows(&self, pool: Pool) -> u32 {
        let rows = self.layout.rows * self.pools[pool.index()].lanes;
        rows - self.superstripes().map_or(0, |stripes| rows / stripes.width())
    }

    /// True when a page holds parity.
    pub fn is_parity_page(&self, page: Ppn) -> bool {
        let lane = self.layout.lane_of(self.layout.block_of(page));
        self.superstripes().is_some_and(|stripes| stripes.is_parity(lane, self.layout.row_of(page)))
    }

    /// Rows that a lane has opened for a stream since the device was new.
    #[inline]
    fn rows_opened(&self, lane: Lane, stream: Stream) -> u64 {
        let frontier = &self.frontiers[lane.index()][stream as usize];
        frontier.opened * u64::from(self.layout.rows) + u64::from(frontier.row)
            - u64::from(self.layout.rows)
    }

    /// Rows of which the data is known: all that are opened but the one that gathers.
    #[inline]
    fn rows_sealed(&self, lane: Lane, stream: Stream) -> u64 {
        let gathers = stream == Stream::Host
            && self.superstripes().is_some_and(|stripes| stripes.gathers(lane));
        self.rows_opened(lane, stream) - u64::from(gathers)
    }

    /// True when the row that `lane` opens next for `stream` is parity.
    #[inline]
    fn is_parity_next(&self, lane: Lane, stream: Stream) -> bool {
        let row = self.frontiers[lane.index()][stream as usize].row;
        let next = if row == self.layout.rows { 0 } else { row };
        self.superstripes().is_some_and(|stripes| stripes.is_parity(lane, next))
    }

    /// True when the lane's next row is parity, and the data of the rest of its stripe is known.
    fn is_parity_due(&self, lane: Lane, stream: Stream) -> bool {
        let Some(stripes) = self.superstripes() else { return false };
        let row = self.rows_opened(lane, stream);
        let gathers = stream == Stream::Host && stripes.gathers(lane);
        !gathers
            && self.is_parity_next(lane, stream)
            && stripes
                .set_of(lane)
                .all(|other| other == lane || self.rows_sealed(other, stream) > row)
    }

    /// After the last row of `lane` was sealed, or a parity row: the lane that has to write the
    /// parity of its next row now, if any. It opens that row ([`PageMap::open_row`]); then ask
    /// again.
    pub fn due_parity(&self, lane: Lane, stream: Stream) -> Option<Lane> {
        let row = self.frontiers[lane.index()][stream as usize].row - 1;
        let of_row = self.superstripes()?.parity_lane(lane, row);
        [of_row, lane].into_iter().find(|lane| self.is_parity_due(*lane, stream))
    }

    /// The lane of a page that the host writes, and the row that it opens there, if none gathers;
    /// `None` when no lane can take it now.
    #[inline]
    pub fn place_in_stripe(&mut self) -> Option<(Lane, Option<Ppn>)> {
        let Self { placement, frontiers, pools, by_pool, layout, superstripes, .. } = self;
        let stripes = superstripes.as_ref()?;
        let lane = placement.next(0, |lane| {
            let frontier = &frontiers[lane.index()][Stream::Host as usize];
            let pool = || &pools[by_pool.quotient(lane.0) as usize];
            stripes.gathers(lane)
                || frontier.row < layout.rows
                || pool().host_blocks_left(0, frontier.opened) > 0
        })?;
        if stripes.gathers(lane) {
            return Some((lane, None));
        }
        debug_assert!(!self.is_parity_next(lane, Stream::Host));
        let row = self.open_row(lane, Stream::Host).expect("a lane with room was chosen");
        self.set_gathers(lane, true);
        Some((lane, Some(row)))
    }

    /// The row of parity that `lane` owes the host's data, now taken. If data would have come next,
    /// that was its turn: so lanes that nothing disturbs stay in step.
    pub fn open_host_parity(&mut self, lane: Lane) -> Ppn {
        self.placement.skip(lane);
        self.open_row(lane, Stream::Host).expect("its stripe is open")
    }

    /// The host's gathering row of `lane` is sealed.
    pub fn row_sealed(&mut self, lane: Lane) {
        self.set_gathers(lane, false);
    }

    fn set_gathers(&mut self, lane: Lane, gathers: bool) {
        if let Some(stripes) = &mut self.superstripes {
            stripes.gathers[lane.index()] = gathers;
        }
    }

    /// Placement passes over `lane` while its next row is parity, or when it is `busy` anyway.
    #[inline]
    pub fn refresh_taking(&mut self, lane: Lane, busy: bool) {
        let gathers = self.superstripes().is_some_and(|stripes| stripes.gathers(lane));
        let taking = !busy && (gathers || !self.is_parity_next(lane, Stream::Host));
        self.placement.set_taking(lane, taking);
    }

    /// Placement passes over every lane whose next row is parity; no lane is busy.
    pub(super) fn pass_over_parity(&mut self) {
        if self.superstripes.is_some() {
            self.layout.each_lane().for_each(|lane| self.refresh_taking(lane, false));
        }
    }

    /// The lane of a pool that takes the next row of copies: those with the fewest rows in turn,
    /// without those that wait for parity.
    pub(super) fn copy_lane(&mut self, pool: Pool) -> Lane {
        let (lanes, from) = (self.lanes_of(pool), self.pools[pool.index()].next_copy_lane[0]);
        let even = self.superstripes().map_or(0, |stripes| stripes.copied_evenly);
        let find = |map: &Self, rows: u64| {
            let takes = |lane: &Lane| map.rows_opened(*lane, Stream::Copy) == rows;
            let waits = |lane: &Lane| map.is_parity_next(*lane, Stream::Copy);
            lanes.turn_from(from).find(|lane| takes(lane) && !waits(lane))
        };
        let lane = find(self, even).or_else(|| {
            let even = lanes.clone().map(|lane| self.rows_opened(lane, Stream::Copy)).min()?;
            if let Some(stripes) = &mut self.superstripes {
                stripes.copied_evenly = even;
            }
            find(self, even)
        });
        let lane = lane.expect("of the lanes with the fewest rows one takes data");
        self.pools[pool.index()].next_copy_lane[0] = lanes.after(lane);
        lane
    }

    /// Rows of `block` that are on flash, when `under_way` tells of how many opened rows of a lane
    /// and a stream the program is not done. The block is not free.
    pub fn rows_on_flash(&self, block: Block, under_way: impl Fn(Lane, Stream) -> u32) -> u32 {
        let (lane, index) = (self.layout.lane_of(block), self.layout.index_of(block));
        let pool = &self.pools[self.pool_of(lane).index()];
        let Some(stream) = self.writes_to(block) else { return self.layout.rows };
        let log = &pool.logs[0][stream as usize];
        let at = log.open.iter().take_while(|group| group.index != index).count();
        let before = (log.opened_before + at as u64) * u64::from(self.layout.rows);
        let done = self.rows_opened(lane, stream) - u64::from(under_way(lane, stream));
        done.saturating_sub(before).min(u64::from(self.layout.rows)) as u32
    }

    /// The stream that writes to a block, if it is open.
    pub fn writes_to(&self, block: Block) -> Option<Stream> {
        let (pool, index) = (self.pool_of(self.layout.lane_of(block)), self.layout.index_of(block));
        let logs = &self.pools[pool.index()].logs[0];
        let writes =
            |stream: &Stream| logs[*stream as usize].open.iter().any(|group| group.index == index);
        [Stream::Host, Stream::Copy].into_iter().find(writes)
    }
}
