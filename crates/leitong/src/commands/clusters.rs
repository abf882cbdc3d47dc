//! `leitong clusters`: the centres that `leitong add --cluster` has made, and their members.

use super::db::{self, CollectionArgs, DbArgs};
use crate::output::{self, Exit, Failure, in_line, matches};
use leitong_detect::detector::{Cluster, Collection, Member};
use serde_json::{Value, json};
use std::io::Write;

/// Clusters or members fetched at a time.
const PAGE: usize = 256;

/// Flags.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  leitong clusters --db news\n  leitong clusters --db news --members news-1 --json\n  \
    leitong clusters --db news --limit 100 --after news-99\n\n\
    The centres are the deduplicated set. Columns: how many documents a cluster has, its centre, the centre's title; of \
    members their distance from the centre, their ids and titles."
)]
pub(crate) struct Args {
    #[command(flatten)]
    db: DbArgs,
    #[command(flatten)]
    name: CollectionArgs,
    /// List the documents of this centre's cluster, the oldest first
    #[arg(long, value_name = "CENTRE", conflicts_with = "after")]
    members: Option<String>,
    /// Most lines [default: all]
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Only centres behind this one, in the order of ids
    #[arg(long, value_name = "CENTRE")]
    after: Option<String>,
    /// Print one JSON object a line
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    db::with(&args.db, "clusters", false, |database| {
        let collection = database.collection(&args.name.collection)?;
        let mut out = output::stdout();
        match &args.members {
            Some(centre) => members(&mut out, args, &collection, centre)?,
            None => clusters(&mut out, args, &collection)?,
        }
        out.flush()?;
        Ok(Exit::Fine)
    })
}

fn clusters(out: &mut impl Write, args: &Args, collection: &Collection) -> Result<(), Failure> {
    let (mut left, mut after) = (args.limit.unwrap_or(usize::MAX), args.after.clone());
    while left > 0 {
        let page = collection.clusters(after.as_deref(), left.min(PAGE))?;
        let Some(last) = page.last() else { break };
        after = Some(last.centre.clone());
        left -= page.len().min(left);
        for Cluster { centre, title, source, published, members } in &page {
            if args.json {
                let mut object = json!({ "centre": centre, "members": members });
                matches::about(&mut object, title.as_deref(), source.as_deref(), *published);
                writeln!(out, "{object}")?;
            } else {
                let title = in_line(title.as_deref().unwrap_or("-"));
                writeln!(out, "{members}\t{}\t{title}", in_line(centre))?;
            }
        }
        out.flush()?;
    }
    Ok(())
}

fn members(out: &mut impl Write, args: &Args, collection: &Collection, centre: &str) -> Result<(), Failure> {
    let (mut left, mut after) = (args.limit.unwrap_or(usize::MAX), None);
    while left > 0 {
        let page = collection.members(centre, after, left.min(PAGE))?;
        if page.is_empty() && after.is_none() {
            return Err(Failure::Input(format!(
                "there is no cluster around {centre:?} in the collection {:?}; `leitong clusters` lists the centres",
                collection.name()
            )));
        }
        let Some(last) = page.last() else { break };
        after = Some(last.version);
        left -= page.len().min(left);
        for member in &page {
            if args.json {
                writeln!(out, "{}", member_json(centre, member))?;
            } else {
                let title = in_line(member.title.as_deref().unwrap_or("-"));
                writeln!(out, "{}\t{}\t{title}", member.distance, in_line(&member.id))?;
            }
        }
        out.flush()?;
    }
    Ok(())
}

fn member_json(centre: &str, member: &Member) -> Value {
    let Member { id, distance, title, source, published, version } = member;
    let mut object = json!({ "id": id, "centre": centre, "distance": distance, "version": version });
    matches::about(&mut object, title.as_deref(), source.as_deref(), *published);
    object
}
