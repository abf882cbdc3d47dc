//! Texts that stay where they came from: a corpus that can be read again need not be copied.

use std::borrow::Cow;

/// A document to be taken in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Incoming {
    /// Its id.
    pub id: String,
    /// Its text.
    pub text: String,
    /// Where the text can be read again; it is copied if it cannot.
    pub spot: Option<Spot>,
}

/// Where a record stands. What the place means is for [`Originals`] to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spot {
    /// Any number but the largest.
    pub place: u64,
    /// Bytes of the record.
    pub length: u32,
}

/// Reads texts again where they came from.
pub trait Originals: Send + Sync {
    /// The text of a record, in memory that is used again. An error where it is no longer what it was, as far as that shows.
    fn text<'r>(&self, spot: Spot, room: &'r mut Vec<u8>) -> std::io::Result<Cow<'r, str>>;
}
