//! Why, in words.

use super::{Evidence, Rule, Ruling};
use crate::verdict::Verdict;

fn percent(share: f64) -> String {
    format!("{:.0} %", (share * 100.0).clamp(0.0, 100.0))
}

/// What decided, for whoever reads the answer.
#[must_use]
pub fn reason(found: &Evidence, ruling: Ruling) -> String {
    let (covered, covered_longer) = found.covered();
    let inside = f64::from(found.matched) / f64::from(found.a.max(1));
    let numbers = found.numbers.against();
    match ruling.rule {
        Rule::Equal => "all letters and digits are the same, in the same order".into(),
        Rule::Shared => {
            let share = percent(found.jaccard());
            let shared = format!("{share} of all runs of five letters are shared");
            if numbers > 0 {
                format!("{shared} (needed: {}), though {numbers} numbers differ", percent(found.shared_bar()))
            } else {
                format!("{shared}, and no number stands against another")
            }
        }
        Rule::Covered => {
            let bar = percent(found.bar());
            let rare = percent(covered);
            let longer = match ruling.verdict {
                Verdict::Near => format!(", which is {} of the longer", percent(covered_longer)),
                _ => String::new(),
            };
            format!("{rare} of what is rare in the shorter text is in the longer one (needed: {bar}){longer}")
        }
        Rule::Passage => {
            format!("a passage of {:.0} rare letters is shared, the texts as a whole are not", found.best)
        }
        Rule::Passages => {
            format!(
                "passages of {:.0} rare letters in all are shared, the texts as a whole are not",
                found.scattered.max(found.verbatim)
            )
        }
        Rule::None if found.matched == 0 => "no passage is shared".into(),
        Rule::None if found.is_form() => format!(
            "{} of the shorter text is shared, but {numbers} numbers differ: a form that is filled in anew",
            percent(inside)
        ),
        Rule::None if numbers > 0 && inside >= 0.5 => {
            format!("{} of the shorter text is shared, but {numbers} numbers differ", percent(inside))
        }
        Rule::None => format!(
            "{} of the shorter text is shared, {} of what is rare in it (needed: {})",
            percent(inside),
            percent(covered),
            percent(found.bar())
        ),
    }
}
