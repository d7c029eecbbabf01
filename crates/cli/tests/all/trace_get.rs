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
    let cache = folder("trace-get-refused");
    let of_bucket = if cfg!(feature = "remote") {
        ("s3://bucket", "s3://bucket: s3://BUCKET/KEY is needed")
    } else {
        ("s3://bucket/trace.csv", "s3://bucket/trace.csv: this manx is built without `--features")
    };
    let others = [
        ("ftp://host/trace.csv", "ftp://host/trace.csv: https, http, s3 or file is needed"),
        ("http://host/a b.csv", "\"http://host/a b.csv\" is no address"),
    ];
    for (at, (url, told)) in [of_bucket].into_iter().chain(others).enumerate() {
        let wrong = registry(&format!("trace-get-scheme-{at}.json"), url, SUM);
        let args = ["trace", "get", "mine", "--registry", &wrong, "--cache", &cache];
        assert_refused(&args, &[told]);
    }
}

/// A store on this machine: it answers so many times, and gives what it was asked.
#[cfg(feature = "remote")]
fn store(answers: usize) -> (String, std::thread::JoinHandle<Vec<String>>) {
    use std::io::{BufRead, BufReader, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let served = std::thread::spawn(move || {
        let mut asked = Vec::new();
        for _ in 0..answers {
            let (mut socket, _) = listener.accept().unwrap();
            let mut lines = BufReader::new(socket.try_clone().unwrap()).lines();
            asked.push(lines.next().unwrap().unwrap());
            lines.take_while(|line| line.as_ref().is_ok_and(|line| !line.is_empty())).count();
            let head = format!("HTTP/1.0 200 OK\r\nContent-Length: {}\r\n\r\n", TRACE.len());
            socket.write_all(&[head.as_bytes(), TRACE].concat()).unwrap();
        }
        asked
    });
    (address, served)
}

#[cfg(feature = "remote")]
#[test]
fn an_object_of_a_bucket_is_asked_for_with_the_credentials_that_there_are() {
    let (address, served) = store(2);
    let listed = registry("trace-get-bucket.json", "s3://data/a/trace.csv", SUM);
    for key in [None, Some("AKIDEXAMPLE")] {
        let cache = folder("trace-get-bucket");
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_manx"));
        command.args(["trace", "get", "mine", "--registry", &listed, "--cache", &cache]);
        command.env("AWS_ENDPOINT_URL", &address).env("AWS_REGION", "eu-west-1");
        command.env_remove("AWS_ACCESS_KEY_ID").env("AWS_SECRET_ACCESS_KEY", "example");
        let output = command.envs(key.map(|key| ("AWS_ACCESS_KEY_ID", key))).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        assert_eq!(std::fs::read(stdout(&output).trim()).unwrap(), TRACE);
    }
    let asked = served.join().unwrap();
    assert!(asked[0].starts_with("GET /data/a/trace.csv HTTP/"), "{asked:?}");
    let signed = "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIDEXAMPLE%2F";
    assert!(asked[1].contains(signed) && asked[1].contains("eu-west-1"), "{asked:?}");
}
