//! Files that are no traces: logs, tables, other tools' output, binaries. None is taken for one,
//! whatever its columns; the error says what was looked for, and how to name a format all the same.

use manx_lab::open::trace_summary;
use manx_trace::TraceSpec;
use std::path::{Path, PathBuf};

fn foreign() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/foreign");
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

#[test]
fn no_foreign_file_is_taken_for_a_trace() {
    let files = foreign();
    assert!(files.len() >= 60, "{} files", files.len());
    let mut wrong = Vec::new();
    for file in files {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        match trace_summary(&TraceSpec::new(file.to_string_lossy())) {
            Ok(summary) => wrong.push(format!("{name}: taken for a trace:\n{summary}")),
            Err(error) => {
                let said = error.to_string();
                println!("{said}");
                let helps = said.contains("--format")
                    || said.contains("this is no trace but")
                    || said.contains("t_us");
                if !helps || said.contains('\n') {
                    wrong.push(format!("{name}: no help in: {said}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of them:\n{}", wrong.len(), wrong.join("\n"));
}
