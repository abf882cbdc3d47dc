//! Reading page by page: the keys of servers, the members of a set.
//!
//! The cursor of a page means nothing to another process, and a key that moves from a server that is still to be asked to one
//! that has been asked is never seen. Whoever has to see everything therefore looks at who holds what, before and after.

use super::command::{Command, Reader};
use super::servers::{Map, Servers};
use super::stats::info;
use crate::StoreError;
use redis::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Keys that are asked for at a time.
const PAGE: &str = "1000";

/// Which processes hold which slots.
#[derive(Debug)]
pub(crate) struct Holders {
    map: Arc<Map>,
    /// The process behind each address.
    processes: BTreeMap<String, String>,
}

impl Holders {
    pub(crate) fn now(servers: &Servers) -> Result<Self, StoreError> {
        servers.find_masters();
        let (map, mut processes) = (servers.map(), BTreeMap::new());
        for node in &map.nodes {
            let process = info(servers, node)?.remove("run_id").unwrap_or_default();
            processes.insert(node.name.clone(), process);
        }
        Ok(Self { map, processes })
    }

    /// Whether nothing has changed since.
    pub(crate) fn are_still(&self, servers: &Servers) -> Result<bool, StoreError> {
        let now = Self::now(servers)?;
        Ok(self.processes == now.processes && self.map.is_like(&now.map))
    }

    /// It is an error if something has.
    pub(crate) fn must_be_still(&self, servers: &Servers) -> Result<(), StoreError> {
        if self.are_still(servers)? {
            return Ok(());
        }
        let what = "it was started again, or keys were moved, while they were gone through, and some may have been missed: \
                    do it again";
        Err(StoreError::Refused { server: servers.address.shown.clone(), what: what.into() })
    }
}

/// Calls `each` with all keys that match, some at a time, and maybe more than once.
pub(crate) fn each_key(
    servers: &Servers,
    pattern: &[u8],
    each: &mut dyn FnMut(Vec<Vec<u8>>) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    for node in servers.masters() {
        let scan = |cursor: &[u8]| {
            let scan: [&[u8]; 6] = [b"SCAN", cursor, b"MATCH", pattern, b"COUNT", PAGE.as_bytes()];
            servers.ask_at(&node, Command::read(&scan))
        };
        each_page(servers.reader(), &scan, each)?;
    }
    Ok(())
}

/// Calls `each` with all that is told page by page, where `ask` asks for the page that a cursor stands for.
pub(crate) fn each_page<E: From<StoreError>>(
    reader: Reader<'_>,
    ask: &dyn Fn(&[u8]) -> Result<Value, StoreError>,
    each: &mut dyn FnMut(Vec<Vec<u8>>) -> Result<(), E>,
) -> Result<(), E> {
    let mut cursor = b"0".to_vec();
    loop {
        let mut answer = reader.list(ask(&cursor)?)?.into_iter();
        cursor = reader.bytes(answer.next().unwrap_or_default())?.unwrap_or_else(|| b"0".to_vec());
        let items = reader.strings(answer.next().unwrap_or_default())?;
        let items: Vec<Vec<u8>> = items.into_iter().flatten().collect();
        if !items.is_empty() {
            each(items)?;
        }
        if cursor == b"0" {
            return Ok(());
        }
    }
}
