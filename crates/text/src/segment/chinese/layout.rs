//! The bits of the stored dictionary, shared by the build script that writes them and the library that reads them.
//!
//! # Characters
//! Every character that jieba's dictionary or models know has a *code*, small where the character is frequent, so that
//! the busy part of every table is small. Rank `r` has the code `r / 46 * 64 + r % 46`: a word of the pair bitmap then
//! holds the presence of 46 second characters and the number of the first one's node.
//!
//! ```text
//! rank  0 no character               1 separator: whatever can be part of no word; also the padding behind a text
//!       2 unknown Han character that jieba's model accepts            3 any other unknown Han character
//!       4 … 10  + # & . _ % -        11 … 72  0-9 A-Z a-z             73 … the Han characters by frequency
//! ```
//!
//! # Numbers, all little-endian
//! ```text
//! single (u32, by code)     0     8     9     10    11    12    13     15           28
//!                           | tag |model| Han |digit|alnum|separ.| own  | weight no. |
//! row (u32, by code)        0        9                    32      where its words of the bitmap start, how many
//!                           | length | first word         |
//! pair word (u64)           0                    46       64      row of the first character, word `code / 64` of
//!                           | second characters  | node   |       the second; one zero word closes every row
//! node of two characters    0        13    19      39 40     48            64
//! (u64, numbered)           | weight | tag | base  |  | filter by code / 64 and by code % 16 of third characters
//! node of three and more    0        13    19      39      54  56          64
//! (u64, at base + code)     | weight | tag | base  | check |   | filter by code % 8 of the next character
//! ```
//! The last kind lies in a double array: the child of a node for a character is at `base + code`, and is a child
//! indeed if `check` is that code (every base is used once, so the parent need not be stored). A weight is a number in
//! the table of distinct frequencies; 0 is "no word ends here".
//!
//! # The file
//! ```text
//! "LTJB" | version u32 | total of all frequencies u64 | 17 lengths in bytes, u32 each | padding u32 | 17 sections
//! ```
//! in the order of [`Section`]; the whole is compressed with zstd.

/// Second characters a word of the pair bitmap.
pub(crate) const GROUP: usize = 46;
/// Codes are smaller than this.
pub(crate) const CODES: usize = 1 << 15;
/// Room for words of the pair bitmap.
pub(crate) const PAIRS: usize = 1 << 19;
/// Room for nodes of two characters.
pub(crate) const NODES: usize = 1 << 18;
/// Room for the double array.
pub(crate) const DEEP: usize = 1 << 20;
/// Room for distinct frequencies.
pub(crate) const WEIGHTS: usize = 1 << 13;

/// The code of the character with this rank.
pub(crate) const fn code_of_rank(rank: usize) -> u16 {
    (rank / GROUP * 64 + rank % GROUP) as u16
}

/// Code of whatever can be part of no word.
pub(crate) const SEPARATOR: u16 = 1;
/// Code of unknown Han characters that the model for unknown words does not accept.
pub(crate) const UNKNOWN: u16 = 3;
/// Rank of the first sign.
pub(crate) const FIRST_SIGN: usize = 4;

/// The model for unknown words accepts the character.
pub(crate) const OF_MODEL: u32 = 1 << 8;
/// A Han character.
pub(crate) const HAN: u32 = 1 << 9;
/// An ASCII digit.
pub(crate) const DIGIT: u32 = 1 << 10;
/// An ASCII letter or digit.
pub(crate) const ALPHANUMERIC: u32 = 1 << 11;
/// Part of no word.
pub(crate) const IS_SEPARATOR: u32 = 1 << 12;
/// Where the number of the weight starts.
pub(crate) const SINGLE_WEIGHT_SHIFT: u32 = 15;

/// Bits of the length of a row.
pub(crate) const ROW_BITS: u32 = 9;
/// Where the tag of a node starts.
pub(crate) const TAG_SHIFT: u32 = 13;
/// Mask of the tag of a node, and the tag of a node where no word ends.
pub(crate) const NO_TAG: u64 = 63;
/// Where the base of a node starts.
pub(crate) const BASE_SHIFT: u32 = 19;
/// Mask of the base.
pub(crate) const BASE_MASK: u64 = (1 << 20) - 1;
/// Where the check of a node starts.
pub(crate) const CHECK_SHIFT: u32 = 39;
/// Mask of the check. An empty place has 0, which is no character's code.
pub(crate) const CHECK_MASK: u64 = (1 << 15) - 1;
/// Where the filter by `code / 64` of a node of two characters starts.
pub(crate) const FILTER_BY_GROUP: u32 = 40;
/// Where its filter by `code % 16` starts.
pub(crate) const FILTER_BY_CODE: u32 = 48;
/// Where the filter of a longer node starts.
pub(crate) const DEEP_FILTER: u32 = 56;

/// Number of the weight of "no word ends here".
pub(crate) const NO_WEIGHT: usize = 0;
/// Number of the weight of a character that starts no word at all: jieba gives it frequency 1.
pub(crate) const WEIGHT_OF_ONE: usize = 1;

/// The logarithm that jieba gives to what cannot be.
pub(crate) const IMPOSSIBLE: f64 = -3.14e100;

/// The first bytes of the file.
pub(crate) const MAGIC: [u8; 4] = *b"LTJB";
/// The layout described here.
pub(crate) const VERSION: u32 = 1;
/// How many sections there are.
pub(crate) const SECTIONS: usize = 17;
/// Bytes before the first section.
pub(crate) const HEADER: usize = 4 + 4 + 8 + SECTIONS * 4 + 4;

/// The sections of the file, in order.
#[derive(Clone, Copy)]
pub(crate) enum Section {
    /// u16 by code point of the basic plane: the code.
    Codes,
    /// u32 by code: see above.
    Singles,
    /// u32 by code: see above.
    Rows,
    /// u64: see above.
    Pairs,
    /// u64: see above.
    Nodes,
    /// u64: see above.
    Deep,
    /// u32: the distinct frequencies, by number of the weight.
    Frequencies,
    /// 4 f64: how a word of the model starts (begin, end, middle, single).
    ModelStart,
    /// 4 × 4 f64: from state, to state.
    ModelSteps,
    /// 4 f64 by code.
    ModelEmissions,
    /// u32 by code: where its states start in the next two sections, with a last one that closes them.
    TaggerRows,
    /// u8, ascending within a row: position (begin, middle, end, single) × 64 + tag.
    TaggerStates,
    /// f64 for each of them.
    TaggerEmissions,
    /// 256 f64: how a word of the tagger starts.
    TaggerStart,
    /// 128 × 128 f64: into begin or single, from end or single.
    TaggerBetween,
    /// 64 × 4 f64: by tag, begin to middle, middle to middle, begin to end, middle to end.
    TaggerWithin,
    /// Names, separated by blanks. First line: all tags by number. Second line: the tagger's, in its order.
    Tags,
}

/// Whether `c` is a Han character for jieba.
pub(crate) const fn is_han(c: u32) -> bool {
    matches!(c, 0x4E00..=0x9FFF | 0x3400..=0x4DBF | 0xF900..=0xFAFF
        | 0x2_0000..=0x2_A6DF | 0x2_A700..=0x2_EBEF | 0x2_F800..=0x2_FA1F)
}

/// Whether jieba looks for words with `c` in them.
pub(crate) const fn is_of_words(c: char) -> bool {
    is_han(c as u32) || c.is_ascii_alphanumeric() || matches!(c, '+' | '#' | '&' | '.' | '_' | '%' | '-')
}
