use super::*;
use std::io::{Read, Write};

/// A table with a quoted cell, a record over two lines, and copies.
fn table(separator: char, end: &str) -> Vec<String> {
    let row = |cells: [&str; 3]| cells.join(&separator.to_string()) + end;
    vec![
        row(["id", "text", "note"]),
        row(["a", &text(1), "\"said \"\"so\"\"\""]),
        row(["b", &format!("\"{}\n\"", reprinted(1)), "x"]),
        row(["c", &format!("\"{}\n\n、\"", text(2)), "\"\""]),
        row(["d", &edited(1), ""]),
        row(["e", &text(3), "last"]),
    ]
}

#[test]
fn tables_keep_their_records_as_they_are() {
    for (name, separator, end) in [("t.csv", ',', "\n"), ("t.tsv", '\t', "\n"), ("r.csv", ',', "\r\n")] {
        let room = Room::new();
        let rows = table(separator, end);
        room.write(name, rows.concat());
        let out = format!("out.{}", &name[2..]);
        room.good(&["dedup", name, "-o", &out]);
        assert_eq!(room.read(&out), [0, 1, 3, 5].map(|at| rows[at].clone()).concat(), "{name}");
        room.good(&["undo", &format!("{out}.journal")]);
        assert_eq!(room.read(&out), rows.concat(), "{name}");
    }
}

#[test]
fn several_tables_need_the_same_header() {
    let room = Room::new();
    let rows = table(',', "\n");
    room.write("1.csv", rows[..3].concat());
    room.write("2.csv", [&rows[..1], &rows[3..]].concat().concat());
    room.good(&["dedup", "1.csv", "2.csv", "-o", "out.csv"]);
    assert_eq!(room.read("out.csv"), [0, 1, 3, 5].map(|at| rows[at].clone()).concat());
    room.write("3.csv", "id,text\nz,other\n");
    let run = room.run(&["dedup", "1.csv", "3.csv", "-o", "out2.csv"]);
    assert!(run.code == 3 && run.err.contains("different columns"), "{}", run.err);
    room.good(&["dedup", "1.csv", "3.csv", "-o", "out.jsonl"]);
    assert_eq!(room.json("out.jsonl")[0], json!({ "id": "a", "text": text(1), "note": "said \"so\"" }));
}

#[test]
fn compressed_in_and_out() {
    let room = Room::new();
    let lines: String = five().iter().map(|document| format!("{document}\n")).collect();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(lines.as_bytes()).unwrap();
    room.write("in.jsonl.gz", gzip.finish().unwrap());
    room.write("in.jsonl.zst", zstd::encode_all(lines.as_bytes(), 0).unwrap());
    let expected: String = [0, 2].map(|at| format!("{}\n", five()[at])).concat();
    for (input, output) in
        [("in.jsonl.gz", "o.jsonl.zst"), ("in.jsonl.zst", "o.jsonl.gz"), ("in.jsonl.gz", "o.jsonl")]
    {
        room.good(&["dedup", input, "-o", output]);
        let bytes = room.bytes(output);
        let found = match output.rsplit_once('.').unwrap().1 {
            "gz" => {
                let mut text = String::new();
                flate2::read::GzDecoder::new(&bytes[..]).read_to_string(&mut text).unwrap();
                text
            }
            "zst" => String::from_utf8(zstd::decode_all(&bytes[..]).unwrap()).unwrap(),
            _ => String::from_utf8(bytes).unwrap(),
        };
        assert_eq!(found, expected, "{input} to {output}");
    }
    room.good(&["undo", "o.jsonl.zst.journal"]);
    assert_eq!(zstd::decode_all(&room.bytes("o.jsonl.zst")[..]).unwrap(), lines.as_bytes());
}

#[test]
fn folders_become_objects() {
    let room = Room::new();
    std::fs::create_dir_all(room.at("docs/sub")).unwrap();
    room.write("docs/1.txt", text(1));
    room.write("docs/2.html", format!("<html><body><article><p>{}</p></article></body></html>", text(1)));
    room.write("docs/sub/3.txt", text(2));
    room.jsonl("docs/sub/4.jsonl", &[document("j", &text(3)), document("k", &reprinted(2))]);
    let run = room.good(&["dedup", "docs", "-o", "out.jsonl", "--json"]);
    assert_eq!(run.json()[0]["documents"], 5);
    let kept = room.json("out.jsonl");
    assert_eq!(room.ids("out.jsonl"), ["docs/1.txt", "docs/sub/3.txt", "j"]);
    assert_eq!(kept[1]["text"], text(2));
    room.good(&["undo", "out.jsonl.journal"]);
    assert_eq!(room.ids("out.jsonl"), ["docs/1.txt", "docs/2.html", "docs/sub/3.txt", "j", "k"]);
}

#[test]
fn other_fields_and_html_records() {
    let room = Room::new();
    let page = format!("<html><body><article><p>{}</p></article></body></html>", text(1));
    let lines = [
        json!({ "key": 1, "body": text(1) }),
        json!({ "key": 2, "html": page }),
        json!({ "key": 3, "body": page, "format": "html" }),
        json!({ "body": text(2) }),
        json!({ "key": ["x", 1], "body": text(4) }),
    ];
    room.jsonl("in.jsonl", &lines);
    room.good(&[
        "dedup",
        "in.jsonl",
        "-o",
        "out.jsonl",
        "--id",
        "key",
        "--text",
        "body",
        "--removed",
        "why.jsonl",
    ]);
    assert_eq!(room.json("out.jsonl"), [lines[0].clone(), lines[3].clone(), lines[4].clone()]);
    assert_eq!(room.ids("why.jsonl"), ["2", "3"]);
}
