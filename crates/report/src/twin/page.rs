//! The page: tables, and a chart of the windows of a long write.

use super::read::{Figure, Fit, Long, Run, Window};
use super::{facts, percent};
use std::fmt::Write;

const STYLE: &str = include_str!("page.css");

/// Of a chart, in units of its own.
const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 220.0;

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// The page of these fits.
pub fn page(fits: &[Fit]) -> String {
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta \
         name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>Twins of real \
         drives</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n<h1>Twins of real \
         drives</h1>\n<p>A twin is a device fitted to what a drive was measured to do. Errors are \
         means of |modelled / measured - 1|; <em>left out</em> is the error of a run in a fit that \
         did not see it.</p>\n"
    );
    page.push_str(&overview(fits));
    fits.iter().for_each(|fit| section(fit, &mut page));
    page.push_str("</main>\n</body>\n</html>\n");
    page
}

fn table(head: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let mut table = String::from("<div class=\"scroll\"><table>\n<thead><tr>");
    head.iter().for_each(|cell| {
        let _ = write!(table, "<th scope=\"col\">{}</th>", escaped(cell));
    });
    table.push_str("</tr></thead>\n<tbody>\n");
    for row in rows {
        table.push_str("<tr>");
        for (number, cell) in row.iter().enumerate() {
            let (tag, scope) = if number == 0 { ("th", " scope=\"row\"") } else { ("td", "") };
            let _ = write!(table, "<{tag}{scope}>{}</{tag}>", escaped(cell));
        }
        table.push_str("</tr>\n");
    }
    table + "</tbody>\n</table></div>\n"
}

fn overview(fits: &[Fit]) -> String {
    let row = |fit: &Fit| {
        let error = fit.error.as_ref();
        let part = |number: usize| fit.long.as_ref().and_then(|long| long.parts.get(number));
        let both = |a: Option<f64>, b: Option<f64>| match (a, b) {
            (None, None) => "-".to_string(),
            (a, b) => format!("{} / {}", percent(a), percent(b)),
        };
        vec![
            fit.name.clone(),
            fit.fitted_on(),
            fit.tested_on(),
            both(error.and_then(|of| of.percentiles), error.and_then(|of| of.held_percentiles)),
            both(error.and_then(|of| of.iops), error.and_then(|of| of.held_iops)),
            both(part(0).and_then(|of| of.waf), part(1).and_then(|of| of.waf)),
            both(part(0).and_then(|of| of.rate), part(1).and_then(|of| of.rate)),
        ]
    };
    let head = [
        "twin",
        "fitted on",
        "tested on",
        "percentiles: in sample / left out",
        "IOPS: in sample / left out",
        "WAF: fitted / the next windows",
        "rate: fitted / the next windows",
    ];
    table(&head, fits.iter().map(row))
}

fn section(fit: &Fit, page: &mut String) {
    let _ = writeln!(page, "<section>\n<h2>{}</h2>", escaped(&fit.name));
    if let Some(summary) = &fit.summary {
        let _ = writeln!(page, "<p>{}</p>", escaped(summary));
    }
    if fit.is_partial {
        page.push_str("<p><strong>Stopped before its end: the best so far.</strong></p>\n");
    }
    page.push_str("<dl>\n");
    for (what, said) in facts(fit) {
        let _ = writeln!(page, "<dt>{what}</dt><dd>{}</dd>", escaped(&said));
    }
    page.push_str("</dl>\n");
    if !fit.runs.is_empty() {
        let head = [
            "run, measured / modelled",
            "p50 us",
            "p90 us",
            "p99 us",
            "p99.9 us",
            "kIOPS",
            "error",
            "left out",
            "",
        ];
        page.push_str(&table(&head, fit.runs.iter().map(row)));
    }
    if let Some(long) = &fit.long {
        windows(long, page);
    }
    page.push_str("<h3>Parameters and where they are from</h3>\n");
    let rows = fit.parameters.iter().map(|(name, source)| vec![name.clone(), source.clone()]);
    page.push_str(&table(&["parameter", "source"], rows));
    page.push_str("</section>\n");
}

fn row(run: &Run) -> Vec<String> {
    let mut cells = vec![run.name.clone()];
    let each = |of: &super::Figure| format!("{:.0} / {:.0}", of.measured, of.modelled);
    cells.extend(run.percentiles.iter().map(each));
    let iops = run.iops;
    cells.push(format!("{:.1} / {:.1}", iops.measured / 1e3, iops.modelled / 1e3));
    cells.push(percent(Some(run.error)));
    cells.push(percent(run.held_out));
    cells.push(if run.is_explained { "" } else { "not explained" }.to_string());
    cells
}

fn windows(long: &Long, page: &mut String) {
    let _ =
        writeln!(page, "<h3>{}: {} by capacities written</h3>", escaped(&long.name), of(long).0);
    if !long.windows.is_empty() {
        chart(long, page);
    }
    let rows = long.parts.iter().map(|part| {
        vec![part.of.clone(), part.windows.to_string(), percent(part.waf), percent(part.rate)]
    });
    page.push_str(&table(&["windows", "how many", "WAF off", "rate off"], rows));
}

/// The figure of a window that is drawn: its WAF, or the rate in GB/s where that alone was
/// measured.
fn of(long: &Long) -> (&'static str, fn(&Window) -> Figure) {
    fn gigabytes(of: Figure) -> Figure {
        Figure { measured: of.measured / 1e9, modelled: of.modelled / 1e9 }
    }
    match long.windows.iter().all(|window| window.waf.is_some()) {
        true => ("WAF", |window| window.waf.unwrap_or(window.rate)),
        false => ("GB/s", |window| gigabytes(window.rate)),
    }
}

/// The figure of each window, measured and modelled.
fn chart(long: &Long, page: &mut String) {
    let (what, figure) = of(long);
    let most = |of: &dyn Fn(&Window) -> f64| long.windows.iter().map(of).fold(0.0, f64::max);
    let larger = |window: &Window| figure(window).measured.max(figure(window).modelled);
    let (end, high) = (most(&|window| window.to), most(&larger));
    let (x, y) = (|to: f64| to / end * WIDTH, |of: f64| HEIGHT * (1.0 - of / (1.05 * high)));
    let line = |class: &str, of: &dyn Fn(&Window) -> f64| {
        let mut line = format!("<polyline class=\"{class}\" points=\"");
        for window in &long.windows {
            let _ = write!(line, "{:.1},{:.1} ", x(window.to), y(of(window)));
        }
        line + "\"/>\n"
    };
    let _ = writeln!(
        page,
        "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{what} by window, \
         measured and modelled\">"
    );
    if let Some(first) = long.windows.iter().find(|window| window.is_held_out) {
        let from = x(first.to);
        let _ = writeln!(
            page,
            "<rect class=\"held\" x=\"{from:.1}\" y=\"0\" width=\"{:.1}\" height=\"{HEIGHT}\"/>",
            WIDTH - from
        );
    }
    page.push_str(&line("measured", &|window| figure(window).measured));
    page.push_str(&line("modelled", &|window| figure(window).modelled));
    let _ = writeln!(
        page,
        "</svg>\n<p class=\"note\">From 0 to {end:.1} capacities, {what} from 0 to {:.1}; blue: \
         measured, orange: modelled, grey: held out.</p>",
        1.05 * high
    );
}
