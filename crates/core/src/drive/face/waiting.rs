//! Commands that wait to be fetched, and which of them is next: the first that came, or the queues
//! in turn, some of them several times in a row.

use crate::drive::{Arbitration, Command, CommandId, FirmwareSpec};
use std::collections::VecDeque;

/// The submission queues.
#[derive(Clone, Debug)]
pub(in crate::drive) struct Waiting {
    /// One where the first that came is next, else one for each of the host's.
    queues: Vec<VecDeque<Command>>,
    count: usize,
    in_turn: bool,
    weights: Vec<u32>,
    turn: usize,
    /// Commands that the queue whose turn it is may still have fetched.
    left: u32,
}

impl Waiting {
    pub fn new(spec: &FirmwareSpec) -> Self {
        Self {
            queues: vec![VecDeque::new()],
            count: 0,
            in_turn: spec.arbitration == Arbitration::RoundRobin,
            weights: spec.weights.clone(),
            turn: 0,
            left: 0,
        }
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub fn len(&self) -> usize {
        self.count
    }

    pub fn push(&mut self, command: Command) {
        let queue = if self.in_turn { usize::from(command.queue) } else { 0 };
        if queue >= self.queues.len() {
            self.queues.resize(queue + 1, VecDeque::new());
        }
        self.queues[queue].push_back(command);
        self.count += 1;
    }

    pub fn take(&mut self) -> Option<Command> {
        if self.count == 0 {
            return None;
        }
        while self.left == 0 || self.queues[self.turn].is_empty() {
            self.turn = (self.turn + 1) % self.queues.len();
            self.left = self.weights.get(self.turn).copied().unwrap_or(1);
        }
        (self.count, self.left) = (self.count - 1, self.left - 1);
        self.queues[self.turn].pop_front()
    }

    pub fn remove(&mut self, id: CommandId) -> Option<Command> {
        let found = self.queues.iter_mut().find_map(|queue| {
            let at = queue.iter().position(|command| command.id == id)?;
            queue.remove(at)
        })?;
        self.count -= 1;
        Some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drive::Op;
    use crate::units::Lba;

    fn order(spec: &FirmwareSpec) -> Vec<u32> {
        let mut waiting = Waiting::new(spec);
        // Three queues: 0, 1, 2, .. came in turn but for the last two, of queue 0.
        for (id, queue) in [0, 1, 2, 0, 1, 2, 0, 0].into_iter().enumerate() {
            let command = Command::new(id as u32, Op::Read, Lba(0), 8);
            waiting.push(Command { queue, ..command });
        }
        assert_eq!(waiting.remove(CommandId(4)).map(|command| command.id), Some(CommandId(4)));
        assert_eq!((waiting.remove(CommandId(4)).is_none(), waiting.len()), (true, 7));
        std::iter::from_fn(|| waiting.take()).map(|command| command.id.0).collect()
    }

    #[test]
    fn the_first_that_came_is_next_or_the_queues_in_turn_by_their_weights() {
        let spec = FirmwareSpec::default();
        assert_eq!(order(&spec), [0, 1, 2, 3, 5, 6, 7]);
        let spec = FirmwareSpec { arbitration: Arbitration::RoundRobin, ..spec };
        assert_eq!(order(&spec), [1, 2, 0, 5, 3, 6, 7]);
        let spec = FirmwareSpec { weights: vec![3, 1], ..spec };
        assert_eq!(order(&spec), [1, 2, 0, 3, 6, 5, 7]);
    }
}
