//! Who has which slot.

use crate::StoreError;
use crate::redis::address::Address;
use crate::redis::command::Reader;
use crate::redis::node::Node;
use crate::redis::slots::SLOTS;
use crate::redis::trouble;
use redis::{ConnectionLike, Value};
use std::sync::Arc;

/// The servers that hold keys, and which slots each has.
#[derive(Debug)]
pub(crate) struct Map {
    /// One at least.
    pub(crate) nodes: Vec<Arc<Node>>,
    /// The number of a node for each slot; empty if there is one node.
    slots: Vec<u16>,
}

impl Map {
    /// Asks the servers of an address.
    pub(crate) fn load(address: &Address) -> Result<Self, StoreError> {
        let hosts = address.hosts.iter();
        let nodes: Vec<Arc<Node>> =
            hosts.map(|(host, port)| Arc::new(Node::new(address, host, *port))).collect();
        if !address.cluster {
            // Nobody waits for a server that is not there when a store is opened.
            let first = nodes[0].take(false).map_err(|error| trouble::unreachable(&nodes[0].name, &error))?;
            nodes[0].give_back(first);
            return Ok(Self { nodes, slots: Vec::new() });
        }
        let nobody =
            || StoreError::Address { address: address.shown.clone(), what: "no server is named".into() };
        let mut last = Err(nobody());
        for node in &nodes {
            last = Self::asked(address, &nodes, node);
            if last.is_ok() {
                break;
            }
        }
        last
    }

    /// The map as it is now; none if nobody knows.
    pub(crate) fn again(&self, address: &Address) -> Option<Self> {
        let known = || self.nodes.iter().find_map(|node| Self::asked(address, &self.nodes, node).ok());
        known().or_else(|| Self::load(address).ok())
    }

    /// The map that a server has.
    fn asked(address: &Address, known: &[Arc<Node>], node: &Arc<Node>) -> Result<Self, StoreError> {
        let failed = |error| trouble::unreachable(&node.name, &error);
        let mut connection = node.take(false).map_err(failed)?;
        let answer = connection.req_packed_command(b"CLUSTER SLOTS\r\n").map_err(failed)?;
        node.give_back(connection);
        if let Value::ServerError(error) = &answer {
            return Err(trouble::refused(&node.name, error));
        }
        let mut map = Self { nodes: Vec::new(), slots: vec![u16::MAX; SLOTS] };
        let reader = Reader { server: &node.name };
        for range in reader.list(answer)? {
            map.put(address, known, node, reader, range)?;
        }
        let complete = map.slots.iter().all(|&slot| slot != u16::MAX);
        let what =
            "its cluster is down, some slots belong to nobody: see `redis-cli --cluster check`".to_owned();
        complete.then_some(map).ok_or_else(|| StoreError::Refused { server: node.name.clone(), what })
    }

    /// A range of slots: its first, its last, its master and its replicas.
    fn put(
        &mut self,
        address: &Address,
        known: &[Arc<Node>],
        asked: &Node,
        reader: Reader<'_>,
        range: Value,
    ) -> Result<(), StoreError> {
        let mut range = reader.list(range)?.into_iter();
        let mut next = || range.next().unwrap_or_default();
        let (first, last) = (reader.number(next())?, reader.number(next())?);
        let mut master = reader.list(next())?.into_iter();
        let host = reader.bytes(master.next().unwrap_or_default())?.unwrap_or_default();
        let port = reader.number(master.next().unwrap_or_default())?;
        // A server that does not know its own name leaves it out.
        let host = String::from_utf8_lossy(&host).into_owned();
        let own = || asked.name.rsplit_once(':').map_or_else(String::new, |(host, _)| host.to_owned());
        let host = if host.is_empty() { own() } else { host };
        let name = format!("{host}:{port}");
        let number = self.nodes.iter().position(|node| node.name == name).unwrap_or_else(|| {
            let known = known.iter().find(|node| node.name == name).map(Arc::clone);
            let new = || Arc::new(Node::new(address, &host, port as u16));
            self.nodes.push(known.unwrap_or_else(new));
            self.nodes.len() - 1
        });
        let slots = usize::try_from(first).unwrap_or(SLOTS)..=usize::try_from(last).unwrap_or(SLOTS);
        match self.slots.get_mut(slots) {
            Some(slots) => slots.fill(number as u16),
            None => return Err(reader.foreign("slots that no cluster has")),
        }
        Ok(())
    }

    /// Whether every slot is where the other says.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        (0..SLOTS as u16).all(|slot| self.node(slot).name == other.node(slot).name)
    }

    /// The number of the node that has a slot.
    pub(crate) fn number(&self, slot: u16) -> u16 {
        self.slots.get(usize::from(slot)).copied().unwrap_or_default()
    }

    /// Who has a slot.
    pub(crate) fn node(&self, slot: u16) -> &Arc<Node> {
        &self.nodes[usize::from(self.number(slot)).min(self.nodes.len() - 1)]
    }

    /// The server that an answer like `3999 127.0.0.1:6381` names.
    pub(crate) fn named(&self, address: &Address, answer: &str) -> Option<Arc<Node>> {
        let name = answer.rsplit(' ').next()?;
        let (host, port) = name.rsplit_once(':')?;
        let known = self.nodes.iter().find(|node| node.name == name).map(Arc::clone);
        known.or_else(|| Some(Arc::new(Node::new(address, host, port.parse().ok()?))))
    }
}
