//! `sweep.toml`: what a folder's sweep was asked, so that the same question goes on and another is
//! told apart.

use super::axis::Axis;
use super::plan::Plan;
use manx_config::Scenario;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::path::Path;

/// The name of the file.
pub const FILE: &str = "sweep.toml";

/// Everything that determines the rows, and the command that it was said with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// The first command; another one that asks the same is the same question.
    pub command: String,
    /// Rows of the whole sweep.
    pub rows: u64,
    /// The scenario.
    pub scenario: String,
    /// The options that override it at every point.
    pub options: Vec<String>,
    /// The policies; none for the scenario as it is written.
    pub policies: Vec<String>,
    /// Random points; 0 without `--random`.
    pub points: u64,
    /// Seeds of each point; 0 where nothing was said.
    pub seeds: u64,
    /// Every completed read was checked.
    pub verify: bool,
    /// SHA-256 of the first valid point's scenario, with all that files and tables say.
    pub content: String,
    /// The grid.
    #[serde(default)]
    pub grid: Vec<Key>,
    /// Keys that are drawn.
    #[serde(default)]
    pub random: Vec<Key>,
}

/// A swept key, and what was said of its values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Key {
    /// The key.
    pub key: String,
    /// Its values, or where they are drawn from.
    pub values: String,
}

impl Question {
    /// The question of `plan`; `first` is the scenario of its first valid point.
    pub fn of(plan: &Plan, first: &Scenario) -> Self {
        let asked = plan.asked();
        let mut options: Vec<String> =
            asked.overrides.iter().map(|set| set.said().to_string()).collect();
        options.dedup();
        let key = |axis: &Axis| Key { key: axis.key.clone(), values: axis.asked.clone() };
        let keys =
            |option| plan.axes().iter().filter(|axis| axis.option == option).map(key).collect();
        let text = serde_json::to_vec(first).expect("a scenario is plain data");
        let content = Sha256::digest(text).iter().fold(String::new(), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        });
        Self {
            command: asked.command.clone(),
            rows: plan.rows() as u64,
            scenario: asked.scenario.clone(),
            options,
            policies: asked.policies.iter().map(|policy| policy.trim().to_string()).collect(),
            points: asked.points.unwrap_or(0),
            seeds: asked.seeds.unwrap_or(0),
            verify: asked.verify,
            content,
            grid: keys("--grid"),
            random: keys("--random"),
        }
    }

    /// The question of the folder's sweep; `None` where there is none.
    pub fn read(folder: &Path) -> Result<Option<Self>, String> {
        let path = folder.join(FILE);
        let name = path.display();
        match std::fs::read_to_string(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(format!("{name}: cannot read it: {error}")),
            Ok(text) => toml::from_str(&text).map(Some).map_err(|error| {
                format!("{name}: this is not what a sweep writes: {}", error.message())
            }),
        }
    }

    /// The file's text.
    pub fn text(&self) -> Result<String, String> {
        let text =
            toml::to_string(self).map_err(|error| format!("{FILE} cannot be written: {error}"))?;
        Ok(format!(
            "# What this sweep was asked. The same question goes on where it stopped.\n{text}"
        ))
    }

    /// The first thing that `now` asks otherwise.
    pub fn difference(&self, now: &Self) -> Option<String> {
        let plain = [
            ("scenario", &self.scenario, &now.scenario),
            ("options", &self.options.join(" "), &now.options.join(" ")),
            ("--policies", &self.policies.join(","), &now.policies.join(",")),
        ]
        .map(|(what, there, here)| differ(what, there, here));
        let numbers = [("--points", self.points, now.points), ("--seeds", self.seeds, now.seeds)]
            .map(|(what, there, here)| differ(what, &number(there), &number(here)));
        let said = |verify| if verify { "said" } else { "" };
        let verify = differ("--verify", said(self.verify), said(now.verify));
        let keys =
            [keys("--grid", &self.grid, &now.grid), keys("--random", &self.random, &now.random)];
        let content = (self.content != now.content).then(|| {
            "the scenario, its device or a policy has another content than then, or this \
             is another version of manx"
                .to_string()
        });
        plain.into_iter().chain(keys).chain(numbers).chain([verify, content]).flatten().next()
    }
}

fn number(number: u64) -> String {
    if number == 0 { String::new() } else { number.to_string() }
}

fn differ(what: &str, there: &str, here: &str) -> Option<String> {
    let shown =
        |text: &str| if text.is_empty() { "nothing".to_string() } else { format!("`{text}`") };
    (there != here).then(|| format!("{what} was {} and is {}", shown(there), shown(here)))
}

fn keys(option: &str, there: &[Key], here: &[Key]) -> Option<String> {
    let values = |keys: &[Key], key: &str| {
        keys.iter().find(|other| other.key == key).map(|key| key.values.clone())
    };
    let all = there.iter().chain(here).map(|key| key.key.as_str());
    let first = all.into_iter().find_map(|key| {
        let [there, here] = [there, here].map(|keys| values(keys, key).unwrap_or_default());
        differ(&format!("{option} {key}"), &there, &here)
    });
    let names = |keys: &[Key]| keys.iter().map(|key| key.key.clone()).collect::<Vec<_>>().join(",");
    first.or_else(|| differ(&format!("the order of {option}"), &names(there), &names(here)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::plan::Asked;
    use manx_config::Override;

    fn asked() -> Asked {
        let text = |list: &[&str]| list.iter().map(|item| (*item).to_string()).collect();
        Asked {
            command: "manx sweep".to_string(),
            scenario: "quick".to_string(),
            overrides: vec![Override::from_set("gc.hard=0.02").unwrap()],
            policies: text(&["base"]),
            grid: text(&["gc.soft=0.1,0.2", "workload.rate=100,200"]),
            random: text(&["gc.window=1..9"]),
            points: Some(2),
            ..Asked::default()
        }
    }

    fn question(asked: Asked) -> Question {
        let plan = Plan::new(asked).unwrap();
        Question::of(&plan, &plan.point(0).unwrap().1)
    }

    #[test]
    fn the_file_reads_back_and_the_command_is_not_the_question() {
        let folder = std::env::temp_dir().join(format!("manx-question-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        assert_eq!(Question::read(&folder), Ok(None));
        let question = question(asked());
        std::fs::write(folder.join(FILE), question.text().unwrap()).unwrap();
        let read = Question::read(&folder).unwrap().unwrap();
        assert_eq!(read, question);
        assert_eq!(
            read.difference(&self::question(Asked { command: "other".to_string(), ..asked() })),
            None
        );
        std::fs::write(folder.join(FILE), "rows = 3").unwrap();
        assert!(Question::read(&folder).unwrap_err().contains("not what a sweep writes"));
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn another_question_is_named_by_its_first_difference() {
        let text =
            |list: &[&str]| list.iter().map(|item| (*item).to_string()).collect::<Vec<String>>();
        let set = |text: &str| vec![Override::from_set(text).unwrap()];
        let table: [(Asked, &str); 9] = [
            (
                Asked { scenario: "oltp".to_string(), ..asked() },
                "scenario was `quick` and is `oltp`",
            ),
            (
                Asked { overrides: set("gc.hard=0.01"), ..asked() },
                "options was `--set gc.hard=0.02` and is `--set gc.hard=0.01`",
            ),
            (Asked { policies: Vec::new(), ..asked() }, "--policies was `base` and is nothing"),
            (
                Asked { grid: text(&["gc.soft=0.1,0.2", "workload.rate=100"]), ..asked() },
                "--grid workload.rate was `100,200` and is `100`",
            ),
            (
                Asked { grid: text(&["gc.soft=0.1,0.2"]), ..asked() },
                "--grid workload.rate was `100,200` and is nothing",
            ),
            (
                Asked { grid: text(&["workload.rate=100,200", "gc.soft=0.1,0.2"]), ..asked() },
                "the order of --grid was `gc.soft,workload.rate` and is `workload.rate,gc.soft`",
            ),
            (Asked { points: Some(3), ..asked() }, "--points was `2` and is `3`"),
            (Asked { seeds: Some(3), ..asked() }, "--seeds was nothing and is `3`"),
            (Asked { verify: true, ..asked() }, "--verify was nothing and is `said`"),
        ];
        let first = question(asked());
        for (other, expected) in table {
            assert_eq!(first.difference(&question(other)).as_deref(), Some(expected));
        }
        let other = Question { content: "0".to_string(), ..first.clone() };
        assert!(first.difference(&other).unwrap().contains("another content"));
    }
}
