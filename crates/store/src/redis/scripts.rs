//! What servers do in one step.

use super::command::pack;
use redis::{Connection, ConnectionLike, RedisError, RedisResult, Script, Value};
use std::sync::LazyLock;

/// A script, which every server knows once a connection to it is made.
#[derive(Debug)]
pub(crate) struct Lua {
    source: &'static str,
    hashed: LazyLock<Script>,
}

impl Lua {
    /// The name under which servers know it.
    pub(crate) fn hash(&self) -> &str {
        self.hashed.get_hash()
    }
}

macro_rules! lua {
    ($($file:literal),+) => {
        Lua {
            source: concat!($(include_str!($file)),+),
            hashed: LazyLock::new(|| Script::new(concat!($(include_str!($file)),+))),
        }
    };
}

pub(crate) static ADD: Lua = lua!("lua/cut.lua", "lua/add.lua");
pub(crate) static REMOVE: Lua = lua!("lua/cut.lua", "lua/remove.lua");
pub(crate) static READ: Lua = lua!("lua/read.lua");
pub(crate) static CLOSE: Lua = lua!("lua/close.lua");
pub(crate) static DESTROY: Lua = lua!("lua/destroy.lua");
pub(crate) static CUT: Lua = lua!("lua/cut.lua", "lua/cut_one.lua");
pub(crate) static ANNOUNCE: Lua = lua!("lua/announce.lua");
pub(crate) static COMMIT: Lua = lua!("lua/commit.lua");
pub(crate) static END: Lua = lua!("lua/end.lua");
pub(crate) static BURY: Lua = lua!("lua/bury.lua");

/// Makes all scripts known to a server.
pub(crate) fn load(connection: &mut Connection) -> RedisResult<()> {
    let all = [&ADD, &REMOVE, &READ, &CLOSE, &DESTROY, &CUT, &ANNOUNCE, &COMMIT, &END, &BURY];
    let load = |script: &&Lua| pack(3, [&b"SCRIPT"[..], b"LOAD", script.source.as_bytes()].into_iter());
    let commands: Vec<u8> = all.iter().flat_map(load).collect();
    for answer in connection.req_packed_commands(&commands, 0, all.len())? {
        if let Value::ServerError(error) = answer {
            return Err(RedisError::from(error));
        }
    }
    Ok(())
}
