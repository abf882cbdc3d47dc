//! The speed of every stage on one thread, in megabytes of UTF-8 input a second.
//!
//! `cargo run --release -p leitong-bench --bin stages [--json] [--rounds N] [--megabytes N] [PART OF A NAME…]`

#![expect(clippy::print_stdout, reason = "a benchmark prints its table")]

use leitong_bench::data::{self, Result};
use leitong_bench::timing::{Speed, Stage, measure};
use leitong_detect::{Fingerprinter, Kind, Recipe, Scratch};
use leitong_fingerprint::hash::{Algorithm, Units};
use leitong_fingerprint::minhash::MinHash;
use leitong_fingerprint::ngram::{self, Distinct};
use leitong_fingerprint::simhash::{Counters, Tie};
use leitong_fingerprint::weight::{Idf, Occurrence, Scheme, TagBoosts, Weighing};
use leitong_text::extract::{Format, HtmlMode, Options as ExtractOptions, extract};
use leitong_text::normalize::{Normalizer, Options, Punctuation, Whitespace};
use leitong_text::segment::{Segment, Settings, Unit, UserDictionary, Word};
use serde_json::json;

struct Arguments {
    json: bool,
    rounds: usize,
    bytes: usize,
    names: Vec<String>,
}

/// Texts of one language in the forms that the stages start from.
struct Corpus {
    language: &'static str,
    raw: Vec<String>,
    normal: Vec<String>,
    letters: Vec<String>,
    /// The words of each text that count, with their tags.
    words: Vec<Vec<(String, String)>>,
}

/// The features of each text.
struct Hashed<'a> {
    occurrences: Vec<Vec<Occurrence<'a>>>,
    runs: Vec<Vec<u64>>,
    distinct: Vec<Distinct>,
}

/// The recipes.
struct Ready {
    default: Fingerprinter,
    /// The default on text that is normalised already.
    normalised: Fingerprinter,
    words: Fingerprinter,
}

const NORMALISED: &str = "name = \"normalised\"\n[normalize]\nnfkc = false\nfold-case = false\n\
    simplify = false\ndrop-invisible = false\nwhitespace = \"keep\"";

/// Characters a run in the stages that are about runs of characters.
const RUN: usize = 4;

fn main() -> Result<()> {
    let arguments = arguments()?;
    let ready = Ready {
        default: Fingerprinter::new(Recipe::built_in("leitong-1")?)?,
        normalised: Fingerprinter::new(Recipe::from_toml(NORMALISED, "normalised", &|_| Ok(String::new()))?)?,
        words: Fingerprinter::new(Recipe::built_in("leitong-words-1")?)?,
    };
    let mut speeds = extraction(&arguments);
    for (language, file) in [("zh", "edits_background.jsonl.zst"), ("en", "mdn_revisions_en_docs.jsonl.zst")]
    {
        match corpus(language, file, arguments.bytes, &ready) {
            Ok(corpus) => speeds.extend(text_stages(&corpus, &ready, &arguments)),
            Err(error) => println!("skipped: {error}"),
        }
    }
    print(&speeds, arguments.json);
    Ok(())
}

fn arguments() -> Result<Arguments> {
    let mut arguments = Arguments { json: false, rounds: 5, bytes: 20_000_000, names: Vec::new() };
    let mut given = std::env::args().skip(1);
    while let Some(argument) = given.next() {
        let mut number = || -> Result<usize> { Ok(given.next().unwrap_or_default().parse()?) };
        match argument.as_str() {
            "--json" => arguments.json = true,
            "--rounds" => arguments.rounds = number()?.max(1),
            "--megabytes" => arguments.bytes = number()? * 1_000_000,
            _ => arguments.names.push(argument),
        }
    }
    Ok(arguments)
}

fn corpus(language: &'static str, file: &str, bytes: usize, ready: &Ready) -> Result<Corpus> {
    let mut left = bytes;
    let raw: Vec<String> = data::documents(file)?
        .into_iter()
        .map(|document| document.text)
        .take_while(|text| {
            let enough = left > 0;
            left = left.saturating_sub(text.len());
            enough
        })
        .collect();
    let prepared: Vec<_> = raw.iter().map(|text| ready.words.prepare(text.as_str())).collect();
    let words = prepared.iter().map(|text| {
        text.tokens().iter().map(|token| (token.text.to_owned(), token.tag.to_string())).collect()
    });
    Ok(Corpus {
        language,
        words: words.collect(),
        normal: prepared.iter().map(|text| text.normalized().text.clone()).collect(),
        letters: prepared.iter().map(|text| text.letters().text.clone()).collect(),
        raw,
    })
}

/// Keeps the stages that were asked for and times them.
fn timed(mut stages: Vec<Stage<'_>>, arguments: &Arguments) -> Vec<Speed> {
    let wanted =
        |name: &str| arguments.names.is_empty() || arguments.names.iter().any(|part| name.contains(part));
    stages.retain(|stage| wanted(&stage.name));
    measure(&mut stages, arguments.rounds)
}

fn extraction(arguments: &Arguments) -> Vec<Speed> {
    let files = match data::archive("documents.tar.zst") {
        Ok(files) => files,
        Err(error) => {
            println!("skipped: {error}");
            return Vec::new();
        }
    };
    let ending = |ending: &str| -> Vec<&[u8]> {
        files
            .iter()
            .filter(|(name, _)| name.ends_with(ending))
            .map(|(_, content)| content.as_slice())
            .collect()
    };
    let pages: Vec<&[u8]> = files
        .iter()
        .filter(|(name, _)| {
            name.ends_with("/source.html") || name.starts_with("html_gne_zh") && name.ends_with(".html")
        })
        .map(|(_, content)| content.as_slice())
        .collect();
    let stage = |name: &str, files: Vec<&'_ [u8]>, format: Format, html: HtmlMode| -> Vec<Speed> {
        let options = ExtractOptions { format: Some(format), html, ..ExtractOptions::default() };
        let bytes = files.iter().map(|file| file.len()).sum();
        let run = || {
            files
                .iter()
                .map(|file| extract(file, None, &options).map_or(0, |extracted| extracted.text.len() as u64))
                .sum()
        };
        timed(vec![Stage::new(name, bytes, run)], arguments)
    };
    let mut speeds = stage("extract html, article", pages.clone(), Format::Html, HtmlMode::Article);
    speeds.extend(stage("extract html, all text", pages, Format::Html, HtmlMode::AllText));
    speeds.extend(stage(
        "extract docx (bytes of the file)",
        ending(".docx"),
        Format::Docx,
        HtmlMode::Article,
    ));
    speeds
}

fn text_stages(corpus: &Corpus, ready: &Ready, arguments: &Arguments) -> Vec<Speed> {
    let runs: Vec<Vec<u64>> = corpus
        .letters
        .iter()
        .map(|text| {
            let mut hashes = Vec::new();
            ngram::hashes(text, RUN, &mut hashes);
            hashes
        })
        .collect();
    let count = |hashes: &Vec<u64>| {
        let mut distinct = Distinct::default();
        distinct.count(hashes);
        distinct
    };
    let hashed = Hashed {
        occurrences: corpus
            .words
            .iter()
            .map(|words| words.iter().map(|(text, tag)| Occurrence { text, tag }).collect())
            .collect(),
        distinct: runs.iter().map(count).collect(),
        runs,
    };
    let mut stages = normalising(corpus);
    stages.extend(segmenting(corpus));
    stages.extend(weighing(&hashed));
    stages.extend(hashing(corpus, &hashed));
    stages.extend(folding(corpus, &hashed, ready));
    stages.extend(end_to_end(corpus, ready));
    for stage in &mut stages {
        stage.name = format!("{} {}", corpus.language, stage.name);
    }
    timed(stages, arguments)
}

fn bytes(texts: &[String]) -> usize {
    texts.iter().map(String::len).sum()
}

/// Normalises all texts into one buffer; a function by itself so that a profiler can find it.
#[inline(never)]
fn normalise_all(normalizer: &Normalizer, texts: &[String], out: &mut String) -> u64 {
    let mut sum = 0;
    for text in texts {
        normalizer.normalize_text(text, out);
        sum += out.len() as u64;
    }
    sum
}

fn normalising(corpus: &Corpus) -> Vec<Stage<'_>> {
    let lines = Options { whitespace: Whitespace::Lines, ..Options::default() };
    let letters =
        Options { punctuation: Punctuation::Drop, whitespace: Whitespace::Drop, ..Options::default() };
    let stage = |name: &str, options: Options| {
        let (normalizer, mut out) = (Normalizer::new(options), String::new());
        Stage::new(name, bytes(&corpus.raw), move || normalise_all(&normalizer, &corpus.raw, &mut out))
    };
    vec![
        stage("normalise, default options", Options::default()),
        stage("normalise, lines kept (leitong-1)", lines),
        stage("normalise, letters only", letters),
    ]
}

fn segmenting(corpus: &Corpus) -> Vec<Stage<'_>> {
    let stage = |name: &str, by: Unit, tags: bool| {
        let segmenter: Box<dyn Segment> = Settings { by, hmm: true }.build(UserDictionary::default(), tags);
        let mut words: Vec<Word> = Vec::new();
        let run = move || {
            let count = |text: &String| {
                segmenter.segment(text, &mut words);
                words.len() as u64
            };
            corpus.normal.iter().map(count).sum()
        };
        Stage::new(name, bytes(&corpus.normal), run)
    };
    vec![
        stage("segment, words", Unit::Words, false),
        stage("segment, words with tags", Unit::Words, true),
        stage("segment, Unicode words", Unit::UnicodeWords, false),
        stage("segment, characters", Unit::Characters, false),
    ]
}

fn weighing<'a>(hashed: &'a Hashed<'a>) -> Vec<Stage<'a>> {
    let bytes = hashed.occurrences.iter().flatten().map(|word| word.text.len()).sum();
    let stage = |name: &str, scheme: Scheme, boosts: TagBoosts| {
        let run = move || {
            let weighing = Weighing { scheme, idf: Idf::chinese(), boosts: &boosts, top: None };
            hashed.occurrences.iter().map(|words| weighing.weigh(words).len() as u64).sum()
        };
        Stage::new(name, bytes, run)
    };
    vec![
        stage("weigh, term frequency", Scheme::Count, TagBoosts::default()),
        stage("weigh, TF-IDF", Scheme::TfIdf, TagBoosts::default()),
        stage("weigh, TF-IDF with noun boosts", Scheme::TfIdf, TagBoosts::nouns()),
    ]
}

fn hashing<'a>(corpus: &'a Corpus, hashed: &'a Hashed<'a>) -> Vec<Stage<'a>> {
    use Algorithm::{Fnv1a, Lookup3Wide, Md5, Mul1000003, Murmur3, Murmur64a, Sdbm, Xxh3};
    let of_words = hashed.occurrences.iter().flatten().map(|word| word.text.len()).sum();
    let algorithms = [
        (Xxh3, Units::Utf8, 1),
        (Murmur64a, Units::Utf8, 1),
        (Murmur3, Units::Utf8, 2),
        (Lookup3Wide, Units::Utf8, 1),
        (Md5, Units::Utf8, 2),
        (Fnv1a(64), Units::Utf8, 1),
        (Fnv1a(64), Units::Utf16, 1),
        (Fnv1a(128), Units::Utf16, 2),
        (Fnv1a(1024), Units::Utf16, 16),
        (Sdbm, Units::Utf16, 1),
        (Mul1000003(12), Units::Utf16, 1),
    ];
    let mut stages: Vec<Stage<'a>> = Vec::new();
    for (algorithm, units, width) in algorithms {
        let run = move || {
            let mut out = vec![0; width];
            let hash = |word: &Occurrence<'_>| {
                algorithm.hash_into(word.text, units, &mut out);
                out[0]
            };
            hashed.occurrences.iter().flatten().map(hash).fold(0, u64::wrapping_add)
        };
        let form = if units == Units::Utf16 { " over UTF-16" } else { "" };
        stages.push(Stage::new(format!("hash words, {algorithm}{form}"), of_words, run));
    }
    let mut out = Vec::new();
    let run = move || {
        let hash = |text: &String| {
            out.clear();
            ngram::hashes(text, RUN, &mut out);
            out.len() as u64
        };
        corpus.letters.iter().map(hash).sum()
    };
    stages.push(Stage::new(format!("hash runs of {RUN} characters, xxh3"), bytes(&corpus.letters), run));
    stages
}

fn folding<'a>(corpus: &'a Corpus, hashed: &'a Hashed<'a>, ready: &Ready) -> Vec<Stage<'a>> {
    let bytes = bytes(&corpus.letters);
    let mut table = Distinct::default();
    let distinct = move || {
        let count = |hashes: &Vec<u64>| {
            table.count(hashes);
            table.hashes().len() as u64
        };
        hashed.runs.iter().map(count).sum()
    };
    let mut counters = Counters::<1>::default();
    let set = move || {
        let fold = |distinct: &Distinct| {
            counters.clear();
            counters.add_all(distinct.hashes().as_chunks::<1>().0);
            counters.fold(Tie::One)[0]
        };
        hashed.distinct.iter().map(fold).fold(0, u64::wrapping_add)
    };
    let mut counters = Counters::<1>::default();
    let mut weights = Vec::new();
    let weighted = move || {
        let fold = |distinct: &Distinct| {
            counters.clear();
            weights.clear();
            weights.extend(distinct.counts().iter().map(|&count| Scheme::Log.of_count(u64::from(count))));
            counters.add_weighted(distinct.hashes().as_chunks::<1>().0, &weights);
            counters.fold(Tie::One)[0]
        };
        hashed.distinct.iter().map(fold).fold(0, u64::wrapping_add)
    };
    let naive = || hashed.distinct.iter().map(naive_fold).fold(0, u64::wrapping_add);
    let minhash = || {
        let places = |distinct: &Distinct| {
            MinHash::new(distinct.hashes(), 128).map_or(0, |m| u64::from(m.places()[0]))
        };
        hashed.distinct.iter().map(places).fold(0, u64::wrapping_add)
    };
    let winnowing = ready.default.recipe().settings().winnow.winnowing();
    let winnow = move || corpus.letters.iter().map(|text| winnowing.of_characters(text).len() as u64).sum();
    vec![
        Stage::new("distinct runs", bytes, distinct),
        Stage::new("fold SimHash 64, set", bytes, set),
        Stage::new("fold SimHash 64, logarithmic weights", bytes, weighted),
        Stage::new("fold SimHash 64, 64 plain counters", bytes, naive),
        Stage::new("minhash, 128 places", bytes, minhash),
        Stage::new("winnow characters", bytes, winnow),
    ]
}

/// The textbook's loop over one counter a bit.
fn naive_fold(distinct: &Distinct) -> u64 {
    let mut sums = [0i64; 64];
    for (&hash, &count) in distinct.hashes().iter().zip(distinct.counts()) {
        for (bit, sum) in sums.iter_mut().enumerate() {
            *sum += if hash >> bit & 1 == 1 { i64::from(count) } else { -i64::from(count) };
        }
    }
    sums.iter().enumerate().fold(0, |value, (bit, &sum)| value | u64::from(sum >= 0) << bit)
}

/// SimHash of sets of character runs, from letters; a function by itself so that a profiler can find it.
#[inline(never)]
fn simhash_letters(texts: &[String]) -> u64 {
    let (mut hashes, mut distinct, mut counters) =
        (Vec::new(), Distinct::default(), Counters::<1>::default());
    let mut sum = 0u64;
    for text in texts {
        hashes.clear();
        counters.clear();
        ngram::hashes(text, RUN, &mut hashes);
        distinct.count(&hashes);
        counters.add_all(distinct.hashes().as_chunks::<1>().0);
        sum = sum.wrapping_add(counters.fold(Tie::One)[0]);
    }
    sum
}

/// SimHash of a recipe with a fast path; a function by itself so that a profiler can find it.
#[inline(never)]
fn simhash_all(fingerprinter: &Fingerprinter, texts: &[String], scratch: &mut Scratch) -> u64 {
    let hash = |text: &String| fingerprinter.simhash64(text, scratch).unwrap_or(0);
    texts.iter().map(hash).fold(0, u64::wrapping_add)
}

fn end_to_end<'a>(corpus: &'a Corpus, ready: &'a Ready) -> Vec<Stage<'a>> {
    let raw = bytes(&corpus.raw);
    let Ready { default, normalised, words } = ready;
    let fast = |name: &str, fingerprinter: &'a Fingerprinter, texts: &'a [String]| {
        let mut scratch = Scratch::default();
        Stage::new(name, bytes(texts), move || simhash_all(fingerprinter, texts, &mut scratch))
    };
    let kind = |name: &str, fingerprinter: &'a Fingerprinter, kind: Kind| {
        let run = move || {
            let made = |text: &&String| {
                let prepared = fingerprinter.prepare(text.as_str());
                fingerprinter.fingerprint(kind, &prepared).is_ok_and(|answer| answer.value.is_some())
            };
            corpus.raw.iter().filter(made).count() as u64
        };
        Stage::new(name, raw, run)
    };
    vec![
        Stage::new("SimHash of runs of 4 characters, set, from letters", bytes(&corpus.letters), || {
            simhash_letters(&corpus.letters)
        }),
        fast("leitong-1 SimHash, from normalised text", normalised, &corpus.normal),
        fast("leitong-1 SimHash, from raw text", default, &corpus.raw),
        kind("leitong-1 SimHash, from raw text, one document at a time", default, Kind::Simhash),
        kind("leitong-1 MinHash, from raw text", default, Kind::Minhash),
        kind("leitong-1 winnow with places, from raw text", default, Kind::Winnow),
        kind("leitong-1 keywords, from raw text", default, Kind::Keywords),
        kind("leitong-words-1 SimHash, from raw text", words, Kind::Simhash),
    ]
}

fn print(speeds: &[Speed], as_json: bool) {
    if as_json {
        for speed in speeds {
            let (slowest, fastest) = speed.range();
            println!(
                "{}",
                json!({"stage": speed.name, "mb_per_s": speed.median(), "slowest": slowest, "fastest": fastest,
                    "rounds": speed.rounds.len(), "bytes": speed.bytes})
            );
        }
        return;
    }
    println!("| stage | MB/s | slowest and fastest round | MB of input |\n|---|---|---|---|");
    for speed in speeds {
        let (slowest, fastest) = speed.range();
        let median = speed.median();
        println!(
            "| {} | {median:.1} | {slowest:.1} to {fastest:.1} | {:.1} |",
            speed.name,
            speed.bytes as f64 / 1e6
        );
    }
}
