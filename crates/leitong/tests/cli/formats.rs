//! Every kind of input gives the fingerprint of the same text.

use super::{leitong, leitong_in};
use std::io::Write;
use std::path::Path;

const TEXT: &str =
    "昨天上午，市图书馆新馆在城东正式开馆，首批十二万册图书全部上架，市民凭身份证即可办理借阅手续。";

fn expected() -> String {
    leitong(&["fingerprint"], format!("{TEXT}\n")).out.trim().to_owned()
}

fn docx(text: &str) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default();
    let mut add = |name: &str, content: &str| {
        archive.start_file(name, options).unwrap();
        archive.write_all(content.as_bytes()).unwrap();
    };
    add(
        "[Content_Types].xml",
        "<?xml version=\"1.0\"?><Types xmlns=\"http://schemas.openxmlformats.org/package/2006/content-types\"/>",
    );
    let body = format!("<w:p><w:r><w:t>{text}</w:t></w:r></w:p>");
    add(
        "word/document.xml",
        &format!(
            "<?xml version=\"1.0\"?><w:document xmlns:w=\"http://schemas.openxmlformats.org/wordprocessingml/2006/main\"><w:body>{body}</w:body></w:document>"
        ),
    );
    archive.finish().unwrap().into_inner()
}

fn parquet(path: &Path) {
    use parquet::data_type::{ByteArray, ByteArrayType};
    use parquet::file::properties::WriterProperties;
    use parquet::file::writer::SerializedFileWriter;
    let schema = "message rows { REQUIRED BYTE_ARRAY id (UTF8); REQUIRED BYTE_ARRAY text (UTF8); }";
    let schema = parquet::schema::parser::parse_message_type(schema).unwrap().into();
    let file = std::fs::File::create(path).unwrap();
    let mut writer =
        SerializedFileWriter::new(file, schema, WriterProperties::builder().build().into()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    for values in [["p1", "p2"], [TEXT, "短"]] {
        let mut column = group.next_column().unwrap().unwrap();
        let values: Vec<ByteArray> = values.iter().map(|value| ByteArray::from(*value)).collect();
        column.typed::<ByteArrayType>().write_batch(&values, None, None).unwrap();
        column.close().unwrap();
    }
    group.close().unwrap();
    writer.close().unwrap();
}

#[test]
fn documents() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes).unwrap();
    let gbk: Vec<u8> = encode_gbk(TEXT);
    write("1.txt", TEXT.as_bytes());
    write("2.gbk.txt", &gbk);
    write("3.html", format!("<html><body><article><p>{TEXT}</p></article></body></html>").as_bytes());
    write("4.xml", format!("<?xml version=\"1.0\"?><news><body>{TEXT}</body></news>").as_bytes());
    write("5.docx", &docx(TEXT));
    std::fs::create_dir(folder.path().join("6")).unwrap();
    write("6/nested.txt", format!("\u{feff}{TEXT}").as_bytes());
    write(".hidden", b"not this one");
    let run = leitong_in(folder.path(), &["fingerprint", ".", "--ids"], "");
    assert_eq!(run.code, 0, "{}", run.err);
    let names = ["1.txt", "2.gbk.txt", "3.html", "4.xml", "5.docx", "6/nested.txt"];
    let expected: Vec<String> = names.iter().map(|name| format!("{}\t./{name}", expected())).collect();
    assert_eq!(run.lines(), expected);
}

/// The bytes of the test's text in GBK, by the table of iconv; only what the text needs.
fn encode_gbk(text: &str) -> Vec<u8> {
    let output = std::process::Command::new("iconv")
        .args(["-f", "utf-8", "-t", "gbk"])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn();
    let mut child = output.unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    child.wait_with_output().unwrap().stdout
}

#[test]
fn records() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes).unwrap();
    let jsonl = format!(
        "{{\"id\":\"j1\",\"text\":\"{TEXT}\"}}\n\n{{\"id\":2,\"text\":\"<p>{TEXT}</p>\",\"format\":\"html\"}}\n{{\"html\":\"<body><nav>x</nav><p>{TEXT}</p></body>\"}}\n"
    );
    write("a.jsonl", jsonl.as_bytes());
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gz.write_all(jsonl.as_bytes()).unwrap();
    write("b.ndjson.gz", &gz.finish().unwrap());
    write("c.jsonl.zst", &zstd::encode_all(jsonl.as_bytes(), 3).unwrap());
    write("d.csv", format!("\u{feff}id,text\nc1,\"{TEXT}\"\n").as_bytes());
    write("e.tsv", format!("name\tbody\nt1\t{TEXT}\n").as_bytes());
    parquet(&folder.path().join("f.parquet"));
    let ids = |arguments: &[&str]| {
        let run = leitong_in(folder.path(), &[&["fingerprint", "--json"], arguments].concat(), "");
        assert_eq!(run.code, 0, "{}", run.err);
        let objects = run.json();
        assert_eq!(objects[0]["fingerprint"], expected(), "{arguments:?}");
        objects.iter().map(|object| object["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    for name in ["a.jsonl", "b.ndjson.gz", "c.jsonl.zst"] {
        assert_eq!(ids(&[name]), ["j1".to_owned(), "2".to_owned(), format!("{name}, line 4")]);
    }
    assert_eq!(ids(&["d.csv"]), ["c1"]);
    assert_eq!(ids(&["e.tsv", "--id", "name", "--text", "body"]), ["t1"]);
    assert_eq!(ids(&["f.parquet"]), ["p1", "p2"]);
}

#[test]
fn fields_beside_the_text() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("r.toml"), "name = \"r\"\n[keywords]\nsource = \"given\"\n").unwrap();
    let input = "{\"text\":\"a b\",\"keywords\":[\"雷同\",\"检测\"]}\n{\"text\":\"c d\",\"keywords\":[\"检测\",\"雷同\"]}\n{\"text\":\"e\"}\n";
    let arguments = ["fingerprint", "--kind", "keywords", "--recipe", "r.toml", "--stdin", "jsonl"];
    let run = leitong_in(folder.path(), &arguments, input);
    let lines = run.lines();
    assert!(lines[0] == lines[1] && lines[0].len() == 32 && lines[2] == "-", "{lines:?} {}", run.err);
}

#[test]
fn images() {
    let folder = tempfile::tempdir().unwrap();
    // A 2 x 1 bitmap, 24 bits: red and blue. Rows are padded to four bytes, colours are blue, green, red.
    let pixels = [0, 0, 255, 255, 0, 0, 0, 0];
    let mut bitmap = b"BM".to_vec();
    for number in [54 + 8, 0, 54, 40, 2, 1] {
        bitmap.extend(u32::to_le_bytes(number));
    }
    bitmap.extend([1, 0, 24, 0]);
    bitmap.extend([0; 24]);
    bitmap.extend(pixels);
    std::fs::write(folder.path().join("a.bmp"), &bitmap).unwrap();
    std::fs::write(folder.path().join("b.bmp"), &bitmap[..40]).unwrap();
    std::fs::write(folder.path().join("two.toml"), "name = \"two\"\n[image]\ncolumns = 2\nrows = 1\n")
        .unwrap();
    let run = leitong_in(
        folder.path(),
        &["fingerprint", "--kind", "image", "--recipe", "two.toml", "a.bmp", "b.bmp"],
        "",
    );
    assert!(run.lines()[0].starts_with("O. "), "{}", run.out);
    assert!(run.lines()[1] == "-" && run.code == 3 && run.err.contains("b.bmp"), "{}", run.err);
    let run = leitong(&["fingerprint", "--kind", "image"], "");
    assert!(run.code == 3 && run.err.contains("name some"), "{}", run.err);
}
