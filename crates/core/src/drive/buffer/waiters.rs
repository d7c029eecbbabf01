//! Requests that wait for pages of the write buffer to be on flash: a list for each page, in one
//! pool of nodes.

use crate::sim::NIL;

/// All lists: a request and the next node.
#[derive(Clone, Debug)]
pub(super) struct Waiters {
    nodes: Vec<(u32, u32)>,
    free: u32,
}

impl Default for Waiters {
    fn default() -> Self {
        Self { nodes: Vec::new(), free: NIL }
    }
}

impl Waiters {
    /// Adds a request in front of the list that begins at `head`.
    pub fn add(&mut self, head: &mut u32, request: u32) {
        let node = (request, *head);
        *head = match self.free {
            NIL => {
                self.nodes.push(node);
                (self.nodes.len() - 1) as u32
            }
            at => {
                self.free = self.nodes[at as usize].1;
                self.nodes[at as usize] = node;
                at
            }
        };
    }

    /// Takes the first request of the list that begins at `head`.
    #[inline]
    pub fn pop(&mut self, head: &mut u32) -> Option<u32> {
        if *head == NIL {
            return None;
        }
        let at = *head;
        let (request, next) = self.nodes[at as usize];
        self.nodes[at as usize].1 = std::mem::replace(&mut self.free, at);
        *head = next;
        Some(request)
    }
}
