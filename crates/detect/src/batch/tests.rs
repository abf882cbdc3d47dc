use super::lists::Shared;
use super::propose::Tally;
use super::ranges::Ranges;
use super::*;
use crate::verdict::Verdict;
use crate::verify::Reading;
use leitong_store::Scoring;
use proptest::prelude::*;

fn quiet(_: Stage, _: u64, _: u64) {}

fn run(texts: &[&str], memory: u64) -> (tempfile::TempDir, Run) {
    let folder = tempfile::tempdir().unwrap();
    let options = Options { folder: folder.path().to_owned(), memory };
    let mut corpus = Corpus::open(&options).unwrap();
    let document =
        |(at, text): (usize, &&str)| Incoming { id: at.to_string(), text: (*text).into(), spot: None };
    let documents: Vec<Incoming> = texts.iter().enumerate().map(document).collect();
    corpus.push(&documents).unwrap();
    let run = corpus.finish(None, &quiet).unwrap();
    (folder, run)
}

const LIBRARY: &str = "昨天上午，市图书馆新馆在城东正式开馆，首批十二万册图书全部上架，市民凭身份证即可办理借阅手续。\
    馆长表示，新馆每周开放六天，周末还将举办面向儿童的绘本故事会，欢迎家长带孩子前来参加。";
const COLD: &str = "本报讯 受冷空气影响，明天夜间起我市将迎来今年入冬以来最强的一次降温过程，气象部门提醒市民注意添衣保暖。\
    道路结冰路段请减速慢行，农户应当及时加固大棚，做好防冻准备工作，防止蔬菜受损影响市场供应。";

fn fates(texts: &[&str], preference: Option<&[u64]>) -> Vec<Fate> {
    let (_folder, run) = run(texts, 1 << 26);
    run.select(preference, &quiet, &mut |_| Ok(())).unwrap().fates
}

#[test]
fn the_first_of_copies_stays() {
    let edited = LIBRARY.replace("正式开馆", "对外开放");
    let spaced = LIBRARY.replace('，', " ");
    let texts = [LIBRARY, COLD, &edited, &spaced, "", ""];
    let expected = [Fate::Stays, Fate::Stays, Fate::Goes(0), Fate::Goes(0), Fate::Stays, Fate::Stays];
    assert_eq!(fates(&texts, None), expected);
    let last_first: Vec<u64> = (0..6).rev().collect();
    let expected = [Fate::Goes(3), Fate::Stays, Fate::Goes(3), Fate::Stays, Fate::Stays, Fate::Stays];
    assert_eq!(fates(&texts, Some(&last_first)), expected, "the last is preferred");
}

#[test]
fn the_container_stays() {
    let both = format!("{COLD}\n{LIBRARY}{COLD}");
    let edited = LIBRARY.replace("正式开馆", "对外开放");
    let fates = fates(&[LIBRARY, &edited, &both], None);
    assert_eq!(fates, [Fate::Goes(2), Fate::Goes(2), Fate::Stays]);
}

/// Documents made of few sentences, so that much is shared.
fn made_of(sentences: &[Vec<usize>]) -> Vec<String> {
    const WORDS: &str = "春眠不觉晓处处闻啼鸟夜来风雨声花落知多少白日依山尽黄河入海流欲穷千里目更上一层楼床前明月光疑是地上霜举头望明月低头思故乡";
    let words: Vec<char> = WORDS.chars().collect();
    let sentence = |seed: usize| (0..17).map(move |at| (seed * 31 + at * (seed % 7 + 1)) % 60);
    let text = |list: &Vec<usize>| {
        list.iter().flat_map(|&seed| sentence(seed)).map(|at| words[at % words.len()]).collect()
    };
    sentences.iter().map(text).collect()
}

/// What [`Scoring`] says, word for word, over all earlier documents.
fn proposed_plainly(texts: &[String], ordinal: usize, scoring: &Scoring) -> Vec<u32> {
    let readings: Vec<Reading> = texts.iter().map(|text| Reading::of(text)).collect();
    let first = |at: usize| readings.iter().position(|own| own.units == readings[at].units).unwrap();
    let marks: Vec<Vec<u32>> = readings.iter().map(|reading| reading.hashes().collect()).collect();
    if first(ordinal) != ordinal || readings[ordinal].units.is_empty() {
        return Vec::new();
    }
    let holders = |mark: u32| (0..texts.len()).filter(|&at| marks[at].contains(&mark)).collect::<Vec<_>>();
    let (mut proposed, mut spare) = (Vec::new(), Vec::new());
    for earlier in (0..ordinal).filter(|&at| first(at) == at) {
        let (mut weight, mut count) = (0, 0);
        for &mark in marks[ordinal].iter().filter(|mark| marks[earlier].contains(mark)) {
            let holders = holders(mark);
            let firsts: Vec<usize> = holders.iter().copied().filter(|&at| first(at) == at).collect();
            if firsts.iter().take(scoring.used).any(|&at| at == earlier) {
                weight += scoring.weight(holders.len() - 1);
                count += 1;
            }
        }
        let fewer = marks[ordinal].len().min(marks[earlier].len()) as u32;
        if weight >= scoring.need(fewer) && count > 0 {
            proposed.push((std::cmp::Reverse(count), earlier as u32));
        } else if count > 0 && scoring.may_be_spared(count, fewer) {
            spare.push((std::cmp::Reverse(count), earlier as u32));
        }
    }
    spare.sort_unstable();
    proposed.extend(spare.into_iter().take(scoring.spare));
    proposed.sort_unstable();
    proposed.into_iter().map(|(_, earlier)| earlier).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn what_was_seen_is_what_is_there(
        sentences in prop::collection::vec(prop::collection::vec(0usize..9, 0..12), 1..40),
    ) {
        let texts = made_of(&sentences);
        let (_folder, run) = run(&texts.iter().map(String::as_str).collect::<Vec<_>>(), 1 << 26);
        let (mut bench, mut other) = (super::run::Bench::default(), super::run::Bench::default());
        for proposed in &run.candidates {
            let a = proposed.ordinal;
            for &b in &proposed.others {
                if let Some(seen) = run.seen(&mut bench, a, b).unwrap() {
                    prop_assert_eq!(seen, run.compared(&mut other, a, b).unwrap(), "{} and {}", a, b);
                }
            }
        }
    }

    #[test]
    fn candidates_are_those_of_the_definition(
        sentences in prop::collection::vec(prop::collection::vec(0usize..9, 0..5), 1..40),
    ) {
        let texts = made_of(&sentences);
        let (_folder, run) = run(&texts.iter().map(String::as_str).collect::<Vec<_>>(), 1 << 26);
        for ordinal in 0..texts.len() as u32 {
            let found = run.candidates.iter().find(|proposed| proposed.ordinal == ordinal);
            let found = found.map_or(&[][..], |proposed| &proposed.others);
            let plainly = proposed_plainly(&texts, ordinal as usize, &Scoring::DEFAULT);
            prop_assert_eq!(found, plainly, "of {}", ordinal);
        }
    }

    #[test]
    fn candidates_are_those_of_the_definition_where_few_documents_are_very_many(
        sentences in prop::collection::vec(prop::collection::vec(0usize..30, 0..30), 1..40),
        (rare, used, percent, least) in (2u32..5, 2usize..8, 0u32..80, 0u32..3000),
    ) {
        let texts = made_of(&sentences);
        let (_folder, run) = run(&texts.iter().map(String::as_str).collect::<Vec<_>>(), 1 << 26);
        let scoring = Scoring { long: 3 * used, used, rare, percent, least, spare: 2, ..Scoring::DEFAULT };
        let shared = Shared::find(&run.documents, &run.classes.sizes, &scoring, 1 << 26).unwrap();
        let (range, mut tally) = (Ranges::default().of(&shared, 0).unwrap(), Tally::default());
        for ordinal in (0..texts.len() as u32).filter(|&at| run.classes.sizes[at as usize] > 0) {
            let own = range.of(ordinal);
            let found = tally.propose(ordinal, own, &shared.lists, &shared.sizes, &scoring).unwrap();
            prop_assert_eq!(found, proposed_plainly(&texts, ordinal as usize, &scoring), "of {}", ordinal);
        }
    }

    #[test]
    fn little_memory_gives_the_same(
        sentences in prop::collection::vec(prop::collection::vec(0usize..40, 0..6), 1..60),
        // Nothing of it in memory, or a part.
        little in prop_oneof![Just(0), 0u64..40_000],
    ) {
        let texts = made_of(&sentences);
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let pairs = |memory: u64| {
            let (_folder, run) = run(&texts, memory);
            let mut pairs = Vec::new();
            let selection = run.select(None, &quiet, &mut |pair| { pairs.push(pair); Ok(()) }).unwrap();
            (pairs, selection)
        };
        prop_assert_eq!(pairs(1 << 26), pairs(little));
    }

    #[test]
    fn whatever_goes_names_one_that_stays_and_is_near(
        sentences in prop::collection::vec(prop::collection::vec(0usize..12, 1..6), 1..40),
    ) {
        let texts = made_of(&sentences);
        let (_folder, run) = run(&texts.iter().map(String::as_str).collect::<Vec<_>>(), 1 << 26);
        let fates = run.select(None, &quiet, &mut |_| Ok(())).unwrap().fates;
        for (ordinal, fate) in fates.iter().enumerate() {
            if let Fate::Goes(keeper) = fate {
                prop_assert_eq!(fates[*keeper as usize], Fate::Stays);
                let verdict = run.judge(ordinal as u32, *keeper).unwrap().ruling.verdict;
                prop_assert!(verdict.is_duplicate() && verdict != Verdict::Contains, "{:?}", verdict);
            }
        }
    }
}

#[test]
fn what_is_left_of_the_memory() {
    let (few, many) = (1000, 1_000_000);
    assert!(least_memory(few) < 64 << 20 && least_memory(many) > 64 << 20);
    assert_eq!(memory_left(1 << 30, many) + least_memory(many), 1 << 30);
    assert_eq!(memory_left(64 << 20, many), 8 << 20, "too little: files, but not of a few bytes each");
}

/// Texts in one string, each with something before it.
struct Kept(String);

impl Originals for Kept {
    fn text<'r>(&self, spot: Spot, room: &'r mut Vec<u8>) -> std::io::Result<std::borrow::Cow<'r, str>> {
        let from = spot.place as usize;
        room.clear();
        room.extend_from_slice(&self.0.as_bytes()[from..from + spot.length as usize]);
        let text = std::str::from_utf8(room).unwrap();
        text.strip_prefix("text: ").map(Into::into).ok_or_else(|| std::io::Error::other("it is another"))
    }
}

#[test]
fn texts_that_are_not_copied_are_read_where_they_came_from() {
    let edited = LIBRARY.replace("正式开馆", "对外开放");
    let texts = [LIBRARY, COLD, &edited, &LIBRARY.replace('，', " ")];
    let mut all = String::new();
    let mut documents = Vec::new();
    for (at, text) in texts.iter().enumerate() {
        let record = format!("text: {text}");
        let spot = Spot { place: all.len() as u64, length: record.len() as u32 };
        // One of them is copied all the same.
        documents.push(Incoming {
            id: at.to_string(),
            text: (*text).into(),
            spot: (at != 2).then_some(spot),
        });
        all += &record;
    }
    let read = |all: String| {
        let folder = tempfile::tempdir().unwrap();
        let options = Options { folder: folder.path().to_owned(), memory: 1 << 26 };
        let mut corpus = Corpus::open(&options).unwrap();
        corpus.push(&documents).unwrap();
        drop(corpus);
        // Nothing was noted, so nothing counts; then everything.
        let mut corpus = Corpus::open(&options).unwrap();
        assert_eq!(corpus.count(), 0);
        corpus.push(&documents).unwrap();
        corpus.checkpoint("so far").unwrap();
        drop(corpus);
        let corpus = Corpus::open(&options).unwrap();
        assert_eq!((corpus.count(), corpus.note()), (4, "so far"));
        let copied = std::fs::metadata(folder.path().join("texts")).unwrap().len();
        assert_eq!(copied as usize, 4 + edited.len(), "ids, and one text");
        let kept = std::sync::Arc::new(Kept(all));
        corpus.finish(Some(kept), &quiet).map(|run| (folder, run))
    };
    let (_folder, run) = read(all.clone()).unwrap();
    let (_copies, copied) = self::run(&texts, 1 << 26);
    for ordinal in 0..4 {
        assert_eq!(run.text(ordinal).unwrap(), texts[ordinal as usize]);
        assert_eq!(run.id(ordinal).unwrap(), ordinal.to_string());
    }
    let fates = |run: &Run| run.select(None, &quiet, &mut |_| Ok(())).unwrap().fates;
    assert_eq!(fates(&run), fates(&copied));
    let mut explain = (Explainer::default(), Explainer::default());
    assert_eq!(run.explain(&mut explain.0, 2, 0).unwrap(), copied.explain(&mut explain.1, 2, 0).unwrap());
    let failed = read(all.replace("text: ", "book: ")).err().unwrap().to_string();
    assert!(failed.contains("it is another") && failed.contains("changed"), "{failed}");
}
