//! Plots for papers: one chart of results as SVG, PDF or PNG. A crate and a program of its own:
//! what lays out text and writes PDF takes as long to compile as the simulator, and no simulation
//! needs it.
//!
//! `chart` writes SVG; usvg then sets its text in the font of `vendor/`, and that tree is the SVG
//! that is written (text as outlines), what svg2pdf makes a PDF of (text as text, the font embedded
//! in part), and what resvg paints at 600 dots an inch. No font of the machine takes part.

mod chart;
mod kinds;

use manx_config::nearest;
use manx_core::stats::{LatencySummary, RunResult, SliceTimes};
use resvg::{tiny_skia, usvg};
use std::path::Path;
use std::sync::Arc;

const FONT: &[u8] = include_bytes!("../vendor/liberation/LiberationSans-Regular.ttf");
/// Dots an inch of a PNG: what journals ask of line art.
const DPI: f32 = 600.0;
/// CSS pixels an inch, in which usvg counts.
const CSS_DPI: f32 = 96.0;

/// Kind of chart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The inverse cumulative distribution over an axis of nines.
    Cdf,
    /// The 99th percentile of each slice of time.
    Time,
    /// Causes of the requests' waits, by band.
    Attribution,
    /// Percentiles side by side.
    Bars,
}

impl Kind {
    /// The kind of a name, or what is allowed.
    pub fn named(name: &str) -> Result<Self, String> {
        match name {
            "cdf" => Ok(Kind::Cdf),
            "time" => Ok(Kind::Time),
            "attribution" => Ok(Kind::Attribution),
            "bars" => Ok(Kind::Bars),
            _ => {
                let names = ["cdf", "time", "attribution", "bars"];
                Err(format!("no such kind; one of {}{}", names.join(", "), meant(name, &names)))
            }
        }
    }
}

/// The nearest name, as a question.
fn meant(name: &str, names: &[&str]) -> String {
    nearest(name, names.iter().copied())
        .map_or(String::new(), |near| format!("; did you mean {near}?"))
}

/// Of which requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Reads.
    Read,
    /// Writes.
    Write,
}

impl Op {
    /// The operation of a name, or what is allowed.
    pub fn named(name: &str) -> Result<Self, String> {
        match name {
            "read" => Ok(Op::Read),
            "write" => Ok(Op::Write),
            _ => {
                Err(format!("no such operation; read or write{}", meant(name, &["read", "write"])))
            }
        }
    }

    const fn word(self) -> &'static str {
        match self {
            Op::Read => "read",
            Op::Write => "write",
        }
    }

    fn summary(self, run: &RunResult) -> &LatencySummary {
        match self {
            Op::Read => &run.read,
            Op::Write => &run.write,
        }
    }

    fn slices(self, run: &RunResult) -> Option<&SliceTimes> {
        run.over_time.as_ref().map(|over| match self {
            Op::Read => &over.read,
            Op::Write => &over.write,
        })
    }
}

/// Format of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Scalable Vector Graphics.
    Svg,
    /// Portable Document Format.
    Pdf,
    /// Portable Network Graphics.
    Png,
}

impl Format {
    /// The format that the ending of a file asks for, or which endings there are.
    pub fn of(path: &Path) -> Result<Self, String> {
        let ending = path.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase());
        match ending.as_deref() {
            Some("svg") => Ok(Format::Svg),
            Some("pdf") => Ok(Format::Pdf),
            Some("png") => Ok(Format::Png),
            Some(other) => Err(format!("unknown ending `.{other}`; one of .svg, .pdf, .png")),
            None => Err("no ending; one of .svg, .pdf, .png says what to write".to_string()),
        }
    }
}

/// A length on paper, in points (1/72 inch).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Length(f64);

impl Length {
    /// "88mm", "3.5in" or "252pt", from 20 mm to 500 mm.
    pub fn parse(text: &str) -> Result<Self, String> {
        let expected =
            || "expected a length from 20mm to 500mm, such as 88mm, 3.5in or 252pt".to_string();
        let unit = text.find(|c: char| c.is_ascii_alphabetic()).ok_or_else(expected)?;
        let number: f64 = text[..unit].trim().parse().map_err(|_| expected())?;
        let points = match &text[unit..] {
            "mm" => number * 72.0 / 25.4,
            "in" => number * 72.0,
            "pt" => number,
            _ => return Err(expected()),
        };
        (56.0..=1418.0).contains(&points).then_some(Self(points)).ok_or_else(expected)
    }
}

/// A plot to be drawn.
#[derive(Clone, Copy, Debug)]
pub struct Plot<'a> {
    /// The runs, each under its policy's name.
    pub runs: &'a [RunResult],
    /// The kind of chart.
    pub kind: Kind,
    /// Of which requests.
    pub op: Op,
    /// Its title.
    pub title: Option<&'a str>,
    /// How wide.
    pub width: Length,
    /// How high.
    pub height: Length,
}

impl Plot<'_> {
    /// The bytes of the file; the error says why there is nothing to draw.
    pub fn draw(&self, format: Format) -> Result<Vec<u8>, String> {
        let svg = self.svg()?;
        let mut options = usvg::Options::default();
        let fonts = Arc::make_mut(&mut options.fontdb);
        fonts.load_font_data(FONT.to_vec());
        fonts.set_sans_serif_family("Liberation Sans");
        let tree = usvg::Tree::from_str(&svg, &options)
            .map_err(|error| format!("the plot is no SVG: {error}"))?;
        match format {
            Format::Svg => Ok(tree.to_string(&usvg::WriteOptions::default()).into_bytes()),
            Format::Pdf => {
                let page = svg2pdf::PageOptions { dpi: CSS_DPI };
                let pdf = svg2pdf::to_pdf(&tree, svg2pdf::ConversionOptions::default(), page);
                pdf.map_err(|error| format!("the plot cannot be written as PDF: {error}"))
            }
            Format::Png => {
                let scale = DPI / CSS_DPI;
                let size = tree.size();
                let (width, height) =
                    ((size.width() * scale).ceil() as u32, (size.height() * scale).ceil() as u32);
                let mut pixels = tiny_skia::Pixmap::new(width, height)
                    .ok_or("the plot is too large for a PNG")?;
                resvg::render(
                    &tree,
                    tiny_skia::Transform::from_scale(scale, scale),
                    &mut pixels.as_mut(),
                );
                pixels
                    .encode_png()
                    .map_err(|error| format!("the plot cannot be written as PNG: {error}"))
            }
        }
    }

    /// The chart as SVG with text as text.
    pub fn svg(&self) -> Result<String, String> {
        match self.kind {
            Kind::Cdf => kinds::cdf(self),
            Kind::Time => kinds::time(self),
            Kind::Attribution => kinds::attribution(self),
            Kind::Bars => kinds::bars(self),
        }
    }

    fn nothing(&self, what: &str) -> String {
        let other = if self.op == Op::Read { Op::Write } else { Op::Read };
        let hint = match self.runs.iter().any(|run| other.summary(run).count > 0) {
            true => format!("; --op {} draws the others", other.word()),
            false => String::new(),
        };
        format!("nothing to plot: no run has {what} of {}s{hint}", self.op.word())
    }
}
