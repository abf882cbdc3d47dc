//! Real servers for tests: on loopback, on free ports, each in its own folder, and gone with whoever started them.
//!
//! `install` gets what is missing, from Debian's packages and from Maven Central; starting installs nothing, so that a plain
//! `cargo test` never downloads. What is not there is `None`: the test says that it is skipped.

mod install;
mod java;
mod process;
mod redis;
mod search;

pub use install::{install_browser, install_redis, install_search};
pub use redis::{Redis, RedisCluster};
pub use search::{Kind, Search};

use std::net::TcpListener;
use std::path::{Path, PathBuf};

/// Where downloaded servers are.
fn home() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).join("target/servers")
}

/// Ports that nobody listens on, all different.
fn free_ports(number: usize) -> std::io::Result<Vec<u16>> {
    let listeners: Vec<TcpListener> =
        (0..number).map(|_| TcpListener::bind(("127.0.0.1", 0))).collect::<Result<_, _>>()?;
    listeners.iter().map(|listener| Ok(listener.local_addr()?.port())).collect()
}

/// Whether a program can be started by its name.
fn is_on_path(program: &str) -> bool {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&folders).any(|folder| folder.join(program).is_file())
}
