//! Requests that carry a hint for their placement.

use manx_base::{Request, RequestSource};

/// A source whose requests all carry one hint: the replay of a trace, which has none of its own.
pub struct Hinted {
    source: Box<dyn RequestSource>,
    stream: u8,
}

impl std::fmt::Debug for Hinted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hinted").field("stream", &self.stream).finish_non_exhaustive()
    }
}

impl Hinted {
    /// `source` with the hint `stream`; the source itself where that is 0.
    pub fn wrap(source: Box<dyn RequestSource>, stream: u8) -> Box<dyn RequestSource> {
        if stream == 0 { source } else { Box::new(Self { source, stream }) }
    }
}

impl RequestSource for Hinted {
    fn next_request(&mut self) -> Option<Request> {
        self.source.next_request().map(|request| Request { stream: self.stream, ..request })
    }
}
