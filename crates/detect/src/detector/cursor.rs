//! Where a page ended: a place in an order, as an opaque token.

use super::similar::Sort;
use leitong_fingerprint::hash::own64;
use leitong_store::Rank;
use std::cmp::Reverse;
use std::fmt;
use std::str::FromStr;

/// Where a page ended. Printed, it is an opaque token of letters, digits and `-`; only the program itself reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor {
    /// Of which document.
    question: u64,
    position: Position,
}

/// The last item of a page, by what its list is ordered by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Position {
    Distance { rank: Rank, collection: String },
    Newest { published: Option<i64>, version: u64, collection: String },
}

/// A page that cannot be continued.
#[derive(Clone, Copy, Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum CursorError {
    /// Not a token.
    #[error("this is no token of a page: take it from the answer as it is, or begin with the first page")]
    Syntax,
    /// A token of another list.
    #[error("the token belongs to the list of another document: begin with the first page")]
    OtherDocument,
    /// A token of the same list in another order.
    #[error("the token belongs to a list in another order: keep the order from page to page")]
    OtherSort,
}

impl Cursor {
    /// What identifies the list of a document.
    pub(super) fn question(collection: &str, id: &str) -> u64 {
        own64(format!("{}/{collection}/{id}", collection.len()).as_bytes())
    }

    pub(super) fn new(question: u64, position: Position) -> Self {
        Self { question, position }
    }

    /// The place, if it belongs to this list.
    pub(super) fn position(&self, question: u64, sort: Sort) -> Result<Position, CursorError> {
        if self.question != question {
            return Err(CursorError::OtherDocument);
        }
        match (&self.position, sort) {
            (Position::Distance { .. }, Sort::Distance) | (Position::Newest { .. }, Sort::Newest) => {
                Ok(self.position.clone())
            }
            _ => Err(CursorError::OtherSort),
        }
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let question = self.question;
        let name = match &self.position {
            Position::Distance { rank: Rank { distance, keys: Reverse(keys), version }, collection } => {
                write!(f, "d-{question:x}-{distance:x}-{keys:x}-{version:x}-")?;
                collection
            }
            Position::Newest { published, version, collection } => {
                let seconds = published.map_or(String::new(), |seconds| format!("{:x}", seconds as u64));
                write!(f, "n-{question:x}-{seconds}-{version:x}-")?;
                collection
            }
        };
        name.bytes().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl FromStr for Cursor {
    type Err = CursorError;

    fn from_str(token: &str) -> Result<Self, CursorError> {
        parse(token).ok_or(CursorError::Syntax)
    }
}

fn parse(token: &str) -> Option<Cursor> {
    let parts: Vec<&str> = token.trim().split('-').collect();
    let number = |text: &str| u64::from_str_radix(text, 16).ok().filter(|_| !text.starts_with('+'));
    let (question, position) = match parts[..] {
        ["d", question, distance, keys, version, name] => {
            let keys = Reverse(u32::try_from(number(keys)?).ok()?);
            let distance = u32::try_from(number(distance)?).ok()?;
            let rank = Rank { distance, keys, version: number(version)? };
            (question, Position::Distance { rank, collection: text(name)? })
        }
        ["n", question, published, version, name] => {
            let published = match published {
                "" => None,
                seconds => Some(number(seconds)? as i64),
            };
            (question, Position::Newest { published, version: number(version)?, collection: text(name)? })
        }
        _ => return None,
    };
    Some(Cursor { question: number(question)?, position })
}

fn text(hex: &str) -> Option<String> {
    let (pairs, rest) = hex.as_bytes().as_chunks::<2>();
    let byte = |pair: &[u8; 2]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    let bytes: Option<Vec<u8>> = pairs.iter().map(byte).collect();
    String::from_utf8(bytes.filter(|_| rest.is_empty())?).ok()
}
