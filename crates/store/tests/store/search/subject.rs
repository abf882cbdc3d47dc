//! A server, and stores in it that have nothing to do with each other.

use crate::conformance::{SCORING, Subject};
use crate::servers::{Kind, Search};
use leitong_store::opensearch::{OpenSearch, Options};
use leitong_store::{Clock, Scoring, Store};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// One server at a time: each needs half a gigabyte, and they would only be slower together.
static ONE: Mutex<()> = Mutex::new(());
/// Numbers for prefixes.
static PREFIXES: AtomicU32 = AtomicU32::new(0);

/// Nobody else starts a server while this is held.
pub(crate) fn one_at_a_time() -> MutexGuard<'static, ()> {
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Does something with a running server. `LEITONG_SEARCH` may be the address of one that runs already.
pub(crate) fn with_server(kind: Kind, work: impl FnOnce(&str)) {
    let _one = one_at_a_time();
    if let Ok(running) = std::env::var("LEITONG_SEARCH") {
        return work(&running);
    }
    match start(kind, 1) {
        Some(server) => {
            work(&server.url());
        }
        None => skipped(kind),
    }
}

/// Starts nodes of a server, but not in an everyday run: that takes minutes.
pub(crate) fn start(kind: Kind, nodes: usize) -> Option<Search> {
    let everyday = std::env::var_os("LEITONG_QUICK").is_some();
    if everyday { None } else { Search::start_cluster(kind, nodes) }
}

#[expect(clippy::print_stdout, reason = "a test that was not made must not look as if it was")]
pub(crate) fn skipped(kind: Kind) {
    println!(
        "skipped: {} (not installed, or an everyday run: cargo xtask servers, cargo xtask test)",
        kind.name()
    );
}

/// A request past the store; its answer, whatever it is.
pub(crate) fn put(url: &str, path: &str, body: &str) -> String {
    let request = ureq::put(format!("{url}/{path}")).header("content-type", "application/json");
    let response = request.config().http_status_as_error(false).build().send(body);
    response.unwrap().body_mut().read_to_string().unwrap()
}

/// The same with POST.
pub(crate) fn post(url: &str, path: &str, body: &str) -> String {
    let request = ureq::post(format!("{url}/{path}")).header("content-type", "application/json");
    let response = request.config().http_status_as_error(false).build().send(body);
    response.unwrap().body_mut().read_to_string().unwrap()
}

/// The same with another method and no body.
pub(crate) fn call(method: &str, url: &str, path: &str) -> String {
    let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
    let request =
        ureq::http::Request::builder().method(method).uri(format!("{url}/{path}")).body(()).unwrap();
    agent.run(request).unwrap().body_mut().read_to_string().unwrap()
}

/// Merges segments. Later versions of Elasticsearch do not where the disk is nearly full, and who asks for it waits for ever.
fn merge(url: &str) {
    let config = ureq::Agent::config_builder().timeout_global(Some(Duration::from_secs(5)));
    let agent: ureq::Agent = config.build().into();
    _ = agent.post(format!("{url}/_forcemerge?max_num_segments=1")).send_empty();
}

/// A prefix that nothing else has.
pub(crate) fn new_prefix() -> String {
    format!("t{}-{}", std::process::id(), PREFIXES.fetch_add(1, Ordering::Relaxed))
}

/// An address with a new prefix and a short lease.
pub(crate) fn new_address(url: &str) -> String {
    format!("opensearch+{url}/{}?lease_ms=1000", new_prefix())
}

pub(crate) fn open(address: &str) -> OpenSearch {
    OpenSearch::open(address, Options::default()).unwrap()
}

pub(crate) fn options(clock: Clock, scoring: Scoring) -> Options {
    let mut options = Options::default();
    (options.clock, options.scoring) = (clock, scoring);
    options
}

/// Takes away everything below a prefix.
pub(crate) fn clear(url: &str, address: &str, store: &dyn Store) {
    for collection in store.collections().unwrap_or_default() {
        _ = store.destroy(&collection.name);
    }
    let prefix = address.rsplit('/').next().and_then(|rest| rest.split('?').next()).unwrap_or_default();
    call("DELETE", url, &format!("{prefix}-collections-documents"));
    call("DELETE", url, &format!("_index_template/{prefix}"));
}

/// A store of its own, for one test.
pub(crate) fn with_new(url: &str, test: impl FnOnce(&dyn Store)) {
    let address = new_address(url);
    let store = open(&address);
    test(&store);
    clear(url, &address, &store);
}

/// Two clients of one store, used in turn.
pub(crate) struct Clients {
    url: String,
    address: String,
    clock: Clock,
    clients: [OpenSearch; 2],
}

impl Clients {
    pub(crate) fn new(url: &str, clock: Clock) -> Self {
        let address = new_address(url);
        let open = || OpenSearch::open(&address, options(clock.clone(), SCORING)).unwrap();
        let clients = [open(), open()];
        Self { url: url.into(), address, clock, clients }
    }
}

impl Subject for Clients {
    fn store(&self) -> &dyn Store {
        &self.clients[0]
    }

    fn reopen(&mut self) {
        self.clients[0] = OpenSearch::open(&self.address, options(self.clock.clone(), SCORING)).unwrap();
    }

    fn maintain(&mut self, how: u8) {
        match how % 4 {
            0 => drop(call("POST", &self.url, "_flush")),
            1 => merge(&self.url),
            // The other may know collections that are gone, and not know those that are new.
            _ => self.clients.reverse(),
        }
    }
}

impl Drop for Clients {
    fn drop(&mut self) {
        clear(&self.url, &self.address, &self.clients[0]);
    }
}
