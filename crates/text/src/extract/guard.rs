//! A fence around third-party parsers.
//!
//! The PDF, spreadsheet and article parsers index into hostile data and have panicked on it before. A panic
//! in one document must not end a run over a million, so it is caught here and becomes an error. The parsers
//! are given owned or shared data and everything they made is dropped, so no broken state survives
//! (`AssertUnwindSafe`). The panic hook still prints its line to standard error; replacing the hook is the
//! front end's business, because it is global. A build with `panic = "abort"` would defeat this.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::{ExtractError, Format};

/// Runs `parse` and turns a panic into [`ExtractError::ParserFailed`].
pub(super) fn guarded<T>(
    format: Format,
    parse: impl FnOnce() -> Result<T, ExtractError>,
) -> Result<T, ExtractError> {
    catch_unwind(AssertUnwindSafe(parse)).unwrap_or_else(|panic| {
        let reason = panic
            .downcast_ref::<&str>()
            .map(ToString::to_string)
            .or_else(|| panic.downcast_ref::<String>().cloned())
            .unwrap_or_else(|| "no message".to_owned());
        Err(ExtractError::ParserFailed { format, reason })
    })
}
