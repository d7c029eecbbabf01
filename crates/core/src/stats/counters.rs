//! A counter is said once: its name, its unit and how it adds up stand in one line, wherever it is
//! counted.
//!
//! A layer counts from its start in a structure of [`counters`], one addition each. The measured
//! part of a run is the difference to a copy taken when the warm-up ended (`since`); drives side by
//! side add up (`add`). The structures stand here, below the layers that count in them, so that
//! `result.json` can be made of them: beside their report, and in [`drive`](super::drive) where
//! several reports use them. Where the document says a counter as it is, the structure is the
//! report.

/// Declares structures of counters. Each counter has a kind, which says what is left of it since an
/// earlier moment, and what it is for several drives:
///
/// | kind | since | of several |
/// |---|---|---|
/// | `sum` | the difference | the sum |
/// | `level`: a state at the end | itself | the sum |
/// | `max`, `min` | itself: of the whole run | the largest, the smallest |
/// | `first`: an optional time | itself | the earliest |
/// | `group`: counters in their turn | what they make of it | what they make of it |
macro_rules! counters {
    ($(#[$attribute:meta])* pub struct $name:ident {
        $($(#[$about:meta])* $kind:ident $counter:ident: $of:ty,)+
    }) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $name {
            $($(#[$about])* pub $counter: $of,)+
        }

        impl $name {
            /// The counts since `earlier`, a copy of these counters; a state, and a maximum, stay
            /// as they are.
            pub fn since(&self, earlier: &Self) -> Self {
                Self { $($counter: counters!(since $kind self.$counter, earlier.$counter),)+ }
            }

            /// Adds the counts of another drive, or of another part of this one.
            pub fn add(&mut self, other: &Self) {
                $(counters!(add $kind self.$counter, other.$counter);)+
            }
        }
    };
    (since sum $now:expr, $then:expr) => { $now - $then };
    (since group $now:expr, $then:expr) => { $now.since(&$then) };
    (since $kind:ident $now:expr, $then:expr) => {{
        // A state has no difference.
        let _ = $then;
        $now
    }};
    (add sum $all:expr, $more:expr) => { $all += $more };
    (add level $all:expr, $more:expr) => { $all += $more };
    (add max $all:expr, $more:expr) => { $all = $all.max($more) };
    (add min $all:expr, $more:expr) => { $all = $all.min($more) };
    (add first $all:expr, $more:expr) => { $all = [$all, $more].into_iter().flatten().min() };
    (add group $all:expr, $more:expr) => { $all.add(&$more) };
}

pub(crate) use counters;

#[cfg(test)]
mod tests {
    use crate::units::{Duration, Instant};

    counters! {
        /// Pages, and how long they took.
        pub struct Inner {
            /// Pages.
            sum pages: u64,
            /// The time that they took.
            sum time: Duration,
            /// The longest that one took.
            max longest: Duration,
        }
    }

    counters! {
        /// One of each kind.
        pub struct Outer {
            /// A group.
            group inner: Inner,
            /// A state that adds up.
            level bad: u64,
            /// A state of which the least counts.
            min spare: i64,
            /// A time.
            first failed_at: Option<Instant>,
        }
    }

    fn outer(pages: u64, longest_us: u64, bad: u64, spare: i64, failed_us: Option<u64>) -> Outer {
        let failed_at = failed_us.map(|us| Instant::START + Duration::from_us(us));
        let inner = Inner {
            pages,
            time: Duration::from_us(10 * pages),
            longest: Duration::from_us(longest_us),
        };
        Outer { inner, bad, spare, failed_at }
    }

    #[test]
    fn since_the_warm_up_sums_are_differences_and_states_and_extremes_stay() {
        let (warm, end) = (outer(3, 40, 5, 7, None), outer(9, 50, 6, 4, Some(8)));
        let measured = Outer {
            inner: Inner { longest: end.inner.longest, ..outer(6, 0, 0, 0, None).inner },
            ..end
        };
        assert_eq!(end.since(&warm), measured);
        assert_eq!(end.since(&end).inner.pages, 0);
        assert_eq!(end.since(&Outer::default()), end);
    }

    #[test]
    fn of_two_drives_counts_and_states_add_up_and_the_worse_one_tells() {
        for (one, two) in [(0, 1), (1, 0)] {
            let drives = [outer(3, 40, 5, 7, Some(9)), outer(9, 30, 6, -4, Some(8))];
            let mut all = drives[one];
            all.add(&drives[two]);
            assert_eq!(all, outer(12, 40, 11, -4, Some(8)));
        }
    }

    #[test]
    fn a_time_that_only_one_drive_has_is_that_of_both() {
        for (one, two) in [(None, Some(8)), (Some(8), None)] {
            let mut all = outer(0, 0, 0, 0, one);
            all.add(&outer(0, 0, 0, 0, two));
            assert_eq!(all, outer(0, 0, 0, 0, Some(8)));
        }
        let mut never = outer(0, 0, 0, 0, None);
        never.add(&outer(0, 0, 0, 0, None));
        assert_eq!(never.failed_at, None);
    }
}
