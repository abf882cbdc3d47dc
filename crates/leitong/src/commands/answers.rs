//! A line of output for every item of input, in order, batch by batch.

use super::feed::Feed;
use crate::input::{InputError, Place};
use crate::output::{self, Exit, Failure, Problems, Progress};
use std::io::Write;

/// The line of an item, or why it has none.
pub(crate) type Answer = Result<String, Bad>;

/// An item that cannot be used.
pub(crate) struct Bad {
    /// Its id, as far as it is known.
    pub(crate) id: String,
    /// Where it stands, what is wrong and what to do.
    pub(crate) message: String,
}

impl Bad {
    pub(crate) fn at(place: &Place, id: String, error: impl std::fmt::Display) -> Self {
        Self { id, message: format!("{place}: {error}") }
    }
}

impl From<InputError> for Bad {
    fn from(error: InputError) -> Self {
        Self { message: error.to_string(), id: error.id }
    }
}

/// Answers batch after batch. Lines are printed when their batch is done, so what is printed is stored.
pub(crate) fn print<T: Send + 'static>(
    mut feed: Feed<T>,
    what: &'static str,
    bad_line: &dyn Fn(&Bad) -> String,
    work: &mut dyn FnMut(Vec<T>) -> Result<Vec<Answer>, Failure>,
) -> Result<Exit, Failure> {
    let mut problems = Problems::default();
    let mut inputs = 0;
    let mut out = output::stdout();
    let progress = Progress::new(what);
    for batch in feed.by_ref() {
        let answers = work(batch)?;
        let count = answers.len() as u64;
        for answer in answers {
            match answer {
                Ok(line) => writeln!(out, "{line}")?,
                Err(bad) => {
                    // A line for every item, so that the answers stay beside the questions.
                    writeln!(out, "{}", bad_line(&bad))?;
                    problems.report(&bad.message);
                }
            }
        }
        out.flush()?;
        inputs += count;
        progress.add(count);
    }
    drop(progress);
    if !feed.is_whole() {
        return Err(Failure::Input("reading ended unexpectedly; what was answered is done".into()));
    }
    Ok(problems.exit(inputs))
}

/// Works on the good ones of a batch together, and puts their lines and the bad ones back in order.
pub(crate) fn in_order<K, G, A>(
    items: impl Iterator<Item = Result<(K, G), Bad>>,
    work: impl FnOnce(Vec<G>) -> Result<Vec<A>, Failure>,
    mut line: impl FnMut(K, A) -> Answer,
) -> Result<Vec<Answer>, Failure> {
    let (mut places, mut good) = (Vec::new(), Vec::new());
    for item in items {
        places.push(item.map(|(known, one)| {
            good.push(one);
            known
        }));
    }
    let mut done = if good.is_empty() { Vec::new() } else { work(good)? }.into_iter();
    let missing = || Bad { id: String::new(), message: "there was no answer to this document".into() };
    let answer = |known| done.next().ok_or_else(missing).and_then(|one| line(known, one));
    let mut answer = answer;
    Ok(places.into_iter().map(|known| known.and_then(&mut answer)).collect())
}
