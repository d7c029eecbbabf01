//! `manx trace convert`: what is written, what is said, and what is refused.

use crate::support::{assert_refused, file, manx, stderr, stdout};
use std::path::{Path, PathBuf};

/// Two devices; times in whole microseconds and not; a read and writes.
const MSR: &str = "\
128166372003061629,usr,0,Read,7014609920,24576,41286
128166372016382155,usr,0,Write,2517696512,4096,6359
128166372016382155,src1,1,Write,512,1024,900
";

/// A place of this test's own where nothing is.
fn place(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("convert-{name}"));
    let _ = std::fs::remove_file(&path);
    path.display().to_string()
}

#[test]
fn a_trace_goes_to_another_format_and_back() {
    let (trace, there, back) =
        (file("convert-back.csv", MSR.as_bytes()), place("t.trace.zst"), place("returned.csv"));
    let output = manx(&["trace", "convert", &trace, "-o", &there]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let said = stdout(&output);
    for piece in ["3 requests as mqsim", "3  latency left out", "3  device renamed"] {
        assert!(said.contains(piece), "`{piece}` is not in: {said}");
    }
    let output = manx(&[
        "trace",
        "convert",
        &there,
        "--time-unit",
        "ns",
        "-o",
        &back,
        "--as",
        "msr",
        "--skip",
        "1",
    ]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let expected =
        "128166372000000000,0,0,Write,2517696512,4096,0\n128166372000000000,1,0,Write,512,1024,0\n";
    // Devices that are numbers are hosts with a disk 0.
    assert_eq!(std::fs::read_to_string(&back).unwrap(), expected);
}

#[test]
fn standard_output_gets_the_trace_and_nothing_else() {
    let trace = file("convert-stdout.csv", MSR.as_bytes());
    let output = manx(&["trace", "convert", &trace, "-o", "-", "--as", "msr"]);
    assert_eq!((stdout(&output).as_str(), output.status.code()), (MSR, Some(0)));
    assert!(stderr(&output).contains("3 requests as msr to standard output"));
}

#[test]
fn a_file_that_is_there_stays_without_force_and_nothing_half_written_is_left() {
    let (trace, out) = (file("convert-force.csv", MSR.as_bytes()), place("force.iolog"));
    std::fs::write(&out, "mine").unwrap();
    assert_refused(&["trace", "convert", &trace, "-o", &out], &[&out, "--force"]);
    assert_eq!(std::fs::read_to_string(&out).unwrap(), "mine");
    let output = manx(&["trace", "convert", &trace, "-o", &out, "--force", "--fio-file", "disk"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(
        std::fs::read_to_string(&out)
            .unwrap()
            .starts_with("fio version 3 iolog\n0 disk-usr,0 add\n")
    );
    let folder = Path::new(&out).parent().unwrap();
    let half = folder.read_dir().unwrap().flatten().filter(|entry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        name.starts_with("convert-force") && name.ends_with(".part")
    });
    assert_eq!(half.count(), 0);
}

#[test]
fn what_cannot_be_converted_is_one_line_and_exit_code_2() {
    let trace = file("convert-bad.csv", MSR.as_bytes());
    let torn = file("convert-torn.csv", format!("{MSR}half a line\n").as_bytes());
    let folder = env!("CARGO_TARGET_TMPDIR");
    let nowhere = format!("{folder}/not/there.csv");
    let fresh = place("fresh.csv");
    let table: &[(&[&str], &[&str])] = &[
        (&[&trace, "-o", "x.txt"], &["x.txt", "--as"]),
        (&[&trace, "-o", "-"], &["--as"]),
        (&[&trace, "-o", &fresh, "--as", "xls"], &["xls", "parquet, manx, msr, fio-v3, mqsim"]),
        (&[&trace, "-o", &fresh, "--as", "parqet"], &["parqet", "did you mean parquet?"]),
        (
            &[&trace, "-o", &fresh, "--rate-scale", "-1"],
            &["--rate-scale -1", "0.000001 to 1000000000"],
        ),
        (&[&trace, "-o", &trace, "--force"], &["convert-bad.csv", "the trace itself"]),
        (&[&trace, "-o", folder, "--as", "msr"], &["directory"]),
        (&[&trace, "-o", &nowhere], &["there.csv", "cannot write it"]),
        (&[&trace, "-o", "x.parquet.gz"], &["x.parquet.gz", "Parquet"]),
        (&[&trace, "-o", "-", "--as", "parquet"], &["Parquet"]),
        (&[&trace, "-o", &fresh, "--fio-file", "d"], &["--fio-file d", "fio-v3"]),
        (&[&trace, "-o", "x.fio", "--fio-file", "a b"], &["--fio-file a b", "white space"]),
        (&[&trace, "-o", &fresh, "--rate-scale", "0"], &["rate_scale"]),
        (&[&trace, "-o", &fresh, "--devices", "prn,0"], &["prn,0"]),
        (&[&torn, "-o", &fresh], &["convert-torn.csv:4", "half a line"]),
        (&["./nowhere.csv", "-o", &fresh], &["nowhere.csv", "no such file"]),
    ];
    for (args, pieces) in table {
        assert_refused(&[&["trace", "convert"], *args].concat(), pieces);
    }
    assert!(!Path::new(&fresh).exists());
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_exit_code_1_and_a_closed_pipe_is_none() {
    use std::process::{Command, Stdio};
    let trace = file("convert-full.csv", MSR.repeat(100).as_bytes());
    for args in [
        ["trace", "convert", &trace, "-o", "-", "--as", "manx"].as_slice(),
        &["workload", "fit", &trace],
        &["trace", "info", &trace],
    ] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output =
            Command::new(env!("CARGO_BIN_EXE_manx")).args(args).stdout(full).output().unwrap();
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{args:?}: {said}");
        assert!(said.contains("error: cannot write to standard output"), "{args:?}: {said}");
        let mut child = Command::new(env!("CARGO_BIN_EXE_manx"));
        let mut child =
            child.args(args).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        drop(child.stdout.take());
        assert_eq!(child.wait().unwrap().code(), Some(0), "{args:?}");
    }
}
