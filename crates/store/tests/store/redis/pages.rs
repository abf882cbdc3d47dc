//! What is read page by page is read whole, or it is said that it was not.

use super::cluster::Running;
use super::{new_prefix, server};
use crate::servers::Redis as Server;
use leitong_store::StoreError;
use leitong_store::redis::cms::{Entry, Library};

/// More than come at once, all of them in one set.
const ENTRIES: u64 = 5000;

fn filled(address: &str) -> Library {
    let library = Library::open(address, &format!("{}-", new_prefix())).unwrap();
    let entries = (0..ENTRIES).map(|number| Entry { id: number.to_string(), fingerprint: number });
    library.add(&entries.collect::<Vec<_>>()).unwrap();
    assert_eq!(count(&library, || ()).unwrap(), ENTRIES);
    library
}

/// How many entries are read, if something happens after the first page.
fn count(library: &Library, harm: impl FnOnce()) -> Result<u64, StoreError> {
    let (mut count, mut harm) = (0, Some(harm));
    let mut each = |entries: Vec<Entry>| {
        count += entries.len() as u64;
        harm.take().into_iter().for_each(|harm| harm());
        Ok::<(), StoreError>(())
    };
    library.read(&mut each, &mut |what| panic!("{what}"))?;
    Ok(count)
}

fn assert_says_so(read: Result<u64, StoreError>) {
    let Err(error @ StoreError::Refused { .. }) = read else { panic!("{read:?}") };
    assert!(error.to_string().contains("do it again"), "{error}");
}

#[test]
fn a_server_is_started_again() {
    let Some(mut server): Option<Server> = server(&["--appendonly", "yes"]) else { return };
    let library = filled(&format!("redis://127.0.0.1:{}", server.port()));
    let restart = || {
        server.kill();
        server.restart().unwrap();
    };
    assert_says_so(count(&library, restart));
    assert_eq!(count(&library, || ()).unwrap(), ENTRIES);
}

#[test]
fn slots_of_a_cluster_move() {
    let Some(running) = Running::start(0) else { return };
    let library = filled(&running.address());
    assert_says_so(count(&library, || running.cluster.move_slots(0, 1, 100).unwrap()));
    assert_eq!(count(&library, || ()).unwrap(), ENTRIES);
}
