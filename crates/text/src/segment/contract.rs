//! What every segmenter promises, tested on every segmenter.

use proptest::prelude::*;

use super::*;
use crate::filter::StopList;

/// The words of a text, without white space.
pub(super) fn cut<'a>(segmenter: &dyn Segment, text: &'a str) -> Vec<&'a str> {
    let mut words = Vec::new();
    segmenter.segment(text, &mut words);
    words.iter().filter(|w| w.kind != WordKind::Space).map(|w| &text[w.span.range()]).collect()
}

/// The same with tags, as `word/tag`.
pub(super) fn cut_with_tags(segmenter: &dyn Segment, text: &str) -> Vec<String> {
    let mut words = Vec::new();
    segmenter.segment(text, &mut words);
    words.iter().map(|w| format!("{}/{}", &text[w.span.range()], w.tag)).collect()
}

fn check(segmenter: &dyn Segment, text: &str) {
    let mut words = vec![Word { span: Span::new(7, 9), tag: Tag::OTHER, kind: WordKind::Word }];
    segmenter.segment(text, &mut words);
    let mut end = 0;
    for word in &words {
        assert_eq!(word.span.start, end, "a gap or an overlap in {text:?}");
        assert!(!word.span.is_empty(), "an empty word in {text:?}");
        let slice = text.get(word.span.range()).expect("words lie on character boundaries");
        assert_eq!(word.kind, WordKind::of(slice), "{slice:?}");
        end = word.span.end;
    }
    assert_eq!(end as usize, text.len(), "the words do not give {text:?} back");
    let mut again = Vec::new();
    segmenter.segment(text, &mut again);
    assert_eq!(words, again, "another answer the second time");
}

/// With tags and without, the words are the same, and only with them are there tags.
fn check_both(untagged: &dyn Segment, tagged: &dyn Segment, text: &str) {
    check(untagged, text);
    check(tagged, text);
    let (mut plain, mut with_tags) = (Vec::new(), Vec::new());
    untagged.segment(text, &mut plain);
    tagged.segment(text, &mut with_tags);
    assert!(plain.iter().all(|word| word.tag.is_none()));
    with_tags.iter_mut().for_each(|word| word.tag = Tag::NONE);
    assert_eq!(plain, with_tags, "tags change the words of {text:?}");
}

pub(super) fn nasty() -> impl Strategy<Value = String> {
    let pieces = prop_oneof![
        2 => "[一-龥]{1,8}",
        1 => "[a-zA-Z0-9+#&._%-]{1,6}",
        3 => proptest::sample::select(vec![
            " ", "  ", "\r\n", "\n", "\r", "\t", "\0", "，", "。", "……", "“", "don't", "3.14", "1,000", "\u{301}", "\u{200D}",
            "👨\u{200D}👩\u{200D}👧", "🇨🇳", "😀\u{FE0F}", "\u{202E}", "مرحبا", "שלום", "한국어", "ひらがな", "カタカナ", "ภาษาไทย",
            "𠮷野家", "豈", "\u{2F800}", "\u{E000}", "\u{10FFFF}", "\u{FFFD}", "क्षि", "T恤", "3D打印", "〇",
        ]).prop_map(str::to_owned),
        1 => any::<char>().prop_map(String::from),
    ];
    proptest::collection::vec(pieces, 0..16).prop_map(|pieces| pieces.concat())
}

macro_rules! keeps_the_contract {
    ($name:ident, $make:expr) => {
        mod $name {
            use super::*;

            #[test]
            fn on_chosen_texts() {
                let make = $make;
                for text in ["", " ", "\0", "雷同", "a", "\u{301}", "如有雷同，绝非巧合。\r\n", "Hello, world! 你好 мир"] {
                    check_both(&make(false), &make(true), text);
                }
            }

            proptest! {
                #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

                #[test]
                fn on_any_text(text in nasty()) {
                    let make = $make;
                    check_both(&make(false), &make(true), &text);
                }
            }
        }
    };
}

fn own_words() -> UserDictionary {
    let mut user = UserDictionary::default();
    ["雷同", "一龥", "3D打印", "\u{2F800}", "مرحبا"].iter().for_each(|word| user.add(word));
    user
}

keeps_the_contract!(characters, Characters::new);
keeps_the_contract!(unicode_words, UnicodeWords::new);
keeps_the_contract!(chinese, |tags| Chinese::new(UserDictionary::default(), true, tags));
keeps_the_contract!(chinese_without_model, |tags| Chinese::new(UserDictionary::default(), false, tags));
keeps_the_contract!(mixed, |tags| Mixed::new(Chinese::new(UserDictionary::default(), true, tags)));

#[test]
fn a_user_dictionary_keeps_the_contract() {
    // Once: a dictionary of one's own is a copy of 11 MB.
    let [untagged, tagged] = [false, true].map(|tags| Mixed::new(Chinese::new(own_words(), true, tags)));
    for text in ["雷同3D打印一龥\u{2F800}مرحبا", "雷 同", ""] {
        check_both(&untagged, &tagged, text);
    }
}

#[test]
fn mixed_gives_each_script_what_it_needs() {
    let mixed = Mixed::new(Chinese::new(UserDictionary::default(), true, true));
    let cases = [
        ("纯属雷同,绝非巧合", "纯属/n 雷同/nr ,/x 绝非/d 巧合/v"),
        ("购买iPhone 15", "购买/v iPhone/eng  /x 15/m"),
        ("Don't panic, 你好", "Don't/eng  /x panic/eng ,/x  /x 你好/l"),
        ("Съешь ещё", "Съешь/  /x ещё/"),
        ("한국어 文章", "한국어/  /x 文章/n"),
    ];
    for (text, words) in cases {
        assert_eq!(cut_with_tags(&mixed, text).join(" "), words);
    }
}

#[test]
fn mixed_gives_the_words_of_jieba_where_there_are_han_characters() {
    let text = "他用T恤和3D打印机,做了2024年度 “雷同”计划。\r\n第1章";
    let mixed = Mixed::new(Chinese::new(UserDictionary::default(), true, true));
    let chinese = Chinese::new(UserDictionary::default(), true, true);
    assert_eq!(cut_with_tags(&mixed, text), cut_with_tags(&chinese, text));
}

#[test]
fn settings_read_back_and_build() {
    let settings: Settings = serde_json::from_str(r#"{"by": "characters"}"#).unwrap();
    assert_eq!(settings, Settings { by: Unit::Characters, hmm: true });
    assert_eq!(cut(&*settings.build(UserDictionary::default(), false), "雷同 a"), ["雷", "同", "a"]);
    let settings = Settings { by: Unit::UnicodeWords, ..settings };
    assert_eq!(cut(&*settings.build(UserDictionary::default(), false), "雷同 ab"), ["雷", "同", "ab"]);
    assert_eq!(cut(&*Settings::default().build(UserDictionary::default(), false), "雷同 ab"), ["雷同", "ab"]);
    assert!(serde_json::from_str::<Settings>(r#"{"by": "words", "hm": true}"#).is_err());
}

#[test]
fn kinds() {
    let cases = [
        ("雷同", WordKind::Word),
        ("3d", WordKind::Word),
        ("3.14", WordKind::Number),
        ("12%", WordKind::Number),
        ("٣", WordKind::Number),
        ("。", WordKind::Punctuation),
        ("😀", WordKind::Punctuation),
        ("\0", WordKind::Punctuation),
        (" \n", WordKind::Space),
        ("\u{301}", WordKind::Word),
    ];
    for (word, kind) in cases {
        assert_eq!(WordKind::of(word), kind, "{word:?}");
    }
}

/// Stored fingerprints depend on every word and tag. A new dictionary, model or Unicode version shows here: then
/// `DATA_VERSION` has to change with the number.
#[test]
fn words_and_tags_are_frozen() {
    let lists = [StopList::Hit, StopList::Baidu, StopList::Cn, StopList::Scu].map(StopList::text).concat();
    // With and without line ends: dictionary words, and runs for the model.
    let text =
        lists.replace('\n', "") + &lists + "Съешь ещё 한국어 カタカナとひら ภาษาไทย مرحبا क्षि 👨\u{200D}👩";
    let mixed = Mixed::new(Chinese::new(UserDictionary::default(), true, true));
    let mut digest = 0xCBF2_9CE4_8422_2325_u64;
    for byte in cut_with_tags(&mixed, &text).join(" ").bytes() {
        digest = (digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3);
    }
    assert_eq!(digest, 0xE184_EC7D_B6CA_86B7, "the digest of words and tags is now {digest:#018X}");
}

#[test]
fn a_word_is_small() {
    assert_eq!(size_of::<Word>(), 16);
}
