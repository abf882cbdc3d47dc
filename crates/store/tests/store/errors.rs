//! What is refused, and that it leaves no trace.

use leitong_fingerprint::Fingerprint;
use leitong_store::{
    Added, Addition, Collection, Policy, Probe, Query, Record, Space, SpaceSettings, Store, StoreError, Want,
};

const NAME: &str = "errors";

fn collection() -> Collection {
    let spaces = vec![SpaceSettings { space: Space::DOCUMENTS, width: 64, within: 3 }];
    Collection { name: NAME.into(), recipe: [1; 16], about: "as it was made".into(), spaces }
}

fn record(space: Space, fingerprint: Fingerprint) -> Record {
    let mut record = Record { id: "a".into(), ..Record::default() };
    record.signals.near.push((space, fingerprint));
    record
}

fn near(space: Space, width: u32, within: u32) -> Probe {
    Probe::Near { space, fingerprint: Fingerprint::from_words(width, &[5]), within }
}

/// The text of an error of the expected kind; it must say something of what to do.
macro_rules! expect_error {
    ($result:expr, $kind:pat) => {
        match $result {
            Err(error @ $kind) => assert!(error.to_string().contains(':'), "without a remedy: {error}"),
            other => panic!("expected {}, not {other:?}", stringify!($kind)),
        }
    };
}

/// Without its collection every call fails, but for those about collections.
pub(crate) fn no_collection(store: &dyn Store) {
    expect_error!(store.find("none", &[]), StoreError::NoCollection { .. });
    expect_error!(store.add("none", Vec::new()), StoreError::NoCollection { .. });
    expect_error!(store.remove("none", &[]), StoreError::NoCollection { .. });
    expect_error!(store.get("none", &[], Want::Record), StoreError::NoCollection { .. });
    expect_error!(store.scan("none", None, 1, Want::Record), StoreError::NoCollection { .. });
    expect_error!(store.count("none"), StoreError::NoCollection { .. });
    assert!(!store.destroy("none").unwrap(), "there was nothing to destroy");
}

/// A collection can be asked for again as it is, and not as another.
pub(crate) fn other_collection(store: &dyn Store) {
    store.create(&collection()).unwrap();
    store
        .create(&Collection { about: "said otherwise".into(), ..collection() })
        .expect("`about` does not count");
    assert_eq!(store.collections().unwrap(), [collection()], "the first `about` stays");
    let recipe = Collection { recipe: [2; 16], ..collection() };
    expect_error!(store.create(&recipe), StoreError::OtherCollection { .. });
    let [mut width, mut within, mut spaces] = [(); 3].map(|()| collection());
    width.spaces[0].width = 128;
    within.spaces[0].within = 2;
    spaces.spaces.clear();
    for other in [width, within, spaces] {
        expect_error!(store.create(&other), StoreError::OtherCollection { .. });
    }
    let unknown = SpaceSettings { space: Space::DOCUMENTS, width: 65, within: 3 };
    let new = Collection { name: "new".into(), spaces: vec![unknown], ..collection() };
    expect_error!(store.create(&new), StoreError::Width { found: 65, .. });
    expect_error!(store.create(&Collection { name: String::new(), ..collection() }), StoreError::EmptyId);
    let long = Collection { name: "x".repeat(256), ..collection() };
    expect_error!(store.create(&long), StoreError::TooLong { .. });
    assert_eq!(store.collections().unwrap(), [collection()], "what was refused was not made");
}

/// Signals and probes that do not fit the collection are refused, and nothing of the call is done.
pub(crate) fn misfits(store: &dyn Store) {
    store.create(&collection()).unwrap();
    let fits = Fingerprint::from(5);
    let add = |record: Record, policy| store.add(NAME, vec![Addition::new(record, policy)]);
    let unless = |probe| Policy::Unless { probes: vec![probe], judged: Vec::new(), limit: 1 };
    let find = |probe| {
        let good = Query { probes: vec![near(Space::DOCUMENTS, 64, 3)], limit: 1, ..Query::default() };
        store.find(NAME, &[good, Query { probes: vec![probe], limit: 1, ..Query::default() }])
    };
    let mut twice = record(Space::DOCUMENTS, fits.clone());
    twice.signals.near.push((Space::DOCUMENTS, Fingerprint::from(6)));
    expect_error!(add(twice, Policy::Replace), StoreError::Twice { .. });
    let centres = near(Space::CENTRES, 64, 1);
    expect_error!(add(record(Space::CENTRES, fits.clone()), Policy::Replace), StoreError::NoSpace { .. });
    expect_error!(find(centres.clone()), StoreError::NoSpace { .. });
    expect_error!(add(record(Space::DOCUMENTS, fits.clone()), unless(centres)), StoreError::NoSpace { .. });
    for width in [32, 128] {
        let wrong = record(Space::DOCUMENTS, Fingerprint::from_words(width, &[5]));
        let probe = near(Space::DOCUMENTS, width, 1);
        expect_error!(add(wrong, Policy::New), StoreError::Width { expected: 64, .. });
        expect_error!(find(probe.clone()), StoreError::Width { expected: 64, .. });
        expect_error!(add(record(Space::DOCUMENTS, fits.clone()), unless(probe)), StoreError::Width { .. });
    }
    let far = near(Space::DOCUMENTS, 64, 4);
    expect_error!(find(far.clone()), StoreError::TooFar { asked: 4, built: 3 });
    expect_error!(add(record(Space::DOCUMENTS, fits.clone()), unless(far)), StoreError::TooFar { .. });
    assert_eq!(store.count(NAME).unwrap().documents, 0, "what was refused was not stored");
    let added = add(record(Space::DOCUMENTS, fits), unless(near(Space::DOCUMENTS, 64, 3))).unwrap();
    assert!(matches!(added[0], Added::Stored { .. }), "refused calls left something behind: {added:?}");
}
