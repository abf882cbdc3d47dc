use super::*;
use crate::verdict::Verdict;
use leitong_text::units::UnitReader;
use proptest::prelude::*;

fn judge(a: &str, b: &str) -> (Evidence, Ruling) {
    let found = evidence(&Reading::of(a), &Reading::of(b), &[], &mut Scratch::default());
    (found, rule(&found))
}

fn verdict(a: &str, b: &str) -> Verdict {
    judge(a, b).1.verdict
}

const NEWS: &str = "昨天上午，市图书馆新馆在城东正式开馆，首批十二万册图书全部上架，市民凭身份证即可办理借阅手续。\
    馆长表示，新馆每周开放六天，周末还将举办面向儿童的绘本故事会，欢迎家长带孩子前来参加。";
const OTHER: &str = "本报讯 受冷空气影响，明天夜间起我市将迎来今年入冬以来最强的一次降温过程，气象部门提醒市民注意添衣保暖。\
    道路结冰路段请减速慢行，农户应当及时加固大棚，做好防冻准备工作，防止蔬菜受损影响市场供应。";

fn reversed(text: &str) -> String {
    text.chars().rev().collect()
}

#[test]
fn the_ladder_of_verdicts() {
    let edited = NEWS.replace("正式开馆", "对外开放").replace("欢迎", "诚邀");
    assert_eq!(verdict(NEWS, &NEWS.replace('，', " ")), Verdict::Exact);
    assert_eq!(verdict(NEWS, &edited), Verdict::Near);
    assert_eq!(verdict(NEWS, OTHER), Verdict::Different);
    let long = format!("{OTHER}{NEWS}{}", reversed(OTHER));
    assert_eq!(verdict(NEWS, &long), Verdict::Contained);
    assert_eq!(verdict(&long, NEWS), Verdict::Contains);
    let merged = format!("{NEWS}{}", reversed(OTHER));
    assert_eq!(verdict(&merged, NEWS), Verdict::Contains, "half of it is something else");
    let half: String = NEWS.chars().take(48).collect();
    assert_eq!(verdict(NEWS, &format!("{OTHER}{half}{}", reversed(OTHER))), Verdict::Quotes);
    assert_eq!(verdict("", NEWS), Verdict::Different);
    assert_eq!(verdict("", ""), Verdict::Different);
}

#[test]
fn the_same_template_with_other_numbers_is_no_copy() {
    let rate = |usd: &str, eur: &str| {
        format!("中国外汇交易中心公布人民币汇率中间价：1美元对人民币{usd}元，1欧元对人民币{eur}元。")
    };
    let (found, ruling) = judge(&rate("6.8296", "8.0351"), &rate("6.7718", "7.9925"));
    assert!(!ruling.verdict.is_duplicate(), "{}", reason(&found, ruling));
    assert!(found.numbers.disagree() && found.numbers.conflicts > 0, "{:?}", found.numbers);
}

#[test]
fn short_posts_are_judged_too() {
    assert_eq!(verdict("今天天气真好，适合出去玩", "今天天气真好呀，适合出去玩儿"), Verdict::Near);
    assert_eq!(verdict("今天天气真好，适合出去玩", "明天可能下雨，记得带把伞"), Verdict::Different);
}

#[test]
fn what_is_common_counts_little() {
    let own_words: String = reversed(OTHER).chars().take(20).collect();
    let (page, other) = (format!("{NEWS}{own_words}"), format!("{OTHER}{NEWS}{}", reversed(NEWS)));
    assert_eq!(verdict(&page, &other), Verdict::Contained, "when nobody else has it");
    let (own, other) = (Reading::of(&page), Reading::of(&other));
    let weights = vec![weight(200); own.marks.len()];
    let found = evidence(&own, &other, &weights, &mut Scratch::default());
    assert_eq!(rule(&found).verdict, Verdict::Different, "a form that two hundred sources have");
    assert!(found.scores().rare < 0.05 && found.scores().a_in_b > 0.75);
    assert_eq!([1, 2, 3, 25].map(weight), [1024, 1024, 853, 102]);
}

/// Words of nobody else: every Chinese character some places on.
fn moved(text: &str, by: u32) -> String {
    let characters = text.chars().filter(|c| ('一'..='龟').contains(c));
    characters.filter_map(|c| char::from_u32(c as u32 + by)).collect()
}

#[test]
fn one_date_does_not_part_long_texts() {
    let page = |year: u32| format!("{NEWS}{year}年{OTHER}");
    let (found, ruling) = judge(&page(2019), &page(2020));
    assert_eq!((ruling.verdict, ruling.rule), (Verdict::Near, Rule::Shared), "{found:?}");
    assert!(reason(&found, ruling).contains("though 1 numbers differ"), "{}", reason(&found, ruling));
    let notice = |year: u32| format!("国家统计局公布的数据显示，全国居民消费价格指数在{year}年继续保持平稳");
    let (found, ruling) = judge(&notice(2019), &notice(2020));
    assert!(!ruling.verdict.is_duplicate(), "the only number of a short text: {found:?}");
}

#[test]
fn common_text_is_near_if_its_numbers_are_the_same() {
    let words = |by: u32, length: usize| moved(NEWS, by).chars().take(length).collect::<String>();
    let page = format!("{NEWS}2019年{}", words(11, 34));
    let by_form = |other: &str| {
        let (own, other) = (Reading::of(&page), Reading::of(other));
        let weights = vec![weight(200); own.marks.len()];
        let found = evidence(&own, &other, &weights, &mut Scratch::default());
        assert!((0.5..0.6).contains(&found.jaccard()), "{found:?}");
        rule(&found).verdict
    };
    assert_eq!(by_form(&format!("{NEWS}2019年{}", words(12, 34))), Verdict::Near);
    assert_eq!(by_form(&format!("{NEWS}2019年{}35人", words(12, 34))), Verdict::Different);
}

#[test]
fn a_part_of_a_much_longer_text_has_to_be_most_of_the_shorter() {
    let part = format!("{NEWS}{OTHER}{}{}", moved(NEWS, 7), moved(OTHER, 9));
    let with = |by: u32, length: usize| {
        let more: String = moved(&part, by).chars().take(length).collect();
        format!("{part}{more}")
    };
    let short = with(20, 140);
    let (found, ruling) = judge(&short, &with(30, 150));
    assert_eq!(ruling.verdict, Verdict::Near, "{found:?}");
    let much_longer = format!("{}{}", with(31, 300), moved(&part, 40));
    let (found, ruling) = judge(&short, &much_longer);
    assert_eq!(ruling.verdict, Verdict::Quotes, "{found:?}");
    assert!((0.68..0.72).contains(&found.covered().0), "{found:?}");
}

#[test]
fn pieces_of_a_form_are_no_quotes() {
    let form = format!("{NEWS}{OTHER}{}", moved(NEWS, 3));
    // So many pieces of the form, each followed by words and a number of the page's own.
    let page = |pieces: usize, by: u32, numbers: [u32; 4]| -> String {
        let of = |text: &str, from: usize, length: usize| -> String {
            text.chars().filter(|c| c.is_alphanumeric()).skip(from).take(length).collect()
        };
        let own = moved(&form, by);
        let each = numbers.iter().take(pieces).enumerate();
        each.map(|(at, number)| format!("{}{}{number}", of(&form, at * 55, 50), of(&own, at * 30, 25)))
            .collect()
    };
    let (found, ruling) = judge(&page(4, 7, [315, 48, 26, 7]), &page(4, 9, [296, 51, 33, 8]));
    assert_eq!(ruling.verdict, Verdict::Different, "{found:?}");
    assert!(reason(&found, ruling).contains("form"), "{}", reason(&found, ruling));
    let (found, ruling) = judge(&page(4, 7, [315, 48, 26, 7]), &page(4, 9, [315, 48, 26, 7]));
    assert_ne!(ruling.verdict, Verdict::Different, "with the same numbers: {found:?}");
    let (found, ruling) = judge(&page(2, 7, [315, 48, 0, 0]), &page(2, 9, [296, 48, 0, 0]));
    assert_eq!(ruling.verdict, Verdict::Quotes, "a post that is passed on looks the same: {found:?}");
    let around = format!("{}{}", moved(&form, 11), moved(&form, 17));
    let (found, ruling) = judge(
        &format!("{}{around}", page(4, 7, [315, 48, 26, 7])),
        &format!("{}{}", moved(&around, 2), page(4, 9, [296, 51, 33, 8])),
    );
    assert_eq!(ruling.verdict, Verdict::Quotes, "if most of both is something else: {found:?}");
}

#[test]
fn a_form_is_common_reworded_filled_in_or_has_other_numbers_only() {
    let numbers = Numbers { in_a: 9, only_a: 3, only_b: 4, ..Numbers::default() };
    let rare = Evidence {
        a: 600,
        b: 640,
        matched: 360,
        rare: 340.0,
        runs: 8,
        best: 200.0,
        numbers,
        ..Evidence::default()
    };
    let verdict = |found: Evidence| rule(&found).verdict;
    assert_eq!(verdict(rare), Verdict::Quotes);
    let other = Numbers { in_a: 4, only_a: 4, ..numbers };
    assert_eq!(verdict(Evidence { numbers: other, ..rare }), Verdict::Different, "no number in common");
    for form in [
        Evidence { rare: 170.0, ..rare },
        Evidence { differing: 20, ..rare },
        Evidence { between: 50, ..rare },
    ] {
        assert_eq!(verdict(form), Verdict::Different, "{form:?}");
        let same = Numbers { only_a: 0, ..numbers };
        assert_eq!(
            verdict(Evidence { numbers: same, ..form }),
            Verdict::Quotes,
            "no number stands against another"
        );
        let many = Numbers { in_a: 90, ..numbers };
        assert_eq!(verdict(Evidence { numbers: many, ..form }), Verdict::Quotes, "revised, not filled in");
        assert_eq!(
            verdict(Evidence { b: 1100, ..form }),
            Verdict::Quotes,
            "the longer is mostly something else"
        );
    }
}

#[test]
fn sentences_taken_over_are_quotes() {
    let host = format!("{NEWS}{OTHER}");
    let words = |by: u32| moved(&host, by);
    let taken = host.split('。').filter(|sentence| !sentence.is_empty());
    let mixed: String =
        taken.zip(11..).map(|(sentence, by)| format!("{}。{sentence}。", words(by))).collect();
    let (found, ruling) = judge(&mixed, &format!("{}{host}{}", words(30), words(31)));
    assert_eq!((ruling.verdict, ruling.rule), (Verdict::Quotes, Rule::Passages), "{found:?}");
}

#[test]
fn long_texts_of_one_letter_end_soon() {
    let (a, b) = ("哈".repeat(20_000), "哈".repeat(10_000));
    assert!(judge(&a, &b).0.matched <= 10_000);
    assert_eq!(judge(&b, &b).1.verdict, Verdict::Exact);
}

#[test]
fn marks_alone_see_the_same_at_large() {
    let edited = NEWS.replace("正式开馆", "对外开放");
    let long = format!("{OTHER}{NEWS}{}", reversed(OTHER));
    let by_marks = |a: &str, b: &str| {
        let found = sketch_evidence(&Sketch::of(&Reading::of(a)), &Sketch::of(&Reading::of(b)), &[]);
        rule(&found).verdict
    };
    assert!(by_marks(NEWS, &edited).is_duplicate());
    assert_eq!(by_marks(NEWS, OTHER), Verdict::Different);
    assert_eq!(by_marks(NEWS, &long), Verdict::Contained);
    assert_eq!(by_marks(&long, NEWS), Verdict::Contains);
    // Long texts have fewer marks, and an edit takes some away: the chain goes on behind it.
    let book: String = (0..1000_u32).filter_map(|i| char::from_u32(0x4e00 + i * i * 7 % 5000)).collect();
    let edited: String = book.chars().enumerate().map(|(i, c)| if i % 17 == 9 { '雷' } else { c }).collect();
    assert!(by_marks(&book, &edited).is_duplicate());
}

#[test]
fn one_number_parts_two_pages_of_a_template() {
    let numbers =
        Numbers { arabic_only_a: 1, arabic_only_b: 1, in_a: 9, only_a: 1, only_b: 1, ..Numbers::default() };
    let page =
        Evidence { a: 1100, b: 1100, matched: 1000, rare: 10.0, runs: 3, numbers, ..Evidence::default() };
    assert!(!rule(&page).verdict.is_duplicate(), "{:?}", rule(&page));
    assert!(
        rule(&Evidence { rare: 1000.0, ..page }).verdict.is_duplicate(),
        "one date does not part what is rare"
    );
}

#[test]
fn a_form_with_the_same_numbers_needs_more() {
    let numbers = Numbers { in_a: 3, ..Numbers::default() };
    let half =
        Evidence { a: 300, b: 300, matched: 200, rare: 200.0, runs: 4, numbers, ..Evidence::default() };
    let common = Evidence { rare: 40.0, ..half };
    assert!(rule(&half).verdict.is_duplicate() && !rule(&common).verdict.is_duplicate());
    assert!(!rule(&half).holds_for_any_weights(&half));
    let more = Evidence { matched: 215, ..common };
    assert!(rule(&more).verdict.is_duplicate() && rule(&more).holds_for_any_weights(&more));
}

#[test]
fn a_quote_among_something_else_may_be_shorter() {
    let quote =
        Evidence { a: 900, b: 900, matched: 80, rare: 75.0, runs: 1, best: 75.0, ..Evidence::default() };
    assert_eq!(rule(&quote).verdict, Verdict::Quotes);
    assert_eq!(rule(&Evidence { best: 71.0, ..quote }).verdict, Verdict::Different);
    assert_eq!(rule(&Evidence { matched: 300, runs: 20, ..quote }).verdict, Verdict::Different);
}

proptest! {
    #[test]
    fn alignment_is_one_to_one_and_true(a in "[ab雷同12]{0,80}", b in "[ab雷同12]{0,80}") {
        let (x, y) = (Reading::of(&a), Reading::of(&b));
        let mut scratch = Scratch::default();
        let found = evidence(&x, &y, &[], &mut scratch);
        let (short, long) = if found.swapped { (&y, &x) } else { (&x, &y) };
        if !found.equal {
            let mut taken = vec![false; long.units.len()];
            let mut matched = 0;
            for at in 0..short.units.len() {
                if let Some(partner) = scratch.partner(at) {
                    prop_assert_eq!(short.units[at], long.units[partner]);
                    prop_assert!(!std::mem::replace(&mut taken[partner], true));
                    matched += 1;
                }
            }
            prop_assert_eq!(matched, found.matched);
        }
        prop_assert!(found.rare <= f64::from(found.matched) + 1e-6);
    }

    #[test]
    fn it_does_not_matter_who_asks(a in "[ab雷同，12]{0,80}", b in "[ab雷同，12]{0,80}") {
        let (one, other) = (judge(&a, &b), judge(&b, &a));
        let turned = match other.1.verdict {
            Verdict::Contains => Verdict::Contained,
            Verdict::Contained => Verdict::Contains,
            same => same,
        };
        // Texts of one length that differ may each be the shorter one.
        prop_assert_eq!(one.1.verdict, turned);
        prop_assert_eq!(one.0.matched, other.0.matched);
    }

    #[test]
    fn passages_are_places_in_the_texts(a in "[ab雷，同 1Ａ繁]{0,60}", b in "[ab雷，同 1Ａ繁]{0,60}") {
        let slice = |text: &str, range: &std::ops::Range<usize>| -> String {
            text.chars().skip(range.start).take(range.len()).collect()
        };
        let units = |text: &str| UnitReader::shared().read_placed(text).0;
        for passage in shared_passages(&a, &b) {
            for run in &passage.equal {
                prop_assert_eq!(units(&slice(&a, &run.a)), units(&slice(&b, &run.b)));
            }
        }
    }

    #[test]
    fn passages_inside_differences_stay_apart(
        a in prop::collection::vec(0usize..14, 1..12),
        b in prop::collection::vec(0usize..14, 1..12),
    ) {
        // Pieces of nine to fourteen characters, so that one fits into a difference between two others.
        let text = |order: &[usize]| -> String {
            order.iter().flat_map(|&piece| NEWS.chars().skip(piece * 3).take(9 + piece % 6)).collect()
        };
        let (a, b) = (text(&a), text(&b));
        for passage in shared_passages(&a, &b) {
            let ascending = passage.equal.windows(2).all(|w| w[0].a.end <= w[1].a.start && w[0].b.end <= w[1].b.start);
            prop_assert!(ascending, "{passage:?}");
        }
    }

    #[test]
    fn the_rarer_the_more_is_said(
        a in prop::collection::vec(0usize..14, 1..24),
        b in prop::collection::vec(0usize..14, 1..24),
        sources in prop::collection::vec((1u32..5, 0u32..9), 1..12),
    ) {
        // Batches do without counting where the most and the least that marks can weigh give the same verdict.
        let text = |order: &[usize], add: usize| -> String {
            let piece = |&at: &usize| NEWS.chars().skip(at * 5).take(12 + at % 20).collect::<String>();
            order.iter().map(|at| format!("{}{}", piece(at), if at % 3 == 0 { at + add } else { 0 })).collect()
        };
        let (x, y) = (Reading::of(&text(&a, 0)), Reading::of(&text(&b, 7)));
        let said = |more: bool| {
            let weights: Vec<u32> = (0..x.marks.len())
                .map(|at| sources[at % sources.len()])
                .map(|(few, others)| weight(if more { few + others } else { few }))
                .collect();
            match rule(&evidence(&x, &y, &weights, &mut Scratch::default())).verdict {
                Verdict::Different => 0,
                Verdict::Quotes => 1,
                _ => 2,
            }
        };
        prop_assert!(said(true) <= said(false));
    }

    #[test]
    fn sketches_do_not_panic(a in "[ab雷同12]{0,80}", b in "[ab雷同12]{0,80}") {
        let (a, b) = (Sketch::of(&Reading::of(&a)), Sketch::of(&Reading::of(&b)));
        let found = sketch_evidence(&a, &b, &[]);
        prop_assert!(found.matched <= found.a);
        let _ = reason(&found, rule(&found));
    }
}
