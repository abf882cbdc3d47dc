//! The Redis keys of the CMS whose recipe is `cms-redis`: taking such a library over, and writing one.

use super::batch::size;
use super::db::without_password;
use crate::output::{Failure, Problems, Progress, warn};
use leitong_detect::detector::exchange::Imported;
use leitong_detect::detector::{Collection, Detector};
use leitong_detect::recipe::Recipe;
use leitong_fingerprint::Fingerprint;
use leitong_store::redis::cms::{Entry, Library, PREFIX};
use leitong_store::{Space, Want};
use std::io::Cursor;

/// The recipe its fingerprints are made by.
pub(crate) const RECIPE: &str = "cms-redis";
/// Documents that are read from a collection at a time.
const PAGE: usize = 1000;

/// Which keys.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct CmsArgs {
    /// With cms-redis: what the keys begin with
    #[arg(long, value_name = "TEXT", default_value = PREFIX)]
    key_prefix: String,
}

/// Refuses a collection whose fingerprints are made in another way: between those two kinds a distance says nothing.
pub(crate) fn must_fit(name: &str, recipe: &Recipe) -> Result<(), Failure> {
    let (own, settings) = (Recipe::built_in(RECIPE)?, recipe.settings());
    if own.settings().simhash == settings.simhash {
        return Ok(());
    }
    let is = &settings.name;
    Err(Failure::Input(format!(
        "the collection {name:?} has fingerprints of the recipe {is}, and those of this CMS are made in another way: use a \
         collection of its own with --collection NAME, made with --recipe {RECIPE} or one that says nothing else about [simhash]"
    )))
}

/// Opens the library at an address.
pub(crate) fn open(address: &str, args: &CmsArgs) -> Result<Library, Failure> {
    Ok(Library::open(address, &args.key_prefix)?)
}

/// Takes over what a library has; documents of the same id are replaced.
pub(crate) fn import(
    collection: &Collection,
    (library, address): (&Library, &str),
    args: &CmsArgs,
    problems: &mut Problems,
) -> Result<Imported, Failure> {
    must_fit(collection.name(), &collection.settings().recipe)?;
    let place = without_password(address);
    let progress = Progress::new("documents");
    let recipe = collection.recipe_digest().to_string();
    let (mut done, mut bad) = (Imported::default(), 0);
    let mut each = |entries: Vec<Entry>| {
        // As lines of an export, so that they are checked as any import is.
        let line = |Entry { id, fingerprint }: &Entry| {
            let simhash = format!("{fingerprint:016x}");
            format!("{}\n", serde_json::json!({ "id": id, "recipe": recipe, "simhash": simhash }))
        };
        let lines: String = entries.iter().map(line).collect();
        let mut refused = |_, error| problems.report(&format!("{place}: {error}"));
        let page = collection.import(&mut Cursor::new(lines), &mut refused, &mut |_| {})?;
        (done.kept, done.bad) = (done.kept + page.kept, done.bad + page.bad);
        progress.reached(done.kept);
        Ok::<(), Failure>(())
    };
    let mut strange = Vec::new();
    library.read(&mut each, &mut |what| {
        bad += 1;
        // The first ones show what kind of thing it is.
        if strange.len() < 5 {
            strange.push(what.to_owned());
        }
    })?;
    strange.iter().for_each(|what| problems.report(what));
    problems.more(bad - strange.len() as u64, &place);
    done.bad += bad;
    if done.kept + done.bad == 0 {
        let prefix = &args.key_prefix;
        warn(&format!("{place}: no key begins with {prefix:?}; name what they begin with by --key-prefix"));
    }
    Ok(done)
}

/// Writes the fingerprints of a collection into a library.
pub(crate) fn export(detector: &Detector, name: &str, address: &str, args: &CmsArgs) -> Result<u64, Failure> {
    for info in detector.collections()?.iter().filter(|info| info.name == name) {
        if let Some(settings) = &info.settings {
            must_fit(name, &settings.recipe)?;
        }
    }
    let library = open(address, args)?;
    let progress = Progress::new("documents");
    let (mut written, mut without, mut after): (u64, u64, Option<String>) = (0, 0, None);
    loop {
        let page = detector.store().scan(name, after.as_deref(), PAGE, Want::Record)?;
        let Some(last) = page.last() else { break };
        after = Some(last.record.id.clone());
        let mut entries = Vec::with_capacity(page.len());
        for stored in page {
            let Some(fingerprint) = stored.record.signals.near(Space::DOCUMENTS) else {
                without += 1;
                continue;
            };
            if fingerprint.width() != 64 {
                let width = fingerprint.width();
                return Err(Failure::Input(format!(
                    "the collection {name:?} has fingerprints of {width} bits, and this layout is for 64: use a collection \
                     with --recipe {RECIPE}"
                )));
            }
            entries.push(Entry { id: stored.record.id, fingerprint: Fingerprint::low64(fingerprint) });
        }
        library.add(&entries)?;
        written += entries.len() as u64;
        progress.reached(written);
    }
    if without > 0 {
        let documents = size::count(without, "document has", "documents have");
        warn(&format!("{documents} too little text for a SimHash: nothing was written of them"));
    }
    Ok(written)
}
