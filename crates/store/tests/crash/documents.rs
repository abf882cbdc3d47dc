//! Documents that are made of an id and a number: whoever knows these two knows everything that must be stored.

use crate::Random;
use leitong_fingerprint::Fingerprint;
use leitong_store::{Collection, Key, Mark, Outline, Probe, Record, Signals, Space, SpaceSettings};
use serde_json::{Map, json};

pub(crate) const NAME: &str = "documents";
/// How far a contested document looks for others.
pub(crate) const PROBED: u32 = 3;
/// From how near on it is their duplicate.
pub(crate) const DUPLICATE: u32 = 1;
/// The key that all documents have: a long list.
pub(crate) const COMMON: Key = Key { kind: 3, value: 0 };
/// Ids that start so are added by all threads; all others belong to one.
const CONTESTED: &str = "contested";

/// An id, and the number that everything else is made of.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Doc {
    pub(crate) id: String,
    pub(crate) seed: u64,
}

/// How large texts are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Size {
    None = 0,
    Short = 1,
    Page = 2,
    Book = 3,
    Tome = 4,
}

/// A seed that none has had: size of the text, the time it expires (0: never), and chance.
pub(crate) fn new_seed(random: &mut Random, size: Size, expires: u16) -> u64 {
    random.next() & !0xff_ffff | u64::from(expires) << 8 | size as u64
}

pub(crate) fn expires(seed: u64) -> Option<i64> {
    let time = (seed >> 8 & 0xffff) as i64;
    (time > 0).then_some(time)
}

pub(crate) fn contested(number: u64) -> String {
    format!("{CONTESTED}-{number}")
}

pub(crate) fn is_contested(id: &str) -> bool {
    id.starts_with(CONTESTED)
}

pub(crate) fn collection() -> Collection {
    let spaces = vec![
        SpaceSettings { space: Space::DOCUMENTS, width: 64, within: PROBED },
        SpaceSettings { space: Space::CENTRES, width: 128, within: PROBED },
    ];
    Collection { name: NAME.into(), recipe: [5; 16], about: "crash tests".into(), spaces }
}

impl Doc {
    /// Contested documents are all near each other, others far from everything.
    pub(crate) fn print(&self) -> u64 {
        let mixed = Random::new(self.seed).next();
        if is_contested(&self.id) { 0x0123_4567_89ab_cdef ^ (mixed & 0x3f) } else { mixed }
    }

    fn signals(&self) -> Signals {
        let mut random = Random::new(self.seed ^ 0x5164);
        let mut near = vec![(Space::DOCUMENTS, Fingerprint::from(self.print()))];
        if random.one_in(3) {
            near.push((Space::CENTRES, Fingerprint::from_words(128, &[random.next(), random.next()])));
        }
        // Of one kind each has its own, of the next some have the same, and the last they all have.
        let mut keys: Vec<Key> =
            (0..random.below(4)).map(|_| Key { kind: 1, value: random.next() }).collect();
        keys.push(Key { kind: 2, value: random.below(40) });
        keys.push(COMMON);
        let exact = Some(u128::from(random.next()) << 64 | 1);
        Signals { near, keys, exact, outline: self.outline() }
    }

    /// Most have marks: some of their own, and some that many have.
    fn outline(&self) -> Outline {
        let mut random = Random::new(self.seed ^ 0x3a9c);
        if random.one_in(4) {
            return Outline::default();
        }
        let mut marks: Vec<u32> = (0..8 + random.below(8)).map(|_| random.next() as u32 | 1 << 31).collect();
        marks.extend((0..6).map(|_| random.below(30) as u32));
        let marks = (0..).step_by(3).zip(marks).map(|(at, hash)| Mark { hash, at }).collect();
        Outline { marks, units: 100, numbers: (0..random.below(3)).map(|_| random.next()).collect() }
    }

    /// The marks by their hashes.
    pub(crate) fn marks(&self) -> Vec<u32> {
        self.outline().hashes()
    }

    pub(crate) fn record(&self) -> Record {
        let mut random = Random::new(self.seed ^ 0x5eed);
        let mut metadata = Map::new();
        metadata.insert("seed".into(), json!(self.seed));
        metadata.insert("note".into(), json!(words(&mut random, 20)));
        Record {
            id: self.id.clone(),
            signals: self.signals(),
            title: random.one_in(2).then(|| words(&mut random, 10)),
            source: random.one_in(2).then(|| "a feed".into()),
            published: random.one_in(2).then(|| random.below(1 << 40) as i64),
            expires: expires(self.seed),
            cluster: random.one_in(4).then(|| (self.id.clone(), 0)),
            origin: random.one_in(3).then(|| random.below(5)),
            metadata,
            text: text(&mut random, self.seed),
        }
    }

    /// What finds it: its fingerprints as they are, its keys but the common one, and its marks.
    pub(crate) fn probes(&self) -> Vec<Probe> {
        let signals = self.signals();
        let exactly = |(space, fingerprint)| Probe::Near { space, fingerprint, within: 0 };
        let keys = signals.keys.into_iter().filter(|key| *key != COMMON).map(Probe::Key);
        let marks = Some(self.marks()).filter(|marks| !marks.is_empty()).map(Probe::Marks);
        signals.near.into_iter().map(exactly).chain(keys).chain(marks).collect()
    }
}

/// The document that a record was made of, if it says so.
pub(crate) fn of_record(record: &Record) -> Option<Doc> {
    Some(Doc { id: record.id.clone(), seed: record.metadata.get("seed")?.as_u64()? })
}

fn text(random: &mut Random, seed: u64) -> Option<String> {
    let chars = match seed & 7 {
        0 => return None,
        1 => random.below(100),
        2 => 200 + random.below(1000),
        3 => 5_000 + random.below(15_000),
        _ => 280_000 + random.below(50_000),
    };
    Some(words(random, chars))
}

/// Chinese characters by chance, which hardly shrink.
fn words(random: &mut Random, chars: u64) -> String {
    (0..chars).map(|_| char::from_u32(0x4e00 + random.below(20_000) as u32).unwrap()).collect()
}
