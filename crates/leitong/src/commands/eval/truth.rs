//! What is known about pairs of documents.

use crate::input::{self, InputError, Place};
use crate::output::Failure;
use leitong_detect::batch::Run;
use std::collections::{BTreeMap, HashMap};
use std::io::{BufRead, BufReader};
use std::path::Path;

/// True pairs of all clusters together, at most.
const MOST: u64 = 5_000_000;

/// A line of the truth.
#[derive(Debug, PartialEq, Eq)]
enum Entry {
    Pair { a: String, b: String, same: bool },
    Member { id: String, cluster: String },
}

/// The truth as it was written.
pub(super) struct Truth {
    name: String,
    entries: Vec<(u64, Entry)>,
}

/// The truth about the documents of a run.
#[derive(Default)]
pub(super) struct Known {
    /// By later and earlier document: whether it is a duplicate, and the line that says so.
    pairs: BTreeMap<(u32, u32), (bool, u64)>,
    /// Lines that say the opposite of an earlier one, and lines that pair a document with itself.
    pub(super) contradictions: u64,
    pub(super) self_pairs: u64,
}

impl Known {
    /// Whether two documents are duplicates: yes, no, or not known.
    pub(super) fn of(&self, a: u32, b: u32) -> Option<bool> {
        let known = self.pairs.get(&(a.max(b), a.min(b))).map(|&(same, _)| same);
        if self.negatives().is_some() { known } else { Some(known.unwrap_or(false)) }
    }

    pub(super) fn positives(&self) -> u64 {
        self.pairs.values().filter(|(same, _)| *same).count() as u64
    }

    /// Pairs known to be none; nothing if all others are taken for none.
    pub(super) fn negatives(&self) -> Option<u64> {
        let count = self.pairs.values().filter(|(same, _)| !same).count() as u64;
        (count > 0).then_some(count)
    }

    pub(super) fn pairs(&self) -> impl Iterator<Item = (u32, u32, bool)> {
        self.pairs.iter().map(|(&(a, b), &(same, _))| (a, b, same))
    }

    /// Adds what a line says about two documents, unless an earlier one says the opposite: then which one.
    fn add(&mut self, a: u32, b: u32, same: bool, line: u64) -> Option<u64> {
        let (known, earlier) = *self.pairs.entry((a.max(b), a.min(b))).or_insert((same, line));
        self.contradictions += u64::from(known != same);
        (known != same).then_some(earlier)
    }
}

/// Reads the truth; what is wrong with it is said with its line.
pub(super) fn read(path: &Path) -> Result<Truth, Failure> {
    let name = path.display().to_string();
    let at = |line: u64, message: String| {
        Failure::Input(InputError::new(Place::line(&name, line), message).to_string())
    };
    let stream = input::open_stream(path).map_err(|message| {
        Failure::Input(InputError::new(Place { file: name.clone(), line: None }, message).to_string())
    })?;
    let plain =
        name.strip_suffix(".gz").or_else(|| name.strip_suffix(".zst")).unwrap_or(&name).to_lowercase();
    let entries = if plain.ends_with(".jsonl") || plain.ends_with(".ndjson") {
        json_lines(stream, &at)?
    } else {
        let separator = if plain.ends_with(".csv") { b',' } else { b'\t' };
        table(stream, separator, &at)?
    };
    if entries.is_empty() {
        return Err(Failure::Input(format!(
            "{name}: there is no pair in it; give lines with a and b, or id and cluster"
        )));
    }
    Ok(Truth { name, entries })
}

type At<'a> = &'a dyn Fn(u64, String) -> Failure;

fn json_lines(stream: Box<dyn std::io::Read>, at: At<'_>) -> Result<Vec<(u64, Entry)>, Failure> {
    let mut entries = Vec::new();
    for (number, line) in (1..).zip(BufReader::new(stream).lines()) {
        let line = line.map_err(|error| at(number, format!("the line cannot be read: {error}")))?;
        if line.trim().is_empty() {
            continue;
        }
        let object: serde_json::Value = serde_json::from_str(&line)
            .map_err(|error| at(number, format!("the line is not JSON: {error}")))?;
        let text = |names: &[&str]| {
            names.iter().find_map(|&name| match object.get(name)? {
                serde_json::Value::Null => None,
                serde_json::Value::String(text) => Some(text.clone()),
                other => Some(other.to_string()),
            })
        };
        entries.push((number, entry(&text).ok_or_else(|| at(number, MISSING.into()))?));
    }
    Ok(entries)
}

const MISSING: &str = "there are neither a and b nor id and cluster; these fields are needed";
const A: [&str; 3] = ["a", "id_a", "left"];
const B: [&str; 3] = ["b", "id_b", "right"];

/// An entry from fields by name.
fn entry(field: &dyn Fn(&[&str]) -> Option<String>) -> Option<Entry> {
    if let (Some(a), Some(b)) = (field(&A), field(&B)) {
        let same = field(&["label"]).is_none_or(|label| is_same(&label));
        return Some(Entry::Pair { a, b, same });
    }
    Some(Entry::Member { id: field(&["id"])?, cluster: field(&["cluster"])? })
}

fn is_same(label: &str) -> bool {
    !matches!(label.trim().to_lowercase().as_str(), "0" | "0.0" | "false" | "no" | "different")
}

fn table(stream: Box<dyn std::io::Read>, separator: u8, at: At<'_>) -> Result<Vec<(u64, Entry)>, Failure> {
    let quoting = separator == b',';
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(separator)
        .quoting(quoting)
        .has_headers(false)
        .flexible(true)
        .from_reader(stream);
    let mut header: Option<Vec<String>> = None;
    let mut entries = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|error| {
            at(error.position().map_or(0, csv::Position::line), format!("the line cannot be read: {error}"))
        })?;
        let line = record.position().map_or(0, csv::Position::line);
        let cells: Vec<&str> = record.iter().map(|cell| cell.trim_start_matches('\u{feff}').trim()).collect();
        let Some(names) = &header else {
            let has = |name: &[&str]| cells.iter().any(|cell| name.contains(cell));
            if (has(&A) && has(&B)) || (has(&["id"]) && has(&["cluster"])) {
                header = Some(cells.iter().map(|&cell| cell.to_owned()).collect());
                continue;
            }
            // Without a header: two ids and perhaps a label.
            header = Some(["a", "b", "label"].map(str::to_owned).into());
            entries
                .push((line, by_name(&["a", "b", "label"], &cells).ok_or_else(|| at(line, MISSING.into()))?));
            continue;
        };
        entries.push((line, by_name(names, &cells).ok_or_else(|| at(line, MISSING.into()))?));
    }
    Ok(entries)
}

fn by_name(names: &[impl AsRef<str>], cells: &[&str]) -> Option<Entry> {
    entry(&|wanted| {
        let place = names.iter().position(|name| wanted.contains(&name.as_ref()))?;
        cells.get(place).filter(|cell| !cell.is_empty()).map(|&cell| cell.to_owned())
    })
}

impl Truth {
    /// The numbers of the documents. Ids that are not in the corpus are told.
    pub(super) fn resolve(
        &self,
        run: &Run,
        tell: &mut dyn FnMut(InputError) -> Result<(), Failure>,
    ) -> Result<Known, Failure> {
        let mut numbers: HashMap<&str, Option<u32>> = HashMap::new();
        for (_, entry) in &self.entries {
            let ids = match entry {
                Entry::Pair { a, b, .. } => [Some(a), Some(b)],
                Entry::Member { id, .. } => [Some(id), None],
            };
            numbers.extend(ids.into_iter().flatten().map(|id| (id.as_str(), None)));
        }
        for document in 0..run.count() {
            if let Some(number) = numbers.get_mut(run.id(document)?.as_str()) {
                *number = Some(document);
            }
        }
        let mut tell_line =
            |line: u64, message: String| tell(InputError::new(Place::line(&self.name, line), message));
        let find = |id: &str| numbers.get(id).copied().flatten();
        let absent = |id: &str| format!("the id {id:?} is not in the corpus; mend it, or leave the line out");
        let mut known = Known::default();
        let mut clusters: BTreeMap<&str, Vec<(u32, u64)>> = BTreeMap::new();
        for (line, entry) in &self.entries {
            match entry {
                Entry::Pair { a, b, .. } if a == b => {
                    known.self_pairs += 1;
                    let message =
                        format!("both ids are {a:?}; a pair is of two documents, leave the line out");
                    tell_line(*line, message)?;
                }
                Entry::Pair { a, b, same } => match (find(a), find(b)) {
                    (Some(x), Some(y)) => {
                        if let Some(earlier) = known.add(x, y, *same, *line) {
                            tell_line(*line, opposite(a, b, *same, earlier))?;
                        }
                    }
                    (x, y) => {
                        for (id, _) in [(a, x), (b, y)].into_iter().filter(|(_, found)| found.is_none()) {
                            tell_line(*line, absent(id))?;
                        }
                    }
                },
                Entry::Member { id, cluster } => match find(id) {
                    Some(number) => clusters.entry(cluster).or_default().push((number, *line)),
                    None => tell_line(*line, absent(id))?,
                },
            }
        }
        self.expand(&clusters, &mut |(a, b), line| {
            let Some(earlier) = known.add(a, b, true, line) else { return Ok(()) };
            tell_line(line, opposite(&run.id(a)?, &run.id(b)?, true, earlier))
        })?;
        Ok(known)
    }

    /// Every pair of the members of a cluster, and the line of the later one.
    fn expand(
        &self,
        clusters: &BTreeMap<&str, Vec<(u32, u64)>>,
        each: &mut dyn FnMut((u32, u32), u64) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let of = |members: &Vec<(u32, u64)>| members.len() as u64 * (members.len() as u64 - 1) / 2;
        let all: u64 = clusters.values().map(of).sum();
        if all > MOST {
            let name = &self.name;
            return Err(Failure::Input(format!(
                "{name}: the clusters have {all} pairs, more than {MOST}; give a sample of the clusters, and of the documents"
            )));
        }
        for members in clusters.values() {
            for (at, &(a, line)) in members.iter().enumerate() {
                let mut others = members[..at].iter().filter(|(b, _)| *b != a);
                others.try_for_each(|&(b, _)| each((a, b), line))?;
            }
        }
        Ok(())
    }
}

/// Says that a line contradicts an earlier one.
fn opposite(a: &str, b: &str, same: bool, earlier: u64) -> String {
    let (here, there) = if same { ("duplicates", "none") } else { ("no duplicates", "duplicates") };
    format!(
        "{a:?} and {b:?} are {here} here and {there} in line {earlier}, which counts; leave one of them out"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(name: &str, text: &str) -> Result<Vec<Entry>, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        let truth = read(&path).map_err(|failure| failure.to_string())?;
        Ok(truth.entries.into_iter().map(|(_, entry)| entry).collect())
    }

    fn pair(a: &str, b: &str, same: bool) -> Entry {
        Entry::Pair { a: a.into(), b: b.into(), same }
    }

    #[test]
    fn pairs_in_every_form() {
        let expected = vec![pair("x", "y", true), pair("x", "z", false)];
        for (name, text) in [
            ("t.tsv", "a\tb\tlabel\nx\ty\t1\nx\tz\t0\n"),
            ("t.tsv", "x\ty\nx\tz\tdifferent\n"),
            ("t.csv", "label,id_b,id_a\nweak,y,x\nFalse,z,x\n"),
            ("t.jsonl", "{\"a\":\"x\",\"b\":\"y\"}\n\n{\"a\":\"x\",\"b\":\"z\",\"label\":false}\n"),
            (
                "t.ndjson",
                "{\"id_a\":\"x\",\"id_b\":\"y\",\"label\":null}\n{\"a\":\"x\",\"b\":\"z\",\"label\":0}\n",
            ),
        ] {
            assert_eq!(read_text(name, text).as_ref(), Ok(&expected), "{name}: {text}");
        }
    }

    #[test]
    fn clusters() {
        let member = |id: &str, cluster: &str| Entry::Member { id: id.into(), cluster: cluster.into() };
        let expected = vec![member("x", "1"), member("y", "1")];
        assert_eq!(read_text("t.tsv", "id\tcluster\nx\t1\ny\t1\n"), Ok(expected));
        let expected = vec![member("7", "1")];
        assert_eq!(read_text("t.jsonl", "{\"id\":7,\"cluster\":1}"), Ok(expected));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        for (name, text, said) in [
            ("t.tsv", "a\tb\nx\n", "line 2: there are neither"),
            ("t.jsonl", "{\"a\":\"x\",\"b\":\"y\"}\n{\"a\"", "line 2: the line is not JSON"),
            ("t.jsonl", "{\"a\":\"x\"}", "line 1: there are neither"),
            ("t.csv", "", "no pair"),
        ] {
            let error = read_text(name, text).unwrap_err();
            assert!(error.contains(said), "{error}");
        }
    }
}
