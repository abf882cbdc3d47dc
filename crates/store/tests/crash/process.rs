//! A process that does a load and can be killed: this very test binary, told by its environment what to do.

use crate::calls::{Caller, MARK};
use crate::documents::collection;
use crate::load::{self, Plan};
use crate::options;
use leitong_store::Store;
use leitong_store::embedded::Embedded;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

const FOLDER: &str = "LEITONG_CRASH_FOLDER";
const PLAN: &str = "LEITONG_CRASH_PLAN";
/// Longer than anything takes on the slowest machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// What the child does. Without the environment of a child there is nothing to do.
#[test]
fn child() {
    let (Some(folder), Ok(plan)) = (std::env::var_os(FOLDER).map(PathBuf::from), std::env::var(PLAN)) else {
        return;
    };
    let write = writer();
    let plan: Plan = plan.parse().unwrap();
    let store = Embedded::open(&folder, options(plan.now)).unwrap_or_else(|error| {
        write(&format!("{MARK}fail 0 opening: {error}\n"));
        panic!("{error}")
    });
    store.create(&collection()).unwrap();
    write(&format!("{MARK}opened\n"));
    load::run(&Caller::new(&store, &folder, &write), plan).unwrap();
    write(&format!("{MARK}closing\n"));
    store.close().unwrap();
    write(&format!("{MARK}closed\n"));
}

/// When the process is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// So long after it was started.
    Started(Duration),
    /// So long after its first line that starts so.
    After(&'static str, Duration),
    /// Never: it is let close.
    Closed,
}

/// What was read of a process that is no more.
pub(crate) struct Output {
    pub(crate) lines: Vec<String>,
    /// Whether it ended by itself, and well.
    pub(crate) ended: bool,
}

impl Output {
    pub(crate) fn says(&self, what: &str) -> bool {
        self.lines.iter().any(|line| starts(line, what))
    }

    /// The last lines.
    pub(crate) fn tail(&self) -> &[String] {
        &self.lines[self.lines.len().saturating_sub(10)..]
    }
}

/// Starts a process for a plan, kills it, and reads what it wrote.
pub(crate) fn run(folder: &Path, plan: Plan, end: End) -> Output {
    let mut process = start(folder, plan);
    match end {
        End::Started(delay) => _ = process.read(delay, None),
        End::After(what, delay) => {
            if process.read(PATIENCE, Some(what)) == Read::Line {
                process.read(delay, None);
            }
        }
        End::Closed => process.read_all(PATIENCE),
    }
    process.end()
}

/// Starts a process for a plan.
pub(crate) fn start(folder: &Path, plan: Plan) -> Process {
    Process::start("process::child", &[(FOLDER, folder.as_os_str()), (PLAN, plan.to_string().as_ref())])
}

/// A process of this binary that does one test.
pub(crate) struct Process {
    child: Child,
    lines: Receiver<String>,
    output: Output,
}

/// Why no more is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Read {
    /// The line looked for has come.
    Line,
    /// Time is over.
    Late,
    /// The process has ended.
    End,
}

impl Process {
    pub(crate) fn start(test: &str, environment: &[(&str, &OsStr)]) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", test, "--nocapture"])
            .envs(environment.iter().copied())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = read_lines(&mut child);
        Self { child, lines, output: Output { lines: Vec::new(), ended: false } }
    }

    /// Its number.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Reads for so long, or until a line that starts so, or until the process ends.
    pub(crate) fn read(&mut self, time: Duration, until: Option<&str>) -> Read {
        let deadline = Instant::now() + time;
        loop {
            let line = match self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(line) => line,
                Err(RecvTimeoutError::Timeout) => return Read::Late,
                Err(RecvTimeoutError::Disconnected) => return Read::End,
            };
            let is_it = until.is_some_and(|what| starts(&line, what));
            self.output.lines.push(line);
            if is_it {
                return Read::Line;
            }
            if deadline <= Instant::now() {
                return Read::Late;
            }
        }
    }

    /// Reads until the process ends, which it must within so long.
    fn read_all(&mut self, time: Duration) {
        if self.read(time, None) == Read::Late {
            let _ = self.child.kill();
            panic!("the process hangs; its last lines: {:#?}", self.output.tail());
        }
    }

    /// Kills the process unless it has ended, and reads the rest.
    pub(crate) fn end(mut self) -> Output {
        // There is nothing to read from one that has ended by itself, and killing it does nothing.
        if self.read(Duration::ZERO, None) != Read::End {
            let _ = self.child.kill();
        }
        self.output.ended = self.child.wait().unwrap().success();
        self.read_all(PATIENCE);
        self.output
    }
}

fn starts(line: &str, what: &str) -> bool {
    line.strip_prefix(MARK).is_some_and(|line| line.starts_with(what))
}

fn read_lines(child: &mut Child) -> Receiver<String> {
    let (send, lines) = channel();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    std::thread::spawn(move || {
        let mut line = String::new();
        // A line without an end is none.
        while stdout.read_line(&mut line).is_ok_and(|read| read > 0) && line.ends_with('\n') {
            let _ = send.send(line.trim_end().to_owned());
            line.clear();
        }
    });
    lines
}

/// How a child writes lines: one write(2) for each, so that what was written before a kill can be read after it.
pub(crate) fn writer() -> impl Fn(&str) + Sync {
    let out = File::from(std::io::stdout().as_fd().try_clone_to_owned().unwrap());
    let write = move |line: &str| (&out).write_all(line.as_bytes()).unwrap();
    // Ends whatever line the test binary has begun.
    write("\n");
    write
}
