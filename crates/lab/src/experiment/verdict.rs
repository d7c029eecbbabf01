//! Verdicts: a claim is reproduced (inside the range that the source prints), consistent (inside
//! the band that the experiment states) or missed.

use super::load::Band;
use serde::{Deserialize, Serialize};

/// Share by which a value may differ from a single printed figure and count as reproduced. A range
/// needs no such share: its ends are the source's own.
pub const POINT: f64 = 0.10;

/// Judgement of a measured value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Outside of the band.
    Missed,
    /// Inside the band, and outside of the source's range or without one.
    Consistent,
    /// Inside the source's range.
    Reproduced,
}

impl Verdict {
    /// All of them, the worst first.
    pub const ALL: [Self; 3] = [Self::Missed, Self::Consistent, Self::Reproduced];

    /// As a table says it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Missed => "missed",
            Self::Consistent => "consistent",
            Self::Reproduced => "reproduced",
        }
    }
}

/// A number as a source prints it.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum Figure {
    /// One number.
    Point(f64),
    /// Two ends, both included; an open one is infinite.
    Range([f64; 2]),
}

impl Figure {
    /// Values that count as reproduced.
    pub fn band(self) -> Band {
        let (low, high) = match self {
            Self::Point(at) => (at - POINT * at.abs(), at + POINT * at.abs()),
            Self::Range([low, high]) => (low, high),
        };
        let end = |end: f64| Some(end).filter(|end| end.is_finite());
        Band { low: end(low), high: end(high) }
    }

    /// Does this range, or point, lie in `other`?
    pub(super) fn is_within(self, other: Self) -> bool {
        let ends = |figure: Self| match figure {
            Self::Point(at) => [at, at],
            Self::Range(ends) => ends,
        };
        let ([low, high], [least, most]) = (ends(self), ends(other));
        low >= least && high <= most
    }

    /// Why it is no figure, if it is none.
    pub(super) fn wrong(self) -> Option<String> {
        match self {
            Self::Point(at) if !at.is_finite() => {
                Some("a single figure is a finite number".to_string())
            }
            Self::Range([low, high]) if low.is_nan() || high.is_nan() || low >= high => {
                Some(format!("a range is [low, high] with low < high, and not [{low}, {high}]"))
            }
            Self::Range([low, high]) if low.is_infinite() && high.is_infinite() => {
                Some("a range that is open at both ends says nothing".to_string())
            }
            _ => None,
        }
    }
}

/// Source of the number that a claim is compared with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Origin {
    /// Text, a figure or a table of a paper.
    Paper(Figure),
    /// Code or data of a paper's authors.
    Artefact(Figure),
    /// A formula; the band says how near.
    Law(f64),
    /// Nobody's: an expectation of this project.
    Ours,
}

impl Origin {
    /// The figure that a paper prints or that its authors' code gives.
    pub const fn figure(self) -> Option<Figure> {
        match self {
            Self::Paper(figure) | Self::Artefact(figure) => Some(figure),
            Self::Law(_) | Self::Ours => None,
        }
    }

    /// In one word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Paper(_) => "paper",
            Self::Artefact(_) => "artefact",
            Self::Law(_) => "law",
            Self::Ours => "ours",
        }
    }

    /// Verdict on `value`, whose claim has this band.
    pub fn judge(self, value: f64, band: &Band) -> Verdict {
        let is_reproduced = match self {
            Self::Paper(figure) | Self::Artefact(figure) => figure.band().holds(value),
            Self::Law(_) => band.holds(value),
            Self::Ours => false,
        };
        match () {
            () if is_reproduced => Verdict::Reproduced,
            () if band.holds(value) => Verdict::Consistent,
            () => Verdict::Missed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_reproduced_in_the_sources_range_consistent_in_the_band_and_else_missed() {
        let band = Band { low: Some(1.0), high: Some(9.0) };
        let judge = |origin: Origin, value: f64| origin.judge(value, &band);
        let range = Origin::Paper(Figure::Range([2.52, 7.88]));
        assert_eq!(judge(range, 2.52), Verdict::Reproduced);
        assert_eq!(judge(range, 8.0), Verdict::Consistent);
        assert_eq!(judge(range, 9.1), Verdict::Missed);
        let point = Origin::Artefact(Figure::Point(5.0));
        assert_eq!(
            [4.49, 4.51, 5.49, 5.51].map(|value| judge(point, value)),
            [Verdict::Consistent, Verdict::Reproduced, Verdict::Reproduced, Verdict::Consistent]
        );
        let open = Origin::Paper(Figure::Range([1.53, f64::INFINITY]));
        assert_eq!(
            (judge(open, 1.5), judge(open, 50.0)),
            (Verdict::Consistent, Verdict::Reproduced)
        );
        assert_eq!(judge(Origin::Law(5.0), 8.9), Verdict::Reproduced, "the band says how near");
        assert_eq!(judge(Origin::Ours, 5.0), Verdict::Consistent, "nobody published it");
    }

    #[test]
    fn a_figure_that_says_nothing_is_refused() {
        for figure in [
            Figure::Point(f64::INFINITY),
            Figure::Range([2.0, 2.0]),
            Figure::Range([f64::NAN, 2.0]),
            Figure::Range([f64::NEG_INFINITY, f64::INFINITY]),
        ] {
            assert!(figure.wrong().is_some(), "{figure:?}");
        }
        assert_eq!(Figure::Range([f64::NEG_INFINITY, 200.0]).wrong(), None);
    }
}
