//! Vendored files are what vendor/README.md says they are.

use sha2::{Digest, Sha256};
use std::path::Path;

#[test]
fn each_vendored_file_has_the_sum_that_is_written_down() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("vendor");
    let readme = std::fs::read_to_string(folder.join("README.md")).unwrap();
    let mut held = 0;
    for line in readme.lines().filter(|line| line.starts_with("| `")) {
        let quoted: Vec<&str> = line.split('`').collect();
        let (name, sum) = (quoted[1], quoted[quoted.len() - 2]);
        let bytes = std::fs::read(folder.join(name)).unwrap();
        let found: String =
            Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(found, sum, "{name}");
        held += 1;
    }
    let projects = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir());
    let files: usize = projects.map(|project| std::fs::read_dir(project).unwrap().count()).sum();
    assert_eq!(held, files);
}
