//! The sections of a job file, each with its options and those of [global] before it.

use std::collections::BTreeMap;
use std::fmt;

/// Names of one option, or options of which each says what the other does not.
const SAME: [[&str; 2]; 5] = [
    ["rw", "readwrite"],
    ["bs", "blocksize"],
    ["ba", "blockalign"],
    ["runtime", "timeout"],
    ["rwmixread", "rwmixwrite"],
];

/// Why a job file is no workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobFileError {
    pub(super) file: String,
    pub(super) line: usize,
    pub(super) message: String,
}

impl fmt::Display for JobFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.message)
    }
}

impl std::error::Error for JobFileError {}

/// An option: its value, empty where it has none, and its line.
pub(super) type Options = BTreeMap<String, (String, usize)>;

/// A job of the file: what it and [global] say.
pub(super) struct Section {
    pub name: String,
    pub line: usize,
    pub options: Options,
}

/// The jobs of a file.
pub(super) fn sections(file: &str, text: &str) -> Result<Vec<Section>, JobFileError> {
    let (mut global, mut sections) = (Options::new(), Vec::<Section>::new());
    let mut in_global = None;
    for (number, line) in text.lines().enumerate() {
        let number = number + 1;
        let error =
            |message: String| JobFileError { file: file.to_string(), line: number, message };
        let line = line.trim();
        if line.is_empty() || line.starts_with([';', '#']) {
            continue;
        }
        if let Some(name) = line.strip_prefix('[') {
            let name = name.strip_suffix(']').ok_or_else(|| {
                error(format!("{line} is no section: [global] or [NAME] is expected"))
            })?;
            in_global = Some(name == "global");
            if name != "global" {
                let (name, options) = (name.to_string(), global.clone());
                sections.push(Section { name, line: number, options });
            }
            continue;
        }
        let (key, value) = line.split_once('=').unwrap_or((line, ""));
        let (key, value) = (key.trim().to_string(), value.trim().to_string());
        if key.starts_with("include ") || key == "include" || line.contains("${") {
            return Err(error(format!("{line}: other files and variables are not read")));
        }
        let options = match (in_global, sections.last_mut()) {
            (Some(true), _) => &mut global,
            (Some(false), Some(section)) => &mut section.options,
            _ => return Err(error(format!("{line} stands before the first section"))),
        };
        // The last word is the one that counts, under whatever name.
        let others = SAME.iter().filter(|names| names.contains(&key.as_str())).flatten();
        others.for_each(|other| drop(options.remove(*other)));
        options.insert(key, (value, number));
    }
    if sections.is_empty() {
        let message = "there is no job: a section [NAME] is expected".to_string();
        return Err(JobFileError { file: file.to_string(), line: 1, message });
    }
    Ok(sections)
}
