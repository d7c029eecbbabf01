//! `manx serve` with TLS, and several drives over one socket.

use crate::serve::{Served, program};
use crate::support::assert_refused;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

type Authority = CertifiedIssuer<'static, KeyPair>;

/// Signs certificates.
fn authority() -> Authority {
    let mut params = CertificateParams::new([]).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

/// Puts a certificate of `owner` into the folder, with its key and its authority's own.
fn certify(folder: &Path, owner: &str, authority: &Authority, trusted: &Authority) {
    std::fs::create_dir_all(folder).unwrap();
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(["localhost".to_string()]).unwrap();
    let certificate = params.signed_by(&key, authority).unwrap();
    for (name, text) in [
        (format!("{owner}-cert.pem"), certificate.pem()),
        (format!("{owner}-key.pem"), key.serialize_pem()),
        ("ca-cert.pem".to_string(), trusted.pem()),
    ] {
        std::fs::write(folder.join(name), text).unwrap();
    }
}

/// Folders of a server, of its client, of a client that another authority signed, and of one
/// without a certificate.
fn folders(name: &str) -> [PathBuf; 4] {
    let root = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&root);
    let all = ["server", "client", "stranger", "bare"].map(|part| root.join(part));
    let (own, other) = (authority(), authority());
    certify(&all[0], "server", &own, &own);
    certify(&all[1], "client", &own, &own);
    certify(&all[2], "client", &other, &own);
    std::fs::create_dir_all(&all[3]).unwrap();
    std::fs::write(all[3].join("ca-cert.pem"), own.pem()).unwrap();
    all
}

/// The answer to an option after the greeting, in the clear.
fn answered(served: &Served, option: &[u8], rest: &[u8]) -> Vec<u8> {
    let mut stream = UnixStream::connect(&served.socket).unwrap();
    stream.read_exact(&mut [0; 18]).unwrap();
    stream.write_all(&[&[0, 0, 0, 3], option, rest].concat()).unwrap();
    let mut answer = vec![0; 20];
    let got = stream.read(&mut answer).unwrap();
    answer.truncate(got);
    if !rest.is_empty() {
        // Nothing that was sent in the clear is taken for more.
        assert_eq!(stream.read(&mut [0; 100]).unwrap_or(0), 0);
    }
    answer
}

#[test]
fn clients_with_the_right_certificate_are_served_encrypted_and_no_others() {
    let [server, client, stranger, bare] = folders("tls").map(|path| path.display().to_string());
    let encrypted = ["--tls-certificates", &server];
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/all/serve_tls.py");
    for (mode, verifies, name) in
        [("require", &["--tls-verify-peer"][..], "tls-required"), ("on", &[], "tls-on")]
    {
        let served = Served::start(name, &[&encrypted[..], &["--tls", mode], verifies].concat());
        let list = b"IHAVEOPT\0\0\0\x03\0\0\0\0";
        let start = b"IHAVEOPT\0\0\0\x05\0\0\0\0";
        let refused = answered(&served, list, &[]);
        let is_refused = refused[12..16] == [0x80, 0, 0, 5];
        assert_eq!(is_refused, mode == "require", "{refused:?}");
        assert_eq!(answered(&served, start, &[])[12..16], [0, 0, 0, 1]);
        answered(&served, start, b"IHAVEOPT\0\0\0\x03\0\0\0\0");
        answered(&served, start, &[]);
        let uri = served.uri();
        if program("/usr/bin/python3", &["-c", "import nbd"]).is_some() {
            let flag = if mode == "require" { "required" } else { "" };
            let args = [script, &uri, &client, &stranger, &bare, flag];
            program("/usr/bin/python3", &args);
        }
        let encrypted = uri.replace("nbd+", "nbds+") + "&tls-certificates=" + &client;
        if let Some(said) = program("nbdinfo", &[&encrypted]) {
            assert!(said.contains("with TLS"), "{said}");
        }
        let report = served.end();
        assert!(report["faulty_connections"].as_u64() > Some(0), "{report}");
    }
}

#[test]
fn wrong_certificates_are_told_before_a_drive_is_made() {
    let [server, client, _, bare] = folders("tls-wrong");
    let own = |path: &Path| path.display().to_string();
    let (server_text, client, bare) = (own(&server), own(&client), own(&bare));
    let (key, certificate) = (server.join("server-key.pem"), server.join("server-cert.pem"));
    let good = std::fs::read(&key).unwrap();
    for (args, piece) in [
        (&["--tls-certificates", "/nowhere"][..], "server-cert.pem"),
        (&["--tls-certificates", &client], "server-cert.pem"),
        (&["--tls-certificates", &bare], "server-cert.pem"),
        (&["--tls-verify-peer"], "--tls-certificates"),
        (
            &["--tls-certificates", &server_text, "--tls-verify-peer", "--tls", "on"],
            "--tls require",
        ),
        (&["--tls", "on"], "--tls-certificates"),
        (&["--tls", "off", "--tls-certificates", &server_text], "on, require"),
        (&["--protocol", "vhost-user", "--tls-certificates", &server_text], "--protocol nbd"),
    ] {
        assert_refused(&[&["serve", "quick", "--socket", "/tmp/x"], args].concat(), &[piece]);
    }
    let args = ["serve", "quick", "--socket", "/tmp/x", "--tls-certificates", &server_text];
    let verified = [&args[..], &["--tls-verify-peer"]].concat();
    for (bytes, piece) in
        [(&b"nothing"[..], "server-key.pem"), (&std::fs::read(&certificate).unwrap(), "server-key")]
    {
        std::fs::write(&key, bytes).unwrap();
        assert_refused(&args, &[piece]);
    }
    std::fs::write(&key, KeyPair::generate().unwrap().serialize_pem()).unwrap();
    assert_refused(&args, &["server-key.pem"]);
    std::fs::write(&key, good).unwrap();
    std::fs::remove_file(server.join("ca-cert.pem")).unwrap();
    assert_refused(&verified, &["ca-cert.pem"]);
}

#[test]
fn the_members_of_an_array_are_exports_of_their_own() {
    let args = ["--policy", "base", "--set", "array.members=3", "--members"];
    let served = Served::start("members", &args);
    let (mut first, mut third) = (served.client_of("manx-1"), served.client_of("manx-3"));
    assert_eq!(first.size, third.size);
    assert_eq!(first.ask(1, 4096, 4096, &[7; 4096]).0, 0);
    assert_eq!(third.ask(0, 4096, 4096, &[]).1, [0; 4096], "another drive");
    assert_eq!(third.ask(1, 4096, 4096, &[9; 4096]).0, 0);
    assert_eq!(first.ask(0, 4096, 4096, &[]).1, [7; 4096]);
    // Without a name it is the first.
    assert_eq!(served.client().ask(0, 4096, 4096, &[]).1, [7; 4096]);
    if let Some(said) = program("nbdinfo", &["--list", &served.uri()]) {
        for name in ["manx-1", "manx-2", "manx-3"] {
            assert!(said.contains(&format!("export=\"{name}\"")), "{said}");
        }
    }
    drop((first, third));
    let report = served.end();
    assert_eq!(report["write"]["count"], 2);
}
