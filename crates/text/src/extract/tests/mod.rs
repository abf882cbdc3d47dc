//! Every format and every kind of failure, on small documents made here.

mod samples;

use proptest::prelude::*;

use self::samples::{docx, encrypted_pdf, ole, pdf, xlsx, zip_of};
use super::*;
use crate::span::Span;

fn read(bytes: &[u8], name: &str) -> Result<Extracted, ExtractError> {
    extract(bytes, Some(name), &Options::default())
}

fn text(bytes: &[u8], name: &str) -> String {
    read(bytes, name).unwrap().text
}

#[test]
fn formats_have_names() {
    for format in Format::ALL {
        assert_eq!(format.to_string().parse(), Ok(format));
        assert_eq!(serde_json::to_string(&format).unwrap(), format!("\"{format}\""));
    }
    assert!("doc".parse::<Format>().unwrap_err().to_string().contains("docx"));
}

#[test]
fn content_goes_before_the_name() {
    for (content, name, format) in [
        ("plain words", None, Format::Text),
        ("plain words", Some("a.txt"), Format::Text),
        ("<p>fragment</p>", None, Format::Html),
        ("<p>fragment</p>", Some("readme.md"), Format::Text),
        ("<b>fragment</b>", Some("a.HTM"), Format::Html),
        (" <!-- c --><!DOCTYPE HTML><p>x", Some("a.txt"), Format::Html),
        ("<html><p>x", Some("saved.doc"), Format::Html),
        ("<?xml version='1.0'?><r/>", None, Format::Xml),
        ("<?xml version='1.0'?><!DOCTYPE html><html/>", Some("a.xml"), Format::Html),
        ("<rss/>", Some("feed.rss"), Format::Xml),
        ("<paragraph>", None, Format::Text),
        ("BM is how this sentence starts", None, Format::Text),
        ("%PDF-1.4\n", None, Format::Pdf),
    ] {
        assert_eq!(Format::detect(content.as_bytes(), name), Ok(format), "{content} {name:?}");
    }
    let utf16: Vec<u8> = "<html><body>中文 page</body>".encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert_eq!(Format::detect(&utf16, None), Ok(Format::Html));
    assert_eq!(Format::detect(&docx("x"), Some("a.zip")), Ok(Format::Docx));
    assert_eq!(Format::detect(&xlsx("x"), None), Ok(Format::Xlsx));
    assert_eq!(Format::detect(&pdf("x"), None), Ok(Format::Pdf));
}

#[test]
fn plain_text_is_left_alone() {
    let extracted = read("  two\r\n\r\nlines \n".as_bytes(), "a.txt").unwrap();
    assert_eq!(extracted.text, "  two\r\n\r\nlines \n");
    assert_eq!(extracted.map.unwrap().to_source(Span::new(2, 5)), Span::new(2, 5));
    assert_eq!(extracted.encoding, Some("UTF-8"));
    let (gbk, ..) = encoding_rs::GBK.encode("如有雷同，纯属巧合，这是一段文字");
    assert_eq!(text(&gbk, "a.txt"), "如有雷同，纯属巧合，这是一段文字");
    let damaged = read(b"caf\xc3\xa9 and more words \xff here caf\xc3\xa9 \xc3\xa9t\xc3\xa9 \xc3\xa0 \xc3\xa0 \xc3\xa0 \xc3\xa0 \xc3\xa0", "a.txt");
    assert!(damaged.unwrap().warnings[0].contains("U+FFFD"));
}

#[test]
fn word_documents() {
    let body = "<w:p><w:pPr><w:tabs><w:tab w:val=\"left\"/></w:tabs></w:pPr><w:r><w:t xml:space=\"preserve\">雷同 &amp; \
        </w:t></w:r><w:r><w:t>巧合</w:t><w:tab/><w:t>tab</w:t><w:br/><w:t>line</w:t></w:r></w:p>\
        <w:p><w:del><w:r><w:delText>deleted</w:delText></w:r></w:del><w:ins><w:r><w:t>inserted</w:t></w:r></w:ins>\
        <w:r><w:instrText>PAGE</w:instrText></w:r></w:p>\
        <w:tbl><w:tr><w:tc><w:p><w:r><w:t>a</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>b</w:t></w:r></w:p>\
        <w:p><w:r><w:t>c</w:t></w:r></w:p></w:tc></w:tr></w:tbl>\
        <w:p><w:r><mc:AlternateContent><mc:Choice><w:txbxContent><w:p><w:r><w:t>box</w:t></w:r></w:p>\
        </w:txbxContent></mc:Choice><mc:Fallback><w:txbxContent><w:p><w:r><w:t>box</w:t></w:r></w:p>\
        </w:txbxContent></mc:Fallback></mc:AlternateContent></w:r><w:r><w:t>end</w:t></w:r></w:p>";
    let bytes = docx(body);
    let extracted = read(&bytes, "a.docx").unwrap();
    assert_eq!(extracted.text, "雷同 & 巧合\ttab\nline\ninserted\na\tb\nc\nbox\nend\n\nfootnote");
    assert_eq!(extracted.title.as_deref(), Some("A & B"));
    let names: Vec<&str> = extracted.parts.iter().map(|part| part.name.as_str()).collect();
    assert_eq!(names, ["word/document.xml", "word/footnotes.xml"]);
    assert_eq!(&extracted.text[extracted.parts[1].start as usize..], "footnote");
    let source = samples::document_xml(body);
    let map = extracted.map.unwrap();
    for (part, expected) in [("巧合", "巧合"), ("&", "&amp;"), ("inserted", "inserted")] {
        let start = extracted.text.find(part).unwrap();
        assert_eq!(&source[map.to_source(Span::new(start, start + part.len())).range()], expected);
    }
}

#[test]
fn workbooks() {
    let sheet = "<row r=\"1\"><c r=\"A1\" t=\"inlineStr\"><is><t>姓名</t></is></c><c r=\"C1\"><v>3.5</v></c></row>\
        <row r=\"3\"><c r=\"B3\" t=\"b\"><v>1</v></c><c r=\"XFD3\" t=\"inlineStr\"><is><t>two\nlines</t></is></c></row>";
    let extracted = read(&xlsx(sheet), "a.xlsx").unwrap();
    assert_eq!(extracted.text, "姓名\t3.5\nTRUE\ttwo lines");
    let parts: Vec<_> = extracted.parts.iter().map(|part| (part.start, part.name.as_str())).collect();
    assert_eq!(parts, [(0, "Sheet1!A1"), (11, "Sheet1!B3")]);
    assert!(extracted.map.is_none());
}

#[test]
fn open_document_spreadsheets() {
    let content = "<office:document-content xmlns:office='o' xmlns:table='t' xmlns:text='x'><table:table \
        table:name='表'><table:table-row table:number-rows-repeated='1000000'/><table:table-row><table:table-cell \
        table:number-columns-repeated='16000'/><table:table-cell><text:p>one<text:s/>two</text:p>\
        <office:annotation><text:p>comment</text:p></office:annotation></table:table-cell><table:table-cell \
        table:number-columns-repeated='900'><text:p>&lt;3</text:p></table:table-cell></table:table-row>\
        </table:table><table:table table:name='B'><table:table-row><table:table-cell><text:p>x</text:p>\
        </table:table-cell></table:table-row></table:table></office:document-content>";
    let mimetype = "application/vnd.oasis.opendocument.spreadsheet";
    let bytes = zip_of(&[("mimetype", mimetype.as_bytes()), ("content.xml", content.as_bytes())]);
    let extracted = read(&bytes, "a.ods").unwrap();
    assert_eq!(extracted.format, Format::Ods);
    assert_eq!(extracted.text, "one two\t<3\n\nx");
    let names: Vec<&str> = extracted.parts.iter().map(|part| part.name.as_str()).collect();
    assert_eq!(names, ["表!WQK1000001", "B!A1"]);
    let start = extracted.text.find('<').unwrap();
    assert_eq!(&content[extracted.map.unwrap().to_source(Span::new(start, start + 1)).range()], "&lt;");
}

#[test]
fn pdfs() {
    let extracted = read(&pdf("Hello from a page"), "a.pdf").unwrap();
    assert_eq!(extracted.text, "Hello from a page");
    assert_eq!(extracted.parts, [Part { start: 0, name: "page 1".to_owned() }]);
}

#[test]
fn passwords_are_named_as_the_trouble() {
    let office = ole(&[("EncryptionInfo", b"x"), ("EncryptedPackage", b"ciphertext")]);
    let filepass =
        [&[0x09, 8, 8, 0, 0, 6, 5, 0, 0, 0, 0, 0][..], &[0x2F, 0, 6, 0, 1, 0, 1, 0, 1, 0], &[0x0A, 0, 0, 0]]
            .concat();
    let workbook = ole(&[("Workbook", &filepass)]);
    let mut zipped = docx("<w:p><w:r><w:t>x</w:t></w:r></w:p>");
    samples::set_encrypted_flags(&mut zipped);
    let manifest = b"<m><file-entry><encryption-data/></file-entry></m>";
    let mimetype = b"application/vnd.oasis.opendocument.spreadsheet";
    let ods =
        zip_of(&[("mimetype", mimetype), ("META-INF/manifest.xml", manifest), ("content.xml", b"\x01")]);
    for (bytes, name, format) in [
        (office.clone(), "a.docx", Format::Docx),
        (office, "a.xlsx", Format::Xlsx),
        (workbook, "a.xls", Format::Xls),
        (zipped, "a.docx", Format::Docx),
        (ods, "a.ods", Format::Ods),
        (encrypted_pdf(), "a.pdf", Format::Pdf),
    ] {
        assert_eq!(read(&bytes, name), Err(ExtractError::PasswordProtected { format }), "{name}");
    }
}

#[test]
fn other_kinds_are_named_with_advice() {
    for (bytes, kind, advice) in [
        (ole(&[("WordDocument", b"x")]), ".doc", ".docx"),
        (ole(&[("PowerPoint Document", b"x")]), ".ppt", "PDF"),
        (ole(&[("__properties_version1.0", b"x")]), ".msg", "text"),
        (b"\x89PNG\r\n\x1a\n....".to_vec(), "PNG", "OCR"),
        (b"\xFF\xD8\xFF\xE0....".to_vec(), "JPEG", "OCR"),
        (b"RIFF....WEBPVP8 ".to_vec(), "WebP", "OCR"),
        (b"{\\rtf1 x}".to_vec(), ".rtf", ".docx"),
        (b"\x1F\x8B\x08....".to_vec(), "gzip", "unpack"),
        (zip_of(&[("a.txt", b"x")]), "zip", "unpack"),
        (zip_of(&[("ppt/presentation.xml", b"x")]), "PowerPoint", "PDF"),
        (zip_of(&[("mimetype", b"application/vnd.oasis.opendocument.text")]), "OpenDocument", ".docx"),
    ] {
        match extract(&bytes, None, &Options::default()) {
            Err(error @ ExtractError::Unsupported { .. }) => {
                let message = error.to_string();
                assert!(message.contains(kind) && message.contains(advice), "{message}");
            }
            other => panic!("{kind}: {other:?}"),
        }
    }
}

#[test]
fn damage_is_reported() {
    let whole = docx("<w:p><w:r><w:t>x</w:t></w:r></w:p>");
    let is_corrupt =
        |bytes: &[u8], name: &str| matches!(read(bytes, name), Err(ExtractError::Corrupt { .. }));
    assert!(is_corrupt(&whole[..whole.len() / 2], "a.docx"));
    assert!(is_corrupt(&docx("<w:p>"), "a.docx"));
    assert!(is_corrupt(&zip_of(&[("word/other.xml", b"x")]), "a.docx"));
    assert!(is_corrupt(&zip_of(&[("xl/workbook.xml", b"x")]), "a.xlsx"));
    assert!(is_corrupt(b"%PDF-1.7\nnothing else", "a.pdf"));
    assert!(is_corrupt(b"\0\x01\x02\x03\0\0\0\0", "a.docx"));
    let ole_file = ole(&[("Workbook", &[0; 5000])]);
    assert!(is_corrupt(&ole_file[..1024], "a.xls"));
}

#[test]
fn no_text_is_an_error() {
    assert_eq!(read(b"", "a.txt"), Err(ExtractError::Empty { format: Format::Text }));
    assert_eq!(
        read(b"<html><script>x</script>", "a.html"),
        Err(ExtractError::Empty { format: Format::Html })
    );
    assert_eq!(read(&docx(""), "a.docx").map(|extracted| extracted.text), Ok("footnote".to_owned()));
    assert_eq!(read(&xlsx(""), "a.xlsx"), Err(ExtractError::Empty { format: Format::Xlsx }));
    assert_eq!(read(&pdf(""), "a.pdf"), Err(ExtractError::Empty { format: Format::Pdf }));
    assert_eq!(read(&[0, 1, 2, 3, 250, 0, 7, 8, 9, 0], "data"), Err(ExtractError::Binary));
    let as_text = Options { format: Some(Format::Text), ..Options::default() };
    assert_eq!(extract(&[0, 1, 2, 3, 250, 0, 7, 8, 9, 0], None, &as_text), Err(ExtractError::Binary));
}

#[test]
fn unknown_encodings_are_refused() {
    let options = Options { encoding: Some("klingon".to_owned()), ..Options::default() };
    let error = extract(b"text", None, &options).unwrap_err();
    assert!(error.to_string().contains("klingon") && error.to_string().contains("gb18030"));
}

#[test]
fn limits_are_obeyed() {
    let small = Options { max_input: 10, ..Options::default() };
    let too_large = |what, limit| Err(ExtractError::TooLarge { what, limit });
    assert_eq!(extract(b"more than ten bytes", None, &small), too_large("the file", 10));
    let short = Options { max_text: 10, ..Options::default() };
    assert_eq!(extract(b"more than ten bytes", None, &short), too_large("the text", 10));
    let cells = "<row><c t=\"inlineStr\"><is><t>long enough</t></is></c></row>".repeat(3);
    assert_eq!(extract(&xlsx(&cells), None, &short), too_large("the text", 10));
    let deep = format!("{}{}", "<w:x>".repeat(1000), "</w:x>".repeat(1000));
    assert_eq!(read(&docx(&deep), "a.docx"), Err(ExtractError::TooDeep { limit: 256 }));
}

#[test]
fn sheets_that_span_too_many_cells_are_refused() {
    let label = |row: u16, column: u16| {
        let mut record = vec![0x03, 0x02, 14, 0];
        record.extend([row.to_le_bytes(), column.to_le_bytes()].concat());
        record.extend([0; 10]);
        record
    };
    let stream = [&[0x09, 8, 4, 0, 0, 6, 16, 0][..], &label(0, 0), &label(65_535, 65_535)].concat();
    let cells = 1 << 32;
    let expected = Err(ExtractError::TooManyCells { cells, limit: 1 << 24 });
    assert_eq!(read(&ole(&[("Workbook", &stream)]), "a.xls"), expected);
    let dimensions = [&[0x00, 0x02, 14, 0][..], &[0; 4], &[255; 4], &[0, 0, 255, 255, 0, 0]].concat();
    let result = read(&ole(&[("Workbook", &dimensions)]), "a.xls");
    assert!(matches!(result, Err(ExtractError::TooManyCells { .. })), "{result:?}");
}

#[test]
fn zip_bombs_are_refused() {
    let zeros = vec![b' '; 32 << 20];
    let is_bomb = |result| matches!(result, Err(ExtractError::ZipBomb { .. }));
    let bomb = zip_of(&[("word/document.xml", &zeros)]);
    // By ratio, by declared size, and by what streams out although the size declared is small.
    assert!(is_bomb(read(&bomb, "a.docx")));
    let by_size = Options { max_unpacked: 1 << 20, max_ratio: u64::MAX, ..Options::default() };
    assert!(is_bomb(extract(&bomb, Some("a.docx"), &by_size)));
    let mut lying = bomb;
    samples::set_declared_size(&mut lying, 1000);
    let result = extract(&lying, Some("a.docx"), &by_size);
    assert!(matches!(result, Err(ExtractError::ZipBomb { .. } | ExtractError::Corrupt { .. })), "{result:?}");
    let sheet = zip_of(&[("xl/workbook.xml", b"<workbook/>"), ("xl/sharedStrings.xml", &zeros)]);
    assert!(is_bomb(read(&sheet, "a.xlsx")));
}

#[test]
fn panics_become_errors() {
    let result: Result<(), _> = guard::guarded(Format::Pdf, || panic!("index out of bounds"));
    let reason = "index out of bounds".to_owned();
    assert_eq!(result, Err(ExtractError::ParserFailed { format: Format::Pdf, reason }));
}

fn all_samples() -> Vec<Vec<u8>> {
    vec![
        docx("<w:p><w:r><w:t>some &amp; text</w:t></w:r></w:p>"),
        xlsx("<row><c t=\"inlineStr\"><is><t>x</t></is></c><c><v>1</v></c></row>"),
        pdf("Hello"),
        encrypted_pdf(),
        ole(&[("Workbook", &[0x09, 8, 8, 0, 0, 6, 16, 0, 0, 0, 0, 0, 0x0A, 0, 0, 0])]),
        "<html><body><p class='a'>x &lt; y<table><tr><td>中文</table><script>a</script>".into(),
        "<?xml version='1.0'?><a><b c='d'>e &amp; f</b><![CDATA[g]]></a>".into(),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..2000), format in 0..Format::ALL.len()) {
        let _ = extract(&bytes, None, &Options::default());
        let forced = Options { format: Some(Format::ALL[format]), ..Options::default() };
        let _ = extract(&bytes, None, &forced);
    }

    #[test]
    fn random_markup_is_traced(source in "(<[a-z/!?&'\"= -]{0,8}>?|[a-z &;#中。]{0,12}|<p>|</p>|&amp;|&#x4e2d;|<!--|-->){0,40}") {
        let html = Options { format: Some(Format::Html), ..Options::default() };
        for mode in [HtmlMode::Article, HtmlMode::AllText] {
            let Ok(extracted) = extract(source.as_bytes(), None, &Options { html: mode, ..html.clone() }) else {
                continue;
            };
            let map = extracted.map.unwrap();
            prop_assert_eq!(map.derived_len(), extracted.text.len());
            for (start, c) in extracted.text.char_indices().filter(|(_, c)| !c.is_whitespace()) {
                let place = &source[map.to_source(Span::new(start, start + c.len_utf8())).range()];
                prop_assert!(place.is_empty() || place.starts_with(c) || place.starts_with('&'));
            }
        }
        let _ = extract(source.as_bytes(), Some("a.xml"), &Options::default());
    }

    #[test]
    fn damaged_samples_never_panic(
        sample in 0..7_usize,
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..12),
        cut in any::<prop::sample::Index>(),
        whole in any::<bool>(),
    ) {
        let mut bytes = all_samples().swap_remove(sample);
        for (at, byte) in edits {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if !whole {
            bytes.truncate(cut.index(bytes.len()));
        }
        let _ = extract(&bytes, None, &Options::default());
    }
}
