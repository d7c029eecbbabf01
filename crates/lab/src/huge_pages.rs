//! A global allocator that puts large tables on huge pages: the maps of a drive are hundreds of
//! MiB, looked up at random, and with 4 KiB pages half of the time goes into the processor's own
//! address translation.
//!
//! ```
//! #[global_allocator]
//! static ALLOCATOR: manx_lab::huge_pages::HugePages = manx_lab::huge_pages::HugePages;
//! assert_eq!(vec![0u8; 8 << 20].len(), 8 << 20);
//! ```
//!
//! On Linux, allocations of 4 MiB and more come straight from the kernel (mmap), aligned to 2 MiB,
//! with a request for transparent huge pages (madvise). They are zero already, so zeroed tables
//! stay untouched until they are used; the system allocator would fill an aligned allocation with
//! zeros by hand. One that grows keeps its pages: they are mapped elsewhere (mremap), not copied
//! into new ones that the kernel has to clear first, which took up to a third of the time of a run
//! whose queue grows without end. Everything else is the system allocator's.

use std::alloc::{GlobalAlloc, Layout, System};

/// The allocator; it has no state.
#[derive(Clone, Copy, Debug)]
pub struct HugePages;

/// A huge page of x86-64 and of AArch64 with 4 KiB pages; elsewhere the alignment does no harm.
const HUGE: usize = 2 << 20;
/// Smaller allocations would lose too much to rounding.
const LARGE: usize = 2 * HUGE;

/// True for allocations that come from the kernel: a function of the layout alone, so that it is
/// the same when they are freed.
fn is_large(layout: Layout) -> bool {
    cfg!(target_os = "linux")
        && layout.size() >= LARGE
        && layout.align() <= HUGE
        && layout.size() < isize::MAX as usize / 2
}

// SAFETY: large allocations are private anonymous mappings of at least the layout's size, aligned
// to 2 MiB, which is at least the layout's alignment; they are moved or unmapped only in `realloc`
// and `dealloc`, which see the same layout and so take the same branch. All others are passed to
// `System` unchanged, which keeps the contract.
unsafe impl GlobalAlloc for HugePages {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let start = if is_large(layout) {
            kernel::map(layout.size())
        } else {
            unsafe { System.alloc(layout) }
        };
        or_end(start, layout.size())
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let start = if is_large(layout) {
            kernel::map(layout.size())
        } else {
            unsafe { System.alloc_zeroed(layout) }
        };
        or_end(start, layout.size())
    }

    #[inline]
    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        if is_large(layout) {
            kernel::unmap(start, layout.size());
        } else {
            unsafe { System.dealloc(start, layout) }
        }
    }

    unsafe fn realloc(&self, start: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // SAFETY: the caller's contract: `new_size` is not zero and does not overflow when rounded
        // up to the alignment.
        let new_layout = unsafe { Layout::from_size_align_unchecked(new_size, layout.align()) };
        match (is_large(layout), is_large(new_layout)) {
            (false, false) => {
                return or_end(unsafe { System.realloc(start, layout, new_size) }, new_size);
            }
            (true, true) => return or_end(kernel::remap(start, layout.size(), new_size), new_size),
            _ => {}
        }
        // SAFETY: both blocks are ours, do not overlap, and hold at least as many bytes as are
        // copied.
        unsafe {
            let new_start = self.alloc(new_layout);
            if !new_start.is_null() {
                std::ptr::copy_nonoverlapping(start, new_start, layout.size().min(new_size));
                self.dealloc(start, layout);
            }
            new_start
        }
    }
}

/// Memory, or the end of the program by a line that a user can read: Rust's own answer is an abort.
#[inline]
fn or_end(start: *mut u8, size: usize) -> *mut u8 {
    if start.is_null() {
        out_of_memory(size);
    }
    start
}

#[cold]
#[cfg(unix)]
fn out_of_memory(size: usize) {
    use std::io::Write;
    let mut line = [0; 200];
    let mut rest = line.as_mut_slice();
    // Nothing may be allocated here. The line fits.
    let _ = writeln!(
        rest,
        "error: out of memory: no {size} bytes more; a smaller drive, array or queue, \
         or fewer --jobs, need less"
    );
    let length = 200 - rest.len();
    // SAFETY: the buffer holds `length` bytes; `_exit` ends the program without running anything
    // that could allocate.
    unsafe {
        libc::write(libc::STDERR_FILENO, line.as_ptr().cast(), length);
        libc::_exit(1)
    }
}

#[cold]
#[cfg(not(unix))]
fn out_of_memory(_: usize) {}

#[cfg(target_os = "linux")]
mod kernel {
    use super::HUGE;

    /// Fresh zeroed memory of `size` bytes, rounded up to huge pages and aligned to them; null when
    /// there is none.
    pub fn map(size: usize) -> *mut u8 {
        let (length, flags) =
            (size.next_multiple_of(HUGE), libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: an anonymous mapping where the kernel likes; what lies before and after the
        // aligned part was just mapped, is used by nobody and is given back.
        unsafe {
            let start = libc::mmap(std::ptr::null_mut(), length + HUGE, access, flags, -1, 0);
            if start == libc::MAP_FAILED {
                return std::ptr::null_mut();
            }
            let before = start.cast::<u8>().align_offset(HUGE);
            let aligned = start.cast::<u8>().add(before);
            if before > 0 {
                libc::munmap(start, before);
            }
            if before < HUGE {
                libc::munmap(aligned.add(length).cast(), HUGE - before);
            }
            // A wish: without huge pages everything works, only slower.
            libc::madvise(aligned.cast(), length, libc::MADV_HUGEPAGE);
            aligned
        }
    }

    /// Moves memory of [`map`] of `size` bytes to a place with room for `new_size`, perhaps
    /// elsewhere; null, and nothing was done, when there is none.
    pub fn remap(start: *mut u8, size: usize, new_size: usize) -> *mut u8 {
        let (length, new_length) = (size.next_multiple_of(HUGE), new_size.next_multiple_of(HUGE));
        if new_length == length {
            return start;
        }
        // A place that is aligned; the kernel would choose any.
        let place = map(new_size);
        if place.is_null() {
            return place;
        }
        let how = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
        // SAFETY: `start` is a mapping of this very length that its owner gives up for the new one,
        // and `place` one of the new length that nobody uses; they do not overlap. Where it fails
        // `start` is as it was; whether `place` still is mapped is not told, so that it is left
        // alone: untouched, it costs no memory.
        let moved = unsafe {
            libc::mremap(start.cast(), length, new_length, how, place.cast::<libc::c_void>())
        };
        if moved == libc::MAP_FAILED { std::ptr::null_mut() } else { place }
    }

    /// Gives back what [`map`] gave for the same size.
    pub fn unmap(start: *mut u8, size: usize) {
        // SAFETY: called with a mapping of this very length that nobody uses any more.
        unsafe {
            libc::munmap(start.cast(), size.next_multiple_of(HUGE));
        }
    }
}

/// No allocation is large elsewhere.
#[cfg(not(target_os = "linux"))]
mod kernel {
    pub fn map(_: usize) -> *mut u8 {
        std::ptr::null_mut()
    }
    pub fn remap(_: *mut u8, _: usize, _: usize) -> *mut u8 {
        std::ptr::null_mut()
    }
    pub fn unmap(_: *mut u8, _: usize) {}
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_block_keeps_its_content_as_it_grows_and_shrinks_over_the_limit() {
        let layout = |size| Layout::from_size_align(size, 8).unwrap();
        let sizes =
            [64, LARGE - 1, LARGE, LARGE + 1, 3 * LARGE + 4097, LARGE, 100, 5 * LARGE, 9 * LARGE];
        // SAFETY: each block is written and read inside its size and freed with its own layout.
        unsafe {
            let mut start = HugePages.alloc(layout(sizes[0]));
            (0..64).for_each(|at| start.add(at).write(at as u8));
            for pair in sizes.windows(2) {
                start = HugePages.realloc(start, layout(pair[0]), pair[1]);
                assert!((0..64).all(|at| start.add(at).read() == at as u8), "{pair:?}");
                assert_eq!(start as usize % if pair[1] >= LARGE { HUGE } else { 8 }, 0);
                start.add(pair[1] - 1).write(1);
            }
            HugePages.dealloc(start, layout(sizes[8]));
        }
    }

    #[test]
    fn zeroed_memory_is_zero_and_costs_nothing_until_it_is_used() {
        let size = 8 << 30;
        let start = kernel::map(size);
        if start.is_null() {
            println!("SKIPPED: the kernel promises no 8 GiB");
            return;
        }
        // SAFETY: read inside its size.
        unsafe {
            assert_eq!(start.add(size / 2).read(), 0);
        }
        kernel::unmap(start, size);
    }
}
