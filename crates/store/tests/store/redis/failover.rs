//! A master of a cluster that dies: its replica takes over, and what was acknowledged with `wait` is there.

use super::cluster::Running;
use super::open;
use leitong_store::{Added, Addition, Collection, Key, Policy, Probe, Query, Record, Store, Want};

const NAME: &str = "failover";

fn record(number: u64) -> Record {
    let mut record = Record { id: format!("document {number}"), ..Record::default() };
    record.signals.keys.push(Key { kind: 0, value: number / 2 });
    record
}

/// Of every two documents that are alike only one is accepted.
fn addition(number: u64) -> Addition {
    let probes = vec![Probe::Key(Key { kind: 0, value: number / 2 })];
    Addition::new(record(number), Policy::Unless { probes, judged: Vec::new(), limit: 1 })
}

#[test]
fn what_was_acknowledged_survives_a_master() {
    let Some(mut running) = Running::start(1) else { return };
    let address = running.address();
    let careful = open(&format!("{address}&wait=1&wait_ms=10000"));
    let collection =
        Collection { name: NAME.into(), recipe: [8; 16], about: String::new(), spaces: Vec::new() };
    careful.create(&collection).unwrap();
    let mut stored = Vec::new();
    let mut add = |store: &dyn Store, number| {
        let added = store.add(NAME, vec![addition(number)]).unwrap().remove(0);
        match (number % 2, &added) {
            (0, Added::Stored { .. }) => stored.push(number),
            (1, Added::Unjudged(found)) => {
                assert_eq!(found.candidates[0].record.id, format!("document {}", number ^ 1));
            }
            _ => panic!("{number}: {added:?}"),
        }
    };
    (0..60).for_each(|number| add(&careful, number));
    running.cluster.nodes_mut()[0].kill();
    // The new master has no replica to be waited for. Whoever asks meanwhile waits until there is a new master.
    let store = open(&address);
    (60..120).for_each(|number| add(&store, number));
    assert_eq!(stored.len(), 60);
    let others = open(&address);
    for number in &stored {
        let id = format!("document {number}");
        let there = others.get(NAME, &[&id], Want::Record).unwrap().remove(0);
        assert!(there.is_some_and(|there| there.record == record(*number)), "{id} is lost");
        let probes = vec![Probe::Key(Key { kind: 0, value: number / 2 })];
        let found = others.find(NAME, &[Query { probes, limit: 5, ..Query::default() }]).unwrap().remove(0);
        let found: Vec<&str> = found.candidates.iter().map(|found| found.record.id.as_str()).collect();
        assert_eq!(found, [&id], "all that are alike");
    }
    running.cluster.nodes_mut()[0].restart().unwrap();
}
