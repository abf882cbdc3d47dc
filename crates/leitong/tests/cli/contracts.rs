//! What the commands promise to scripts.

use super::{leitong, leitong_in};
use std::process::{Command, Stdio};

const NEWS: &str =
    "昨天上午，市图书馆新馆在城东正式开馆，首批十二万册图书全部上架，市民凭身份证即可办理借阅手续。";

#[test]
fn every_hash_prints_its_whole_width() {
    for (name, digits) in [
        ("fnv1-32", 8),
        ("fnv1a-1024", 256),
        ("mul1000003-7", 16),
        ("mul1000003-12", 16),
        ("md5", 32),
        ("murmur64a", 16),
        ("murmur3-128", 32),
        ("lookup3", 8),
        ("lookup3-64", 16),
        ("sdbm", 16),
        ("rs", 16),
        ("js", 16),
        ("pjw", 16),
        ("elf", 16),
        ("xxh3", 16),
    ] {
        for units in [&["--utf16"][..], &[]] {
            let run = leitong(&[&["hash", "--algorithm", name], units].concat(), "雷同\n\nabc\n");
            assert_eq!(run.lines().iter().map(|line| line.len()).collect::<Vec<_>>(), [digits; 3], "{name}");
        }
    }
    assert_eq!(leitong(&["hash", "-a", "md5"], "abc\n").out, "900150983cd24fb0d6963f7d28e17f72\n");
    assert_eq!(leitong(&["hash", "-a", "lookup3"], "Four score and seven years ago\n").out, "17770551\n");
    let unknown = leitong(&["hash", "-a", "sha1"], "");
    assert!(unknown.code == 2 && unknown.err.contains("murmur64a"), "{}", unknown.err);
}

#[test]
fn distances() {
    assert_eq!(leitong(&["distance", "10101", "00110"], "").out, "3\n");
    assert_eq!(leitong(&["distance", "10101101", "10100011"], "").out, "3\n");
    assert_eq!(leitong(&["distance", "ff", "00", "--json"], "").out, "{\"distance\":8,\"bits\":8}\n");
    let run = leitong(&["distance", "ff", "0000"], "");
    assert!(run.code == 3 && run.err.contains("8 and 16 bits"), "{}", run.err);
    let run = leitong(&["distance", "fg", "00"], "");
    assert!(run.code == 3 && run.err.contains("\"fg\"") && run.err.contains("position 2"), "{}", run.err);
}

#[test]
fn every_kind_in_every_format() {
    let kinds = ["simhash", "minhash", "winnow", "keywords", "shingles", "rabin-karp", "sentence-code"];
    for kind in kinds {
        for format in ["hex", "bits", "dec", "json"] {
            let run = leitong(&["fingerprint", "--kind", kind, "--format", format], format!("{NEWS}\n"));
            assert_eq!((run.lines().len(), run.code), (1, 0), "{kind} {format}: {}", run.err);
            assert_ne!(run.out, "-\n", "{kind} {format}");
        }
        let run = leitong(&["fingerprint", "--kind", kind, "--json"], format!("{NEWS}\n"));
        let object = &run.json()[0];
        assert_eq!((object["id"].as_str(), object["kind"].as_str()), (Some("1"), Some(kind)));
        assert!(!object["fingerprint"].is_null());
    }
}

#[test]
fn marks_point_into_the_original() {
    let text = format!("　　ＡＢＣ，{NEWS}");
    let run = leitong(&["fingerprint", "--kind", "winnow", "--json"], format!("{text}\n"));
    let marks = run.json()[0]["fingerprint"].as_array().unwrap().clone();
    assert!(marks.len() > 3);
    let letters: Vec<char> = text.chars().collect();
    for mark in marks {
        let (start, end) =
            (mark["span"][0].as_u64().unwrap() as usize, mark["span"][1].as_u64().unwrap() as usize);
        let count = letters[start..end].iter().filter(|c| c.is_alphanumeric()).count();
        assert_eq!(count, 8, "a mark covers eight letters: {:?}", &letters[start..end]);
    }
}

#[test]
fn widths_and_numbers() {
    for bits in [32, 64, 128, 256, 512, 1024] {
        let run = leitong(&["fingerprint", "--bits", &bits.to_string()], format!("{NEWS}\n"));
        assert_eq!(run.out.trim().len(), bits / 4, "{}", run.err);
    }
    let run = leitong(&["fingerprint", "--bits", "48"], NEWS);
    assert!(run.code == 3 && run.err.contains("1024"), "{}", run.err);
    let run = leitong(&["fingerprint", "--bits", "128", "--recipe", "semantic-2013"], NEWS);
    assert!(run.code == 3 && run.err.contains("sdbm has 64 bits"), "{}", run.err);
}

#[test]
fn too_little_evidence_is_no_error() {
    let run = leitong(&["fingerprint", "--recipe", "es-news", "--tokens"], "[\"雷同\"]\n[]\n");
    assert_eq!((run.out.as_str(), run.code), ("-\n-\n", 0));
    let run = leitong(&["fingerprint", "--json"], "好\n");
    assert!(run.json()[0]["fingerprint"].is_null() && run.json()[0]["reason"].is_string() && run.code == 0);
}

#[test]
fn embeddings() {
    let run = leitong(
        &["fingerprint", "--kind", "embedding", "--tokens"],
        "[0.5, -1, 2]\n[0.5, -1, 2.1]\n[-0.5, 1, -2]\n",
    );
    let lines = run.lines();
    assert_eq!(lines.len(), 3);
    let distance = |a: &str, b: &str| leitong(&["distance", a, b], "").out.trim().parse::<u32>().unwrap();
    assert!(distance(lines[0], lines[1]) <= 4);
    assert_eq!(distance(lines[0], lines[2]), 64);
    let run = leitong(&["fingerprint", "--kind", "embedding"], "[0, 0]\n[1, \"a\"]\n[1]\n");
    assert_eq!((run.lines()[..2].to_vec(), run.lines().len(), run.code), (vec!["-", "-"], 3, 3));
    assert!(run.err.contains("line 1") && run.err.contains("line 2"), "{}", run.err);
}

#[test]
fn answers_do_not_depend_on_threads() {
    let input: String = (0..3000).map(|i| format!("{NEWS}第{i}号，编号{}\n", i * 7919)).collect();
    let one = leitong(&["fingerprint", "--threads", "1"], &input);
    let four = leitong(&["fingerprint", "--threads", "4"], &input);
    assert_eq!(one.out, four.out);
    assert_eq!(one.lines().len(), 3000);
}

#[test]
fn recipes_are_listed_and_shown() {
    let list = leitong(&["recipes", "--json"], "").json();
    let names: Vec<&str> = list.iter().map(|recipe| recipe["name"].as_str().unwrap()).collect();
    for name in ["leitong-1", "cms-redis", "ik", "es-news", "semantic-2013", "py-simhash"] {
        assert!(names.contains(&name));
        let folder = tempfile::tempdir().unwrap();
        let shown = leitong(&["recipes", "--show", name], "");
        std::fs::write(folder.path().join("own.toml"), &shown.out).unwrap();
        let again = leitong_in(folder.path(), &["recipes", "--show", "own.toml"], "");
        assert_eq!(again.out, shown.out, "what is shown reads back with the same digest: {}", again.err);
    }
}

#[test]
fn own_recipes_with_files() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("synonyms.tsv", "北京华联\t华联商厦\n");
    write(
        "own.toml",
        "name = \"own\"\n[words]\nsynonyms-file = \"synonyms.tsv\"\n[keywords]\nsource = { top-terms = 3 }\n",
    );
    let texts = "质疑的声音环绕在北京华联决策者的周围\n质疑的声音环绕在华联商厦决策者的周围\n";
    let keywords = |recipe: &str| {
        let run =
            leitong_in(folder.path(), &["fingerprint", "--kind", "keywords", "--recipe", recipe], texts);
        assert_eq!(run.code, 0, "{}", run.err);
        run.lines().iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let (with, without) = (keywords("own.toml"), keywords("leitong-1"));
    assert_eq!(with[0], with[1]);
    assert_ne!(without[0], without[1]);
    let digest = || {
        leitong_in(folder.path(), &["recipes", "--show", "own.toml", "--json"], "").json()[0]["digest"]
            .clone()
    };
    let before = digest();
    write("synonyms.tsv", "北京华联\t华联\n");
    assert_ne!(before, digest(), "files are part of the digest");
}

#[test]
fn a_closed_pipe_is_success() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_leitong"))
        .args(["hash", "-a", "fnv1a-1024"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    drop(child.stdout.take());
    let line = b"word\n".repeat(1 << 16);
    // Fails once the program has ended, which is what is waited for.
    while std::io::Write::write_all(&mut stdin, &line).is_ok() {}
    assert!(child.wait().unwrap().success());
}

#[test]
fn usage_errors_are_2_and_help_has_examples() {
    assert_eq!(leitong(&["fingerprint", "--no-such-flag"], "").code, 2);
    assert_eq!(leitong(&[], "").code, 2);
    for command in [
        "fingerprint",
        "hash",
        "distance",
        "compare",
        "recipes",
        "add",
        "check",
        "get",
        "similar",
        "remove",
        "stats",
        "clusters",
        "backup",
        "restore",
        "export",
        "import",
        "compact",
        "check-db",
    ] {
        let help = leitong(&[command, "--help"], "");
        assert!(help.code == 0 && help.out.contains("Example"), "{command}");
    }
}
