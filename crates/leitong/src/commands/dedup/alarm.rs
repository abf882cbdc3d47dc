//! The alarm: a source that loses nearly everything is more often a mistake than a source of copies.

use crate::commands::batch::{Taken, size};
use crate::output::{Failure, complain, in_line, note};
use leitong_detect::batch::Fate;
use std::io::{BufRead, Read};

/// Sources with fewer documents are not watched.
const LEAST: u64 = 20;
/// Sources that are listed.
const LISTED: usize = 10;

/// From which share on; nothing is `off`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Share(pub(crate) Option<f64>);

pub(crate) fn parse(text: &str) -> Result<Share, String> {
    match text {
        "off" => Ok(Share(None)),
        _ => match text.parse::<f64>() {
            Ok(share) if (0.0..=1.0).contains(&share) => Ok(Share(Some(share))),
            _ => Err(format!("{text:?} is no share: write a number from 0 to 1, or off")),
        },
    }
}

/// The names of sources, by their numbers.
pub(crate) fn names(taken: &Taken) -> Result<Vec<String>, Failure> {
    let lines = taken.work.read("names")?.lines();
    lines.map(|line| Ok(serde_json::from_str(&line?).unwrap_or_default())).collect()
}

/// The number of the source of every document.
pub(crate) fn sources(taken: &Taken) -> Result<Vec<u32>, Failure> {
    let mut bytes = Vec::new();
    taken.work.read("sources")?.read_to_end(&mut bytes)?;
    Ok(bytes.chunks_exact(4).map(|n| u32::from_le_bytes([n[0], n[1], n[2], n[3]])).collect())
}

/// Says which sources would lose more than the share; whether there are any.
pub(crate) fn is_raised(share: Share, fates: &[Fate], sources: &[u32], names: &[String]) -> bool {
    let Some(share) = share.0 else { return false };
    let mut counts = vec![(0_u64, 0_u64); names.len()];
    for (fate, &source) in fates.iter().zip(sources) {
        let (all, gone) = &mut counts[source as usize];
        *all += 1;
        *gone += u64::from(*fate != Fate::Stays);
    }
    let lost = |&(all, gone): &(u64, u64)| gone as f64 / all as f64;
    let mut worst: Vec<(&String, (u64, u64))> = names.iter().zip(counts).collect();
    worst.retain(|(name, count)| !name.is_empty() && count.0 >= LEAST && lost(count) > share);
    worst.sort_by(|a, b| lost(&b.1).total_cmp(&lost(&a.1)).then(b.1.cmp(&a.1)).then(a.0.cmp(b.0)));
    if worst.is_empty() {
        return false;
    }
    complain(&format!(
        "{} would lose more than {:.0} % of their documents; nothing was written",
        size::count(worst.len() as u64, "source", "sources"),
        share * 100.0
    ));
    note(&"lost\tof\tsource");
    for (name, (all, gone)) in worst.iter().take(LISTED) {
        note(&format!("{gone}\t{all}\t{}", in_line(name)));
    }
    if worst.len() > LISTED {
        note(&format!("and {} more", worst.len() - LISTED));
    }
    true
}
