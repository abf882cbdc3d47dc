//! One server and the connections to it.

use super::address::Address;
use super::{scripts, trouble};
use redis::{Client, Connection, ConnectionLike, RedisError, RedisResult, ServerError};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A connection that was not used for so long is asked whether it still works before something is changed with it.
const DOUBTFUL: Duration = Duration::from_millis(500);

/// Between two tries to connect to a server that is starting.
const STARTING: Duration = Duration::from_millis(20);

/// A server.
pub(crate) struct Node {
    /// Host and port.
    pub(crate) name: String,
    client: Result<Client, RedisError>,
    timeout: Duration,
    /// How long an answer may take: longer, where replicas are waited for.
    answer: Duration,
    idle: Mutex<Vec<(Connection, Instant)>>,
}

impl Node {
    pub(crate) fn new(address: &Address, host: &str, port: u16) -> Self {
        let client = address.client(host, port);
        let Address { timeout, wait, wait_for, .. } = *address;
        let answer = if wait > 0 { timeout + wait_for } else { timeout };
        Self { name: format!("{host}:{port}"), client, timeout, answer, idle: Mutex::default() }
    }

    /// A connection, which is given back if all went well. One that must not fail without a reason is looked at before.
    pub(crate) fn take(&self, with_care: bool) -> RedisResult<Connection> {
        // The guard must not live on while a connection is made.
        let idle = || self.idle().pop();
        while let Some((mut connection, since)) = idle() {
            if !with_care || since.elapsed() < DOUBTFUL || connection.check_connection() {
                return Ok(connection);
            }
        }
        self.connect()
    }

    /// A new connection; to a server that is only just starting, as soon as it can be had.
    fn connect(&self) -> RedisResult<Connection> {
        let start = Instant::now();
        loop {
            match self.connect_now() {
                Err(error) if is_starting(&error) && start.elapsed() < self.timeout => {
                    std::thread::sleep(STARTING);
                }
                result => return result,
            }
        }
    }

    fn connect_now(&self) -> RedisResult<Connection> {
        let mut connection =
            self.client.as_ref().map_err(Clone::clone)?.get_connection_with_timeout(self.timeout)?;
        connection.set_read_timeout(Some(self.answer))?;
        connection.set_write_timeout(Some(self.timeout))?;
        scripts::load(&mut connection)?;
        Ok(connection)
    }

    pub(crate) fn give_back(&self, connection: Connection) {
        self.idle().push((connection, Instant::now()));
    }

    /// The others are probably as dead as one that was.
    pub(crate) fn forget_idle(&self) {
        self.idle().clear();
    }

    fn idle(&self) -> MutexGuard<'_, Vec<(Connection, Instant)>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a server that refuses a connection may take it later.
pub(crate) fn is_starting(error: &RedisError) -> bool {
    ServerError::try_from(error.clone()).is_ok_and(|error| trouble::is_passing(&error))
}

impl std::fmt::Debug for Node {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name)
    }
}
