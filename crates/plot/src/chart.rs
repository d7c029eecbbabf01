//! The frame of a chart: size, legend, axes. Lengths are points (1/72 inch).

use super::Plot;
use manx_core::sim::math::{ln, pow};
use manx_report::number::tick;
use manx_report::page::escape;
use std::fmt::Write;

/// Size of text: what is legible in a column of a paper.
pub(super) const TEXT: f64 = 7.5;
/// Width of a letter on average, in its size.
const LETTER: f64 = 0.51;

/// The decimal logarithm, the same bits on every machine.
pub(super) fn log10(value: f64) -> f64 {
    ln(value.max(1e-300)) / std::f64::consts::LN_10
}

/// About how wide a text is.
pub(super) fn width_of(text: &str) -> f64 {
    text.chars().count() as f64 * LETTER * TEXT
}

/// A text cut in its middle to a width: names that differ do so at their ends.
pub(super) fn fitted(text: &str, width: f64) -> String {
    let letters: Vec<char> = text.chars().collect();
    let room = (width / (LETTER * TEXT)).max(3.0) as usize;
    if letters.len() <= room {
        return text.to_string();
    }
    let (front, back) = ((room - 1).div_ceil(2), (room - 1) / 2);
    letters[..front].iter().chain(&['…']).chain(&letters[letters.len() - back..]).collect()
}

/// How an entry of the legend looks.
pub(super) enum Sample {
    Line(&'static [u8]),
    Box,
}

/// A chart under construction, and where its axes lie.
pub(super) struct Chart {
    svg: String,
    width: f64,
    height: f64,
    pub left: f64,
    pub right: f64,
    pub top: f64,
    pub bottom: f64,
}

impl Chart {
    /// A white page with title and legend; the axes get what is left inside of the margins.
    ///
    /// The error says how high the page must be for a chart of `least` points.
    pub fn new(
        plot: &Plot<'_>,
        (left, right, bottom): (f64, f64, f64),
        legend: &[(&str, &str, Sample)],
        least: f64,
    ) -> Result<Self, String> {
        let (width, height) = (plot.width.0, plot.height.0);
        let mut chart = Self {
            svg: String::new(),
            width,
            height,
            left,
            right: width - right,
            top: 4.0,
            bottom: height - bottom,
        };
        let _ = writeln!(
            chart.svg,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.2}pt\" \
             height=\"{height:.2}pt\" viewBox=\"0 0 {width:.2} {height:.2}\" \
             font-family=\"Liberation Sans\" font-size=\"{TEXT}\">\n\
             <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>"
        );
        if let Some(title) = plot.title {
            chart.top += 9.0;
            let (x, y) = (width / 2.0, chart.top);
            let _ = writeln!(
                chart.svg,
                "<text x=\"{x:.2}\" y=\"{y:.2}\" font-size=\"9\" text-anchor=\"middle\">{}</text>",
                escape(title)
            );
            chart.top += 4.0;
        }
        chart.legend(legend);
        let missing = least - (chart.bottom - chart.top);
        if missing > 0.0 {
            let millimetres = ((height + missing) * 25.4 / 72.0).ceil();
            let runs = plot.runs.len();
            return Err(format!(
                "{runs} runs leave no room for the chart: it needs --height {millimetres}mm or more"
            ));
        }
        Ok(chart)
    }

    fn legend(&mut self, entries: &[(&str, &str, Sample)]) {
        let (mut x, mut y) = (self.left, self.top + TEXT);
        for (name, colour, sample) in entries {
            let mark = if matches!(sample, Sample::Line(_)) { 17.0 } else { 7.0 };
            let name = fitted(name, self.width - self.left - mark - 5.0);
            let wide = mark + 3.0 + width_of(&name) + 8.0;
            if x > self.left && x + wide - 8.0 > self.width - 2.0 {
                (x, y) = (self.left, y + TEXT * 1.25);
            }
            match sample {
                Sample::Line(dash) => self.line(&[(x, y - 2.5), (x + mark, y - 2.5)], colour, dash),
                Sample::Box => self.rect(x, y - 6.0, mark, 6.5, colour),
            }
            self.text(x + mark + 3.0, y, "start", &name);
            x += wide;
        }
        self.top = y + 6.0;
    }

    /// A line through points.
    pub fn line(&mut self, points: &[(f64, f64)], colour: &str, dash: &[u8]) {
        if points.len() < 2 {
            return;
        }
        let points: Vec<String> = points.iter().map(|(x, y)| format!("{x:.2},{y:.2}")).collect();
        let dash: Vec<String> =
            dash.iter().map(|length| format!("{:.1}", f64::from(*length) * 0.6)).collect();
        let dash = if dash.is_empty() {
            String::new()
        } else {
            format!(" stroke-dasharray=\"{}\"", dash.join(" "))
        };
        let points = points.join(" ");
        let _ = writeln!(
            self.svg,
            "<polyline points=\"{points}\" fill=\"none\" stroke=\"{colour}\" \
             stroke-width=\"1.1\" stroke-linejoin=\"round\"{dash}/>"
        );
    }

    /// A filled rectangle.
    pub fn rect(&mut self, x: f64, y: f64, width: f64, height: f64, colour: &str) {
        let _ = writeln!(
            self.svg,
            "<rect x=\"{x:.2}\" y=\"{y:.2}\" width=\"{width:.2}\" height=\"{height:.2}\" \
             fill=\"{colour}\" stroke=\"#fff\" stroke-width=\"0.3\"/>"
        );
    }

    /// A text at its base line.
    pub fn text(&mut self, x: f64, y: f64, anchor: &str, text: &str) {
        let text = escape(text);
        let _ = writeln!(
            self.svg,
            "<text x=\"{x:.2}\" y=\"{y:.2}\" text-anchor=\"{anchor}\">{text}</text>"
        );
    }

    fn rule(&mut self, from: (f64, f64), to: (f64, f64), colour: &str) {
        let ((x1, y1), (x2, y2)) = (from, to);
        let _ = writeln!(
            self.svg,
            "<line x1=\"{x1:.2}\" y1=\"{y1:.2}\" x2=\"{x2:.2}\" y2=\"{y2:.2}\" \
             stroke=\"{colour}\" stroke-width=\"0.5\"/>"
        );
    }

    /// Where a latency lies on the logarithmic axis from `low` to `high`.
    pub fn y(&self, us: f64, (low, high): (f64, f64)) -> f64 {
        let share = (log10(us) - log10(low)) / (log10(high) - log10(low));
        self.bottom - share.clamp(0.0, 1.0) * (self.bottom - self.top)
    }

    /// Where a share from 0 to 1 of the horizontal axis lies.
    pub fn x(&self, share: f64) -> f64 {
        self.left + share * (self.right - self.left)
    }

    /// The axis of latencies, with its grid.
    pub fn latency_axis(&mut self, bounds: (f64, f64), label: &str) {
        let (low, high) = bounds;
        let steps: &[f64] = if high / low < 150.0 { &[1.0, 2.0, 5.0] } else { &[1.0] };
        for power in log10(low).floor() as i32..=log10(high).ceil() as i32 {
            for step in steps {
                let us = step * pow(10.0, f64::from(power));
                if us >= low * 0.999 && us <= high * 1.001 {
                    let y = self.y(us, bounds);
                    self.rule((self.left, y), (self.right, y), "#ddd");
                    self.text(self.left - 3.0, y + 2.6, "end", &tick(us));
                }
            }
        }
        let (x, y) = (8.0, (self.top + self.bottom) / 2.0);
        let _ = writeln!(
            self.svg,
            "<text transform=\"translate({x:.2} {y:.2}) rotate(-90)\" \
             text-anchor=\"middle\">{}</text>",
            escape(label)
        );
    }

    /// The horizontal axis: ticks by their share, and what it says.
    pub fn bottom_axis(&mut self, ticks: &[(f64, String)], grid: bool, label: &str) {
        let (left, right, top, bottom) = (self.left, self.right, self.top, self.bottom);
        let mut end = f64::MIN;
        for (share, text) in ticks {
            let x = self.x(*share);
            if grid {
                self.rule((x, top), (x, bottom), "#ddd");
            }
            let half = width_of(text) / 2.0;
            // A label that would touch the one before it is left out; its line stays.
            if x - half > end + 2.0 {
                self.text(x, bottom + 9.0, "middle", text);
                end = x + half;
            }
        }
        self.rule((left, bottom), (right, bottom), "#000");
        self.rule((left, top), (left, bottom), "#000");
        self.text((left + right) / 2.0, bottom + 19.0, "middle", label);
    }

    /// The whole document.
    pub fn finish(self) -> String {
        debug_assert!(self.width > 0.0 && self.height > 0.0);
        self.svg + "</svg>\n"
    }
}

/// The smallest round bounds (1, 2 or 5 times a power of ten) around latencies; `None` without any.
pub(super) fn bounds(latencies: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    let (mut low, mut high) = (f64::MAX, 0.0f64);
    latencies.filter(|us| *us > 0.0).for_each(|us| (low, high) = (low.min(us), high.max(us)));
    if high == 0.0 {
        return None;
    }
    let decade = |us: f64| pow(10.0, log10(us * 1.000_001).floor());
    let bottom = [5.0, 2.0, 1.0]
        .map(|step| step * decade(low))
        .into_iter()
        .find(|edge| *edge <= low * 1.000_1);
    let top = [1.0, 2.0, 5.0, 10.0]
        .map(|step| step * decade(high))
        .into_iter()
        .find(|edge| *edge >= high * 0.999_9);
    let (bottom, top) = (bottom.unwrap_or(low), top.unwrap_or(high));
    Some(if bottom < top * 0.999 { (bottom, top) } else { (bottom / 2.0, top * 2.0) })
}
