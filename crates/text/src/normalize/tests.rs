//! The table against the plain passes, and the map against the text it maps.

use std::sync::LazyLock;

use proptest::prelude::*;

use super::*;
use crate::span::Span;

/// The slow twin: every rule as a pass of its own over the whole text.
fn plainly(options: Options, text: &str) -> String {
    let mut text = text.to_owned();
    if options.nfkc {
        text = nfkc::compose(&text).collect();
    }
    if options.fold_case {
        text = caseless::default_case_fold_str(&text);
    }
    if options.simplify {
        text = text.chars().map(chinese::simplify).collect();
    }
    if options.drop_invisible {
        text.retain(|c| !invisible::is_invisible(c));
    }
    match options.punctuation {
        Punctuation::Keep => {}
        Punctuation::Space => text = text.replace(is_punctuation, " "),
        Punctuation::Drop => text.retain(|c| !is_punctuation(c)),
    }
    match options.whitespace {
        Whitespace::Keep => {}
        Whitespace::Collapse => text = text.split_whitespace().collect::<Vec<_>>().join(" "),
        Whitespace::Lines => {
            let lines = text.split(is_line_break).map(|l| l.split_whitespace().collect::<Vec<_>>().join(" "));
            text = lines.filter(|l| !l.is_empty()).collect::<Vec<_>>().join("\n");
        }
        Whitespace::Drop => text.retain(|c| !c.is_whitespace()),
    }
    text
}

/// Each way with punctuation and with white space, under all other rules, all but one, and none.
fn every_option() -> Vec<Options> {
    let mut all = Vec::new();
    for bits in [0b1111_u8, 0b1110, 0b1101, 0b1011, 0b0111, 0] {
        for punctuation in [Punctuation::Keep, Punctuation::Space, Punctuation::Drop] {
            for whitespace in [Whitespace::Keep, Whitespace::Collapse, Whitespace::Lines, Whitespace::Drop] {
                all.push(Options {
                    nfkc: bits & 1 != 0,
                    fold_case: bits & 2 != 0,
                    simplify: bits & 4 != 0,
                    drop_invisible: bits & 8 != 0,
                    punctuation,
                    whitespace,
                });
            }
        }
    }
    all
}

/// The two that most recipes use.
static DEFAULT: LazyLock<Normalizer> = LazyLock::new(|| Normalizer::new(Options::default()));
static BARE: LazyLock<Normalizer> = LazyLock::new(|| {
    Normalizer::new(Options {
        punctuation: Punctuation::Drop,
        whitespace: Whitespace::Drop,
        ..Options::default()
    })
});
static ALL: LazyLock<Vec<Normalizer>> =
    LazyLock::new(|| every_option().into_iter().map(Normalizer::new).collect());

fn check(normalizer: &Normalizer, text: &str) {
    let options = normalizer.options();
    let normalized = normalizer.normalize(text);
    assert_eq!(normalized.text, plainly(options, text), "{text:?} under {options:?}");
    check_map(normalizer, text, &normalized);
    let mut alone = String::new();
    normalizer.normalize_text(text, &mut alone);
    assert_eq!(alone, normalized.text, "without a map: {text:?} under {options:?}");
    let mut portable = Normalized::default();
    run::run::<false>(&normalizer.table, text, &mut portable.text, &mut portable.map);
    assert_eq!(portable, normalized, "on an old processor: {text:?} under {options:?}");
}

/// The map leads from character boundaries to character boundaries, never backwards, and what a character is
/// led to becomes a text that holds that character.
fn check_map(normalizer: &Normalizer, text: &str, normalized: &Normalized) {
    assert_eq!(normalized.map.derived_len(), normalized.text.len());
    let mut before = Span::default();
    for (start, c) in normalized.text.char_indices() {
        let source = normalized.map.to_source(Span::new(start, start + c.len_utf8()));
        assert!(before.start <= source.start && before.end <= source.end, "{text:?} goes backwards");
        let slice = text.get(source.range()).expect("on character boundaries");
        // Collapsing trims a slice of white space, and that of a space is to be seen alone.
        let alone = if c.is_whitespace() { " ".to_owned() + slice } else { slice.to_owned() };
        let again = plainly(Options { whitespace: Whitespace::Keep, ..normalizer.options() }, &alone);
        assert!(
            again.contains(c) || (c.is_whitespace() && again.contains(char::is_whitespace)),
            "{c:?} of {text:?} led to {slice:?}"
        );
        before = source;
    }
    let all = normalized.map.to_source(Span::new(0, normalized.text.len()));
    assert!(all.end as usize <= text.len());
}

/// Every character but those of planes that are empty or private, where only a sample is looked at.
fn characters() -> impl Iterator<Item = char> {
    let planes = (char::MIN..='\u{32FFF}').chain('\u{E0000}'..='\u{E0FFF}');
    planes.chain(('\u{33000}'..=char::MAX).step_by(997))
}

#[test]
fn every_character_alone_and_between_others() {
    let mut text = String::new();
    for normalizer in [&*DEFAULT, &*BARE] {
        for c in characters() {
            for around in [["", ""], ["汉 ", "\u{301}A"]] {
                text.clear();
                text.extend([around[0], c.encode_utf8(&mut [0; 4]), around[1]]);
                let normalized = normalizer.normalize(&text);
                assert_eq!(normalized.text, plainly(normalizer.options(), &text), "{text:?}");
            }
        }
    }
}

#[test]
fn every_character_of_the_basic_plane_in_a_row() {
    let forwards: String = (char::MIN..='\u{FFFF}').collect();
    let backwards: String = forwards.chars().rev().collect();
    for normalizer in [&*DEFAULT, &*BARE] {
        for text in [&forwards, &backwards] {
            assert_eq!(normalizer.normalize(text).text, plainly(normalizer.options(), text));
        }
    }
}

/// Whatever composes, written out, between spaces: the cluster must neither vanish nor leave a space behind.
#[test]
fn every_decomposition() {
    use unicode_normalization::UnicodeNormalization;
    for c in characters() {
        let decomposed: String = [c].into_iter().nfd().collect();
        if !decomposed.chars().eq([c]) {
            let text = format!("a {decomposed} {decomposed}\n");
            for normalizer in [&*DEFAULT, &*BARE] {
                assert_eq!(normalizer.normalize(&text).text, plainly(normalizer.options(), &text));
            }
        }
    }
}

#[test]
fn cases() {
    let cases = [
        ("", "", ""),
        (" \n\u{3000}", "", ""),
        ("ＬＥＩＴＯＮＧ　１２３", "leitong 123", "leitong123"),
        ("  雷同， 絕非\u{200B}巧合！ ", "雷同, 绝非巧合!", "雷同绝非巧合"),
        ("Straße ΣΊΣΥΦΟΣ", "strasse σίσυφοσ", "strasseσίσυφοσ"),
        ("ﾊﾟﾋﾞ e\u{301}\u{323}", "パビ ẹ́", "パビẹ́"),
        ("\u{1112}\u{1161}\u{11AB}글 ㄱㅏ", "한글 가", "한글가"),
        ("\u{301}x ¨ \u{301}", "\u{301}x \u{308} \u{301}", "\u{301}x\u{308}\u{301}"),
        ("①⑩㍿ﬁ℃", "110株式会社fi°c", "110株式会社fic"),
        ("𝐀𝟗𠁞😀", "a9𠀾😀", "a9𠀾"),
        ("a\r\n\tb", "a b", "ab"),
    ];
    for (text, by_default, bare) in cases {
        assert_eq!(DEFAULT.normalize(text).text, by_default, "{text:?}");
        assert_eq!(BARE.normalize(text).text, bare, "{text:?}");
        for normalizer in ALL.iter() {
            check(normalizer, text);
        }
    }
}

#[test]
fn lines_are_kept_where_asked() {
    let lines = Normalizer::new(Options { whitespace: Whitespace::Lines, ..Options::default() });
    assert_eq!(lines.normalize(" 标题 \r\n\n 正文  一\u{2028}").text, "标题\n正文 一");
}

#[test]
fn nothing_changes_without_rules() {
    let normalizer = Normalizer::new(Options::none());
    let text = "Ａ \u{200B}絕， e\u{301}\0";
    let normalized = normalizer.normalize(text);
    assert_eq!(normalized.text, text);
    assert_eq!(normalized.map, OffsetMap::identity(text.len()));
}

#[test]
fn traditional_text_stays_one_linear_piece() {
    let text = "絕非巧合ABC";
    let normalized = DEFAULT.normalize(text);
    assert_eq!(normalized.text, "绝非巧合abc");
    assert_eq!(normalized.map, OffsetMap::identity(text.len()));
}

#[test]
fn memory_is_used_again_and_nothing_stays_behind() {
    let mut out = String::new();
    DEFAULT.normalize_text("ＡＢＣ 很长的一段文字", &mut out);
    DEFAULT.normalize_text("Ｂ", &mut out);
    assert_eq!(out, "b");
}

#[test]
fn options_read_back_and_refuse_strangers() {
    let options = Options { punctuation: Punctuation::Drop, ..Options::default() };
    let json = serde_json::to_string(&options).unwrap();
    assert_eq!(serde_json::from_str::<Options>(&json).unwrap(), options);
    assert_eq!(serde_json::from_str::<Options>("{}").unwrap(), Options::default());
    assert!(serde_json::from_str::<Options>(r#"{"fold-cases": true}"#).is_err());
}

/// What every character becomes, and which ones join: FNV-1a over all of it. Stored fingerprints depend on it. If
/// a dependency changes it, `DATA_VERSION` has to change with the number.
#[test]
fn the_table_is_frozen() {
    let mut out = String::new();
    for (normalizer, frozen) in [(&*DEFAULT, 0xF80D_D2BE_651D_6BCC_u64), (&*BARE, 0xE531_E97C_7727_C5E9)] {
        let mut digest = 0xCBF2_9CE4_8422_2325_u64;
        for c in char::MIN..=char::MAX {
            normalizer.normalize_text(c.encode_utf8(&mut [0; 4]), &mut out);
            let joins = u8::from(normalizer.table.entry(c) == table::Entry::JoinsPrevious);
            for &byte in out.as_bytes().iter().chain(&[0xFE | joins]) {
                digest = (digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3);
            }
        }
        assert_eq!(digest, frozen, "the digest is now {digest:#018X} for {:?}", normalizer.options());
    }
}

/// Characters that are likely to upset a fast path, and plain ones to put between them.
fn nasty() -> impl Strategy<Value = String> {
    let pieces = prop_oneof![
        4 => proptest::sample::select(vec![
            " ", "  ", "\n", "\r\n", "\t", "\u{3000}", "\u{A0}", "\u{200B}", "\u{FEFF}", "\u{AD}", "，", "。", "…",
            "！", ".", ",", "\u{301}", "\u{323}", "\u{308}", "\u{345}", "\u{3099}", "ﾞ", "ﾟ", "ｶ", "か", "¨", "´",
            "\u{1100}", "\u{1161}", "\u{11A8}", "가", "ㄱ", "ㅏ", "\u{FFC2}", "=", "\u{338}", "ß", "İ", "ǰ", "ΐ", "Σ",
            "體", "乾", "后", "𠁞", "豈", "丽", "𝐀", "😀", "👨\u{200D}👩", "\u{FE0F}", "A", "z", "1", "①", "ﬁ", "\0",
            "م", "\u{64B}", "\u{E0020}", "\u{115F}", "\u{FDFA}", "\u{10FFFF}", "\u{E000}",
        ]).prop_map(str::to_owned),
        1 => "[一-龥]{1,6}",
        1 => "[a-zA-Z ]{1,6}",
        1 => any::<char>().prop_map(String::from),
    ];
    proptest::collection::vec(pieces, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_table_does_what_the_passes_do(text in nasty(), which in 0..72_usize) {
        check(&DEFAULT, &text);
        check(&BARE, &text);
        check(&ALL[which], &text);
    }
}
