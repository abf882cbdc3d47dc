//! The binary as scripts use it: arguments in; standard output, standard error and exit code out.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test may stop at the first surprise, and says what it skips"
)]

mod bad_input;
mod batch;
mod bench;
mod compare;
mod contracts;
mod database;
mod formats;
mod vectors;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What a run gave.
#[derive(Debug)]
struct Run {
    code: i32,
    out: String,
    err: String,
}

impl Run {
    fn lines(&self) -> Vec<&str> {
        self.out.lines().collect()
    }

    fn json(&self) -> Vec<serde_json::Value> {
        self.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

/// Runs the binary in a folder.
fn leitong_in(folder: &Path, arguments: &[&str], input: impl AsRef<[u8]>) -> Run {
    let mut child = Command::new(env!("CARGO_BIN_EXE_leitong"))
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut stdin, input) = (child.stdin.take().unwrap(), input.as_ref().to_vec());
    // From another thread, or both sides could wait for each other with full pipes.
    let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Run { code: output.status.code().unwrap_or(-1), out: text(output.stdout), err: text(output.stderr) }
}

/// Runs the binary where it stands.
fn leitong(arguments: &[&str], input: impl AsRef<[u8]>) -> Run {
    leitong_in(Path::new("."), arguments, input)
}

/// A file of ../shared, or `None` with a line that says so.
fn shared(name: &str) -> Option<String> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared").join(name);
    let text = std::fs::read_to_string(path).ok();
    if text.is_none() {
        println!("skipped: the command line on {name} (needs ../shared)");
    }
    text
}

/// Whether only the everyday part is wanted.
fn quick(test: &str) -> bool {
    let quick = std::env::var_os("LEITONG_QUICK").is_some();
    if quick {
        println!("skipped: {test} (--quick)");
    }
    quick
}
