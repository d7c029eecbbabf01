//! Results for the eye: a page that stands alone, and plots for papers.
//!
//! Reading order: [`page`] makes `report.html` of a set of runs: `data` is what its charts draw, `tables` what a person
//! reads, `page.js` and `page.css` how it behaves. `plot` (feature of that name) draws one chart as SVG and writes it
//! as SVG, PNG or PDF. [`style`] and [`number`] are what both share.
//!
//! Nothing here reads a clock, a file or the environment: the same results are the same bytes.

pub mod number;
pub mod page;
#[cfg(feature = "plot")]
pub mod plot;
pub mod style;
