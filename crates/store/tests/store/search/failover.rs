//! A cluster loses the node that has the documents, while clients add: whatever was acknowledged is there, and of near-identical
//! documents one at most.

use super::lost::{between_pages, removed_twice};
use super::subject::{call, new_prefix, one_at_a_time, post, put, skipped, start};
use crate::amount;
use crate::servers::{Kind, Search};
use leitong_store::opensearch::articles::{Articles, Fields};
use leitong_store::opensearch::{OpenSearch, Options};
use leitong_store::{
    Added, Addition, Collection, Policy, Probe, Query, Record, Space, SpaceSettings, Store, StoreError, Want,
};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Barrier, Mutex};

const NAME: &str = "failover";
const THREADS: u64 = 4;
/// The round in which the node is lost.
const LOST: u64 = 4;
/// More than are read at once.
const ARTICLES: usize = 2500;

fn print(round: u64, thread: u64) -> u64 {
    (round + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 1 << thread
}

fn probe(print: u64) -> Probe {
    Probe::Near { space: Space::DOCUMENTS, fingerprint: print.into(), within: 3 }
}

fn id(round: u64, thread: u64) -> String {
    format!("{round}/{thread}")
}

fn addition(round: u64, thread: u64) -> Addition {
    let mut record = Record { id: id(round, thread), ..Record::default() };
    record.signals.near.push((Space::DOCUMENTS, print(round, thread).into()));
    let probes = vec![probe(print(round, thread))];
    Addition::new(record, Policy::Unless { probes, judged: Vec::new(), limit: 1 })
}

#[test]
fn a_node_is_lost() {
    let _one = one_at_a_time();
    let Some(mut cluster) = start(Kind::Elastic8, 3) else { return skipped(Kind::Elastic8) };
    let hosts: Vec<String> = cluster.ports().iter().map(|port| format!("127.0.0.1:{port}")).collect();
    let prefix = new_prefix();
    let address =
        |hosts: &str| format!("opensearch+http://{hosts}/{prefix}?replicas=1&lease_ms=2000&timeout_ms=60000");
    let store = OpenSearch::open(&address(&hosts.join(",")), Options::default()).unwrap();
    let spaces = vec![SpaceSettings { space: Space::DOCUMENTS, width: 64, within: 3 }];
    store.create(&Collection { name: NAME.into(), recipe: [1; 16], about: String::new(), spaces }).unwrap();
    let old = Addition::new(Record { id: "old".into(), ..Record::default() }, Policy::Replace);
    let old = store.add(NAME, vec![old]).unwrap().remove(0);
    let Added::Stored { version: old, .. } = old else { panic!("{old:?}") };
    cluster.wait_for_copies();
    let node = primary(&cluster.url(), &prefix);
    let rounds = u64::from(amount(30, 10));
    let (barrier, lost) = (Barrier::new(THREADS as usize + 1), AtomicUsize::new(0));
    // To be looked at in the end: who stops in the middle leaves the others waiting.
    let surprises = Mutex::new(Vec::new());
    let acknowledged: Vec<(u64, u64)> = std::thread::scope(|scope| {
        let work = |thread: u64| {
            let (barrier, store, lost, surprises) = (&barrier, &store, &lost, &surprises);
            scope.spawn(move || {
                let mut acknowledged = Vec::new();
                for round in 0..rounds {
                    barrier.wait();
                    match store.add(NAME, vec![addition(round, thread)]).map(|mut added| added.remove(0)) {
                        Ok(Added::Stored { .. }) => acknowledged.push((round, thread)),
                        Ok(Added::Unjudged(_)) => {}
                        Err(StoreError::Uncertain { .. } | StoreError::Unreachable { .. }) => {
                            lost.fetch_add(1, Ordering::Relaxed);
                        }
                        other => surprises.lock().unwrap().push(format!("{round}/{thread}: {other:?}")),
                    }
                }
                acknowledged
            })
        };
        let running: Vec<_> = (0..THREADS).map(work).collect();
        for round in 0..rounds {
            barrier.wait();
            if round == LOST {
                let other = &hosts[(node + 1) % hosts.len()];
                let removed = removed_twice((&address(other), other), (NAME, "old"), || cluster.kill(node));
                // Not here: who stops in the middle leaves the others waiting.
                if !removed.as_ref().is_ok_and(|removed| *removed == [Some(old)]) {
                    surprises.lock().unwrap().push(format!("{removed:?} in place of {old}"));
                }
            }
        }
        running.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(surprises.into_inner().unwrap(), [""; 0]);
    assert!(acknowledged.iter().any(|(round, _)| *round > LOST + 1), "nothing was stored after the loss");
    for round in 0..rounds {
        let stored: Vec<u64> =
            acknowledged.iter().filter(|(own, _)| *own == round).map(|(_, thread)| *thread).collect();
        let query = Query { probes: vec![probe(print(round, 0))], limit: 9, ..Query::default() };
        let found = store.find(NAME, &[query]).unwrap().remove(0);
        let found: Vec<String> = found.candidates.into_iter().map(|candidate| candidate.record.id).collect();
        assert!(found.len() <= 1 && stored.len() <= 1, "round {round}: stored {stored:?}, found {found:?}");
        for thread in stored {
            assert_eq!(found, [id(round, thread)], "round {round}: acknowledged and lost");
            let got = store.get(NAME, &[&id(round, thread)], Want::Record).unwrap();
            assert!(got[0].is_some(), "round {round}: acknowledged and lost");
        }
    }
    let uncertain = lost.load(Ordering::Relaxed) as u64;
    assert!(acknowledged.len() as u64 + uncertain >= rounds, "a round in which nothing was stored");
    a_part_is_lost(&mut cluster, [(node + 1) % 3, (node + 2) % 3]);
}

/// An index of articles is on two nodes, a part on each, and one of them is lost while it is gone through: that is said, and not
/// taken for the end.
fn a_part_is_lost(cluster: &mut Search, [stays, goes]: [usize; 2]) {
    let (server, index) =
        (format!("127.0.0.1:{}", cluster.ports()[stays]), format!("articles-{}", new_prefix()));
    let url = format!("http://{server}");
    let own = r#"{"index":{"number_of_shards":2,"number_of_replicas":0,"routing.allocation.total_shards_per_node":1}}"#;
    put(&url, &index, &format!(r#"{{"settings":{own}}}"#));
    Articles::open(&format!("opensearch+{url}"), Fields::default()).unwrap().attach(&index).unwrap();
    let article = r#"{"index":{}}
{"simHashA":"0001","simHashB":"0002","simHashC":"0003","simHashD":"0004"}
"#;
    post(&url, &format!("{index}/_bulk?refresh=true"), &article.repeat(ARTICLES));
    let near = |address: &str| {
        let found = Articles::open(address, Fields::default())?.near(&[&index], 0x0001_0002_0003_0004, 3)?;
        Ok::<usize, StoreError>(found.len())
    };
    assert_eq!(near(&format!("opensearch+{url}")).unwrap(), ARTICLES);
    let (found, met) = between_pages(&server, || cluster.kill(goes), near);
    let Err(error @ StoreError::Unreachable { .. }) = found else { panic!("{found:?} of {ARTICLES}") };
    assert!(met && error.to_string().contains("a part of the index"), "{error}");
}

/// The number of the node that has the documents.
fn primary(url: &str, prefix: &str) -> usize {
    let shards = call("GET", url, &format!("_cat/shards/{prefix}-1-documents?h=prirep,node"));
    let node = shards.lines().find_map(|line| line.strip_prefix("p n")).unwrap_or_default();
    node.trim().parse().unwrap_or_else(|_| panic!("no primary: {shards}"))
}
