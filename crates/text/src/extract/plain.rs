//! Plain text: decoded and otherwise left alone, so that its offsets are those of the decoded bytes.

use super::{Extract, ExtractError, Extracted, Format, Options};
use crate::encoding::{self, Decoded};
use crate::span::OffsetMap;

pub(super) struct Plain;

impl Extract for Plain {
    fn extract(&self, bytes: &[u8], options: &Options) -> Result<Extracted, ExtractError> {
        if encoding::looks_binary(bytes) {
            return Err(ExtractError::Binary);
        }
        let mut warnings = Vec::new();
        let decoded = decode(bytes, None, options, &mut warnings)?;
        if encoding::mostly_replaced(&decoded.text) {
            return Err(ExtractError::Binary);
        }
        Ok(Extracted {
            map: Some(OffsetMap::identity(decoded.text.len())),
            encoding: Some(decoded.encoding),
            text: decoded.text.into_owned(),
            title: None,
            format: Format::Text,
            parts: Vec::new(),
            warnings,
        })
    }
}

/// Decodes the bytes of a text format: the caller's encoding goes before the document's own `declared` one.
pub(super) fn decode<'a>(
    bytes: &'a [u8],
    declared: Option<&str>,
    options: &Options,
    warnings: &mut Vec<String>,
) -> Result<Decoded<'a>, ExtractError> {
    if let Some(label) = &options.encoding
        && !encoding::is_known(label)
    {
        return Err(ExtractError::UnknownEncoding { label: label.clone() });
    }
    let decoded = encoding::decode(bytes, options.encoding.as_deref().or(declared));
    // A legacy encoding can grow threefold in UTF-8.
    if u32::try_from(decoded.text.len()).is_err() {
        return Err(ExtractError::TooLarge { what: "the decoded text", limit: u64::from(u32::MAX) });
    }
    if decoded.malformed {
        warnings.push(format!(
            "some bytes are not valid {} and were replaced by U+FFFD; give the right encoding if words look wrong",
            decoded.encoding
        ));
    }
    Ok(decoded)
}
