//! A document that is replaced by itself again and again is there at every moment: whoever looks finds it, and nothing like it
//! is stored beside it.

use leitong_store::{
    Added, Addition, Collection, Policy, Probe, Query, Record, Space, SpaceSettings, Store, Want,
};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const NAME: &str = "replaced";
const PRINT: u64 = 0x1234_5678_9abc_def0;

fn record(id: &str) -> Record {
    let mut record = Record { id: id.into(), ..Record::default() };
    record.signals.near.push((Space::DOCUMENTS, PRINT.into()));
    record
}

/// Looks so many times while another replaces, with pauses in which a search can be made.
pub(crate) fn always_there(store: &dyn Store, times: u32, pause: Duration) {
    let spaces = vec![SpaceSettings { space: Space::DOCUMENTS, width: 64, within: 3 }];
    let collection = Collection { name: NAME.into(), recipe: [7; 16], about: String::new(), spaces };
    store.create(&collection).unwrap();
    let replace = || store.add(NAME, vec![Addition::new(record("a"), Policy::Replace)]).unwrap();
    replace();
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::SeqCst) {
                replace();
                std::thread::sleep(pause);
            }
        });
        for time in 0..times {
            let seen = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| look(store, time)));
            if let Err(panic) = seen {
                // Or the other thread would never end.
                over.store(true, Ordering::SeqCst);
                std::panic::resume_unwind(panic);
            }
        }
        over.store(true, Ordering::SeqCst);
    });
}

fn look(store: &dyn Store, time: u32) {
    let probes = vec![Probe::Near { space: Space::DOCUMENTS, fingerprint: PRINT.into(), within: 3 }];
    let query = Query { probes: probes.clone(), limit: 5, ..Query::default() };
    let found = store.find(NAME, &[query]).unwrap().remove(0);
    assert_eq!(found.candidates.len(), 1, "found, time {time}: {found:?}");
    let page = store.scan(NAME, None, 5, Want::Record).unwrap();
    assert_eq!(page.len(), 1, "scanned, time {time}: {page:?}");
    let policy = Policy::Unless { probes, judged: Vec::new(), limit: 1 };
    let added = store.add(NAME, vec![Addition::new(record("b"), policy)]).unwrap().remove(0);
    assert!(matches!(added, Added::Unjudged(_)), "stored beside its duplicate, time {time}: {added:?}");
}
