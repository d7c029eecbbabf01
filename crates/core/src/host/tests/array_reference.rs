//! Arrays against a naive one: members' pages in vectors, parity from scratch, and for each request
//! how many commands the layout costs. One request at a time, so that both are exact.

use super::array::{content, with_spare};
use super::{Setup, small};
use crate::array::{Array, ArraySpec, RaidLevel};
use crate::drive::{
    Command, CommandId, Completion, Op, PredictableLatency, Stamp, Status, Storage,
};
use crate::sim::Rng;
use crate::units::{Bytes, Duration, Instant, Lba};

const PAGE: u64 = 8;

/// x * y in GF(2^8).
fn product(x: u8, y: u8) -> u8 {
    (0..8).filter(|bit| y >> bit & 1 == 1).fold(0, |sum, bit| sum ^ shifted(x, bit))
}

/// The share of a byte of data page `index` in the parity `parity` of a code: times y / (y + x), x
/// and y being the parity's number and 255 less the page's.
fn coded(byte: u8, index: usize, parity: usize) -> u8 {
    let y = 255 - index as u8;
    let factor = (1..=255).find(|factor| product(*factor, y ^ parity as u8) == y);
    product(factor.expect("y + x is not 0"), byte)
}

/// The naive array.
struct Naive {
    level: RaidLevel,
    /// Parities of an erasure code.
    of_code: usize,
    chunk: usize,
    /// By member and row.
    pages: Vec<Vec<u32>>,
    dead: Option<usize>,
}

/// x * 2^n in GF(2^8), a bit at a time.
fn shifted(x: u8, n: usize) -> u8 {
    (0..n).fold(x, |x, _| (x << 1) ^ if x & 0x80 != 0 { 0x1d } else { 0 })
}

impl Naive {
    fn parities(&self) -> usize {
        match self.level {
            RaidLevel::Raid0 => 0,
            RaidLevel::Raid1 => self.pages.len() - 1,
            RaidLevel::Raid5 => 1,
            RaidLevel::Raid6 => 2,
            RaidLevel::Ec => self.of_code,
        }
    }

    fn data(&self) -> usize {
        self.pages.len() - self.parities()
    }

    /// Members of a row, data in order and then parity: md's left-symmetric layouts, in which
    /// parity moves one member to the left with each stripe and data begins behind it.
    fn members(&self, row: usize) -> Vec<usize> {
        let n = self.pages.len();
        if self.level == RaidLevel::Raid0 {
            return (0..n).collect();
        }
        let parity = n - 1 - row / self.chunk % n;
        let after = |step: usize| (parity + step) % n;
        (self.parities()..n).map(after).chain((0..self.parities()).map(after)).collect()
    }

    /// The row of the host's page, and which of its data pages it is.
    fn place(&self, page: usize) -> (usize, usize) {
        let (chunk, offset) = (page / self.chunk, page % self.chunk);
        (chunk / self.data() * self.chunk + offset, chunk % self.data())
    }

    /// Pages that the host sees.
    fn size(&self) -> usize {
        self.pages[0].len() / self.chunk * self.chunk * self.data()
    }

    /// The row's pages, data and parity, where parity is made from the data.
    fn with_parity(&self, data: &[u32]) -> Vec<u32> {
        let sum = data.iter().fold(0, |sum, page| sum ^ page);
        let q = data.iter().enumerate().fold(0, |sum, (n, page)| {
            sum ^ u32::from_le_bytes(page.to_le_bytes().map(|byte| shifted(byte, n)))
        });
        let parity = match self.level {
            RaidLevel::Raid6 => vec![sum, q],
            RaidLevel::Ec => {
                let share = |(at, page): (usize, &u32), parity| {
                    u32::from_le_bytes(page.to_le_bytes().map(|byte| coded(byte, at, parity)))
                };
                let parity =
                    |parity| data.iter().enumerate().fold(0, |sum, page| sum ^ share(page, parity));
                (0..self.of_code).map(parity).collect()
            }
            _ => vec![sum; self.parities()],
        };
        [data, &parity].concat()
    }

    fn row(&self, row: usize) -> Vec<u32> {
        self.members(row).into_iter().map(|member| self.pages[member][row]).collect()
    }

    fn get(&self, page: usize) -> u32 {
        let (row, index) = self.place(page);
        self.row(row)[index]
    }

    fn put(&mut self, page: usize, version: u32) {
        let (row, index) = self.place(page);
        let mut data = self.row(row)[..self.data()].to_vec();
        data[index] = version;
        for (member, version) in self.members(row).into_iter().zip(self.with_parity(&data)) {
            self.pages[member][row] = version;
        }
    }

    /// Reads of members that a read of the sectors costs: one of each chunk; for one on a dead
    /// member those of as many others as there are data pages, data before parity, unless the
    /// request reads the same of them anyway.
    fn reads_of_a_read(&self, first: u64, sectors: u64) -> u64 {
        let mut pieces: Vec<(usize, usize, usize, bool)> = Vec::new();
        let mut page = (first / PAGE) as usize;
        while page as u64 * PAGE < first + sectors {
            let (row, index) = self.place(page);
            let pages = (self.chunk - row % self.chunk)
                .min(((first + sectors).div_ceil(PAGE)) as usize - page);
            let whole =
                page as u64 * PAGE >= first && (page + pages) as u64 * PAGE <= first + sectors;
            pieces.push((self.members(row)[index], row, pages, whole));
            page += pages;
        }
        let is_dead = |member: usize| self.dead == Some(member);
        let cost = |(member, row, pages, _): &(usize, usize, usize, bool)| {
            if !is_dead(*member) {
                return 1;
            }
            let others =
                self.members(*row).into_iter().filter(|other| !is_dead(*other)).take(self.data());
            others.filter(|other| !pieces.contains(&(*other, *row, *pages, true))).count() as u64
        };
        pieces.iter().map(cost).sum()
    }

    /// Reads and writes of members for a write of the sectors: of each row the cheaper of both ways
    /// to its parity, or whatever suffices where a dead member leaves neither.
    fn commands_of_a_write(&self, first: u64, sectors: u64) -> (u64, u64) {
        let (mut reads, mut writes) = (0, 0);
        let pages = first / PAGE..(first + sectors).div_ceil(PAGE);
        let mut rows: Vec<usize> = pages.clone().map(|page| self.place(page as usize).0).collect();
        rows.sort_unstable();
        rows.dedup();
        for row in rows {
            let members = self.members(row);
            let (k, n) = (self.data(), members.len());
            let alive = |index: usize| self.dead != Some(members[index]);
            let (mut full, mut dirty) = (vec![false; n], vec![false; n]);
            for page in pages.clone().filter(|page| self.place(*page as usize).0 == row) {
                let index = self.place(page as usize).1;
                dirty[index] = true;
                full[index] = page * PAGE >= first && (page + 1) * PAGE <= first + sectors;
            }
            let parities = (k..n).filter(|index| alive(*index)).count();
            writes += (0..k).filter(|index| dirty[*index] && alive(*index)).count() + parities;
            let ways: [Vec<usize>; 3] = [
                // Where there is no parity, or nothing else to put into it.
                (0..k).filter(|index| dirty[*index] && !full[*index]).collect(),
                (0..k).filter(|index| !full[*index]).collect(),
                (0..n)
                    .filter(|index| if *index < k { dirty[*index] } else { alive(*index) })
                    .collect(),
            ];
            let is_simple = parities == 0 || full[..k].iter().all(|full| *full);
            let ways =
                ways.iter().skip(usize::from(!is_simple)).take(if is_simple { 1 } else { 2 });
            let possible = ways.filter(|way| way.iter().all(|index| alive(*index))).map(Vec::len);
            reads += possible.min().unwrap_or(k);
        }
        (reads as u64, writes as u64)
    }
}

/// The array, the naive one, and the time.
struct Both {
    array: Array,
    naive: Naive,
    spec: ArraySpec,
    now: Instant,
    version: u32,
    /// A new drive has taken the failed member's place.
    is_replaced: bool,
}

/// Longer than any request takes alone, and than a whole rebuild.
const STEP: Duration = Duration::from_ms(2_000);

impl Both {
    fn new(setup: &Setup, spec: &ArraySpec) -> Self {
        let array = with_spare(setup, spec);
        let rows = array.drive(0).sectors() / PAGE;
        let chunk = (spec.chunk.get() / 4096) as usize;
        let pages = vec![vec![0; rows as usize]; spec.members as usize];
        let (level, of_code) = (spec.level, spec.parities as usize);
        let mut naive = Naive { level, of_code, chunk, pages, dead: None };
        assert_eq!(naive.size() as u64 * PAGE, array.sectors());
        // Every page is written before the run, as version 1.
        (0..naive.size()).for_each(|page| naive.put(page, 1));
        Self {
            array,
            naive,
            spec: spec.clone(),
            now: Instant::START,
            version: 1,
            is_replaced: false,
        }
    }

    /// Does one request alone; its completion, and the members' reads and writes.
    fn alone(
        &mut self,
        op: Op,
        first: u64,
        sectors: u64,
        payload: Option<Vec<Stamp>>,
    ) -> (Completion, u64, u64) {
        assert!(self.array.advance_before(self.now).is_none());
        let before = self.array.counters();
        let (lba, sectors) = (Lba(first), sectors as u32);
        let (predictable, payload) = (PredictableLatency::Off, payload.map(Vec::into_boxed_slice));
        self.array.submit(
            self.now,
            Command {
                id: CommandId(7),
                op,
                lba,
                sectors,
                fua: false,
                predictable,
                stream: 0,
                queue: 0,
                payload,
            },
        );
        self.now += STEP;
        let done = self.array.advance_before(self.now).expect("it completes");
        assert_eq!((done.id, done.status), (CommandId(7), Status::Success));
        assert!(self.array.advance_before(self.now).is_none());
        let after = self.array.counters();
        (done, after.drive_reads - before.drive_reads, after.drive_writes - before.drive_writes)
    }

    fn read(&mut self, first: u64, sectors: u64) {
        let (done, reads, writes) = self.alone(Op::Read, first, sectors, None);
        let pages = first / PAGE..(first + sectors).div_ceil(PAGE);
        let expected: Vec<u32> = pages.map(|page| self.naive.get(page as usize)).collect();
        assert_eq!(
            done.payload.as_deref(),
            Some(expected.as_slice()),
            "{first} {sectors} {:?}",
            self.spec
        );
        let expected = (self.naive.reads_of_a_read(first, sectors), 0);
        assert_eq!((reads, writes), expected, "{first} {sectors} {:?}", self.spec);
    }

    fn write(&mut self, first: u64, sectors: u64) {
        let pages = first / PAGE..(first + sectors).div_ceil(PAGE);
        self.version += 1;
        let stamp =
            |page: u64| Stamp { version: self.version, beneath: self.naive.get(page as usize) };
        let stamps = pages.clone().map(stamp).collect();
        let expected = self.naive.commands_of_a_write(first, sectors);
        let (_, reads, writes) = self.alone(Op::Write, first, sectors, Some(stamps));
        assert_eq!((reads, writes), expected, "{first} {sectors} {:?}", self.spec);
        pages.for_each(|page| self.naive.put(page as usize, self.version));
    }

    /// A random request of odd size, of up to three rows and a bit.
    fn random(&mut self, rng: &mut Rng) {
        let (all, row) = (self.array.sectors(), self.naive.data() as u64 * PAGE);
        let most =
            [PAGE, 3 * PAGE, row * self.naive.chunk as u64, 3 * row + 5][rng.below(4) as usize];
        let sectors = 1 + rng.below(most.min(all));
        let (first, sectors) = match rng.below(3) {
            0 => (rng.below(all - sectors + 1), sectors),
            _ => {
                (rng.below((all - sectors) / PAGE) * PAGE, sectors.next_multiple_of(PAGE).min(most))
            }
        };
        match rng.below(20) {
            0 => {
                // Deallocations are not handed on.
                let (_, reads, writes) = self.alone(Op::Trim, first, sectors, None);
                assert_eq!((reads, writes), (0, 0));
            }
            1 => {
                let (_, reads, writes) = self.alone(Op::Flush, 0, 0, None);
                assert_eq!((reads, writes), (0, 0));
            }
            2..11 => self.read(first, sectors),
            _ => self.write(first, sectors),
        }
    }

    /// Every member holds what the naive one does.
    fn check_members(&self) {
        for (member, pages) in self
            .naive
            .pages
            .iter()
            .enumerate()
            .filter(|(member, _)| self.naive.dead != Some(*member))
        {
            let used = self.naive.size() / self.naive.data();
            // The spare's drive has the number behind the last member's once it serves.
            let is_spare = self.is_replaced && member == self.spec.fail_member as usize;
            let drive = if is_spare { self.naive.pages.len() } else { member };
            let held = content(self.array.drive(drive), used as u32);
            assert_eq!(held, pages[..used], "member {member}, {:?}", self.spec);
        }
    }
}

/// Random arrays of every level: whole, then without a member, then with a new one that is
/// restored.
#[test]
fn arrays_do_what_a_naive_one_does() {
    for seed in 0..52 {
        let mut rng = Rng::stream(seed, "naive");
        let level = match (seed, seed % 4) {
            (40.., _) => RaidLevel::Ec,
            (_, 0) => RaidLevel::Raid5,
            (_, 1) => RaidLevel::Raid6,
            (_, 2) => RaidLevel::Raid1,
            _ => RaidLevel::Raid0,
        };
        let parities = 1 + seed as u32 % 4;
        let mut setup = Setup { seed, ..small() };
        setup.device.geometry.blocks = 16;
        let requests = 25;
        let members = level.least_members(parities) + rng.below(5) as u32;
        let spec = ArraySpec {
            members,
            level,
            parities,
            chunk: Bytes::kib(4 * [1, 1, 2, 5][rng.below(4) as usize]),
            xor: Duration::from_us(rng.below(2)),
            fail_member: rng.below(members.into()) as u32,
            // Between two requests.
            fail_at: STEP * requests - Duration::from_ms(1_000),
            replace_after: STEP * requests,
            ..ArraySpec::default()
        };
        let fails = level != RaidLevel::Raid0;
        let spec = if fails { spec } else { ArraySpec { fail_at: Duration::ZERO, ..spec } };
        let mut both = Both::new(&setup, &spec);
        (1..requests).for_each(|_| both.random(&mut rng));
        both.check_members();
        if !fails {
            continue;
        }
        // The member fails before the next request, and the new one comes before the one after
        // these.
        both.now += STEP;
        assert!(both.array.advance_before(both.now).is_none());
        assert_eq!(both.array.counters().failed_members, 1);
        both.naive.dead = Some(spec.fail_member as usize);
        (1..requests).for_each(|_| both.random(&mut rng));
        both.check_members();
        let before = both.array.counters();
        both.now += STEP;
        assert!(both.array.advance_before(both.now).is_none());
        // A restored row is computed from as many pages as it has data, and written.
        let (after, rows) = (both.array.counters(), (both.naive.size() / both.naive.data()) as u64);
        let restored = after.restored_rows - before.restored_rows;
        let (reads, writes) =
            (after.drive_reads - before.drive_reads, after.drive_writes - before.drive_writes);
        assert_eq!(
            (restored, reads, writes),
            (rows, rows * both.naive.data() as u64, rows),
            "{spec:?}"
        );
        (both.naive.dead, both.is_replaced) = (None, true);
        both.check_members();
        (1..requests).for_each(|_| both.random(&mut rng));
        both.check_members();
    }
}
