//! What a run did, for people and for scripts.

use super::write::{Files, Written};
use crate::commands::audit::Audit;
use crate::commands::batch::{Taken, size};
use crate::output::{self, Failure, note};
use serde_json::json;
use std::io::Write;
use std::time::Instant;

pub(super) struct Summary<'s> {
    pub(super) taken: &'s Taken,
    pub(super) written: &'s Written,
    pub(super) quotes: u64,
    pub(super) begun: Instant,
    pub(super) files: &'s Files<'s>,
    pub(super) audit: Option<&'s Audit<'s>>,
}

impl Summary<'_> {
    pub(super) fn print(&self, as_json: bool) -> Result<(), Failure> {
        let Self { taken, written, .. } = self;
        let documents = u64::from(taken.run.count()) + taken.against;
        let removed: u64 = written.removed.values().sum();
        let seconds = self.begun.elapsed().as_secs_f64();
        let rate = documents as f64 / seconds.max(1e-9);
        let peak = size::peak();
        if as_json {
            let path = |path: Option<&std::path::Path>| path.map(|path| path.display().to_string());
            let mut out = output::stdout();
            let mut object = json!({
                "documents": documents,
                "kept": written.kept,
                "removed": removed,
                "by_verdict": written.removed,
                "against": taken.against,
                "quotes": self.quotes,
                "skipped": taken.skipped.count,
                "bytes": taken.bytes,
                "seconds": (seconds * 1000.0).round() / 1000.0,
                "documents_per_second": rate.round(),
                "peak_bytes": peak,
                "output": path(Some(self.files.output)),
                "evidence": path(self.files.removed),
                "journal": path(self.files.journal),
            });
            if let Some(audit) = self.audit {
                object["audit"] = audit.json()?;
            }
            writeln!(out, "{object}")?;
            out.flush()?;
            return Ok(());
        }
        let verdicts: Vec<String> =
            written.removed.iter().map(|(verdict, count)| format!("{count} {verdict}")).collect();
        let verdicts =
            if verdicts.is_empty() { String::new() } else { format!(" ({})", verdicts.join(", ")) };
        let (stay, go) = (verb(written.kept, "stay"), verb(removed, "go"));
        let all = size::count(documents, "document", "documents");
        note(&format!("{all}: {} {stay}, {removed} {go}{verdicts}", written.kept));
        if taken.against > 0 {
            let are = if taken.against == 1 { "is" } else { "are" };
            note(&format!("{} of those that go {are} in the database", taken.against));
        }
        if self.quotes > 0 {
            let pairs = size::count(self.quotes, "pair", "pairs");
            note(&format!("{pairs} {} a passage, which removes nothing", verb(self.quotes, "share")));
        }
        if taken.skipped.count > 0 {
            note(&format!(
                "{} could not be used and {} left out",
                size::count(taken.skipped.count, "record", "records"),
                if taken.skipped.count == 1 { "was" } else { "were" }
            ));
        }
        let peak = peak.map_or(String::new(), |peak| format!(", at most {} of memory", size::words(peak)));
        note(&format!("{seconds:.1} s, {rate:.0} documents a second{peak}"));
        if let Some(journal) = self.files.journal.filter(|_| removed > 0) {
            note(&format!("`leitong undo {}` puts back what was removed", journal.display()));
        }
        self.audit.map_or(Ok(()), Audit::tell)
    }
}

/// What one or many do.
fn verb(count: u64, many: &str) -> String {
    match (count, many) {
        (1, "go") => "goes".into(),
        (1, _) => format!("{many}s"),
        _ => many.to_owned(),
    }
}
