//! The database of a command: where it is, opening it, and closing it whatever happened in between.

use crate::output::{self, Failure};
use leitong_detect::Recipe;
use leitong_detect::detector::{Collection, CollectionSettings, DEFAULT_COLLECTION, Detector, Judge};
use leitong_store::embedded::{self, Embedded};
use leitong_store::opensearch::{self, OpenSearch};
use leitong_store::redis::{self, Redis};
use leitong_store::{Memory, Store};
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where the database is.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct DbArgs {
    /// The database: a folder, `redis://HOST:PORT`, `redis-cluster://HOST:PORT`, `opensearch+http://HOST:PORT` (or
    /// rediss, +https; docs/redis.md, docs/opensearch.md), or `memory:` for one that ends with the command
    #[arg(long, value_name = "DB", env = "LEITONG_DB", hide_env_values = true)]
    db: String,
}

/// Which part of the database.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct CollectionArgs {
    /// A name space with its own recipe
    #[arg(long, value_name = "NAME", default_value = DEFAULT_COLLECTION)]
    pub(crate) collection: String,
}

/// What a collection is made with. Of one that is there, what is said must be so.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct SettingsArgs {
    #[command(flatten)]
    pub(super) name: CollectionArgs,
    /// A built-in recipe or a recipe file, for a new collection [default: leitong-1]
    #[arg(long, short, value_name = "NAME|FILE")]
    pub(super) recipe: Option<String>,
    /// The most bits in which near duplicates differ, for a new collection [default: 3]
    #[arg(long, value_name = "K")]
    distance: Option<u32>,
    /// Keep no texts, only fingerprints and marks: less disk, no passages, and verdicts see less
    #[arg(long)]
    no_text: bool,
    /// Who decides, in a new collection [default: evidence; distance with the recipes of other systems]
    #[arg(long, value_enum)]
    judge: Option<JudgeArg>,
}

/// Who decides what is a duplicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum JudgeArg {
    /// What is shared, how rare it is, and what differs (docs/verdicts.md)
    Evidence,
    /// The SimHashes alone, within --distance bits
    Distance,
}

impl JudgeArg {
    /// Systems whose recipes are built in judge by distance.
    fn usual(recipe: &Recipe) -> Self {
        let name = &recipe.settings().name;
        let of_another_system = Recipe::built_in(name).is_ok() && !name.starts_with("leitong");
        if of_another_system { Self::Distance } else { Self::Evidence }
    }

    fn judge(self) -> Judge {
        match self {
            Self::Evidence => Judge::Evidence,
            Self::Distance => Judge::Distance,
        }
    }
}

/// Where a database can be.
enum Location {
    Folder(PathBuf),
    Memory,
    Redis,
    OpenSearch,
}

/// Which store an address means by what stands before `://`.
const SERVERS: [(&str, Location); 8] = [
    ("redis", Location::Redis),
    ("rediss", Location::Redis),
    ("redis-cluster", Location::Redis),
    ("rediss-cluster", Location::Redis),
    ("opensearch+http", Location::OpenSearch),
    ("opensearch+https", Location::OpenSearch),
    ("elasticsearch+http", Location::OpenSearch),
    ("elasticsearch+https", Location::OpenSearch),
];

impl DbArgs {
    /// One that another flag names.
    pub(crate) fn named(db: &str) -> Self {
        Self { db: db.to_owned() }
    }

    fn location(&self) -> Result<Location, Failure> {
        let fail = |message: String| Err(Failure::Input(message));
        if self.db == "memory:" {
            return Ok(Location::Memory);
        }
        if self.db.trim().is_empty() {
            return fail(
                "the name of the database is empty: name a folder with --db or in LEITONG_DB".into(),
            );
        }
        match self.db.split_once("://") {
            Some((scheme, _)) => {
                let known = SERVERS.into_iter().find(|(known, _)| *known == scheme);
                known.map(|(_, location)| location).ok_or_else(|| unknown(scheme))
            }
            None if Path::new(&self.db).is_file() => fail(format!(
                "{}: this is a file, and a database is a folder: name another with --db",
                self.db
            )),
            None => Ok(Location::Folder(PathBuf::from(&self.db))),
        }
    }

    /// As it was written, for messages: but for a password.
    pub(crate) fn name(&self) -> Cow<'_, str> {
        without_password(&self.db)
    }

    /// The store, where it is Redis: for what is done in another way there.
    pub(crate) fn redis(&self) -> Result<Option<Redis>, Failure> {
        match self.location()? {
            Location::Redis => Ok(Some(Redis::open(&self.db, redis::Options::default())?)),
            _ => Ok(None),
        }
    }

    /// The folder, for what only a folder can do. A database that is not there is an error.
    pub(crate) fn existing_folder(&self) -> Result<PathBuf, Failure> {
        let folder = self.folder()?;
        is_there(&folder)?;
        Ok(folder)
    }

    /// The folder, for what only a folder can do.
    pub(crate) fn folder(&self) -> Result<PathBuf, Failure> {
        match self.location()? {
            Location::Folder(path) => Ok(path),
            Location::Memory => Err(Failure::Input(
                "a database in memory ends with the command that made it: name a folder with --db".into(),
            )),
            Location::Redis | Location::OpenSearch => Err(Failure::Input(format!(
                "{}: this command is not for databases on such a server: it has its own tools for that, and `leitong export` \
                 writes any database into a file",
                self.name()
            ))),
        }
    }
}

fn unknown(scheme: &str) -> Failure {
    let known: Vec<&str> = SERVERS.iter().map(|(scheme, _)| *scheme).collect();
    let known = known.join("://, ");
    Failure::Input(format!(
        "{scheme}: there is no such store: use a folder (--db ./news), memory:, or {known}://"
    ))
}

/// An address as others may see it.
pub(super) fn without_password(address: &str) -> Cow<'_, str> {
    let Some((scheme, rest)) = address.split_once("://") else { return address.into() };
    // A password may have any character.
    let hidden = match rest.rsplit_once('@') {
        Some((_, hosts)) => Cow::from(format!("{scheme}://***@{hosts}")),
        None => address.into(),
    };
    match hidden.split_once("api_key=") {
        Some((before, key)) => {
            let after = key.find('&').map_or("", |end| &key[end..]);
            format!("{before}api_key=***{after}").into()
        }
        None => hidden,
    }
}

fn is_there(folder: &Path) -> Result<(), Failure> {
    if folder.is_dir() {
        return Ok(());
    }
    let path = folder.display();
    Err(Failure::Input(format!(
        "{path}: there is no database here; check the path, or make one with `leitong add FILES --db {path}`"
    )))
}

/// How the embedded store is opened by a command.
pub(crate) fn options(command: &str, create: bool) -> embedded::Options {
    embedded::Options { create, holder: format!("leitong {command}"), ..embedded::Options::default() }
}

/// An open database.
pub(crate) struct Database {
    pub(crate) detector: Detector,
    /// The store, where it is a folder.
    pub(crate) embedded: Option<Arc<Embedded>>,
    /// Whether it began empty and ends with the command.
    passing: bool,
}

impl Database {
    fn open(args: &DbArgs, command: &str, create: bool) -> Result<Self, Failure> {
        match args.location()? {
            Location::Memory => Ok(Self { passing: true, ..Self::on(Arc::new(Memory::default())) }),
            Location::Redis => Ok(Self::on(Arc::new(Redis::open(&args.db, redis::Options::default())?))),
            Location::OpenSearch => {
                Ok(Self::on(Arc::new(OpenSearch::open(&args.db, opensearch::Options::default())?)))
            }
            Location::Folder(path) => {
                if !create {
                    is_there(&path)?;
                }
                let store = Arc::new(Embedded::open(&path, options(command, create))?);
                Ok(Self { embedded: Some(Arc::clone(&store)), ..Self::on(store) })
            }
        }
    }

    fn on(store: Arc<dyn Store>) -> Self {
        Self { detector: Detector::new(store), embedded: None, passing: false }
    }

    /// What the store has mended or could not, which the user should know.
    fn say_notices(&self, name: &str) {
        for notice in self.embedded.iter().flat_map(|store| store.notices()) {
            output::warn(&format!("{name}: {notice}"));
        }
    }

    fn close(self) -> Result<(), Failure> {
        drop(self.detector);
        // Nobody else has it: collections live no longer than the work that opened them.
        Ok(self.embedded.and_then(Arc::into_inner).map_or(Ok(()), Embedded::close)?)
    }

    /// A collection that is there. One in memory is always there, and empty.
    pub(crate) fn collection(&self, name: &str) -> Result<Collection, Failure> {
        if self.passing {
            return Ok(self.detector.create(name, &CollectionSettings::default())?);
        }
        Ok(self.detector.open(name)?)
    }

    /// Whether a collection is there, without opening it: for what needs no recipe.
    pub(crate) fn must_have(&self, name: &str) -> Result<(), Failure> {
        if self.passing {
            return self.collection(name).map(drop);
        }
        Ok(self.detector.store().count(name).map(drop)?)
    }

    /// A collection, made if it is not there: by the usual recipe, if no other is asked for.
    pub(crate) fn collection_for(&self, args: &SettingsArgs, usual: &str) -> Result<Collection, Failure> {
        let name = args.name.collection.as_str();
        if self.detector.store().collections()?.iter().any(|collection| collection.name == name) {
            let collection = self.detector.open(name)?;
            args.check(&collection)?;
            return Ok(collection);
        }
        let recipe = Recipe::open(args.recipe.as_deref().unwrap_or(usual))?;
        let width = recipe.settings().simhash.bits;
        let judge = args.judge.unwrap_or_else(|| JudgeArg::usual(&recipe)).judge();
        let mut settings = CollectionSettings { judge, ..CollectionSettings::new(recipe) };
        settings.distance = args.distance.unwrap_or(settings.distance);
        settings.keep_texts = !args.no_text;
        if settings.distance >= width {
            let message =
                format!("--distance {}: fingerprints have {width} bits; use less", settings.distance);
            return Err(Failure::Input(message));
        }
        Ok(self.detector.create(name, &settings)?)
    }
}

impl SettingsArgs {
    /// Whether what was asked for is how the collection is: it cannot be changed.
    fn check(&self, collection: &Collection) -> Result<(), Failure> {
        let (name, is) = (collection.name(), collection.settings());
        let refuse = |message: String| Err(Failure::Input(message));
        if let Some(asked) = &self.recipe {
            let (asked, digest) = (asked, Recipe::open(asked)?.digest());
            if digest != collection.recipe_digest() {
                let own = &is.recipe.settings().name;
                return refuse(format!(
                    "the collection {name:?} was made with the recipe {own}, not {asked}: fingerprints of two recipes cannot \
                     be compared; leave --recipe out, or name another --collection"
                ));
            }
        }
        if let Some(asked) = self.distance.filter(|&asked| asked != is.distance) {
            return refuse(format!(
                "the collection {name:?} was made for distances up to {}, not {asked}: leave --distance out, or export \
                 the collection and import it into another",
                is.distance
            ));
        }
        if let Some(asked) = self.judge.filter(|asked| asked.judge() != is.judge) {
            let is = if is.judge == Judge::Distance { "distance" } else { "evidence" };
            return refuse(format!(
                "the collection {name:?} judges by {is}: leave --judge out, or export the collection and import it into \
                 another with --judge {}",
                if asked == JudgeArg::Distance { "distance" } else { "evidence" }
            ));
        }
        if self.no_text && is.keep_texts {
            return refuse(format!(
                "the collection {name:?} keeps texts: --no-text is for new collections; name another --collection"
            ));
        }
        Ok(())
    }
}

/// Opens a database, does the work, and closes it whatever became of the work. `command` is who others are told has it.
pub(crate) fn with<T>(
    args: &DbArgs,
    command: &str,
    create: bool,
    work: impl FnOnce(&Database) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let database = Database::open(args, command, create)?;
    database.say_notices(&args.name());
    let outcome = work(&database);
    database.say_notices(&args.name());
    match (outcome, database.close()) {
        (Ok(done), closed) => closed.map(|()| done),
        (Err(failure), Ok(())) => Err(failure),
        (Err(failure), Err(closing)) => {
            output::complain(&closing);
            Err(failure)
        }
    }
}
