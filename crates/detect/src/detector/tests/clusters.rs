//! Clusters against a plain Single-Pass.

use super::*;
use crate::detector::Assigned;
use leitong_store::{Clock, Space, Want};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, Ordering};

const WITHIN: u32 = 3;

/// The plain way: every document in order, every centre looked at.
#[derive(Default)]
struct Plain {
    documents: BTreeMap<String, (u64, String, u32)>,
    /// The centres in the order in which they became ones.
    centres: Vec<String>,
}

impl Plain {
    fn assign(&mut self, id: &str, simhash: u64, order: &[String]) {
        self.remove(id, order);
        self.join(id, simhash, None);
    }

    fn join(&mut self, id: &str, simhash: u64, except: Option<&str>) {
        let distance = |centre: &String| (self.documents[centre].0 ^ simhash).count_ones();
        let centres = self.centres.iter().filter(|centre| Some(centre.as_str()) != except);
        let near =
            centres.map(|centre| (distance(centre), centre)).filter(|(distance, _)| *distance <= WITHIN);
        // The first of the smallest: the oldest.
        let nearest = near.min_by_key(|(distance, _)| *distance);
        let (distance, centre) =
            nearest.map_or((0, id.to_owned()), |(distance, centre)| (distance, centre.clone()));
        if centre == id {
            self.centres.push(id.to_owned());
        }
        self.documents.insert(id.to_owned(), (simhash, centre, distance));
    }

    /// `order`: all ids in the order of their versions.
    fn remove(&mut self, id: &str, order: &[String]) {
        if self.documents.get(id).is_some_and(|(_, centre, _)| centre == id) {
            for member in order.iter().filter(|member| *member != id) {
                if self.documents.get(member).is_some_and(|(_, centre, _)| centre == id) {
                    let simhash = self.documents[member].0;
                    self.join(member, simhash, Some(id));
                }
            }
            self.centres.retain(|centre| centre != id);
        }
        self.documents.remove(id);
    }
}

fn all(news: &Collection) -> Vec<leitong_store::Stored> {
    news.detector().store().scan("news", None, usize::MAX, Want::Record).unwrap()
}

/// The ids of all centres.
pub(super) fn centres(news: &Collection) -> Vec<String> {
    news.clusters(None, 1000).unwrap().into_iter().map(|cluster| cluster.centre).collect()
}

/// The ids of the members of a cluster, the oldest first.
pub(super) fn members(news: &Collection, centre: &str) -> Vec<String> {
    news.members(centre, None, 1000).unwrap().into_iter().map(|member| member.id).collect()
}

/// All ids in the order of their versions.
fn order(news: &Collection) -> Vec<String> {
    let mut all = all(news);
    all.sort_by_key(|stored| stored.version);
    all.into_iter().map(|stored| stored.record.id).collect()
}

fn compare(news: &Collection, plain: &Plain) -> Result<(), TestCaseError> {
    let stored: BTreeMap<_, _> = all(news)
        .into_iter()
        .map(|stored| {
            let simhash = stored.record.signals.near(Space::DOCUMENTS).unwrap().low64();
            let (centre, distance) = stored.record.cluster.clone().unwrap();
            assert_eq!(stored.record.signals.near(Space::CENTRES).is_some(), centre == stored.record.id);
            (stored.record.id, (simhash, centre, distance))
        })
        .collect();
    prop_assert_eq!(&stored, &plain.documents);
    let clusters = news.clusters(None, 1000).unwrap();
    let mut expected = plain.centres.clone();
    expected.sort();
    prop_assert_eq!(clusters.iter().map(|cluster| cluster.centre.clone()).collect::<Vec<_>>(), expected);
    for cluster in clusters {
        let of = |(_, centre, _): &&(u64, String, u32)| *centre == cluster.centre;
        prop_assert_eq!(cluster.members, plain.documents.values().filter(of).count() as u64);
    }
    Ok(())
}

#[derive(Clone, Debug)]
enum Step {
    Assign(Vec<(u8, u64)>),
    Remove(u8),
    Replace(u8),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    // Few bits, so that clusters meet: everything is within seven bits of everything.
    let document = || (0u8..24, 0u64..128);
    let step = prop_oneof![
        4 => prop::collection::vec(document(), 1..8).prop_map(Step::Assign),
        2 => (0u8..24).prop_map(Step::Remove),
        1 => (0u8..24).prop_map(Step::Replace),
    ];
    prop::collection::vec(step, 1..12)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn clusters_are_those_of_single_pass(steps in steps()) {
        let news = collection();
        let mut plain = Plain::default();
        for step in steps {
            match step {
                Step::Assign(batch) => {
                    let documents = batch.iter().map(|(id, simhash)| numbered(&id.to_string(), *simhash)).collect();
                    // Where a batch replaces what it has stored itself, only the store knows the versions in between: so
                    // the plain way sees each document alone.
                    let distinct = batch.iter().enumerate().all(|(i, (id, _))| batch[..i].iter().all(|(other, _)| other != id));
                    let old = batch.iter().any(|(id, _)| plain.documents.contains_key(&id.to_string()));
                    if distinct && !old {
                        let assigned = news.assign(documents).unwrap();
                        for ((id, simhash), assigned) in batch.into_iter().zip(assigned) {
                            let id = id.to_string();
                            plain.assign(&id, simhash, &[]);
                            let Assigned { centre, distance, .. } = assigned.unwrap();
                            prop_assert_eq!(&(simhash, centre, distance), &plain.documents[&id]);
                        }
                    } else {
                        for document in documents {
                            let (id, simhash) = (document.id.clone(), document.fingerprint.as_ref().unwrap().low64());
                            plain.assign(&id, simhash, &order(&news));
                            news.assign(vec![document]).unwrap();
                        }
                    }
                }
                Step::Remove(id) => {
                    plain.remove(&id.to_string(), &order(&news));
                    news.remove(&[&id.to_string()]).unwrap();
                }
                Step::Replace(id) => {
                    // Stored without a cluster, and taken away again: its members have been assigned anew.
                    let id = id.to_string();
                    plain.remove(&id, &order(&news));
                    add(&news, vec![numbered(&id, 1 << 60)], When::Replace);
                    news.remove(&[&id]).unwrap();
                }
            }
            compare(&news, &plain)?;
        }
    }

    /// Whatever a batch replaces: every document is in the cluster of a centre within the distance, and no two centres are near.
    #[test]
    fn any_batch_leaves_whole_clusters(batches in prop::collection::vec(prop::collection::vec((0u8..12, 0u64..128), 1..10), 1..8)) {
        let news = collection();
        for batch in batches {
            let last: BTreeMap<String, u64> = batch.iter().map(|(id, simhash)| (id.to_string(), *simhash)).collect();
            news.assign(batch.iter().map(|(id, simhash)| numbered(&id.to_string(), *simhash)).collect()).unwrap();
            whole(&news);
            for stored in all(&news) {
                let simhash = stored.record.signals.near(Space::DOCUMENTS).unwrap().low64();
                prop_assert!(last.get(&stored.record.id).is_none_or(|last| *last == simhash));
            }
        }
    }
}

/// Every document is in the cluster of a centre that is one, as far away as it says; centres are not near each other.
pub(super) fn whole(news: &Collection) {
    let all: BTreeMap<_, _> =
        all(news).into_iter().map(|stored| (stored.record.id.clone(), stored.record)).collect();
    let simhash = |id: &str| all[id].signals.near(Space::DOCUMENTS).cloned();
    for (id, record) in &all {
        let (centre, distance) = record.cluster.as_ref().unwrap();
        assert_eq!(all[centre].cluster.as_ref().unwrap().0, *centre, "{id} is in the cluster of {centre}");
        if let Some((own, other)) = simhash(id).zip(simhash(centre)) {
            assert_eq!(own.distance(&other), Ok(*distance), "{id} and {centre}");
            assert!(*distance <= WITHIN);
        }
    }
    let centres: Vec<_> =
        all.iter().filter(|(id, record)| record.cluster.as_ref().unwrap().0 == **id).collect();
    for (i, (a, _)) in centres.iter().enumerate() {
        for (b, _) in &centres[..i] {
            let near = simhash(a).zip(simhash(b)).is_some_and(|(a, b)| a.distance(&b).unwrap() <= WITHIN);
            assert!(!near, "{a} and {b} are both centres");
        }
    }
}

#[test]
fn many_at_once_leave_whole_clusters() {
    let news = collection();
    std::thread::scope(|scope| {
        for thread in 0..4u64 {
            let news = news.clone();
            scope.spawn(move || {
                for i in 0..60u64 {
                    let simhash = (i * 37 + thread * 11) % 256;
                    news.assign(vec![numbered(&format!("{thread}-{i}"), simhash)]).unwrap();
                }
            });
        }
    });
    assert_eq!(news.count().unwrap().documents, 240);
    whole(&news);
}

/// Centres go while others join: nobody is left with a centre that is gone.
#[test]
fn joining_and_removing_at_once_leave_whole_clusters() {
    for _ in 0..5 {
        let news = collection();
        std::thread::scope(|scope| {
            for thread in 0..3u64 {
                let news = news.clone();
                scope.spawn(move || {
                    for i in 0..40u64 {
                        news.assign(vec![numbered(&format!("{thread}-{i}"), (i * 37) % 64)]).unwrap();
                    }
                });
            }
            scope.spawn(|| {
                for _ in 0..30 {
                    if let Some(first) = news.clusters(None, 1).unwrap().pop() {
                        news.remove(&[&first.centre]).unwrap();
                    }
                }
            });
        });
        let centres = centres(&news);
        for stored in all(&news) {
            assert!(centres.contains(&stored.record.cluster.unwrap().0), "{}", stored.record.id);
        }
    }
}

#[test]
fn equal_short_texts_share_a_cluster() {
    let news = collection();
    let short = |id: &str, text: &str| Document::new(id, text);
    add(&news, vec![short("no cluster", "好")], When::Replace);
    let batch =
        vec![short("a", "好！"), short("b", "好。"), short("c", "坏"), short("d", "——"), short("e", "——")];
    let centres = |answers: Vec<Result<Assigned, _>>| -> Vec<String> {
        answers
            .into_iter()
            .map(|answer: Result<Assigned, crate::detector::DocumentError>| answer.unwrap().centre)
            .collect()
    };
    assert_eq!(centres(news.assign(batch).unwrap()), ["a", "a", "c", "d", "e"]);
    assert_eq!(centres(news.assign(vec![short("f", "好？")]).unwrap()), ["a"]);
    news.remove(&["a"]).unwrap();
    assert_eq!(members(&news, "b"), ["b", "f"]);
    assert_eq!(centres(news.assign(vec![short("b", "坏？")]).unwrap()), ["c"]);
    assert_eq!(news.members("f", None, 10).unwrap().len(), 1);
}

#[test]
fn lists_go_on_where_they_ended() {
    let news = collection();
    news.assign(
        (0..30).map(|i| numbered(&format!("{i:02}"), (i % 3) << 30 | 0xff << (8 * (i % 3)))).collect(),
    )
    .unwrap();
    let first = news.clusters(None, 2).unwrap();
    let rest = news.clusters(Some(&first[1].centre), 9).unwrap();
    let centres: Vec<_> =
        first.iter().chain(&rest).map(|cluster| (cluster.centre.as_str(), cluster.members)).collect();
    assert_eq!(centres, [("00", 10), ("01", 10), ("02", 10)]);
    let mut members = news.members("01", None, 4).unwrap();
    assert_eq!(members.len(), 4);
    members.extend(news.members("01", Some(members[3].version), 99).unwrap());
    let ids: Vec<_> = members.iter().map(|member| member.id.as_str()).collect();
    assert_eq!(ids, ["01", "04", "07", "10", "13", "16", "19", "22", "25", "28"]);
    assert!(news.members("nobody", None, 9).unwrap().is_empty());
}

/// A centre that expires leaves its members alone; mending assigns them anew.
#[test]
fn mending_after_a_centre_has_expired() {
    let now = Arc::new(AtomicI64::new(0));
    let clock = Arc::clone(&now);
    let store = Memory::new(Clock::new(move || clock.load(Ordering::Relaxed)));
    let news = Detector::new(Arc::new(store)).create("news", &CollectionSettings::default()).unwrap();
    let centre = Document { expires: Some(5), ..numbered("0", 0) };
    let gone = Document { expires: Some(5), ..Document::new("好0", "好") };
    let batch = vec![
        centre,
        numbered("1", 1),
        numbered("2", 3),
        gone,
        Document::new("好1", "好"),
        Document::new("好2", "好"),
    ];
    news.assign(batch).unwrap();
    assert_eq!(news.mend_clusters().unwrap(), 0);
    now.store(10, Ordering::Relaxed);
    assert_eq!(news.mend_clusters().unwrap(), 2);
    whole(&news);
    assert_eq!(centres(&news), ["1", "好1"]);
}

/// Assigning the members of a centre anew reads and writes documents of others: what they write meanwhile stays.
#[test]
fn assigning_anew_undoes_nobodys_write() {
    let news = collection();
    let over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let centres = scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                news.assign(vec![numbered("a", 0)]).unwrap();
                news.remove(&["a"]).unwrap();
            }
        });
        let owners: Vec<_> = (0..3_u64)
            .map(|owner| {
                let news = &news;
                scope.spawn(move || {
                    let id = format!("owner {owner}");
                    for round in 0..400 {
                        let title = Some(round.to_string());
                        news.assign(vec![Document { title: title.clone(), ..numbered(&id, 1 << owner) }])
                            .unwrap();
                        let stored =
                            news.get(&[&id], leitong_store::Want::Record).unwrap().pop().unwrap().unwrap();
                        assert_eq!(stored.unwrap().record.title, title, "of {id}");
                    }
                })
            })
            .collect();
        let outcomes: Vec<_> = owners.into_iter().map(|owner| owner.join()).collect();
        over.store(true, Ordering::Relaxed);
        centres.join().unwrap();
        assert!(outcomes.iter().all(Result::is_ok), "an acknowledged write was undone");
    });
}
