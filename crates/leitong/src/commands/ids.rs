//! Ids as arguments, or one a line through standard input.

use super::feed::Feed;
use crate::input::{BoundedLines, InputError, Place};

/// Which documents.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct IdArgs {
    /// Ids; `-` reads them from standard input, one a line; put -- before ids that begin with -
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
}

/// An id and where it stands, or why it cannot be read.
pub(crate) type IdItem = Result<(String, Place), InputError>;

/// Bytes of a line of ids that are read; a longer one is no id.
const MOST_LINE: u64 = 1 << 20;

impl IdArgs {
    /// All of them, in order.
    pub(crate) fn feed(&self) -> std::io::Result<Feed<IdItem>> {
        let ids = self.ids.clone();
        let size = |item: &IdItem| item.as_ref().map_or(0, |(id, _)| id.len());
        Feed::start(move || ids.into_iter().zip(1..).flat_map(of_argument), size)
    }
}

fn of_argument((argument, number): (String, u64)) -> Box<dyn Iterator<Item = IdItem>> {
    if argument != "-" {
        let place = Place { file: format!("id {number}"), line: None };
        return Box::new(std::iter::once(Ok((argument, place))));
    }
    Box::new(BoundedLines::new(std::io::stdin(), MOST_LINE).zip(1..).map(|(line, number)| {
        let place = Place::line("standard input", number);
        let id = line.map_err(|error| InputError::new(place.clone(), error))?;
        Ok((id, place))
    }))
}
