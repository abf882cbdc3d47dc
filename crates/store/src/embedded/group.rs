//! One group of changes: staged in order, written together, then shown to readers.

use super::engine::Read;
use super::find::{Open, has_expired};
use super::layout::{self, Tree};
use super::outlines::{Asked, Pending};
use super::postings;
use super::stage::Stage;
use crate::codec::{self, Counters};
use crate::near;
use crate::rank::Hits;
use crate::record::{Collection, Key, Record, Space};
use crate::seam::{Added, Addition, Found, Policy, Probe, Query};
use crate::{Clock, Scoring, StoreError};
use leitong_fingerprint::Fingerprint;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;

/// Entries of a destroyed collection that are removed at a time, and expired records.
const SWEPT: usize = 1000;

/// An addition with everything done that does not need the writer.
pub(super) struct Prepared {
    id: String,
    expires: Option<i64>,
    near: Vec<(Space, Fingerprint)>,
    origin: Option<u64>,
    /// Each once, in order.
    marks: Vec<u32>,
    /// Each once.
    keys: Vec<Key>,
    policy: Policy,
    over: Option<u64>,
    record: Vec<u8>,
    text: Option<Vec<u8>>,
}

impl Prepared {
    pub(super) fn new(addition: Addition) -> Self {
        let Addition { record, mut policy, over } = addition;
        if let Policy::Unless { probes, judged, .. } = &mut policy {
            // What is in order already costs the writer little.
            judged.sort_unstable();
            probes.iter_mut().for_each(Probe::tidy);
        }
        Self {
            record: codec::record(&record),
            text: record.text.as_deref().map(codec::text),
            keys: distinct(&record),
            marks: record.signals.outline.hashes(),
            origin: record.origin,
            id: record.id,
            expires: record.expires,
            near: record.signals.near,
            policy,
            over,
        }
    }

    /// Bytes it will take, more or less.
    pub(super) fn bytes(&self) -> usize {
        self.record.len() + self.text.as_ref().map_or(0, Vec::len)
    }
}

/// The keys of a record, each once.
pub(super) fn distinct(record: &Record) -> Vec<Key> {
    let mut keys = record.signals.keys.clone();
    keys.sort_unstable();
    keys.dedup();
    keys
}

/// The collections as they will be when the group is written.
pub(super) type Collections = BTreeMap<String, Arc<Open>>;

/// What readers will see besides what is written.
pub(super) enum Effect {
    Insert(Arc<Open>, Space, u64, Fingerprint),
    /// Version, origin and marks.
    Outline(Arc<Open>, u64, u64, Vec<u32>),
    Delete(Arc<Open>, u64),
}

/// A group in the making.
pub(super) struct Group<'w> {
    pub(super) stage: Stage,
    pub(super) effects: Vec<Effect>,
    /// The effects on mark indexes, by collection.
    pub(super) pending: BTreeMap<u32, Pending>,
    pub(super) collections: Collections,
    /// The counters of all collections, kept by the writer.
    pub(super) counters: &'w mut HashMap<u32, Counters>,
    pub(super) clock: &'w Clock,
    pub(super) scoring: Scoring,
    /// The number of the commit it will be.
    pub(super) commit: u64,
}

impl Group<'_> {
    fn open(&self, name: &str) -> Result<Arc<Open>, StoreError> {
        let open = self.collections.get(name);
        open.cloned().ok_or_else(|| StoreError::NoCollection { name: name.to_owned() })
    }

    fn counters(&mut self, open: &Open) -> &mut Counters {
        self.counters.entry(open.number).or_default()
    }

    /// Writes the counters down if they have changed: a call that changes nothing needs no commit.
    fn note_counters(&mut self, open: &Open, before: Counters) {
        let counters = *self.counters(open);
        if counters != before {
            self.write_counters(open, counters);
        }
    }

    fn write_counters(&mut self, open: &Open, counters: Counters) {
        self.stage.put(Tree::Keys, layout::counters(open.number), counters.bytes());
    }

    pub(super) fn add(&mut self, collection: &str, additions: &[Prepared]) -> Result<Vec<Added>, StoreError> {
        let open = self.open(collection)?;
        for addition in additions {
            for (space, fingerprint) in &addition.near {
                near::check_width(open.about.space(*space)?, fingerprint)?;
            }
            if let Policy::Unless { probes, .. } = &addition.policy {
                open.about.check_probes(probes)?;
            }
        }
        let before = *self.counters(&open);
        let added = additions.iter().map(|addition| self.add_one(&open, addition)).collect();
        self.note_counters(&open, before);
        added
    }

    fn add_one(&mut self, open: &Arc<Open>, addition: &Prepared) -> Result<Added, StoreError> {
        let now = self.clock.now();
        let old = match open.version_of(&self.stage, &addition.id)? {
            Some(version) => Some((version, self.any_record(open, version)?)),
            None => None,
        };
        let live = old.as_ref().filter(|(_, record)| !has_expired(record, now)).map(|(version, _)| *version);
        if addition.over.is_some() && addition.over != live {
            return Ok(Added::Changed { version: live });
        }
        match &addition.policy {
            Policy::Replace => {}
            Policy::New => {
                if let Some(version) = live {
                    return Ok(Added::Exists { version });
                }
            }
            Policy::Unless { probes, judged, limit } => {
                let own = old.as_ref().map(|(version, _)| *version);
                let hits = self.hits(open, probes, own, now)?;
                let found = self.unjudged(open, hits, judged, &addition.id, *limit, now)?;
                if !found.candidates.is_empty() {
                    return Ok(Added::Unjudged(found));
                }
            }
        }
        if let Some((version, record)) = old {
            self.remove_version(open, version, &record)?;
        }
        let version = self.store(open, addition)?;
        Ok(Added::Stored { version, replaced: live })
    }

    /// What the probes of a document find, those stored earlier in this group included. `own` is its present version.
    fn hits(&self, open: &Open, probes: &[Probe], own: Option<u64>, now: i64) -> Result<Hits, StoreError> {
        let mut hits = open.near(&[probes])?.pop().unwrap_or_default();
        for probe in probes {
            let Probe::Near { space, fingerprint, within } = probe else { continue };
            for effect in &self.effects {
                if let Effect::Insert(owner, own, version, other) = effect
                    && (owner.number, own) == (open.number, space)
                    && let Ok(distance) = fingerprint.distance(other)
                    && distance <= *within
                {
                    hits.near(*version, distance);
                }
            }
        }
        open.keys(&self.stage, probes, &mut hits)?;
        let asked = Asked { own, now, pending: self.pending.get(&open.number) };
        open.find_marks(&self.stage, probes, &asked, &mut hits)?;
        Ok(hits)
    }

    /// Candidates that the caller has not judged; those that it has are in order.
    fn unjudged(
        &self,
        open: &Open,
        mut hits: Hits,
        judged: &[u64],
        id: &str,
        limit: usize,
        now: i64,
    ) -> Result<Found, StoreError> {
        let mut ranks = hits.ranks();
        if !ranks.is_empty() {
            ranks.retain(|rank| judged.binary_search(&rank.version).is_err());
        }
        let query = Query { except: Some(id.to_owned()), limit: limit.max(1), ..Query::default() };
        open.candidates(&self.stage, ranks, &query, now)
    }

    fn store(&mut self, open: &Arc<Open>, addition: &Prepared) -> Result<u64, StoreError> {
        let counters = self.counters(open);
        let version = counters.next;
        counters.next += 1;
        counters.documents += 1;
        let place = layout::version(open.number, version);
        self.stage.put(Tree::Records, place, &*addition.record);
        if let Some(text) = &addition.text {
            self.stage.put(Tree::Texts, place, &**text);
        }
        self.stage.put(Tree::Keys, layout::id(open.number, &addition.id), version.to_be_bytes());
        if let Some(expires) = addition.expires {
            self.stage.put(Tree::Keys, layout::expiry(open.number, expires, version), []);
        }
        for &key in &addition.keys {
            postings::insert(&mut self.stage, &layout::postings(open.number, key), version)?;
        }
        let insert = |(space, fingerprint): &(Space, Fingerprint)| {
            Effect::Insert(Arc::clone(open), *space, version, fingerprint.clone())
        };
        self.effects.extend(addition.near.iter().map(insert));
        if !addition.marks.is_empty() {
            self.outline(open, version, addition)?;
        }
        Ok(version)
    }

    fn outline(&mut self, open: &Arc<Open>, version: u64, addition: &Prepared) -> Result<(), StoreError> {
        // Before anything is written: an index that cannot be made must not stop the store.
        open.mark_index(self.stage.folder())?;
        self.counters(open).outlines = true;
        let origin = addition.origin.unwrap_or(version);
        self.pending.entry(open.number).or_default().insert(version, origin, &addition.marks);
        self.effects.push(Effect::Outline(Arc::clone(open), version, origin, addition.marks.clone()));
        Ok(())
    }

    pub(super) fn remove(
        &mut self,
        collection: &str,
        ids: &[String],
    ) -> Result<Vec<Option<u64>>, StoreError> {
        let open = self.open(collection)?;
        let before = *self.counters(&open);
        let now = self.clock.now();
        let mut removed = Vec::with_capacity(ids.len());
        for id in ids {
            let Some(version) = open.version_of(&self.stage, id)? else {
                removed.push(None);
                continue;
            };
            let record = self.any_record(&open, version)?;
            self.remove_version(&open, version, &record)?;
            removed.push((!has_expired(&record, now)).then_some(version));
        }
        self.note_counters(&open, before);
        Ok(removed)
    }

    /// A record that an id leads to, expired or not.
    fn any_record(&self, open: &Open, version: u64) -> Result<Record, StoreError> {
        open.record(&self.stage, version)?.ok_or_else(|| StoreError::Damaged {
            path: self.stage.folder().to_owned(),
            what: format!("version {version} of {:?} should be there and is not", open.about.name),
        })
    }

    fn remove_version(&mut self, open: &Arc<Open>, version: u64, record: &Record) -> Result<(), StoreError> {
        let counters = self.counters(open);
        counters.documents = counters.documents.saturating_sub(1);
        let place = layout::version(open.number, version);
        self.stage.delete(Tree::Records, place);
        self.stage.delete(Tree::Texts, place);
        self.stage.delete(Tree::Keys, layout::id(open.number, &record.id));
        if let Some(expires) = record.expires {
            self.stage.delete(Tree::Keys, layout::expiry(open.number, expires, version));
        }
        for key in distinct(record) {
            postings::remove(&mut self.stage, &layout::postings(open.number, key), version)?;
        }
        self.stage.put(Tree::Keys, layout::gone(open.number, version), self.commit.to_be_bytes());
        self.effects.push(Effect::Delete(Arc::clone(open), version));
        self.pending.entry(open.number).or_default().removed.push(version);
        // One that was stored in this very group must not be found by the next.
        self.effects.retain(|effect| match effect {
            Effect::Insert(owner, _, own, _) | Effect::Outline(owner, own, ..) => {
                (owner.number, *own) != (open.number, version)
            }
            Effect::Delete(..) => true,
        });
        Ok(())
    }

    /// Makes a collection; whether there was none.
    pub(super) fn create(&mut self, path: &Path, collection: Collection) -> Result<bool, StoreError> {
        if let Some(open) = self.collections.get(&collection.name) {
            return open.about.same(&collection).map(|()| false);
        }
        let number = self.stage.get(Tree::Keys, &layout::next_number())?;
        let number = number.and_then(|bytes| bytes.try_into().ok()).map_or(0, u32::from_be_bytes);
        let open = Open::create(path, number, collection, self.scoring)?;
        let (name, entry) = (&open.about.name, codec::collection(number, &open.about));
        self.stage.put(Tree::Keys, layout::next_number(), (number + 1).to_be_bytes());
        self.stage.put(Tree::Keys, layout::collection(name), entry);
        self.write_counters(&open, Counters::default());
        self.collections.insert(open.about.name.clone(), Arc::new(open));
        Ok(true)
    }

    /// Forgets a collection; its entries are erased bit by bit.
    pub(super) fn destroy(&mut self, name: &str) -> bool {
        let Some(open) = self.collections.remove(name) else { return false };
        self.stage.delete(Tree::Keys, layout::collection(name));
        self.stage.put(Tree::Keys, layout::destroyed(open.number), []);
        self.counters.remove(&open.number);
        true
    }

    /// Removes some of what has expired; whether there may be more.
    pub(super) fn sweep(&mut self) -> Result<bool, StoreError> {
        let now = self.clock.now();
        let mut more = false;
        let open: Vec<Arc<Open>> = self.collections.values().cloned().collect();
        for open in open {
            let mut expired = Vec::new();
            open.each_expired(&self.stage, now, &mut |version| {
                expired.push(version);
                expired.len() < SWEPT
            })?;
            let before = *self.counters(&open);
            for &version in &expired {
                let record = self.any_record(&open, version)?;
                self.remove_version(&open, version, &record)?;
            }
            self.note_counters(&open, before);
            more |= expired.len() == SWEPT;
        }
        Ok(more)
    }

    /// Removes some entries of a destroyed collection; whether there was something left.
    pub(super) fn erase(&mut self, number: u32) -> Result<bool, StoreError> {
        let keys = layout::prefixes(number).map(|prefix| (Tree::Keys, prefix));
        let versions = [Tree::Records, Tree::Texts].map(|tree| (tree, number.to_be_bytes().to_vec()));
        let any = self.erase_some(keys.into_iter().chain(versions))?;
        if !any {
            self.stage.delete(Tree::Keys, layout::destroyed(number));
        }
        Ok(any)
    }

    /// Removes some entries that start with the prefixes; whether there were any.
    pub(super) fn erase_some(
        &mut self,
        prefixes: impl Iterator<Item = (Tree, Vec<u8>)>,
    ) -> Result<bool, StoreError> {
        let mut found = Vec::new();
        for (tree, prefix) in prefixes {
            self.stage.scan(tree, &prefix, &prefix, &mut |key, _| {
                found.push((tree, key.to_vec()));
                Ok(found.len() < SWEPT)
            })?;
            if found.len() >= SWEPT {
                break;
            }
        }
        let any = !found.is_empty();
        found.into_iter().for_each(|(tree, key)| self.stage.delete(tree, key));
        Ok(any)
    }

    /// Forgets deletions that the indexes of a collection have written down: those of commits up to `commit`.
    pub(super) fn forget_gone(&mut self, number: u32, commit: u64) -> Result<bool, StoreError> {
        let mut known = Vec::new();
        let prefix = layout::all_gone(number);
        self.stage.scan(Tree::Keys, &prefix, &prefix, &mut |key, value| {
            if layout::last_number(value).is_some_and(|own| own <= commit) {
                known.push(key.to_vec());
            }
            Ok(true)
        })?;
        let any = !known.is_empty();
        known.into_iter().for_each(|key| self.stage.delete(Tree::Keys, key));
        Ok(any)
    }
}
