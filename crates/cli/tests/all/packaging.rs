//! Needs of a package: which program this is, wherever it says so; manual pages; completions with
//! names.

use crate::support::{manx, stderr, stdout};
use manx_cli::args::VERSION;
use manx_config::{ALIASES, POLICIES, device_names, scenario_names};
use manx_core::stats::SCHEMA_VERSION;
use manx_lab::json::strip_machine;
use std::path::PathBuf;
use std::process::Command;

fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    folder
}

#[test]
fn the_version_is_one_line_and_at_length_names_commit_features_and_schema() {
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(stdout(&manx(&["-V"])), format!("manx {version}\n"));
    let long = stdout(&manx(&["--version"]));
    assert_eq!(long, format!("manx {VERSION}\n"));
    let lines: Vec<&str> = long.lines().collect();
    assert_eq!(lines.len(), 4);
    assert!(lines[1].starts_with("commit: ") && lines[2].starts_with("features: "), "{long}");
    assert_eq!(lines[3], format!("schema of result.json: {SCHEMA_VERSION}"));
}

#[test]
fn a_result_its_report_and_its_cached_state_name_the_program_and_only_machine_does() {
    let (out, cache) = (folder("stamped"), folder("stamped-cache"));
    // Long enough to be worth a file in the cache.
    let args = [
        "run",
        "oltp",
        "--set",
        "workload.requests=1000",
        "--set",
        "device.geometry.blocks=256",
        "--out",
    ];
    let output = Command::new(env!("CARGO_BIN_EXE_manx"))
        .args(args)
        .arg(&out)
        .env("MANX_CACHE", &cache)
        .output();
    let output = output.unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let text = std::fs::read_to_string(out.join("result.json")).unwrap();
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    let program = &document["runs"][0]["machine"]["program"];
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(
        (&program["version"], &program["schema"]),
        (&version.into(), &SCHEMA_VERSION.into())
    );
    let commit = program["commit"].as_str();
    assert!(
        VERSION.contains(&format!("\ncommit: {}", commit.unwrap_or("not recorded"))),
        "{VERSION} {commit:?}"
    );
    assert!(!strip_machine(&text).unwrap().contains(version));

    let page = std::fs::read_to_string(out.join("report.html")).unwrap();
    let machine = page.split("id=\"machine\"").nth(1).unwrap();
    assert!(machine.contains(&format!("Computed by manx {version}")), "{machine}");

    let states: Vec<PathBuf> =
        std::fs::read_dir(&cache).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(!states.is_empty());
    for state in states {
        let head = String::from_utf8_lossy(&std::fs::read(&state).unwrap()[..1000]).into_owned();
        assert!(head.contains(&format!("\"version\":\"{version}\"")), "{}", state.display());
    }
}

#[test]
fn every_command_has_a_manual_page() {
    let folder = folder("man");
    let output = manx(&["man", folder.to_str().unwrap()]);
    assert!(output.status.success(), "{}", stderr(&output));
    for page in [
        "manx.1",
        "manx-run.1",
        "manx-compare.1",
        "manx-plot.1",
        "manx-lab-run.1",
        "manx-trace-convert.1",
    ] {
        let text = std::fs::read_to_string(folder.join(page))
            .unwrap_or_else(|error| panic!("{page}: {error}"));
        assert!(text.contains(".SH NAME") && text.contains(".SH SYNOPSIS"), "{page}");
    }
}

#[test]
fn completions_know_the_policies_the_devices_and_the_scenarios() {
    let names: Vec<&str> = POLICIES
        .iter()
        .map(|policy| policy.name)
        .chain(ALIASES.iter().map(|alias| alias.name))
        .chain(device_names())
        .chain(scenario_names())
        .collect();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = stdout(&manx(&["completions", shell]));
        assert!(script.contains("compare"), "{shell}");
        if ["bash", "zsh", "fish"].contains(&shell) {
            let missing: Vec<&&str> =
                names.iter().filter(|name| !script.contains(**name)).collect();
            assert!(missing.is_empty(), "{shell}: {missing:?}");
        }
    }
}

/// Bash itself completes a policy, and a file where a scenario may be one.
#[test]
fn bash_completes_a_policy_and_the_path_of_a_scenario() {
    let folder = folder("bash");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("qq-mine.toml"), "").unwrap();
    std::fs::write(folder.join("manx.bash"), stdout(&manx(&["completions", "bash"]))).unwrap();
    let complete = |words: &str, last: usize| {
        let script = format!(
            "source ./manx.bash; COMP_WORDS=({words}); COMP_CWORD={last}; \
             _manx manx \"${{COMP_WORDS[{last}]}}\" \"${{COMP_WORDS[{}]}}\"; \
             echo \"${{COMPREPLY[@]}}\"",
            last - 1
        );
        let output = Command::new("bash")
            .args(["--norc", "-c", &script])
            .current_dir(&folder)
            .output()
            .unwrap();
        stdout(&output).trim().to_string()
    };
    assert!(complete("manx run --policy preempt", 3).split(' ').any(|name| name == "preemptive"));
    assert_eq!(complete("manx run --device k9w", 3), "k9wag08u1a");
    assert_eq!(complete("manx run --device qq", 3), "qq-mine.toml");
}

#[test]
fn every_crate_has_the_licences_and_the_documents_name_the_version() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = |path: &str| {
        std::fs::read_to_string(root.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    };
    for entry in std::fs::read_dir(root.join("crates")).unwrap() {
        let name = format!("crates/{}", entry.unwrap().file_name().to_string_lossy());
        for licence in ["LICENSE-MIT", "LICENSE-APACHE"] {
            assert_eq!(text(&format!("{name}/{licence}")), text(licence), "{name}");
        }
        let manifest = text(&format!("{name}/Cargo.toml"));
        for key in ["description", "license", "readme", "keywords", "categories", "authors"] {
            assert!(
                manifest.lines().any(|line| line.starts_with(key)),
                "{name}/Cargo.toml has no {key}"
            );
        }
    }
    let version = env!("CARGO_PKG_VERSION");
    assert!(text("CITATION.cff").contains(&format!("\nversion: {version}\n")));
    assert!(text("CHANGELOG.md").contains(version));
}
