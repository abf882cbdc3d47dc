//! Looking up many marks in all parts at once.

use super::fresh::Fresh;
use super::part::{Body, Part};
use super::segment::{self, Span};
use super::{MarkError, Posting};
use crate::files::Deleted;

/// Marks that are on their way at the same time: enough to keep the memory busy, few enough to stay in the cache.
const GROUP: usize = 64;

/// A part made ready for reading.
#[derive(Clone, Copy)]
pub(super) enum Reading<'a> {
    Fresh(&'a Fresh),
    Segment(segment::Reading<'a>),
}

impl<'a> Reading<'a> {
    pub(super) fn of(part: &'a Part) -> Self {
        match &part.body {
            Body::Fresh(fresh) => Self::Fresh(fresh),
            Body::Segment(segment) => Self::Segment(segment.reading()),
        }
    }

    #[inline]
    fn announce(&self, mark: u32) {
        match self {
            Self::Fresh(fresh) => fresh.announce(mark),
            Self::Segment(segment) => segment.announce(mark),
        }
    }

    /// In a mutable part the span begins with the newest entry of the mark; it is empty where there is none.
    #[inline]
    fn bucket(&self, mark: u32) -> Span {
        match self {
            Self::Fresh(fresh) => {
                fresh.find(mark).map_or(Span::default(), |last| Span { from: last, to: last + 1 })
            }
            Self::Segment(segment) => segment.bucket(mark),
        }
    }

    #[inline]
    fn narrow(&self, mark: u32, span: Span) -> Span {
        match self {
            Self::Segment(segment) if span.from < span.to => segment.narrow(mark, span),
            _ => span,
        }
    }

    #[inline]
    fn gather(&self, mark: u32, span: Span, more: &mut impl FnMut(Posting) -> bool) -> Result<(), MarkError> {
        match self {
            Self::Fresh(fresh) => {
                fresh.list(mark, span.from).all(|posting| more(*posting));
                Ok(())
            }
            Self::Segment(segment) => segment.gather(mark, span, more),
        }
    }

    #[inline]
    fn sound(&self) -> Result<(), MarkError> {
        match self {
            Self::Fresh(_) => Ok(()),
            Self::Segment(segment) => segment.sound(),
        }
    }
}

/// For every mark, by its place: the documents that have it and are not deleted, ascending, at most `most` of each. The
/// parts follow each other. Nothing damaged is ever passed on.
pub(super) fn look_up(
    parts: &[Reading<'_>],
    deleted: &Deleted,
    marks: &[u32],
    most: usize,
    each: &mut dyn FnMut(usize, Posting),
) -> Result<(), MarkError> {
    if parts.is_empty() || most == 0 {
        return Ok(());
    }
    let mut spans = Vec::with_capacity(parts.len() * marks.len().min(GROUP));
    let mut found = Vec::new();
    for (group, marks) in marks.chunks(GROUP).enumerate() {
        find_spans(parts, marks, &mut spans);
        for ((place, &mark), spans) in (group * GROUP..).zip(marks).zip(spans.chunks_exact(parts.len())) {
            found.clear();
            for (part, span) in parts.iter().zip(spans) {
                if span.from < span.to && found.len() < most {
                    part.gather(mark, *span, &mut |posting| {
                        if deleted.is_empty() || !deleted.contains(posting.ordinal) {
                            found.push(posting);
                        }
                        found.len() < most
                    })?;
                }
            }
            // A mark that is not found may have been missed in something damaged.
            parts.iter().try_for_each(Reading::sound)?;
            found.iter().for_each(|posting| each(place, *posting));
        }
    }
    Ok(())
}

/// Where each mark stands in each part: all parts of the first mark, then all of the second …
#[inline]
fn find_spans(parts: &[Reading<'_>], marks: &[u32], spans: &mut Vec<Span>) {
    for part in parts {
        marks.iter().for_each(|&mark| part.announce(mark));
    }
    spans.clear();
    for &mark in marks {
        spans.extend(parts.iter().map(|part| part.bucket(mark)));
    }
    for (spans, &mark) in spans.chunks_exact_mut(parts.len()).zip(marks) {
        for (span, part) in spans.iter_mut().zip(parts) {
            *span = part.narrow(mark, *span);
        }
    }
}
