//! The files of one blktrace recording: `sda.blktrace.0`, `sda.blktrace.1`, ..., one for each CPU.
//! Together they are the trace; `sda` names them all.

use std::path::{Path, PathBuf};

/// The name of a file of one CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PerCpu<'a> {
    /// The name before `.blktrace.`.
    pub(super) prefix: &'a str,
    pub(super) cpu: u32,
    /// Ending that a compressor added to the name.
    pub(super) ending: &'a str,
}

impl<'a> PerCpu<'a> {
    /// The name taken apart; `None` if it is no such name.
    pub(super) fn of(name: &'a str) -> Option<Self> {
        let (prefix, rest) = name.rsplit_once(".blktrace.")?;
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (cpu, ending) = rest.split_at(digits);
        let is_whole = ending.is_empty() || matches!(ending, ".gz" | ".zst" | ".xz" | ".bz2");
        (is_whole && !prefix.is_empty()).then_some(Self { prefix, cpu: cpu.parse().ok()?, ending })
    }

    /// It is of the recording that the user names, as `sda` or `sda.blktrace`.
    pub(super) fn is_of(&self, wanted: &str) -> bool {
        self.prefix == wanted.strip_suffix(".blktrace").unwrap_or(wanted)
    }
}

/// The files in the order of their CPUs; of a CPU that is there twice, plain and compressed, the
/// plain one.
pub(super) fn in_order<T>(mut files: Vec<(PerCpu<'_>, T)>) -> Vec<T> {
    files.sort_by_key(|(name, _)| (name.cpu, name.ending.to_string()));
    files.dedup_by_key(|(name, _)| name.cpu);
    files.into_iter().map(|(_, file)| file).collect()
}

/// The files of all CPUs of the recording that the user names; empty if there are none.
pub(super) fn files(path: &Path) -> Vec<PathBuf> {
    let Some(wanted) = path.file_name().and_then(|name| name.to_str()) else { return Vec::new() };
    let folder =
        path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let names: Vec<String> =
        entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    let files = names
        .iter()
        .filter_map(|name| Some((PerCpu::of(name).filter(|cpu| cpu.is_of(wanted))?, name)));
    in_order(files.collect())
        .into_iter()
        .map(|name| path.with_file_name(name))
        .filter(|file| file.is_file())
        .collect()
}

/// Note on a file that is one CPU's, where those of others stand beside it.
pub(super) fn note(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    let prefix = PerCpu::of(name)?.prefix;
    let all = files(&path.with_file_name(prefix)).len();
    let whole = path.with_file_name(prefix);
    (all > 1).then(|| {
        format!(
            "{name} is the trace of one CPU of {all}; `{}` names all of them together",
            whole.display()
        )
    })
}
