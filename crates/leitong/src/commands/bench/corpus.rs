//! Made documents with planted copies. Document `i` is a function of the seed and `i`, so that nothing need be kept to know which
//! are copies of which.

use super::data::{GOLDEN, SplitMix64, mix};

/// Words, by powers of two: those of each power are together as frequent as those of any other, as in real texts.
const OCTAVES: u64 = 14;
/// Of a hundred documents, those that are forms: the same words with other numbers, and no copies.
const FORMS: u64 = 5;
/// Different forms, and different ends that many documents share.
const TEMPLATES: u64 = 8;
const FOOTERS: u64 = 20;

/// What was done to a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Edit {
    /// Other punctuation and line breaks.
    Reprinted,
    /// A character in fifty is another one.
    Touched,
    /// A character in twenty is another one.
    Edited,
    /// A character in eight is another one.
    Rewritten,
    /// A sentence in six is left out.
    Shortened,
    /// A fifth of its length is added.
    Extended,
}

impl Edit {
    pub(super) const ALL: [Self; 6] =
        [Self::Reprinted, Self::Touched, Self::Edited, Self::Rewritten, Self::Shortened, Self::Extended];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Reprinted => "reprinted",
            Self::Touched => "touched",
            Self::Edited => "edited",
            Self::Rewritten => "rewritten",
            Self::Shortened => "shortened",
            Self::Extended => "extended",
        }
    }
}

/// What a document is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Own,
    Form,
    /// Of a document that is neither.
    Copy(u64, Edit),
}

/// Documents of a kind.
pub(super) struct Corpus {
    pub(super) seed: u64,
    /// Characters of a text, more or less.
    pub(super) length: u64,
    /// Of a hundred documents, those that are copies.
    pub(super) copies: u64,
}

impl Corpus {
    /// Numbers for one purpose of one document.
    fn random(&self, purpose: u64, document: u64) -> SplitMix64 {
        SplitMix64(mix(mix(self.seed ^ purpose.wrapping_mul(GOLDEN)) ^ document.wrapping_mul(GOLDEN)))
    }

    pub(super) fn kind(&self, document: u64) -> Kind {
        let mut random = self.random(1, document);
        let drawn = random.below(100);
        if drawn < FORMS {
            return Kind::Form;
        }
        if drawn >= FORMS + self.copies || document == 0 {
            return Kind::Own;
        }
        let other = random.below(document);
        let edit = Edit::ALL[random.below(Edit::ALL.len() as u64) as usize];
        match self.kind(other) {
            Kind::Own => Kind::Copy(other, edit),
            Kind::Copy(original, _) => Kind::Copy(original, edit),
            Kind::Form => Kind::Own,
        }
    }

    /// The document that this one is a copy of, or itself.
    pub(super) fn original(&self, document: u64) -> u64 {
        match self.kind(document) {
            Kind::Copy(original, _) => original,
            _ => document,
        }
    }

    pub(super) fn text(&self, document: u64) -> String {
        match self.kind(document) {
            Kind::Own => self.own(document),
            Kind::Form => self.form(document),
            Kind::Copy(original, edit) => self.copy(document, &self.own(original), edit),
        }
    }

    fn own(&self, document: u64) -> String {
        let mut random = self.random(2, document);
        let length = self.length / 2 + random.below(self.length.max(1));
        let mut text = String::new();
        sentences(&mut random, length, &mut text);
        if random.below(5) == 0 {
            let mut footer = self.random(3, random.below(FOOTERS));
            text.push('\n');
            sentences(&mut footer, 60, &mut text);
        }
        text
    }

    /// A form that was filled in: its words are those of a template.
    fn form(&self, document: u64) -> String {
        let mut random = self.random(2, document);
        let mut template = self.random(4, random.below(TEMPLATES));
        let mut text = String::new();
        for _ in 0..10 + template.below(20) {
            (0..2 + template.below(4)).for_each(|_| word(&mut template, &mut text));
            text.push_str(&format!("{}", 100 + random.below(9900)));
            word(&mut template, &mut text);
            text.push_str(if template.below(3) == 0 { "。\n" } else { "，" });
        }
        text
    }

    fn copy(&self, document: u64, original: &str, edit: Edit) -> String {
        let mut random = self.random(5, document);
        let mut text = String::with_capacity(original.len() + original.len() / 4);
        let mut touched = |one_in: u64| {
            for letter in original.chars() {
                if is_han(letter) && random.below(one_in) == 0 {
                    text.push(han(random.next()));
                } else {
                    text.push(letter);
                }
            }
        };
        match edit {
            Edit::Touched => touched(50),
            Edit::Edited => touched(20),
            Edit::Rewritten => touched(8),
            Edit::Reprinted => text.extend(original.chars().map(|letter| match letter {
                '，' => ',',
                '\n' => ' ',
                other => other,
            })),
            Edit::Shortened => {
                text.extend(original.split_inclusive('。').filter(|_| random.below(6) != 0));
            }
            Edit::Extended => {
                text.push_str(original);
                text.push('\n');
                sentences(&mut random, original.chars().count() as u64 / 5, &mut text);
            }
        }
        // Nothing is no copy.
        if text.trim().is_empty() { original.to_owned() } else { text }
    }
}

/// Sentences of so many characters together, or a few more.
fn sentences(random: &mut SplitMix64, length: u64, text: &mut String) {
    let end = text.chars().count() as u64 + length;
    let mut count = text.chars().count() as u64;
    while count < end {
        let before = text.len();
        for _ in 0..8 + random.below(16) {
            match random.below(60) {
                0 => text.push_str(&random.below(3000).to_string()),
                1..=8 => text.push('，'),
                _ => word(random, text),
            }
        }
        text.push_str(if random.below(5) == 0 { "。\n" } else { "。" });
        count += text[before..].chars().count() as u64;
    }
}

/// The next word: the rarer, the longer.
fn word(random: &mut SplitMix64, text: &mut String) {
    let octave = random.below(OCTAVES);
    let rank = (1 << octave) + random.below(1 << octave);
    let length = match rank {
        ..64 => 1,
        _ if mix(rank).is_multiple_of(5) => 3,
        _ => 2,
    };
    text.extend((0..length).map(|at| han(mix(rank << 2 | at))));
}

/// One of some thousand Han characters.
fn han(number: u64) -> char {
    char::from_u32(0x4e00 + (number % 6000) as u32).unwrap_or('一')
}

fn is_han(letter: char) -> bool {
    ('\u{4e00}'..='\u{9fff}').contains(&letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_makes_the_same() {
        let corpus = |seed| Corpus { seed, length: 300, copies: 30 };
        let all = |seed| (0..200).map(|at| corpus(seed).text(at)).collect::<Vec<_>>();
        assert_eq!(all(1), all(1));
        assert_ne!(all(1)[0], all(2)[0]);
        let lengths: usize = all(1).iter().map(|text| text.chars().count()).sum();
        assert!((200..400).contains(&(lengths / 200)), "{lengths}");
    }

    #[test]
    fn copies_are_of_documents_that_are_their_own() {
        let corpus = Corpus { seed: 7, length: 300, copies: 30 };
        let mut copies = 0;
        for document in 0..2000 {
            if let Kind::Copy(original, _) = corpus.kind(document) {
                assert!(original < document && corpus.kind(original) == Kind::Own, "{document}");
                copies += 1;
            }
        }
        assert!((500..700).contains(&copies), "{copies}");
    }
}
