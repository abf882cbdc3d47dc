//! Unicode NFKC, cut into clusters that can be normalised one by one.
//!
//! Normalising is local: where a character begins a new cluster, nothing before it can change what it becomes.
//! [`joins_previous`] says which characters do not begin one.

use unicode_normalization::char::{canonical_combining_class, decompose_compatible};
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick, is_nfkc_quick};

/// The NFKC form of a cluster or of a whole text.
pub(super) fn compose(text: &str) -> impl Iterator<Item = char> + '_ {
    text.nfkc()
}

/// Whether NFKC may join `c` with, or move it across, the character before it.
///
/// That is so when its decomposition starts with a combining mark, or with a character that is the second
/// half of some canonical composition (`NFC_Quick_Check=Maybe`: jamo vowels and finals, some Indic signs).
pub(super) fn joins_previous(c: char) -> bool {
    let mut first = None;
    decompose_compatible(c, |d| {
        first.get_or_insert(d);
    });
    let first = first.unwrap_or(c);
    canonical_combining_class(first) != 0 || is_nfc_quick(std::iter::once(first)) == IsNormalized::Maybe
}

/// Whether `c` is its own NFKC form and begins a cluster: so it is with nearly all characters, and this is the quick way to know it.
pub(super) fn is_plain(c: char) -> bool {
    canonical_combining_class(c) == 0 && is_nfkc_quick(std::iter::once(c)) == IsNormalized::Yes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_plain_stays_and_joins_nothing() {
        for c in (char::MIN..=char::MAX).filter(|&c| is_plain(c)) {
            assert!(compose(c.encode_utf8(&mut [0; 4])).eq([c]) && !joins_previous(c), "{c:?}");
        }
    }
}
