//! Arrays with an erasure code without some of their drives: as many as it has parities may be
//! missing, and what one more takes with it is said.

use super::array::{ALL, with_spare};
use super::{Setup, small};
use crate::array::{Array, ArraySpec, RaidLevel, ReadStrategy};
use crate::drive::{Command, CommandId, Completion, Op, PredictableLatency, Stamp, Status};
use crate::sim::Rng;
use crate::units::{Bytes, Duration, Instant, Lba, Member};

const PAGE: u32 = 8;
/// Longer than any request takes alone.
const STEP: Duration = Duration::from_ms(2_000);

/// An array, the version of each page of the host, and the time.
struct Coded {
    array: Array,
    spec: ArraySpec,
    versions: Vec<u32>,
    now: Instant,
}

impl Coded {
    fn new(seed: u64, spec: &ArraySpec) -> Self {
        let mut setup = Setup { seed, ..small() };
        setup.device.geometry.blocks = 16;
        let array = with_spare(&setup, spec);
        // Every page is written before the run, as version 1.
        let versions = vec![1; (array.sectors() / u64::from(PAGE)) as usize];
        Self { array, spec: spec.clone(), versions, now: Instant::START }
    }

    fn alone(&mut self, op: Op, page: usize, payload: Option<Stamp>) -> Completion {
        assert!(self.array.advance_before(self.now).is_none());
        let command = Command {
            id: CommandId(7),
            op,
            lba: Lba(page as u64 * u64::from(PAGE)),
            sectors: PAGE,
            fua: false,
            predictable: PredictableLatency::Off,
            stream: 0,
            queue: 0,
            payload: payload.map(|stamp| vec![stamp].into_boxed_slice()),
        };
        self.array.submit(self.now, command);
        self.now += STEP;
        self.array.advance_before(self.now).expect("it completes")
    }

    fn write(&mut self, page: usize, version: u32) {
        let stamp = Stamp { version, beneath: self.versions[page] };
        assert_eq!(self.alone(Op::Write, page, Some(stamp)).status, Status::Success);
        self.versions[page] = version;
    }

    /// Writes of random pages, and reads of random pages.
    fn some(&mut self, rng: &mut Rng) {
        for _ in 0..30 {
            let page = rng.below(self.versions.len() as u64) as usize;
            self.write(page, 2 + self.versions[page]);
            let page = rng.below(self.versions.len() as u64) as usize;
            let read = self.alone(Op::Read, page, None);
            assert_eq!(read.payload.as_deref(), Some(&self.versions[page..=page]), "{page}");
        }
    }

    fn fail(&mut self, rng: &mut Rng, failed: &mut Vec<Member>) {
        let left = (0..self.spec.members).map(Member).filter(|member| !failed.contains(member));
        let left: Vec<Member> = left.collect();
        let member = left[rng.below(left.len() as u64) as usize];
        assert!(self.array.advance_before(self.now).is_none());
        self.array.fails(self.now, member);
        failed.push(member);
    }
}

#[test]
fn as_many_drives_as_there_are_parities_may_fail_and_one_more_is_a_loss_that_is_said() {
    for (number, strategy) in ALL.into_iter().enumerate() {
        for parities in [3, 4, 6] {
            let seed = number as u64 + 100 * u64::from(parities);
            let mut rng = Rng::stream(seed, "coded");
            let spec = ArraySpec {
                level: RaidLevel::Ec,
                parities,
                members: parities + 2 + rng.below(4) as u32,
                strategy,
                chunk: Bytes::kib([4, 12][rng.below(2) as usize]),
                extra_reads: rng.below(parities.into()) as u32,
                cache: Bytes::kib(if strategy == ReadStrategy::Rails { 512 } else { 0 }),
                ..ArraySpec::default()
            };
            let mut coded = Coded::new(seed, &spec);
            let mut failed = Vec::new();
            coded.some(&mut rng);
            while (failed.len() as u32) < parities {
                coded.fail(&mut rng, &mut failed);
                coded.some(&mut rng);
            }
            for page in (0..coded.versions.len()).step_by(13) {
                let read = coded.alone(Op::Read, page, None);
                let expected = (Status::Success, Some(&coded.versions[page..=page]));
                assert_eq!((read.status, read.payload.as_deref()), expected, "{page} {spec:?}");
            }
            coded.fail(&mut rng, &mut failed);
            let (mut lost, mut read) = (0, 0);
            for page in (0..coded.versions.len()).step_by(13) {
                let done = coded.alone(Op::Read, page, None);
                match done.status {
                    Status::Success => {
                        read += 1;
                        assert_eq!(done.payload.as_deref(), Some(&coded.versions[page..=page]));
                    }
                    status => {
                        lost += 1;
                        assert_eq!(status, Status::MembersLost, "{page} {spec:?}");
                    }
                }
            }
            assert!(lost > 0 && read > 0, "{lost} lost, {read} read, {spec:?}");
            assert_eq!(coded.array.counters().lost_reads, lost);
        }
    }
}
