//! The report of `dedup`: one page with everything in it, and nothing loaded from elsewhere.
//!
//! ```text
//! pairs as they are found ─▶ Sample ─▶ scores in the page, which its script counts again for any threshold
//! fates ─▶ Clusters ─▶ texts side by side, written one after another
//! ```
//! The page allows its own script and style by their digests and nothing else; texts of documents are escaped and never
//! part of either.

mod clusters;
mod marked;
mod sample;
mod totals;

pub(crate) use sample::{Sample, spread};

use crate::commands::batch::Found;
use crate::commands::batch::fingerprints::Fingerprints;
use crate::commands::dedup::alarm::Sources;
use crate::output::Failure;
use crate::output::file::Output;
use crate::output::html::escape;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use clusters::{Clusters, SHOWN};
use leitong_detect::batch::{Fate, Run};
use serde_json::json;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::path::Path;
use totals::number;

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");
/// Inputs that are named.
const INPUTS: usize = 5;

/// What there is to report.
pub(crate) struct Facts<'f> {
    pub(crate) run: &'f Run,
    pub(crate) fates: &'f [Fate],
    pub(crate) found: &'f Found,
    pub(crate) sources: Option<&'f Sources>,
    /// By verdict.
    pub(crate) removed: &'f BTreeMap<String, u64>,
    pub(crate) kept: u64,
    pub(crate) against: u64,
    pub(crate) quotes: u64,
    pub(crate) skipped: u64,
    pub(crate) inputs: Vec<String>,
    pub(crate) sample: &'f Sample,
}

impl Facts<'_> {
    fn documents(&self) -> u64 {
        u64::from(self.run.count()) + self.against
    }

    fn removed_in_all(&self) -> u64 {
        self.removed.values().sum()
    }

    /// Documents whose text an earlier one has.
    fn equal(&self) -> u64 {
        (0..self.run.count()).filter(|&document| self.run.first(document) != document).count() as u64
    }
}

/// Whether the page can be written, before there is anything to write.
pub(crate) fn check(path: &Path) -> Result<(), Failure> {
    Output::create(path).map(drop)
}

/// Writes the page.
pub(crate) fn write(path: &Path, facts: &Facts<'_>) -> Result<(), Failure> {
    let clusters = Clusters::find(facts.fates);
    let mut out = Output::create(path)?;
    let page = filled(facts, &clusters)?;
    let (head, tail) = page.split_once("{{clusters}}").unwrap_or((&page, ""));
    out.put(head.as_bytes())?;
    clusters.write(facts, &mut out)?;
    out.put(tail.as_bytes())?;
    out.close()?.publish()
}

fn digest(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(text)))
}

/// The page but for the groups of documents.
fn filled(facts: &Facts<'_>, clusters: &Clusters) -> Result<String, Failure> {
    let (documents, removed) = (facts.documents(), facts.removed_in_all());
    let headline = format!(
        "{} of {} {} {}",
        number(removed),
        number(documents),
        if documents == 1 { "document" } else { "documents" },
        if removed == 1 { "goes" } else { "go" }
    );
    let rest = match clusters.all.saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(
            "<p class=\"rest\">and {} smaller {}, which the file of --removed names</p>",
            number(more as u64),
            if more == 1 { "group" } else { "groups" }
        ),
    };
    let values = [
        ("script-hash", digest(SCRIPT)),
        ("style-hash", digest(STYLE)),
        ("documents", number(documents)),
        ("removed", number(removed)),
        ("headline", headline),
        ("inputs", inputs(&facts.inputs)),
        ("totals", totals::html(facts)),
        ("pairs-note", pairs_note(facts)),
        ("clusters-note", clusters_note(facts, clusters)),
        ("rest", rest),
        ("footer", "The same colour and number is the same passage on both sides; wavy lines are differences inside it, a red stroke \
          is where the other side has more. Click a passage, or press Enter on it, to find it on the other side.".into()),
        ("data", data(facts)?),
        ("style", STYLE.to_owned()),
        ("script", SCRIPT.to_owned()),
    ];
    // One pass, so that nothing that is filled in is taken for a place to fill.
    let mut page = String::with_capacity(PAGE.len() * 4);
    let mut left = PAGE;
    while let Some((before, after)) = left.split_once("{{") {
        page.push_str(before);
        let (name, behind) = after.split_once("}}").unwrap_or((after, ""));
        match values.iter().find(|(own, _)| *own == name) {
            Some((_, value)) => page.push_str(value),
            None => page.push_str(&format!("{{{{{name}}}}}")),
        }
        left = behind;
    }
    page.push_str(left);
    Ok(page)
}

fn inputs(names: &[String]) -> String {
    let named: Vec<String> = names.iter().take(INPUTS).map(|name| escape(name)).collect();
    let more = match names.len().saturating_sub(INPUTS) {
        0 => String::new(),
        more => format!(" and {} more", number(more as u64)),
    };
    format!("leitong dedup &middot; {}{more}", named.join(", "))
}

fn pairs_note(facts: &Facts<'_>) -> String {
    let (found, here) = (facts.sample.found, facts.sample.len() as u64);
    let sampled = match here < found {
        true => format!(
            " These are too many for a page: it holds the {} of a sample of {:.1} % of the documents, and counts are multiplied accordingly.",
            number(here),
            facts.sample.share() * 100.0
        ),
        false => String::new(),
    };
    let equal = match facts.equal() {
        0 => String::new(),
        equal => format!(
            " Documents that equal an earlier one letter for letter ({}) are not in the chart.",
            number(equal)
        ),
    };
    format!(
        "{} of different texts {} something that counts.{equal}{sampled} Move the threshold to see what a plain threshold \
         would do; the rules look at more: what is rare, what differs, numbers.",
        if found == 1 { "1 pair".into() } else { format!("{} pairs", number(found)) },
        if found == 1 { "shares" } else { "share" }
    )
}

fn clusters_note(facts: &Facts<'_>, clusters: &Clusters) -> String {
    if clusters.all == 0 {
        let none = if facts.against > 0 { "Those that go are in the database" } else { "No document goes" };
        return format!("{none}; there is nothing to show side by side.");
    }
    let shown = clusters.all.min(SHOWN);
    let of = if shown < clusters.all {
        format!("The {shown} largest of {}", number(clusters.all as u64))
    } else {
        number(shown as u64)
    };
    format!(
        "{of} {}, each around a document that stays. In each the least alike come first, the first five with both texts; texts of \
         more than 4,000 characters are shortened.",
        if clusters.all == 1 { "group" } else { "groups" }
    )
}

/// What the script of the page works on.
fn data(facts: &Facts<'_>) -> Result<String, Failure> {
    let hashes =
        Fingerprints::new(leitong_detect::recipe::DEFAULT)?.of(facts.run, facts.sample.documents())?;
    let bytes = facts.sample.bytes(facts.fates, |a, b| hashes.distance(a, b));
    let data = json!({
        "removed": facts.removed_in_all() - facts.against.min(facts.removed_in_all()),
        "equal": facts.equal(),
        "share": facts.sample.share(),
        "pairs": STANDARD.encode(bytes),
    });
    // Nothing in it can end the element it stands in.
    Ok(data.to_string().replace('<', "\\u003c"))
}
