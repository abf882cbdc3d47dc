//! Finding candidates and reading records, at one moment.

use super::engine::Read;
use super::layout::{self, Tree};
use super::outlines::Common;
use super::postings;
use crate::codec;
use crate::near::Near;
use crate::rank::{self, Hits};
use crate::record::{Collection, Record, SpaceSettings, Stored};
use crate::seam::{Found, Probe, Query, Rank, Want};
use crate::{Scoring, StoreError};
use leitong_index::marks::MarkIndex;
use std::sync::OnceLock;

/// A collection that is open.
pub(super) struct Open {
    pub(super) number: u32,
    pub(super) about: Collection,
    pub(super) spaces: Vec<(SpaceSettings, Box<dyn Near>)>,
    /// From the first outline on.
    pub(super) marks: OnceLock<MarkIndex>,
    pub(super) common: Common,
    pub(super) scoring: Scoring,
}

impl Open {
    /// Lets the indexes write down everything up to a version, also that some have nothing there: what they do not know to
    /// have seen is read again at the next opening.
    pub(super) fn flush(&self, next: u64) -> Result<(), StoreError> {
        self.spaces.iter().try_for_each(|(_, index)| {
            index.skip_to(next)?;
            Ok::<(), StoreError>(index.flush()?)
        })?;
        self.marks.get().map_or(Ok(()), |index| {
            index.skip_to(next)?;
            Ok(index.flush()?)
        })
    }

    /// What the indexes find for each list of probes.
    pub(super) fn near(&self, probes: &[&[Probe]]) -> Result<Vec<Hits>, StoreError> {
        let mut hits: Vec<Hits> = Vec::new();
        hits.resize_with(probes.len(), Hits::default);
        for (settings, index) in &self.spaces {
            let mut searches = Vec::new();
            for (question, list) in probes.iter().enumerate() {
                for probe in *list {
                    if let Probe::Near { space, fingerprint, within } = probe
                        && *space == settings.space
                    {
                        searches.push((question, fingerprint, *within));
                    }
                }
            }
            if !searches.is_empty() {
                index.search(&searches, &mut |question, version, distance| {
                    hits[question].near(version, distance);
                })?;
            }
        }
        Ok(hits)
    }

    /// What the keys among the probes find.
    pub(super) fn keys(&self, read: &impl Read, probes: &[Probe], hits: &mut Hits) -> Result<(), StoreError> {
        for key in rank::distinct_keys(probes) {
            let head = layout::postings(self.number, key);
            postings::for_each(read, &head, &mut |version| hits.key(version))?;
        }
        Ok(())
    }

    /// The candidates of a query among those ranked.
    pub(super) fn candidates(
        &self,
        read: &impl Read,
        ranks: Vec<Rank>,
        query: &Query,
        now: i64,
    ) -> Result<Found, StoreError> {
        rank::page(ranks, query.after, query.limit, |version| {
            let record = self.record(read, version)?.filter(|record| !has_expired(record, now));
            Ok(record.filter(|record| query.except.as_ref() != Some(&record.id)))
        })
    }

    /// The record of a version without its outline, expired or not, unless it is gone.
    pub(super) fn record(&self, read: &impl Read, version: u64) -> Result<Option<Record>, StoreError> {
        let Some(bytes) = read.get(Tree::Records, &layout::version(self.number, version))? else {
            return Ok(None);
        };
        codec::parse_record(&bytes).map(Some).ok_or_else(|| self.damaged(read, version, "record"))
    }

    /// Calls `each` with the versions that have expired and have not been swept, until it says stop with `false`.
    pub(super) fn each_expired(
        &self,
        read: &impl Read,
        now: i64,
        each: &mut dyn FnMut(u64) -> bool,
    ) -> Result<(), StoreError> {
        let prefix = layout::expiries(self.number);
        let last = layout::expiry(self.number, now, u64::MAX);
        read.scan(Tree::Keys, &prefix, &prefix, &mut |key, _| {
            Ok(key <= last.as_slice() && layout::last_number(key).is_none_or(&mut *each))
        })
    }

    /// The version of an id, expired or not.
    pub(super) fn version_of(&self, read: &impl Read, id: &str) -> Result<Option<u64>, StoreError> {
        let Some(bytes) = read.get(Tree::Keys, &layout::id(self.number, id))? else { return Ok(None) };
        layout::last_number(&bytes).map(Some).ok_or_else(|| self.damaged(read, 0, "entry of an id"))
    }

    /// A record with its outline and its text if wanted.
    pub(super) fn stored(
        &self,
        read: &impl Read,
        version: u64,
        want: Want,
        now: i64,
    ) -> Result<Option<Stored>, StoreError> {
        let place = layout::version(self.number, version);
        let Some(bytes) = read.get(Tree::Records, &place)? else { return Ok(None) };
        let parse = if want == Want::Record { codec::parse_record } else { codec::parse_whole };
        let mut record = parse(&bytes).ok_or_else(|| self.damaged(read, version, "record"))?;
        if has_expired(&record, now) {
            return Ok(None);
        }
        if let (Want::Text, Some(_)) = (want, codec::text_length(&bytes)) {
            let text = read.get(Tree::Texts, &place)?.and_then(|bytes| codec::parse_text(&bytes));
            record.text = Some(text.ok_or_else(|| self.damaged(read, version, "text"))?);
        }
        Ok(Some(Stored { version, record }))
    }

    fn damaged(&self, read: &impl Read, version: u64, what: &str) -> StoreError {
        let what =
            format!("the {what} of version {version} in collection {:?} cannot be read", self.about.name);
        StoreError::Damaged { path: read.folder().to_owned(), what }
    }
}

/// Whether a record is no longer there for anybody.
pub(super) fn has_expired(record: &Record, now: i64) -> bool {
    record.expires.is_some_and(|expires| expires <= now)
}
