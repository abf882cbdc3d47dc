//! `dedup --audit`: a sample of decisions, compared exactly with what shares no code with the verifier.
//!
//! Of documents that went, each is compared with the one that stays. Of documents that stay, each is compared with all
//! others that stay, by one pass over the whole corpus, and the nearest counts.

mod exact;
mod interval;
mod nearest;

use super::batch::Found;
use crate::output::report::spread;
use crate::output::{Failure, in_line, note};
use exact::Exact;
use leitong_detect::batch::{Fate, Run};
use leitong_detect::verify::reason;
use nearest::Nearest;
use rayon::prelude::*;
use serde_json::{Value, json};

/// The share of the shorter text's runs from which on two texts are duplicates here.
const BAR: f64 = 0.5;
/// Decisions that are listed.
const LISTED: usize = 20;

/// A document and the one it was compared with.
struct Checked {
    document: u32,
    other: u32,
    exact: Exact,
}

/// What was found.
pub(crate) struct Audit<'a> {
    run: &'a Run,
    found: &'a Found,
    seed: u64,
    /// How many there are to draw from: that went, that stay.
    all: (u64, u64),
    removed: Vec<Checked>,
    /// Of those that stay, with the nearest that stays too, if anything is shared.
    kept: Vec<(u32, Option<Checked>)>,
}

/// The documents with the smallest digests.
fn draw(documents: impl Iterator<Item = u32>, count: usize, seed: u64) -> (Vec<u32>, u64) {
    let mut all: Vec<(u64, u32)> =
        documents.map(|document| (spread(spread(seed) ^ u64::from(document)), document)).collect();
    let there = all.len() as u64;
    let count = count.min(all.len());
    if count < all.len() {
        all.select_nth_unstable(count);
        all.truncate(count);
    }
    let mut drawn: Vec<u32> = all.into_iter().map(|(_, document)| document).collect();
    drawn.sort_unstable();
    (drawn, there)
}

impl<'a> Audit<'a> {
    /// Draws so many of either and compares them.
    pub(crate) fn new(
        run: &'a Run,
        fates: &[Fate],
        found: &'a Found,
        count: u32,
        seed: u64,
    ) -> Result<Self, Failure> {
        let stays = |&document: &u32| fates[document as usize] == Fate::Stays;
        let (gone, all_gone) =
            draw((0..run.count()).filter(|document| !stays(document)), count as usize, seed);
        let (staying, all_staying) = draw((0..run.count()).filter(stays), count as usize, seed);
        let check = |document: u32| {
            let Fate::Goes(other) = fates[document as usize] else { return Ok(None) };
            let exact = exact::compare(&run.text(document)?, &run.text(other)?);
            Ok(Some(Checked { document, other, exact }))
        };
        let removed: Vec<Option<Checked>> =
            gone.into_par_iter().map(check).collect::<Result<_, Failure>>()?;
        let nearest = Nearest::new(run, staying)?.search(fates)?;
        let kept = nearest
            .into_par_iter()
            .map(|(document, other)| {
                let Some(other) = other else { return Ok((document, None)) };
                let exact = exact::compare(&run.text(document)?, &run.text(other)?);
                Ok((document, Some(Checked { document, other, exact })))
            })
            .collect::<Result<_, Failure>>()?;
        let removed = removed.into_iter().flatten().collect();
        Ok(Self { run, found, seed, all: (all_gone, all_staying), removed, kept })
    }

    /// Removals that the criterion does not confirm, the least alike first.
    fn doubtful(&self) -> Vec<&Checked> {
        sorted(self.removed.iter().filter(|checked| checked.exact.inside < BAR), false)
    }

    /// Documents that stay though another that stays is a duplicate by the criterion.
    fn missed(&self) -> Vec<&Checked> {
        let there = self.kept.iter().filter_map(|(_, nearest)| nearest.as_ref());
        sorted(there.filter(|checked| checked.exact.inside >= BAR), true)
    }

    pub(crate) fn json(&self) -> Result<Value, Failure> {
        let side = |hits: u64, all: u64| {
            let (low, high) = interval::wilson(hits, all);
            let share = (all > 0).then(|| rounded(hits as f64 / all as f64));
            json!({ "checked": all, "duplicates": hits, "share": share, "low": rounded(low), "high": rounded(high) })
        };
        let list = |checked: Vec<&Checked>| -> Result<Vec<Value>, Failure> {
            checked.into_iter().take(LISTED).map(|checked| self.line(checked)).collect()
        };
        let (removed, kept) = (self.removed.len() as u64, self.kept.len() as u64);
        let (doubtful, missed) = (self.doubtful(), self.missed());
        Ok(json!({
            "seed": self.seed,
            "bar": BAR,
            "removed": side(removed - doubtful.len() as u64, removed),
            "kept": side(missed.len() as u64, kept),
            "doubtful": list(doubtful)?,
            "missed": list(missed)?,
        }))
    }

    fn line(&self, checked: &Checked) -> Result<Value, Failure> {
        let Checked { document, other, exact } = checked;
        let pair = self.found.pair(self.run, *document, *other)?;
        Ok(json!({
            "id": self.run.id(*document)?,
            "other": self.run.id(*other)?,
            "inside": rounded(exact.inside),
            "jaccard": rounded(exact.jaccard),
            "longest": exact.longest,
            "verdict": pair.ruling.verdict.name(),
            "rule": reason(&pair.evidence, pair.ruling),
        }))
    }

    /// Says everything on standard error.
    pub(crate) fn tell(&self) -> Result<(), Failure> {
        let (removed, kept) = (self.removed.len() as u64, self.kept.len() as u64);
        let (doubtful, missed) = (self.doubtful(), self.missed());
        note(&format!(
            "\naudit: {removed} of {} removals and {kept} of {} kept documents, drawn with the seed {} and compared exactly",
            self.all.0, self.all.1, self.seed
        ));
        note(&format!(
            "two texts count as duplicates here if at least {:.0} % of the shorter one's runs of five characters are in the other",
            BAR * 100.0
        ));
        note(&format!("removals that are duplicates: {}", share(removed - doubtful.len() as u64, removed)));
        note(&format!(
            "kept documents that another kept one duplicates: {}",
            share(missed.len() as u64, kept)
        ));
        if removed > 0 {
            let (jaccard, longest) = self.medians();
            note(&format!(
                "medians of the removals: Jaccard {jaccard:.3}, longest common passage {longest} characters"
            ));
        }
        self.tell_list("removed, though not a duplicate by this measure", &doubtful)?;
        self.tell_list("kept, though a duplicate by this measure", &missed)?;
        if !doubtful.is_empty() || !missed.is_empty() {
            note(
                &"The measure knows nothing of common wording, of numbers that differ and of edits all over a text; the rules do, so \
                 either may be right: look at these.",
            );
        }
        Ok(())
    }

    fn medians(&self) -> (f64, usize) {
        let mut jaccard: Vec<f64> = self.removed.iter().map(|checked| checked.exact.jaccard).collect();
        let mut longest: Vec<usize> = self.removed.iter().map(|checked| checked.exact.longest).collect();
        jaccard.sort_by(f64::total_cmp);
        longest.sort_unstable();
        let middle = self.removed.len() / 2;
        (jaccard.get(middle).copied().unwrap_or(0.0), longest.get(middle).copied().unwrap_or(0))
    }

    fn tell_list(&self, what: &str, list: &[&Checked]) -> Result<(), Failure> {
        if list.is_empty() {
            return Ok(());
        }
        note(&format!("{what}:\nid\tother\tinside\tJaccard\tlongest\tverdict\trule"));
        for &checked in list.iter().take(LISTED) {
            let line = self.line(checked)?;
            let text = |name: &str| in_line(line[name].as_str().unwrap_or_default()).into_owned();
            note(&format!(
                "{}\t{}\t{:.3}\t{:.3}\t{}\t{}\t{}",
                text("id"),
                text("other"),
                checked.exact.inside,
                checked.exact.jaccard,
                checked.exact.longest,
                text("verdict"),
                text("rule")
            ));
        }
        if list.len() > LISTED {
            note(&format!("and {} more", list.len() - LISTED));
        }
        Ok(())
    }
}

fn rounded(share: f64) -> f64 {
    (share * 10_000.0).round() / 10_000.0
}

fn share(hits: u64, all: u64) -> String {
    if all == 0 {
        return "there are none".into();
    }
    let (low, high) = interval::wilson(hits, all);
    let percent = |share: f64| share * 100.0;
    format!(
        "{hits} of {all}, {:.1} % (of all, with 95 % confidence: {:.1} to {:.1} %)",
        percent(hits as f64 / all as f64),
        percent(low),
        percent(high)
    )
}

fn sorted<'c>(checked: impl Iterator<Item = &'c Checked>, highest_first: bool) -> Vec<&'c Checked> {
    let mut all: Vec<&Checked> = checked.collect();
    all.sort_by(|x, y| {
        let order = x.exact.inside.total_cmp(&y.exact.inside);
        (if highest_first { order.reverse() } else { order }).then(x.document.cmp(&y.document))
    });
    all
}

#[cfg(test)]
mod tests {
    use super::draw;

    #[test]
    fn the_same_seed_draws_the_same() {
        let (first, all) = draw(0..1000, 50, 1);
        assert_eq!((first.len(), all), (50, 1000));
        assert_eq!(first, draw(0..1000, 50, 1).0);
        assert_ne!(first, draw(0..1000, 50, 2).0);
        assert_eq!(draw(0..3, 50, 1).0, [0, 1, 2]);
        // Every document is drawn as often as any other, more or less.
        let low =
            (0..200).flat_map(|seed| draw(0..100, 10, seed).0).filter(|&document| document < 50).count();
        assert!((900..1100).contains(&low), "{low}");
    }
}
