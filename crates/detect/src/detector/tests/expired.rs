//! A centre that has expired leaves nothing to whoever is stored under its id.

use super::clusters::{centres, members, whole};
use super::*;
use leitong_store::{Addition, Clock, Policy, Record, Space};
use proptest::prelude::*;
use std::sync::atomic::{AtomicI64, Ordering};

/// A collection and its clock.
fn timed() -> (Collection, Arc<AtomicI64>) {
    let now = Arc::new(AtomicI64::new(0));
    let clock = Arc::clone(&now);
    let store = Memory::new(Clock::new(move || clock.load(Ordering::Relaxed)));
    (Detector::new(Arc::new(store)).create("news", &CollectionSettings::default()).unwrap(), now)
}

const UNRELATED: u64 = 0xffff_0000;

/// `x` was a centre with one member, and has expired.
fn orphaned() -> Collection {
    let (news, now) = timed();
    let centre = Document { expires: Some(2), ..numbered("x", 0) };
    news.assign(vec![centre, numbered("m", 1)]).unwrap();
    assert_eq!(members(&news, "x"), ["x", "m"]);
    now.store(3, Ordering::Relaxed);
    news
}

#[test]
fn assigned_again() {
    let news = orphaned();
    news.assign(vec![numbered("x", UNRELATED)]).unwrap();
    assert_eq!(members(&news, "x"), ["x"]);
    assert_eq!(centres(&news), ["m", "x"]);
    whole(&news);
}

#[test]
fn assigned_again_as_the_same_keeps_its_members() {
    let news = orphaned();
    let before = news.get(&["m"], leitong_store::Want::Record).unwrap().pop().unwrap().unwrap().unwrap();
    news.assign(vec![numbered("x", 0)]).unwrap();
    assert_eq!(members(&news, "x"), ["m", "x"]);
    let after = news.get(&["m"], leitong_store::Want::Record).unwrap().pop().unwrap().unwrap().unwrap();
    assert_eq!(before, after, "what fits is not written again");
    whole(&news);
}

#[test]
fn assigned_again_as_a_member() {
    let news = orphaned();
    news.assign(vec![numbered("y", UNRELATED), numbered("x", UNRELATED)]).unwrap();
    assert_eq!(centres(&news), ["m", "y"]);
    whole(&news);
}

#[test]
fn added_again() {
    for when in [When::Replace, When::New, When::UnlessDuplicate] {
        let news = orphaned();
        assert_eq!(add(&news, vec![numbered("x", UNRELATED)], when), [true]);
        assert_eq!(centres(&news), ["m"], "{when:?}");
        assert_eq!(members(&news, "x"), [""; 0], "{when:?}");
    }
}

#[test]
fn imported_again() {
    let news = orphaned();
    let recipe = news.recipe_digest();
    let line = format!(
        r#"{{"id":"x","recipe":"{recipe}","simhash":"{UNRELATED:016x}","cluster":{{"centre":"x","distance":0}}}}"#
    );
    news.import(&mut line.as_bytes(), &mut |line, error| panic!("{line}: {error}"), &mut |_| {}).unwrap();
    assert_eq!(centres(&news), ["m", "x"]);
    whole(&news);
}

#[test]
fn removed_although_it_is_gone() {
    let news = orphaned();
    news.remove(&["x"]).unwrap();
    assert_eq!(centres(&news), ["m"]);
    whole(&news);
}

/// A record straight into the store, as a program that ended in between leaves it.
fn store(news: &Collection, id: &str, simhash: u64, cluster: (&str, u32)) {
    let signals = crate::detector::signals::signals_of(Some(Fingerprint::from(simhash)), None);
    let mut record = Record { id: id.into(), signals, ..Record::default() };
    crate::detector::signals::set_cluster(&mut record, Some((cluster.0.into(), cluster.1)));
    news.detector().store().add("news", vec![Addition::new(record, Policy::Replace)]).unwrap();
}

#[test]
fn mending_sees_members_that_do_not_fit() {
    let news = collection();
    store(&news, "x", UNRELATED, ("x", 0));
    store(&news, "m", 0, ("x", 1));
    store(&news, "n", UNRELATED | 1, ("x", 2));
    assert_eq!(news.mend_clusters().unwrap(), 1);
    assert_eq!(centres(&news), ["m", "x"]);
    whole(&news);
    assert_eq!(news.mend_clusters().unwrap(), 0);
}

#[test]
fn mending_leaves_short_texts_alone() {
    let news = collection();
    let texts = [("a", "好"), ("b", "好！"), ("c", "——"), ("d", "——")];
    news.assign(texts.map(|(id, text)| Document::new(id, text)).into()).unwrap();
    assert_eq!(news.mend_clusters().unwrap(), 0);
    assert_eq!(members(&news, "a"), ["a", "b"]);
}

/// A record that is found as a centre and is none, which an import can bring: nobody joins it, and nobody waits for it.
#[test]
fn who_is_only_found_as_a_centre_gets_no_members() {
    let news = collection();
    let near = |fingerprint: u64| (Space::CENTRES, Fingerprint::from(fingerprint));
    let mut none = Record { id: "none".into(), ..Record::default() };
    none.signals.near.push(near(0));
    let mut other = Record { id: "other".into(), ..Record::default() };
    other.signals = crate::detector::signals::signals_of(Some(Fingerprint::from(UNRELATED)), None);
    crate::detector::signals::set_cluster(&mut other, Some(("other".into(), 0)));
    other.signals.near = vec![(Space::DOCUMENTS, Fingerprint::from(UNRELATED)), near(1)];
    let additions = [none, other].map(|record| Addition::new(record, Policy::Replace));
    news.detector().store().add("news", additions.into()).unwrap();
    let assigned = news.assign(vec![numbered("0", 0), numbered("1", 0)]).unwrap();
    let assigned: Vec<_> = assigned.into_iter().map(|one| one.unwrap().centre).collect();
    assert_eq!(assigned, ["0", "0"]);
}

/// Every member of a listed cluster is as far from the centre as it says.
fn no_strangers(news: &Collection) {
    let simhash = |id: &str| {
        let stored = news.get(&[id], leitong_store::Want::Record).unwrap().pop().unwrap().unwrap().unwrap();
        stored.record.signals.near(Space::DOCUMENTS).cloned().unwrap()
    };
    for centre in centres(news) {
        for member in news.members(&centre, None, 1000).unwrap() {
            let distance = simhash(&member.id).distance(&simhash(&centre));
            assert_eq!(distance, Ok(member.distance), "{} and {centre}", member.id);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    /// Whatever expires meanwhile and is stored again: nobody is shown in a cluster by mistake, and mending mends all.
    #[test]
    fn whatever_expires_leaves_no_strangers(
        batches in prop::collection::vec(prop::collection::vec((0u8..12, 0u64..128, 1i64..6), 1..8), 1..8)
    ) {
        let (news, now) = timed();
        for (time, batch) in (0..).zip(batches) {
            now.store(time, Ordering::Relaxed);
            let document = |(id, simhash, lives): (u8, u64, i64)| {
                let expires = (lives < 4).then_some(time + lives);
                Document { expires, ..numbered(&id.to_string(), simhash) }
            };
            news.assign(batch.into_iter().map(document).collect()).unwrap();
            no_strangers(&news);
        }
        news.mend_clusters().unwrap();
        whole(&news);
        prop_assert_eq!(news.mend_clusters().unwrap(), 0);
    }
}
