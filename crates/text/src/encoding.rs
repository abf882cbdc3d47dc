//! Bytes to Unicode.
//!
//! Evidence is weighed in this order: a byte order mark; the label that came with the bytes (an HTTP header,
//! `<meta charset>`, an XML declaration) unless the bytes contradict it; valid UTF-8; the NUL bytes of UTF-16
//! without a mark; and last the statistics of `chardetng`, the detector of Firefox.
//!
//! Labels are contradicted often: crawlers save pages as UTF-8 and leave `charset=gb2312` inside. Legacy text
//! that happens to be valid UTF-8 with sequences of three bytes is next to impossible, so such bytes are
//! UTF-8 whatever the label says. Sequences of two bytes prove nothing against a double-byte label: in GBK
//! 联通 is valid UTF-8, too. ICU's detector was rejected: it is large and no better on Chinese.

use std::borrow::Cow;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};

/// Text, and how it was found in the bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decoded<'a> {
    /// The text without its byte order mark; borrowed where the bytes were UTF-8 already.
    pub text: Cow<'a, str>,
    /// The encoding's name in the Encoding Standard, such as `UTF-8`, `gb18030` or `Big5`.
    pub encoding: &'static str,
    /// Some bytes made no sense in that encoding and became U+FFFD.
    pub malformed: bool,
}

/// How many bytes from the start are looked at for NULs and control characters.
const SAMPLE: usize = 64 * 1024;

/// How many bytes the detector reads; more of them no longer change its mind.
const DETECTED: usize = 256 * 1024;

/// How many bytes from the start may hold the declaration of an encoding.
const DECLARED: usize = 4096;

/// Decodes `bytes`, with the encoding's label if one came with them. Unknown labels are ignored.
///
/// ```
/// use leitong_text::encoding::decode;
/// let gbk = b"\xc0\xd7\xcd\xac, \xc8\xe7\xd3\xd0\xc0\xd7\xcd\xac, \xb4\xbf\xca\xf4\xc7\xc9\xba\xcf";
/// let decoded = decode(gbk, None);
/// assert_eq!((&*decoded.text, decoded.encoding), ("雷同, 如有雷同, 纯属巧合", "GBK"));
/// ```
#[must_use]
pub fn decode<'a>(bytes: &'a [u8], hint: Option<&str>) -> Decoded<'a> {
    if let Some((encoding, mark)) = Encoding::for_bom(bytes) {
        return decode_as(encoding, &bytes[mark..]);
    }
    let hinted = hint.and_then(|label| Encoding::for_label(label.as_bytes()));
    if let Ok(text) = std::str::from_utf8(bytes) {
        let overruled = hinted.is_none_or(|hinted| hinted == UTF_8 || !may_mimic_utf8(hinted, bytes));
        // NULs in valid UTF-8 are UTF-16 of Latin letters.
        if overruled && utf16_without_mark(bytes).is_none() {
            return Decoded { text: Cow::Borrowed(text), encoding: UTF_8.name(), malformed: false };
        }
    }
    if let Some(hinted) = hinted {
        let decoded = decode_as(hinted, bytes);
        if !decoded.malformed {
            return decoded;
        }
        let guessed = guess(bytes);
        return if guessed.malformed { decoded } else { guessed };
    }
    guess(bytes)
}

/// Whether text in `encoding` could be the valid UTF-8 that `bytes` are.
fn may_mimic_utf8(encoding: &'static Encoding, bytes: &[u8]) -> bool {
    if encoding == UTF_16LE || encoding == UTF_16BE {
        return bytes.contains(&0);
    }
    // ISO-2022-JP is ASCII with escapes, and pure ASCII means the same in every other.
    if encoding == encoding_rs::ISO_2022_JP {
        return bytes.contains(&0x1B);
    }
    !encoding.is_single_byte() && !bytes.is_ascii() && bytes.iter().all(|&byte| byte < 0xE0)
}

fn guess(bytes: &[u8]) -> Decoded<'_> {
    if let Some(encoding) = utf16_without_mark(bytes) {
        return decode_as(encoding, bytes);
    }
    // The detector gives up on UTF-8 at the first error.
    if nearly_utf8(bytes) {
        return decode_as(UTF_8, bytes);
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    detector.feed(&bytes[..bytes.len().min(DETECTED)], true);
    decode_as(detector.guess(None, Utf8Detection::Deny), bytes)
}

/// UTF-8 with a few damaged bytes, such as a text cut in the middle of a character.
fn nearly_utf8(bytes: &[u8]) -> bool {
    let (mut good, mut bad) = (0, 0);
    for chunk in bytes.utf8_chunks() {
        good += chunk.valid().chars().filter(|c| !c.is_ascii()).count();
        bad += usize::from(!chunk.invalid().is_empty());
    }
    good > 8 * bad
}

fn decode_as<'a>(encoding: &'static Encoding, bytes: &'a [u8]) -> Decoded<'a> {
    let (text, malformed) = encoding.decode_without_bom_handling(bytes);
    Decoded { text, encoding: encoding.name(), malformed }
}

/// Tells UTF-16 from everything else by its NUL bytes, which 8-bit text never holds, and its byte order by
/// which one gives characters that texts are made of.
fn utf16_without_mark(bytes: &[u8]) -> Option<&'static Encoding> {
    let sample = &bytes[..bytes.len().min(SAMPLE) & !1];
    let zeros = sample.iter().filter(|&&byte| byte == 0).count();
    // One in 128 is little, but Chinese text has its only NULs in digits, spaces and line ends.
    if zeros == 0 || zeros * 128 < sample.len() {
        return None;
    }
    let units = sample.len() / 2;
    let common = |unit: fn([u8; 2]) -> u16| {
        sample.chunks_exact(2).filter(|pair| is_common_unit(unit([pair[0], pair[1]]))).count()
    };
    let (little, big) = (common(u16::from_le_bytes), common(u16::from_be_bytes));
    let (encoding, best) = if little >= big { (UTF_16LE, little) } else { (UTF_16BE, big) };
    (little != big && best * 10 >= units * 9).then_some(encoding)
}

/// The UTF-16 units that nearly all text consists of: white space, alphabets, punctuation, Chinese, Japanese,
/// Korean and full-width forms.
fn is_common_unit(unit: u16) -> bool {
    matches!(
        unit,
        0x09 | 0x0A | 0x0D | 0x20..=0x7E | 0xA0..=0x06FF | 0x0900..=0x0E7F | 0x1E00..=0x1EFF
            | 0x2010..=0x2044 | 0x3000..=0x30FF | 0x4E00..=0x9FFF | 0xAC00..=0xD7AF | 0xFF00..=0xFFEF
    )
}

/// Control characters that no text holds (form feed and escape occur in old mail and listings).
fn is_strange_control(c: char) -> bool {
    matches!(c, '\0'..='\u{6}' | '\u{E}'..='\u{1A}' | '\u{1C}'..='\u{1F}' | '\u{7F}')
}

/// Whether `bytes` are something else than text: NUL bytes that are not those of UTF-16, or many control
/// characters.
#[must_use]
pub fn looks_binary(bytes: &[u8]) -> bool {
    if Encoding::for_bom(bytes).is_some() || utf16_without_mark(bytes).is_some() {
        return false;
    }
    let sample = &bytes[..bytes.len().min(SAMPLE)];
    let zeros = sample.iter().filter(|&&byte| byte == 0).count();
    let strange = sample.iter().filter(|&&byte| is_strange_control(char::from(byte))).count();
    // A stray NUL occurs in text that went through a C program.
    zeros * 1000 > sample.len() || strange * 20 > sample.len()
}

/// Whether so much of a decoded text was replaced that it was no text in the first place.
#[must_use]
pub fn mostly_replaced(text: &str) -> bool {
    let (mut replaced, mut all) = (0_usize, 0_usize);
    for c in text.chars().take(SAMPLE) {
        all += 1;
        replaced += usize::from(c == '\u{FFFD}');
    }
    replaced * 10 > all
}

/// Whether `label` names an encoding.
#[must_use]
pub fn is_known(label: &str) -> bool {
    Encoding::for_label(label.as_bytes()).is_some()
}

/// The encoding that a page declares in `<meta charset=...>` or `<meta http-equiv=... content="...charset=...">`.
///
/// The bytes are searched as they are, because every encoding of the web but UTF-16 keeps ASCII in place.
#[must_use]
pub fn declared_in_html(bytes: &[u8]) -> Option<String> {
    let head = bytes[..bytes.len().min(DECLARED)].to_ascii_lowercase();
    let mut rest = head.as_slice();
    while let Some(at) = find(rest, b"<meta") {
        rest = &rest[at + b"<meta".len()..];
        let tag = &rest[..rest.iter().position(|&byte| byte == b'>').unwrap_or(rest.len())];
        if let Some(label) = value_after(tag, b"charset") {
            // The declaration was readable as ASCII, so it cannot be UTF-16.
            return Some(if label.starts_with("utf-16") { UTF_8.name().to_owned() } else { label });
        }
    }
    declared_in_xml(bytes)
}

/// The encoding that an XML declaration names.
#[must_use]
pub fn declared_in_xml(bytes: &[u8]) -> Option<String> {
    let declaration = bytes.trim_ascii_start().strip_prefix(b"<?xml")?;
    let declaration = &declaration[..find(&declaration[..declaration.len().min(DECLARED)], b"?>")?];
    let label = value_after(declaration, b"encoding")?;
    (!label.to_ascii_lowercase().starts_with("utf-16")).then_some(label)
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack.windows(needle.len()).position(|window| window == needle)
}

/// The word after `name =`, with or without quotes.
fn value_after(tag: &[u8], name: &[u8]) -> Option<String> {
    let after =
        tag[find(tag, name)? + name.len()..].trim_ascii_start().strip_prefix(b"=")?.trim_ascii_start();
    let after = after.strip_prefix(b"\"").or_else(|| after.strip_prefix(b"'")).unwrap_or(after);
    let end = after
        .iter()
        .position(|byte| !(byte.is_ascii_alphanumeric() || b"-_:.".contains(byte)))
        .unwrap_or(after.len());
    (end > 0).then(|| String::from_utf8_lossy(&after[..end]).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ZH: &str = "如有雷同，纯属巧合。这是一段中文文字，用来检验编码的识别。2024 年 5 月 1 日\n";

    fn encoded(label: &str, text: &str) -> Vec<u8> {
        Encoding::for_label(label.as_bytes()).unwrap().encode(text).0.into_owned()
    }

    fn utf16(text: &str, little: bool, mark: bool) -> Vec<u8> {
        let mark = mark.then_some(0xFEFF);
        let units = mark.into_iter().chain(text.encode_utf16());
        units.flat_map(|unit| if little { unit.to_le_bytes() } else { unit.to_be_bytes() }).collect()
    }

    #[test]
    fn recognises_encodings_without_a_label() {
        let traditional = "如有雷同，純屬巧合。這是一段中文文字，用來檢驗編碼的識別。";
        let japanese = "これは文字コードを判定するための日本語の文章です。";
        let korean = "이것은 문자 인코딩을 판별하기 위한 한국어 문장입니다.";
        let russian = "Это русский текст для проверки определения кодировки.";
        for (label, text, name) in [
            ("utf-8", ZH, "UTF-8"),
            ("gbk", ZH, "GBK"),
            ("gb18030", ZH, "GBK"),
            ("big5", traditional, "Big5"),
            ("shift_jis", japanese, "Shift_JIS"),
            ("euc-jp", japanese, "EUC-JP"),
            ("euc-kr", korean, "EUC-KR"),
            ("windows-1251", russian, "windows-1251"),
            ("koi8-u", russian, "KOI8-U"),
        ] {
            let bytes = encoded(label, text);
            let decoded = decode(&bytes, None);
            assert_eq!((&*decoded.text, decoded.encoding, decoded.malformed), (text, name, false));
            assert!(!looks_binary(&bytes), "{label}");
        }
    }

    #[test]
    fn utf16_is_text_with_and_without_its_mark() {
        for text in [ZH, "plain English text, nothing else"] {
            for (little, mark) in [(true, true), (false, true), (true, false), (false, false)] {
                let bytes = utf16(text, little, mark);
                let decoded = decode(&bytes, None);
                assert_eq!(decoded.text, text);
                assert_eq!(decoded.encoding, if little { "UTF-16LE" } else { "UTF-16BE" });
                assert!(!looks_binary(&bytes));
            }
        }
    }

    #[test]
    fn a_wrong_label_yields_to_valid_utf8() {
        for label in ["gb2312", "windows-1252", "utf-16le", "iso-8859-1", "big5"] {
            assert_eq!(decode(ZH.as_bytes(), Some(label)).text, ZH, "{label}");
        }
        assert_eq!(decode("café".as_bytes(), Some("iso-8859-1")).text, "café");
    }

    #[test]
    fn a_label_decides_what_bytes_cannot() {
        let bytes = encoded("gbk", "联通");
        assert_eq!(decode(&bytes, Some("gbk")).text, "联通");
        assert_eq!(decode(b"\xe9t\xe9", Some("windows-1252")).text, "été");
        assert_eq!(decode(&encoded("gbk", ZH), Some("big5-nonsense")).text, ZH);
        // Shift_JIS labelled as EUC-JP does not decode, so the detector is asked.
        let bytes = encoded("shift_jis", "これは日本語の文章です。文字コードを判定します。");
        assert_eq!(decode(&bytes, Some("euc-jp")).encoding, "Shift_JIS");
    }

    #[test]
    fn a_cut_character_is_reported_and_the_rest_read() {
        let cut = ZH.find('2').unwrap() - 1;
        let decoded = decode(&ZH.as_bytes()[..cut], None);
        assert_eq!((decoded.encoding, decoded.malformed), ("UTF-8", true));
        assert!(decoded.text.starts_with("如有雷同") && decoded.text.ends_with('\u{FFFD}'));
    }

    #[test]
    fn borrows_utf8_and_drops_the_mark() {
        assert!(matches!(decode(ZH.as_bytes(), None).text, Cow::Borrowed(_)));
        assert!(matches!(decode(b"\xEF\xBB\xBFabc", None).text, Cow::Borrowed("abc")));
    }

    #[test]
    fn binary_data_is_told_from_text() {
        assert!(looks_binary(&[0, 1, 2, 3, 255, 254, 0, 9, 8, 7]));
        assert!(looks_binary(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0\x3e\0"));
        assert!(!looks_binary(b""));
        assert!(!looks_binary(b"line\r\n\ttab\x0c\x1b[1m"));
        assert!(mostly_replaced("\u{FFFD}a\u{FFFD}b"));
        assert!(!mostly_replaced(ZH));
    }

    #[test]
    fn finds_declared_encodings() {
        for (page, label) in [
            ("<html><head><meta charset=gb2312>", Some("gb2312")),
            ("<META http-equiv='Content-Type' content='text/html; charset=Big5'/>", Some("big5")),
            ("<meta name=x><meta charset = \"utf-16\">", Some("UTF-8")),
            ("<?xml version='1.0' encoding='GBK'?><a/>", Some("GBK")),
            ("<p>charset=gbk</p>", None),
        ] {
            assert_eq!(declared_in_html(page.as_bytes()).as_deref(), label, "{page}");
        }
        assert_eq!(declared_in_xml(b"<a encoding='gbk'/>"), None);
    }
}
