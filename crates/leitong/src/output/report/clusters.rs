//! Groups of documents: the one that stays and those that go for it, side by side.

use super::totals::number;
use super::{Facts, marked};
use crate::commands::batch::evidence::Scores;
use crate::output::Failure;
use crate::output::file::Output;
use crate::output::html::escape;
use leitong_detect::batch::{Fate, Pair};
use leitong_detect::verdict::Verdict;
use leitong_detect::verify::{reason, shared_passages};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Groups that are shown.
pub(super) const SHOWN: usize = 200;
/// Members of a group that are looked at, that are shown with both texts, and that are named besides.
const LOOKED_AT: usize = 2000;
const WITH_TEXT: usize = 5;
const NAMED: usize = 60;
/// Groups whose texts are in memory at a time.
const TOGETHER: usize = 8;

/// The largest groups: who stays, and who goes for it.
pub(super) struct Clusters {
    groups: Vec<(u32, Vec<u32>)>,
    /// All there are.
    pub(super) all: usize,
}

impl Clusters {
    pub(super) fn find(fates: &[Fate]) -> Self {
        let mut sizes = vec![0_u32; fates.len()];
        for fate in fates {
            if let Fate::Goes(kept) = fate {
                sizes[*kept as usize] += 1;
            }
        }
        let mut order: Vec<u32> =
            (0..).zip(&sizes).filter(|(_, size)| **size > 0).map(|(at, _)| at).collect();
        let all = order.len();
        order.sort_by_key(|&kept| (std::cmp::Reverse(sizes[kept as usize]), kept));
        order.truncate(SHOWN);
        let mut members: BTreeMap<u32, Vec<u32>> = order.iter().map(|&kept| (kept, Vec::new())).collect();
        for (document, fate) in (0..).zip(fates) {
            if let Fate::Goes(kept) = fate
                && let Some(members) = members.get_mut(kept)
            {
                members.push(document);
            }
        }
        let groups = order.into_iter().map(|kept| (kept, members.remove(&kept).unwrap_or_default()));
        Self { groups: groups.collect(), all }
    }

    pub(super) fn write(&self, facts: &Facts<'_>, out: &mut Output) -> Result<(), Failure> {
        for (first, some) in (0..).step_by(TOGETHER).zip(self.groups.chunks(TOGETHER)) {
            let made: Vec<String> = some
                .par_iter()
                .enumerate()
                .map(|(at, (kept, members))| group(facts, *kept, members, first + at == 0))
                .collect::<Result<_, _>>()?;
            made.iter().try_for_each(|group| out.put(group.as_bytes()))?;
        }
        Ok(())
    }
}

/// A member, with what it is to the one that stays.
struct Member {
    pair: Pair,
    scores: Scores,
    id: String,
}

fn group(facts: &Facts<'_>, kept: u32, members: &[u32], open: bool) -> Result<String, Failure> {
    let run = facts.run;
    let id = run.id(kept)?;
    let mut pairs: Vec<Pair> = members
        .iter()
        .take(LOOKED_AT)
        .map(|&member| facts.found.pair(run, member, kept))
        .collect::<Result<_, _>>()?;
    // The least alike first: that is where a reader looks.
    let alike = |pair: &Pair| match Scores::of(&pair.evidence) {
        scores if pair.ruling.verdict == Verdict::Contained => scores.a_in_b,
        scores => scores.jaccard,
    };
    pairs.sort_by(|x, y| {
        let equal = |pair: &Pair| pair.ruling.verdict == Verdict::Exact;
        equal(x).cmp(&equal(y)).then(alike(x).total_cmp(&alike(y))).then(x.a.cmp(&y.a))
    });
    let least = pairs.first().map_or(1.0, alike);
    pairs.truncate(WITH_TEXT + NAMED);
    let (size, text) = (members.len() as u64, run.text(kept)?);
    let mut out = String::new();
    let _ = writeln!(
        out,
        "<article class=\"cluster\" data-kept=\"{}\" data-size=\"{size}\" data-least=\"{least}\">\n<h3><span class=\"id\">{}</span>\
         <span>stays, {} {} for it{}</span></h3>",
        escape(&id),
        escape(&id),
        number(size),
        if size == 1 { "goes" } else { "go" },
        source(facts, kept)
    );
    for (at, pair) in pairs.iter().take(WITH_TEXT).enumerate() {
        let member = Member { pair: *pair, scores: Scores::of(&pair.evidence), id: run.id(pair.a)? };
        side_by_side(&mut out, facts, &member, (&id, &text), open && at == 0)?;
    }
    let named = pairs.get(WITH_TEXT..).unwrap_or_default();
    if !named.is_empty() {
        out.push_str("<ul class=\"more\">\n");
        for pair in named {
            let (id, verdict) = (escape(&run.id(pair.a)?), pair.ruling.verdict.name());
            let figures = figures(&Scores::of(&pair.evidence), pair);
            let _ = writeln!(
                out,
                "<li data-id=\"{id}\" data-verdict=\"{verdict}\"><span class=\"chip {verdict}\">{verdict}</span>\
                 <span class=\"id\">{id}</span><span class=\"figures\">{figures}</span></li>"
            );
        }
        out.push_str("</ul>\n");
    }
    if members.len() > pairs.len() {
        let more = number((members.len() - pairs.len()) as u64);
        let _ = writeln!(out, "<p class=\"rest\">and {more} more, which the file of --removed names</p>");
    }
    out.push_str("</article>\n");
    Ok(out)
}

fn source(facts: &Facts<'_>, document: u32) -> String {
    let name = facts.sources.map(|sources| sources.of(document));
    name.filter(|name| !name.is_empty()).map_or(String::new(), |name| format!(" &middot; {}", escape(name)))
}

fn figures(scores: &Scores, pair: &Pair) -> String {
    match pair.evidence.equal {
        true => "all letters".into(),
        false => format!("Jaccard {:.2} &middot; {:.0} % inside", scores.jaccard, scores.a_in_b * 100.0),
    }
}

fn side_by_side(
    out: &mut String,
    facts: &Facts<'_>,
    member: &Member,
    (kept, kept_text): (&str, &str),
    open: bool,
) -> Result<(), Failure> {
    let Member { pair, scores, id } = member;
    let (id, verdict) = (escape(id), pair.ruling.verdict.name());
    let text = facts.run.text(pair.a)?;
    let passages = shared_passages(&text, kept_text);
    let (stays, goes) = marked::sides(kept_text, &text, &passages);
    let _ = writeln!(
        out,
        "<details data-id=\"{id}\" data-verdict=\"{verdict}\"{}><summary><span class=\"chip {verdict}\">{verdict}</span>\
         <span class=\"id\">{id}</span><span>{}</span><span class=\"figures\">{}</span></summary>",
        if open { " open" } else { "" },
        source(facts, pair.a).trim_start_matches(" &middot; "),
        figures(scores, pair)
    );
    let _ = writeln!(out, "<p class=\"rule\">{}.</p>", escape(&reason(&pair.evidence, pair.ruling)));
    if !pair.evidence.equal {
        figures_in_full(out, member, passages.len());
    }
    out.push_str("<div class=\"sides\">\n");
    let mut side = |what: &str, id: &str, text: &str, html: &str| {
        let _ = writeln!(
            out,
            "<div class=\"side\"><h4>{what} &middot; <span class=\"id\">{id}</span></h4><div class=\"text\"{} tabindex=\"0\" \
             role=\"region\" aria-label=\"{what}: {id}\">{html}</div></div>",
            language(text)
        );
    };
    side("stays", &escape(kept), kept_text, &stays);
    side("goes", &id, &text, &goes);
    out.push_str("</div></details>\n");
    Ok(())
}

fn figures_in_full(out: &mut String, member: &Member, passages: usize) {
    let Member { pair, scores, .. } = member;
    let numbers = pair.evidence.numbers;
    let percent = |share: f64| format!("{:.1} %", share * 100.0);
    let rows = [
        ("Jaccard", format!("{:.3}", scores.jaccard)),
        ("of what goes, in what stays", percent(scores.a_in_b)),
        ("of what stays, in what goes", percent(scores.b_in_a)),
        ("rare, of what is shared", percent(scores.rare)),
        ("numbers that differ", numbers.only_a.max(numbers.only_b).to_string()),
        ("passages", passages.to_string()),
    ];
    out.push_str("<dl class=\"scores\">");
    for (name, value) in rows {
        let _ = write!(out, "<div><dt>{name}</dt><dd>{value}</dd></div>");
    }
    out.push_str("</dl>\n");
}

/// The language as far as it decides how characters are drawn: Chinese, where there are Han characters and no kana or hangul.
fn language(text: &str) -> &'static str {
    let (mut han, mut other) = (false, false);
    for c in text.chars().take(2000) {
        han |= matches!(c, '\u{4e00}'..='\u{9fff}');
        other |= matches!(c, '\u{3040}'..='\u{30ff}' | '\u{ac00}'..='\u{d7af}');
    }
    if han && !other { " lang=\"zh\"" } else { "" }
}
