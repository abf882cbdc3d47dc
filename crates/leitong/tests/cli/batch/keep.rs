use super::*;

/// Which of two equal documents stays.
fn kept(documents: &[Value], flags: &[&str]) -> Vec<String> {
    let room = Room::new();
    room.jsonl("in.jsonl", documents);
    room.good(&[&["dedup", "in.jsonl", "-o", "out.jsonl"], flags].concat());
    room.ids("out.jsonl")
}

fn with(id: &str, text: &str, field: &str, value: Value) -> Value {
    let mut document = document(id, text);
    document[field] = value;
    document
}

#[test]
fn the_first_the_longest_the_newest() {
    let longer = format!("{}等", edited(1));
    let documents = [document("a", &text(1)), document("b", &longer), document("c", &reprinted(1))];
    assert_eq!(kept(&documents, &[]), ["a"]);
    assert_eq!(kept(&documents, &["--keep", "longest"]), ["b"]);
    let dated = |field: &str| {
        [
            with("a", &text(1), field, json!("2024-01-01")),
            with("b", &reprinted(1), field, json!("2024-03-01T00:00:00Z")),
            with("c", &edited(1), field, json!(1_700_000_000)),
        ]
    };
    assert_eq!(kept(&dated("date"), &["--keep", "newest"]), ["b"]);
    assert_eq!(kept(&dated("published"), &["--keep", "newest"]), ["b"]);
    assert_eq!(kept(&dated("crawled"), &["--keep", "newest", "--date", "crawled"]), ["b"]);
    assert_eq!(kept(&dated("crawled"), &["--keep", "newest"]), ["a"], "without dates the first");
}

#[test]
fn a_field_with_a_list_or_with_numbers() {
    let of = |a: Value, b: Value, c: Value| {
        [with("a", &text(1), "f", a), with("b", &reprinted(1), "f", b), with("c", &edited(1), "f", c)]
    };
    let sources = of(json!("blog"), json!("daily"), json!("agency"));
    assert_eq!(kept(&sources, &["--keep", "f", "--prefer", "agency,daily"]), ["c"]);
    assert_eq!(kept(&sources, &["--keep", "f", "--prefer", "none,daily"]), ["b"]);
    assert_eq!(kept(&of(json!(1), json!(0.5), json!(2)), &["--keep", "f"]), ["c"]);
    assert_eq!(kept(&of(json!(null), json!("x"), json!(-2)), &["--keep", "f"]), ["c"]);
}
