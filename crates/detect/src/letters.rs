//! The letters of a text that is normalised already, without normalising it a second time.
//!
//! Dropping punctuation and white space are the last rules of normalising, and each looks at one character alone; the rules
//! before them are the same for both normal forms. So the letters of the normalised text are the letters of the text.

use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory};

/// Writes what is neither punctuation nor white space into `out`.
pub(crate) fn letters_of(normalized: &str, out: &mut String) {
    out.clear();
    let mut start = 0;
    for (at, c) in normalized.char_indices() {
        if is_dropped(c) {
            out.push_str(&normalized[start..at]);
            start = at + c.len_utf8();
        }
    }
    out.push_str(&normalized[start..]);
}

/// Whether the form without punctuation and white space leaves a character out: the same characters as the rules of
/// `leitong_text::normalize`, which a test compares over all of Unicode.
#[inline]
fn is_dropped(c: char) -> bool {
    match c {
        '一'..='龥' | 'a'..='z' | '0'..='9' => false,
        '\0'..='\x7f' => !c.is_ascii_alphanumeric(),
        _ => is_dropped_by_category(c),
    }
}

fn is_dropped_by_category(c: char) -> bool {
    match c.general_category_group() {
        GeneralCategoryGroup::Punctuation | GeneralCategoryGroup::Symbol => true,
        GeneralCategoryGroup::Other => {
            matches!(c.general_category(), GeneralCategory::Control | GeneralCategory::Format)
        }
        _ => c.is_whitespace(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Fingerprinter, Recipe};
    use leitong_text::normalize::{Normalizer, Options, Punctuation, Whitespace};
    use proptest::prelude::*;
    use std::sync::LazyLock;

    #[test]
    fn every_character_is_dropped_by_both_or_by_none() {
        let options =
            Options { punctuation: Punctuation::Drop, whitespace: Whitespace::Drop, ..Options::none() };
        let normalizer = Normalizer::new(options);
        for c in '\0'..=char::MAX {
            let kept = !normalizer.normalize(c.encode_utf8(&mut [0; 4])).text.is_empty();
            assert_eq!(is_dropped(c), !kept, "{c:?}");
        }
    }

    static READY: LazyLock<Vec<Fingerprinter>> = LazyLock::new(|| {
        let ready = |name| Fingerprinter::new(Recipe::built_in(name).unwrap()).unwrap();
        crate::recipe::names().map(ready).collect()
    });

    proptest! {
        #[test]
        fn the_letters_of_the_normal_form_are_those_of_the_text(
            text in "([一-龥]|[ａ-ｚ]|[a-zA-Z0-9]|[，。！ \n\r\u{3000}\u{85}\u{200b}\u{ad}]|[\u{300}-\u{310}ｶﾞ가각ßﬁ㍿①½]|\\PC){0,40}"
        ) {
            let mut letters = String::new();
            for fingerprinter in READY.iter() {
                letters_of(&fingerprinter.normalizer().normalize(&text).text, &mut letters);
                prop_assert_eq!(&letters, &fingerprinter.letters_only().normalize(&text).text);
            }
        }
    }
}
