//! What to extract, and how much memory and depth a hostile document may cost.

use serde::{Deserialize, Serialize};

use super::Format;

/// Which text of an HTML page counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HtmlMode {
    /// The article without navigation, advertisements and footers; all text where no article is found.
    #[default]
    Article,
    /// All visible text.
    AllText,
}

/// How to extract, and the limits that bound memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Read the bytes as this format, whatever they look like.
    pub format: Option<Format>,
    /// The encoding's name if the caller knows it (an HTTP header, a user): beats what the document says.
    pub encoding: Option<String>,
    /// Which text of an HTML page counts.
    pub html: HtmlMode,
    /// Largest input, in bytes. Never more than 4 GiB, because offsets are 32 bits wide.
    pub max_input: u64,
    /// Largest text, in bytes. Never more than 4 GiB either.
    pub max_text: u64,
    /// Most bytes that all members of an archive may unpack to.
    pub max_unpacked: u64,
    /// Most bytes that one byte of an archive may unpack to, once more than 8 MiB have come out of it.
    pub max_ratio: u64,
    /// Deepest nesting of XML elements.
    pub max_xml_depth: usize,
    /// Largest HTML page, in bytes, in which an article is looked for; larger pages give all text.
    pub max_html_article: u64,
    /// Deepest nesting of HTML elements for which an article is looked for; deeper pages give all text.
    pub max_html_depth: usize,
    /// Most elements of an HTML page in which an article is looked for; larger pages give all text.
    pub max_html_elements: usize,
    /// Most cells of one sheet.
    pub max_cells: u64,
}

impl Default for Options {
    fn default() -> Self {
        const MIB: u64 = 1 << 20;
        Self {
            format: None,
            encoding: None,
            html: HtmlMode::default(),
            max_input: 256 * MIB,
            max_text: 64 * MIB,
            max_unpacked: 512 * MIB,
            max_ratio: 200,
            max_xml_depth: 256,
            max_html_article: 8 * MIB,
            max_html_depth: 256,
            max_html_elements: 200_000,
            max_cells: 1 << 24,
        }
    }
}
