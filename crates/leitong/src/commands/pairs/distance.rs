//! `--judge distance`: pairs by the distance of their SimHashes alone, as the seed documents judge.

use super::{Args, PAIRED, TOGETHER, Writer};
use crate::commands::batch::fingerprints::Fingerprints;
use crate::output::Failure;
use leitong_detect::batch::{Pair, Run};
use leitong_detect::verdict::Verdict;
use leitong_index::join::{Collect, Join, Side};
use rayon::prelude::*;
use std::collections::BTreeMap;

/// Calls the writer with every pair of different texts within `k` bits, by the later one.
pub(super) fn write(
    args: &Args,
    run: &Run,
    hashes: &Fingerprints,
    writer: &mut Writer<'_>,
) -> Result<(), Failure> {
    let (documents, values) = words(run, hashes)?;
    let found = Collect::default();
    let join = Join {
        k: args.within(),
        threads: rayon::current_num_threads(),
        memory: args.batch.memory(),
        ..Join::default()
    };
    join.pairs(&values[..], &found)?;
    let mut pairs: Vec<(u32, u32)> = Vec::new();
    each_pair(&found, args.all_pairs, |a, b| {
        let (a, b) = (documents[a as usize], documents[b as usize]);
        pairs.push((a.max(b), a.min(b)));
    });
    pairs.sort_unstable();
    for some in pairs.chunks(TOGETHER) {
        let judge = |&(a, b): &(u32, u32)| {
            let mut pair = run.judge(a, b)?;
            // The distance has decided; the scores are for whoever looks at it.
            pair.ruling.verdict = Verdict::Near;
            Ok(pair)
        };
        let judged: Vec<Pair> = some.par_iter().map(judge).collect::<Result<_, Failure>>()?;
        judged.iter().try_for_each(|pair| writer.expand(pair))?;
    }
    Ok(())
}

/// One document of each text that has a SimHash, and the SimHashes.
fn words(run: &Run, hashes: &Fingerprints) -> Result<(Vec<u32>, Vec<u64>), Failure> {
    let (mut documents, mut values) = (Vec::new(), Vec::new());
    let firsts: Vec<u32> = (0..run.count()).filter(|&document| run.first(document) == document).collect();
    for some in firsts.chunks(TOGETHER) {
        let known = hashes.of(run, some.iter().copied())?;
        for &document in some {
            let Some(hash) = known.get(document) else { continue };
            let &[word] = hash.words() else {
                return Err(Failure::Input(format!(
                    "this recipe makes SimHashes of {} bits; --judge distance needs 64 or fewer",
                    hash.width()
                )));
            };
            documents.push(document);
            values.push(word);
        }
    }
    Ok((documents, values))
}

/// Every pair of positions; of very many with the same value the others go with the first only.
fn each_pair(found: &Collect, all: bool, mut each: impl FnMut(u32, u32)) {
    let mut equal: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for repeat in found.repeated(Side::Left) {
        equal.entry(repeat.first).or_insert_with(|| vec![repeat.first]).push(repeat.other);
    }
    let most = if all { usize::MAX } else { PAIRED };
    for group in equal.values() {
        for (at, &b) in group.iter().enumerate().skip(1) {
            let before = if at < most { &group[..at] } else { &group[..1] };
            before.iter().for_each(|&a| each(a, b));
        }
    }
    let of =
        |first: u32| equal.get(&first).map_or(vec![first], |group| group[..group.len().min(most)].to_vec());
    for pair in found.representatives() {
        let others = of(pair.b);
        for a in of(pair.a) {
            others.iter().for_each(|&b| each(a, b));
        }
    }
}
