//! The documents of fits, as far as the report needs them.

use serde_json::Value;

/// A figure, measured and modelled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figure {
    /// As measured.
    pub measured: f64,
    /// As modelled.
    pub modelled: f64,
}

/// A run of reads.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// Its name.
    pub name: String,
    /// p50, p90, p99, p99.9, in microseconds.
    pub percentiles: Vec<Figure>,
    /// Requests a second.
    pub iops: Figure,
    /// The mean error of the percentiles.
    pub error: f64,
    /// That of a fit without this run.
    pub held_out: Option<f64>,
    /// It was kept away from the whole fit.
    pub is_tested: bool,
    /// Parameters explain it.
    pub is_explained: bool,
    /// Of writes to a fresh drive, not of reads.
    pub is_write: bool,
}

/// Mean errors of the reads.
#[derive(Clone, Debug, PartialEq)]
pub struct Errors {
    /// Of the percentiles.
    pub percentiles: Option<f64>,
    /// Of the requests a second.
    pub iops: Option<f64>,
    /// Of the percentiles of runs left out.
    pub held_percentiles: Option<f64>,
    /// Of their requests a second.
    pub held_iops: Option<f64>,
}

/// Mean errors of a part of a long write.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// Its words.
    pub of: String,
    /// How many windows.
    pub windows: u64,
    /// Error of their WAF.
    pub waf: Option<f64>,
    /// Error of their rate.
    pub rate: Option<f64>,
}

/// A window of a long write.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// Capacities written at its end.
    pub to: f64,
    /// Its WAF; none where the drive was not asked for it.
    pub waf: Option<Figure>,
    /// Its rate in bytes a second.
    pub rate: Figure,
    /// It was held out.
    pub is_held_out: bool,
}

/// A long write.
#[derive(Clone, Debug, PartialEq)]
pub struct Long {
    /// Its name.
    pub name: String,
    /// Errors by part.
    pub parts: Vec<Part>,
    /// All windows.
    pub windows: Vec<Window>,
}

/// A fit.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    /// The name of the twin.
    pub name: String,
    /// The library's words about the device.
    pub summary: Option<String>,
    /// The device that it started from.
    pub base: String,
    /// It was stopped.
    pub is_partial: bool,
    /// The measurements with their states.
    pub states: Vec<(String, String)>,
    /// The runs, those held out by name last.
    pub runs: Vec<Run>,
    /// Errors of the fitted runs.
    pub error: Option<Errors>,
    /// A long write.
    pub long: Option<Long>,
    /// Each parameter with its source.
    pub parameters: Vec<(String, String)>,
    /// Parameters that the data do not determine.
    pub undetermined: Vec<String>,
    /// Runs that cannot be of one drive in one state.
    pub contradictions: Vec<String>,
    /// Measurements that were not fitted, and why.
    pub outside: Vec<String>,
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_string()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

impl Run {
    fn of(value: &Value, is_tested: bool) -> Option<Self> {
        let figure = |name: &str| {
            let [measured, modelled] = ["measured", "modelled"].map(|of| value[of][name].as_f64());
            Some(Figure { measured: measured?, modelled: modelled? })
        };
        let names = ["p50_us", "p90_us", "p99_us", "p99_9_us"];
        Some(Self {
            name: text(&value["name"]),
            percentiles: names.into_iter().map(figure).collect::<Option<_>>()?,
            iops: figure("iops")?,
            error: value["error_percentiles"].as_f64()?,
            held_out: value["error_held_out"].as_f64(),
            is_write: value["writes"] == true,
            is_tested,
            is_explained: value["explained"].as_bool().unwrap_or(true),
        })
    }
}

impl Long {
    fn of(value: &Value) -> Option<Self> {
        let window = |of: &Value| {
            let pair = |name: &str| {
                let modelled = of[format!("{name}_modelled")].as_f64()?;
                Some(Figure { measured: of[name].as_f64()?, modelled })
            };
            Some(Window {
                to: of["to"].as_f64()?,
                waf: if of.get("waf")?.is_null() { None } else { Some(pair("waf")?) },
                rate: pair("bytes_per_s")?,
                is_held_out: of["held_out"].as_bool()?,
            })
        };
        let part = |of: &Value| {
            let (waf, rate) = (of["waf"].as_f64(), of["rate"].as_f64());
            Some(Part { of: text(&of["of"]), windows: of["windows"].as_u64()?, waf, rate })
        };
        Some(Self {
            name: text(&value["name"]),
            parts: list(&value["mean_error"]).iter().map(part).collect::<Option<_>>()?,
            windows: list(&value["windows"]).iter().map(window).collect::<Option<_>>()?,
        })
    }
}

impl Fit {
    /// The fit in a document that `manx fit` wrote; `summary` is what is known of its device.
    pub fn read(document: &str, summary: Option<String>) -> Result<Self, String> {
        let root: Value = serde_json::from_str(document).map_err(|error| {
            format!("it is no whole JSON ({error}): a NAME-fit.json of manx fit is expected")
        })?;
        let whole = root["name"].is_string() && root["measurements"].is_array();
        if !whole || (root["reads"].is_null() && root["writes"].is_null()) {
            let message = "it is no report of a fit: a NAME-fit.json of manx fit is expected";
            return Err(message.to_string());
        }
        let reads = &root["reads"];
        let run = |is_tested| move |of: &Value| Run::of(of, is_tested);
        let mut runs: Option<Vec<Run>> = list(&reads["runs"]).iter().map(run(false)).collect();
        let tested: Option<Vec<Run>> = list(&reads["tested"]).iter().map(run(true)).collect();
        if let (Some(runs), Some(tested)) = (&mut runs, tested) {
            runs.extend(tested);
        }
        let runs = runs.ok_or("a run in it lacks a figure: it is cut, or of another version")?;
        let mean = &reads["mean_error"];
        let error = (!reads.is_null()).then(|| Errors {
            percentiles: mean["percentiles"].as_f64(),
            iops: mean["iops"].as_f64(),
            held_percentiles: mean["percentiles_held_out"].as_f64(),
            held_iops: mean["iops_held_out"].as_f64(),
        });
        let long = match &root["writes"] {
            Value::Null => None,
            writes => Some(
                Long::of(writes)
                    .ok_or("a window in it lacks a figure: it is cut, or of another version")?,
            ),
        };
        let all = || list(&reads["parameters"]).iter().chain(list(&root["writes"]["parameters"]));
        let pair = |of: &Value, second: &str| (text(&of["name"]), text(&of[second]));
        Ok(Self {
            name: text(&root["name"]),
            summary,
            base: text(&root["base"]),
            is_partial: root["partial"].as_bool().unwrap_or(false),
            states: list(&root["measurements"]).iter().map(|of| pair(of, "state")).collect(),
            runs,
            error,
            long,
            parameters: all().map(|of| pair(of, "source")).collect(),
            undetermined: all()
                .filter(|of| of["determined"] == false)
                .map(|of| text(&of["name"]))
                .collect(),
            contradictions: list(&reads["contradictions"]).iter().map(text).collect(),
            outside: list(&root["not_fitted"])
                .iter()
                .map(|of| format!("{} ({})", text(&of["name"]), text(&of["why"])))
                .collect(),
        })
    }

    pub(super) fn fitted_on(&self) -> String {
        let runs = |is_write| {
            let of = self.runs.iter().filter(|run| !run.is_tested && run.is_write == is_write);
            of.count()
        };
        let mut parts = Vec::new();
        for (runs, of) in [(runs(false), "random reads"), (runs(true), "writes to a fresh drive")] {
            if runs > 0 {
                parts.push(format!("{runs} runs of {of}"));
            }
        }
        if let Some(long) = self.long.as_ref().filter(|long| long.windows.is_empty()) {
            let windows = long.parts.first().map_or(0, |part| part.windows);
            parts.push(format!("{windows} windows of a long write"));
        } else if let Some(long) = &self.long {
            let fitted: Vec<&Window> =
                long.windows.iter().filter(|window| !window.is_held_out).collect();
            let end = fitted.last().map_or(0.0, |window| window.to);
            parts.push(format!(
                "{} windows of a long write, up to {end:.1} capacities",
                fitted.len()
            ));
        }
        let mut states: Vec<&str> = self.states.iter().map(|(_, state)| state.as_str()).collect();
        states.dedup();
        states.truncate(3);
        format!("{} (drive: {})", parts.join(", "), states.join("; "))
    }

    pub(super) fn tested_on(&self) -> String {
        let mut parts = Vec::new();
        let named = self.runs.iter().filter(|run| run.is_tested).count();
        let each = self.runs.iter().filter(|run| !run.is_tested && run.held_out.is_some()).count();
        if named > 0 {
            parts.push(format!("{named} runs held out by name"));
        }
        if each > 0 {
            parts.push(format!("each of {each} runs, left out in turn"));
        }
        let held = |long: &Long| match long.windows.is_empty() {
            true => long.parts.last().map_or(0, |part| part.windows as usize),
            false => long.windows.iter().filter(|window| window.is_held_out).count(),
        };
        match self.long.as_ref().map_or(0, held) {
            0 => {}
            windows => parts.push(format!("{windows} later windows")),
        }
        if parts.is_empty() { "nothing: in sample alone".to_string() } else { parts.join(", ") }
    }

    pub(super) fn unexplained(&self) -> Vec<&str> {
        self.runs.iter().filter(|run| !run.is_explained).map(|run| run.name.as_str()).collect()
    }
}
