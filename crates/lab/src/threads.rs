//! Work on several threads.

use std::thread::Builder;

/// Does `work` on so many threads at once and waits for all of them. Where the system has no more
/// threads, those that there are do it all; `work` must take its pieces from a common place. Each
/// has wholly ended then, the values of its own included.
pub(crate) fn on_threads(threads: usize, work: impl Fn() + Copy + Send) {
    std::thread::scope(|scope| {
        let spawn = |_| Builder::new().spawn_scoped(scope, work).ok();
        let begun: Vec<_> = (0..threads).filter_map(spawn).collect();
        if begun.is_empty() {
            work();
        }
        for thread in begun {
            if let Err(panic) = thread.join() {
                std::panic::resume_unwind(panic);
            }
        }
    });
}
