//! Bad input: a clear error that names the file and the remedy, the rest goes on, exit code 3.

use super::{Run, leitong, leitong_in, quick};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

const GOOD: &str =
    "昨天上午，市图书馆新馆在城东正式开馆，首批十二万册图书全部上架，市民凭身份证即可办理借阅手续。";

/// Fingerprints a bad file between two good ones.
fn between_good_ones(name: &str, bytes: &[u8]) -> Run {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("good.txt"), GOOD).unwrap();
    std::fs::write(folder.path().join(name), bytes).unwrap();
    let run = leitong_in(folder.path(), &["fingerprint", "good.txt", name, "good.txt"], "");
    let lines = run.lines();
    assert_eq!(lines.len(), 3, "{}", run.err);
    assert!(
        lines[0].len() == 16 && lines[1] == "-" && lines[0] == lines[2],
        "the others still run: {lines:?}"
    );
    assert_eq!(run.code, 3);
    assert!(run.err.contains(name), "the error names the file: {}", run.err);
    assert!(!run.err.contains("panicked"), "{}", run.err);
    run
}

fn archive(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, content) in members {
        archive.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
        archive.write_all(content).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

#[test]
fn truncated_documents() {
    let document =
        archive(&[("[Content_Types].xml", b"<Types/>"), ("word/document.xml", GOOD.repeat(50).as_bytes())]);
    let run = between_good_ones("cut.docx", &document[..document.len() / 2]);
    assert!(run.err.contains("damaged") || run.err.contains("cut short"), "{}", run.err);
    let run = between_good_ones("cut.pdf", b"%PDF-1.7\n1 0 obj\n<< /Type /Catalog");
    assert!(run.err.contains("fetch it again") || run.err.contains("re-save"), "{}", run.err);
}

#[test]
fn password_protected_documents() {
    let mut file = cfb::CompoundFile::create(std::io::Cursor::new(Vec::new())).unwrap();
    file.create_stream("/EncryptionInfo").unwrap().write_all(&[4, 0, 4, 0]).unwrap();
    file.create_stream("/EncryptedPackage").unwrap().write_all(&[0; 4096]).unwrap();
    file.flush().unwrap();
    let run = between_good_ones("secret.docx", file.into_inner().get_ref());
    assert!(run.err.contains("password"), "{}", run.err);
}

#[test]
fn zip_bombs() {
    let zeros = vec![b' '; 64 << 20];
    let bomb = archive(&[("[Content_Types].xml", b"<Types/>"), ("word/document.xml", &zeros)]);
    assert!(bomb.len() < 1 << 20);
    let run = between_good_ones("bomb.docx", &bomb);
    assert!(run.err.contains("zip bomb"), "{}", run.err);
}

#[test]
fn rubbish_and_nothing() {
    let mut state = 42u64;
    let rubbish: Vec<u8> = std::iter::repeat_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 56) as u8
    })
    .take(10_000)
    .collect();
    assert!(between_good_ones("rubbish.bin", &rubbish).err.contains("binary"));
    assert!(between_good_ones("empty.txt", b"").err.contains("no text"));
    assert!(between_good_ones("blank.txt", " \n\t ".as_bytes()).err.contains("no text"));
    assert!(
        between_good_ones("empty.html", b"<html><body><script>x</script></body></html>")
            .err
            .contains("no text")
    );
}

#[test]
fn missing_and_unreadable_files() {
    let run =
        leitong(&["fingerprint", "/no/such/file.txt", "/no/such/file.jsonl", "/no/such/file.parquet"], "");
    assert_eq!((run.out.as_str(), run.code), ("-\n-\n-\n", 3));
    assert_eq!(run.err.matches("no such file").count(), 3, "{}", run.err);
    assert!(run.err.contains("3 of 3 inputs could not be used"));
}

#[test]
fn bad_lines() {
    let mut input = format!("{GOOD}\n").into_bytes();
    input.extend(b"\xff\xfe broken\n\n");
    input.extend(GOOD.as_bytes());
    let run = leitong(&["fingerprint"], input);
    let lines = run.lines();
    assert!(lines.len() == 4 && lines[0] == lines[3] && lines[1] == "-" && lines[2] == "-" && run.code == 3);
    assert!(run.err.contains("line 2: byte 1 of the line is not valid UTF-8"), "{}", run.err);
    assert!(run.err.contains("line 3: the line is empty"), "{}", run.err);

    let run = leitong(&["fingerprint", "--tokens"], "[\"a\"\n{}\n[1]\n[\"a\",\"b\"]\n");
    assert_eq!((run.lines().len(), run.code), (4, 3));
    assert_eq!(run.err.matches("no JSON array of words").count(), 3, "{}", run.err);
}

#[test]
fn bad_records() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes).unwrap();
    write("a.jsonl", format!("{{\"text\":\"{GOOD}\"}}\n{{broken\n[1]\n{{\"body\":\"x\"}}\n{{\"text\":\"\"}}\n{{\"text\":\"{GOOD}\"}}\n").as_bytes());
    let run = leitong_in(folder.path(), &["fingerprint", "a.jsonl"], "");
    assert_eq!((run.lines().len(), run.code), (6, 3), "{}", run.err);
    for line in 2..=5 {
        assert!(run.err.contains(&format!("a.jsonl, line {line}: ")), "{}", run.err);
    }
    assert!(run.err.contains("--text"), "{}", run.err);

    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    let text: String = (0..2000).map(|i| format!("{{\"text\":\"{GOOD}{i}\"}}\n")).collect();
    gz.write_all(text.as_bytes()).unwrap();
    let whole = gz.finish().unwrap();
    write("cut.jsonl.gz", &whole[..whole.len() / 2]);
    let run = leitong_in(folder.path(), &["fingerprint", "cut.jsonl.gz"], "");
    assert!(run.code == 3 && run.err.contains("cut short") && run.lines().len() > 1, "{}", run.err);

    write("no.csv", b"id,body\n1,x\n");
    let run = leitong_in(folder.path(), &["fingerprint", "no.csv"], "");
    assert!(run.code == 3 && run.err.contains("the columns are id, body"), "{}", run.err);
    write("bad.csv", b"id,text\n1,\xff\xfe\n2,good enough text here\n");
    let run = leitong_in(folder.path(), &["fingerprint", "bad.csv"], "");
    assert!(
        run.code == 3 && run.err.contains("line 2") && run.lines().len() == 2,
        "{}\n{}",
        run.err,
        run.out
    );
    write("cut.parquet", b"PAR1 and nothing more");
    let run = leitong_in(folder.path(), &["fingerprint", "cut.parquet"], "");
    assert!(run.code == 3 && run.err.contains("Parquet"), "{}", run.err);
}

#[test]
fn bad_recipes() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    let error = |recipe: &str| {
        let run = leitong_in(folder.path(), &["fingerprint", "--recipe", recipe], GOOD);
        assert_eq!((run.code, run.out.as_str()), (3, ""), "{recipe}: {}", run.err);
        run.err
    };
    let unknown = error("simhsah");
    assert!(unknown.contains("\"simhsah\"") && unknown.contains("py-simhash"), "{unknown}");
    write("field.toml", "name = \"x\"\n\n[simhash]\nbitz = 64\n");
    let wrong = error("field.toml");
    assert!(
        wrong.contains("field.toml, line 4") && wrong.contains("bitz") && wrong.contains("bits"),
        "{wrong}"
    );
    write("value.toml", "name = \"x\"\n[simhash]\nweight = \"heavy\"\n");
    let wrong = error("value.toml");
    assert!(
        wrong.contains("value.toml, line 3") && wrong.contains("heavy") && wrong.contains("tf-idf"),
        "{wrong}"
    );
    write("syntax.toml", "name = \"x\"\n[simhash\n");
    assert!(error("syntax.toml").contains("syntax.toml, line 2"));
    write("base.toml", "name = \"x\"\nbase = \"nothing\"\n");
    assert!(error("base.toml").contains("base.toml, line 2"));
    write("file.toml", "name = \"x\"\n[words]\nsynonyms-file = \"gone.tsv\"\n");
    assert!(error("file.toml").contains("gone.tsv"));
    write("bad.tsv", "a\tb\nalone\n");
    write("line.toml", "name = \"x\"\n[words]\nsynonyms-file = \"bad.tsv\"\n");
    let wrong = error("line.toml");
    assert!(wrong.contains("bad.tsv") && wrong.contains("line 2"), "{wrong}");
    write("zero.toml", "name = \"x\"\n[simhash]\nfeatures = { characters = 0 }\n");
    assert!(error("zero.toml").contains("use 1 or more"));
    assert!(error("no/such/recipe.toml").contains("no/such/recipe.toml"));
}

/// A gigabyte without a line break, through a process that may have 600 MB of address space.
#[test]
fn a_gigabyte_in_one_line() {
    if quick("a_gigabyte_in_one_line") {
        return;
    }
    let limited = |arguments: &str, folder: &Path| {
        let script = format!("ulimit -v 600000; exec {} {arguments}", env!("CARGO_BIN_EXE_leitong"));
        let mut command = Command::new("bash");
        command.args(["-c", &script]).current_dir(folder);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let folder = tempfile::tempdir().unwrap();
    let mut child = limited("fingerprint", folder.path());
    let mut stdin = child.stdin.take().unwrap();
    let chunk = vec![b'a'; 1 << 20];
    for _ in 0..1024 {
        stdin.write_all(&chunk).unwrap();
    }
    stdin.write_all(format!("\n{GOOD}\n").as_bytes()).unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    let (out, err) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert_eq!(output.status.code(), Some(3), "{err}");
    assert!(err.contains("line 1: the line is longer than 64 MiB"), "{err}");
    assert!(out.lines().count() == 2 && out.starts_with("-\n"), "{out}");

    // The same as a file: refused by its size, without reading it.
    let file = std::fs::File::create(folder.path().join("large.txt")).unwrap();
    file.set_len(1 << 30).unwrap();
    let output = limited("fingerprint large.txt", folder.path()).wait_with_output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(3) && err.contains("large.txt: the file is larger"), "{err}");
}
