//! SimHashes of the documents of a run, made where they are asked for.

use crate::output::Failure;
use leitong_detect::batch::Run;
use leitong_detect::{Fingerprinter, Recipe, Scratch};
use leitong_fingerprint::Fingerprint;
use rayon::prelude::*;
use std::collections::BTreeMap;

/// Makes SimHashes.
pub(crate) struct Fingerprints(Fingerprinter);

/// Those of some documents.
pub(crate) struct Known(BTreeMap<u32, Option<Fingerprint>>);

impl Fingerprints {
    /// With a recipe by its name or file.
    pub(crate) fn new(recipe: &str) -> Result<Self, Failure> {
        Ok(Self(Fingerprinter::new(Recipe::open(recipe)?)?))
    }

    /// The SimHashes of some documents.
    pub(crate) fn of(&self, run: &Run, documents: impl Iterator<Item = u32>) -> Result<Known, Failure> {
        let mut documents: Vec<u32> = documents.collect();
        documents.sort_unstable();
        documents.dedup();
        let made = documents.into_par_iter().map_init(Scratch::default, |scratch, document| {
            Ok((document, self.0.simhash_and_digest(&run.text(document)?, scratch).0))
        });
        Ok(Known(made.collect::<Result<_, Failure>>()?))
    }
}

impl Known {
    /// That of a document, if it has one.
    pub(crate) fn get(&self, document: u32) -> Option<&Fingerprint> {
        self.0.get(&document).and_then(Option::as_ref)
    }

    /// In how many bits two documents differ, where both have a SimHash.
    pub(crate) fn distance(&self, a: u32, b: u32) -> Option<u32> {
        self.get(a)?.distance(self.get(b)?).ok()
    }
}
