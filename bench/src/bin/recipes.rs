//! The measurement behind the default recipe: many SimHash settings on edited news, on real revisions, on look-alikes
//! and on texts that invite collapse.
//!
//! `cargo run --release -p leitong-bench --bin recipes [PART OF A NAME…]`; without names every
//! candidate is measured. The name `proposers` stands for the table of MinHash and winnowing settings.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a benchmark prints its tables and its progress"
)]

use leitong_bench::candidate::{self, Candidate};
use leitong_bench::collapse::{self, Spread, TableScore};
use leitong_bench::data::{self, Document, Result};
use leitong_bench::edits::{Edits, Score};
use leitong_bench::near;
use leitong_bench::propose;
use leitong_bench::revisions::{LabelledPairs, RevisionScore, Revisions};
use leitong_bench::short::{BANDS, BandScore, ShortTexts};
use leitong_fingerprint::shingle::Shingles;
use std::collections::{BTreeMap, BTreeSet};

/// Candidates for which the floor is looked at.
const FLOOR_OF: [&str; 8] = [
    "char 2 set",
    "char 3 set",
    "char 4 set",
    "unit 2 set",
    "unit 2 log",
    "unit 3 log",
    "word log",
    "word tf-idf nouns",
];

/// Every set that could be read.
struct Sets {
    edits: Option<Edits>,
    revisions: Vec<Revisions>,
    english_shingles: Vec<Shingles>,
    look_alikes: Option<LabelledPairs>,
    paraphrases: Option<LabelledPairs>,
    tables: Vec<(&'static str, Vec<Document>)>,
    short: Vec<(&'static str, ShortTexts)>,
    long: Vec<(&'static str, Vec<Document>)>,
}

/// What was measured of one candidate.
struct Row {
    name: String,
    edits: Option<Score>,
    spread: Spread,
    group: usize,
    revisions: BTreeMap<&'static str, RevisionScore>,
    english_spread: Spread,
    english_group: usize,
    look_alikes: BTreeMap<String, [f64; 4]>,
    paraphrases: BTreeMap<String, [f64; 4]>,
    tables: Vec<(&'static str, TableScore)>,
    short: Vec<(&'static str, [BandScore; BANDS.len()])>,
    long: Vec<(&'static str, Spread, usize)>,
}

fn main() -> Result<()> {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let sets = read_sets();
    let mut rows = Vec::new();
    for candidate in candidate::all()? {
        if wanted.is_empty() || wanted.iter().any(|part| candidate.name.contains(part.as_str())) {
            let start = std::time::Instant::now();
            rows.push(measure(&candidate, &sets));
            eprintln!("{}: {:.1} s", candidate.name, start.elapsed().as_secs_f64());
        }
    }
    print_summary(&rows);
    print_revisions(&rows);
    print_collapse(&rows);
    print_kinds(&rows);
    print_long(&rows);
    print_floor(&rows);
    if (wanted.is_empty() || wanted.iter().any(|name| name == "proposers"))
        && let Some(edits) = &sets.edits
    {
        print_proposers(edits)?;
    }
    Ok(())
}

fn read_sets() -> Sets {
    let edits = or_skip(Edits::read());
    let names = ["lctt_revisions", "mdn_revisions_zh", "mdn_revisions_en"];
    let revisions: Vec<Revisions> =
        names.into_iter().filter_map(|name| or_skip(Revisions::read(name))).collect();
    let small = or_skip(data::archive("labelled_small.tar.zst"));
    let labelled = |name, column| or_skip(LabelledPairs::read(small.as_ref()?, name, column));
    let english = revisions.iter().find(|set| set.name == "mdn_revisions_en");
    let mut short = Vec::new();
    short.extend(edits.as_ref().map(|set| ("Chinese", ShortTexts::of(&set.index))));
    short.extend(english.map(|set| ("English", ShortTexts::of(&set.documents))));
    let mut long = Vec::new();
    long.extend(
        edits.as_ref().map(|set| ("Chinese, 200 articles joined", collapse::joined(&set.index, 200))),
    );
    long.extend(english.map(|set| ("English, 50 pages joined", collapse::joined(&set.documents, 50))));
    Sets {
        long,
        english_shingles: english.map(|set| near::shingles(&set.documents, 5)).unwrap_or_default(),
        look_alikes: labelled("rmrb_natural", 6),
        paraphrases: labelled("pawsx_zh", 2),
        tables: collapse::tables(),
        edits,
        revisions,
        short,
    }
}

fn or_skip<T>(read: Result<T>) -> Option<T> {
    read.inspect_err(|error| println!("skipped: {error}")).ok()
}

fn measure(candidate: &Candidate, sets: &Sets) -> Row {
    let (mut edits, mut spread, mut group) = (None, Spread::default(), 0);
    if let Some(set) = &sets.edits {
        let index = candidate.fingerprints(&set.index);
        spread = collapse::spread(&index);
        group = collapse::largest_group(&index, &set.index_shingles);
        edits = Some(set.score(candidate, &index));
    }
    let (mut revisions, mut english_spread, mut english_group) = (BTreeMap::new(), Spread::default(), 0);
    for set in &sets.revisions {
        let fingerprints = candidate.fingerprints(&set.documents);
        if set.name == "mdn_revisions_en" {
            english_spread = collapse::spread(&fingerprints);
            english_group = collapse::largest_group(&fingerprints, &sets.english_shingles);
        }
        revisions.insert(set.name, set.score(&fingerprints));
    }
    let labelled =
        |set: &Option<LabelledPairs>| set.as_ref().map(|set| set.score(candidate)).unwrap_or_default();
    let tables = sets
        .tables
        .iter()
        .map(|(name, documents)| (*name, collapse::score_tables(&candidate.fingerprints(documents))));
    let long = sets.long.iter().map(|(name, documents)| {
        let fingerprints = candidate.fingerprints(documents);
        (*name, collapse::spread(&fingerprints), near::among(&fingerprints, 3).len())
    });
    let floors = sets.short.iter().filter(|_| FLOOR_OF.contains(&candidate.name.as_str()));
    Row {
        name: candidate.name.clone(),
        edits,
        spread,
        group,
        revisions,
        english_spread,
        english_group,
        look_alikes: labelled(&sets.look_alikes),
        paraphrases: labelled(&sets.paraphrases),
        tables: tables.collect(),
        long: long.collect(),
        short: floors.map(|(name, texts)| (*name, texts.score(candidate))).collect(),
    }
}

/// Shares in per cent, joined for one cell.
fn percents(shares: &[f64]) -> String {
    shares.iter().map(|share| format!("{:.1}", 100.0 * share)).collect::<Vec<_>>().join(" / ")
}

fn print_summary(rows: &[Row]) {
    println!("\n## Edited news: recall in per cent within 0 / 3 / 6 / 10 bits, wrong hits, precision\n");
    println!(
        "| candidate | long | short | wrong per 1,000 queries within 3 / 6 / 10 | of them unrelated, within 3 | precision within 3 / 6 / 10 |"
    );
    println!("|---|---|---|---|---|---|");
    for row in rows {
        let Some(score) = &row.edits else { continue };
        let wrong = score.wrong_per_thousand();
        println!(
            "| {} | {} | {} | {:.1} / {:.1} / {:.0} | {:.2} | {} |",
            row.name,
            percents(&score.recall(|kind| kind.ends_with("long"))),
            percents(&score.recall(|kind| kind.ends_with("short"))),
            wrong[1],
            wrong[2],
            wrong[3],
            1000.0 * near::share(score.unrelated, score.queries),
            percents(&score.precision()[1..]),
        );
    }
}

fn print_revisions(rows: &[Row]) {
    println!(
        "\n## Revisions within 3 bits (and 6): recall; precision over all pairs; look-alikes; all in per cent\n"
    );
    println!(
        "| candidate | lctt recall | lctt precision | mdn zh recall | weak | mdn zh precision | mdn en recall | weak | mdn en precision | rmrb templates | rmrb same numbers | pawsx same / other meaning |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|");
    for row in rows {
        let of = |labels: &BTreeMap<String, [f64; 4]>, label: &str| {
            labels.get(label).map_or("-".to_owned(), |shares| percents(&shares[1..3]))
        };
        let mut cells = vec![row.name.clone()];
        for (name, weak) in
            [("lctt_revisions", false), ("mdn_revisions_zh", true), ("mdn_revisions_en", true)]
        {
            let Some(score) = row.revisions.get(name) else { continue };
            cells.push(of(&score.recall, "1"));
            cells.extend(weak.then(|| of(&score.recall, "weak")));
            cells.push(percents(&score.precision[1..3]));
        }
        cells.push(of(&row.look_alikes, "template_like"));
        cells.push(of(&row.look_alikes, "same_numbers"));
        let meaning = ["1", "0"].map(|label| row.paraphrases.get(label).map_or(0.0, |shares| shares[1]));
        cells.push(percents(&meaning));
        println!("| {} |", cells.join(" | "));
    }
}

fn print_collapse(rows: &[Row]) {
    println!(
        "\n## Collapse: mean distance of unrelated texts ± deviation, stuck bits, most different texts with one value; tables: most with one value, per cent of pairs within 3 bits\n"
    );
    let names: Vec<&str> =
        rows.first().map_or(Vec::new(), |row| row.tables.iter().map(|(name, _)| *name).collect());
    println!("| candidate | Chinese | stuck | group | English | stuck | group | {} |", names.join(" | "));
    println!("|---|---|---|---|---|---|---|{}", "---|".repeat(names.len()));
    for row in rows {
        let spread = |spread: Spread, group: usize| {
            format!("{:.1} ± {:.1} | {} | {group}", spread.mean, spread.deviation, spread.stuck_bits)
        };
        let table = |(_, score): &(&str, TableScore)| {
            format!("{}, {:.2}", score.largest_group, 100.0 * score.pairs_near)
        };
        let tables: Vec<String> = row.tables.iter().map(table).collect();
        let (chinese, english) =
            (spread(row.spread, row.group), spread(row.english_spread, row.english_group));
        println!("| {} | {chinese} | {english} | {} |", row.name, tables.join(" | "));
    }
}

fn print_kinds(rows: &[Row]) {
    let kinds: BTreeSet<&String> =
        rows.iter().filter_map(|row| row.edits.as_ref()).flat_map(|score| score.kinds.keys()).collect();
    println!("\n## Edited news by kind: recall in per cent within 3 bits\n");
    for some in rows.chunks(8) {
        let names: Vec<&str> = some.iter().map(|row| row.name.as_str()).collect();
        println!("| kind | {} |\n|---|{}", names.join(" | "), "---|".repeat(names.len()));
        for kind in &kinds {
            let cell = |row: &Row| {
                let found = row.edits.as_ref().and_then(|score| score.kinds.get(*kind));
                found.map_or("-".to_owned(), |(count, found)| {
                    format!("{:.1}", 100.0 * near::share(found[1], *count))
                })
            };
            println!("| {kind} | {} |", some.iter().map(cell).collect::<Vec<_>>().join(" | "));
        }
        println!();
    }
}

fn print_floor(rows: &[Row]) {
    println!("\n## Single sentences by number of different features, within 3 bits\n");
    println!(
        "| candidate | language | features from | texts | found after one character was exchanged, per cent | unrelated pairs per 1,000 texts | alike pairs per 1,000 texts |"
    );
    println!("|---|---|---|---|---|---|---|");
    for row in rows {
        for (language, bands) in &row.short {
            for (least, band) in BANDS.iter().zip(bands) {
                let per_thousand = |pairs: usize| 1000.0 * near::share(pairs, band.texts);
                println!(
                    "| {} | {language} | {least} | {} | {:.1} | {:.2} | {:.2} |",
                    row.name,
                    band.texts,
                    100.0 * band.recall(),
                    per_thousand(band.unrelated_pairs),
                    per_thousand(band.alike_pairs),
                );
            }
        }
    }
}

fn print_long(rows: &[Row]) {
    println!("\n## Long texts: mean distance ± deviation, stuck bits, pairs within 3 bits\n");
    let names: Vec<&str> =
        rows.first().map_or(Vec::new(), |row| row.long.iter().map(|(name, ..)| *name).collect());
    println!("| candidate | {} |\n|---|{}", names.join(" | "), "---|".repeat(names.len()));
    for row in rows {
        let cell = |(_, spread, pairs): &(&str, Spread, usize)| {
            format!("{:.1} ± {:.1}, {}, {pairs}", spread.mean, spread.deviation, spread.stuck_bits)
        };
        println!("| {} | {} |", row.name, row.long.iter().map(cell).collect::<Vec<_>>().join(" | "));
    }
}

fn print_proposers(edits: &Edits) -> Result<()> {
    println!("\n## MinHash and winnowing as proposers on edited news\n");
    println!(
        "| settings | recall long | recall short | proposed a query | keys a document |\n|---|---|---|---|---|"
    );
    for proposer in propose::all()? {
        let score = proposer.score(edits);
        println!(
            "| {} | {} | {:.2} | {:.1} |",
            proposer.name,
            percents(&[score.long, score.short]).replace(" / ", " | "),
            score.proposed,
            score.keys
        );
    }
    Ok(())
}
