//! `manx trace get`: from the program itself, and from a mirror on this machine; what is wrong is
//! told, and nothing of it is kept.

use crate::support::{assert_refused, file, manx, stderr, stdout};
use std::path::Path;

const TRACE: &[u8] = b"128166372003000000,hm,0,Read,8192,4096,100\n\
                       128166372004000000,hm,1,Write,4096,8192,200\n";
const SUM: &str = "f54a567e6f3593cd7894f23172c612d99dcb40fafbe5fe706b94cce6c3edde5d";

fn registry(name: &str, url: &str, sum: &str) -> String {
    let entry = serde_json::json!({
        "title": "Two requests", "source": "this test", "licence": "none needed", "url": url,
        "bytes": TRACE.len(), "sha256": sum, "read": { "format": "msr" },
    });
    file(name, serde_json::json!({ "mine": entry }).to_string().as_bytes())
}

/// An empty folder of this test's own.
fn folder(name: &str) -> String {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    folder.display().to_string()
}

#[test]
fn traces_are_listed_and_the_sample_is_inside() {
    let list = stdout(&manx(&["trace", "get"]));
    for piece in ["pgbench", "msr-wdev-1", "bytes; licence: "] {
        assert!(list.contains(piece), "{piece}: {list}");
    }
    let json: serde_json::Value =
        serde_json::from_str(&stdout(&manx(&["trace", "get", "--json"]))).unwrap();
    assert_eq!(json["pgbench"]["bytes"], 640_035);
    let cache = folder("trace-get-sample");
    let output = manx(&["trace", "get", "pgbench", "--cache", &cache]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stderr(&output).contains("licence: MIT OR Apache-2.0"), "{}", stderr(&output));
    let path = stdout(&output);
    let info = manx(&["trace", "info", path.trim(), "--head", "1000"]);
    assert_eq!(info.status.code(), Some(0), "{}", stderr(&info));
}

#[test]
fn a_mirror_is_verified_and_what_is_not_the_trace_is_not_kept() {
    let (mirror, cache) = (file("trace-get-mirror.csv", TRACE), folder("trace-get-mirror"));
    let url = format!("file://{mirror}");
    let get =
        |registry: &str| manx(&["trace", "get", "mine", "--registry", registry, "--cache", &cache]);
    let kept = || std::fs::read_dir(&cache).map_or(0, Iterator::count);
    let wrong = get(&registry("trace-get-wrong.json", &url, &"0".repeat(64)));
    let (said, code) = (stderr(&wrong), wrong.status.code());
    assert_eq!((code, stdout(&wrong).as_str(), kept()), (Some(1), "", 0), "{said}");
    let sum = said.split("SHA-256 ").nth(1).unwrap().split(',').next().unwrap().to_string();
    assert_eq!((sum.as_str(), said.contains("nothing was kept")), (SUM, true), "{said}");
    let right = registry("trace-get-right.json", &url, SUM);
    for _ in 0..2 {
        let output = get(&right);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        assert!(stderr(&output).contains("read it with --format msr"), "{}", stderr(&output));
        assert_eq!(std::fs::read(stdout(&output).trim()).unwrap(), TRACE);
        assert_eq!(kept(), 1);
        // The second time it is not asked for.
        let _ = std::fs::remove_file(&mirror);
    }
    // Nobody listens on port 9: as a machine without a network has it.
    for (name, url) in [("gone", url.as_str()), ("offline", "http://127.0.0.1:9/trace.csv")] {
        let file = registry(&format!("trace-get-{name}.json"), url, &"1".repeat(64));
        let output = get(&file);
        assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
        assert!(stderr(&output).contains(&format!("{url}: ")), "{}", stderr(&output));
        assert_eq!((stdout(&output).as_str(), kept()), ("", 1));
    }
}

#[test]
fn what_is_no_trace_or_no_registry_is_refused() {
    assert_refused(&["trace", "get", "pgbnch"], &["there are 1and1-mysql, ", "mean pgbench?"]);
    assert_refused(&["trace", "get", "a", "--registry", "no/such.json"], &["no/such.json"]);
    let broken = file("trace-get-broken.json", b"{\n\"mine\": {\"title\": 7}}");
    assert_refused(&["trace", "get", "mine", "--registry", &broken], &["no registry", "line 2"]);
    let bucket = registry("trace-get-s3.json", "s3://bucket/trace.csv", SUM);
    let cache = folder("trace-get-refused");
    let args = ["trace", "get", "mine", "--registry", &bucket, "--cache", &cache];
    assert_refused(&args, &["s3://bucket/trace.csv: https, http or file is needed"]);
}
