use super::*;
use parquet::basic::Compression;
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;

const SCHEMA: &str = "message rows {
    REQUIRED BYTE_ARRAY id (UTF8); REQUIRED BYTE_ARRAY text (UTF8); OPTIONAL INT64 number;
    OPTIONAL group tags (LIST) { REPEATED group list { OPTIONAL BYTE_ARRAY element (UTF8); } }
}";

/// A file of documents with a number that is sometimes missing and a list of tags, in groups of rows.
fn write(room: &Room, name: &str, documents: &[(String, String)], group_size: usize) {
    let schema = parquet::schema::parser::parse_message_type(SCHEMA).unwrap().into();
    let properties =
        WriterProperties::builder().set_compression(Compression::ZSTD(Default::default())).build();
    let file = std::fs::File::create(room.at(name)).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema, properties.into()).unwrap();
    for (at, rows) in documents.chunks(group_size).enumerate() {
        let first = at * group_size;
        let mut group = writer.next_row_group().unwrap();
        let mut column = 0;
        while let Some(mut open) = group.next_column().unwrap() {
            match open.untyped() {
                ColumnWriter::ByteArrayColumnWriter(writer) if column < 2 => {
                    let value = |row: &(String, String)| {
                        ByteArray::from(if column == 0 { row.0.as_str() } else { &row.1 })
                    };
                    writer.write_batch(&rows.iter().map(value).collect::<Vec<_>>(), None, None).unwrap();
                }
                ColumnWriter::Int64ColumnWriter(writer) => {
                    let there: Vec<i16> =
                        (0..rows.len()).map(|row| i16::from(!(first + row).is_multiple_of(3))).collect();
                    let numbers: Vec<i64> = (0..rows.len())
                        .filter(|row| !(first + row).is_multiple_of(3))
                        .map(|row| (first + row) as i64)
                        .collect();
                    writer.write_batch(&numbers, Some(&there), None).unwrap();
                }
                ColumnWriter::ByteArrayColumnWriter(writer) => {
                    // Row n has n modulo 4 tags.
                    let (mut values, mut defined, mut repeated) = (Vec::new(), Vec::new(), Vec::new());
                    for row in first..first + rows.len() {
                        match row % 4 {
                            0 => (defined.push(1), repeated.push(0)),
                            tags => (0..tags)
                                .map(|tag| {
                                    values.push(ByteArray::from(format!("{row}-{tag}").as_str()));
                                    (defined.push(3), repeated.push(i16::from(tag > 0)))
                                })
                                .last()
                                .unwrap(),
                        };
                    }
                    writer.write_batch(&values, Some(&defined), Some(&repeated)).unwrap();
                }
                _ => unreachable!(),
            }
            open.close().unwrap();
            column += 1;
        }
        group.close().unwrap();
    }
    writer.close().unwrap();
}

/// All rows as they print.
fn rows(room: &Room, name: &str) -> Vec<String> {
    let reader = SerializedFileReader::new(std::fs::File::open(room.at(name)).unwrap()).unwrap();
    reader.into_iter().map(|row| row.unwrap().to_string()).collect()
}

fn documents(range: std::ops::Range<u64>) -> Vec<(String, String)> {
    let text = |at: u64| if at % 5 == 3 { reprinted(at / 2) } else { text(at) };
    range.map(|at| (format!("p{at}"), text(at))).collect()
}

#[test]
fn rows_are_copied_with_all_their_columns() {
    let room = Room::new();
    write(&room, "in.parquet", &documents(0..1000), 170);
    let all = rows(&room, "in.parquet");
    room.good(&["dedup", "in.parquet", "-o", "out.parquet", "--removed", "why.jsonl"]);
    let gone: Vec<String> = room.ids("why.jsonl");
    assert!(gone.len() > 100, "{}", gone.len());
    let expected: Vec<&String> = all
        .iter()
        .zip(documents(0..1000))
        .filter(|(_, (id, _))| !gone.contains(id))
        .map(|(row, _)| row)
        .collect();
    assert_eq!(rows(&room, "out.parquet").iter().collect::<Vec<_>>(), expected);
    let open = |name: &str| SerializedFileReader::new(std::fs::File::open(room.at(name)).unwrap()).unwrap();
    let (before, after) = (open("in.parquet"), open("out.parquet"));
    assert_eq!(before.metadata().file_metadata().schema(), after.metadata().file_metadata().schema());
    assert_eq!(
        before.metadata().row_group(0).column(0).compression(),
        after.metadata().row_group(0).column(0).compression()
    );
    room.good(&["undo", "out.parquet.journal", "--only", &gone[5], "--only", &gone[50]]);
    assert_eq!(rows(&room, "out.parquet").len(), 1000 - gone.len() + 2);
    room.good(&["undo", "out.parquet.journal"]);
    assert_eq!(rows(&room, "out.parquet"), all);
    assert_eq!(room.names(), ["in.parquet", "out.parquet", "why.jsonl"]);
}

#[test]
fn several_files_and_other_formats() {
    let room = Room::new();
    write(&room, "1.parquet", &documents(0..30), 7);
    write(&room, "2.parquet", &documents(30..60), 100);
    room.good(&["dedup", "1.parquet", "2.parquet", "-o", "out.parquet"]);
    room.good(&["dedup", "1.parquet", "2.parquet", "-o", "out.jsonl"]);
    let lines = room.json("out.jsonl");
    assert_eq!(lines.len(), rows(&room, "out.parquet").len());
    assert_eq!(lines[1], json!({ "id": "p1", "text": text(1), "number": 1, "tags": ["1-0"] }));
    let zipped = zstd::encode_all(&room.bytes("1.parquet")[..], 0).unwrap();
    room.write("1.parquet.zst", zipped);
    room.good(&["dedup", "1.parquet.zst", "2.parquet", "-o", "again.jsonl"]);
    assert_eq!(room.bytes("again.jsonl"), room.bytes("out.jsonl"));
}

#[test]
fn a_truncated_file() {
    let room = Room::new();
    write(&room, "in.parquet", &documents(0..300), 100);
    room.jsonl("good.jsonl", &five());
    let whole = room.bytes("in.parquet");
    room.write("cut.parquet", &whole[..whole.len() / 2]);
    let run = room.run(&["dedup", "cut.parquet", "good.jsonl", "-o", "out.jsonl"]);
    assert!(
        run.code == 3 && run.err.contains("cut.parquet") && run.err.contains("not a readable"),
        "{}",
        run.err
    );
    assert_eq!(room.ids("out.jsonl"), ["a", "c"]);
    let run = room.run(&["dedup", "cut.parquet", "-o", "out.parquet"]);
    assert!(run.code == 3 && !room.at("out.parquet").exists(), "{}", run.err);
    // Damage in the middle: the rows before it are used.
    let mut damaged = whole;
    let third = damaged.len() * 2 / 3;
    damaged[third..third + 2000].fill(0xff);
    room.write("damaged.parquet", damaged);
    let run = room.run(&["dedup", "damaged.parquet", "good.jsonl", "-o", "out.jsonl"]);
    assert!(run.code == 3 && run.err.contains("damaged.parquet"), "{}", run.err);
    assert!(room.ids("out.jsonl").contains(&"p0".to_owned()));
}

#[test]
fn a_killed_undo_of_rows_is_finished() {
    let mut steps = 0;
    for (calls, number) in undo::CALLS.iter().flat_map(|calls| (1..8).map(move |number| (calls, number))) {
        let room = Room::new();
        write(&room, "in.parquet", &documents(0..30), 7);
        let all = rows(&room, "in.parquet");
        room.good(&["dedup", "in.parquet", "-o", "out.parquet", "--removed", "why.jsonl"]);
        let gone = room.ids("why.jsonl");
        let some = ["undo", "out.parquet.journal", "--only", &gone[1]];
        match undo::killed_at(&room, calls, number, &some) {
            None => return println!("skipped: a killed undo of rows (needs strace)"),
            Some(false) => continue,
            Some(true) => steps += 1,
        }
        room.good(&some);
        assert_eq!(rows(&room, "out.parquet").len(), all.len() - gone.len() + 1, "{calls} {number}");
        assert_eq!(rows(&room, "out.parquet.journal.parquet").len(), gone.len() - 1, "{calls} {number}");
        room.good(&["undo", "out.parquet.journal"]);
        assert_eq!(rows(&room, "out.parquet"), all, "{calls} {number}");
        assert_eq!(room.names(), ["in.parquet", "out.parquet", "why.jsonl"], "{calls} {number}");
    }
    // The plan, the output, the rows and the journal take their places, and the plan goes.
    assert!(steps >= 5, "{steps}");
}
