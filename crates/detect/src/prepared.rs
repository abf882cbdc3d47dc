//! A document taken in: its normalised forms, made when they are asked for, once.

use crate::fingerprinter::Fingerprinter;
use crate::value::PlacedMark;
use leitong_fingerprint::winnow::Mark;
use leitong_text::normalize::Normalized;
use leitong_text::segment::{Tag, WordKind};
use leitong_text::span::{CodePoints, OffsetMap, Span};
use leitong_text::tokenize::Token;
use std::borrow::Cow;
use std::cell::OnceCell;

/// What a document came as.
#[derive(Debug)]
pub(crate) enum Source {
    Text(String),
    Tokens(Vec<String>),
}

/// Fields of a document that stand beside its text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fields {
    /// Title.
    pub title: String,
    /// Author.
    pub author: String,
    /// Date, as it is written.
    pub date: String,
    /// The author's own keywords.
    pub keywords: Vec<String>,
}

/// A document, ready for fingerprints.
#[derive(Debug)]
pub struct Prepared<'f> {
    fingerprinter: &'f Fingerprinter,
    source: Source,
    fields: Fields,
    normalized: OnceCell<Normalized>,
    letters: OnceCell<Normalized>,
}

impl<'f> Prepared<'f> {
    pub(crate) fn new(fingerprinter: &'f Fingerprinter, source: Source) -> Self {
        Self {
            fingerprinter,
            source,
            fields: Fields::default(),
            normalized: OnceCell::new(),
            letters: OnceCell::new(),
        }
    }

    /// With fields beside the text.
    #[must_use]
    pub fn with_fields(self, fields: Fields) -> Self {
        Self { fields, ..self }
    }

    pub(crate) fn fields(&self) -> &Fields {
        &self.fields
    }

    /// The text as it came; words that came apart are joined.
    #[must_use]
    pub fn plain_text(&self) -> Cow<'_, str> {
        match &self.source {
            Source::Text(text) => Cow::Borrowed(text),
            Source::Tokens(tokens) => Cow::Owned(tokens.concat()),
        }
    }

    /// The text after the recipe's normalising, with the way back to the text as it came.
    #[must_use]
    pub fn normalized(&self) -> &Normalized {
        self.normalized.get_or_init(|| match &self.source {
            Source::Text(text) => self.fingerprinter.normalizer().normalize(text),
            Source::Tokens(tokens) => {
                let text = tokens.join(" ");
                Normalized { map: OffsetMap::identity(text.len()), text }
            }
        })
    }

    /// The letters and digits alone, normalised: what character runs are made of.
    #[must_use]
    pub fn letters(&self) -> &Normalized {
        self.letters.get_or_init(|| self.fingerprinter.letters_only().normalize(&self.plain_text()))
    }

    /// The words, where the document came as words.
    pub(crate) fn words_as_given(&self) -> Option<&[String]> {
        match &self.source {
            Source::Text(_) => None,
            Source::Tokens(tokens) => Some(tokens),
        }
    }

    /// The words that count.
    #[must_use]
    pub fn tokens(&self) -> Vec<Token<'_>> {
        match &self.source {
            Source::Text(_) => self.fingerprinter.tokenizer().tokens(&self.normalized().text),
            Source::Tokens(tokens) => {
                let mut start = 0;
                let token = |text: &'_ String| {
                    let span = Span::new(start, start + text.len());
                    start += text.len() + 1;
                    (span, WordKind::of(text))
                };
                let places: Vec<_> = tokens.iter().map(token).collect();
                let with_place = tokens.iter().zip(places);
                with_place.map(|(text, (span, kind))| Token { text, span, tag: Tag::NONE, kind }).collect()
            }
        }
    }

    /// The paragraphs: stretches of the text between line breaks, blank ones left out.
    #[must_use]
    pub fn paragraphs(&self) -> Vec<&str> {
        match &self.source {
            Source::Text(text) => text.lines().map(str::trim).filter(|line| !line.is_empty()).collect(),
            Source::Tokens(_) => vec![&self.normalized().text],
        }
    }

    /// Gives marks over letters their places in the original.
    pub(crate) fn place_letters(&self, marks: &[Mark], noise: usize) -> Vec<PlacedMark> {
        let letters = self.letters();
        let units: Vec<Span> =
            letters.text.char_indices().map(|(at, c)| Span::new(at, at + c.len_utf8())).collect();
        self.place(marks, noise, &units, &letters.map)
    }

    /// Gives marks over words their places in the original.
    pub(crate) fn place_words(&self, marks: &[Mark], noise: usize, tokens: &[Token<'_>]) -> Vec<PlacedMark> {
        let units: Vec<Span> = tokens.iter().map(|token| token.span).collect();
        self.place(marks, noise, &units, &self.normalized().map)
    }

    fn place(&self, marks: &[Mark], noise: usize, units: &[Span], map: &OffsetMap) -> Vec<PlacedMark> {
        let Source::Text(original) = &self.source else {
            return marks
                .iter()
                .map(|m| PlacedMark { hash: m.hash, position: m.position, span: None })
                .collect();
        };
        // Starts ascend and so do ends, but not one among the other: a counter each.
        let (mut starts, mut ends) = (CodePoints::new(original), CodePoints::new(original));
        let place = |mark: &Mark| {
            let first = mark.position as usize;
            let last = (first + noise - 1).min(units.len() - 1);
            let span = map.to_source(Span { start: units[first].start, end: units[last].end });
            let span = Some((starts.at(span.start as usize), ends.at(span.end as usize)));
            PlacedMark { hash: mark.hash, position: mark.position, span }
        };
        marks.iter().map(place).collect()
    }
}
