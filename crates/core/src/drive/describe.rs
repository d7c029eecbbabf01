//! The operations, requests and GC runs that a drive waits for, in words: for the report of a run
//! whose requests did not all complete (which is a defect, and must not pass in silence).

use crate::drive::Drive;
use crate::drive::buffer::slot::State;
use crate::units::Die;

impl Drive {
    /// A few lines on queues, dies, collections and buffer.
    pub fn describe(&self) -> String {
        let mut text = format!(
            "{} requests inside; {} of {} buffer pages dirty, {} in use; {:?}\n",
            self.outstanding(),
            self.buffer.dirty,
            self.buffer.slots_in(State::Dirty).len(),
            self.buffer.occupied,
            self.writes,
        );
        for (die, queues) in self.queues.iter().enumerate() {
            let front = |fifo: &crate::drive::dies::queues::Fifo| {
                fifo.front().map(|op| (self.ops[op].owner, self.ops[op].lane))
            };
            text += &format!(
                "die {die}: idle {}, closed {}, read {:?}, fill {:?}, write {:?}, gc {:?}\n",
                self.flash.is_idle(Die(die as u32)),
                self.is_closed(Die(die as u32)),
                front(&queues.read),
                front(&queues.fill),
                front(&queues.write),
                front(&queues.gc),
            );
        }
        let in_order = self.in_order.front().map(|op| (self.ops[*op].owner, self.ops[*op].lane));
        text += &format!("in order {in_order:?}; {:?}\n", self.collector);
        text += &self
            .holds
            .as_ref()
            .map_or(String::new(), |holds| format!("erases held back: {holds:?}\n"));
        text += &self.describe_map();
        text += &self.ftl.each_pool().map(|pool| self.ftl.describe_pool(pool)).collect::<String>();
        text
    }
}
