//! What becomes of the fields of a record.

use super::{Room, text};
use serde_json::{Value, json};

fn stored(room: &Room, id: &str) -> Value {
    room.good(&["get", id, "--json"]).json().remove(0)
}

#[test]
fn json_keeps_its_types() {
    let room = Room::new();
    room.store(&[
        json!({
            "id": 7, "text": text(1), "title": "标题", "source": "新华社", "published": "2024-05-01T08:00:00+08:00",
            "expires": 4_102_444_800u64, "author": "张三", "keywords": ["a", "b"], "n": 1.5, "deep": { "x": [1, null, true] },
        }),
        json!({ "id": "dated", "text": text(2), "date": "2024-05-01", "title": "" }),
        json!({ "id": "vague", "text": text(3), "date": "五月一日" }),
    ]);
    let first = stored(&room, "7");
    assert_eq!((first["title"].as_str(), first["source"].as_str()), (Some("标题"), Some("新华社")));
    assert_eq!(
        (first["published"].as_i64(), first["expires"].as_i64()),
        (Some(1_714_521_600), Some(4_102_444_800))
    );
    let expected =
        json!({ "author": "张三", "keywords": ["a", "b"], "n": 1.5, "deep": { "x": [1, null, true] } });
    assert_eq!(first["metadata"], expected);
    assert!(first["simhash"].as_str().is_some_and(|hex| hex.len() == 16));
    let dated = stored(&room, "dated");
    assert_eq!(
        (dated["published"].as_i64(), &dated["metadata"], &dated["title"]),
        (Some(1_714_521_600), &json!(null), &json!(null))
    );
    assert_eq!(stored(&room, "vague")["metadata"], json!({ "date": "五月一日" }));
    let shown = room.good(&["get", "7", "--text"]).out;
    assert!(shown.contains("published  2024-05-01T00:00:00Z\n") && shown.contains(&text(1)), "{shown}");
    for (filter, count) in [("deep.x=1", 1), ("n>1", 1), ("n>1.5", 0), ("keywords=b", 1), ("date", 1)] {
        let run =
            room.run(&["check", "-", "--json", "--where", filter], format!("{}\n{}\n", text(1), text(3)));
        let found: usize = run.json().iter().map(|line| super::matched(line).len()).sum();
        assert_eq!(found, count, "{filter}: {}", run.out);
    }
}

#[test]
fn other_fields_for_id_and_text() {
    let room = Room::new();
    room.jsonl("a.jsonl", &[json!({ "url": "http://a/1", "body": text(1), "id": 5, "text": "teaser" })]);
    room.good(&["add", "a.jsonl", "--id", "url", "--text", "body"]);
    assert_eq!(stored(&room, "http://a/1")["metadata"], json!({ "id": 5, "text": "teaser" }));
}

#[test]
fn html_becomes_text() {
    let room = Room::new();
    let page = format!("<html><body><article><p>{}</p></article></body></html>", text(1));
    room.store(&[
        json!({ "id": "a", "html": page, "n": 1 }),
        json!({ "id": "b", "text": page, "format": "html" }),
        json!({ "id": "c", "text": text(2), "format": "plain" }),
    ]);
    for id in ["a", "b"] {
        let got = room.good(&["get", id, "--text", "--json"]).json().remove(0);
        assert_eq!(got["text"].as_str().unwrap().trim(), text(1), "{id}");
    }
    assert_eq!(stored(&room, "a")["metadata"], json!({ "n": 1 }));
    assert_eq!(stored(&room, "b")["metadata"], json!(null));
    assert_eq!(stored(&room, "c")["metadata"], json!({ "format": "plain" }));
}

#[test]
fn tables() {
    let room = Room::new();
    room.write(
        "a.csv",
        format!("\u{feff}id,text,title,published,section,empty\nc1,{},标题,2024-05-01,本地,\n", text(1)),
    );
    room.good(&["add", "a.csv"]);
    let row = stored(&room, "c1");
    assert_eq!((row["title"].as_str(), row["published"].as_i64()), (Some("标题"), Some(1_714_521_600)));
    assert_eq!(row["metadata"], json!({ "section": "本地" }));
    parquet(&room.path().join("b.parquet"));
    let run = room.good(&["add", "b.parquet"]);
    assert_eq!(run.out, "stored\tp1\nstored\tp2\n");
    let row = stored(&room, "p1");
    assert_eq!(
        (row["published"].as_i64(), &row["metadata"]),
        (Some(1_714_521_600), &json!({ "views": 41, "score": 0.5 }))
    );
}

fn parquet(path: &std::path::Path) {
    use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
    use parquet::file::properties::WriterProperties;
    use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
    let schema = "message rows { REQUIRED BYTE_ARRAY id (UTF8); REQUIRED BYTE_ARRAY text (UTF8); REQUIRED INT64 views; \
                  REQUIRED DOUBLE score; REQUIRED INT64 published (TIMESTAMP_MILLIS); }";
    let schema = parquet::schema::parser::parse_message_type(schema).unwrap().into();
    let file = std::fs::File::create(path).unwrap();
    let mut writer =
        SerializedFileWriter::new(file, schema, WriterProperties::builder().build().into()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let (one, two) = (text(11), text(12));
    for values in [["p1", "p2"], [&one, &two]] {
        let mut column = group.next_column().unwrap().unwrap();
        let values = values.map(ByteArray::from);
        column.typed::<ByteArrayType>().write_batch(&values, None, None).unwrap();
        column.close().unwrap();
    }
    let mut numbers = |write: &dyn Fn(&mut SerializedColumnWriter<'_>) -> usize| {
        let mut column = group.next_column().unwrap().unwrap();
        assert_eq!(write(&mut column), 2);
        column.close().unwrap();
    };
    let times = [1_714_521_600_000, 5];
    numbers(&|column| column.typed::<Int64Type>().write_batch(&[41, 42], None, None).unwrap());
    numbers(&|column| column.typed::<DoubleType>().write_batch(&[0.5, 1.5], None, None).unwrap());
    numbers(&|column| column.typed::<Int64Type>().write_batch(&times, None, None).unwrap());
    group.close().unwrap();
    writer.close().unwrap();
}
