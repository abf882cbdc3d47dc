//! Real documents of every format, with the article text of some pages as truth.
//!
//! The archive is not part of the project: `LEITONG_SHARED` names the folder that holds `data/`, or it lies
//! beside the workspace. Without it every test here says so and passes.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "the helpers of a test are tests, too")]

use std::collections::{BTreeMap, HashMap};
use std::io::Read;
use std::path::PathBuf;
use std::sync::OnceLock;

use leitong_text::encoding::decode;
use leitong_text::extract::{ExtractError, Extracted, Format, HtmlMode, Options, extract};
use leitong_text::span::Span;

type Documents = BTreeMap<String, Vec<u8>>;

/// All files of the archive by name, read once.
fn documents() -> Option<&'static Documents> {
    static DOCUMENTS: OnceLock<Option<Documents>> = OnceLock::new();
    DOCUMENTS.get_or_init(read_archive).as_ref()
}

fn read_archive() -> Option<Documents> {
    let shared = std::env::var_os("LEITONG_SHARED")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared"), PathBuf::from);
    let path = shared.join("data/documents.tar.zst");
    let Ok(file) = std::fs::File::open(&path) else {
        println!("skipped: {} is absent (needs ../shared/data/documents.tar.zst)", path.display());
        return None;
    };
    let mut decoder = zstd::Decoder::new(file).unwrap();
    decoder.window_log_max(27).unwrap();
    let mut archive = tar::Archive::new(decoder);
    let mut documents = Documents::new();
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        if entry.header().entry_type().is_file() {
            let name = entry.path().unwrap().to_string_lossy().trim_start_matches("./").to_owned();
            let mut content = Vec::new();
            entry.read_to_end(&mut content).unwrap();
            documents.insert(name, content);
        }
    }
    Some(documents)
}

/// The documents under a folder.
fn folder<'a>(documents: &'a Documents, prefix: &str) -> Vec<(&'a str, &'a [u8])> {
    let found: Vec<_> = documents
        .iter()
        .filter(|(name, _)| name.starts_with(prefix))
        .map(|(name, content)| (name.as_str(), content.as_slice()))
        .collect();
    assert!(!found.is_empty(), "the archive has no {prefix}");
    found
}

/// Words, and every Chinese character for itself, with their counts.
fn tokens(text: &str) -> HashMap<String, usize> {
    let mut counts = HashMap::new();
    let mut add = |token: &str| *counts.entry(token.to_lowercase()).or_default() += 1;
    for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        let mut latin = String::new();
        for c in word.chars() {
            if c < '\u{2E80}' {
                latin.push(c);
            } else {
                add(c.encode_utf8(&mut [0; 4]));
            }
        }
        if !latin.is_empty() {
            add(&latin);
        }
    }
    counts
}

fn f1(found: &str, expected: &str) -> f64 {
    let (found, expected) = (tokens(found), tokens(expected));
    let all: usize = found.values().sum::<usize>() + expected.values().sum::<usize>();
    let shared: usize =
        found.iter().map(|(token, &count)| count.min(expected.get(token).copied().unwrap_or(0))).sum();
    if all == 0 { 1.0 } else { 2.0 * shared as f64 / all as f64 }
}

/// What is mapped byte for byte, and every character that is mapped at all, stands in the source.
fn assert_traceable(name: &str, extracted: &Extracted, source: &str) -> f64 {
    let map = extracted.map.as_ref().unwrap();
    assert_eq!(map.derived_len(), extracted.text.len(), "{name}");
    let (mut traced, mut all) = (0_u32, 0_u32);
    for (start, c) in extracted.text.char_indices().filter(|(_, c)| !c.is_whitespace()) {
        let place = map.to_source(Span::new(start, start + c.len_utf8()));
        let place = &source[place.range()];
        assert!(
            place.is_empty() || place.starts_with(c) || place.starts_with('&'),
            "{name}: {c:?} at {start} is traced to {place:?}"
        );
        all += 1;
        traced += u32::from(!place.is_empty());
    }
    f64::from(traced) / f64::from(all.max(1))
}

#[test]
fn articles_are_those_that_readability_finds() {
    let Some(documents) = documents() else { return };
    let all_text = Options { html: HtmlMode::AllText, ..Options::default() };
    let (mut sum, mut traced, mut worst, mut pages) = (0.0, 0.0, (1.0, ""), 0);
    for (name, content) in folder(documents, "html_readability/") {
        let Some(stem) = name.strip_suffix("/source.html") else { continue };
        let expected = &documents[&format!("{stem}/expected.html")];
        let expected = match extract(expected, Some("expected.html"), &all_text) {
            Ok(expected) => expected.text,
            Err(ExtractError::Empty { .. }) => String::new(),
            Err(error) => panic!("{stem}: {error}"),
        };
        let found = extract(content, Some(name), &Options::default()).unwrap();
        traced += assert_traceable(name, &found, &decode(content, None).text);
        let score = f1(&found.text, &expected);
        if score < worst.0 {
            worst = (score, stem);
        }
        sum += score;
        pages += 1;
    }
    let (mean, traced) = (sum / f64::from(pages), traced / f64::from(pages));
    println!("html_readability: {pages} pages, mean token F1 {mean:.4}, worst {worst:?}, traced {traced:.4}");
    assert!(mean >= 0.99, "mean token F1 {mean}");
    assert!(traced >= 0.98, "share of traced characters {traced}");
}

#[test]
fn chinese_pages_give_chinese_articles() {
    let Some(documents) = documents() else { return };
    let is_chinese = |c: &char| ('\u{4E00}'..='\u{9FFF}').contains(c);
    let all_text = Options { html: HtmlMode::AllText, ..Options::default() };
    let (mut pages, mut traced) = (0, 0.0);
    for (name, content) in folder(documents, "html_gne_zh/") {
        let article = extract(content, Some(name), &Options::default()).unwrap();
        let all = extract(content, Some(name), &all_text).unwrap();
        let chinese = article.text.chars().filter(is_chinese).count();
        println!("{name}: {} of {} bytes, {:?}", article.text.len(), all.text.len(), article.title);
        assert!(chinese >= 60, "{name}: only {chinese} Chinese characters");
        assert!(article.text.len() < all.text.len(), "{name}");
        assert!(article.warnings.is_empty(), "{name}: {:?}", article.warnings);
        assert!(article.title.as_ref().is_some_and(|title| title.chars().any(|c| is_chinese(&c))), "{name}");
        traced += assert_traceable(name, &article, &decode(content, None).text);
        pages += 1;
    }
    println!("html_gne_zh: {pages} pages, traced {:.4}", traced / f64::from(pages));
    assert!(traced / f64::from(pages) >= 0.98);
}

#[test]
fn office_documents_and_pdfs_are_read() {
    let Some(documents) = documents() else { return };
    let mut counts: BTreeMap<Format, usize> = BTreeMap::new();
    let mut wrong = Vec::new();
    for prefix in ["docx_", "xlsx_", "pdf_"] {
        for (name, content) in folder(documents, prefix) {
            let result = extract(content, Some(name), &Options::default());
            let shown = match &result {
                Ok(extracted) => {
                    *counts.entry(extracted.format).or_default() += 1;
                    format!(
                        "{} bytes, {} parts, {:?}",
                        extracted.text.len(),
                        extracted.parts.len(),
                        extracted.warnings
                    )
                }
                Err(error) => error.to_string(),
            };
            println!("{name}: {shown}");
            let short = name.rsplit('/').next().unwrap();
            match (expected_failure(short), &result) {
                (None, Ok(_)) => {}
                (Some(expected), Err(error)) if expected(error) => {}
                _ => wrong.push(format!("{name}: {shown}")),
            }
        }
    }
    println!("{counts:?}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Why no text can come out of some of the samples.
fn expected_failure(name: &str) -> Option<fn(&ExtractError) -> bool> {
    const PROTECTED: [&str; 5] = [
        "issue_385.xls",
        "pass_protected.ods",
        "pass_protected.xlsb",
        "pass_protected.xlsx",
        "libreoffice-writer-password.pdf",
    ];
    // A sector table that points outside of the file; a member whose checksum is wrong.
    const DAMAGED: [&str; 2] = ["OOM_alloc3.xls", "issue252.xlsx"];
    // Pictures, empty sheets and templates: looked at one by one.
    const EMPTY: [&str; 38] = [
        "blk-containing-table.docx",
        "doc-coreprops.docx",
        "doc-default.docx",
        "doc-no-coreprops.docx",
        "doc-word-default-blank.docx",
        "set-no-settings-part.docx",
        "shp-inline-shape-access.docx",
        "sty-behav-props.docx",
        "sty-having-no-styles-part.docx",
        "sty-having-styles-part.docx",
        "tbl-2x2-table.docx",
        "tbl-col-props.docx",
        "tbl-having-tables.docx",
        "tbl-on-off-props.docx",
        "templates__default.docx",
        "having-images.docx",
        "capitalized_wbook_stream.xls",
        "empty_sheet.xlsx",
        "issue127.ods",
        "issue127.xls",
        "issue127.xlsb",
        "issue127.xlsx",
        "issue281.xlsm",
        "issue343.xls",
        "issue_666_lost_sheets.xlsb",
        "issue_666_panic.xlsb",
        "misc_biff5_parsing.xls",
        "picture.ods",
        "picture.xls",
        "picture.xlsb",
        "picture.xlsx",
        "vba.xlsm",
        "imagemagick-ASCII85Decode.pdf",
        "imagemagick-CCITTFaxDecode.pdf",
        "imagemagick-images.pdf",
        "imagemagick-lzw.pdf",
        "grayscale-image.pdf",
        "cmyk-image.pdf",
    ];
    let is_one_of =
        |list: &[&str]| list.iter().any(|end| name == *end || name.ends_with(&format!("__{end}")));
    if is_one_of(&PROTECTED) {
        Some(|error| matches!(error, ExtractError::PasswordProtected { .. }))
    } else if is_one_of(&DAMAGED) {
        Some(|error| matches!(error, ExtractError::Corrupt { .. }))
    } else if is_one_of(&EMPTY) {
        Some(|error| matches!(error, ExtractError::Empty { .. }))
    } else {
        None
    }
}

#[test]
fn docx_text_is_traced_to_its_members() {
    let Some(documents) = documents() else { return };
    for (name, content) in folder(documents, "docx_") {
        let Ok(extracted) = extract(content, Some(name), &Options::default()) else { continue };
        let mut zip = zip::ZipArchive::new(std::io::Cursor::new(content)).unwrap();
        let map = extracted.map.as_ref().unwrap();
        assert_eq!(map.derived_len(), extracted.text.len());
        let starts: Vec<usize> = extracted.parts.iter().map(|part| part.start as usize).collect();
        for (index, part) in extracted.parts.iter().enumerate() {
            let mut source = String::new();
            zip.by_name(&part.name).unwrap().read_to_string(&mut source).unwrap();
            let source = source.trim_start_matches('\u{FEFF}');
            let end = starts.get(index + 1).copied().unwrap_or(extracted.text.len());
            let text = &extracted.text[starts[index]..end];
            for (at, c) in text.char_indices().filter(|(_, c)| !c.is_whitespace()) {
                let at = starts[index] + at;
                let place = &source[map.to_source(Span::new(at, at + c.len_utf8())).range()];
                assert!(
                    place.starts_with(c) || place.starts_with('&') || c == '-',
                    "{name}: {c:?} {place:?}"
                );
            }
        }
    }
}

/// Pieces and twisted copies of real documents end in text or an error, never in a panic.
#[test]
fn damaged_documents_do_no_harm() {
    let Some(documents) = documents() else { return };
    let small = documents.iter().filter(|(_, content)| content.len() < 60_000).step_by(5);
    for (name, content) in small {
        for cut in [content.len() / 3, content.len() * 9 / 10] {
            let _ = extract(&content[..cut], Some(name), &Options::default());
        }
        let mut twisted = content.clone();
        for at in (7..twisted.len()).step_by(97) {
            twisted[at] = twisted[at].wrapping_mul(31).wrapping_add(at as u8);
        }
        let _ = extract(&twisted, Some(name), &Options::default());
    }
}
