//! The answer as a page that stands alone: no script, no network.

use super::answer::{Answer, Line};
use super::goal::Goal;
use super::show::{broken_line, judged, keeps, name, nothing, price, price_words};
use std::fmt::Write;

const CSS: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:64rem;margin:2rem auto;\
padding:0 1rem;color:#1b1f24;background:#fff}table{border-collapse:collapse;font-size:.9rem}\
th,td{padding:.3rem .6rem;border-bottom:1px solid #dde1e7;text-align:left}\
code{font-size:.85rem;overflow-wrap:anywhere}.scroll{overflow-x:auto}\
.yes{color:#00805f}.no{color:#b2182b}.dim{color:#5a6472}\
@media(prefers-color-scheme:dark){body{color:#e7eaee;background:#14171c}\
th,td{border-color:#333b47}.dim{color:#a0aab8}.yes{color:#3fd0a2}.no{color:#ff8f7a}}";

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 280.0;

/// The page.
pub fn html(answer: &Answer) -> String {
    let mut html = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\"><title>Advice: {}</title>\
         <style>{CSS}</style></head>\n<body>\n<h1>Advice for {}</h1>\n<p>{}</p>\n",
        escape(&answer.load.name),
        escape(&answer.load.name),
        escape(&answer.drive)
    );
    let goals: Vec<&str> = answer.goals.iter().map(|goal| goal.text.as_str()).collect();
    let _ = writeln!(
        html,
        "<p>Goals: <b>{}</b>; least {}.</p>",
        escape(&goals.join(", ")),
        escape(&price_words(answer))
    );
    match (&answer.recommendation, &answer.impossible) {
        (Some(line), _) => {
            let _ = writeln!(
                html,
                "<h2>Recommended</h2>\n<p><b>{}</b>: {}</p>\n<p>{}</p>\n<pre><code>{}</code></pre>",
                escape(&name(line)),
                escape(&price(answer, line.price)),
                escape(&values(answer, line)),
                escape(&line.command)
            );
        }
        (None, why) => {
            let _ = writeln!(
                html,
                "<h2>{}</h2>\n<p>{}.</p>",
                nothing(answer),
                escape(why.as_deref().unwrap_or_default())
            );
        }
    }
    html += &bounds(answer);
    html += &picture(answer);
    html += &front(answer);
    html += &broken(answer);
    html += &costs(answer);
    for remark in &answer.remarks {
        let _ = writeln!(html, "<p class=\"dim\">{}</p>", escape(remark));
    }
    html + "</body></html>\n"
}

fn values(answer: &Answer, line: &Line) -> String {
    let all = answer.goals.iter().zip(&line.judged).map(|(goal, it)| judged(goal, it));
    all.collect::<Vec<_>>().join(", ")
}

fn bounds(answer: &Answer) -> String {
    if answer.bounds.is_empty() {
        return "<p>Every setting was run to its end: for this run and its seed the answer is \
                exact.</p>\n"
            .to_string();
    }
    let mut html = "<h2>What is possible at all</h2>\n<ul>\n".to_string();
    for bound in &answer.bounds {
        let (class, verdict) = (if bound.meets { "yes" } else { "no" }, bound.verdict());
        let goals = answer.goals.iter().zip(&bound.judged).map(|(goal, it)| judged(goal, it));
        let _ = writeln!(
            html,
            "<li>{}: {}: <span class=\"{class}\">{verdict}</span> {}</li>",
            escape(&bound.name),
            escape(&goals.collect::<Vec<_>>().join(", ")),
            escape(&bound.set_by)
        );
    }
    html + "</ul>\n"
}

/// Price to the right, the first goal upwards, in logarithms.
fn picture(answer: &Answer) -> String {
    let Some(goal) = answer.goals.first() else { return String::new() };
    let points: Vec<(f64, f64, bool)> = answer
        .front
        .iter()
        .filter_map(|line| Some((line.price, line.judged.first()?.value?, line.meets)))
        .filter(|(price, value, _)| price.is_finite() && *value > 0.0)
        .collect();
    if points.len() < 2 {
        return String::new();
    }
    let ends = |of: fn(&(f64, f64, bool)) -> f64| {
        let all = points.iter().map(of);
        (all.clone().fold(f64::MAX, f64::min), all.fold(f64::MIN, f64::max))
    };
    let ((left, right), (low, high)) = (ends(|point| point.0), ends(|point| point.1));
    let (low, high) = (low.min(goal.limit), high.max(goal.limit));
    let x = |price: f64| 40.0 + (price - left) / (right - left).max(1e-9) * (WIDTH - 80.0);
    let y = |value: f64| {
        let part = (value / low).log2() / (high / low).log2().max(1e-9);
        HEIGHT - 40.0 - part * (HEIGHT - 80.0)
    };
    let line = y(goal.limit);
    let mut svg = format!(
        "<h2>The front</h2>\n<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" \
         aria-label=\"price against the first goal\">\n\
         <line x1=\"20\" x2=\"{}\" y1=\"{line:.1}\" y2=\"{line:.1}\" stroke=\"#b2182b\" \
         stroke-dasharray=\"4 4\"/><text x=\"24\" y=\"{:.1}\" font-size=\"12\" \
         fill=\"#b2182b\">{}</text>\n",
        WIDTH - 20.0,
        line - 5.0,
        escape(&goal.text)
    );
    for (at, value, meets) in points {
        let fill = if meets { "#00805f" } else { "#b2182b" };
        let _ = writeln!(
            svg,
            "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"5\" fill=\"{fill}\"><title>{}, {}</title>\
             </circle>",
            x(at),
            y(value),
            escape(&price(answer, at)),
            escape(&goal.show(value))
        );
    }
    svg + "</svg>\n"
}

fn front(answer: &Answer) -> String {
    let heads: String =
        answer.goals.iter().map(|goal: &Goal| format!("<th>{}</th>", escape(&goal.text))).collect();
    let mut html = format!(
        "<h2>What each step costs</h2>\n<div class=\"scroll\"><table><tr><th>{}</th><th>keeps</th>\
         <th>policy and keys</th>{heads}<th>command</th></tr>\n",
        escape(&price_words(answer))
    );
    for line in &answer.front {
        let (class, keeps) = match (line.meets, line.why.as_str()) {
            (true, _) => ("yes", "yes".to_string()),
            (false, "") => ("no", "no".to_string()),
            (false, why) => ("no", format!("{}: {}", keeps(line), escape(why))),
        };
        let cells: String = answer
            .goals
            .iter()
            .zip(&line.judged)
            .map(|(goal, it)| format!("<td>{}</td>", escape(&judged(goal, it))))
            .collect();
        let _ = writeln!(
            html,
            "<tr><td>{}</td><td class=\"{class}\">{keeps}</td><td>{}</td>{cells}<td><code>{}</code>\
             </td></tr>",
            escape(&price(answer, line.price)),
            escape(&name(line)),
            escape(&line.command)
        );
    }
    html + "</table></div>\n"
}

fn broken(answer: &Answer) -> String {
    if answer.broken.is_empty() {
        return String::new();
    }
    let mut html = "<h2>What broke the others</h2>\n<ul>\n".to_string();
    for broken in &answer.broken {
        let _ = writeln!(html, "<li>{}</li>", escape(&broken_line(broken)));
    }
    html + "</ul>\n"
}

fn costs(answer: &Answer) -> String {
    let mut html = "<h2>The cost model</h2>\n<div class=\"scroll\"><table><tr><th>key</th>\
                    <th>value</th><th>unit</th><th>source</th></tr>\n"
        .to_string();
    for key in &answer.costs {
        let _ = writeln!(
            html,
            "<tr><td><code>{}</code></td><td>{}</td><td>{}</td><td>{}</td></tr>",
            escape(&key.key),
            key.value,
            escape(&key.unit),
            escape(&key.source)
        );
    }
    html + "</table></div>\n"
}

/// Another's text in HTML.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
