//! A server's process, which does not outlive ours.

use std::io::{BufRead, BufReader, Error, Result};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Starts a command in a session of its own and kills all of it when standard input ends: when the guard is dropped, and also
/// when the process that holds it is killed, for then its pipes are closed too. What ends both of us at once (Ctrl-C) must not
/// end the watch first.
const WATCH: &str =
    r#"setsid "$@" </dev/null & trap '' INT TERM HUP; echo $!; read -r _; kill -9 -$! 2>/dev/null; wait"#;

/// A running server.
pub(super) struct Process {
    watch: Child,
    /// Of the session, which is the first process's.
    pid: u32,
}

impl Process {
    /// Starts a program. What it prints goes to a file.
    pub(super) fn start(command: &[&str], environment: &[(&str, &str)], log: &Path) -> Result<Self> {
        let log = std::fs::File::options().create(true).append(true).open(log)?;
        let mut watch = Command::new("sh")
            .args(["-c", &format!("exec 3>&1 1>&2; {}", WATCH.replace("echo $!", "echo $! >&3; exec 3>&-"))])
            .arg("watch")
            .args(command)
            .envs(environment.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()?;
        let mut line = String::new();
        if let Some(output) = watch.stdout.take() {
            BufReader::new(output).read_line(&mut line)?;
        }
        let pid = line.trim().parse().map_err(|_| Error::other("the watching shell said no process id"))?;
        Ok(Self { watch, pid })
    }

    /// Whether the first process is there.
    pub(super) fn is_alive(&self) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.pid)).unwrap_or_default();
        let state = stat.rsplit(") ").next().and_then(|rest| rest.chars().next());
        state.is_some_and(|state| state != 'Z')
    }

    /// Sends a signal to all of it.
    pub(super) fn signal(&self, signal: &str) {
        let group = format!("-{}", self.pid);
        // One that is gone already has what it would get.
        _ = Command::new("kill").args([signal, "--", &group]).stderr(Stdio::null()).status();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.watch.stdin.take());
        _ = self.watch.wait();
    }
}
