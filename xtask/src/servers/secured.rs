//! OpenSearch 2 as it stands in companies: behind TLS, with users who may do different things.

use super::process::Process;
use super::search::{Kind, free_port_of_the_runner, runner};
use super::{free_ports, java};
use std::fs;
use std::io::{Error, Result};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// How long it may take until it answers.
const PATIENCE: Duration = Duration::from_secs(240);

/// What indices must begin with that its users may use.
const PREFIX: &str = "leitong";

const SETTINGS: &str = "\
discovery.type: single-node
cluster.routing.allocation.disk.threshold_enabled: false
plugins.security.audit.type: noop
plugins.security.allow_default_init_securityindex: true
plugins.security.ssl.http.enabled: true
plugins.security.ssl.http.pemcert_filepath: node.pem
plugins.security.ssl.http.pemkey_filepath: node.key
plugins.security.ssl.transport.pemcert_filepath: node.pem
plugins.security.ssl.transport.pemkey_filepath: node.key
plugins.security.ssl.transport.pemtrustedcas_filepath: ca.pem
";

/// Without any of these files it never becomes ready. Passwords are `writer-secret` and `reader-secret`.
const SECURITY: [(&str, &str, &str); 6] = [
    (
        "config",
        "config",
        "config: {dynamic: {authc: {basic: {http_enabled: true, order: 0, \
         http_authenticator: {type: basic, challenge: true}, authentication_backend: {type: intern}}}}}",
    ),
    (
        "internal_users",
        "internalusers",
        r#"writer: {hash: "$2y$04$h91wCAkWoucfUSW7H8ui5./6RXP3MvqsEhBjsKpdmxp7cdixfJ0yO"}
reader: {hash: "$2y$04$KvIznRViNKj2tKS4IndnOOodwQLlGhov0AlS.Rp3GQokG7FJ2bS8u"}"#,
    ),
    (
        "roles",
        "roles",
        r#"writer:
  cluster_permissions: [cluster_composite_ops, cluster_monitor]
  index_permissions: [{index_patterns: ["PREFIX-*"], allowed_actions: [indices_all]}]
reader:
  cluster_permissions: [cluster_composite_ops_ro, cluster_monitor]
  index_permissions: [{index_patterns: ["PREFIX-*"], allowed_actions: [read, "indices:admin/mappings/get", "indices:admin/refresh*"]}]"#,
    ),
    ("roles_mapping", "rolesmapping", "writer: {users: [writer]}\nreader: {users: [reader]}"),
    ("action_groups", "actiongroups", ""),
    ("tenants", "tenants", ""),
];

/// A running OpenSearch 2 that wants TLS and a password: `writer` may do everything with indices that begin with
/// [`SecuredSearch::prefix`], `reader` may read them.
pub struct SecuredSearch {
    port: u16,
    /// Removed with it.
    folder: PathBuf,
    process: Option<Process>,
}

impl SecuredSearch {
    /// Starts it; none if it is not installed, or the Java or the OpenSSL (3 or newer) that it needs is not.
    ///
    /// # Panics
    /// If it is installed and does not start: a test that needs it has failed.
    #[must_use]
    pub fn start() -> Option<Self> {
        let kind = Kind::OpenSearch2;
        let java = java::at_least(kind.java())
            .filter(|_| kind.is_complete().is_file() && kind.security_is_complete().is_file())
            .filter(|_| has_openssl())?;
        let folder = std::env::temp_dir().join(format!("leitong-secured-{}", std::process::id()));
        _ = fs::remove_dir_all(&folder);
        let started = start(kind, &java, &folder);
        let (process, port) = started.unwrap_or_else(|error| panic!("it cannot be started: {error}"));
        let search = Self { port, folder, process: Some(process) };
        search.wait();
        Some(search)
    }

    /// Waits until it knows its users. Before that it refuses everybody.
    fn wait(&self) {
        let end = Instant::now() + PATIENCE;
        loop {
            let log = fs::read_to_string(self.folder.join("log")).unwrap_or_default();
            if log.contains("' initialized") {
                return;
            }
            let from = log.char_indices().rev().nth(4000).map_or(0, |(at, _)| at);
            let alive = self.process.as_ref().is_some_and(Process::is_alive);
            let fine = alive && Instant::now() < end;
            assert!(fine, "it does not come up: {}", &log[from..]);
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    /// Where it listens.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The certificate that its own is signed with.
    #[must_use]
    pub fn ca(&self) -> PathBuf {
        config(&self.folder).join("ca.pem")
    }

    /// What indices must begin with.
    #[must_use]
    pub fn prefix(&self) -> &'static str {
        PREFIX
    }
}

impl Drop for SecuredSearch {
    fn drop(&mut self) {
        self.process = None;
        _ = fs::remove_dir_all(&self.folder);
    }
}

/// Where the program that starts it looks for settings.
fn config(folder: &Path) -> PathBuf {
    folder.join("node/node_1/config")
}

fn start(kind: Kind, java: &Path, folder: &Path) -> Result<(Process, u16)> {
    let config = config(folder);
    let security = config.join("opensearch-security");
    fs::create_dir_all(&security)?;
    certificates(&config)?;
    // Or it takes the first that is free from 9300 on, and talks to whoever else does.
    let transport = free_ports(1)?[0];
    fs::write(config.join("opensearch.yml"), format!("{SETTINGS}transport.port: {transport}\n"))?;
    for (name, kind, text) in SECURITY {
        let text = text.replace("PREFIX", PREFIX);
        let text = format!("_meta: {{type: {kind}, config_version: 2}}\n{text}\n");
        fs::write(security.join(name).with_extension("yml"), text)?;
    }
    let port = free_port_of_the_runner()?;
    let mut command = runner(java, &[kind.folder().join("lib"), kind.security()], &folder.join("node"), port);
    command.extend(["-pluginTypes", "org.opensearch.security.OpenSearchSecurityPlugin"].map(str::to_owned));
    let command: Vec<&str> = command.iter().map(String::as_str).collect();
    Ok((Process::start(&command, &[], &folder.join("log"))?, port))
}

/// Whether OpenSSL is here, 3 or newer: older ones cannot sign a certificate while they make it.
#[must_use]
pub fn has_openssl() -> bool {
    let said =
        Command::new("openssl").arg("version").output().map(|output| output.stdout).unwrap_or_default();
    let said = String::from_utf8_lossy(&said).into_owned();
    let major = said.strip_prefix("OpenSSL ").and_then(|rest| rest.split('.').next()?.parse().ok());
    major.is_some_and(|major: u32| major >= 3)
}

/// One to sign with, and one for this machine.
fn certificates(folder: &Path) -> Result<()> {
    let key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "3"];
    let signer = [
        "-keyout",
        "ca.key",
        "-out",
        "ca.pem",
        "-subj",
        "/CN=tests",
        "-addext",
        "keyUsage=critical,keyCertSign",
    ];
    let own =
        ["-CA", "ca.pem", "-CAkey", "ca.key", "-keyout", "node.key", "-out", "node.pem", "-subj", "/CN=node"];
    let names = ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"];
    let leaf = ["-addext", "basicConstraints=critical,CA:FALSE"];
    for parts in [vec![&key[..], &signer], vec![&key, &own, &names, &leaf]] {
        let mut command = Command::new("openssl");
        command.args(["req", "-x509"]).args(parts.concat()).current_dir(folder);
        let output = command.output()?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            return Err(Error::other(format!("{command:?} failed: {said}")));
        }
    }
    Ok(())
}
