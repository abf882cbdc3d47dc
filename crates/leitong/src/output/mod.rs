//! The one place that writes: data to standard output, problems and progress to standard error.

mod blocks;
pub(crate) mod file;
pub(crate) mod html;
pub(crate) mod matches;
pub(crate) mod passages;
pub(crate) mod paths;
pub(crate) mod plot;
mod progress;
pub(crate) mod report;
pub(crate) mod rows;
pub(crate) mod time;
pub(crate) mod value;

pub(crate) use progress::Progress;

use leitong_detect::batch::BatchError;
use leitong_detect::detector::DetectError;
use std::borrow::Cow;
use std::fmt::Display;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::process::ExitCode;

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// All went well.
    Fine,
    /// Duplicates were found and the caller asked to be told so.
    Duplicates,
    /// Flags do not fit together.
    Usage,
    /// Some input was bad; the rest was done.
    BadInput,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(match exit {
            Exit::Fine => 0,
            Exit::Duplicates => 1,
            Exit::Usage => 2,
            Exit::BadInput => 3,
        })
    }
}

/// Why a run could not go on.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// Whoever read our output has stopped reading: no error.
    #[error("the output was closed")]
    ClosedPipe,
    /// The output cannot be written.
    #[error("cannot write: {0}; check the free space and the permissions")]
    Write(io::Error),
    /// Flags do not fit together.
    #[error("{0}\n\nFor more information, try '--help'.")]
    Usage(String),
    /// The input is bad as a whole.
    #[error("{0}")]
    Input(String),
    /// The recipe is bad.
    #[error(transparent)]
    Recipe(#[from] leitong_detect::RecipeError),
    /// A Hamming index cannot be built or searched.
    #[error(transparent)]
    Index(#[from] leitong_index::hamming::HammingError),
    /// A join failed.
    #[error(transparent)]
    Join(#[from] leitong_index::join::JoinError),
    /// A database cannot be used.
    #[error(transparent)]
    Store(#[from] leitong_store::StoreError),
    /// An operation on a database failed.
    #[error(transparent)]
    Detect(DetectError),
    /// A run over many documents failed.
    #[error(transparent)]
    Batch(BatchError),
}

impl From<BatchError> for Failure {
    fn from(error: BatchError) -> Self {
        match error {
            // Our own, on its way through the run.
            BatchError::Output(own) => {
                own.downcast::<Self>().map_or_else(|own| Self::Batch(BatchError::Output(own)), |own| *own)
            }
            other => Self::Batch(other),
        }
    }
}

impl From<DetectError> for Failure {
    fn from(error: DetectError) -> Self {
        match error {
            DetectError::Write(error) => error.into(),
            other => Self::Detect(other),
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe { Self::ClosedPipe } else { Self::Write(error) }
    }
}

/// When to use colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ColorChoice {
    /// On a terminal, unless NO_COLOR is set
    #[default]
    Auto,
    /// Also into files and pipes
    Always,
    /// Never
    Never,
}

impl ColorChoice {
    /// Makes it so for everything written from now on.
    pub(crate) fn apply(self) {
        match self {
            Self::Auto => anstream::ColorChoice::Auto,
            Self::Always => anstream::ColorChoice::Always,
            Self::Never => anstream::ColorChoice::Never,
        }
        .write_global();
    }
}

/// Standard output, buffered; colours are taken out where they do not belong.
pub(crate) fn stdout() -> impl Write {
    BufWriter::with_capacity(1 << 16, anstream::stdout().lock())
}

/// Whether a person watches and would be disturbed by nothing: progress may be shown.
pub(crate) fn watched() -> bool {
    io::stderr().is_terminal() && !io::stdout().is_terminal()
}

/// Says on standard error what went wrong.
pub(crate) fn complain(message: &dyn Display) {
    let style = anstyle::AnsiColor::Red.on_default().bold();
    // Nobody to tell when standard error is closed.
    let _ = writeln!(anstream::stderr().lock(), "{style}error{style:#}: {message}");
}

/// Says on standard error what the user should know although nothing failed.
pub(crate) fn warn(message: &dyn Display) {
    let style = anstyle::AnsiColor::Yellow.on_default().bold();
    let _ = writeln!(anstream::stderr().lock(), "{style}warning{style:#}: {message}");
}

/// Says on standard error what helps to go on.
pub(crate) fn note(message: &dyn Display) {
    let _ = writeln!(anstream::stderr().lock(), "{message}");
}

/// A word in colour; [`stdout`] takes the colour out where it does not belong.
pub(crate) fn coloured(word: &str, colour: anstyle::AnsiColor) -> String {
    let style = colour.on_default().bold();
    format!("{style}{word}{style:#}")
}

/// A text as it can stand in a column of a line: line breaks, tabs and other control characters are escaped.
pub(crate) fn in_line(text: &str) -> Cow<'_, str> {
    if !text.contains(char::is_control) {
        return text.into();
    }
    let escape = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
    text.chars().map(escape).collect::<String>().into()
}

/// A value as a line of JSON.
pub(crate) fn json_line(value: &impl serde::Serialize) -> Result<Vec<u8>, Failure> {
    let mut line =
        serde_json::to_vec(value).map_err(|error| Failure::Input(format!("cannot be written: {error}")))?;
    line.push(b'\n');
    Ok(line)
}

/// Counts and reports the inputs that could not be used, while the others go on.
#[derive(Debug, Default)]
pub(crate) struct Problems {
    count: u64,
}

impl Problems {
    /// Reports one.
    pub(crate) fn report(&mut self, message: &dyn Display) {
        self.count += 1;
        complain(message);
    }

    /// Counts more of a kind of which the first were reported.
    pub(crate) fn more(&mut self, count: u64, place: &str) {
        self.count += count;
        if count > 0 {
            complain(&format!("{place}: and {count} more like these"));
        }
    }

    /// How the run ended, with a closing line where many inputs were bad among good ones.
    pub(crate) fn exit(&self, inputs: u64) -> Exit {
        if self.count == 0 {
            return Exit::Fine;
        }
        if inputs > 1 {
            let (bad, good) = (self.count, inputs.saturating_sub(self.count));
            let were = if good == 1 { "was" } else { "were" };
            let _ = writeln!(
                anstream::stderr().lock(),
                "{bad} of {inputs} inputs could not be used; {good} {were}"
            );
        }
        Exit::BadInput
    }
}
