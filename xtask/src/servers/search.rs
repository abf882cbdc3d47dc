//! OpenSearch and Elasticsearch: real servers, without their installers.

use super::process::Process;
use super::{free_ports, home, java};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// How long a server may take until it answers: half a minute on a machine that does nothing else.
const PATIENCE: Duration = Duration::from_secs(240);

/// Which server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// OpenSearch 2.
    OpenSearch2,
    /// OpenSearch 3.
    OpenSearch3,
    /// Elasticsearch 7, without scripts.
    Elastic7,
    /// Elasticsearch 8, without scripts.
    Elastic8,
    /// Elasticsearch 9, without scripts.
    Elastic9,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::OpenSearch2, Self::OpenSearch3, Self::Elastic7, Self::Elastic8, Self::Elastic9];

    /// Its name, for people and for folders.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::OpenSearch2 => "opensearch-2",
            Self::OpenSearch3 => "opensearch-3",
            Self::Elastic7 => "elasticsearch-7",
            Self::Elastic8 => "elasticsearch-8",
            Self::Elastic9 => "elasticsearch-9",
        }
    }

    /// The version that tests use: they must not change by themselves.
    pub(super) fn version(self) -> &'static str {
        match self {
            Self::OpenSearch2 => "2.19.1.0",
            Self::OpenSearch3 => "3.8.0.0",
            Self::Elastic7 => "7.17.29",
            Self::Elastic8 => "8.19.0",
            Self::Elastic9 => "9.2.0",
        }
    }

    /// The oldest Java it runs on.
    pub(super) fn java(self) -> u32 {
        match self {
            Self::OpenSearch2 | Self::Elastic7 | Self::Elastic8 => 17,
            Self::OpenSearch3 | Self::Elastic9 => 21,
        }
    }

    pub(super) fn is_elastic(self) -> bool {
        matches!(self, Self::Elastic7 | Self::Elastic8 | Self::Elastic9)
    }

    /// Where it was put by `install_search`.
    pub(super) fn folder(self) -> PathBuf {
        home().join(self.name())
    }

    /// Where its security plugin was put by `install_security`.
    pub(super) fn security(self) -> PathBuf {
        home().join(format!("{}-security", self.name()))
    }

    /// Written when everything of that is there.
    pub(super) fn security_is_complete(self) -> PathBuf {
        self.security().join(format!("complete-{}", self.version()))
    }

    /// Written when everything of it is there.
    pub(super) fn is_complete(self) -> PathBuf {
        self.folder().join(format!("complete-{}", self.version()))
    }
}

/// A running search server: one node, or several that make a cluster.
pub struct Search {
    kind: Kind,
    ports: Vec<u16>,
    /// Removed with it.
    folder: PathBuf,
    nodes: Vec<Node>,
}

/// One of its processes, and how to start it.
struct Node {
    command: Vec<String>,
    environment: Vec<(&'static str, String)>,
    log: PathBuf,
    process: Option<Process>,
}

impl Node {
    fn start(&mut self) -> std::io::Result<()> {
        self.process = None;
        let command: Vec<&str> = self.command.iter().map(String::as_str).collect();
        let environment: Vec<(&str, &str)> =
            self.environment.iter().map(|(name, value)| (*name, value.as_str())).collect();
        self.process = Some(Process::start(&command, &environment, &self.log)?);
        Ok(())
    }
}

impl Search {
    /// Starts one node; none if it is not installed, or the Java it needs is not.
    ///
    /// # Panics
    /// If it is installed and does not start: a test that needs it has failed.
    #[must_use]
    pub fn start(kind: Kind) -> Option<Self> {
        Self::start_cluster(kind, 1)
    }

    /// Starts a cluster of so many Elasticsearch nodes, each a process of its own.
    ///
    /// # Panics
    /// If it is installed and does not start.
    #[must_use]
    pub fn start_cluster(kind: Kind, number: usize) -> Option<Self> {
        let java = java::at_least(kind.java()).filter(|_| kind.is_complete().is_file())?;
        let folder = std::env::temp_dir().join(format!("leitong-{}-{}", kind.name(), std::process::id()));
        _ = std::fs::remove_dir_all(&folder);
        let (mut nodes, ports) = match kind.is_elastic() {
            true => elastic(kind, &java, &folder, number),
            false => opensearch(kind, &java, &folder),
        }
        .unwrap_or_else(|error| panic!("{} cannot be set up: {error}", kind.name()));
        let started = nodes.iter_mut().try_for_each(Node::start);
        assert!(started.is_ok(), "{} does not start: {started:?}", kind.name());
        let search = Self { kind, ports, folder, nodes };
        search.wait();
        search.do_not_mind_a_full_disk();
        Some(search)
    }

    /// Waits until every node answers and knows all the others.
    fn wait(&self) {
        self.wait_for(&format!("wait_for_status=yellow&wait_for_nodes={}", self.ports.len()));
    }

    /// Waits until everything is on as many nodes as it should be: until then the loss of one may be the loss of it all.
    ///
    /// # Panics
    /// If that takes for ever.
    pub fn wait_for_copies(&self) {
        self.wait_for(
            "wait_for_status=green&wait_for_no_initializing_shards=true&wait_for_no_relocating_shards=true",
        );
    }

    /// Waits until all nodes are in good health, in certain respects.
    fn wait_for(&self, what: &str) {
        let end = Instant::now() + PATIENCE;
        let path = format!("/_cluster/health?{what}&timeout=5s");
        for port in &self.ports {
            while !request(*port, "GET", &path, "").is_ok_and(|answer| answer.contains("\"timed_out\":false"))
            {
                let alive = self.nodes.iter().filter_map(|node| node.process.as_ref()).all(Process::is_alive);
                assert!(
                    alive && Instant::now() < end,
                    "{} does not come up: {}",
                    self.kind.name(),
                    self.log()
                );
                std::thread::sleep(Duration::from_millis(200));
            }
        }
    }

    /// Tests write little; a disk that others have nearly filled must not stop them.
    fn do_not_mind_a_full_disk(&self) {
        let set = |setting: &str| {
            let body = format!("{{\"persistent\":{{{setting}}}}}");
            let answer = request(self.ports[0], "PUT", "/_cluster/settings", &body);
            answer.is_ok_and(|answer| answer.contains("\"acknowledged\":true"))
        };
        // A server that has just started on a busy machine may not answer the first time.
        let end = Instant::now() + PATIENCE;
        while !set("\"cluster.routing.allocation.disk.threshold_enabled\":false") {
            assert!(Instant::now() < end, "a setting is refused: {}", self.log());
            std::thread::sleep(Duration::from_millis(200));
        }
        // OpenSearch blocks this itself, and only where it has such a setting.
        set("\"cluster.blocks.create_index\":null");
    }

    /// The end of what it printed.
    fn log(&self) -> String {
        let text: String =
            self.nodes.iter().filter_map(|node| std::fs::read_to_string(&node.log).ok()).collect();
        let from = text.len().saturating_sub(4000);
        text.get(from..).unwrap_or(&text).to_owned()
    }

    /// Asks the first node for something; head and body of the answer.
    ///
    /// # Errors
    /// If it does not answer.
    pub fn request(&self, method: &str, path: &str, body: &str) -> std::io::Result<String> {
        request(self.ports[0], method, path, body)
    }

    /// Which server it is.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// `http://…` of the first node.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.ports[0])
    }

    /// The ports of all nodes.
    #[must_use]
    pub fn ports(&self) -> &[u16] {
        &self.ports
    }

    /// Ends a node at once, as a power cut does.
    pub fn kill(&mut self, node: usize) {
        self.nodes[node].process = None;
    }

    /// Starts a node again that was killed, and waits until it belongs to the others. All of them must be there.
    ///
    /// # Panics
    /// If it does not come up.
    pub fn restart(&mut self, node: usize) {
        let started = self.nodes[node].start();
        assert!(started.is_ok(), "{} does not start again: {started:?}", self.kind.name());
        self.wait();
    }

    /// Stops a node from doing anything.
    pub fn pause(&self, node: usize) {
        self.nodes[node].process.iter().for_each(|process| process.signal("-STOP"));
    }

    /// Lets a node go on.
    pub fn resume(&self, node: usize) {
        self.nodes[node].process.iter().for_each(|process| process.signal("-CONT"));
    }
}

impl Drop for Search {
    fn drop(&mut self) {
        self.nodes.clear();
        _ = std::fs::remove_dir_all(&self.folder);
    }
}

type SetUp = std::io::Result<(Vec<Node>, Vec<u16>)>;

fn opensearch(kind: Kind, java: &Path, folder: &Path) -> SetUp {
    std::fs::create_dir_all(folder)?;
    let port = free_port_of_the_runner()?;
    let command = runner(java, &[kind.folder().join("lib")], &folder.join("node"), port);
    let node = Node { command, environment: Vec::new(), log: folder.join("log-0"), process: None };
    Ok((vec![node], vec![port]))
}

/// The command of an OpenSearch made of the jars in some folders, which has another as its own.
pub(super) fn runner(java: &Path, jars: &[PathBuf], own: &Path, port: u16) -> Vec<String> {
    let classes: Vec<String> = jars.iter().map(|folder| format!("{}/*", folder.display())).collect();
    let fixed =
        ["-Xms512m", "-Xmx1g", "-cp", &classes.join(":"), "org.codelibs.opensearch.runner.OpenSearchRunner"];
    let options = [
        ("-basePath", own.display().to_string()),
        ("-numOfNode", "1".to_owned()),
        // It listens one above the number it is given.
        ("-baseHttpPort", (port - 1).to_string()),
        ("-clusterName", format!("leitong-{port}")),
    ];
    let options = options.into_iter().flat_map(|(name, value)| [name.to_owned(), value]);
    let java = java.join("bin/java").display().to_string();
    [java].into_iter().chain(fixed.map(str::to_owned)).chain(options).collect()
}

/// The program that starts OpenSearch knows no ports above 9299. Others that look at the same time begin elsewhere: it takes the next
/// port without a word if somebody was quicker.
pub(super) fn free_port_of_the_runner() -> std::io::Result<u16> {
    let own = (std::process::id() % 98) as u16;
    let candidates = (0..98).map(|nth| 9201 + (own + nth) % 98);
    let mut ports = candidates.filter(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok());
    ports.next().ok_or_else(|| std::io::Error::other("all ports from 9201 to 9298 are in use"))
}

fn elastic(kind: Kind, java: &Path, folder: &Path, number: usize) -> SetUp {
    std::fs::create_dir_all(folder)?;
    let ports = free_ports(2 * number)?;
    let (http, transport) = ports.split_at(number);
    let mut nodes = Vec::new();
    for node in 0..number {
        let own = folder.join(format!("node-{node}"));
        // A copy of its own: it writes beside its programs, and must belong to somebody who is not root.
        run(Command::new("cp").arg("-r").arg(kind.folder().join("server")).arg(&own))?;
        let mut settings =
            std::fs::File::options().append(true).open(own.join("config/elasticsearch.yml"))?;
        settings.write_all(elastic_settings(kind, node, http, transport).as_bytes())?;
        let program = own.join("bin/elasticsearch").display().to_string();
        let mut command = vec!["bash", &program];
        if is_root() {
            run(Command::new("chown").args(["-R", "nobody"]).arg(&own))?;
            command.splice(0..0, ["runuser", "-u", "nobody", "--"]);
        }
        let home = java.display().to_string();
        let environment = [
            ("ES_JAVA_HOME", home.clone()),
            ("JAVA_HOME", home),
            ("ES_JAVA_OPTS", "-Xms512m -Xmx512m".to_owned()),
        ];
        let command = command.into_iter().map(str::to_owned).collect();
        let log = folder.join(format!("log-{node}"));
        nodes.push(Node { command, environment: environment.to_vec(), log, process: None });
    }
    Ok((nodes, http.to_vec()))
}

fn elastic_settings(kind: Kind, node: usize, http: &[u16], transport: &[u16]) -> String {
    let mut text = format!(
        "\ncluster.name: leitong-{}\nnode.name: n{node}\nhttp.port: {}\ntransport.port: {}\n",
        http[0], http[node], transport[node]
    );
    if http.len() == 1 {
        text += "discovery.type: single-node\n";
    } else {
        let seeds: Vec<String> = transport.iter().map(|port| format!("\"127.0.0.1:{port}\"")).collect();
        let names: Vec<String> = (0..http.len()).map(|node| format!("n{node}")).collect();
        text += &format!("discovery.seed_hosts: [{}]\n", seeds.join(", "));
        text += &format!("cluster.initial_master_nodes: [{}]\n", names.join(", "));
    }
    if kind != Kind::Elastic7 {
        text += "xpack.security.enabled: false\n";
    }
    text
}

fn is_root() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    status.lines().any(|line| line.starts_with("Uid:\t0\t"))
}

fn run(command: &mut Command) -> std::io::Result<()> {
    let status = command.status()?;
    if status.success() {
        Ok(())
    } else {
        Err(std::io::Error::other(format!("{command:?} failed: {status}")))
    }
}

/// The answer to a request, head and body.
fn request(port: u16, method: &str, path: &str, body: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    let length = body.len();
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}
