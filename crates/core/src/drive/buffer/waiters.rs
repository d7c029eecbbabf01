//! Requests that wait for pages of the write buffer to be on flash: a list for each page, in one
//! pool of nodes.

use crate::drive::face::request::RequestId;

crate::id! {
    /// A node of a list of waiting requests.
    pub(in crate::drive) NodeId, or NIL
}

/// All lists: a request and the next node.
#[derive(Clone, Debug)]
pub(super) struct Waiters {
    nodes: Vec<(RequestId, NodeId)>,
    free: NodeId,
}

impl Default for Waiters {
    fn default() -> Self {
        Self { nodes: Vec::new(), free: NodeId::NIL }
    }
}

impl Waiters {
    /// Adds a request in front of the list that begins at `head`.
    pub fn add(&mut self, head: &mut NodeId, request: RequestId) {
        let node = (request, *head);
        *head = match self.free {
            NodeId::NIL => {
                self.nodes.push(node);
                NodeId(self.nodes.len() as u32 - 1)
            }
            at => {
                self.free = self.nodes[at.index()].1;
                self.nodes[at.index()] = node;
                at
            }
        };
    }

    /// Takes the first request of the list that begins at `head`.
    #[inline]
    pub fn pop(&mut self, head: &mut NodeId) -> Option<RequestId> {
        if *head == NodeId::NIL {
            return None;
        }
        let at = *head;
        let (request, next) = self.nodes[at.index()];
        self.nodes[at.index()].1 = std::mem::replace(&mut self.free, at);
        *head = next;
        Some(request)
    }
}
