//! `leitong compare` on files and texts.

use super::{leitong, leitong_in};

const A: &str = "昨天上午，市图书馆新馆在城东正式开馆，首批十二万册图书全部上架，市民凭身份证即可办理借阅手续。\n馆长表示，新馆每周开放六天，周末还将举办面向儿童的绘本故事会，欢迎家长带孩子前来参加。\n";

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: String| std::fs::write(folder.path().join(name), text).unwrap();
    write("a.txt", A.to_owned());
    let paragraphs: String =
        A.lines().map(|line| format!("<p>{}</p>", line.replace("正式", "隆重"))).collect();
    write(
        "b.html",
        format!("<html><head><title>x</title></head><body><article>{paragraphs}</article></body></html>"),
    );
    write(
        "c.txt",
        "受冷空气影响，明天夜间起我市将迎来今年入冬以来最强的一次降温过程，气象部门提醒市民注意添衣保暖。\n"
            .into(),
    );
    folder
}

#[test]
fn signals_and_passages_as_json() {
    let folder = folder();
    let run = leitong_in(folder.path(), &["compare", "a.txt", "b.html", "--json"], "");
    let found = &run.json()[0];
    assert_eq!(
        (found["verdict"].as_str(), found["duplicate"].as_bool(), run.code),
        (Some("near"), Some(true), 0)
    );
    for field in ["distance", "jaccard", "containment", "minhash", "cosine", "sentence_code"] {
        assert!(found[field].is_number(), "{field}");
    }
    let passages = found["passages"].as_array().unwrap();
    let covered: u64 =
        passages.iter().map(|p| p["a"][1].as_u64().unwrap() - p["a"][0].as_u64().unwrap()).sum();
    assert!(covered > 80, "{passages:?}");
}

#[test]
fn exit_codes() {
    let folder = folder();
    let code = |b: &str, flag: &[&str]| {
        leitong_in(folder.path(), &[&["compare", "a.txt", b], flag].concat(), "").code
    };
    assert_eq!(code("b.html", &["--fail-on-duplicate"]), 1);
    assert_eq!(code("b.html", &[]), 0);
    assert_eq!(code("c.txt", &["--fail-on-duplicate"]), 0);
    let missing = leitong_in(folder.path(), &["compare", "a.txt", "nowhere.txt"], "");
    assert!(missing.code == 3 && missing.err.contains("nowhere.txt") && missing.err.contains("--literal"));
}

#[test]
fn texts_and_standard_input() {
    let run = leitong(&["compare", "--literal", "如有雷同，純屬巧合", "如有雷同,纯属巧合!", "--json"], "");
    assert_eq!(run.json()[0]["verdict"], "exact");
    let folder = folder();
    let run = leitong_in(folder.path(), &["compare", "a.txt", "-", "--json"], A);
    assert_eq!(run.json()[0]["verdict"], "exact");
}

#[test]
fn colours_only_where_asked() {
    let folder = folder();
    let plain = leitong_in(folder.path(), &["compare", "a.txt", "b.html"], "");
    assert!(plain.out.starts_with("near") && !plain.out.contains('\u{1b}'));
    let coloured = leitong_in(folder.path(), &["compare", "a.txt", "b.html", "--color", "always"], "");
    assert!(coloured.out.contains("\u{1b}["));
}

#[test]
fn the_page_is_whole_and_escaped() {
    let folder = folder();
    std::fs::write(folder.path().join("d.txt"), format!("<script>alert(1)</script>{A}")).unwrap();
    let run = leitong_in(folder.path(), &["compare", "a.txt", "d.txt", "--html", "report.html"], "");
    assert_eq!(run.code, 0, "{}", run.err);
    let page = std::fs::read_to_string(folder.path().join("report.html")).unwrap();
    assert!(page.contains("<mark") && !page.contains("<script>alert") && !page.contains("{{"));
    assert!(!page.contains("http://") && !page.contains("https://"), "nothing is loaded from elsewhere");
    let run = leitong_in(folder.path(), &["compare", "a.txt", "d.txt", "--html", "no/such/folder.html"], "");
    assert!(run.code == 3 && run.err.contains("no/such/folder.html"));
}
