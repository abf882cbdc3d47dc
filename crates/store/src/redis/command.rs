//! Commands as they are sent, and answers as they are read.

use super::scripts::Lua;
use super::slots;
use crate::StoreError;
use redis::Value;

/// What a command does to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Nothing.
    None,
    /// What it does twice is the same as what it does once, or does no harm.
    Again,
    /// It must not be done twice: if its answer is lost, nobody knows whether it was done.
    Once,
}

/// A command and where it belongs.
#[derive(Clone, Debug)]
pub(crate) struct Command {
    /// The slot of its keys.
    pub(crate) slot: u16,
    pub(crate) effect: Effect,
    /// As it goes over the wire.
    pub(crate) packed: Vec<u8>,
}

impl Command {
    /// A command whose second part is its key.
    pub(crate) fn new(effect: Effect, parts: &[&[u8]]) -> Self {
        let slot = parts.get(1).map_or(0, |key| slots::of(key));
        Self { slot, effect, packed: pack(parts.len(), parts.iter().copied()) }
    }

    /// A command that only reads.
    pub(crate) fn read(parts: &[&[u8]]) -> Self {
        Self::new(Effect::None, parts)
    }

    /// A script on keys of one slot.
    pub(crate) fn script(effect: Effect, script: &Lua, keys: &[&[u8]], arguments: &[&[u8]]) -> Self {
        let slot = keys.first().map_or(0, |key| slots::of(key));
        let number = keys.len().to_string();
        let start: [&[u8]; 3] = [b"EVALSHA", script.hash().as_bytes(), number.as_bytes()];
        let parts = start.iter().chain(keys).chain(arguments).copied();
        Self { slot, effect, packed: pack(start.len() + keys.len() + arguments.len(), parts) }
    }
}

pub(crate) fn pack<'a>(number: usize, parts: impl Iterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut packed = Vec::with_capacity(32 * (number + 1));
    push_length(&mut packed, b'*', number);
    for part in parts {
        push_length(&mut packed, b'$', part.len());
        packed.extend_from_slice(part);
        packed.extend_from_slice(b"\r\n");
    }
    packed
}

/// A sign and a number, as a line. A question has a dozen of these, so this is no formatting.
fn push_length(packed: &mut Vec<u8>, sign: u8, mut number: usize) {
    packed.push(sign);
    let first = packed.len();
    loop {
        packed.push(b'0' + (number % 10) as u8);
        number /= 10;
        if number == 0 {
            break;
        }
    }
    packed[first..].reverse();
    packed.extend_from_slice(b"\r\n");
}

/// An answer that is not what the command gives.
fn strange(server: &str, answer: &Value) -> StoreError {
    let mut what = format!("an answer that makes no sense: {answer:?}");
    what.truncate(what.char_indices().nth(200).map_or(what.len(), |(end, _)| end));
    StoreError::Foreign { server: server.to_owned(), what }
}

/// Reads answers of one server, or of all of a cluster.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    pub(crate) server: &'a str,
}

impl Reader<'_> {
    pub(crate) fn bytes(self, answer: Value) -> Result<Option<Vec<u8>>, StoreError> {
        match answer {
            Value::Nil => Ok(None),
            Value::BulkString(bytes) => Ok(Some(bytes)),
            Value::SimpleString(text) => Ok(Some(text.into_bytes())),
            Value::Okay => Ok(Some(b"OK".to_vec())),
            Value::Int(number) => Ok(Some(number.to_string().into_bytes())),
            other => Err(strange(self.server, &other)),
        }
    }

    pub(crate) fn number(self, answer: Value) -> Result<i64, StoreError> {
        match answer {
            Value::Int(number) => Ok(number),
            Value::Nil => Ok(0),
            Value::BulkString(bytes) => {
                let number = std::str::from_utf8(&bytes).ok().and_then(|text| text.parse().ok());
                number.ok_or_else(|| strange(self.server, &Value::BulkString(bytes)))
            }
            other => Err(strange(self.server, &other)),
        }
    }

    /// A list; nothing is an empty one.
    pub(crate) fn list(self, answer: Value) -> Result<Vec<Value>, StoreError> {
        match answer {
            Value::Array(items) => Ok(items),
            Value::Nil => Ok(Vec::new()),
            other => Err(strange(self.server, &other)),
        }
    }

    /// A list of strings.
    pub(crate) fn strings(self, answer: Value) -> Result<Vec<Option<Vec<u8>>>, StoreError> {
        self.list(answer)?.into_iter().map(|item| self.bytes(item)).collect()
    }

    /// What is stored is not what was stored.
    pub(crate) fn foreign(self, what: impl Into<String>) -> StoreError {
        StoreError::Foreign { server: self.server.to_owned(), what: what.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn as_the_protocol_says(parts in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..130), 0..12)) {
            let mut plain = format!("*{}\r\n", parts.len()).into_bytes();
            for part in &parts {
                plain.extend(format!("${}\r\n", part.len()).bytes());
                plain.extend(part);
                plain.extend(b"\r\n");
            }
            prop_assert_eq!(pack(parts.len(), parts.iter().map(Vec::as_slice)), plain);
        }
    }
}
