use super::*;
use crate::normalize::{Normalizer, Options};
use crate::span::Span;
use proptest::prelude::*;
use std::sync::LazyLock;

fn read(text: &str) -> Vec<Unit> {
    let (mut units, mut portable) = (Vec::new(), Vec::new());
    UnitReader::shared().read(text, &mut units);
    UnitReader::shared().read_on::<false>(text, &mut portable);
    assert_eq!(units, portable, "every processor reads the same: {text:?}");
    units
}

/// The plain way: normalise, then cut.
fn plainly(text: &str) -> Vec<(Unit, Span)> {
    static NORMALIZER: LazyLock<Normalizer> = LazyLock::new(|| Normalizer::new(Options::default()));
    let normalized = NORMALIZER.normalize(text);
    let mut units = Vec::new();
    units_of(&normalized.text, |unit, span| units.push((unit, normalized.map.to_source(span))));
    units
}

#[test]
fn characters_digits_and_pieces() {
    let text = "2026年 Duplicate, 雷同";
    let (units, spans) = UnitReader::shared().read_placed(text);
    let pieces: Vec<&str> = spans.iter().map(|span| &text[span.range()]).collect();
    assert_eq!(pieces, ["2", "0", "2", "6", "年", "Dupl", "icat", "e", "雷", "同"]);
    assert_eq!(units[0].numeral(), Some(Numeral::Digit));
    assert_eq!(units[7].character(), None, "a piece is no character");
}

#[test]
fn words_begin_new_pieces() {
    assert_ne!(read("an ice"), read("a nice"));
    assert_eq!(read("a-b"), read("a b"));
    assert_eq!(read("ＡＢＣ繁體"), read("abc繁体"));
    assert!(read("，。！ \n").is_empty());
}

#[test]
fn frozen() {
    let values: Vec<u32> = read("雷7 same ünïcode слово 繁").iter().map(|unit| unit.value()).collect();
    let expected = FROZEN;
    assert_eq!(values, expected, "stored marks are hashes of these");
}

const FROZEN: [u32; 8] = [38647, 55, 1316517605, 900057875, 1075573349, 651773090, 589100568, 32321];

#[test]
fn every_character_reads_like_the_plain_way() {
    for c in char::MIN..=char::MAX {
        if matches!(c, '\u{20000}'..='\u{2F7FF}' | '\u{30000}'..='\u{DFFFF}' | '\u{F0000}'..) {
            continue;
        }
        let text = format!("ab{c}cd雷{c}");
        let expected: Vec<Unit> = plainly(&text).into_iter().map(|(unit, _)| unit).collect();
        assert_eq!(read(&text), expected, "{:?} U+{:04X}", c, c as u32);
    }
}

proptest! {
    /// Long enough for blocks, with everything that ends them.
    #[test]
    fn latin_text_reads_like_the_plain_way(text in "([a-zA-Z]{1,12}|[0-9]{1,3}|[ ,.\n\t-]{1,3}|[\x00\x07\x7fé雷，]){0,90}") {
        let expected: Vec<Unit> = plainly(&text).into_iter().map(|(unit, _)| unit).collect();
        prop_assert_eq!(read(&text), expected, "{:?}", &text);
    }

    #[test]
    fn reads_like_the_plain_way(text in "([a-zA-Z0-9]{0,6}|[雷同純屬巧合，。！ ]{0,6}|[äéßøДжω가각ｱｶﾞ\u{301}\u{200b}①㎏ﬁ½𠮷\u{2F81A}]{0,3}|\\PC{0,4}){0,8}") {
        let expected = plainly(&text);
        let (units, spans) = UnitReader::shared().read_placed(&text);
        prop_assert_eq!(&read(&text), &units);
        let found: Vec<Unit> = expected.iter().map(|(unit, _)| *unit).collect();
        prop_assert_eq!(&units, &found, "{:?}", &text);
        let places: Vec<Span> = expected.iter().map(|(_, span)| *span).collect();
        prop_assert_eq!(&spans, &places, "{:?}", &text);
    }
}
