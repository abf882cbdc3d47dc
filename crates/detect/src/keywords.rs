//! Keyword fingerprints of a document, in all their variants.

use crate::fingerprinter::Fingerprinter;
use crate::prepared::Prepared;
use crate::recipe::KeywordSource;
use crate::value::{Answer, Value};
use leitong_fingerprint::hash::Algorithm;
use leitong_fingerprint::weight::{Occurrence, Term, Weighing, keep_heaviest};
use leitong_fingerprint::{Fingerprint, keywords};
use leitong_text::sentence;
use leitong_text::tokenize::Token;

impl Fingerprinter {
    /// The terms of a document as the keyword settings weigh them.
    pub(crate) fn keyword_terms<'t>(&self, tokens: &'t [Token<'t>]) -> Vec<Term<'t>> {
        let settings = &self.settings().keywords;
        let weighing = Weighing {
            scheme: settings.weight,
            idf: self.keyword_idf.get(),
            boosts: &settings.boosts,
            top: None,
        };
        let words: Vec<_> = tokens.iter().map(|t| Occurrence { text: t.text, tag: t.tag.as_str() }).collect();
        weighing.weigh(&words)
    }

    pub(crate) fn keywords(&self, document: &Prepared<'_>) -> Answer {
        let settings = &self.settings().keywords;
        let hash = settings.hash;
        let value = match settings.source {
            KeywordSource::TopTerms(n) => {
                let tokens = document.tokens();
                let mut terms = self.keyword_terms(&tokens);
                keep_heaviest(&mut terms, n);
                keywords::of_terms(terms.iter().map(|term| term.text), hash)
            }
            KeywordSource::MostFrequent(n) => {
                keywords::of_most_frequent(&self.keyword_terms(&document.tokens()), n, hash)
            }
            KeywordSource::Imatch(band) => {
                let tokens = document.tokens();
                let found =
                    keywords::imatch(&self.keyword_terms(&tokens), self.keyword_idf.get(), band, hash);
                return Answer::unless_empty(found.iter().all(Option::is_none), || Value::Several(found));
            }
            KeywordSource::Given => {
                let given: Vec<String> = document
                    .fields()
                    .keywords
                    .iter()
                    .map(|word| self.letters_only().normalize(word).text)
                    .collect();
                keywords::of_terms(given.iter().map(String::as_str), hash)
            }
            KeywordSource::Fields => {
                let fields = document.fields();
                let parts = [&fields.title, &fields.author, &fields.date]
                    .map(|part| self.letters_only().normalize(part).text);
                keywords::of_parts(parts.iter().map(String::as_str), hash)
            }
            KeywordSource::FirstParagraph => self.of_part(document.paragraphs().first().copied(), hash),
            KeywordSource::LastParagraph => self.of_part(document.paragraphs().last().copied(), hash),
            KeywordSource::Sentence(number) => {
                let text = &document.normalized().text;
                let sentences = sentence::sentences(text);
                let chosen = number.checked_sub(1).and_then(|at| sentences.get(at));
                self.of_part(chosen.map(|span| &text[span.range()]), hash)
            }
        };
        match value {
            Some(value) => Answer::some(Value::Bits(value)),
            None => Answer::none("too little evidence: there is nothing that could stand for the text"),
        }
    }

    fn of_part(&self, part: Option<&str>, hash: Algorithm) -> Option<Fingerprint> {
        keywords::of_parts([self.letters_only().normalize(part?).text.as_str()], hash)
    }
}
