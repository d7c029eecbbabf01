//! The program: what it refuses, and that it writes.

use crate::plot::run;
use manx_core::stats::RunSet;
use manx_lab::json::to_json;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn manx_plot(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_manx-plot")).args(args).output().unwrap()
}

#[test]
fn a_plot_is_refused_by_what_is_wrong_with_it() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let path = |name: &str| folder.join(name).display().to_string();
    let (one, many, svg) = (path("p-one.json"), path("p-many.json"), path("p.svg"));
    std::fs::write(&one, to_json(&RunSet { runs: vec![run("nogc"), run("base")] })).unwrap();
    std::fs::write(
        &many,
        to_json(&RunSet { runs: (0..20).map(|number| run(&number.to_string())).collect() }),
    )
    .unwrap();
    let twice = format!("x={one}");
    // It may be there from the last time.
    let _ = std::fs::remove_file(&svg);
    let table: &[(&[&str], &[&str])] = &[
        (&[&one, &one], &["two runs are called `nogc`", "NAME=RESULT"]),
        (
            &[&one, "--kind", "bas"],
            &["--kind bas", "cdf, time, attribution, bars", "did you mean bars?"],
        ),
        (&[&one, "--op", "reads"], &["--op reads", "did you mean read?"]),
        (&[&one, "--width", "-3mm"], &["--width -3mm", "20mm to 500mm"]),
        (&[&many, "--height", "20mm", "--kind", "attribution"], &["leave no room", "--height "]),
        (&[&one, "--colour", "red"], &["unexpected argument '--colour'"]),
    ];
    for (args, pieces) in table {
        let output = manx_plot(&[["-o", &svg].as_slice(), args].concat());
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(
            (output.status.code(), output.stdout),
            (Some(2), Vec::new()),
            "{args:?}: {said}"
        );
        assert!(said.starts_with("error: ") && said.lines().count() == 1, "{args:?}: {said}");
        assert!(pieces.iter().all(|piece| said.contains(piece)), "{args:?}: {said}");
    }
    assert!(!Path::new(&svg).exists());
    assert!(manx_plot(&["-o", &svg, &one, &twice]).status.success());
    assert!(std::fs::read_to_string(&svg).unwrap().starts_with("<svg"));
}
