//! Addresses: `redis://user:password@host:port/db?prefix=NAME`, and for a cluster `redis-cluster://host:port,host:port`.

use crate::StoreError;
use redis::io::tcp::TcpSettings;
use redis::{Client, ConnectionAddr, IntoConnectionInfo, RedisConnectionInfo, RedisError, TlsCertificates};
use std::time::Duration;

/// Where Redis listens if nothing else is said.
const PORT: u16 = 6379;
/// What keys begin with if nothing else is said.
const PREFIX: &str = "leitong";
/// Longer ones would cost more than they say.
const LONGEST_PREFIX: usize = 64;

/// Where servers are and how they are spoken to.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Address {
    /// As it may be shown: without a password.
    pub(crate) shown: String,
    /// Whether these are nodes of a cluster; otherwise there is one.
    pub(crate) cluster: bool,
    pub(crate) hosts: Vec<(String, u16)>,
    tls: bool,
    /// Whether a certificate that nobody has signed is good enough.
    insecure: bool,
    /// Certificates to trust in place of those that everybody trusts, in the PEM format.
    ca: Option<Vec<u8>>,
    user: Option<String>,
    password: Option<String>,
    database: i64,
    /// What all keys begin with.
    pub(crate) prefix: String,
    /// How many replicas must have a change before it is answered, and how long they may take.
    pub(crate) wait: u32,
    pub(crate) wait_for: Duration,
    /// How long an addition may be pending before others may end it.
    pub(crate) lease: Duration,
    /// How long a server may take to answer.
    pub(crate) timeout: Duration,
}

impl Address {
    pub(crate) fn parse(address: &str) -> Result<Self, StoreError> {
        let (scheme, rest) = address.split_once("://").unwrap_or(("", address));
        // First what must not be shown: it may have any character.
        let (secret, rest) =
            rest.rsplit_once('@').map_or((None, rest), |(secret, rest)| (Some(secret), rest));
        let (places, options) = rest.split_once('?').unwrap_or((rest, ""));
        let shown = if scheme.is_empty() { places.to_owned() } else { format!("{scheme}://{places}") };
        let wrong = |what: &str| StoreError::Address { address: shown.clone(), what: what.to_owned() };
        let (cluster, tls) = match scheme {
            "redis" => (false, false),
            "rediss" => (false, true),
            "redis-cluster" => (true, false),
            "rediss-cluster" => (true, true),
            _ => return Err(wrong("begin with redis://, rediss://, redis-cluster:// or rediss-cluster://")),
        };
        let (hosts, database) = places.split_once('/').unwrap_or((places, ""));
        let hosts: Option<Vec<_>> = hosts.split(',').map(host_and_port).collect();
        let hosts =
            hosts.ok_or_else(|| wrong("give host:port, for a cluster several with commas between them"))?;
        if hosts.len() > 1 && !cluster {
            return Err(wrong("several servers are a cluster: begin with redis-cluster://"));
        }
        let database = if database.is_empty() { Some(0) } else { database.parse().ok().filter(|n| *n >= 0) };
        let database =
            database.ok_or_else(|| wrong("what follows the / is the number of a database: 0, 1, 2 …"))?;
        if cluster && database != 0 {
            return Err(wrong(
                "a cluster has no numbered databases: leave out what follows the /, and use ?prefix=NAME",
            ));
        }
        let (user, password) = secret.map_or((None, None), user_and_password);
        let mut own = Self {
            shown: shown.clone(),
            cluster,
            hosts,
            tls,
            insecure: false,
            ca: None,
            user,
            password,
            database,
            prefix: PREFIX.to_owned(),
            wait: 0,
            wait_for: Duration::from_secs(1),
            lease: Duration::from_secs(10),
            timeout: Duration::from_secs(5),
        };
        for option in options.split('&').filter(|option| !option.is_empty()) {
            if let Some(path) = option.strip_prefix("ca=") {
                own.ca = Some(certificates(&unescaped(path)).map_err(|error| wrong(&error))?);
                continue;
            }
            let (name, value) = option.split_once('=').unwrap_or((option, ""));
            own.set(name, value).ok_or_else(|| {
                wrong(&format!(
                    "{option:?} is no option: there are prefix=NAME (up to {LONGEST_PREFIX} letters, digits, and . _ -), \
                     wait=N, wait_ms=MS, lease_ms=MS, timeout_ms=MS (more than 0), ca=FILE and insecure=true"
                ))
            })?;
        }
        if own.ca.is_some() {
            if !tls {
                return Err(wrong("ca=FILE is for TLS: begin with rediss:// or rediss-cluster://"));
            }
            let (host, port) = &own.hosts[0];
            own.client(host, *port)
                .map_err(|error| wrong(&format!("the certificates of ca=FILE cannot be used: {error}")))?;
        }
        Ok(own)
    }

    fn set(&mut self, name: &str, value: &str) -> Option<()> {
        let time = || value.parse().ok().filter(|ms| *ms > 0).map(Duration::from_millis);
        match name {
            // Braces would change which server of a cluster a key belongs to; stars and the like mean something to SCAN.
            "prefix" => {
                let good = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
                let fits = (1..=LONGEST_PREFIX).contains(&value.len()) && value.bytes().all(good);
                self.prefix = fits.then(|| value.to_owned())?;
            }
            "wait" => self.wait = value.parse().ok()?,
            "wait_ms" => self.wait_for = time()?,
            "lease_ms" => self.lease = time()?,
            "timeout_ms" => self.timeout = time()?,
            "insecure" => self.insecure = value.parse().ok()?,
            _ => return None,
        }
        Some(())
    }

    /// How to connect to one of the servers.
    pub(crate) fn client(&self, host: &str, port: u16) -> Result<Client, RedisError> {
        let mut server = if self.tls {
            ConnectionAddr::TcpTls { host: host.to_owned(), port, insecure: self.insecure, tls_params: None }
        } else {
            ConnectionAddr::Tcp(host.to_owned(), port)
        };
        server.set_danger_accept_invalid_hostnames(self.insecure);
        let mut settings = RedisConnectionInfo::default().set_db(self.database);
        if let Some(user) = &self.user {
            settings = settings.set_username(user);
        }
        if let Some(password) = &self.password {
            settings = settings.set_password(password);
        }
        let server = server.into_connection_info()?;
        // A question that waits for more to be sent with it waits in vain.
        let server =
            server.set_tcp_settings(TcpSettings::default().set_nodelay(true)).set_redis_settings(settings);
        match &self.ca {
            Some(ca) if !self.insecure => {
                let certificates = TlsCertificates { client_tls: None, root_cert: Some(ca.clone()) };
                Client::build_with_tls(server, certificates)
            }
            _ => Client::open(server),
        }
    }
}

impl std::fmt::Debug for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.shown)
    }
}

/// The certificates of a file.
fn certificates(path: &str) -> Result<Vec<u8>, String> {
    let pem =
        std::fs::read(path).map_err(|error| format!("the certificates of {path} cannot be read: {error}"))?;
    // Some files have words around them.
    let begin = b"-----BEGIN CERTIFICATE-----";
    match pem.windows(begin.len()).any(|part| part == begin) {
        true => Ok(pem),
        false => Err(format!("there is no certificate in {path}: give a file in the PEM format")),
    }
}

fn host_and_port(place: &str) -> Option<(String, u16)> {
    // The colons of [::1] are not followed by a port.
    let (host, port) = match place.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, port.parse().ok()?),
        _ => (place, PORT),
    };
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    (!host.is_empty()).then(|| (host.to_owned(), port))
}

fn user_and_password(secret: &str) -> (Option<String>, Option<String>) {
    let (user, password) = secret.split_once(':').unwrap_or((secret, ""));
    let given = |text: &str| (!text.is_empty()).then(|| unescaped(text));
    (given(user), given(password))
}

/// With `%40` for `@` and the like.
fn unescaped(text: &str) -> String {
    let (mut bytes, mut rest) = (Vec::with_capacity(text.len()), text.as_bytes());
    while let Some((&byte, after)) = rest.split_first() {
        let hex = after.get(..2).and_then(|hex| u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok());
        match hex {
            Some(hex) if byte == b'%' => {
                bytes.push(hex);
                rest = &after[2..];
            }
            _ => {
                bytes.push(byte);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(address: &str) -> Address {
        Address::parse(address).unwrap()
    }

    #[test]
    fn all_parts() {
        let address =
            parse("rediss://me:p%40ss:w@db.example:7000/3?prefix=news&wait=2&wait_ms=50&insecure=true");
        let secret = (address.user.as_deref(), address.password.as_deref());
        assert_eq!(secret, (Some("me"), Some("p@ss:w")));
        assert_eq!(address.hosts, [("db.example".to_owned(), 7000)]);
        assert_eq!((address.tls, address.insecure, address.database), (true, true, 3));
        assert_eq!((address.prefix.as_str(), address.wait), ("news", 2));
        assert_eq!(address.wait_for, Duration::from_millis(50));
        assert!(!format!("{address:?}").contains("p@ss"), "{address:?}");
        let cluster = parse("redis-cluster://a:1,[::1]:2,c?lease_ms=7&timeout_ms=8");
        assert!(cluster.cluster);
        assert_eq!(cluster.hosts, [("a".into(), 1), ("::1".into(), 2), ("c".to_owned(), 6379)]);
        assert_eq!((cluster.lease.as_millis(), cluster.timeout.as_millis()), (7, 8));
        assert_eq!(parse("redis://:secret@h").password.as_deref(), Some("secret"));
    }

    #[test]
    fn what_is_none() {
        let half = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(half.path(), "-----BEGIN CERTIFICATE-----\nMIIB").unwrap();
        for wrong in [
            "http://a",
            "a:1",
            "redis://",
            "redis://a:x",
            "redis://a:1,b:2",
            "redis://a/x",
            "redis-cluster://a/1",
            "redis://:secret@a?colour=red",
            "redis://a?prefix={a}",
            "redis://a?timeout_ms=0",
            "rediss://a?ca=/no/such/file",
            concat!("rediss://a?ca=", env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"),
            &format!("rediss://a?ca={}", half.path().display()),
        ] {
            match Address::parse(wrong) {
                Err(error @ StoreError::Address { .. }) => {
                    assert!(!error.to_string().contains("secret"), "{error}");
                }
                other => panic!("{wrong}: {other:?}"),
            }
        }
    }
}
