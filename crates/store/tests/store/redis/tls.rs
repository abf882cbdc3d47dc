//! TLS, with a certificate that nobody has signed: it is trusted where it is named, or where any is.

use super::{assert_sound, open, server};
use leitong_store::redis::{Options, Redis};
use leitong_store::{Addition, Collection, Policy, Record, Store, StoreError};
use std::process::Command;

/// A key and a certificate for it.
fn make_certificate(folder: &std::path::Path) {
    let (key, certificate) = (folder.join("key.pem"), folder.join("certificate.pem"));
    let made = Command::new("openssl")
        .args([
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-nodes",
            "-days",
            "1",
        ])
        .args(["-subj", "/CN=tests", "-addext", "subjectAltName=IP:127.0.0.1"])
        .args(["-addext", "basicConstraints=critical,CA:FALSE", "-keyout"])
        .arg(key)
        .arg("-out")
        .arg(certificate)
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
}

#[test]
fn a_certificate_is_trusted_or_not() {
    if !xtask::servers::has_openssl() {
        println!("skipped: redis::tls (OpenSSL 3 is not installed)");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    make_certificate(folder.path());
    let port = xtask::servers::free_ports(1).unwrap()[0];
    let file = |name: &str| folder.path().join(name).display().to_string();
    let (key, certificate, number) = (file("key.pem"), file("certificate.pem"), port.to_string());
    let files = ["--tls-cert-file", &certificate, "--tls-key-file", &key, "--tls-ca-cert-file", &certificate];
    let own = ["--tls-port", &number, "--tls-auth-clients", "no"];
    let Some(_server) = server(&[&own[..], &files].concat()) else { return };
    let refused = |place: &str| match Redis::open(&format!("rediss://{place}"), Options::default()) {
        Err(StoreError::Refused { what, .. }) => what,
        other => panic!("{other:?}"),
    };
    let nobody = refused(&format!("127.0.0.1:{port}"));
    assert!(nobody.contains("?ca=FILE"), "{nobody}");
    let other = refused(&format!("localhost:{port}?ca={certificate}"));
    assert!(other.contains("another name"), "{other}");
    // It is its own signature, and names this place.
    open(&format!("rediss://127.0.0.1:{port}?ca={certificate}")).collections().unwrap();
    let store = open(&format!("rediss://127.0.0.1:{port}?insecure=true"));
    let collection =
        Collection { name: "tls".into(), recipe: [9; 16], about: String::new(), spaces: Vec::new() };
    store.create(&collection).unwrap();
    let record = Record { id: "a".into(), text: Some("正文".repeat(100_000)), ..Record::default() };
    store.add("tls", vec![Addition::new(record, Policy::New)]).unwrap();
    assert_eq!(store.count("tls").unwrap().documents, 1);
    assert_sound(&store);
}
