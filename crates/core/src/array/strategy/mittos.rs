//! MittOS (Hao et al., SOSP '17): the host predicts how long a read will wait and goes elsewhere at
//! once when that is more than its objective.
//!
//! The paper's MittSSD knows the chips behind each address; what NVMe shows of a drive is less.
//! Here the prediction for a member is the age of its oldest read under way: who is stuck behind a
//! collection makes the next ones go elsewhere.

use super::Strategy;
use crate::array::spec::ArraySpec;
use crate::drive::CommandId;
use crate::units::{Duration, Instant, Member};
use std::collections::VecDeque;

/// Avoids members whose oldest read is older than the objective.
#[derive(Clone, Debug)]
pub(super) struct Mittos {
    slo: Duration,
    /// Reads under way by member, oldest first.
    under_way: Vec<VecDeque<(CommandId, Instant)>>,
}

impl Mittos {
    pub fn new(spec: &ArraySpec) -> Self {
        Self { slo: spec.slo, under_way: vec![VecDeque::new(); spec.members as usize] }
    }
}

impl Strategy for Mittos {
    fn avoids(&self, now: Instant, member: Member) -> Option<Duration> {
        let (_, oldest) = self.under_way[member.index()].front()?;
        let age = now.since(*oldest);
        (age >= self.slo).then_some(age)
    }

    fn submitted(&mut self, now: Instant, member: Member, io: CommandId) {
        self.under_way[member.index()].push_back((io, now));
    }

    fn completed(&mut self, member: Member, io: CommandId, _: Duration) {
        let reads = &mut self.under_way[member.index()];
        if let Some(at) = reads.iter().position(|(other, _)| *other == io) {
            reads.remove(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_is_avoided_while_its_oldest_read_is_too_old() {
        let mut mittos = Mittos::new(&ArraySpec {
            members: 2,
            slo: Duration::from_us(10),
            ..ArraySpec::default()
        });
        let at = |us: u64| Instant::from_ns(us * 1_000);
        mittos.submitted(at(0), Member(1), CommandId(7));
        mittos.submitted(at(5), Member(1), CommandId(8));
        assert_eq!(
            (mittos.avoids(at(9), Member(1)), mittos.avoids(at(10), Member(0))),
            (None, None)
        );
        assert_eq!(mittos.avoids(at(10), Member(1)), Some(Duration::from_us(10)));
        mittos.completed(Member(1), CommandId(7), Duration::from_us(11));
        assert_eq!(mittos.avoids(at(14), Member(1)), None);
        assert_eq!(mittos.avoids(at(15), Member(1)), Some(Duration::from_us(10)));
    }
}
