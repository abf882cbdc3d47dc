//! Requests and answers that get lost on the way, and requests that servers repeat among themselves: what is answered is true,
//! or the answer says that nobody knows.

use super::subject::{clear, new_address, open};
use leitong_store::opensearch::{Fault, OpenSearch, Options};
use leitong_store::{Added, Addition, Collection, Policy, Record, Store, StoreError, Want};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

/// What a request may take until it reaches a server.
const LONGEST: Duration = Duration::from_secs(120);

const NAME: &str = "lost";

/// What happens to one request.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// It never arrives.
    Lost,
    /// Its answer does not.
    Unanswered,
    /// It is made twice, and only the second answer arrives: so does a server whose neighbour is lost.
    Twice,
    /// The same, and then nobody is there any more.
    TwiceAndGone,
    /// It arrives when something else has happened.
    Late,
}

/// The first request with these words meets its fate; meanwhile something else happens, before anybody asks again.
struct Plan {
    words: &'static str,
    fate: Fate,
    meanwhile: Box<dyn FnOnce() + Send>,
}

/// A way to the server that things get lost on.
#[derive(Clone)]
struct Way {
    server: SocketAddr,
    plan: Arc<Mutex<Option<Plan>>>,
    is_gone: Arc<Mutex<bool>>,
}

impl Way {
    /// Its own address.
    fn to(server: &str) -> (Self, SocketAddr) {
        let server = server.trim_start_matches("http://").parse().unwrap();
        let way = Self { server, plan: Arc::default(), is_gone: Arc::default() };
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (own, address) = (way.clone(), listener.local_addr().unwrap());
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let own = own.clone();
                std::thread::spawn(move || own.carry(stream));
            }
        });
        (way, address)
    }

    /// Carries one request and its answer.
    fn carry(&self, mut stream: TcpStream) -> Option<()> {
        let request = read_request(&mut stream)?;
        if *self.is_gone.lock().unwrap() {
            return None;
        }
        let mut plan = self.plan.lock().unwrap();
        let matches = |plan: &Plan| String::from_utf8_lossy(&request).contains(plan.words);
        let met = if plan.as_ref().is_some_and(matches) { plan.take() } else { None };
        drop(plan);
        let Some(Plan { fate, meanwhile, .. }) = met else {
            return stream.write_all(&self.ask(&request)?).ok();
        };
        if !matches!(fate, Fate::Lost | Fate::Late) {
            self.ask(&request)?;
        }
        meanwhile();
        if fate == Fate::Late {
            return stream.write_all(&self.ask(&request)?).ok();
        }
        if matches!(fate, Fate::Twice | Fate::TwiceAndGone) {
            let answer = self.ask(&request)?;
            *self.is_gone.lock().unwrap() = fate == Fate::TwiceAndGone;
            stream.write_all(&answer).ok()?;
        }
        Some(())
    }

    fn plan(&self, words: &'static str, fate: Fate, meanwhile: impl FnOnce() + Send + 'static) {
        *self.plan.lock().unwrap() = Some(Plan { words, fate, meanwhile: Box::new(meanwhile) });
    }

    fn come_back(&self) {
        *self.is_gone.lock().unwrap() = false;
    }

    fn ask(&self, request: &[u8]) -> Option<Vec<u8>> {
        let mut server = TcpStream::connect(self.server).ok()?;
        // The server ends the connection behind its answer, and says so: the client does not use it again either.
        let line = request.windows(2).position(|two| two == b"\r\n")? + 2;
        server.write_all(&[&request[..line], b"connection: close\r\n", &request[line..]].concat()).ok()?;
        let mut answer = Vec::new();
        server.read_to_end(&mut answer).ok()?;
        Some(answer)
    }
}

/// Head and body.
fn read_request(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let (mut request, mut part) = (Vec::new(), [0; 4096]);
    loop {
        let head = request.windows(4).position(|four| four == b"\r\n\r\n").map(|end| end + 4);
        if let Some(head) = head {
            let text = String::from_utf8_lossy(&request[..head]).to_lowercase();
            let length =
                text.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok());
            if request.len() >= head + length.unwrap_or(0) {
                return Some(request);
            }
        }
        let read = stream.read(&mut part).ok().filter(|read| *read > 0)?;
        request.extend_from_slice(&part[..read]);
    }
}

/// A server, a store that is not disturbed, and one that is.
struct Stage {
    address: String,
    way: Way,
    calm: Arc<OpenSearch>,
    disturbed: OpenSearch,
}

impl Stage {
    fn new(url: &str) -> Self {
        let address = new_address(url);
        let (way, own) = Way::to(url);
        let disturbed = address.replace(url.trim_start_matches("http://"), &own.to_string());
        let calm = Arc::new(open(&address));
        let collection =
            Collection { name: NAME.into(), recipe: [1; 16], about: String::new(), spaces: Vec::new() };
        calm.create(&collection).unwrap();
        // One of the requests is never answered, and is waited for so long.
        Self { address, way, calm, disturbed: open(&format!("{disturbed}&timeout_ms=10000")) }
    }

    /// The version under an id.
    fn version(&self, id: &str) -> Option<u64> {
        self.calm.get(NAME, &[id], Want::Record).unwrap().remove(0).map(|stored| stored.version)
    }

    fn put(&self, id: &str) -> u64 {
        put(&self.calm, id).unwrap()
    }

    /// Whether what was planned has come to pass.
    fn is_over(&self) -> bool {
        self.way.plan.lock().unwrap().is_none()
    }
}

/// Removes a record by way of a server that repeats the removal, as it does when it loses its neighbour: between the two the
/// harm is done. It is an error if it did not come to that.
pub(crate) fn removed_twice(
    (address, server): (&str, &str),
    (name, id): (&str, &str),
    harm: impl FnOnce(),
) -> Result<Vec<Option<u64>>, String> {
    let (way, own) = Way::to(server);
    let store = OpenSearch::open(&address.replace(server, &own.to_string()), Options::default());
    let store = store.map_err(|error| error.to_string())?;
    let (removed, met) = with_harm(&way, (REMOVING, Fate::Twice), harm, || store.remove(name, &[id]));
    let removed = removed.map_err(|error| error.to_string())?;
    if met { Ok(removed) } else { Err(format!("{removed:?}, but it was not repeated")) }
}

/// Does work that goes through pages by way of a server; before the second page is asked for the harm is done. And whether it
/// came to that.
pub(crate) fn between_pages<T: Send>(
    server: &str,
    harm: impl FnOnce(),
    work: impl FnOnce(&str) -> T + Send,
) -> (T, bool) {
    let (way, own) = Way::to(server);
    with_harm(&way, ("POST /_search/scroll", Fate::Late), harm, || work(&format!("opensearch+http://{own}")))
}

/// Does work that sends something with these words, and harm when that meets its fate; whether it did.
fn with_harm<T: Send>(
    way: &Way,
    (words, fate): (&'static str, Fate),
    harm: impl FnOnce(),
    work: impl FnOnce() -> T + Send,
) -> (T, bool) {
    let ((begun, has_begun), (harmed, is_harmed)) = (mpsc::channel(), mpsc::channel());
    way.plan(words, fate, move || {
        begun.send(()).unwrap();
        is_harmed.recv().unwrap();
    });
    std::thread::scope(|scope| {
        let working = scope.spawn(work);
        // Should it fail before it gets there, that is to be said and not to be waited for.
        let mut met = has_begun.recv_timeout(LONGEST).is_ok();
        harm();
        met &= harmed.send(()).is_ok();
        (working.join().unwrap(), met)
    })
}

fn addition(id: &str, policy: Policy) -> Addition {
    Addition::new(Record { id: id.into(), ..Record::default() }, policy)
}

/// The version it is stored with.
fn put(store: &OpenSearch, id: &str) -> Result<u64, StoreError> {
    let added = store.add(NAME, vec![addition(id, Policy::Replace)])?.remove(0);
    let Added::Stored { version, .. } = added else { panic!("{added:?}") };
    Ok(version)
}

/// What is sent when a record is removed, and when it is stored.
const REMOVING: &str = r#"{"delete":"#;
const STORING: &str = r#""record":"#;

pub(crate) fn on_the_way(url: &str) {
    let stage = Stage::new(url);
    removals(&stage);
    additions(&stage);
    clear(url, &stage.address, &*stage.calm);
}

fn removals(stage: &Stage) {
    for fate in [Fate::Lost, Fate::Unanswered] {
        let version = stage.put("plain");
        stage.way.plan(REMOVING, fate, || {});
        assert_eq!(stage.disturbed.remove(NAME, &["plain"]).unwrap(), [Some(version)]);
        assert!(stage.is_over() && stage.version("plain").is_none());
    }
    let version = stage.put("gone");
    stage.way.plan(REMOVING, Fate::TwiceAndGone, || {});
    let removed = stage.disturbed.remove(NAME, &["gone"]);
    assert!(matches!(removed, Err(StoreError::Uncertain { .. })), "{version} is removed: {removed:?}");
    assert!(stage.is_over() && stage.version("gone").is_none());
    stage.way.come_back();
    // Meanwhile another wants to replace it: the document is changed, but the record is there still.
    let version = stage.put("wanted");
    let mut options = Options::default();
    options.fault = Fault::new(|step| step == "announced");
    let stopping = OpenSearch::open(&stage.address, options).unwrap();
    stage.way.plan(REMOVING, Fate::Lost, move || assert!(put(&stopping, "wanted").is_err()));
    assert_eq!(stage.disturbed.remove(NAME, &["wanted"]).unwrap(), [Some(version)]);
    assert!(stage.is_over());
    assert_eq!(stage.version("wanted"), None, "what was answered to be removed is there");
    // Meanwhile another stores it anew: who knows what was removed before.
    stage.put("anew");
    let calm = Arc::clone(&stage.calm);
    stage.way.plan(REMOVING, Fate::Unanswered, move || assert!(put(&calm, "anew").is_ok()));
    let removed = stage.disturbed.remove(NAME, &["anew"]);
    assert!(matches!(removed, Err(StoreError::Uncertain { .. })), "{removed:?}");
    assert!(stage.is_over() && stage.version("anew").is_some(), "the later one stays");
}

fn additions(stage: &Stage) {
    for (number, fate) in [Fate::Lost, Fate::Unanswered, Fate::Twice].into_iter().enumerate() {
        for policy in [Policy::Replace, Policy::New] {
            let id = format!("{number} {policy:?}");
            stage.way.plan(STORING, fate, || {});
            let added = stage.disturbed.add(NAME, vec![addition(&id, policy)]).unwrap().remove(0);
            let Added::Stored { version, replaced: None } = added else { panic!("{id}: {added:?}") };
            assert!(stage.is_over());
            assert_eq!(stage.version(&id), Some(version), "{id}");
        }
    }
    stage.way.plan(STORING, Fate::TwiceAndGone, || {});
    let added = stage.disturbed.add(NAME, vec![addition("gone", Policy::Replace)]);
    assert!(matches!(added, Err(StoreError::Uncertain { .. })), "it is stored: {added:?}");
    assert!(stage.is_over() && stage.version("gone").is_some());
}
