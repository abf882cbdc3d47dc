//! `leitong export` and `leitong import`: a collection as lines of JSON.

use super::batch::size;
use super::cms::{self, CmsArgs};
use super::db::{self, CollectionArgs, DbArgs, SettingsArgs};
use crate::input::{self, Place};
use crate::output::file::Output;
use crate::output::{self, Exit, Failure, Problems, Progress};
use leitong_detect::detector::exchange::Imported;
use leitong_detect::detector::{Collection, DetectError};
use leitong_detect::recipe::{self, Recipe};
use leitong_store::redis::cms::Library;
use serde_json::json;
use std::io::{BufReader, Write};
use std::path::{Path, PathBuf};

/// Flags of `export`.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  leitong export --db news -o news.jsonl.zst\n  \
    leitong export --db news --collection blogs | jq -r .title\n  \
    leitong export --db news --to cms-redis -o redis://127.0.0.1:6379\n\n\
    A line is an object with id, text, title, source, published, expires, recipe, simhash, exact, cluster and metadata; \
    what a document does not have is left out. Documents come in the order of their ids.")]
pub(crate) struct Args {
    #[command(flatten)]
    db: DbArgs,
    #[command(flatten)]
    name: CollectionArgs,
    /// Where to: a file, compressed if the name ends in .gz or .zst, or with --to the address of a server [default: standard
    /// output]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// In the form of another system: `cms-redis` writes fingerprints into the Redis keys of that CMS
    #[arg(long, value_enum, value_name = "FORM", requires = "output")]
    to: Option<Form>,
    #[command(flatten)]
    cms: CmsArgs,
    /// Print what was done as one JSON object, where the lines go to a file
    #[arg(long)]
    json: bool,
}

/// Flags of `import`.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  leitong import news.jsonl.zst --db copy\n  \
    leitong export --db news | leitong import - --db other --recipe own.toml\n  \
    leitong import --from cms-redis redis://127.0.0.1:6379 --db news\n\n\
    Fingerprints that were made with the collection's recipe are kept; others are made anew from the texts. Documents of the \
    same id are replaced. For files that are not exports use `leitong add`.")]
pub(crate) struct ImportArgs {
    /// Exports (.jsonl, also .gz and .zst); `-` is standard input; with --from the address of a server
    #[arg(required = true, value_name = "INPUT")]
    inputs: Vec<PathBuf>,
    /// From another system: `cms-redis` takes over the fingerprints that are in the Redis keys of that CMS
    #[arg(long, value_enum, value_name = "FORM")]
    from: Option<Form>,
    #[command(flatten)]
    cms: CmsArgs,
    #[command(flatten)]
    db: DbArgs,
    #[command(flatten)]
    settings: SettingsArgs,
    /// Print what was done as one JSON object
    #[arg(long)]
    json: bool,
}

/// A form that is not ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Form {
    /// Redis sets `{cms}-duplicate-<16 bits>` with members `<decimal>-<id>`
    CmsRedis,
}

pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let name = &args.name.collection;
    let documents = db::with(&args.db, "export", false, |database| {
        // Whether it is there is to be known before a file is made.
        database.must_have(name)?;
        if let (Some(Form::CmsRedis), Some(address)) = (args.to, &args.output) {
            return cms::export(&database.detector, name, &address.to_string_lossy(), &args.cms);
        }
        args.output.iter().try_for_each(|path| no_address(path, "--to"))?;
        let progress = Progress::new("documents");
        let export =
            |out: &mut dyn Write| database.detector.export(name, out, &mut |count| progress.reached(count));
        match &args.output {
            None => Ok(export(&mut output::stdout())?),
            Some(path) => to_file(path, export),
        }
    })?;
    if let Some(path) = &args.output {
        let mut out = output::stdout();
        let path = db::without_password(&path.to_string_lossy()).into_owned();
        if args.json {
            writeln!(out, "{}", json!({ "collection": name, "documents": documents, "file": path }))?;
        } else {
            let documents = size::count(documents, "document", "documents");
            writeln!(out, "exported\t{}\t{documents}", output::in_line(&path))?;
        }
        out.flush()?;
    }
    Ok(Exit::Fine)
}

/// Writes a file that is whole or not there.
fn to_file(
    path: &Path,
    mut export: impl FnMut(&mut dyn Write) -> Result<u64, DetectError>,
) -> Result<u64, Failure> {
    let mut file = Output::create(path)?;
    let documents = export(&mut file)?;
    file.close()?.publish()?;
    Ok(documents)
}

pub(crate) fn import(args: &ImportArgs) -> Result<Exit, Failure> {
    let mut problems = Problems::default();
    let mut done = Imported::default();
    let libraries = match args.from {
        Some(Form::CmsRedis) => args.libraries()?,
        None => {
            args.inputs.iter().try_for_each(|path| no_address(path, "--from"))?;
            if args.inputs.iter().all(|path| path.as_os_str() != "-" && !path.exists()) {
                args.inputs
                    .iter()
                    .filter_map(|path| input::open_export(path).err())
                    .for_each(|error| problems.report(&error));
                return Ok(problems.exit(0));
            }
            Vec::new()
        }
    };
    db::with(&args.db, "import", true, |database| {
        let usual = args.from.map_or(recipe::DEFAULT, |Form::CmsRedis| cms::RECIPE);
        let collection = database.collection_for(&args.settings, usual)?;
        for (library, address) in &libraries {
            let Imported { kept, made, bad } =
                cms::import(&collection, (library, address), &args.cms, &mut problems)?;
            (done.kept, done.made, done.bad) = (done.kept + kept, done.made + made, done.bad + bad);
        }
        if libraries.is_empty() {
            args.inputs
                .iter()
                .try_for_each(|path| import_one(&collection, path, &mut problems, &mut done))?;
        }
        Ok(())
    })?;
    let Imported { kept, made, bad } = done;
    let mut out = output::stdout();
    if args.json {
        writeln!(out, "{}", json!({ "imported": kept + made, "kept": kept, "made": made, "bad": bad }))?;
    } else {
        let documents = kept + made;
        let documents = size::count(documents, "document", "documents");
        writeln!(out, "imported\t{documents}\t{kept} with their fingerprints, {made} made anew")?;
    }
    out.flush()?;
    Ok(problems.exit(kept + made + bad))
}

impl ImportArgs {
    /// The libraries that are to be taken over, with their addresses: opened before a database is made that would stay behind empty.
    fn libraries(&self) -> Result<Vec<(Library, String)>, Failure> {
        if let Some(asked) = &self.settings.recipe {
            cms::must_fit(&self.settings.name.collection, &Recipe::open(asked)?)?;
        }
        let open = |path: &PathBuf| {
            let address = path.to_string_lossy().into_owned();
            Ok((cms::open(&address, &self.cms)?, address))
        };
        self.inputs.iter().map(open).collect()
    }
}

/// Refuses an address where a file is meant; what is forgotten is the form.
fn no_address(path: &Path, flag: &str) -> Result<(), Failure> {
    let name = path.to_string_lossy();
    if !name.contains("://") {
        return Ok(());
    }
    let shown = db::without_password(&name);
    Err(Failure::Input(format!(
        "{shown}: this is an address and no file; for the library of a CMS give {flag} cms-redis too"
    )))
}

fn import_one(
    collection: &Collection,
    path: &Path,
    problems: &mut Problems,
    done: &mut Imported,
) -> Result<(), Failure> {
    let (input, name) = match input::open_export(path) {
        Ok(open) => open,
        Err(error) => {
            done.bad += 1;
            problems.report(&error);
            return Ok(());
        }
    };
    let progress = Progress::new("documents");
    let mut bad = |line, error| problems.report(&format!("{}: {error}", Place::line(&name, line)));
    let mut lines = BufReader::with_capacity(1 << 16, input);
    let imported = collection.import(&mut lines, &mut bad, &mut |line| progress.reached(line));
    match imported {
        Ok(Imported { kept, made, bad }) => {
            (done.kept, done.made, done.bad) = (done.kept + kept, done.made + made, done.bad + bad);
            Ok(())
        }
        Err(DetectError::Read { line, source }) => Err(Failure::Input(format!(
            "{}: reading failed: {source}; the lines before it are imported, fetch the file again",
            Place::line(&name, line + 1)
        ))),
        Err(error) => Err(error.into()),
    }
}
