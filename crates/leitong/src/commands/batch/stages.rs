//! How far a run is: a bar for each stage, with its rate and the time left.

use crate::output::Progress;
use leitong_detect::batch::Stage;
use std::sync::Mutex;

/// The stages of a run, on a terminal.
pub(crate) struct Stages {
    /// Whether data goes to a file, so that a bar disturbs nothing.
    quiet_out: bool,
    now: Mutex<Option<(Stage, Progress)>>,
}

impl Stages {
    pub(crate) fn new(quiet_out: bool) -> Self {
        Self { quiet_out, now: Mutex::new(None) }
    }

    pub(crate) fn reached(&self, stage: Stage, done: u64, total: u64) {
        let Ok(mut now) = self.now.lock() else { return };
        let what = match stage {
            Stage::Sharing => "looking for what is shared",
            Stage::Copies => "looking for copies",
            Stage::Judging => "comparing",
            Stage::Choosing => "choosing what stays",
            #[expect(unreachable_patterns, reason = "stages may be added")]
            _ => "working",
        };
        match &*now {
            Some((own, progress)) if *own == stage => progress.reached(done),
            _ => {
                // The old bar goes before the new one comes.
                *now = None;
                *now = Some((stage, Progress::of(what, total, self.quiet_out)));
            }
        }
        if done >= total {
            *now = None;
        }
    }
}
