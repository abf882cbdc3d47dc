//! How far a run has come, on a terminal only.

use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
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

    /// For work whose end is known. `alone`: nothing else is written to the terminal meanwhile.
    pub(crate) fn of(what: &'static str, total: u64, alone: bool) -> Self {
        Self::bar(what, total, alone, "{msg} {wide_bar} {human_pos} of {human_len}, {per_sec}, {eta} left")
    }

    /// The same for bytes.
    pub(crate) fn bytes(what: &'static str, total: u64, alone: bool) -> Self {
        let template = "{msg} {wide_bar} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left";
        Self::bar(what, total, alone, template)
    }

    fn bar(what: &'static str, total: u64, alone: bool, template: &str) -> Self {
        if !(super::watched() || alone && std::io::stderr().is_terminal()) {
            return Self(ProgressBar::hidden());
        }
        let bar = ProgressBar::new(total).with_message(what);
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        Self(bar)
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
