//! `--against`: what a database has already is not taken in.

use crate::commands::db::{self, CollectionArgs, Database};
use crate::input::raw::Doc;
use crate::output::{Failure, matches};
use leitong_detect::detector::{CheckOptions, Collection, Evidence, Match, Question};
use leitong_detect::verdict::Verdict;
use serde_json::{Value, json};

/// The database that is compared with.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct AgainstArgs {
    /// Also remove what this database has: a folder made by `leitong add`
    #[arg(long, value_name = "DB")]
    pub(crate) against: Option<String>,
    #[command(flatten)]
    pub(crate) name: CollectionArgs,
}

/// A collection that is asked.
pub(crate) struct Against {
    collection: Collection,
}

/// Documents asked about at a time.
const TOGETHER: usize = 512;

impl AgainstArgs {
    /// Opens the database, if one was named, and does the work.
    pub(crate) fn with<T>(
        &self,
        work: impl FnOnce(Option<&Against>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let Some(name) = &self.against else { return work(None) };
        let open = |database: &Database| {
            let collection = database.collection(&self.name.collection)?;
            work(Some(&Against { collection }))
        };
        db::with(&db::DbArgs::named(name), "dedup --against", false, open)
    }
}

impl Against {
    /// What tells whether the database is as it was.
    pub(crate) fn state(&self) -> Result<u64, Failure> {
        Ok(self.collection.count()?.next_version)
    }

    /// For each document the line that says why it goes, if it does.
    pub(crate) fn check(&self, documents: &[Doc]) -> Result<Vec<Option<Value>>, Failure> {
        let options = CheckOptions { evidence: Evidence::Passages, ..CheckOptions::default() };
        let mut answers = Vec::with_capacity(documents.len());
        for some in documents.chunks(TOGETHER) {
            // Without their ids: what is stored under the same id counts too.
            let questions = some.iter().map(|doc| Question::new(doc.text.clone())).collect();
            for (doc, checked) in some.iter().zip(self.collection.check(questions, &options)?) {
                let checked = checked.map_err(|error| Failure::Input(format!("{}: {error}", doc.id)))?;
                // One that holds a stored document, and more, is news: of a container and what it contains the container stays.
                let goes =
                    |found: &&Match| found.verdict.is_duplicate() && found.verdict != Verdict::Contains;
                let found = checked.matches.iter().find(goes);
                answers.push(found.map(|found| {
                    let mut line = json!({ "id": doc.id, "kept": found.id });
                    let Value::Object(all) = matches::json(found) else { return line };
                    for (name, value) in all.into_iter().filter(|(name, _)| name != "id") {
                        line[name] = value;
                    }
                    line["against"] = true.into();
                    line
                }));
            }
        }
        Ok(answers)
    }
}
