//! Colours, dashes and words that the page and the plots share.
//!
//! The colours are those of Okabe and Ito (Color Universal Design, 2008), which stay apart for the
//! colour-blind; a dash pattern of its own tells each line in black and white too. `page.css` holds
//! lighter ones for a dark background.

use manx_core::units::{Cause, Stage};

/// Colours of policies on white, in their order; a ninth policy begins again with another dash.
pub const POLICY_COLOURS: [&str; 8] =
    ["#0072b2", "#d55e00", "#00805f", "#b0568a", "#8a6d00", "#2f8fc4", "#444444", "#7a4fb5"];

/// Dashes of policies, on and off in pixels; the first is a solid line. Their number shares no
/// factor with that of the colours but two, so that 24 policies differ.
pub const POLICY_DASHES: [&[u8]; 6] =
    [&[], &[7, 3], &[2, 2], &[9, 2, 2, 2], &[4, 2], &[9, 2, 2, 2, 2, 2]];

/// The colour of a policy by its place.
pub fn policy_colour(number: usize) -> &'static str {
    POLICY_COLOURS[number % POLICY_COLOURS.len()]
}

/// The dash of a policy by its place.
pub fn policy_dash(number: usize) -> &'static [u8] {
    POLICY_DASHES[number % POLICY_DASHES.len()]
}

/// The colour of a cause: own work is grey, what garbage collection does is warm, what other
/// requests do is cold.
pub const fn cause_colour(cause: Cause) -> &'static str {
    match cause {
        Cause::Service => "#bdbdbd",
        Cause::Erase => "#b2182b",
        Cause::Program => "#e69f00",
        Cause::GcCopy => "#ef6a4c",
        Cause::Reads => "#56b4e9",
        Cause::Channel => "#0072b2",
        Cause::Link => "#9ecae1",
        Cause::Queue => "#7a5195",
        Cause::Buffer => "#00a37a",
        Cause::Suspension => "#f0e442",
        Cause::Reconstruct => "#cc79a7",
        Cause::Retry => "#8c510a",
        Cause::Stripe => "#636363",
        Cause::Space => "#67001f",
        Cause::Flush => "#b8860b",
    }
}

/// A cause in words.
pub const fn cause_words(cause: Cause) -> &'static str {
    match cause {
        Cause::Service => "own work",
        Cause::Erase => "erase",
        Cause::Program => "program",
        Cause::GcCopy => "GC copy",
        Cause::Reads => "other reads",
        Cause::Channel => "channel",
        Cause::Link => "host link",
        Cause::Queue => "queue",
        Cause::Buffer => "buffer",
        Cause::Suspension => "suspension",
        Cause::Reconstruct => "reconstruct",
        Cause::Retry => "retry",
        Cause::Stripe => "stripe",
        Cause::Space => "free block",
        Cause::Flush => "flush",
    }
}

/// A stage of an array's request in words.
pub const fn stage_words(stage: Stage) -> &'static str {
    match stage {
        Stage::Read => "its own drive",
        Stage::Retry => "retry",
        Stage::Reconstruct => "the rest of its row",
        Stage::Xor => "computing",
        Stage::PreRead => "old pages",
        Stage::Write => "writing",
        Stage::Flush => "flushing",
        Stage::Stripe => "its row",
        Stage::Cache => "the array's memory",
    }
}

/// A band of requests in words.
pub fn band_words(band: &str) -> String {
    match band {
        "all" => "all".to_string(),
        band => format!("> {}", band.replace('_', ".")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_dozen_policies_have_lines_of_their_own() {
        let lines: Vec<_> =
            (0..24).map(|number| (policy_colour(number), policy_dash(number))).collect();
        for (number, line) in lines.iter().enumerate() {
            assert!(!lines[..number].contains(line), "{number}");
        }
    }

    #[test]
    fn no_two_causes_look_the_same() {
        let mut colours = Cause::ALL.map(cause_colour).to_vec();
        colours.sort_unstable();
        colours.dedup();
        assert_eq!(colours.len(), Cause::ALL.len());
    }
}
