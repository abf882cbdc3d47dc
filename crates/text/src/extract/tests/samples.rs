//! Small documents of every format.

use std::io::{Cursor, Write};

use zip::write::SimpleFileOptions;

/// A zip archive with these members, deflated.
pub(super) fn zip_of(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in members {
        writer.start_file(*name, SimpleFileOptions::default()).unwrap();
        writer.write_all(content).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// `word/document.xml` around a body.
pub(super) fn document_xml(body: &str) -> String {
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?><w:document xmlns:w=\"w\" xmlns:mc=\"mc\"><w:body>{body}\
         <w:sectPr/></w:body></w:document>"
    )
}

/// A Word document with this body, a title and a footnote.
pub(super) fn docx(body: &str) -> Vec<u8> {
    let relationships = "<Relationships><Relationship Type=\"http://schemas/officeDocument\" \
        Target=\"/word/document.xml\"/></Relationships>";
    let footnotes = "<w:footnotes xmlns:w=\"w\"><w:footnote><w:p><w:r><w:t>footnote</w:t></w:r></w:p>\
        </w:footnote></w:footnotes>";
    let core = "<cp:core xmlns:cp=\"c\" xmlns:dc=\"d\"><dc:title>A &amp; B</dc:title></cp:core>";
    zip_of(&[
        ("_rels/.rels", relationships.as_bytes()),
        ("word/document.xml", document_xml(body).as_bytes()),
        ("word/footnotes.xml", footnotes.as_bytes()),
        ("docProps/core.xml", core.as_bytes()),
    ])
}

/// A workbook of one sheet with these rows.
pub(super) fn xlsx(rows: &str) -> Vec<u8> {
    let main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
    let relationships = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
    let workbook = format!(
        "<workbook xmlns=\"{main}\" xmlns:r=\"{relationships}\"><sheets><sheet name=\"Sheet1\" sheetId=\"1\" \
         r:id=\"rId1\"/></sheets></workbook>"
    );
    let links = format!(
        "<Relationships><Relationship Id=\"rId1\" Type=\"{relationships}/worksheet\" \
         Target=\"worksheets/sheet1.xml\"/></Relationships>"
    );
    let sheet = format!("<worksheet xmlns=\"{main}\"><sheetData>{rows}</sheetData></worksheet>");
    let root = format!(
        "<Relationships><Relationship Id=\"rId1\" Type=\"{relationships}/officeDocument\" \
         Target=\"xl/workbook.xml\"/></Relationships>"
    );
    zip_of(&[
        ("_rels/.rels", root.as_bytes()),
        ("xl/workbook.xml", workbook.as_bytes()),
        ("xl/_rels/workbook.xml.rels", links.as_bytes()),
        ("xl/worksheets/sheet1.xml", sheet.as_bytes()),
    ])
}

/// An OLE compound file with these streams.
pub(super) fn ole(streams: &[(&str, &[u8])]) -> Vec<u8> {
    let mut file = cfb::CompoundFile::create_with_version(cfb::Version::V3, Cursor::new(Vec::new())).unwrap();
    for (name, content) in streams {
        file.create_stream(name).unwrap().write_all(content).unwrap();
    }
    file.into_inner().into_inner()
}

/// A PDF of one page that shows `text`.
pub(super) fn pdf(text: &str) -> Vec<u8> {
    let content = format!("BT /F1 12 Tf 72 700 Td ({text}) Tj ET");
    pdf_of(&content, "")
}

/// A PDF whose trailer says that it is encrypted, with keys that no empty password fits.
pub(super) fn encrypted_pdf() -> Vec<u8> {
    let key = "<4141414141414141414141414141414141414141414141414141414141414141>";
    let entry = format!(
        "/ID [<41424344> <41424344>] /Encrypt << /Filter /Standard /V 2 /R 3 /Length 128 /P -44 /O {key} /U {key} >>"
    );
    pdf_of("BT /F1 12 Tf 72 700 Td (secret) Tj ET", &entry)
}

fn pdf_of(content: &str, trailer: &str) -> Vec<u8> {
    let objects = [
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_owned(),
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> \
         >> >>"
            .to_owned(),
        format!("<< /Length {} >>\nstream\n{content}\nendstream", content.len()),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>".to_owned(),
    ];
    let mut file = "%PDF-1.4\n".to_owned();
    let mut table = "0000000000 65535 f \n".to_owned();
    for (index, object) in objects.iter().enumerate() {
        table.push_str(&format!("{:010} 00000 n \n", file.len()));
        file.push_str(&format!("{} 0 obj\n{object}\nendobj\n", index + 1));
    }
    let (size, start) = (objects.len() + 1, file.len());
    file.push_str(&format!(
        "xref\n0 {size}\n{table}trailer\n<< /Size {size} /Root 1 0 R {trailer} >>\nstartxref\n{start}\n%%EOF\n"
    ));
    file.into_bytes()
}

/// Where each header with this signature starts.
fn headers(zip: &[u8], signature: &[u8; 4]) -> Vec<usize> {
    zip.windows(4).enumerate().filter(|(_, window)| window == signature).map(|(at, _)| at).collect()
}

/// Marks every member as encrypted.
pub(super) fn set_encrypted_flags(zip: &mut [u8]) {
    for at in headers(zip, b"PK\x03\x04") {
        zip[at + 6] |= 1;
    }
    for at in headers(zip, b"PK\x01\x02") {
        zip[at + 8] |= 1;
    }
}

/// Makes every member declare this size.
pub(super) fn set_declared_size(zip: &mut [u8], size: u32) {
    for at in headers(zip, b"PK\x03\x04") {
        zip[at + 22..at + 26].copy_from_slice(&size.to_le_bytes());
    }
    for at in headers(zip, b"PK\x01\x02") {
        zip[at + 24..at + 28].copy_from_slice(&size.to_le_bytes());
    }
}
