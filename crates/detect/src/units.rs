//! The units that fingerprints are made of.

use leitong_text::units::Kind;

const LETTERS_A_UNIT: usize = 4;

/// Finds the units that fingerprints are made of: those of alignment ([`leitong_text::units`]), but digits go together like
/// letters, up to four. There are only a hundred pairs of digits, so with a digit a unit all tables of numbers would get the
/// same fingerprint.
pub(crate) fn cut_features(text: &str, mut unit: impl FnMut(usize, usize)) {
    let kind_of = |c: char| if c.is_ascii_digit() { Kind::Letter } else { Kind::of(c) };
    let mut letters = 0;
    let mut start = 0;
    for (at, c) in text.char_indices() {
        let kind = kind_of(c);
        if letters > 0 && (kind != Kind::Letter || letters == LETTERS_A_UNIT) {
            unit(start, at);
            letters = 0;
        }
        match kind {
            Kind::Separator => {}
            Kind::Alone => unit(at, at + c.len_utf8()),
            Kind::Letter => {
                if letters == 0 {
                    start = at;
                }
                letters += 1;
            }
        }
    }
    if letters > 0 {
        unit(start, text.len());
    }
}
