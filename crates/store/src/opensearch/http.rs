//! Requests and replies: several servers of one cluster, tried again with back-off, and errors in words.
//!
//! Every request may be sent twice, but those that say [`Purpose::Once`]. Reading is harmless, and every change names what it must
//! find (`create`, or a sequence number), so a second one can only fail where the first has been made; who changes looks then
//! whether it was its own.

use super::address::Address;
use crate::StoreError;
use crate::certificate::mistrust;
use serde_json::Value;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use ureq::config::AutoHeaderValue;
use ureq::http::{Method, Request};
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig};
use ureq::{Agent, Error, Timeout};

/// How long a connection may take to be made.
const CONNECTING: Duration = Duration::from_secs(5);
/// The first pause before a request is sent again, and the longest.
const PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// Connections that are kept for the next request.
const KEPT: usize = 64;
/// The status of a server that has too many requests, and has not begun with this one.
const TOO_MANY: u16 = 429;

/// A cluster of servers.
pub(crate) struct Server {
    agent: Agent,
    hosts: Vec<String>,
    /// How often one host was left for the next: the rest by their number is the one that is asked.
    turns: AtomicUsize,
    authorization: Option<String>,
    timeout: Duration,
}

/// Why something could not be done.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// There is no such index.
    Gone,
    Store(StoreError),
}

impl Trouble {
    /// The same where a change may have been made before, as [`StoreError::after_a_change`].
    pub(crate) fn after_a_change(self) -> Self {
        match self {
            Self::Store(error) => Self::Store(error.after_a_change()),
            Self::Gone => Self::Gone,
        }
    }
}

impl From<StoreError> for Trouble {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// What is sent.
#[derive(Clone, Copy)]
pub(crate) enum Body<'a> {
    None,
    Json(&'a Value),
    /// A JSON value a line.
    Lines(&'a [u8]),
}

/// What a request is for, which decides what its failure means.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    Reading,
    Changing,
    /// What must not be done twice, and changes nothing.
    Once,
    /// The first of all: a server that is not there is not waited for.
    Knocking,
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) body: Value,
    /// Whether the request may have been carried out before, without an answer.
    pub(crate) repeated: bool,
}

/// Pauses between tries, each longer than the one before, until it is enough.
pub(crate) struct Patience {
    end: Instant,
    pause: Duration,
}

impl Patience {
    /// Waits a while; false if there is no time left for it.
    fn wait(&mut self) -> bool {
        let is_time = Instant::now() + self.pause <= self.end;
        if is_time {
            std::thread::sleep(self.pause);
            self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        }
        is_time
    }
}

/// Why there is no answer that counts.
enum Silence {
    /// Nothing has been sent.
    NotSent(String),
    /// Nothing either: the server may be another.
    NotTrusted(String),
    /// It may have been done.
    Lost(String),
    /// It says so: the status of the answer, and what it says.
    Busy(u16, String),
}

impl Silence {
    /// Whether nothing can have been done.
    fn is_harmless(&self) -> bool {
        matches!(self, Self::NotSent(_) | Self::NotTrusted(_))
    }

    fn why(self) -> String {
        match self {
            Self::NotSent(why) | Self::NotTrusted(why) | Self::Lost(why) => why,
            Self::Busy(status, why) => format!("{status}: {why}"),
        }
    }
}

impl Server {
    pub(crate) fn new(address: &Address) -> Result<Self, StoreError> {
        let mut tls = TlsConfig::builder().disable_verification(address.insecure);
        if let Some(path) = &address.ca {
            tls = tls.root_certs(trusted(path)?);
        }
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .accept_encoding(AutoHeaderValue::None)
            .max_idle_connections(KEPT)
            .max_idle_connections_per_host(KEPT)
            .timeout_connect(Some(CONNECTING.min(address.timeout)))
            .timeout_global(Some(address.timeout))
            .tls_config(tls.build())
            .build();
        Ok(Self {
            agent: config.into(),
            hosts: address.hosts.clone(),
            turns: AtomicUsize::new(0),
            authorization: address.authorization.clone(),
            timeout: address.timeout,
        })
    }

    /// The address of the server that answered last, for messages.
    pub(crate) fn name(&self) -> String {
        self.host(self.turns()).to_owned()
    }

    fn host(&self, turns: usize) -> &str {
        &self.hosts[turns % self.hosts.len()]
    }

    /// For one request and its repetitions.
    pub(crate) fn patience(&self) -> Patience {
        Patience { end: Instant::now() + self.timeout, pause: PAUSE }
    }

    /// Asks for something that must be there.
    pub(crate) fn read(&self, method: &Method, path: &str, body: Body<'_>) -> Result<Value, Trouble> {
        self.succeed(method, path, body, Purpose::Reading)
    }

    /// Asks for something, and any answer but a good one is an error.
    pub(crate) fn succeed(
        &self,
        method: &Method,
        path: &str,
        body: Body<'_>,
        purpose: Purpose,
    ) -> Result<Value, Trouble> {
        let reply = self.ask(method, path, body, purpose)?;
        if reply.status < 300 { Ok(reply.body) } else { Err(self.refusal(reply.status, &reply.body)) }
    }

    /// Asks until there is an answer of a server that is not too busy.
    pub(crate) fn ask(
        &self,
        method: &Method,
        path: &str,
        body: Body<'_>,
        purpose: Purpose,
    ) -> Result<Reply, StoreError> {
        let mut patience = self.patience();
        let mut repeated = false;
        // A host whose certificate is not accepted: that has a remedy, whatever the others say.
        let mut mistrusted = None;
        for tried in 1.. {
            let turns = self.turns();
            let server = self.host(turns);
            let silence = match self.send(server, method, path, body) {
                Ok((status, body)) if !is_busy(status, &body) => return Ok(Reply { status, body, repeated }),
                Ok((status, body)) => {
                    // Whoever was busy may have begun.
                    repeated |= status != TOO_MANY;
                    Silence::Busy(status, reason(&body))
                }
                Err(silence) => {
                    repeated |= matches!(silence, Silence::Lost(_));
                    silence
                }
            };
            let goes_on = match purpose {
                // Who knocks does not wait, but asks at every door.
                Purpose::Knocking => tried < self.hosts.len(),
                Purpose::Once => silence.is_harmless() && tried < self.hosts.len(),
                Purpose::Reading | Purpose::Changing => patience.wait(),
            };
            // Another may do better, if it is only for having fewer requests.
            self.turn(turns);
            if let (Purpose::Knocking, Silence::NotTrusted(what)) = (purpose, &silence) {
                mistrusted.get_or_insert_with(|| (server.to_owned(), what.clone()));
            }
            if goes_on {
                continue;
            }
            if let Some((server, what)) = mistrusted {
                return Err(StoreError::Refused { server, what });
            }
            let server = server.to_owned();
            return Err(match (purpose, silence) {
                (Purpose::Knocking, Silence::Lost(why)) => {
                    let why = format!("{why}; {}", other_scheme(&server));
                    StoreError::Unreachable { server, why }
                }
                (Purpose::Changing, silence) if repeated => {
                    StoreError::Uncertain { server, why: silence.why() }
                }
                (_, silence) => StoreError::Unreachable { server, why: silence.why() },
            });
        }
        Err(StoreError::Unreachable { server: self.name(), why: "it was asked very often".into() })
    }

    /// Which host is asked now, for [`Self::try_next`].
    pub(crate) fn turns(&self) -> usize {
        self.turns.load(Ordering::Relaxed)
    }

    /// Leaves the host that gave half an answer for the next, and waits a while; false if there is no time left for it.
    pub(crate) fn try_next(&self, turns: usize, patience: &mut Patience) -> bool {
        self.turn(turns);
        patience.wait()
    }

    /// Goes on with the next host, unless somebody else has done so since.
    fn turn(&self, turns: usize) {
        let next = turns.wrapping_add(1);
        _ = self.turns.compare_exchange(turns, next, Ordering::Relaxed, Ordering::Relaxed);
    }

    fn send(
        &self,
        server: &str,
        method: &Method,
        path: &str,
        body: Body<'_>,
    ) -> Result<(u16, Value), Silence> {
        let mut request = Request::builder().method(method).uri(format!("{server}{path}"));
        if let Some(authorization) = &self.authorization {
            request = request.header("authorization", authorization);
        }
        let (kind, bytes) = match body {
            Body::None => (None, Vec::new()),
            Body::Json(value) => (Some("application/json"), value.to_string().into_bytes()),
            Body::Lines(lines) => (Some("application/x-ndjson"), lines.to_vec()),
        };
        let sent = match kind {
            Some(kind) => request
                .header("content-type", kind)
                .body(bytes)
                .map_err(Error::from)
                .and_then(|request| self.agent.run(request)),
            None => request.body(()).map_err(Error::from).and_then(|request| self.agent.run(request)),
        };
        let mut response = sent.map_err(|error| silence(&error))?;
        let bytes = response.body_mut().with_config().limit(u64::MAX).read_to_vec();
        let bytes = bytes.map_err(|error| Silence::Lost(error.to_string()))?;
        let status = response.status().as_u16();
        // What is no JSON is shown by its beginning, should it matter.
        let body = serde_json::from_slice(&bytes).unwrap_or_else(|_| {
            Value::String(String::from_utf8_lossy(&bytes[..bytes.len().min(200)]).into_owned())
        });
        Ok((status, body))
    }

    /// An error for an answer that is not what was asked for.
    pub(crate) fn refusal(&self, status: u16, body: &Value) -> Trouble {
        let (server, kind, reason) = (self.name(), kind(body), reason(body));
        if kind == "index_not_found_exception" || kind == "alias_not_found_exception" {
            return Trouble::Gone;
        }
        let what = match status {
            401 => {
                "it wants another user or password: give them in the address, as user:password@ or api_key="
                    .into()
            }
            _ if is_full(body) => {
                format!("it takes no more because its disk is nearly full: make room there ({reason})")
            }
            403 if kind.ends_with("block_exception") => {
                format!(
                    "it takes no changes, perhaps because its disk is nearly full: lift the block ({reason})"
                )
            }
            403 => {
                format!(
                    "this user may not do that: give it all rights on the indices of the prefix ({reason})"
                )
            }
            413 => format!("a request is too long for it: raise its http.max_content_length ({reason})"),
            _ => format!("it answered {status}: {reason}"),
        };
        Trouble::Store(StoreError::Refused { server, what })
    }

    /// An error for an answer that makes no sense.
    pub(crate) fn foreign(&self, what: impl Into<String>) -> StoreError {
        StoreError::Foreign { server: self.name(), what: what.into() }
    }
}

/// What to try with a server that takes a connection and then says nothing that makes sense.
fn other_scheme(server: &str) -> &'static str {
    match server.starts_with("https") {
        true => "if it speaks without TLS, begin the address with opensearch+http://",
        false => "if it wants TLS, begin the address with opensearch+https://",
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Server({:?})", self.hosts)
    }
}

fn trusted(path: &str) -> Result<RootCerts, StoreError> {
    let wrong = |what: String| StoreError::Address { address: path.to_owned(), what };
    let pem =
        std::fs::read(path).map_err(|error| wrong(format!("the certificates cannot be read: {error}")))?;
    let certificate = |item| match item {
        Ok(PemItem::Certificate(certificate)) => Some(certificate),
        _ => None,
    };
    let certificates: Vec<Certificate<'static>> =
        ureq::tls::parse_pem(&pem).filter_map(certificate).collect();
    match certificates.is_empty() {
        true => Err(wrong("there is no certificate in it: give a file in the PEM format".into())),
        false => Ok(RootCerts::new_with_certs(&certificates)),
    }
}

fn silence(error: &Error) -> Silence {
    use std::io::ErrorKind;
    let not_sent = match error {
        Error::Timeout(Timeout::Connect | Timeout::Resolve)
        | Error::HostNotFound
        | Error::ConnectionFailed => true,
        Error::Io(error) => error.kind() == ErrorKind::ConnectionRefused,
        _ => false,
    };
    let why = error.to_string();
    match mistrust(&why) {
        Some(what) => Silence::NotTrusted(what),
        None if not_sent => Silence::NotSent(why),
        None => Silence::Lost(why),
    }
}

/// Whether it is worth asking again.
pub(crate) fn is_busy(status: u16, body: &Value) -> bool {
    matches!(status, TOO_MANY | 502 | 503 | 504) && !is_full(body)
}

/// Whether it is worth asking again, where a part of an answer has only the kind of an error: what it is about is being made,
/// is on its way from one node to another, or was on a node that is gone.
pub(crate) fn is_passing(body: &Value) -> bool {
    matches!(
        kind(body),
        "no_shard_available_action_exception"
            | "unavailable_shards_exception"
            | "illegal_index_shard_state_exception"
            | "shard_not_found_exception"
            | "node_not_connected_exception"
            | "node_disconnected_exception"
            | "node_closed_exception"
            | "receive_timeout_transport_exception"
            | "es_rejected_execution_exception"
            | "rejected_execution_exception"
            | "circuit_breaking_exception"
    )
}

/// Whether it is the disk that is full.
pub(crate) fn is_full(body: &Value) -> bool {
    let reason = reason(body);
    reason.contains("flood-stage") || reason.contains("read-only / allow delete")
}

/// The kind of an error.
pub(crate) fn kind(body: &Value) -> &str {
    body["error"]["type"].as_str().unwrap_or_default()
}

/// What an error says.
pub(crate) fn reason(body: &Value) -> String {
    let said = body["error"]["reason"].as_str().or(body["error"].as_str()).or(body.as_str());
    let cause =
        body["error"]["caused_by"]["reason"].as_str().or(body["error"]["root_cause"][0]["reason"].as_str());
    match (said, cause) {
        (Some(said), Some(cause)) if said != cause => format!("{said}: {cause}"),
        (Some(said), _) => said.to_owned(),
        (None, _) => body.to_string().chars().take(200).collect(),
    }
}
