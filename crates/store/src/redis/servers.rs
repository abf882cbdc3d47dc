//! All servers of an address: one, or the masters of a cluster. Commands go to whoever has their keys, all at once, and go
//! again where that is safe.

mod map;

use super::address::Address;
use super::command::{Command, Effect, Reader};
use super::node::{Node, is_starting};
use super::{scripts, trouble};
use crate::StoreError;
pub(crate) use map::Map;
use redis::{Connection, RedisError, RedisResult, ServerError, Value};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

/// Between two tries, at first and at most.
const FIRST_PAUSE: Duration = Duration::from_millis(2);
const LONGEST_PAUSE: Duration = Duration::from_millis(250);
/// Commands that are sent before an answer is read: servers keep answers until then.
const TOGETHER: usize = 1 << 14;
/// Until another server has taken the place of one that is gone, a cluster takes some multiple of what an answer may take.
const FAILOVER: u32 = 4;

pub(crate) struct Servers {
    pub(crate) address: Address,
    map: RwLock<Arc<Map>>,
    /// How many commands may still be sent, in a test.
    left: Option<Arc<AtomicUsize>>,
}

/// A command that has not been answered yet.
struct Errand {
    /// Which.
    at: usize,
    /// The server it is for, if not the one that has its slot.
    to: Option<Arc<Node>>,
    /// Whether that server is only just getting the slot.
    asking: bool,
}

impl Errand {
    fn new(at: usize) -> Self {
        Self { at, to: None, asking: false }
    }

    /// After a server could not be reached, those that were sent there by another go back to the map.
    fn again(self) -> Self {
        if self.asking { Self::new(self.at) } else { self }
    }
}

/// Errands that go to one server together.
struct Trip {
    node: Arc<Node>,
    errands: Vec<Errand>,
}

/// Why errands are left.
#[derive(Default)]
struct Leftover {
    errands: Vec<Errand>,
    why: Option<StoreError>,
    /// Those that may have been done all the same.
    doubtful: Vec<usize>,
    /// Whether the map of the cluster may be wrong.
    lost: bool,
    /// Whether it is of no use to ask again at once.
    pause: bool,
}

impl Servers {
    /// Connects to one of the servers at least.
    pub(crate) fn open(address: Address) -> Result<Self, StoreError> {
        let map = RwLock::new(Arc::new(Map::load(&address)?));
        Ok(Self { address, map, left: None })
    }

    /// The same, for so many more commands.
    pub(crate) fn for_so_many(self, left: Option<Arc<AtomicUsize>>) -> Self {
        Self { left, ..self }
    }

    pub(crate) fn reader(&self) -> Reader<'_> {
        Reader { server: &self.address.shown }
    }

    /// Every server that holds keys.
    pub(crate) fn masters(&self) -> Vec<Arc<Node>> {
        self.map().nodes.clone()
    }

    /// Who has which slot, as far as is known.
    pub(crate) fn map(&self) -> Arc<Map> {
        Arc::clone(&self.map.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The answers to commands, in order. Those of one server are done in order, as long as none has to be sent again.
    pub(crate) fn ask(&self, commands: &[Command]) -> Result<Vec<Value>, StoreError> {
        Ok(self.ask_noting(commands)?.into_iter().map(|(answer, _)| answer).collect())
    }

    /// The same, and whether each may have been done more than once.
    pub(crate) fn ask_noting(&self, commands: &[Command]) -> Result<Vec<(Value, bool)>, StoreError> {
        let allowed = self.allowed(commands.len());
        let mut answers = Vec::with_capacity(allowed);
        for part in commands[..allowed].chunks(TOGETHER) {
            let everything = (0..part.len()).map(Errand::new).collect();
            answers.extend(self.until_answered(part, everything)?);
        }
        if allowed < commands.len() {
            let (server, why) = (self.address.shown.clone(), "stopped for a test".to_owned());
            return Err(StoreError::Uncertain { server, why });
        }
        Ok(answers)
    }

    /// How many of so many commands may be sent: tests let a client die between any two.
    fn allowed(&self, number: usize) -> usize {
        let Some(left) = &self.left else { return number };
        let before =
            left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| Some(left.saturating_sub(number)));
        before.unwrap_or_default().min(number)
    }

    /// The answer to a single command.
    pub(crate) fn ask_one(&self, command: Command) -> Result<Value, StoreError> {
        Ok(self.ask(&[command])?.pop().unwrap_or_default())
    }

    /// The answer of a certain server.
    pub(crate) fn ask_at(&self, node: &Arc<Node>, command: Command) -> Result<Value, StoreError> {
        let errand = Errand { to: Some(Arc::clone(node)), ..Errand::new(0) };
        let answers = self.until_answered(&[command], vec![errand])?;
        Ok(answers.into_iter().next().unwrap_or_default().0)
    }

    fn until_answered(
        &self,
        commands: &[Command],
        mut left: Vec<Errand>,
    ) -> Result<Vec<(Value, bool)>, StoreError> {
        let patience = self.address.timeout * if self.address.cluster { FAILOVER } else { 1 };
        let (start, mut pause) = (Instant::now(), FIRST_PAUSE);
        let mut answers = vec![(Value::Nil, false); commands.len()];
        while !left.is_empty() {
            let leftover = self.round(commands, left, &mut answers)?;
            leftover.doubtful.iter().for_each(|&at| answers[at].1 = true);
            left = leftover.errands;
            let Some(why) = leftover.why.filter(|_| !left.is_empty()) else { continue };
            if start.elapsed() >= patience {
                return Err(why);
            }
            if leftover.pause {
                std::thread::sleep(pause);
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
            if leftover.lost {
                self.find_masters();
            }
        }
        Ok(answers)
    }

    /// Asks who has which slot. Whoever does not get an answer goes on with what was known.
    pub(crate) fn find_masters(&self) {
        let (address, known) = (&self.address, self.map());
        if let Some(map) = address.cluster.then(|| known.again(address)).flatten() {
            *self.map.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(map);
        }
    }

    /// Sends every errand once: all servers work at the same time.
    fn round(
        &self,
        commands: &[Command],
        errands: Vec<Errand>,
        answers: &mut [(Value, bool)],
    ) -> Result<Leftover, StoreError> {
        let mut leftover = Leftover::default();
        let mut sent = Vec::new();
        for trip in self.trips(commands, errands) {
            let careful = trip.errands.iter().any(|errand| commands[errand.at].effect == Effect::Once);
            let connection = match trip.node.take(careful) {
                Ok(connection) => connection,
                // Nothing was sent, so everything may be tried again.
                Err(error) => {
                    leftover.unreached(&trip.node, &error, trip.errands)?;
                    continue;
                }
            };
            sent.push(self.send(commands, trip, connection));
        }
        for (trip, connection) in sent {
            self.receive(commands, trip, connection, answers, &mut leftover)?;
        }
        Ok(leftover)
    }

    fn trips(&self, commands: &[Command], errands: Vec<Errand>) -> Vec<Trip> {
        let map = self.map();
        let mut trips: Vec<Trip> = Vec::new();
        for errand in errands {
            let node = errand.to.as_ref().unwrap_or_else(|| map.node(commands[errand.at].slot));
            match trips.iter_mut().find(|trip| Arc::ptr_eq(&trip.node, node)) {
                Some(trip) => trip.errands.push(errand),
                None => trips.push(Trip { node: Arc::clone(node), errands: vec![errand] }),
            }
        }
        trips
    }

    fn send(
        &self,
        commands: &[Command],
        trip: Trip,
        mut connection: Connection,
    ) -> (Trip, RedisResult<Connection>) {
        let mut bytes = Vec::new();
        for errand in &trip.errands {
            if errand.asking {
                bytes.extend_from_slice(b"*1\r\n$6\r\nASKING\r\n");
            }
            bytes.extend_from_slice(&commands[errand.at].packed);
        }
        if self.waits(commands, &trip) {
            let (number, time) = (self.address.wait, self.address.wait_for.as_millis());
            bytes.extend_from_slice(format!("WAIT {number} {time}\r\n").as_bytes());
        }
        let sent = connection.send_packed_command(&bytes);
        (trip, sent.map(|()| connection))
    }

    /// Whether a change is only good when replicas have it.
    fn waits(&self, commands: &[Command], trip: &Trip) -> bool {
        self.address.wait > 0 && trip.errands.iter().any(|errand| commands[errand.at].effect != Effect::None)
    }

    fn receive(
        &self,
        commands: &[Command],
        trip: Trip,
        connection: RedisResult<Connection>,
        answers: &mut [(Value, bool)],
        leftover: &mut Leftover,
    ) -> Result<(), StoreError> {
        let waits = self.waits(commands, &trip);
        let Trip { node, errands } = trip;
        let mut connection = match connection {
            Ok(connection) => connection,
            Err(error) => return leftover.lost_on_the_way(commands, &node, &error, errands),
        };
        let (mut refused, mut unknown) = (None, false);
        let mut errands = errands.into_iter();
        while let Some(errand) = errands.next() {
            let answer = if errand.asking {
                connection.recv_response().and_then(|_| connection.recv_response())
            } else {
                connection.recv_response()
            };
            match answer {
                Ok(Value::ServerError(error)) if error.code() == "NOSCRIPT" => {
                    unknown = true;
                    leftover.why = Some(trouble::refused(&node.name, &error));
                    leftover.errands.push(errand);
                }
                Ok(Value::ServerError(error)) => {
                    self.refusal(&node, &error, errand, leftover)
                        .unwrap_or_else(|error| refused = Some(error));
                }
                Ok(answer) => answers[errand.at].0 = answer,
                Err(error) => {
                    let rest = std::iter::once(errand).chain(errands).collect();
                    return leftover.lost_on_the_way(commands, &node, &error, rest);
                }
            }
        }
        if waits {
            let have = connection.recv_response().map_err(|error| uncertain(&node, &error.to_string()))?;
            self.enough_replicas(&node, have)?;
        }
        if unknown {
            // It has forgotten its scripts (SCRIPT FLUSH).
            scripts::load(&mut connection).map_err(|error| trouble::unreachable(&node.name, &error))?;
        }
        node.give_back(connection);
        refused.map_or(Ok(()), Err)
    }

    fn enough_replicas(&self, node: &Node, have: Value) -> Result<(), StoreError> {
        let (have, wait) = (self.reader().number(have)?, self.address.wait);
        if have >= i64::from(wait) {
            return Ok(());
        }
        Err(uncertain(node, &format!("only {have} of {wait} replicas had the change in time")))
    }

    /// What to do with a command that a server did not do.
    fn refusal(
        &self,
        node: &Node,
        error: &ServerError,
        errand: Errand,
        leftover: &mut Leftover,
    ) -> Result<(), StoreError> {
        let why = trouble::refused(&node.name, error);
        let elsewhere = self.address.cluster && trouble::is_elsewhere(error);
        if !elsewhere && !trouble::is_passing(error) {
            return Err(why);
        }
        let to = (error.code() == "ASK").then(|| self.map().named(&self.address, error.details()?)).flatten();
        leftover.lost |= to.is_none() && self.address.cluster;
        // One that has moved is where the next look at the map says, at once.
        leftover.pause |= error.code() != "MOVED" && to.is_none();
        leftover.why = Some(why);
        leftover.errands.push(match to {
            Some(node) => Errand { at: errand.at, to: Some(node), asking: true },
            None => errand.again(),
        });
        Ok(())
    }
}

impl Leftover {
    /// A server to which no connection could be made.
    fn unreached(&mut self, node: &Node, error: &RedisError, errands: Vec<Errand>) -> Result<(), StoreError> {
        let why = trouble::unreachable(&node.name, error);
        if !matches!(why, StoreError::Unreachable { .. }) && !is_starting(error) {
            return Err(why);
        }
        self.errands.extend(errands.into_iter().map(Errand::again));
        (self.why, self.lost, self.pause) = (Some(why), true, true);
        Ok(())
    }

    /// A connection that broke before all was answered.
    fn lost_on_the_way(
        &mut self,
        commands: &[Command],
        node: &Node,
        error: &RedisError,
        errands: Vec<Errand>,
    ) -> Result<(), StoreError> {
        node.forget_idle();
        if errands.iter().any(|errand| commands[errand.at].effect == Effect::Once) {
            return Err(uncertain(node, &error.to_string()));
        }
        self.doubtful.extend(errands.iter().map(|errand| errand.at));
        self.unreached(node, error, errands)
    }
}

fn uncertain(node: &Node, why: &str) -> StoreError {
    StoreError::Uncertain { server: node.name.clone(), why: why.to_owned() }
}

impl std::fmt::Debug for Servers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} ({} masters)", self.address, self.map().nodes.len())
    }
}
