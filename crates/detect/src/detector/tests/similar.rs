//! Lists of similar documents: order, filters, several collections, pages while others write.

use super::*;
use crate::Recipe;
use crate::detector::{Cursor, CursorError, DetectError, Filter, SimilarOptions, Sort};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

fn dated(id: &str, simhash: u64, published: Option<i64>) -> Document {
    Document { published, ..numbered(id, simhash) }
}

fn ids(collection: &Collection, options: &SimilarOptions) -> Vec<String> {
    let page = collection.similar("0", options).unwrap();
    page.matches.into_iter().map(|found| found.id).collect()
}

#[test]
fn by_distance_and_by_date() {
    let news = collection();
    let batch = vec![
        dated("0", 0, None),
        dated("far", 0b111, Some(30)),
        dated("near", 0b1, Some(10)),
        dated("undated", 0b10, None),
        dated("equal", 0, Some(20)),
        dated("too far", 0b1111, Some(99)),
    ];
    add(&news, batch, When::Replace);
    let by = |sort| SimilarOptions { sort, ..SimilarOptions::default() };
    assert_eq!(ids(&news, &by(Sort::Distance)), ["equal", "near", "undated", "far"]);
    assert_eq!(ids(&news, &by(Sort::Newest)), ["far", "equal", "near", "undated"]);
    let closer = SimilarOptions { distance: Some(1), ..by(Sort::Newest) };
    assert_eq!(ids(&news, &closer), ["equal", "near", "undated"]);
    let dated = SimilarOptions { filter: Filter::parse("published").unwrap(), ..by(Sort::Distance) };
    assert_eq!(ids(&news, &dated), ["equal", "near", "far"]);
    assert!(matches!(news.similar("none", &dated), Err(DetectError::NoDocument { .. })));
}

#[test]
fn tokens_of_pages() {
    let news = collection();
    add(&news, (0..9).map(|i| dated(&i.to_string(), 0, Some(-i))).collect(), When::Replace);
    for sort in [Sort::Distance, Sort::Newest] {
        let first = SimilarOptions { sort, limit: 2, ..SimilarOptions::default() };
        let next = news.similar("0", &first).unwrap().next.unwrap();
        let read: Cursor = next.to_string().parse().unwrap();
        assert_eq!(read, next);
        let second = SimilarOptions { after: Some(read.clone()), ..first.clone() };
        assert_eq!(ids(&news, &second), ["3", "4"]);
        let refused = news.similar("1", &second).unwrap_err();
        assert!(matches!(refused, DetectError::Cursor(CursorError::OtherDocument)));
        let other = if sort == Sort::Newest { Sort::Distance } else { Sort::Newest };
        let refused = news.similar("0", &SimilarOptions { sort: other, ..second }).unwrap_err();
        assert!(matches!(refused, DetectError::Cursor(CursorError::OtherSort)));
    }
    for bad in [
        "",
        "d",
        "d-1-2-3-4",
        "d-1-2-3-4-zz",
        "n-1-2-3-4-5",
        "d-1-2-3-4-e",
        "d-1-200000000-0-0-61",
        "x-1",
        "n--+1-2-61",
    ] {
        assert_eq!(bad.parse::<Cursor>(), Err(CursorError::Syntax), "{bad}");
    }
}

#[test]
fn several_collections_of_one_recipe() {
    let detector = detector();
    let settings = CollectionSettings::default();
    let [a, b] = ["a", "b"].map(|name| detector.create(name, &settings).unwrap());
    detector.create("c", &CollectionSettings::new(Recipe::built_in("ik").unwrap())).unwrap();
    add(&a, vec![numbered("0", 0), numbered("1", 1)], When::Replace);
    add(&b, vec![numbered("0", 0), numbered("1", 1)], When::Replace);
    let of = |names: &[&str]| {
        let collections = names.iter().map(|name| (*name).to_owned()).collect();
        let page = a.similar("0", &SimilarOptions { collections, ..SimilarOptions::default() })?;
        Ok(page.matches.into_iter().map(|found| found.collection + &found.id).collect::<Vec<_>>())
    };
    // Its own collection does not show the document itself; another does show one that has the same id there.
    assert_eq!(of(&["b", "a", "b"]).unwrap(), ["b0", "a1", "b1"]);
    assert_eq!(of(&["b"]).unwrap(), ["b0", "b1"]);
    assert!(matches!(of(&["a", "c"]), Err(DetectError::OtherRecipe { .. })));
    assert!(matches!(of(&["nowhere"]), Err(DetectError::Store(_))));
}

/// What others do between two pages.
#[derive(Clone, Debug)]
enum Write {
    Add(bool, u64, Option<i64>),
    Remove(bool, usize),
    Replace(bool, usize, u64, Option<i64>),
}

fn near() -> impl Strategy<Value = u64> {
    prop::sample::select(vec![0, 1, 2, 3, 5, 7, 0b1011, 0b1111])
}

fn date() -> impl Strategy<Value = Option<i64>> {
    prop::option::of(0i64..4)
}

fn writes() -> impl Strategy<Value = Vec<Write>> {
    let one = prop_oneof![
        (any::<bool>(), near(), date()).prop_map(|(which, simhash, date)| Write::Add(which, simhash, date)),
        (any::<bool>(), 0usize..30).prop_map(|(which, at)| Write::Remove(which, at)),
        (any::<bool>(), 0usize..30, near(), date())
            .prop_map(|(which, at, simhash, date)| Write::Replace(which, at, simhash, date)),
    ];
    prop::collection::vec(one, 0..4)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Nothing that stays unchanged is left out or shown twice, and the order is that of one long page.
    #[test]
    fn pages_are_stable(
        start in prop::collection::vec((any::<bool>(), near(), date()), 0..30),
        between in prop::collection::vec(writes(), 40),
        limit in 1usize..5,
        newest in any::<bool>(),
        filtered in any::<bool>(),
    ) {
        let detector = detector();
        let both = ["a", "b"].map(|name| detector.create(name, &CollectionSettings::default()).unwrap());
        add(&both[0], vec![numbered("0", 0)], When::Replace);
        let mut fresh = 0;
        let mut put = |which: bool, simhash, date| {
            fresh += 1;
            add(&both[usize::from(which)], vec![dated(&format!("d{fresh}"), simhash, date)], When::Replace);
        };
        start.iter().for_each(|(which, simhash, date)| put(*which, *simhash, *date));
        let mut options = SimilarOptions {
            sort: if newest { Sort::Newest } else { Sort::Distance },
            collections: vec!["a".into(), "b".into()],
            filter: if filtered { Filter::parse("published").unwrap() } else { Filter::default() },
            limit: 1000,
            ..SimilarOptions::default()
        };
        let key = |found: &crate::detector::Match| (found.collection.clone(), found.id.clone(), found.version);
        let before: Vec<_> = both[0].similar("0", &options).unwrap().matches.iter().map(key).collect();
        let mut shown = Vec::new();
        options.limit = limit;
        for writes in between.into_iter().chain(std::iter::repeat(Vec::new())) {
            let page = both[0].similar("0", &options).unwrap();
            prop_assert!(page.matches.len() == limit || page.next.is_none());
            shown.extend(page.matches.iter().map(key));
            options.after = page.next;
            if options.after.is_none() { break }
            for write in writes {
                match write {
                    Write::Add(which, simhash, date) => put(which, simhash, date),
                    Write::Remove(which, at) => { both[usize::from(which)].remove(&[&format!("d{at}")]).unwrap(); }
                    Write::Replace(which, at, simhash, date) => {
                        add(&both[usize::from(which)], vec![dated(&format!("d{at}"), simhash, date)], When::Replace);
                    }
                }
            }
        }
        options.limit = 1000;
        options.after = None;
        let after: BTreeSet<_> = both[0].similar("0", &options).unwrap().matches.iter().map(key).collect();
        let mut times = BTreeMap::new();
        shown.iter().for_each(|one| *times.entry(one.clone()).or_insert(0) += 1);
        prop_assert!(times.values().all(|&times| times == 1));
        let unchanged: Vec<_> = before.into_iter().filter(|one| after.contains(one)).collect();
        let shown: Vec<_> = shown.into_iter().filter(|one| unchanged.contains(one)).collect();
        prop_assert_eq!(shown, unchanged);
    }
}
