//! Collections: making, finding and removing them.
//!
//! A collection has a number that no other ever has, and all its keys carry it. Whoever remembers a collection that somebody
//! else has destroyed notices: a member of its expiries that is always there is gone, and every call looks at those, or at one
//! of the signs in a cluster: these are made after the expiries and go before them, so where there is one the collection is there,
//! and where there is none the expiries say.
//!
//! Destroying has five steps: the settings say that it is closing, the signs go, the expiries go, the settings go and the number
//! is noted as dead, and then all keys go. Whoever meets a collection that is closing does the rest.

use super::command::{Command, Effect};
use super::layout::{ALIVE, COPIES, Layout, Names, PARTITIONS};
use super::pages::{Holders, each_key};
use super::scripts;
use super::servers::Servers;
use crate::StoreError;
use crate::record::Collection;
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

/// How often a collection may be destroyed and made again while one call looks for it.
const TRIES: usize = 100;

#[derive(Debug)]
pub(crate) struct Rooms {
    names: Names,
    known: RwLock<BTreeMap<String, Arc<Layout>>>,
}

impl Rooms {
    pub(crate) fn new(names: Names) -> Self {
        Self { names, known: RwLock::default() }
    }

    /// Does something with a collection, which says nothing if the collection is no longer there: then it is looked for again.
    pub(crate) fn with<T>(
        &self,
        servers: &Servers,
        name: &str,
        mut work: impl FnMut(&Layout) -> Result<Option<T>, StoreError>,
    ) -> Result<T, StoreError> {
        for _ in 0..TRIES {
            let layout = self.layout(servers, name)?;
            if let Some(answer) = work(&layout)? {
                return Ok(answer);
            }
            self.forget(name);
        }
        let what = format!(
            "keys of the collection {name:?} are missing: nothing else may remove or evict them (maxmemory-policy)"
        );
        Err(servers.reader().foreign(what))
    }

    fn layout(&self, servers: &Servers, name: &str) -> Result<Arc<Layout>, StoreError> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner).get(name).map(Arc::clone);
        if let Some(known) = known {
            return Ok(known);
        }
        let layout = self.stored(servers, name)?;
        let layout = layout.ok_or_else(|| StoreError::NoCollection { name: name.to_owned() })?;
        Ok(self.remember(layout))
    }

    fn remember(&self, layout: Layout) -> Arc<Layout> {
        let (name, layout) = (layout.collection.name.clone(), Arc::new(layout));
        self.known.write().unwrap_or_else(PoisonError::into_inner).insert(name, Arc::clone(&layout));
        layout
    }

    fn forget(&self, name: &str) {
        self.known.write().unwrap_or_else(PoisonError::into_inner).remove(name);
    }

    /// What is stored of a collection, unless it is closing: then it is closed.
    fn stored(&self, servers: &Servers, name: &str) -> Result<Option<Layout>, StoreError> {
        let read = Command::read(&[b"HGET", &self.names.collections(), name.as_bytes()]);
        let settings = servers.reader().bytes(servers.ask_one(read)?)?;
        let layout = settings.map(|settings| self.parse(servers, &settings)).transpose()?;
        match layout {
            Some(layout) if layout.closing => self.close(servers, &layout).map(|_| None),
            layout => Ok(layout),
        }
    }

    fn parse(&self, servers: &Servers, settings: &[u8]) -> Result<Layout, StoreError> {
        let what = "the settings of a collection cannot be read";
        Layout::parse(&self.names, settings).ok_or_else(|| servers.reader().foreign(what))
    }

    /// All, by name.
    pub(crate) fn all(&self, servers: &Servers) -> Result<Vec<Layout>, StoreError> {
        let read = Command::read(&[b"HVALS", &self.names.collections()]);
        let all = servers.reader().strings(servers.ask_one(read)?)?;
        let parsed = all.into_iter().flatten().map(|settings| self.parse(servers, &settings));
        let (closing, mut layouts): (Vec<_>, Vec<_>) =
            parsed.collect::<Result<Vec<_>, _>>()?.into_iter().partition(|layout| layout.closing);
        for layout in &closing {
            self.close(servers, layout)?;
        }
        layouts.sort_by(|a, b| a.collection.name.cmp(&b.collection.name));
        Ok(layouts)
    }

    pub(crate) fn create(&self, servers: &Servers, collection: &Collection) -> Result<(), StoreError> {
        collection.validate()?;
        if let Some(there) = self.stored(servers, &collection.name)? {
            return there.collection.same(collection);
        }
        self.sweep(servers)?;
        let (reader, names) = (servers.reader(), &self.names);
        let number = servers.ask_one(Command::new(Effect::Again, &[b"INCR", &names.numbers()]))?;
        let number =
            u32::try_from(reader.number(number)?).map_err(|_| reader.foreign("no number is left"))?;
        let kind = usize::from(servers.address.cluster);
        let layout = Layout::new(names, number, PARTITIONS[kind], COPIES[kind], collection.clone());
        servers.ask_one(alive(&layout))?;
        servers.ask(&layout.signs().map(|key| sign(&key)).collect::<Vec<_>>())?;
        let (name, settings) = (collection.name.as_bytes(), layout.settings());
        let make: [&[u8]; 4] = [b"HSETNX", &names.collections(), name, &settings];
        servers.ask_one(Command::new(Effect::Again, &make))?;
        // If somebody else was faster, theirs is the one.
        let there = self.stored(servers, &collection.name)?;
        if there.as_ref() == Some(&layout) {
            self.remember(layout);
            return Ok(());
        }
        no_longer_alive(servers, &layout)?;
        there.map_or(Ok(()), |there| there.collection.same(collection))
    }

    pub(crate) fn destroy(&self, servers: &Servers, name: &str) -> Result<bool, StoreError> {
        let Some(layout) = self.stored(servers, name)? else { return Ok(false) };
        let mut closing = layout.clone();
        closing.closing = true;
        let arguments: [&[u8]; 3] = [name.as_bytes(), &layout.settings(), &closing.settings()];
        servers.ask_one(Command::script(
            Effect::Again,
            &scripts::CLOSE,
            &[&self.names.collections()],
            &arguments,
        ))?;
        self.forget(name);
        self.close(servers, &closing)
    }

    /// Destroys a collection that is closing; whether nobody else has.
    fn close(&self, servers: &Servers, layout: &Layout) -> Result<bool, StoreError> {
        // From here on nobody finds it, remembered or not.
        no_longer_alive(servers, layout)?;
        let (names, number) = (&self.names, layout.number.to_string());
        let keys: [&[u8]; 2] = [&names.collections(), &names.dead()];
        let arguments: [&[u8]; 3] =
            [layout.collection.name.as_bytes(), &layout.settings(), number.as_bytes()];
        let destroyed =
            servers.ask_one(Command::script(Effect::Again, &scripts::DESTROY, &keys, &arguments))?;
        let destroyed = servers.reader().number(destroyed)? == 1;
        self.sweep(servers)?;
        Ok(destroyed)
    }

    /// Removes all keys of collections that have been destroyed.
    pub(crate) fn sweep(&self, servers: &Servers) -> Result<(), StoreError> {
        let reader = servers.reader();
        let dead = servers.ask_one(Command::read(&[b"SMEMBERS", &self.names.dead()]))?;
        for number in reader.strings(dead)?.into_iter().flatten() {
            let parsed = std::str::from_utf8(&number).ok().and_then(|number| number.parse().ok());
            let parsed = parsed.ok_or_else(|| reader.foreign("the number of a collection is none"))?;
            let holders = Holders::now(servers)?;
            for pattern in self.names.patterns(parsed) {
                each_key(servers, pattern.as_bytes(), &mut |keys| {
                    let unlink = |key: &Vec<u8>| Command::new(Effect::Again, &[b"UNLINK", key]);
                    servers.ask(&keys.iter().map(unlink).collect::<Vec<_>>()).map(|_| ())
                })?;
            }
            // What may have been missed is swept with the next collection.
            if holders.are_still(servers)? {
                servers.ask_one(Command::new(Effect::Again, &[b"SREM", &self.names.dead(), &number]))?;
            }
        }
        Ok(())
    }
}

/// Says that a collection is there.
pub(crate) fn alive(layout: &Layout) -> Command {
    Command::new(Effect::Again, &[b"ZADD", &layout.expiries(), b"-inf", ALIVE])
}

/// Makes one of the [`Layout::signs`].
pub(crate) fn sign(key: &[u8]) -> Command {
    Command::new(Effect::Again, &[b"SET", key, b""])
}

/// The signs go first, all of them: whoever sees one believes that the collection is there.
fn no_longer_alive(servers: &Servers, layout: &Layout) -> Result<(), StoreError> {
    let unlink = |key: &[u8]| Command::new(Effect::Again, &[b"UNLINK", key]);
    servers.ask(&layout.signs().map(|key| unlink(&key)).collect::<Vec<_>>())?;
    servers.ask_one(unlink(&layout.expiries())).map(|_| ())
}
