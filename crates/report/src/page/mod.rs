//! `report.html`: one file that needs no network and stands for itself.
//!
//! Tables, bars and text are written here as HTML and read without scripts; the line charts are
//! drawn in the page by uPlot (`vendor/README.md`) from the JSON that it carries. What depends on
//! the machine is the last section, so that everything before it is the same bytes for the same
//! results.
//!
//! Trap: names of scenarios and policies, paths and warnings are other people's text. Into HTML
//! they go through [`escape`], into JSON through `data::json`.

mod attribution;
mod claims;
mod data;
mod headline;
mod tables;

pub use attribution::told;
use manx_core::stats::{RunResult, RunSet};
use manx_lab::table::RECORDED;
use std::fmt::Write;

/// Contents of a page.
#[derive(Clone, Copy, Debug)]
pub struct Page<'a> {
    /// Its title; the names of the scenarios where that is nothing.
    pub title: &'a str,
    /// The results.
    pub set: &'a RunSet,
    /// The command that made them.
    pub command: &'a str,
    /// The drives, one line each.
    pub drives: &'a [String],
    /// The workload in a line; nothing where the runs have several.
    pub workload: &'a str,
    /// The scenario of each run as TOML, by the name of its policy.
    pub scenarios: &'a [(String, String)],
    /// Of an experiment, its claims.
    pub claims: &'a [Claim],
}

/// A claim of an experiment, and whether it held; numbers as they are to be shown.
#[derive(Clone, Debug, Default)]
pub struct Claim {
    /// Its name.
    pub id: String,
    /// The claim in words.
    pub text: String,
    /// Source of the claim: paper and figure.
    pub source: String,
    /// The number that the source prints, and whose it is.
    pub printed: String,
    /// The number measured, with its spread.
    pub measured: String,
    /// Between which numbers it counts as consistent.
    pub band: String,
    /// `reproduced`, `consistent` or `missed`; `None` where it could not be measured.
    pub verdict: Option<String>,
    /// Cause of a miss.
    pub blame: String,
    /// Why the band is what it is.
    pub why: String,
    /// Differences from the paper's conditions.
    pub conditions: String,
}

const CSS: &str = include_str!("page.css");
const JS: &str = include_str!("page.js");
const BEFORE_JS: &str = include_str!("before.js");
/// The style of uPlot.
pub const UPLOT_CSS: &str = include_str!("../../vendor/uplot/uPlot.min.css");
/// uPlot.
pub const UPLOT_JS: &str = include_str!("../../vendor/uplot/uPlot.iife.min.js");
/// The licence of both.
pub const UPLOT_LICENSE: &str = include_str!("../../vendor/uplot/LICENSE");

impl Page<'_> {
    /// The page.
    pub fn html(&self) -> String {
        let runs = &self.set.runs;
        let mut html = String::with_capacity(256 << 10);
        self.head(&mut html);
        self.header(&mut html);
        html += "<main>\n";
        html += &claims::section(self.claims);
        html += &tables::headline(self.set);
        // Together, so that the buttons stay in sight as far as there are charts.
        html += "<div>\n";
        html += &legend(self.set);
        html += &charts(runs);
        html += "</div>\n";
        html += &attribution::bars(runs);
        html += &attribution::slowest(runs);
        html += &tables::flash(runs);
        html += &tables::traces(runs);
        html += &tables::acts(runs);
        self.origin(&mut html);
        let _ = writeln!(
            html,
            "<script type=\"application/json\" id=\"data\">{}</script>",
            data::json(self.set)
        );
        let _ = writeln!(
            html,
            "<script>\n{BEFORE_JS}/*\n{UPLOT_LICENSE}\n*/\n{UPLOT_JS}\n\
             </script>\n<script>\n{JS}</script>"
        );
        html += &tables::machine(runs);
        html += "</main>\n</body>\n</html>\n";
        html
    }

    fn title(&self) -> String {
        if !self.title.is_empty() {
            return escape(self.title);
        }
        let mut names: Vec<&str> = Vec::new();
        for run in &self.set.runs {
            // A replayed trace is not the scenario's own load.
            let name =
                if run.title.is_empty() { run.scenario.as_str() } else { run.title.as_str() };
            if !names.contains(&name) {
                names.push(name);
            }
        }
        escape(&names.join(", "))
    }

    fn head(&self, html: &mut String) {
        let title = self.title();
        let _ = writeln!(
            html,
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
             style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data: blob:\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title} · Manx</title>\n\
             <link rel=\"icon\" href=\"data:,\">\n<style>\n{UPLOT_CSS}\n\
             {CSS}</style>\n</head>\n<body>"
        );
    }

    fn header(&self, html: &mut String) {
        let (runs, title) = (&self.set.runs, self.title());
        let _ = writeln!(
            html,
            "<header>\n<p class=\"brand\">Manx · tail latency of flash \
             storage</p>\n<h1>{title}</h1>"
        );
        html.push_str(&headline::sentence(runs));
        if let Some(first) = runs.first() {
            let policies = if runs.len() == 1 {
                "1 policy".to_string()
            } else {
                format!("{} policies", runs.len())
            };
            let requests = match runs.iter().map(|run| run.requests).max().unwrap_or(0) {
                1 => "1 request".to_string(),
                many => format!("{} requests", crate::number::count(many)),
            };
            let _ = writeln!(
                html,
                "<p class=\"facts\">{policies} · {requests} each · seed {} · \
                 {}&nbsp;s of virtual time</p>",
                first.seed,
                crate::number::three_digits(first.virtual_s),
            );
            html.push_str("<dl class=\"about\">\n");
            let lines = self.drives.iter().map(|drive| ("Drive", drive.as_str()));
            for (name, said) in
                lines.chain([("Workload", self.workload)]).filter(|(_, said)| !said.is_empty())
            {
                let _ = writeln!(html, "<dt>{name}</dt><dd>{}</dd>", escape(said));
            }
            html.push_str("</dl>\n");
        }
        let _ = writeln!(
            html,
            "<pre class=\"command\" aria-label=\"The command\"><code>{}</code></pre>",
            escape(self.command)
        );
        html.push_str(&tables::state(self.set));
        html.push_str(&tables::warnings(runs));
        html.push_str("</header>\n");
    }

    /// The scenarios: what runs again and gives the same.
    fn origin(&self, html: &mut String) {
        html.push_str(
            "<section aria-labelledby=\"h-scenario\">\n<h2 id=\"h-scenario\">Scenario</h2>\n",
        );
        html.push_str(
            "<p>Saved as a file, each runs again with <code>manx run FILE</code> \
             and gives the same.</p>\n",
        );
        for (policy, toml) in self.scenarios {
            let (policy, toml) = (escape(policy), escape(toml));
            let _ = writeln!(
                html,
                "<details><summary>{policy}</summary><pre tabindex=\"0\">\
                 <code>{toml}</code></pre></details>"
            );
        }
        html.push_str("</section>\n");
    }
}

/// The policies, and what was recorded, as buttons that show and hide their lines; it stays in
/// sight beside the charts.
fn legend(set: &RunSet) -> String {
    let mut html =
        "<div class=\"legend\" role=\"group\" aria-label=\"Policies shown in the charts\">\n"
            .to_string();
    let names = set.runs.iter().map(|run| run.policy.as_str());
    for (number, name) in names.chain(set.recorded().map(|_| RECORDED)).enumerate() {
        let _ = writeln!(
            html,
            "<button type=\"button\" data-policy=\"{number}\" aria-pressed=\"true\">{}{}</button>",
            swatch(number),
            escape(name)
        );
    }
    html + "</div>\n"
}

/// A piece of a policy's line.
fn swatch(number: usize) -> String {
    let dash: Vec<String> = crate::style::policy_dash(number).iter().map(u8::to_string).collect();
    let colour = number % crate::style::POLICY_COLOURS.len();
    format!(
        "<svg class=\"swatch\" width=\"30\" height=\"8\" aria-hidden=\"true\">\
         <line x1=\"1\" y1=\"4\" x2=\"29\" y2=\"4\" stroke=\"var(--p{colour})\" \
         stroke-width=\"2.5\" stroke-dasharray=\"{}\"/></svg>",
        dash.join(" ")
    )
}

fn charts(runs: &[RunResult]) -> String {
    let ops: [(&str, tables::Of); 2] = [("read", |run| &run.read), ("write", |run| &run.write)];
    let counted = |of: tables::Of| runs.iter().any(|run| of(run).count > 0);
    if !ops.iter().any(|(_, of)| counted(*of)) {
        return "<section><p class=\"note\">No read and no write was counted: \
                there is nothing to draw.</p></section>\n"
            .into();
    }
    // A line that is the same everywhere says nothing that its table does not.
    let kinds = || {
        ops.iter()
            .filter(|(_, of)| counted(*of) && tables::flat(runs, *of).is_none())
            .map(|(kind, _)| *kind)
    };
    if kinds().next().is_none() {
        return String::new();
    }
    let mut html = "<section aria-labelledby=\"h-cdf\">\n\
                    <h2 id=\"h-cdf\">Tail latency by percentile</h2>\n\
                    <p>How long a request takes at each percentile. Each step to the right is a \
                    tenth of the requests before it. Drag to zoom, double click to go back.</p>\n"
        .to_string();
    kinds().for_each(|kind| html += &chart("cdf", kind, "latency by percentile"));
    html += "</section>\n";
    if runs.iter().any(|run| run.over_time.is_some()) {
        html += "<section aria-labelledby=\"h-time\">\n<h2 id=\"h-time\">Latency over time</h2>\n\
                 <fieldset class=\"choice\"><legend>Of each slice of time</legend>";
        for (value, words) in [("p99", "p99"), ("max", "maximum"), ("mean", "mean")] {
            let checked = if value == "p99" { " checked" } else { "" };
            let _ = write!(
                html,
                "<label><input type=\"radio\" name=\"measure\" \
                 value=\"{value}\"{checked}>{words}</label>"
            );
        }
        html += "</fieldset>\n";
        kinds().for_each(|kind| html += &chart("time", kind, "latency over time"));
        html += "</section>\n";
    }
    html
}

fn chart(kind: &str, op: &str, of: &str) -> String {
    let name = if op == "read" { "Reads" } else { "Writes" };
    format!(
        "<figure><figcaption><h3>{name}</h3><output class=\"readout\" aria-live=\"off\">\
         </output></figcaption><div class=\"chart\" data-chart=\"{kind}\" data-op=\"{op}\" \
         role=\"img\" aria-label=\"{name}: {of}, one line for each policy; \
         the tables hold the same numbers\"></div></figure>\n"
    )
}

/// Other people's text as text of HTML, in an attribute too.
pub fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            // Control characters are not characters of HTML.
            letter if letter.is_control() && !letter.is_ascii_whitespace() => safe.push('\u{fffd}'),
            letter => safe.push(letter),
        }
    }
    safe
}
