//! A process that does a load and can be killed: this very test binary, told by its environment what to do.

use crate::calls::{Caller, MARK};
use crate::documents::collection;
use crate::load::{self, Plan};
use crate::options;
use leitong_store::Store;
use leitong_store::embedded::Embedded;
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
    // One write(2) for each line: what was written before the kill can be read after it.
    let out = File::from(std::io::stdout().as_fd().try_clone_to_owned().unwrap());
    let write = move |line: &str| (&out).write_all(line.as_bytes()).unwrap();
    write("\n");
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
        self.lines.iter().any(|line| line.strip_prefix(MARK).is_some_and(|line| line.starts_with(what)))
    }
}

/// Starts a process for a plan, kills it, and reads what it wrote.
pub(crate) fn run(folder: &Path, plan: Plan, end: End) -> Output {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "process::child", "--nocapture"])
        .env(FOLDER, folder)
        .env(PLAN, plan.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let started = Instant::now();
    let lines = read_lines(&mut child);
    let mut output = Output { lines: Vec::new(), ended: false };
    let deadline = match end {
        End::Started(delay) => Some(started + delay),
        End::After(what, delay) => output.read(&lines, None, Some(what)).then(|| Instant::now() + delay),
        End::Closed => None,
    };
    output.read(&lines, deadline, None);
    // It may have ended by itself meanwhile.
    let _ = if end == End::Closed { Ok(()) } else { child.kill() };
    output.ended = child.wait().unwrap().success();
    output.read(&lines, None, None);
    output
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

impl Output {
    /// Reads until the deadline, a line that starts so (then true), or the end of the process.
    fn read(&mut self, lines: &Receiver<String>, deadline: Option<Instant>, until: Option<&str>) -> bool {
        loop {
            let wait =
                deadline.map_or(PATIENCE, |deadline| deadline.saturating_duration_since(Instant::now()));
            match lines.recv_timeout(wait) {
                Ok(line) => self.lines.push(line),
                Err(RecvTimeoutError::Timeout) if deadline.is_some() => return false,
                Err(RecvTimeoutError::Timeout) => {
                    panic!("the process hangs; its last lines: {:#?}", self.tail())
                }
                Err(RecvTimeoutError::Disconnected) => return false,
            }
            if deadline.is_some_and(|deadline| deadline <= Instant::now()) {
                return false;
            }
            let starts =
                |line: &String, what| line.strip_prefix(MARK).is_some_and(|line| line.starts_with(what));
            if let (Some(what), Some(line)) = (until, self.lines.last())
                && starts(line, what)
            {
                return true;
            }
        }
    }

    pub(crate) fn tail(&self) -> &[String] {
        &self.lines[self.lines.len().saturating_sub(10)..]
    }
}
