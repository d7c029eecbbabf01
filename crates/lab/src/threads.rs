//! Work on several threads.

use std::thread::Builder;

/// Does `work` on so many threads at once and waits for all of them. Where the system has no more
/// threads, those that there are do it all; `work` must take its pieces from a common place.
pub(crate) fn on_threads(threads: usize, work: impl Fn() + Copy + Send) {
    std::thread::scope(|scope| {
        let begun =
            (0..threads).filter(|_| Builder::new().spawn_scoped(scope, work).is_ok()).count();
        if begun == 0 {
            work();
        }
    });
}
