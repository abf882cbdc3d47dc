//! A server that wants TLS and a password, as those in companies do, and lets some users do less than others.

use super::many;
use super::subject::{one_at_a_time, open};
use crate::histories::{self, Load};
use crate::servers::SecuredSearch;
use crate::{amount, errors, ids, marked};
use leitong_store::opensearch::{OpenSearch, Options};
use leitong_store::{Addition, Collection, Policy, Record, Store, StoreError};
use std::net::TcpStream;

#[test]
fn with_passwords() {
    let _one = one_at_a_time();
    let everyday = std::env::var_os("LEITONG_QUICK").is_some();
    let Some(server) = (if everyday { None } else { SecuredSearch::start() }) else {
        println!(
            "skipped: with_passwords (not installed, or an everyday run: cargo xtask servers, cargo xtask test)"
        );
        return;
    };
    who_may_not_come_in(&server);
    everything_else_as_ever(&server);
    who_may_only_read(&server);
}

/// An address below a name of its own, with options.
fn address(server: &SecuredSearch, user: &str, name: &str, options: &str) -> String {
    let (port, prefix) = (server.port(), server.prefix());
    format!("opensearch+https://{user}@127.0.0.1:{port}/{prefix}-{name}?lease_ms=1000{options}")
}

fn trusting(server: &SecuredSearch, user: &str, name: &str) -> String {
    address(server, user, name, &format!("&ca={}", server.ca().display()))
}

/// The text of an error, which must not show the password.
#[track_caller]
fn error<T>(result: Result<T, StoreError>) -> String {
    let text = result.err().unwrap().to_string();
    assert!(!text.contains("secret"), "with the password: {text}");
    text
}

fn who_may_not_come_in(server: &SecuredSearch) {
    let try_open = |address: &str| error(OpenSearch::open(address, Options::default()));
    let certificate = try_open(&address(server, "writer:writer-secret", "a", ""));
    assert!(certificate.contains("ca=FILE"), "{certificate}");
    let plain = trusting(server, "writer:writer-secret", "a").replace("+https", "+http");
    assert!(try_open(&plain).contains("+https"), "{}", try_open(&plain));
    for user in ["writer:not-the-secret", "nobody:writer-secret"] {
        let refused = try_open(&trusting(server, user, "a"));
        assert!(refused.contains("another user or password"), "{refused}");
    }
    open(&address(server, "writer:writer-secret", "a", "&insecure=true"));
    if TcpStream::connect(("::1", server.port())).is_err() {
        return;
    }
    // It listens there too, where there is such a place, and its certificate does not name it: whoever is not trusted is passed by.
    let other = format!("[::1]:{}", server.port());
    let strange = trusting(server, "writer:writer-secret", "a")
        .replace(&format!("127.0.0.1:{}", server.port()), &other);
    assert!(try_open(&strange).contains("another name"), "{}", try_open(&strange));
    let both = strange.replace(&other, &format!("{other},127.0.0.1:{}", server.port()));
    open(&both).collections().unwrap();
}

fn everything_else_as_ever(server: &SecuredSearch) {
    let with_new = |name: &str, test: &dyn Fn(&dyn Store)| {
        test(&open(&trusting(server, "writer:writer-secret", name)));
    };
    let load = Load { threads: 8, rounds: amount(2, 1), calls: 5 };
    with_new("ids", &|store| ids::kept_apart(store));
    with_new("errors", &|store| errors::no_collection(store));
    with_new("many", &|store| many::as_one_after_the_other(store));
    with_new("one", &|store| histories::one_of_many(store, load));
    with_new("marked", &|store| marked::one_of_many(store, load));
}

fn who_may_only_read(server: &SecuredSearch) {
    let collection = |name: &str| Collection {
        name: name.into(),
        recipe: [1; 16],
        about: String::new(),
        spaces: Vec::new(),
    };
    let addition = |id: &str| {
        let record = Record { id: id.into(), ..Record::default() };
        vec![Addition::new(record, Policy::Replace)]
    };
    let writer = open(&trusting(server, "writer:writer-secret", "read"));
    writer.create(&collection("a")).unwrap();
    writer.add("a", addition("x")).unwrap();
    let reader = open(&trusting(server, "reader:reader-secret", "read"));
    assert_eq!(reader.count("a").unwrap().documents, 1);
    assert_eq!(reader.scan("a", None, 9, leitong_store::Want::Record).unwrap()[0].record.id, "x");
    for refused in [
        error(reader.add("a", addition("y"))),
        error(reader.remove("a", &["x"])),
        error(reader.create(&collection("b"))),
    ] {
        assert!(refused.contains("may not do that"), "{refused}");
    }
    assert_eq!(writer.count("a").unwrap().documents, 1);
}
