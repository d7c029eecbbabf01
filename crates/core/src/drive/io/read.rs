//! The read path: buffer, translation, one flash operation for what one array read brings.

use crate::drive::features::Scheme;
use crate::drive::later::Task;
use crate::drive::{Content, Drive, OpId, PredictableLatency, RequestId};
use crate::units::Instant;

impl Drive {
    pub(in crate::drive) fn begin_read(&mut self, now: Instant, request: RequestId) {
        let units = self.units(request);
        if self.flash.has_content() {
            let versions = vec![0; units as usize].into_boxed_slice();
            self.requests[request].content = Some(Box::new(Content::Read(versions)));
        }
        if self.requests[request].command.predictable == PredictableLatency::On {
            self.split_copies(now);
            if self.fails_fast(now, request) {
                return;
            }
        }
        let is_computed = match self.scheme {
            Scheme::ParityInPlace => self.begin_reconstruct(now, request),
            Scheme::Superblock => self.begin_rebuild(now, request),
            Scheme::Page | Scheme::CachedMap | Scheme::LogBlocks => false,
        };
        if !is_computed {
            // The operation that the next unit may join, if the same array read brings it.
            let mut open: Option<OpId> = None;
            for number in 0..units {
                let unit = self.unit(request, number);
                if let Some(op) = self.read_unit(now, request, number, unit, open) {
                    open = Some(op);
                }
            }
            if let Some(op) = open {
                self.enqueue(now, op);
            }
        }
        if self.requests[request].remaining == 0 {
            self.later.put(now + self.spec.buffer_hit, Task::Served { request });
        }
    }
}
