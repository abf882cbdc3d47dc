//! `leitong similar`: what is stored near a stored document, page by page.

use super::answers::{self, Answer, Bad};
use super::db::{self, DbArgs};
use super::ids::{IdArgs, IdItem};
use crate::output::{self, Exit, Failure, coloured, in_line, matches, time};
use anstyle::AnsiColor;
use leitong_detect::detector::{
    Collection, Cursor, DEFAULT_COLLECTION, DEFAULT_LIMIT, DetectError, Evidence, Filter, Match,
    SimilarOptions, SimilarPage, Sort,
};
use serde_json::json;

/// Flags.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    leitong similar news-1 --db news\n  \
    leitong similar news-1 --db news --sort newest --where 'published>=2024-05-01' --limit 5 --json\n  \
    leitong similar news-1 --db news --limit 100 --after TOKEN       the page behind \"next\" of the one before\n  \
    leitong similar news-1 --db news --collection news --collection blogs\n\n\
    The document is taken from the first --collection; all of them are searched. Columns: the verdict, the id, the match, the \
    distance, Jaccard, when it was published, its title.")]
pub(crate) struct Args {
    #[command(flatten)]
    ids: IdArgs,
    #[command(flatten)]
    db: DbArgs,
    /// Where to search; the document itself is in the first
    #[arg(long, value_name = "NAME", default_value = DEFAULT_COLLECTION)]
    collection: Vec<String>,
    /// Where the document itself is, if not in the first --collection
    #[arg(long, value_name = "NAME")]
    from: Option<String>,
    /// In which order
    #[arg(long, value_enum, default_value_t)]
    sort: Order,
    /// Only what is stored so counts; several must all hold
    #[arg(long = "where", value_name = "FILTER", value_parser = Filter::parse)]
    filters: Vec<Filter>,
    /// The most bits in which near duplicates differ, if less than the collection's
    #[arg(long, value_name = "K")]
    distance: Option<u32>,
    /// Most matches of a document
    #[arg(long, value_name = "N", default_value_t = DEFAULT_LIMIT as u64)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    limit: u64,
    /// Go on behind this: "next" of the page before
    #[arg(long, value_name = "TOKEN")]
    after: Option<Cursor>,
    /// Say which passages both texts have
    #[arg(long)]
    evidence: bool,
    /// Print one JSON object a document
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Default, clap::ValueEnum)]
enum Order {
    /// The nearest first, then the oldest
    #[default]
    Distance,
    /// The latest published first, those without a date last
    Newest,
}

pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    db::with(&args.db, "similar", false, |database| {
        let own = args.from.as_deref().or(args.collection.first().map(String::as_str));
        let collection = database.collection(own.unwrap_or(DEFAULT_COLLECTION))?;
        let options = SimilarOptions {
            distance: args.distance,
            sort: match args.sort {
                Order::Distance => Sort::Distance,
                Order::Newest => Sort::Newest,
            },
            filter: args.filters.iter().cloned().fold(Filter::default(), Filter::and),
            limit: args.limit as usize,
            after: args.after.clone(),
            collections: args.collection.clone(),
            evidence: if args.evidence { Evidence::Passages } else { Evidence::Scores },
        };
        answers::print(args.ids.feed()?, "documents", &|bad| failed(args.json, bad), &mut |batch| {
            batch.into_iter().map(|item| one(&collection, item, &options, args.json)).collect()
        })
    })
}

fn one(
    collection: &Collection,
    item: IdItem,
    options: &SimilarOptions,
    as_json: bool,
) -> Result<Answer, Failure> {
    let id = match item {
        Ok((id, _)) => id,
        Err(error) => return Ok(Err(error.into())),
    };
    match collection.similar(&id, options) {
        Ok(page) => Ok(Ok(if as_json { page_json(&id, &page) } else { lines(&id, &page) })),
        // Wrong with this document alone.
        Err(error @ (DetectError::NoDocument { .. } | DetectError::Cursor(_))) => {
            Ok(Err(Bad { id, message: error.to_string() }))
        }
        Err(error) => Err(error.into()),
    }
}

fn failed(as_json: bool, bad: &Bad) -> String {
    if as_json {
        return json!({ "id": bad.id, "matches": [], "next": null, "error": bad.message }).to_string();
    }
    format!("{}\t{}", coloured("error", AnsiColor::Red), in_line(&bad.id))
}

fn page_json(id: &str, page: &SimilarPage) -> String {
    let next = page.next.as_ref().map(Cursor::to_string);
    json!({ "id": id, "matches": matches::list(&page.matches), "next": next }).to_string()
}

fn lines(id: &str, page: &SimilarPage) -> String {
    if let Some(next) = &page.next {
        output::note(&format!("{}: there are more, go on with --after {next}", in_line(id)));
    }
    if page.matches.is_empty() {
        return format!("{}\t{}", coloured("none", AnsiColor::Green), in_line(id));
    }
    let line = |found: &Match| {
        let distance = found.distance.map_or("-".into(), |distance| distance.to_string());
        let jaccard = found.jaccard.map_or("-".into(), |jaccard| format!("{jaccard:.3}"));
        let published = found.published.map_or("-".into(), time::utc);
        let title = in_line(found.title.as_deref().unwrap_or("-"));
        let (verdict, own, other) = (matches::verdict(found), in_line(id), in_line(&found.id));
        let passages = matches::passages(std::slice::from_ref(found));
        format!("{verdict}\t{own}\t{other}\t{distance}\t{jaccard}\t{published}\t{title}{passages}")
    };
    page.matches.iter().map(line).collect::<Vec<_>>().join("\n")
}
