//! A fence around third-party parsers.
//!
//! The PDF, spreadsheet and article parsers index into hostile data and have panicked on it before. A panic
//! in one document must not end a run over a million, so it is caught here and becomes an error. The parsers
//! are given owned or shared data and everything they made is dropped, so no broken state survives
//! (`AssertUnwindSafe`). The panic hook still prints its line to standard error; replacing the hook is the
//! front end's business, because it is global, and [`parsing`] tells it which panics will be caught. A build
//! with `panic = "abort"` would defeat this.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::{ExtractError, Format};

thread_local! {
    static PARSING: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread is inside a third-party parser whose panic will be caught and reported as an error. For
/// panic hooks, so that such a panic is not announced twice.
#[must_use]
pub fn parsing() -> bool {
    PARSING.get()
}

/// Runs `parse` and turns a panic into [`ExtractError::ParserFailed`].
pub(super) fn guarded<T>(
    format: Format,
    parse: impl FnOnce() -> Result<T, ExtractError>,
) -> Result<T, ExtractError> {
    let outer = PARSING.replace(true);
    let outcome = catch_unwind(AssertUnwindSafe(parse));
    PARSING.set(outer);
    outcome.unwrap_or_else(|panic| {
        let reason = panic
            .downcast_ref::<&str>()
            .map(ToString::to_string)
            .or_else(|| panic.downcast_ref::<String>().cloned())
            .unwrap_or_else(|| "no message".to_owned());
        Err(ExtractError::ParserFailed { format, reason })
    })
}
