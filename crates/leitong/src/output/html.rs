//! A page that shows two texts side by side with their passages in colour. One file, nothing loaded from elsewhere.

use crate::commands::compare::Side;
use leitong_detect::compare::Comparison;
use std::fmt::Write;
use std::ops::Range;

/// Background colours of passages, one after another and then again.
const COLOURS: usize = 8;

/// The whole page.
pub(crate) fn page(a: &Side, b: &Side, found: &Comparison, rows: &[[String; 3]]) -> String {
    let mut signals = String::new();
    for [name, value, detail] in rows {
        let _ = writeln!(
            signals,
            "<tr><th>{}</th><td>{}</td><td class=\"detail\">{}</td></tr>",
            escape(name),
            escape(value),
            escape(detail)
        );
    }
    let side =
        |document: &Side, which: fn(&Comparison) -> Vec<Marked>| marked_text(&document.text, which(found));
    let text_a = side(a, |found| {
        found
            .passages
            .iter()
            .map(|p| (p.a.clone(), p.equal.iter().map(|run| run.a.clone()).collect()))
            .collect()
    });
    let text_b = side(b, |found| {
        found
            .passages
            .iter()
            .map(|p| (p.b.clone(), p.equal.iter().map(|run| run.b.clone()).collect()))
            .collect()
    });
    TEMPLATE
        .replace("{{verdict}}", found.judgement.verdict.name())
        .replace("{{reason}}", &escape(&found.judgement.reason))
        .replace("{{signals}}", &signals)
        .replace("{{name-a}}", &escape(&a.name))
        .replace("{{name-b}}", &escape(&b.name))
        // The texts last, so that nothing in them is taken for a place to fill.
        .replace("{{text-a}}", &text_a)
        .replace("{{text-b}}", &text_b)
}

/// A passage and the equal stretches inside it.
type Marked = (Range<usize>, Vec<Range<usize>>);

/// The text with its passages marked. Passages are numbered in the order of the first text, so that the same number
/// is the same passage on both sides.
fn marked_text(text: &str, passages: Vec<Marked>) -> String {
    let chars: Vec<char> = text.chars().collect();
    let slice = |range: Range<usize>| escape(&chars[range].iter().collect::<String>());
    let mut numbered: Vec<(usize, Marked)> = passages.into_iter().enumerate().collect();
    numbered.sort_by_key(|(_, (range, _))| range.start);
    let mut out = String::with_capacity(text.len() * 2);
    let mut at = 0;
    for (number, (range, equal)) in numbered {
        let start = range.start.max(at);
        out.push_str(&slice(at..start));
        let _ = write!(out, "<mark class=\"c{}\" data-p=\"{number}\" tabindex=\"0\">", number % COLOURS);
        at = start;
        for run in equal {
            let (from, to) = (run.start.max(at), run.end.max(at));
            if from > at {
                let _ = write!(out, "<u>{}</u>", slice(at..from));
            }
            out.push_str(&slice(from..to));
            at = to;
        }
        out.push_str("</mark>");
    }
    out.push_str(&slice(at..chars.len()));
    out
}

pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // A brace pair in a text must not look like a place to fill.
            '{' => out.push_str("&#123;"),
            c => out.push(c),
        }
    }
    out
}

const TEMPLATE: &str = include_str!("compare.html");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passages_are_marked_and_text_is_escaped() {
        let text = marked_text("a<b>同x雷c", vec![(4..7, vec![4..5, 6..7])]);
        assert_eq!(text, "a&lt;b&gt;<mark class=\"c0\" data-p=\"0\" tabindex=\"0\">同<u>x</u>雷</mark>c");
    }

    #[test]
    fn placeholders_in_a_text_stay_text() {
        assert!(!escape("{{text-b}}").contains("{{"));
    }
}
