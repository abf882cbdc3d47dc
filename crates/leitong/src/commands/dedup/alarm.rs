//! The alarm: a source that loses nearly everything is more often a mistake than a source of copies.

use crate::commands::batch::{Taken, size};
use crate::output::{Failure, complain, in_line, note};
use leitong_detect::batch::Fate;
use std::collections::BTreeMap;
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

/// Where documents are from.
pub(crate) struct Sources {
    names: Vec<String>,
    /// The source of every document, by number.
    of: Vec<u32>,
    /// How many documents of a source the database has.
    against: BTreeMap<String, u64>,
}

/// What a source loses.
pub(crate) struct Loss<'s> {
    pub(crate) name: &'s str,
    pub(crate) all: u64,
    pub(crate) gone: u64,
}

impl Loss<'_> {
    fn share(&self) -> f64 {
        self.gone as f64 / self.all as f64
    }
}

impl Sources {
    pub(crate) fn read(taken: &Taken) -> Result<Self, Failure> {
        let lines = taken.work.read("names")?.lines();
        let names = lines.map(|line| Ok(serde_json::from_str(&line?).unwrap_or_default()));
        let mut bytes = Vec::new();
        taken.work.read("sources")?.read_to_end(&mut bytes)?;
        let of = bytes.as_chunks::<4>().0.iter().map(|&number| u32::from_le_bytes(number)).collect();
        let mut against = BTreeMap::new();
        for line in taken.work.read("against")?.lines() {
            let line: serde_json::Value = serde_json::from_str(&line?).unwrap_or_default();
            *against.entry(line["source"].as_str().unwrap_or_default().to_owned()).or_default() += 1;
        }
        Ok(Self { names: names.collect::<Result<_, Failure>>()?, of, against })
    }

    /// The source of a document.
    pub(crate) fn of(&self, document: u32) -> &str {
        &self.names[self.of[document as usize] as usize]
    }

    /// What all sources lose, those of the database included; in no order.
    pub(crate) fn losses(&self, fates: &[Fate]) -> Vec<Loss<'_>> {
        let mut counts: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
        for (name, &gone) in &self.against {
            counts.insert(name, (gone, gone));
        }
        let mut own = vec![(0_u64, 0_u64); self.names.len()];
        for (fate, &source) in fates.iter().zip(&self.of) {
            let (all, gone) = &mut own[source as usize];
            *all += 1;
            *gone += u64::from(*fate != Fate::Stays);
        }
        for (name, (all, gone)) in self.names.iter().zip(own) {
            let count = counts.entry(name).or_default();
            *count = (count.0 + all, count.1 + gone);
        }
        counts.into_iter().map(|(name, (all, gone))| Loss { name, all, gone }).collect()
    }

    /// Says which sources would lose more than the share; whether there are any.
    pub(crate) fn alarm(&self, share: Share, fates: &[Fate]) -> bool {
        let Some(share) = share.0 else { return false };
        let mut worst = self.losses(fates);
        worst.retain(|loss| !loss.name.is_empty() && loss.all >= LEAST && loss.share() > share);
        worst.sort_by(|a, b| {
            b.share()
                .total_cmp(&a.share())
                .then((b.all, b.gone).cmp(&(a.all, a.gone)))
                .then(a.name.cmp(b.name))
        });
        if worst.is_empty() {
            return false;
        }
        complain(&format!(
            "{} would lose more than {:.0} % of {} documents; nothing was written",
            size::count(worst.len() as u64, "source", "sources"),
            share * 100.0,
            if worst.len() == 1 { "its" } else { "their" }
        ));
        note(&"lost\tof\tsource");
        for Loss { name, all, gone } in worst.iter().take(LISTED) {
            note(&format!("{gone}\t{all}\t{}", in_line(name)));
        }
        if worst.len() > LISTED {
            note(&format!("and {} more", worst.len() - LISTED));
        }
        true
    }
}
