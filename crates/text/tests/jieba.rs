//! The words and tags of [`Chinese`] against those of jieba-rs 0.11: all Chinese text there is, random strings, and
//! random user dictionaries. Not one may differ, with the model or without.
//!
//! `LEITONG_QUICK` set: only every twentieth text.

#![expect(clippy::unwrap_used, reason = "the helpers of a test are tests, too")]

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use jieba_rs::Jieba;
use leitong_text::normalize::{Normalizer, Options};
use leitong_text::segment::{Chinese, Tag, UserDictionary};
use leitong_text::span::Span;
use proptest::prelude::*;

static JIEBA: LazyLock<Jieba> = LazyLock::new(Jieba::new);

/// Ours, with a user's words, and what jieba is to say about the tags of those.
struct Pair {
    jieba: Jieba,
    with_model: Chinese,
    without_model: Chinese,
    own_tags: BTreeMap<String, String>,
}

impl Pair {
    fn new(user: &UserDictionary, jieba: Jieba, own_tags: BTreeMap<String, String>) -> Self {
        let chinese = |hmm| Chinese::new(user.clone(), hmm, true);
        Self { jieba, with_model: chinese(true), without_model: chinese(false), own_tags }
    }

    /// The first difference, if there is one.
    fn difference(&self, text: &str) -> Option<String> {
        [false, true].into_iter().find_map(|hmm| {
            self.different_words(text, hmm)
                .or_else(|| self.different_tags(text, hmm))
                .or_else(|| self.different_modes(text, hmm))
        })
    }

    fn ours(&self, hmm: bool) -> &Chinese {
        if hmm { &self.with_model } else { &self.without_model }
    }

    fn different_words(&self, text: &str, hmm: bool) -> Option<String> {
        let mut offsets = Vec::new();
        self.ours(hmm).cut_offsets(text, &mut offsets);
        let ours = offsets.windows(2).map(|pair| (pair[0] as usize, pair[1] as usize));
        let theirs = self.jieba.cut(text, hmm);
        let theirs = theirs.iter().map(|token| (token.byte_start, token.byte_end));
        first_difference(text, &format!("words, model {hmm}"), ours, theirs)
    }

    fn different_tags(&self, text: &str, hmm: bool) -> Option<String> {
        let (mut offsets, mut tags) = (Vec::new(), Vec::new());
        self.ours(hmm).tag_offsets(text, &mut offsets, &mut tags);
        let ours = offsets.windows(2).zip(&tags).map(|(pair, tag)| (pair[0] as usize, tag.as_str()));
        let theirs = self.jieba.tag(text, hmm);
        let theirs = theirs.iter().map(|tagged| {
            (tagged.byte_start, self.own_tags.get(tagged.word).map_or(tagged.tag, String::as_str))
        });
        first_difference(text, &format!("tags, model {hmm}"), ours, theirs)
    }

    fn different_modes(&self, text: &str, hmm: bool) -> Option<String> {
        let spans = |spans: Vec<Span>| spans.into_iter().map(|span| (span.start as usize, span.end as usize));
        let search = self.jieba.cut_for_search(text, hmm);
        let search = search.iter().map(|token| (token.byte_start, token.byte_end));
        let all = self.jieba.cut_all(text);
        let all = all.iter().map(|token| (token.byte_start, token.byte_end));
        let ours = self.ours(hmm);
        first_difference(text, &format!("search, model {hmm}"), spans(ours.cut_for_search(text)), search)
            .or_else(|| first_difference(text, "all", spans(ours.cut_all(text)), all))
    }
}

/// What stands where two lists first differ.
fn first_difference<T: PartialEq + std::fmt::Debug>(
    text: &str,
    what: &str,
    mut ours: impl Iterator<Item = (usize, T)>,
    mut theirs: impl Iterator<Item = (usize, T)>,
) -> Option<String> {
    loop {
        let (our, their) = (ours.next(), theirs.next());
        if our != their {
            let at = their.as_ref().or(our.as_ref()).map_or(0, |(at, _)| *at);
            let near: String = text[at..].chars().take(20).collect();
            return Some(format!("{what}: ours {our:?}, jieba's {their:?}, at {near:?}"));
        }
        our.as_ref()?;
    }
}

fn plain() -> Pair {
    Pair::new(&UserDictionary::default(), JIEBA.clone(), BTreeMap::new())
}

fn data() -> PathBuf {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    std::env::var_os("LEITONG_SHARED").map_or_else(beside, PathBuf::from).join("data")
}

/// Calls `each` with every text of a file: the texts of JSON lines, and whatever files of an archive are UTF-8.
fn each_text(path: &Path, mut each: impl FnMut(&str)) {
    let mut decoder = zstd::Decoder::new(File::open(path).unwrap()).unwrap();
    decoder.window_log_max(27).unwrap();
    if path.to_string_lossy().ends_with(".jsonl.zst") {
        for line in BufReader::new(decoder).lines() {
            let row: serde_json::Value = serde_json::from_str(&line.unwrap()).unwrap();
            each(row["text"].as_str().unwrap_or_default());
        }
    } else if path.to_string_lossy().ends_with(".tar.zst") {
        for entry in tar::Archive::new(decoder).entries().unwrap() {
            let mut content = Vec::new();
            entry.unwrap().read_to_end(&mut content).unwrap();
            each(str::from_utf8(&content).unwrap_or_default());
        }
    }
}

#[test]
fn all_chinese_text() {
    let Ok(files) = fs::read_dir(data()) else {
        println!("skipped: all_chinese_text (needs ../shared/data)");
        return;
    };
    let files: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
    let every = if std::env::var_os("LEITONG_QUICK").is_some() { 20 } else { 1 };
    let pair = plain();
    let check = |path: &PathBuf| {
        let (mut bytes, mut count) = (0, 0);
        each_text(path, |text| {
            count += 1;
            if count % every == 0 && !text.is_ascii() {
                bytes += text.len();
                let found = pair
                    .different_words(text, false)
                    .or_else(|| pair.different_words(text, true))
                    .or_else(|| pair.different_tags(text, false))
                    .or_else(|| pair.different_tags(text, true));
                assert_eq!(found, None, "{}, text {count}", path.display());
            }
            if count % (every * 50) == 0 {
                assert_eq!(pair.difference(text), None, "{}, text {count}", path.display());
            }
        });
        bytes
    };
    let compressed = |path: &&PathBuf| path.extension().is_some_and(|ending| ending == "zst");
    let (one, two): (Vec<_>, Vec<_>) =
        files.iter().filter(compressed).enumerate().partition(|(number, _)| number % 2 == 0);
    let bytes: usize = std::thread::scope(|scope| {
        let halves = [one, two]
            .map(|half| scope.spawn(move || half.into_iter().map(|(_, path)| check(path)).sum::<usize>()));
        halves.map(|half| half.join().unwrap()).iter().sum()
    });
    println!("{:.1} MB of text, no difference", bytes as f64 / 1e6);
    assert!(bytes > 1_000_000, "hardly any text was found");
}

/// Chinese, Latin, digits, emoji, what only looks like Chinese, and broken mixtures of them.
fn mixture() -> impl Strategy<Value = String> {
    let common = "的一是在不了有和人这中大为上个国我以要他时来用们生到作地于出就分对成会可主发年动同工也能下过子说产种面而方后多定行学法所民得经十三之进着等部度家电力里如水化高自二理起小物现实加量都两体制机当使点从业本去把性好应开它合还因由其些然前外天政四日那社义事平形相全表间样与关各重新线内数正心反你明看原又么利比或但质气第向道命此变条只没结解问意建月公无系军很情者最立代想已通并提直题党程展五果料象员革位入常文总次品式活设及管特件长求老头基资边流路级少图山统接知较将组见计别她手角期根论运农指几九区强放决西被干做必战先回则任取据处队南给色光门即保治北造百规热领七海口东导器压志世金增争济阶油思术极交受联什认六共权收证改清己美再采转更单风切打白教速花带安场身车例真务具万每目至达走积示议声报斗完类八离华名确才科张信马节话米整空元况今集温传土许步群广石记需段研界拉林律叫且究观越织装影算低持音众书布复容儿须际商非验连断深难近矿千周委素技备半办青省列习响约支般史感劳便团往酸历市克何除消构府称太准精值号率族维划选标写存候毛亲快效斯院查江型眼王按格养易置派层片始却专状育厂京识适属圆包火住调满县局照参红细引听该铁价严";
    let common: Vec<char> = common.chars().collect();
    let piece = prop_oneof![
        6 => proptest::collection::vec(proptest::sample::select(common), 1..12).prop_map(String::from_iter),
        2 => "[一-龥]{1,6}",
        1 => "[\u{3400}-\u{4DBF}\u{9FA6}-\u{9FFF}\u{F900}-\u{FAFF}\u{20000}-\u{20100}]{1,3}",
        2 => "[a-zA-Z0-9+#&._%-]{1,8}",
        2 => "[，。、；：？！“”（）《》 \t\r\n·—…]{1,3}",
        1 => "(\r\n|\r|\n|👨\u{200D}👩|🇨🇳|😀|é|ñ|д|한국어|カナ|\u{301}|\u{FEFF}|\0|\u{10FFFF}|\u{2FA20}|\u{2F800}){1,2}",
        1 => any::<char>().prop_map(String::from),
        2 => proptest::sample::select(vec![
            "T恤", "3D打印", "4S店", "A股", "C++", "卡拉OK", "γ射线", "中华人民共和国", "习近平总书记", "张尧", "杭研大厦", "10%", "v1.2-b_3",
            "5.4.5", "WES-5.4.5", "云计算", "创新办", "龘齉", "一一", "二〇一二年", "十二月三十一日",
        ]).prop_map(str::to_owned),
    ];
    proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

#[test]
fn random_mixtures() {
    let pair = plain();
    proptest!(cases(3000), |(text in mixture())| {
        prop_assert_eq!(pair.difference(&text), None);
    });
}

#[test]
fn long_texts_without_separators() {
    let pair = plain();
    for word in ["的", "中", "龘", "a", "-", "㐀", "𠮷", "中a", "习近平总书记", "。", "\r\n"] {
        for count in [1, 2, 100, 255, 256, 257, 300, 600, 5000] {
            assert_eq!(pair.difference(&word.repeat(count)), None, "{count} times {word:?}");
        }
    }
    let mixed = "中华人民共和国a1-龘㐀𠮷".repeat(70_000);
    assert_eq!(pair.different_words(&mixed, true).or_else(|| pair.different_tags(&mixed, false)), None);
}

/// A line of a user dictionary: word, frequency, tag.
fn line() -> impl Strategy<Value = (String, Option<u32>, Option<String>)> {
    let word = prop_oneof![
        3 => "[的一是在不了有和人这中大为上个国我以要他时来用们生到作地于出就分对成会可主发年]{1,4}",
        1 => "[一-龥]{1,3}",
        1 => "[\u{3400}-\u{3410}\u{9FD0}-\u{9FFF}\u{20000}-\u{20010}]{1,3}",
        1 => "[a-c0-2+#&._%-]{1,4}",
        1 => "[中国ab-]{2,5}",
        1 => "(，|😀|中，国|\u{301})",
        1 => proptest::sample::select(vec!["中国", "中华人民共和国", "我们", "雷同网", "的", "一个", "γ射线", "𠮷野家", "习近平总书记说"]).prop_map(str::to_owned),
    ];
    let frequency = proptest::option::of(prop_oneof![1..10_u32, 1..1_000_000_u32, Just(u32::MAX)]);
    (word, frequency, proptest::option::of("[a-z]{1,4}"))
}

#[test]
fn random_user_dictionaries() {
    let normalizer = Normalizer::new(Options::default());
    let text =
        (proptest::collection::vec(line(), 1..30), proptest::collection::vec((mixture(), any::<u64>()), 12));
    proptest!(cases(48), |((lines, texts) in text)| {
        let mut file = String::new();
        let mut added = BTreeMap::new();
        for (word, frequency, tag) in lines {
            let fields = [Some(word.clone()), frequency.map(|f| f.to_string()), tag.clone()];
            let line = fields.into_iter().flatten().collect::<Vec<_>>().join(" ");
            if !word.starts_with('#') && UserDictionary::parse(&line, &normalizer).is_ok() {
                file += &format!("{line}\n");
                added.insert(normalizer.normalize(&word).text, (frequency, tag));
            }
        }
        let user = UserDictionary::parse(&file, &normalizer).unwrap();
        let mut jieba = JIEBA.clone();
        let mut own_tags = BTreeMap::new();
        for (word, (frequency, tag)) in &added {
            jieba.add_word(word, frequency.map(|f| f as usize), tag.as_deref());
            if let Some(tag) = tag {
                own_tags.insert(word.clone(), tag.clone());
            }
        }
        let pair = Pair::new(&user, jieba, own_tags);
        let words: Vec<&String> = added.keys().collect();
        for (text, seed) in texts {
            // The user's words strewn into the text.
            let mut text = text;
            let mut seed = seed;
            for _ in 0..8 {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                if let Some(word) = words.get((seed >> 33) as usize % words.len().max(1)) {
                    let at = text.floor_char_boundary((seed >> 20) as usize % (text.len() + 1));
                    text.insert_str(at, word);
                }
            }
            prop_assert_eq!(pair.difference(&text), None, "{:?}", &added);
        }
    });
}

#[test]
fn tags_of_users_can_be_many() {
    let mut lines = String::new();
    for number in 0..1000 {
        lines += &format!("词{number}x 1000 t{number}\n");
    }
    let user = UserDictionary::parse(&lines, &Normalizer::new(Options::default())).unwrap();
    let (mut offsets, mut tags) = (Vec::new(), Vec::new());
    Chinese::new(user, true, true).tag_offsets("词7x和词999x", &mut offsets, &mut tags);
    assert_eq!(tags, ["t7", "c", "t999"].map(|tag| Tag::new(tag).unwrap()));
}
