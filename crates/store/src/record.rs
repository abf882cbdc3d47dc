//! What a store keeps of a document.

use crate::seam::{Addition, Policy, Probe};
use crate::{StoreError, near};
use leitong_fingerprint::Fingerprint;
use serde_json::{Map, Value};

/// Most bytes of an id.
pub const MOST_ID: usize = 1024;
/// Most bytes of a title, a source, or metadata written as JSON.
pub const MOST_FIELD: usize = 1 << 20;
/// Most levels of metadata inside each other: what is written must be readable again.
pub const MOST_DEPTH: usize = 100;
/// Most bytes of a text.
pub const MOST_TEXT: usize = 1 << 30;
/// Most bytes of an outline, eight for each mark and each number.
pub const MOST_OUTLINE: usize = 16 << 20;

/// A set of fingerprints of one width that is searched by distance. A record has at most one fingerprint in each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Space(pub u8);

impl Space {
    /// The SimHash of every document that has one.
    pub const DOCUMENTS: Self = Self(0);
    /// The SimHash of the documents that are centres of clusters.
    pub const CENTRES: Self = Self(1);
}

/// A value that is looked up as it is: a digest, a band, a mark, the name of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// What it is a value of. Stores do not know; keys of different kinds are never equal.
    pub kind: u8,
    /// The value.
    pub value: u64,
}

/// A run of units of the text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Mark {
    /// The hash of its units.
    pub hash: u32,
    /// The number of the unit it begins with.
    pub at: u32,
}

/// Runs of the text that stand for all of it: who has some of them in common with another may have copied from it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outline {
    /// In order of `at`. A record without one cannot be found by marks.
    pub marks: Vec<Mark>,
    /// How many units the text has.
    pub units: u32,
    /// The numbers that stand in the text, for whoever judges; nothing is found by them.
    pub numbers: Vec<u64>,
}

impl Outline {
    /// The hashes of the marks, each once, in order.
    #[must_use]
    pub fn hashes(&self) -> Vec<u32> {
        distinct(self.marks.iter().map(|mark| mark.hash).collect())
    }

    /// Whether there is nothing in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Each once, in order.
pub(crate) fn distinct(mut hashes: Vec<u32>) -> Vec<u32> {
    hashes.sort_unstable();
    hashes.dedup();
    hashes
}

/// What a record can be found by.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Signals {
    /// Fingerprints that are found by distance.
    pub near: Vec<(Space, Fingerprint)>,
    /// Values that are found by being equal.
    pub keys: Vec<Key>,
    /// Digest of the normalised text, for whoever judges; nothing is found by it.
    pub exact: Option<u128>,
    /// Marks, and what else is known of the text's course.
    pub outline: Outline,
}

impl Signals {
    /// The fingerprint in a space.
    #[must_use]
    pub fn near(&self, space: Space) -> Option<&Fingerprint> {
        self.near.iter().find(|(own, _)| *own == space).map(|(_, fingerprint)| fingerprint)
    }
}

/// A document as it is stored.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Record {
    /// Its id: any string of 1 to [`MOST_ID`] bytes.
    pub id: String,
    /// What it can be found by, made by the recipe of its collection.
    pub signals: Signals,
    /// Its title.
    pub title: Option<String>,
    /// Where it comes from: a site, a feed, an author.
    pub source: Option<String>,
    /// When it was published, in seconds since 1970.
    pub published: Option<i64>,
    /// From when on it is no longer there, in seconds since 1970.
    pub expires: Option<i64>,
    /// The cluster it belongs to: the id of the centre, and the distance from it.
    pub cluster: Option<(String, u32)>,
    /// The version of the first of the group of copies it belongs to; none if it is the first itself.
    pub origin: Option<u64>,
    /// Whatever else its owner wants to know of it.
    pub metadata: Map<String, Value>,
    /// Its text, where the collection keeps texts.
    pub text: Option<String>,
}

impl Record {
    /// Whether a store can take it. Stores refuse a whole call for one bad record, so callers ask before.
    pub fn validate(&self) -> Result<(), StoreError> {
        validate_id(&self.id)?;
        let field = |what, bytes: usize, most| match bytes <= most {
            true => Ok(()),
            false => Err(StoreError::TooLong { what, bytes, most }),
        };
        let spaces = self.signals.near.iter().map(|(space, _)| *space);
        if let Some(space) = repeated(spaces) {
            return Err(StoreError::Twice { space });
        }
        field("title", self.title.as_ref().map_or(0, String::len), MOST_FIELD)?;
        field("source", self.source.as_ref().map_or(0, String::len), MOST_FIELD)?;
        field("text", self.text.as_ref().map_or(0, String::len), MOST_TEXT)?;
        let Outline { marks, numbers, .. } = &self.signals.outline;
        field("outline", 8 * (marks.len() + numbers.len()), MOST_OUTLINE)?;
        if !self.metadata.is_empty() {
            if self.metadata.values().any(|value| deeper_than(value, MOST_DEPTH)) {
                return Err(StoreError::TooDeep { most: MOST_DEPTH });
            }
            let json = serde_json::to_vec(&self.metadata).map_or(0, |json| json.len());
            field("metadata", json, MOST_FIELD)?;
        }
        self.cluster.as_ref().map_or(Ok(()), |(centre, _)| validate_id(centre))
    }
}

fn deeper_than(value: &Value, levels: usize) -> bool {
    match value {
        Value::Array(list) => levels == 0 || list.iter().any(|value| deeper_than(value, levels - 1)),
        Value::Object(map) => levels == 0 || map.values().any(|value| deeper_than(value, levels - 1)),
        _ => false,
    }
}

/// A space that comes twice.
fn repeated(mut spaces: impl Iterator<Item = Space>) -> Option<Space> {
    let mut seen = Vec::new();
    spaces.find(|space| {
        seen.contains(space) || {
            seen.push(*space);
            false
        }
    })
}

/// Whether a string can be an id.
pub fn validate_id(id: &str) -> Result<(), StoreError> {
    match id.len() {
        0 => Err(StoreError::EmptyId),
        bytes if bytes > MOST_ID => Err(StoreError::TooLong { what: "id", bytes, most: MOST_ID }),
        _ => Ok(()),
    }
}

/// A record as a store gives it back.
#[derive(Clone, Debug, PartialEq)]
pub struct Stored {
    /// Grows with every record stored in the collection; a replaced record has a new one.
    pub version: u64,
    /// The record; its outline and its text only where they were asked for.
    pub record: Record,
}

/// A name space with a recipe of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collection {
    /// Its name: 1 to 255 bytes.
    pub name: String,
    /// Digest of the recipe its signals are made by.
    pub recipe: [u8; 16],
    /// Recipe and settings as whoever made it wrote them. Stores do not read it.
    pub about: String,
    /// The spaces its records may have fingerprints in.
    pub spaces: Vec<SpaceSettings>,
}

/// What a space of a collection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpaceSettings {
    /// Which.
    pub space: Space,
    /// Width of its fingerprints in bits.
    pub width: u32,
    /// The largest distance that can be asked for.
    pub within: u32,
}

impl Collection {
    /// Whether a store can take it.
    pub fn validate(&self) -> Result<(), StoreError> {
        match self.name.len() {
            0 => return Err(StoreError::EmptyId),
            bytes if bytes > 255 => {
                return Err(StoreError::TooLong { what: "name of a collection", bytes, most: 255 });
            }
            _ => {}
        }
        if let Some(space) = repeated(self.spaces.iter().map(|settings| settings.space)) {
            return Err(StoreError::Twice { space });
        }
        let known = |width| leitong_fingerprint::bits::WIDTHS.contains(&width);
        self.spaces.iter().try_for_each(|&SpaceSettings { space, width, within }| {
            if !known(width) {
                return Err(StoreError::Width { space, expected: 64, found: width });
            }
            if within >= width / 2 { Err(StoreError::Senseless { width, within }) } else { Ok(()) }
        })
    }

    /// Whether it may be taken for another: everything but `about` must be the same.
    pub(crate) fn same(&self, asked: &Self) -> Result<(), StoreError> {
        if (self.recipe, &self.spaces) == (asked.recipe, &asked.spaces) {
            return Ok(());
        }
        let describe = |collection: &Self| {
            let recipe: String = collection.recipe.iter().map(|byte| format!("{byte:02x}")).collect();
            let space = |space: &SpaceSettings| format!("{} bits within {}", space.width, space.within);
            let spaces: Vec<String> = collection.spaces.iter().map(space).collect();
            format!("recipe {recipe} ({})", spaces.join(", "))
        };
        let (stored, asked) = (describe(self), describe(asked));
        Err(StoreError::OtherCollection { name: self.name.clone(), stored, asked })
    }

    /// Whether a record and its policy fit: asked of all before the first is stored, so that a call with a bad one changes nothing.
    pub(crate) fn check_addition(&self, addition: &Addition) -> Result<(), StoreError> {
        for (space, fingerprint) in &addition.record.signals.near {
            near::check_width(self.space(*space)?, fingerprint)?;
        }
        match &addition.policy {
            Policy::Unless { probes, .. } => self.check_probes(probes),
            Policy::Replace | Policy::New => Ok(()),
        }
    }

    /// Whether probes fit.
    pub(crate) fn check_probes(&self, probes: &[Probe]) -> Result<(), StoreError> {
        probes.iter().try_for_each(|probe| match probe {
            Probe::Near { space, fingerprint, within } => {
                near::check_search(self.space(*space)?, fingerprint, *within)
            }
            Probe::Key(_) | Probe::Marks(_) => Ok(()),
        })
    }

    /// The settings of a space.
    pub fn space(&self, space: Space) -> Result<&SpaceSettings, StoreError> {
        let own = self.spaces.iter().find(|settings| settings.space == space);
        own.ok_or_else(|| StoreError::NoSpace { collection: self.name.clone(), space })
    }
}
