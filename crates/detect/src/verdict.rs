//! The verdict on two texts, from what they share and from their numbers, with the rule that decided it.
//!
//! Nothing is known here of other documents, so wording that many sources share cannot be discounted; what can be
//! seen from the pair alone is judged:
//!
//! 1. the same letters and digits: `exact`
//! 2. numbers agree and 45 % of all five-unit runs are shared: `near`
//! 3. enough of the shorter text is in the longer one (the bar is 55 %, 80 % for short texts, and up to 50 % higher
//!    where numbers differ): `near` when that is also half of the longer text, else `contains` or `contained`
//! 4. one long shared passage without conflicting numbers: `quotes`
//! 5. else `different`

use crate::align::Alignment;
use crate::units::{Numeral, Unit};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What one text is to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The same letters and digits in the same order.
    Exact,
    /// The same text with edits.
    Near,
    /// The first text holds nearly all of the second, and more.
    Contains,
    /// The second text holds nearly all of the first, and more.
    Contained,
    /// A passage is shared, the rest is not.
    Quotes,
    /// Nothing that counts is shared.
    Different,
}

impl Verdict {
    /// Whether one of the two is a duplicate.
    #[must_use]
    pub fn is_duplicate(self) -> bool {
        matches!(self, Self::Exact | Self::Near | Self::Contains | Self::Contained)
    }

    /// The verdict as it is written.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Near => "near",
            Self::Contains => "contains",
            Self::Contained => "contained",
            Self::Quotes => "quotes",
            Self::Different => "different",
        }
    }
}

/// A verdict with its reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// The rule that decided, in words and figures.
    pub reason: String,
}

/// Share of five-unit runs from which two texts with agreeing numbers are near.
const NEAR_SHARE: f64 = 0.45;
/// Share of the shorter text that must be found in the longer one, for long texts.
const COVERED: f64 = 0.55;
/// How much more of a short text must be found.
const COVERED_SHORT: f64 = 0.25;
/// Texts up to this many units count as short.
const SHORT: f64 = 300.0;
/// How much differing numbers raise the bar at most.
const NUMBERS: f64 = 0.5;
/// Units a quoted passage needs: in a long text, in a very short one, and as a share of the shorter text.
const QUOTE: (f64, f64, f64) = (80.0, 24.0, 0.3);
/// What a number that differs inside a passage takes from it, in units.
const CONFLICT: f64 = 20.0;

/// Judges two texts by their units and alignment.
#[must_use]
pub fn judge(a: &[Unit], b: &[Unit], alignment: &Alignment) -> Judgement {
    let say = |verdict, reason: String| Judgement { verdict, reason };
    if a.is_empty() || b.is_empty() {
        return say(Verdict::Different, "one of the texts has no letters".into());
    }
    if a == b {
        return say(Verdict::Exact, "all letters and digits are the same, in the same order".into());
    }
    let (shorter, longer) = (a.len().min(b.len()) as f64, a.len().max(b.len()) as f64);
    let matched = alignment.matched() as f64;
    let numbers = Numbers::compare(a, b);

    let share = shared_runs(alignment, a.len(), b.len());
    if share >= NEAR_SHARE && !numbers.disagree() {
        return say(
            Verdict::Near,
            format!("{} of all five-unit runs are shared and no number differs", percent(share)),
        );
    }

    let (covered, covered_longer) = (matched / shorter, matched / longer);
    let bar = COVERED + COVERED_SHORT * (SHORT / shorter).min(1.0) + NUMBERS * numbers.different_share();
    if covered >= bar {
        let why = format!(
            "{} of the shorter text is in the longer one (bar: {})",
            percent(covered),
            percent(bar.min(1.0))
        );
        return match (covered_longer >= 0.5, a.len() > b.len()) {
            (true, _) => {
                say(Verdict::Near, format!("{why}, which is {} of the longer", percent(covered_longer)))
            }
            (false, true) => say(Verdict::Contains, why),
            (false, false) => say(Verdict::Contained, why),
        };
    }

    let needed = (QUOTE.2 * shorter).min(QUOTE.0).max(QUOTE.1);
    let best = alignment.passages.iter().max_by(|x, y| strength(x).total_cmp(&strength(y)));
    if let Some(passage) = best {
        let conflicts = conflicts(a, b, passage, alignment) as f64;
        if strength(passage) - CONFLICT * conflicts >= needed {
            let reason = format!("one passage of {} equal units is shared, the rest is not", passage.matched);
            return say(Verdict::Quotes, reason);
        }
    }
    let reason = if covered < 0.2 {
        format!("only {} of the shorter text is shared", percent(covered))
    } else if numbers.disagree() {
        format!("{} of the shorter text is shared, but numbers differ", percent(covered))
    } else {
        format!("{} of the shorter text is shared, the bar is {}", percent(covered), percent(bar.min(1.0)))
    };
    say(Verdict::Different, reason)
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

fn strength(passage: &crate::align::Passage) -> f64 {
    passage.matched as f64 - passage.differing as f64
}

/// Jaccard similarity of five-unit runs, as the alignment shows it.
fn shared_runs(alignment: &Alignment, a: usize, b: usize) -> f64 {
    let runs: usize = alignment.passages.iter().map(|passage| passage.runs).sum();
    let shared = alignment.matched().saturating_sub(4 * runs) as f64;
    let all = (a.saturating_sub(4) + b.saturating_sub(4)) as f64 - shared;
    if all > 0.0 { shared / all } else { 0.0 }
}

/// The numbers of two texts, compared as bags.
struct Numbers {
    /// Arabic numbers that only the first, only the second text has.
    arabic: (usize, usize),
    /// All numbers, Chinese ones too, that only one has.
    any: (usize, usize),
    /// Numbers of the text with fewer units.
    in_shorter: usize,
}

impl Numbers {
    fn compare(a: &[Unit], b: &[Unit]) -> Self {
        let (numbers_a, numbers_b) = (numbers(a), numbers(b));
        let arabic = |list: &[Number]| list.iter().filter(|n| n.arabic).cloned().collect::<Vec<_>>();
        let in_shorter = if a.len() <= b.len() { numbers_a.len() } else { numbers_b.len() };
        Self {
            arabic: only_in_each(&arabic(&numbers_a), &arabic(&numbers_b)),
            any: only_in_each(&numbers_a, &numbers_b),
            in_shorter,
        }
    }

    /// Each text has an Arabic number that the other lacks: a changed figure, not a cut or an addition.
    fn disagree(&self) -> bool {
        self.arabic.0.min(self.arabic.1) > 0
    }

    fn different_share(&self) -> f64 {
        let different = self.any.0.min(self.any.1) as f64;
        (different / self.in_shorter.max(1) as f64).min(1.0)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Number {
    digits: Vec<u64>,
    arabic: bool,
}

/// Runs of numerals: digits; or Chinese numerals, two or more, or one before a unit of time or order. The numbering
/// of articles and chapters is structure, not content.
fn numbers(units: &[Unit]) -> Vec<Number> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < units.len() {
        let length = units[at..].iter().take_while(|unit| unit.numeral().is_some()).count();
        if length == 0 {
            at += 1;
            continue;
        }
        let run = &units[at..at + length];
        at += length;
        let after = units.get(at).and_then(|unit| unit.character());
        let arabic = run.iter().any(|unit| unit.numeral() == Some(Numeral::Digit));
        let structure = matches!(after, Some('条' | '章' | '节' | '款' | '项'));
        let counts =
            arabic || length >= 2 || matches!(after, Some('月' | '日' | '号' | '届' | '期' | '时' | '次'));
        if counts && !structure {
            found.push(Number { digits: run.iter().map(|unit| unit.value()).collect(), arabic });
        }
    }
    found
}

fn only_in_each(a: &[Number], b: &[Number]) -> (usize, usize) {
    let mut balance: BTreeMap<&Number, i64> = BTreeMap::new();
    for number in a {
        *balance.entry(number).or_default() += 1;
    }
    for number in b {
        *balance.entry(number).or_default() -= 1;
    }
    let surplus = |sign: i64| balance.values().map(|&n| (n * sign).max(0) as usize).sum();
    (surplus(1), surplus(-1))
}

/// Differences inside a passage that have a numeral on both sides.
fn conflicts(a: &[Unit], b: &[Unit], passage: &crate::align::Passage, alignment: &Alignment) -> usize {
    let has_number = |units: &[Unit]| units.iter().any(|unit| unit.numeral().is_some());
    let matched: Vec<(usize, usize)> = passage
        .a
        .clone()
        .filter_map(|i| alignment.partners[i].map(|j| (i, j as usize)))
        .filter(|(_, j)| passage.b.contains(j))
        .collect();
    let gaps = matched.windows(2).filter(|pair| {
        let ((i, j), (next_i, next_j)) = (pair[0], pair[1]);
        next_j > j && has_number(&a[i + 1..next_i]) && has_number(&b[j + 1..next_j])
    });
    gaps.count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::align::align;
    use crate::units::units;

    fn verdict(a: &str, b: &str) -> Verdict {
        let (a, b) = (units(a).units, units(b).units);
        judge(&a, &b, &align(&a, &b)).verdict
    }

    const NEWS: &str = "昨天上午，市图书馆新馆在城东正式开馆，首批十二万册图书全部上架，市民凭身份证即可办理借阅手续。\
        馆长表示，新馆每周开放六天，周末还将举办面向儿童的绘本故事会，欢迎家长带孩子前来参加。";

    #[test]
    fn the_ladder_of_verdicts() {
        let edited = NEWS.replace("正式开馆", "对外开放").replace("欢迎", "诚邀");
        let other = "本报讯 受冷空气影响，明天夜间起我市将迎来今年入冬以来最强的一次降温过程，气象部门提醒市民注意添衣保暖。\
            道路结冰路段请减速慢行，农户应当及时加固大棚，做好防冻准备工作，防止蔬菜受损影响市场供应。";
        assert_eq!(verdict(NEWS, &NEWS.replace('，', " ")), Verdict::Exact);
        assert_eq!(verdict(NEWS, &edited), Verdict::Near);
        assert_eq!(verdict(NEWS, other), Verdict::Different);
        let long = format!("{other}{NEWS}{}", other.chars().rev().collect::<String>());
        assert_eq!(verdict(NEWS, &long), Verdict::Contained);
        assert_eq!(verdict(&long, NEWS), Verdict::Contains);
        let half: String = NEWS.chars().take(48).collect();
        assert_eq!(
            verdict(NEWS, &format!("{other}{half}{}", other.chars().rev().collect::<String>())),
            Verdict::Quotes
        );
        assert_eq!(verdict("", NEWS), Verdict::Different);
    }

    #[test]
    fn the_same_template_with_other_numbers_is_no_copy() {
        let rate = |usd: &str, eur: &str| {
            format!("中国外汇交易中心公布人民币汇率中间价：1美元对人民币{usd}元，1欧元对人民币{eur}元。")
        };
        assert_eq!(verdict(&rate("6.8296", "8.0351"), &rate("6.7718", "7.9925")), Verdict::Different);
    }

    #[test]
    fn short_posts_are_judged_too() {
        assert_eq!(verdict("今天天气真好，适合出去玩", "今天天气真好呀，适合出去玩儿"), Verdict::Near);
        assert_eq!(verdict("今天天气真好，适合出去玩", "明天可能下雨，记得带把伞"), Verdict::Different);
    }

    #[test]
    fn structure_is_no_content() {
        assert!(numbers(&units("第三条").units).is_empty());
        assert_eq!(numbers(&units("三月五日，12 345 人").units).len(), 3);
    }
}
