//! How far a run has come, on a terminal only.

use indicatif::{ProgressBar, ProgressStyle};
use std::time::Duration;

/// A counter of documents with its rate; silent unless a person watches.
pub(crate) struct Progress(ProgressBar);

impl Progress {
    pub(crate) fn new(what: &'static str) -> Self {
        Self::with(what, "{spinner} {human_pos} {msg} in {elapsed}, {per_sec}")
    }

    /// For work that cannot be counted.
    pub(crate) fn waiting(what: &'static str) -> Self {
        Self::with(what, "{spinner} {msg} for {elapsed}")
    }

    fn with(what: &'static str, template: &str) -> Self {
        if !super::watched() {
            return Self(ProgressBar::hidden());
        }
        let bar = ProgressBar::new_spinner().with_message(what);
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(200));
        Self(bar)
    }

    pub(crate) fn add(&self, count: u64) {
        self.0.inc(count);
    }

    /// For work that counts itself.
    pub(crate) fn reached(&self, count: u64) {
        self.0.set_position(count);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
