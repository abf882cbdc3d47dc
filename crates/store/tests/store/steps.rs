//! Random sequences of calls over few ids and few values, so that they meet each other.
//!
//! A step says what it means, not what it holds: versions, spaces and times are known only when it is taken.

use leitong_fingerprint::Fingerprint;
use leitong_store::{Collection, Key, Mark, Record, Space, SpaceSettings, Want};
use proptest::prelude::*;
use serde_json::{Map, json};

/// Few, and alike: prefixes of each other, and orders that bytes and languages see differently.
pub(crate) const IDS: [&str; 7] = ["a", "a-", "a/b", "ab", "A", "文", "\u{e9}"];
pub(crate) const NAMES: [&str; 2] = ["news", "news-2"];
/// Bits in which the fingerprints of one base may differ.
const FLIPS: u32 = 5;

#[derive(Clone, Debug)]
pub(crate) enum Step {
    Create {
        name: usize,
        shape: usize,
        about: u8,
    },
    Destroy {
        name: usize,
    },
    Collections,
    Add {
        name: usize,
        docs: Vec<(Doc, Rule)>,
    },
    Find {
        name: usize,
        questions: Vec<Question>,
    },
    Sources {
        name: usize,
        questions: Vec<(Vec<u32>, Origin, Option<usize>)>,
    },
    Remove {
        name: usize,
        ids: Vec<usize>,
    },
    Get {
        name: usize,
        ids: Vec<usize>,
        want: Want,
    },
    Scan {
        name: usize,
        after: Option<usize>,
        limit: usize,
        want: Want,
    },
    Count {
        name: usize,
    },
    Advance(i64),
    /// Close the store in good order and open it again, where that means something.
    Reopen,
    /// Whatever a store does now and then: flush, compact, merge. The number chooses.
    Maintain(u8),
}

/// A fingerprint: one of a few that are far from each other, with some bits flipped.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Print {
    base: u8,
    flips: u8,
}

impl Print {
    pub(crate) fn of_width(self, width: u32) -> Fingerprint {
        let base = u64::from(self.base).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut words = vec![base; width.div_ceil(64) as usize];
        // Spread over the width, so that they fall into different blocks of an index.
        for flip in (0..FLIPS).filter(|flip| self.flips >> flip & 1 == 1) {
            let bit = flip * (width - 1) / (FLIPS - 1);
            words[(bit / 64) as usize] ^= 1 << (bit % 64);
        }
        Fingerprint::from_words(width, &words)
    }
}

/// Where a document comes from.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Origin {
    /// It is the first.
    None,
    /// A number that need not be a version of anything.
    Number(u64),
    /// The present version of an id.
    Of(usize),
}

#[derive(Clone, Debug)]
pub(crate) struct Doc {
    pub(crate) id: usize,
    near: [Option<Print>; 2],
    keys: Vec<Key>,
    marks: Vec<u32>,
    pub(crate) origin: Origin,
    /// For how many seconds it lives.
    life: Option<i64>,
    /// Everything else.
    pub(crate) body: u8,
}

#[derive(Clone, Debug)]
pub(crate) enum Rule {
    Replace,
    New,
    /// The bits of `judged` say which of the candidates have been judged; the highest adds versions of nothing.
    Unless {
        asks: Vec<Ask>,
        judged: u8,
        limit: usize,
    },
}

#[derive(Clone, Debug)]
pub(crate) enum Ask {
    Near { space: u8, print: Print, within: u32 },
    Key(Key),
    Marks(Vec<u32>),
}

#[derive(Clone, Debug)]
pub(crate) struct Question {
    pub(crate) asks: Vec<Ask>,
    pub(crate) except: Option<usize>,
    /// Go on behind the last candidate that was seen in the collection, whatever became of it.
    pub(crate) go_on: bool,
    pub(crate) limit: usize,
}

/// The kinds of collections: most have 64 bits.
pub(crate) fn collection(name: usize, shape: usize, about: u8) -> Collection {
    let spaces: &[(u8, u32, u32)] = match shape {
        0 => &[(0, 64, 3), (1, 64, 2)],
        1 => &[(0, 64, 3)],
        _ => &[(0, 128, 3), (1, 32, 2)],
    };
    let settings = |&(space, width, within): &_| SpaceSettings { space: Space(space), width, within };
    Collection {
        name: NAMES[name].into(),
        recipe: [shape as u8; 16],
        about: format!("about {about}"),
        spaces: spaces.iter().map(settings).collect(),
    }
}

impl Doc {
    /// The record as it is in a collection with these spaces at this time.
    pub(crate) fn record(&self, spaces: &[SpaceSettings], now: i64) -> Record {
        let mut record = details(self.body);
        record.id = IDS[self.id].into();
        record.expires = self.life.map(|life| now + life);
        record.signals.keys.clone_from(&self.keys);
        let marks = (0..).step_by(3).zip(&self.marks).map(|(at, &hash)| Mark { hash, at });
        record.signals.outline.marks = marks.collect();
        for settings in spaces {
            let print = self.near[usize::from(settings.space.0)];
            record.signals.near.extend(print.map(|print| (settings.space, print.of_width(settings.width))));
        }
        record
    }
}

/// All that a store keeps and does not look at, with and without each.
fn details(body: u8) -> Record {
    let has = |bit: u32| body >> bit & 1 == 1;
    let mut record = Record::default();
    record.signals.exact = has(0).then_some(u128::MAX / 255 * u128::from(body));
    record.title = has(1).then(|| format!("标题 {body}"));
    record.source = has(2).then(String::new);
    record.published = has(3).then(|| i64::from(body) - 200);
    record.cluster = has(4).then(|| ("中心/\0".into(), u32::from(body)));
    if has(5) {
        let nested = json!({"z": [null, true, -0.5, u64::MAX], "a": {"": "\u{1f600}\n"}});
        record.metadata = Map::from_iter([("来源".into(), nested), ("n".into(), json!(body))]);
    }
    if has(7) {
        record.signals.outline.units = u32::from(body);
        record.signals.outline.numbers = vec![u64::MAX, body.into()];
    }
    record.text = has(6).then(|| "正文 \0 text\n".repeat(usize::from(body % 7)));
    record
}

/// A sequence of up to `most` steps, which begins with a collection.
pub(crate) fn steps(most: usize) -> impl Strategy<Value = Vec<Step>> {
    let first = (0..3_usize).prop_map(|shape| Step::Create { name: 0, shape, about: 0 });
    (first, prop::collection::vec(step(), most / 3..most)).prop_map(|(first, mut rest)| {
        rest.insert(0, first);
        rest
    })
}

fn step() -> impl Strategy<Value = Step> {
    let name = || prop_oneof![5 => Just(0_usize), 1 => Just(1)];
    let ids = || prop::collection::vec(0..IDS.len(), 0..4);
    prop_oneof![
        24 => (name(), additions()).prop_map(|(name, docs)| Step::Add { name, docs }),
        12 => (name(), prop::collection::vec(question(), 0..4)).prop_map(|(name, questions)| Step::Find { name, questions }),
        4 => (name(), prop::collection::vec((marks(), origin(), prop::option::of(0..IDS.len())), 0..3))
            .prop_map(|(name, questions)| Step::Sources { name, questions }),
        4 => (name(), ids()).prop_map(|(name, ids)| Step::Remove { name, ids }),
        3 => (name(), ids(), want()).prop_map(|(name, ids, want)| Step::Get { name, ids, want }),
        3 => (name(), prop::option::of(0..IDS.len()), 0..5_usize, want())
            .prop_map(|(name, after, limit, want)| Step::Scan { name, after, limit, want }),
        2 => name().prop_map(|name| Step::Count { name }),
        1 => Just(Step::Collections),
        2 => (name(), 0..3_usize, 0..3_u8).prop_map(|(name, shape, about)| Step::Create { name, shape, about }),
        1 => name().prop_map(|name| Step::Destroy { name }),
        3 => (0..4_i64).prop_map(Step::Advance),
        2 => Just(Step::Reopen),
        2 => any::<u8>().prop_map(Step::Maintain),
    ]
}

fn additions() -> impl Strategy<Value = Vec<(Doc, Rule)>> {
    prop::collection::vec((doc(), rule()), 1..5)
}

fn print() -> impl Strategy<Value = Print> {
    (0..2_u8, 0..1_u8 << FLIPS).prop_map(|(base, flips)| Print { base, flips })
}

fn key() -> impl Strategy<Value = Key> {
    (0..2_u8, prop_oneof![Just(0), Just(1), Just(u64::MAX)]).prop_map(|(kind, value)| Key { kind, value })
}

/// Few, so that many documents have the same, now and then one twice, and one that is rare.
fn marks() -> impl Strategy<Value = Vec<u32>> {
    let mark = prop_oneof![6 => 0..5_u32, 3 => 5..40_u32, 1 => Just(u32::MAX)];
    prop_oneof![1 => Just(Vec::new()), 4 => prop::collection::vec(mark, 0..9)]
}

fn origin() -> impl Strategy<Value = Origin> {
    prop_oneof![
        2 => Just(Origin::None),
        1 => (0..3_u64).prop_map(Origin::Number),
        1 => (0..IDS.len()).prop_map(Origin::Of),
    ]
}

fn want() -> impl Strategy<Value = Want> {
    prop_oneof![Just(Want::Record), Just(Want::Outline), Just(Want::Text)]
}

fn doc() -> impl Strategy<Value = Doc> {
    let near = [prop::option::weighted(0.8, print()), prop::option::weighted(0.3, print())];
    let life = prop::option::weighted(0.3, 0..8_i64);
    (0..IDS.len(), near, prop::collection::vec(key(), 0..3), (marks(), origin()), life, any::<u8>()).prop_map(
        |(id, near, keys, (marks, origin), life, body)| Doc { id, near, keys, marks, origin, life, body },
    )
}

fn asks() -> impl Strategy<Value = Vec<Ask>> {
    // The second space of every collection reaches to 2, the first to 3.
    let near =
        (prop_oneof![4 => Just(0_u8), 1 => Just(1)], print(), prop_oneof![1 => 0..=2_u32, 2 => Just(3)])
            .prop_map(|(space, print, within)| Ask::Near {
                space,
                print,
                within: within.min(3 - u32::from(space)),
            });
    prop::collection::vec(
        prop_oneof![3 => near, 1 => key().prop_map(Ask::Key), 2 => marks().prop_map(Ask::Marks)],
        0..6,
    )
}

fn rule() -> impl Strategy<Value = Rule> {
    prop_oneof![
        1 => Just(Rule::Replace),
        1 => Just(Rule::New),
        3 => (asks(), any::<u8>(), 0..4_usize).prop_map(|(asks, judged, limit)| Rule::Unless { asks, judged, limit }),
    ]
}

fn question() -> impl Strategy<Value = Question> {
    let limit = prop_oneof![3 => 0..4_usize, 1 => Just(usize::MAX)];
    (asks(), prop::option::weighted(0.3, 0..IDS.len()), prop::bool::weighted(0.3), limit)
        .prop_map(|(asks, except, go_on, limit)| Question { asks, except, go_on, limit })
}

/// Some of the marks a step can have, together and alone.
pub(crate) fn all_marks() -> impl Iterator<Item = Vec<u32>> {
    (0..40).chain([u32::MAX]).map(|mark| vec![mark]).chain([vec![0, 1], (0..4).collect(), (0..40).collect()])
}

/// Every fingerprint a step can have.
pub(crate) fn all_prints() -> impl Iterator<Item = Print> {
    (0..2).flat_map(|base| (0..1 << FLIPS).map(move |flips| Print { base, flips }))
}

/// Every key a step can have.
pub(crate) fn all_keys() -> impl Iterator<Item = Key> {
    (0..2).flat_map(|kind| [0, 1, u64::MAX].map(|value| Key { kind, value }))
}
