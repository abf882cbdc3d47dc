//! Matches and stored documents, as JSON and as columns.

use super::{coloured, in_line, time};
use anstyle::AnsiColor;
use leitong_detect::compare::SharedPassage;
use leitong_detect::detector::Match;
use leitong_fingerprint::Fingerprint;
use leitong_store::{Space, Stored};
use serde_json::{Map, Value, json};

/// A match as JSON: what is always there, and what this one has.
pub(crate) fn json(found: &Match) -> Value {
    let mut object = json!({
        "id": found.id,
        "verdict": found.verdict.name(),
        "distance": found.distance,
        "jaccard": found.jaccard,
        "containment": found.containment,
        "collection": found.collection,
        "rule": found.rule,
    });
    if let Some(scores) = found.scores {
        object["a_in_b"] = scores.a_in_b.into();
        object["b_in_a"] = scores.b_in_a.into();
        object["rare"] = scores.rare.into();
        object["numbers_differ"] = scores.numbers_differ.into();
    }
    about(&mut object, found.title.as_deref(), found.source.as_deref(), found.published);
    if let Some(passages) = &found.passages {
        object["passages"] = passages.iter().map(passage).collect();
    }
    if let Some(why) = found.no_evidence {
        object["no_evidence"] = why.reason().into();
    }
    object
}

/// Several of them.
pub(crate) fn list(matches: &[Match]) -> Value {
    matches.iter().map(json).collect()
}

fn passage(passage: &SharedPassage) -> Value {
    let range = |range: &std::ops::Range<usize>| json!([range.start, range.end]);
    let (matched, differing) = (passage.matched, passage.differing);
    json!({ "a": range(&passage.a), "b": range(&passage.b), "matched": matched, "differing": differing })
}

/// Adds what a document has of the usual fields.
pub(crate) fn about(object: &mut Value, title: Option<&str>, source: Option<&str>, published: Option<i64>) {
    if let Some(title) = title {
        object["title"] = title.into();
    }
    if let Some(source) = source {
        object["source"] = source.into();
    }
    if let Some(published) = published {
        object["published"] = published.into();
    }
}

/// The columns behind a document's id: its nearest match, the verdict, the distance, Jaccard, and how many matches there are.
pub(crate) fn columns(matches: &[Match], more: bool) -> String {
    let Some(nearest) = matches.first() else { return String::new() };
    let distance = nearest.distance.map_or("-".into(), |distance| distance.to_string());
    let jaccard = nearest.jaccard.map_or("-".into(), |jaccard| format!("{jaccard:.3}"));
    let (id, verdict, count) = (in_line(&nearest.id), nearest.verdict.name(), matches.len());
    format!("\t{id}\t{verdict}\t{distance}\t{jaccard}\t{count}{}", if more { "+" } else { "" })
}

/// The first word of a line about a match's verdict.
pub(crate) fn verdict(found: &Match) -> String {
    let colour = if found.verdict.is_duplicate() { AnsiColor::Red } else { AnsiColor::Yellow };
    coloured(found.verdict.name(), colour)
}

/// A stored document as JSON; its text where it was fetched.
pub(crate) fn stored(stored: &Stored) -> Value {
    let record = &stored.record;
    let simhash = record.signals.near(Space::DOCUMENTS).map(Fingerprint::to_string);
    let mut object = json!({ "id": record.id, "found": true, "version": stored.version, "simhash": simhash });
    about(&mut object, record.title.as_deref(), record.source.as_deref(), record.published);
    if let Some(expires) = record.expires {
        object["expires"] = expires.into();
    }
    if let Some((centre, distance)) = &record.cluster {
        object["cluster"] = json!({ "centre": centre, "distance": distance });
    }
    if !record.metadata.is_empty() {
        object["metadata"] = Value::Object(record.metadata.clone());
    }
    if let Some(text) = &record.text {
        object["text"] = text.as_str().into();
    }
    object
}

/// A stored document as rows of a name and a value, without its text.
pub(crate) fn rows(stored: &Stored) -> Vec<(String, String)> {
    let record = &stored.record;
    let simhash = record.signals.near(Space::DOCUMENTS).map_or("-".into(), Fingerprint::to_string);
    let mut rows = vec![("id".to_owned(), in_line(&record.id).into_owned())];
    let mut add =
        |name: &str, value: Option<String>| rows.extend(value.map(|value| (name.to_owned(), value)));
    add("title", record.title.as_deref().map(|title| in_line(title).into_owned()));
    add("source", record.source.as_deref().map(|source| in_line(source).into_owned()));
    add("published", record.published.map(time::utc));
    add("expires", record.expires.map(time::utc));
    add("simhash", Some(simhash));
    let cluster = record.cluster.as_ref();
    add("cluster", cluster.map(|(centre, distance)| format!("{} at distance {distance}", in_line(centre))));
    add("version", Some(stored.version.to_string()));
    rows.extend(metadata(&record.metadata));
    rows
}

fn metadata(metadata: &Map<String, Value>) -> impl Iterator<Item = (String, String)> {
    metadata.iter().map(|(name, value)| {
        let value = value.as_str().map_or_else(|| value.to_string(), |text| in_line(text).into_owned());
        (in_line(name).into_owned(), value)
    })
}

/// The passages of every match that has them, a line each, indented.
pub(crate) fn passages(matches: &[Match]) -> String {
    let dim = anstyle::Style::new().dimmed();
    let of_one = |found: &Match| {
        let id = in_line(&found.id).into_owned();
        let passages = found.passages.iter().flatten();
        let line = move |passage: &SharedPassage| {
            let (a, b) = (&passage.a, &passage.b);
            let (equal, differ) = (passage.matched, passage.differing);
            format!(
                "\n  {dim}{}-{} is {}-{} of {id}: {equal} equal, {differ} differ{dim:#}",
                a.start, a.end, b.start, b.end
            )
        };
        passages.map(line).collect::<String>()
    };
    matches.iter().map(of_one).collect()
}
