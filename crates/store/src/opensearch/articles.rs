//! An index of articles that somebody else keeps: the blocks of a fingerprint as fields of the article itself, searched there.
//!
//! There is no second place that could go stale: who removes an article removes its fingerprint, and who writes it anew
//! writes it without one, until [`Articles::fill`] comes by. With the fingerprint stands a digest of the text it was made from,
//! so that a text that was changed under it is noticed. An article that changes while it is read is read again: every change
//! names the state it was made from.

use super::address::Address;
use super::base64;
use super::changes::{Change, Over, What};
use super::find::hits;
use super::http::{Body, Purpose, Server, Trouble};
use super::query::PAGE;
use super::requests::Place;
use super::server::Release;
use crate::StoreError;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use ureq::http::Method;

/// The largest distance: among four blocks of 16 bits one is the same if at most three bits differ.
pub const WITHIN: u32 = 3;
/// Articles read at once, and for how long the servers keep the rest.
const READ: usize = 200;
const KEPT: &str = "5m";

/// What the fields of an article are called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fields {
    /// Those that hold its text: a path such as `body.content`. Several are put together, a line each.
    pub text: Vec<String>,
    /// The four blocks of the fingerprint, the most significant first. Where an index has them as numbers (`short`, as many
    /// articles recommend) they are used as they are; otherwise they are made as `keyword`.
    pub blocks: [String; 4],
    /// The digest of the text that the fingerprint was made from.
    pub digest: String,
    /// The date by which what is found is put in order, the newest first; none: by distance.
    pub published: Option<String>,
}

impl Default for Fields {
    fn default() -> Self {
        Self {
            text: vec!["content".into()],
            blocks: ["A", "B", "C", "D"].map(|part| format!("simHash{part}")),
            digest: "simHashDigest".into(),
            published: None,
        }
    }
}

/// Which articles to look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which<'a> {
    /// Those without a digest: new ones, and those written anew. Quick, and enough where articles are always written whole.
    Missing,
    /// All: also those whose text was changed and whose fingerprint was left.
    All,
    /// These, for whoever knows what has just changed.
    Ids(&'a [&'a str]),
}

/// What was done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Filled {
    /// Articles that were read.
    pub read: u64,
    /// Articles that have a new fingerprint, or none any more.
    pub written: u64,
    /// Articles that somebody changed or removed meanwhile, so often that it was given up: the next time finds them.
    pub missed: u64,
}

/// An article near a fingerprint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Near {
    /// The index it is in.
    pub index: String,
    /// Its `_id`.
    pub id: String,
    /// In how many bits it differs.
    pub distance: u32,
    /// Its date, as it is stored.
    pub published: Option<Value>,
}

/// Indices of articles in a cluster.
#[derive(Debug)]
pub struct Articles {
    server: Server,
    fields: Fields,
}

/// How an index holds a block.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Text,
    Number,
}

/// An article as it was read.
struct Article {
    id: String,
    place: Place,
    source: Value,
}

impl Articles {
    /// Opens an address as [`OpenSearch::open`](super::OpenSearch::open) does; its prefix means nothing here.
    pub fn open(address: &str, fields: Fields) -> Result<Self, StoreError> {
        let server = Server::new(&Address::parse(address)?)?;
        Release::of(&server)?;
        Ok(Self { server, fields })
    }

    /// Adds the fields to an index, where they are missing. Those that are there must be `keyword` or whole numbers.
    pub fn attach(&self, index: &str) -> Result<(), StoreError> {
        let there = self.forms(index)?;
        let mut new = Map::new();
        for field in self.fields.blocks.iter().chain([&self.fields.digest]) {
            if !there.contains_key(field) {
                put(&mut new, field, json!({ "type": "keyword" }));
            }
        }
        if new.is_empty() {
            return Ok(());
        }
        let (path, body) = (format!("/{index}/_mapping"), json!({ "properties": new }));
        self.done(index, self.server.succeed(&Method::PUT, &path, Body::Json(&body), Purpose::Changing))
            .map(|_| ())
    }

    /// Gives articles the fingerprints of their texts, where they have none or another. A text without a fingerprint is
    /// found by nothing.
    pub fn fill(
        &self,
        index: &str,
        which: Which<'_>,
        fingerprint: &dyn Fn(&str) -> Option<u64>,
    ) -> Result<Filled, StoreError> {
        let forms = self.forms(index)?;
        let mut filled = Filled::default();
        let mut each =
            |articles: Vec<Article>| self.fill_some(index, &forms, articles, fingerprint, &mut filled);
        let result = match which {
            Which::Ids(ids) => {
                let ids: Vec<String> = ids.iter().map(|id| (*id).to_owned()).collect();
                self.read(index, &ids).and_then(&mut each)
            }
            Which::Missing => {
                let missing =
                    json!({ "bool": { "must_not": [{ "exists": { "field": self.fields.digest } }] } });
                self.scroll(index, &missing, &mut each)
            }
            Which::All => self.scroll(index, &json!({ "match_all": {} }), &mut each),
        };
        self.done(index, result)?;
        Ok(filled)
    }

    /// All articles of some indices that are within a distance, at most [`WITHIN`]: the newest first, or the nearest.
    pub fn near(&self, indices: &[&str], fingerprint: u64, within: u32) -> Result<Vec<Near>, StoreError> {
        if within > WITHIN {
            return Err(StoreError::TooFar { asked: within, built: WITHIN });
        }
        let mut found = Vec::new();
        // One after the other: each may have the fields in another form.
        for index in indices {
            let forms = self.forms(index)?;
            let result = self.near_in(index, &forms, fingerprint, within, &mut found);
            self.done(index, result)?;
        }
        self.put_in_order(&mut found);
        Ok(found)
    }

    fn near_in(
        &self,
        index: &str,
        forms: &BTreeMap<String, Form>,
        fingerprint: u64,
        within: u32,
        found: &mut Vec<Near>,
    ) -> Result<(), Trouble> {
        self.server.refresh(index)?;
        let query =
            json!({ "bool": { "should": self.clauses(forms, fingerprint), "minimum_should_match": 1 } });
        let search = json!({ "size": PAGE, "query": query, "_source": self.shown() });
        self.pages(index, &search, &mut |answer| {
            let near = |hit: &Value| {
                let distance = (self.stored(&hit["_source"])? ^ fingerprint).count_ones();
                let [index, id] =
                    ["_index", "_id"].map(|name| hit[name].as_str().unwrap_or_default().to_owned());
                let published =
                    self.fields.published.as_ref().map(|field| value(&hit["_source"], field).clone());
                (distance <= within).then_some(Near { index, id, distance, published })
            };
            found.extend(hits(answer).iter().filter_map(near));
            Ok(())
        })
    }

    fn put_in_order(&self, found: &mut [Near]) {
        let date = |near: &Near| match &near.published {
            Some(Value::Number(number)) => (number.as_i64().unwrap_or_default(), String::new()),
            Some(Value::String(text)) => (0, text.clone()),
            _ => (i64::MIN, String::new()),
        };
        found.sort_by(|a, b| (a.distance, &a.index, &a.id).cmp(&(b.distance, &b.index, &b.id)));
        if self.fields.published.is_some() {
            found.sort_by_key(|near| std::cmp::Reverse(date(near)));
        }
    }

    /// What a search asks of the blocks, in the form each index has them in.
    fn clauses(&self, forms: &BTreeMap<String, Form>, fingerprint: u64) -> Vec<Value> {
        let clause = |(field, block): (&String, u16)| {
            let form = forms.get(field).copied().unwrap_or(Form::Text);
            json!({ "term": { field: block_value(block, form) } })
        };
        self.fields.blocks.iter().zip(blocks(fingerprint)).map(clause).collect()
    }

    fn shown(&self) -> Vec<&String> {
        self.fields.blocks.iter().chain(&self.fields.published).collect()
    }

    /// The fingerprint an article has.
    fn stored(&self, source: &Value) -> Option<u64> {
        let block = |field: &String| match value(source, field) {
            Value::Number(number) => Some(number.as_i64()? as u16),
            // Some programs write numbers as texts of theirs; four hexadecimal digits are ours.
            Value::String(text) if text.len() == 4 => u16::from_str_radix(text, 16).ok(),
            _ => None,
        };
        self.fields.blocks.iter().try_fold(0, |all, field| Some(all << 16 | u64::from(block(field)?)))
    }

    /// How an index holds our fields, as far as it has them.
    fn forms(&self, index: &str) -> Result<BTreeMap<String, Form>, StoreError> {
        let reply =
            self.done(index, self.server.read(&Method::GET, &format!("/{index}/_mapping"), Body::None))?;
        let mut forms = BTreeMap::new();
        for (name, about) in reply.as_object().into_iter().flatten() {
            for field in self.fields.blocks.iter().chain([&self.fields.digest]) {
                let form = match mapped(&about["mappings"], field)["type"].as_str() {
                    None => continue,
                    Some("keyword") => Form::Text,
                    Some("short" | "integer" | "long") if *field != self.fields.digest => Form::Number,
                    Some(other) => {
                        let what =
                            format!("the field {field} of the index {name} is {other}, not keyword or short");
                        return Err(self.server.foreign(format!("{what}: name others for the blocks")));
                    }
                };
                if forms.insert(field.clone(), form).is_some_and(|before| before != form) {
                    let what =
                        format!("the field {field} has two types in {index}: ask for one index at a time");
                    return Err(self.server.foreign(what));
                }
            }
        }
        Ok(forms)
    }

    /// Computes and writes the fingerprints of articles, and again those of articles that changed meanwhile.
    fn fill_some(
        &self,
        index: &str,
        forms: &BTreeMap<String, Form>,
        mut articles: Vec<Article>,
        fingerprint: &dyn Fn(&str) -> Option<u64>,
        filled: &mut Filled,
    ) -> Result<(), Trouble> {
        filled.read += articles.len() as u64;
        for _ in 0..5 {
            let changes: Vec<Change> =
                articles.iter().filter_map(|article| self.change(article, forms, fingerprint)).collect();
            let outcomes = self.server.change_in(index, false, &changes)?;
            let failed = changes.iter().zip(&outcomes).filter(|(_, outcome)| !outcome.is_done());
            let again: Vec<String> = failed.map(|(change, _)| change.id.clone()).collect();
            filled.written += (changes.len() - again.len()) as u64;
            if again.is_empty() {
                return Ok(());
            }
            articles = self.read(index, &again)?;
        }
        filled.missed += articles.len() as u64;
        Ok(())
    }

    /// What has to be changed of an article, if anything.
    fn change(
        &self,
        article: &Article,
        forms: &BTreeMap<String, Form>,
        fingerprint: &dyn Fn(&str) -> Option<u64>,
    ) -> Option<Change> {
        let text = self.text(&article.source);
        let digest = base64::encode(&xxhash_rust::xxh3::xxh3_128(text.as_bytes()).to_be_bytes());
        if value(&article.source, &self.fields.digest).as_str() == Some(&digest) {
            return None;
        }
        let blocks = fingerprint(&text).map(blocks);
        let mut fields = Map::new();
        for (place, field) in self.fields.blocks.iter().enumerate() {
            let form = forms.get(field).copied().unwrap_or(Form::Text);
            let block = blocks.map_or(Value::Null, |blocks| block_value(blocks[place], form));
            put_value(&mut fields, field, block);
        }
        put_value(&mut fields, &self.fields.digest, json!(digest));
        let what = What::Merge(Value::Object(fields));
        Some(Change { id: article.id.clone(), over: Over::This(article.place), what })
    }

    fn text(&self, source: &Value) -> String {
        let texts: Vec<&str> =
            self.fields.text.iter().filter_map(|field| value(source, field).as_str()).collect();
        texts.join("\n")
    }

    fn wanted(&self) -> Vec<&str> {
        self.fields.text.iter().chain([&self.fields.digest]).map(String::as_str).collect()
    }

    fn read(&self, index: &str, ids: &[String]) -> Result<Vec<Article>, Trouble> {
        let got = self.server.get(index, ids, &self.wanted())?;
        let article = |(id, got): (&String, Option<super::requests::Got>)| {
            let got = got?;
            Some(Article { id: id.clone(), place: got.place, source: got.source })
        };
        Ok(ids.iter().zip(got).filter_map(article).collect())
    }

    /// Goes through the articles of a query, some at a time.
    fn scroll(
        &self,
        index: &str,
        query: &Value,
        each: &mut dyn FnMut(Vec<Article>) -> Result<(), Trouble>,
    ) -> Result<(), Trouble> {
        self.server.refresh(index)?;
        let search = json!({
            "size": READ, "query": query, "_source": self.wanted(), "seq_no_primary_term": true, "sort": ["_doc"],
        });
        let article = |hit: &Value| {
            Some(Article {
                id: hit["_id"].as_str()?.to_owned(),
                place: Place::of(hit)?,
                source: hit["_source"].clone(),
            })
        };
        self.pages(index, &search, &mut |answer| each(hits(answer).iter().filter_map(article).collect()))
    }

    /// All hits of a search as they are at its beginning, page by page.
    fn pages(
        &self,
        index: &str,
        search: &Value,
        each: &mut dyn FnMut(&Value) -> Result<(), Trouble>,
    ) -> Result<(), Trouble> {
        let path = format!("/{index}/_search?scroll={KEPT}&allow_partial_search_results=false");
        let mut answer = self.server.read(&Method::POST, &path, Body::Json(search))?;
        let result = self.each_page(&mut answer, each);
        let end = json!({ "scroll_id": [answer["_scroll_id"]] });
        // Otherwise the servers forget it by themselves.
        _ = self.server.ask(&Method::DELETE, "/_search/scroll", Body::Json(&end), Purpose::Once);
        result
    }

    /// From the first page on; the last one that was had is left in its place.
    fn each_page(
        &self,
        answer: &mut Value,
        each: &mut dyn FnMut(&Value) -> Result<(), Trouble>,
    ) -> Result<(), Trouble> {
        loop {
            // Of a shard that is lost on the way nothing more comes, and the answer is a good one all the same.
            if answer["_shards"]["failed"].as_u64() != Some(0) {
                let why = format!("it has lost a part of the index: {}", answer["_shards"]);
                return Err(self.server.unreachable(&why).into());
            }
            if hits(answer).is_empty() {
                return Ok(());
            }
            each(answer)?;
            let next = json!({ "scroll": KEPT, "scroll_id": answer["_scroll_id"] });
            // Not sent twice: the second would be given what comes after.
            *answer =
                self.server.succeed(&Method::POST, "/_search/scroll", Body::Json(&next), Purpose::Once)?;
        }
    }

    fn done<T>(&self, index: &str, result: Result<T, Trouble>) -> Result<T, StoreError> {
        result.map_err(|trouble| match trouble {
            Trouble::Store(error) => error,
            Trouble::Gone => {
                let what = format!("there is no index {index}: check its name");
                StoreError::Refused { server: self.server.name(), what }
            }
        })
    }
}

/// The four blocks of a fingerprint, the most significant first.
fn blocks(fingerprint: u64) -> [u16; 4] {
    [48, 32, 16, 0].map(|shift| (fingerprint >> shift) as u16)
}

fn block_value(block: u16, form: Form) -> Value {
    match form {
        Form::Text => json!(format!("{block:04x}")),
        // As a signed number of 16 bits: what programs that use these fields expect.
        Form::Number => json!(block as i16),
    }
}

/// A value by its path.
fn value<'a>(source: &'a Value, path: &str) -> &'a Value {
    path.split('.').fold(source, |value, name| &value[name])
}

/// The mapping of a field by its path.
fn mapped<'a>(mapping: &'a Value, path: &str) -> &'a Value {
    path.split('.').fold(mapping, |mapping, name| &mapping["properties"][name])
}

/// Puts a field into the properties of a mapping, by its path.
fn put(properties: &mut Map<String, Value>, path: &str, field: Value) {
    match path.split_once('.') {
        None => _ = properties.insert(path.to_owned(), field),
        Some((first, rest)) => {
            let inner = properties.entry(first).or_insert_with(|| json!({ "properties": {} }));
            if let Some(inner) = inner["properties"].as_object_mut() {
                put(inner, rest, field);
            }
        }
    }
}

/// Puts a value into an object, by its path.
fn put_value(object: &mut Map<String, Value>, path: &str, value: Value) {
    match path.split_once('.') {
        None => _ = object.insert(path.to_owned(), value),
        Some((first, rest)) => {
            if let Some(inner) = object.entry(first).or_insert_with(|| json!({})).as_object_mut() {
                put_value(inner, rest, value);
            }
        }
    }
}
