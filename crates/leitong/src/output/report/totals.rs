//! The figures at the top of the page.

use super::Facts;
use crate::commands::dedup::alarm::Loss;
use crate::output::html::escape;
use std::fmt::Write;

/// Sources that are listed.
const SOURCES: usize = 8;

/// A number with its thousands apart.
pub(super) fn number(value: u64) -> String {
    let digits = value.to_string();
    let mut out = String::with_capacity(digits.len() * 2);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Tiles, the bar of verdicts and the sources that lose most.
pub(super) fn html(facts: &Facts<'_>) -> String {
    let mut out = String::from("<div class=\"panel\">\n<dl class=\"tiles\">\n");
    let mut tile = |value: u64, name: &str| {
        let _ = writeln!(out, "<div><dt>{name}</dt><dd>{}</dd></div>", number(value));
    };
    tile(facts.documents(), "documents");
    tile(facts.kept, "stay");
    tile(facts.removed_in_all(), "go");
    tile(facts.quotes, "pairs only share a passage");
    if facts.skipped > 0 {
        tile(facts.skipped, "records could not be used");
    }
    out.push_str("</dl>\n");
    bar(&mut out, facts);
    out.push_str("</div>\n");
    if let Some(of) = facts.sources {
        sources(&mut out, of.losses(facts.fates));
    }
    out
}

/// What becomes of all documents, as one bar.
fn bar(out: &mut String, facts: &Facts<'_>) {
    let of = |verdict: &str| facts.removed.get(verdict).copied().unwrap_or(0);
    let verdicts = ["exact", "near", "contained"];
    let known: u64 = verdicts.iter().map(|&verdict| of(verdict)).sum();
    let mut parts: Vec<(&str, String, u64)> = vec![("stays", "stay".into(), facts.kept)];
    parts.extend(verdicts.iter().map(|&verdict| (verdict, verdict.to_owned(), of(verdict))));
    // Those of the database are counted among the verdicts already, but for any that have another.
    parts.push(("database", "other".into(), facts.removed_in_all().saturating_sub(known)));
    parts.retain(|(_, _, count)| *count > 0);
    let all = facts.documents().max(1) as f64;
    out.push_str(
        "<svg class=\"share\" viewBox=\"0 0 100 1\" preserveAspectRatio=\"none\" aria-hidden=\"true\">",
    );
    let mut x = 0.0;
    for (class, _, count) in &parts {
        let width = *count as f64 / all * 100.0;
        let _ = write!(
            out,
            "<rect class=\"{class}-fill\" x=\"{x:.3}\" y=\"0\" width=\"{width:.3}\" height=\"1\"/>"
        );
        x += width;
    }
    out.push_str("</svg>\n<ul class=\"legend\">");
    for (class, name, count) in &parts {
        let share = *count as f64 / all * 100.0;
        let _ = write!(out, "<li><i class=\"{class}\"></i>{} {name} ({share:.1} %)</li>", number(*count));
    }
    if facts.against > 0 {
        let _ = write!(out, "<li>{} of those that go are in the database</li>", number(facts.against));
    }
    out.push_str("</ul>\n");
}

fn sources(out: &mut String, mut losses: Vec<Loss<'_>>) {
    losses.retain(|loss| loss.gone > 0);
    losses.sort_by(|a, b| b.gone.cmp(&a.gone).then(a.name.cmp(b.name)));
    out.push_str(
        "<div class=\"panel\"><table><caption>Sources that lose most</caption><thead><tr><th scope=\"col\">source</th>\
         <th scope=\"col\">go</th><th scope=\"col\">of</th><th scope=\"col\">share</th></tr></thead><tbody>\n",
    );
    for Loss { name, all, gone } in losses.iter().take(SOURCES) {
        let name = if name.is_empty() { "(none)".to_owned() } else { escape(name) };
        let share = *gone as f64 / *all as f64 * 100.0;
        let _ = writeln!(
            out,
            "<tr><th scope=\"row\">{name}</th><td>{}</td><td>{}</td><td>{share:.0} %</td></tr>",
            number(*gone),
            number(*all)
        );
    }
    out.push_str("</tbody></table>");
    if losses.len() > SOURCES {
        let _ = write!(out, "<p class=\"rest\">and {} more</p>", number((losses.len() - SOURCES) as u64));
    }
    out.push_str("</div>\n");
}

#[cfg(test)]
mod tests {
    use super::number;

    #[test]
    fn thousands_are_apart() {
        let written: Vec<String> = [0, 7, 999, 1000, 65_536, 1_234_567].map(number).into();
        assert_eq!(written, ["0", "7", "999", "1,000", "65,536", "1,234,567"]);
    }
}
