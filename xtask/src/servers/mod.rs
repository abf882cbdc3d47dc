//! Real servers for tests: on loopback, on free ports, each in its own folder, and gone with whoever started them.
//!
//! `install` gets what is missing, from Debian's packages and from Maven Central; starting installs nothing, so that a plain
//! `cargo test` never downloads. What is not there is `None`: the test says that it is skipped.

mod install;
mod java;
mod process;
mod redis;
mod search;
mod secured;

pub use install::{install_browser, install_redis, install_search, install_security};
pub use redis::{Redis, RedisCluster};
pub use search::{Kind, Search};
pub use secured::{SecuredSearch, has_openssl};

use std::hash::{BuildHasher, RandomState};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Where downloaded servers are.
fn home() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).join("target/servers")
}

/// Where servers listen: below the ports that the system gives to connections, for one of these may take a port that was free
/// when it was looked up, before a server that takes half a minute to start gets there.
const PORTS: std::ops::Range<u32> = 10_000..32_000;

/// Ports that nobody uses, all different, and not those of the last call: others are just about to use them.
///
/// # Errors
/// If there are not so many.
pub fn free_ports(number: usize) -> std::io::Result<Vec<u16>> {
    static NEXT: LazyLock<AtomicU32> =
        LazyLock::new(|| AtomicU32::new(RandomState::new().hash_one(()) as u32));
    let candidates = PORTS.map(|_| PORTS.start + NEXT.fetch_add(1, Relaxed) % PORTS.len() as u32);
    let free = candidates.filter_map(|port| {
        let port = u16::try_from(port).ok()?;
        TcpListener::bind(("127.0.0.1", port)).is_ok().then_some(port)
    });
    let ports: Vec<u16> = free.take(number).collect();
    if ports.len() == number { Ok(ports) } else { Err(std::io::Error::other("all ports are in use")) }
}

/// Whether a program can be started by its name.
fn is_on_path(program: &str) -> bool {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&folders).any(|folder| folder.join(program).is_file())
}
