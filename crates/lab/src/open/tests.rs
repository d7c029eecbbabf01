//! Containers, archives and the files of several CPUs, made here and opened.

use super::*;
use std::io::{Read, Write};

const TEXT: &[u8] = b"0 0 80 8 1\n1000 0 160 16 0\n";

fn packed() -> Vec<(&'static str, Vec<u8>)> {
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gz.write_all(TEXT).unwrap();
    let mut xz = liblzma::write::XzEncoder::new(Vec::new(), 1);
    xz.write_all(TEXT).unwrap();
    let mut bz = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    bz.write_all(TEXT).unwrap();
    vec![
        ("plain", TEXT.to_vec()),
        ("gz", gz.finish().unwrap()),
        ("zst", zstd::encode_all(TEXT, 1).unwrap()),
        ("xz", xz.finish().unwrap()),
        ("bz2", bz.finish().unwrap()),
    ]
}

fn scratch(name: &str, bytes: &[u8]) -> PathBuf {
    let path = std::env::temp_dir().join(format!("manx-open-{}-{name}", std::process::id()));
    std::fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn a_container_is_told_by_its_bytes_and_read_to_its_end() {
    for (kind, bytes) in packed() {
        // Twice the file, one after the other, is one trace.
        let twice: Vec<u8> = bytes.iter().chain(&bytes).copied().collect();
        let path = scratch(&format!("{kind}.misleading.gz"), &twice);
        let mut text = Vec::new();
        opener(&path)().unwrap()[0].stream.read_to_end(&mut text).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(text, [TEXT, TEXT].concat(), "{kind}");
    }
}

#[test]
fn a_damaged_container_is_an_error_and_not_a_shorter_trace() {
    for (kind, bytes) in packed().into_iter().skip(1) {
        let path = scratch(&format!("cut-{kind}"), &bytes[..bytes.len() - 6]);
        let spec: TraceSpec = serde_json::from_value(serde_json::json!({ "file": path })).unwrap();
        let error = trace_summary(&spec).unwrap_err();
        std::fs::remove_file(&path).unwrap();
        assert!(matches!(error, TraceError::Read { .. }), "{kind}: {error}");
    }
}

#[test]
fn an_error_of_the_system_names_the_path() {
    let missing = opener("/nowhere/trace.csv")().err().unwrap().to_string();
    assert!(
        missing.contains("/nowhere/trace.csv") && missing.contains("no such file"),
        "{missing}"
    );
    let directory = opener(std::env::temp_dir())().err().unwrap().to_string();
    assert!(directory.contains("directory"), "{directory}");
}

/// A folder of its own for a test, removed with what is in it.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Self {
        let path = std::env::temp_dir().join(format!("manx-open-{}-{test}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn put(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }

    /// The texts behind a name, each with the name it goes by in errors.
    fn read(&self, name: &str) -> Vec<(String, String)> {
        let parts = opener(self.0.join(name))().unwrap_or_else(|error| panic!("{error}"));
        let text = |part: Part| {
            (part.file.replace(&format!("{}/", self.0.display()), ""), read_all(part.stream))
        };
        parts.into_iter().map(text).collect()
    }

    fn refused(&self, name: &str) -> String {
        opener(self.0.join(name))().err().unwrap_or_else(|| panic!("{name} opens")).to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn read_all(mut stream: Stream) -> String {
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

/// An archive of files, after a folder that holds them.
fn tar_of(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut tar = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(tar::EntryType::Directory);
    header.set_size(0);
    tar.append_data(&mut header, "folder/", &[][..]).unwrap();
    for (name, bytes) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        tar.append_data(&mut header, name, *bytes).unwrap();
    }
    tar.into_inner().unwrap()
}

fn gz(bytes: &[u8]) -> Vec<u8> {
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gz.write_all(bytes).unwrap();
    gz.finish().unwrap()
}

fn zst(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 1).unwrap()
}

#[test]
fn a_member_of_an_archive_is_read_in_place_whatever_either_is_wrapped_in() {
    let folder = Folder::new("members");
    let long = format!("{}/x.csv", ["folder"; 40].join("/"));
    for (kind, member) in packed() {
        let other = vec![b'x'; 300_000];
        let tar = tar_of(&[
            ("a.csv", &other),
            ("./folder/b.csv", &member),
            ("c.csv", b"c\n"),
            (&long, b"long\n"),
        ]);
        for (archive, bytes) in
            [("t.tar", tar.clone()), ("t.tar.gz", gz(&tar)), ("t.zst", zst(&tar))]
        {
            folder.put(archive, &bytes);
            let text = String::from_utf8(TEXT.to_vec()).unwrap();
            for name in ["folder/b.csv", "./folder/b.csv"] {
                let read = folder.read(&format!("{archive}:{name}"));
                assert_eq!(read.len(), 1);
                assert_eq!(read[0].1, text, "{kind} in {archive}");
                assert!(
                    read[0].0.starts_with(&format!("{archive}:"))
                        && read[0].0.ends_with("folder/b.csv")
                );
            }
            assert_eq!(folder.read(&format!("{archive}:c.csv"))[0].1, "c\n");
            assert_eq!(folder.read(&format!("{archive}:{long}"))[0].1, "long\n");
        }
    }
}

#[test]
fn an_archive_of_one_file_needs_no_name_and_is_played_more_than_once() {
    let folder = Folder::new("one");
    let path = folder.put("one.tgz", &gz(&tar_of(&[("folder/only.trace", TEXT)])));
    assert_eq!(folder.read("one.tgz")[0].0, "one.tgz:folder/only.trace");
    let spec = TraceSpec { repeat: 3, ..TraceSpec::new(path.to_string_lossy()) };
    let (mut source, summary) = trace_source(&spec, 1000).unwrap();
    let count =
        std::iter::from_fn(|| manx_core::host::RequestSource::next_request(&mut source)).count();
    assert_eq!((summary.requests, count, source.error()), (2, 6, None));
    assert_eq!(files_of(&path).unwrap(), [path]);
}

#[test]
fn an_archive_of_several_files_asks_which() {
    let folder = Folder::new("several");
    let names: Vec<String> = (0..23).map(|i| format!("v/hm_{i}.csv")).collect();
    let files: Vec<(&str, &[u8])> = names.iter().map(|name| (name.as_str(), TEXT)).collect();
    folder.put("many.tar.zst", &zst(&tar_of(&files)));
    let said = folder.refused("many.tar.zst");
    for part in ["23 files", "`v/hm_0.csv`", "`v/hm_19.csv`", "and 3 more", "many.tar.zst:MEMBER"] {
        assert!(said.contains(part), "`{part}` is missing in: {said}");
    }
    assert!(!said.contains("hm_20"), "{said}");
    let said = folder.refused("many.tar.zst:hm_7.csv");
    assert!(
        said.contains("no member `hm_7.csv`; of 23 files the nearest are `v/hm_7.csv`"),
        "{said}"
    );
    folder.put("none.tar", &tar_of(&[]));
    assert!(folder.refused("none.tar").contains("holds no file"));
    folder.put("plain.csv", TEXT);
    assert!(folder.refused("plain.csv:x").contains("no tar archive, so it has no member `x`"));
    assert!(folder.refused("gone.tar:x").contains("no such file"));
}

#[test]
fn a_cut_archive_is_an_error_and_not_a_shorter_trace() {
    let folder = Folder::new("cut");
    let tar = tar_of(&[("a", b"a\n"), ("b", &[b'1'; 5000])]);
    let cut = &tar[..tar.len() - 1024 - 3000];
    for (name, bytes) in [("t.tar", cut.to_vec()), ("t.tar.gz", gz(cut))] {
        folder.put(name, &bytes);
        assert_eq!(folder.read(&format!("{name}:a"))[0].1, "a\n");
        let opened = opener(folder.0.join(format!("{name}:b")))();
        let failed = opened.map(|mut parts| parts[0].stream.read_to_end(&mut Vec::new()).is_err());
        assert!(failed.unwrap_or(true), "{name}");
    }
}

#[test]
fn a_name_with_a_colon_is_a_name_first() {
    let folder = Folder::new("colon");
    folder.put("a.tar", &tar_of(&[("b", b"member\n")]));
    folder.put("a.tar:b", b"file\n");
    folder.put("12:30.tar", &tar_of(&[("x:y", b"colons\n")]));
    assert_eq!(folder.read("a.tar:b")[0].1, "file\n");
    assert_eq!(folder.read("12:30.tar:x:y")[0].1, "colons\n");
}

#[test]
fn the_files_of_all_cpus_are_parts_of_one_trace() {
    let folder = Folder::new("cpus");
    folder.put("sda.blktrace.0", b"zero\n");
    folder.put("sda.blktrace.10.zst", &zst(b"ten\n"));
    folder.put("sda.blktrace.2.gz", &gz(b"two\n"));
    folder.put("sda.blktrace.0.gz", &gz(b"again\n"));
    folder.put("sdab.blktrace.0", b"another disk\n");
    folder.put("sda.blktrace.txt", b"no number\n");
    let texts =
        |name: &str| folder.read(name).into_iter().map(|(_, text)| text).collect::<Vec<_>>();
    assert_eq!(texts("sda"), ["zero\n", "two\n", "ten\n"]);
    assert_eq!(texts("sda.blktrace"), texts("sda"));
    assert_eq!(texts("sda.blktrace.2.gz"), ["two\n"]);
    assert_eq!(files_of(&folder.0.join("sda")).unwrap().len(), 3);
    let note = note(&folder.0.join("sda.blktrace.0")).unwrap();
    assert!(note.contains("one CPU of 3") && note.contains("/sda`"), "{note}");
    assert_eq!(super::note(&folder.0.join("sdab.blktrace.0")), None);
    assert!(folder.refused("sd").contains("no such file"));

    let cpus: [(&str, &[u8]); 2] =
        [("r/sdb.blktrace.1", b"one\n"), ("r/sdb.blktrace.0", b"zero\n")];
    folder.put("cpus.tar.gz", &gz(&tar_of(&cpus)));
    assert_eq!(texts("cpus.tar.gz"), ["zero\n", "one\n"]);
    folder.put("more.tar", &tar_of(&[cpus[0], cpus[1], ("README", b"text\n")]));
    assert_eq!(texts("more.tar:r/sdb"), ["zero\n", "one\n"]);
    assert!(folder.refused("more.tar").contains("3 files"));
}

#[test]
#[cfg(unix)]
fn what_can_be_read_once_only_is_refused() {
    let said =
        opener("/dev/stdin")().err().or_else(|| opener("/dev/null")().err()).unwrap().to_string();
    assert!(said.contains("a pipe or a device; a trace is read more than once"), "{said}");
}
