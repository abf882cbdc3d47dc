//! redb: four tables with keys of fixed width, a group is a transaction with `Durability::Immediate`.

use std::path::Path;

use redb::{Database, Durability, ReadOnlyTable, ReadableDatabase, ReadableTable, TableDefinition};

use crate::documents::{hash_key, id_key, record, record_key, text};
use crate::{Fallible, Store, View};

const CACHE: usize = 64 << 20;
const RECORDS: TableDefinition<&[u8; 12], &[u8]> = TableDefinition::new("records");
const TEXTS: TableDefinition<&[u8; 12], &[u8]> = TableDefinition::new("texts");
const IDS: TableDefinition<&[u8; 24], u64> = TableDefinition::new("ids");
const KEYS: TableDefinition<&[u8; 21], ()> = TableDefinition::new("keys");

pub struct RedbStore {
    database: Database,
    quick_repair: bool,
}

struct RedbView {
    records: ReadOnlyTable<&'static [u8; 12], &'static [u8]>,
    texts: ReadOnlyTable<&'static [u8; 12], &'static [u8]>,
    ids: ReadOnlyTable<&'static [u8; 24], u64>,
}

impl Store for RedbStore {
    fn open(directory: &Path, setup: &str) -> Fallible<Self> {
        std::fs::create_dir_all(directory)?;
        let database = Database::builder().set_cache_size(CACHE).create(directory.join("store.redb"))?;
        let store = Self { database, quick_repair: setup == "redb,quick" };
        store.write(0, 0)?; // The tables have to exist before they can be read.
        Ok(store)
    }

    fn write(&self, from: u64, to: u64) -> Fallible<()> {
        let mut transaction = self.database.begin_write()?;
        transaction.set_durability(Durability::Immediate)?;
        transaction.set_quick_repair(self.quick_repair);
        {
            let mut records = transaction.open_table(RECORDS)?;
            let mut texts = transaction.open_table(TEXTS)?;
            let mut ids = transaction.open_table(IDS)?;
            let mut keys = transaction.open_table(KEYS)?;
            for ordinal in from..to {
                let id = id_key(ordinal);
                if ids.get(&id)?.is_some() {
                    return Err(format!("document {ordinal} is there already").into());
                }
                records.insert(&record_key(ordinal), record(ordinal).as_slice())?;
                texts.insert(&record_key(ordinal), text(ordinal).as_slice())?;
                ids.insert(&id, ordinal)?;
                keys.insert(&hash_key(ordinal), ())?;
            }
        }
        Ok(transaction.commit()?)
    }

    fn settle(&self) -> Fallible<()> {
        Ok(())
    }

    fn view(&self) -> Fallible<impl View> {
        let transaction = self.database.begin_read()?;
        Ok(RedbView {
            records: transaction.open_table(RECORDS)?,
            texts: transaction.open_table(TEXTS)?,
            ids: transaction.open_table(IDS)?,
        })
    }

    fn state(&self) -> String {
        String::new()
    }
}

impl View for RedbView {
    fn record(&self, ordinal: u64) -> Fallible<Option<usize>> {
        Ok(self.records.get(&record_key(ordinal))?.map(|value| value.value().len()))
    }

    fn text(&self, ordinal: u64) -> Fallible<Option<usize>> {
        Ok(self.texts.get(&record_key(ordinal))?.map(|value| value.value().len()))
    }

    fn id(&self, ordinal: u64) -> Fallible<Option<u64>> {
        Ok(self.ids.get(&id_key(ordinal))?.map(|value| value.value()))
    }

    fn scan(&self) -> Fallible<(u64, u64)> {
        let (mut count, mut bytes) = (0, 0);
        for entry in self.records.iter()? {
            let (key, value) = entry?;
            count += 1;
            bytes += (key.value().len() + value.value().len()) as u64;
        }
        Ok((count, bytes))
    }
}
