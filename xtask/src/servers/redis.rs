//! Redis: one server, or a cluster.

use super::process::Process;
use super::{free_ports, is_on_path};
use std::io::{Read, Result, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const SERVER: &str = "redis-server";
/// How long a server may take until it answers, or a cluster until it is one, on a machine whose disk is busy.
const PATIENCE: Duration = Duration::from_secs(120);

/// One Redis server.
pub struct Redis {
    port: u16,
    arguments: Vec<String>,
    /// Removed with it.
    folder: PathBuf,
    process: Option<Process>,
}

impl Redis {
    /// Starts one that keeps nothing on disk, with more arguments; none if Redis is not installed.
    ///
    /// # Panics
    /// If it is installed and does not start: a test that needs it has failed.
    #[must_use]
    pub fn start(arguments: &[&str]) -> Option<Self> {
        let port = *free_ports(1).unwrap_or_default().first()?;
        Self::start_at(port, arguments)
    }

    fn start_at(port: u16, more: &[&str]) -> Option<Self> {
        if !is_on_path(SERVER) {
            return None;
        }
        let folder = std::env::temp_dir().join(format!("leitong-redis-{}-{port}", std::process::id()));
        let number = port.to_string();
        let own = ["--port", &number, "--bind", "127.0.0.1", "--save", ""];
        let place = ["--dir", &folder.display().to_string()].map(str::to_owned);
        let arguments = own.iter().chain(more).map(|part| (*part).to_owned()).chain(place).collect();
        let mut server = Self { port, arguments, folder, process: None };
        let started = std::fs::create_dir_all(&server.folder).and_then(|()| server.restart());
        assert!(started.is_ok(), "{SERVER} does not start: {started:?}");
        Some(server)
    }

    /// Starts it again where it was, after it was killed.
    ///
    /// # Errors
    /// If it does not answer in two minutes.
    pub fn restart(&mut self) -> Result<()> {
        self.process = None;
        let command: Vec<&str> =
            [SERVER].into_iter().chain(self.arguments.iter().map(String::as_str)).collect();
        let process = Process::start(&command, &[], &self.folder.join("log"))?;
        let end = Instant::now() + PATIENCE;
        while !self.answers() {
            if Instant::now() > end || !process.is_alive() {
                let log = std::fs::read_to_string(self.folder.join("log")).unwrap_or_default();
                return Err(std::io::Error::other(format!("no answer on port {}: {log}", self.port)));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        self.process = Some(process);
        Ok(())
    }

    /// Whether it answers at all, be it with an error.
    fn answers(&self) -> bool {
        let ask = || {
            let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
            stream.set_read_timeout(Some(Duration::from_secs(1)))?;
            stream.write_all(b"PING\r\n")?;
            stream.read(&mut [0; 16])
        };
        ask().is_ok_and(|bytes: usize| bytes > 0)
    }

    /// Where it listens.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Ends it at once, as a power cut does.
    pub fn kill(&mut self) {
        self.process = None;
    }

    /// Stops it from doing anything, with its connections open.
    pub fn pause(&self) {
        self.process.iter().for_each(|process| process.signal("-STOP"));
    }

    /// Lets it go on.
    pub fn resume(&self) {
        self.process.iter().for_each(|process| process.signal("-CONT"));
    }

    /// What it says to a command.
    ///
    /// # Panics
    /// If it says nothing.
    #[must_use]
    pub fn ask(&self, command: &[&str]) -> String {
        answer(self.port, command).unwrap_or_else(|| panic!("no answer to {command:?}"))
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        self.process = None;
        _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// A Redis Cluster.
pub struct RedisCluster {
    nodes: Vec<Redis>,
}

impl RedisCluster {
    /// Starts so many masters, each with so many replicas, with more arguments; none if Redis is not installed.
    ///
    /// # Panics
    /// If it is installed and does not start.
    #[must_use]
    pub fn start(masters: usize, replicas: usize, more: &[&str]) -> Option<Self> {
        let number = masters * (1 + replicas);
        let ports = free_ports(2 * number).unwrap_or_default();
        let nodes: Option<Vec<Redis>> = ports
            .chunks_exact(2)
            .map(|ports| {
                let bus = ports[1].to_string();
                let mut arguments = vec!["--cluster-enabled", "yes", "--cluster-port", &bus];
                // Long enough for a busy machine, short enough for a test that waits for a failover.
                arguments.extend(["--cluster-node-timeout", "2000", "--appendonly", "yes"]);
                arguments.extend(more);
                Redis::start_at(ports[0], &arguments)
            })
            .collect();
        let cluster = Self { nodes: nodes? };
        let joined = cluster.join(replicas);
        assert!(joined.is_ok(), "the cluster does not come together: {joined:?}");
        Some(cluster)
    }

    fn join(&self, replicas: usize) -> std::result::Result<(), String> {
        let addresses: Vec<String> =
            self.nodes.iter().map(|node| format!("127.0.0.1:{}", node.port)).collect();
        let output = Command::new("redis-cli")
            .args(["--cluster", "create"])
            .args(&addresses)
            .args(["--cluster-replicas", &replicas.to_string(), "--cluster-yes"])
            .stdin(Stdio::null())
            .output()
            .map_err(|error| error.to_string())?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        // Every node must know that all slots are served, or it answers that the cluster is down; and replicas must have what
        // their masters have, or nothing can take a master's place.
        let complete =
            || self.nodes.iter().all(|node| says(node.port, &["cluster", "info"], "cluster_state:ok"));
        let replicated = |node: &&Redis| says(node.port, &["info", "replication"], "state=online");
        let masters = if replicas > 0 { self.nodes.len() / (1 + replicas) } else { 0 };
        let end = Instant::now() + PATIENCE;
        while !complete() || self.nodes.iter().filter(replicated).count() < masters {
            if Instant::now() > end {
                return Err("not all nodes call the cluster complete".into());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    /// The nodes, masters first.
    #[must_use]
    pub fn nodes(&self) -> &[Redis] {
        &self.nodes
    }

    /// Has so many slots move from one master to another, keys and all, while the cluster is in use.
    ///
    /// # Errors
    /// What the program said that moves them.
    pub fn move_slots(&self, from: usize, to: usize, slots: u32) -> std::result::Result<(), String> {
        let id = |node: usize| self.nodes[node].ask(&["CLUSTER", "MYID"]).trim().to_owned();
        let mut command = Command::new("redis-cli");
        command
            .args(["--cluster", "reshard", &format!("127.0.0.1:{}", self.nodes[from].port)])
            .args(["--cluster-from", &id(from), "--cluster-to", &id(to)])
            .args(["--cluster-slots", &slots.to_string(), "--cluster-yes"])
            .stdin(Stdio::null());
        let end = Instant::now() + PATIENCE;
        loop {
            let output = command.output().map_err(|error| error.to_string())?;
            let said = [output.stdout, output.stderr].concat();
            let said = String::from_utf8_lossy(&said);
            // Some versions say that it went wrong and exit as if it had not.
            if output.status.success() && !said.contains("ERR") {
                return Ok(());
            }
            // On a busy machine not all nodes have heard yet what was moved before; then nothing is moved at all.
            if !said.contains("Nodes don't agree about configuration") || Instant::now() > end {
                return Err(said.into_owned());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// The nodes, to be killed and started again.
    pub fn nodes_mut(&mut self) -> &mut [Redis] {
        &mut self.nodes
    }
}

fn says(port: u16, question: &[&str], what: &str) -> bool {
    answer(port, question).is_some_and(|answer| answer.contains(what))
}

fn answer(port: u16, question: &[&str]) -> Option<String> {
    let output = Command::new("redis-cli").args(["-p", &port.to_string()]).args(question).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}
