//! The exact answers by comparing everything with everything, so that they depend on no index, and the check against them.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::files;

/// For each query the ordinals of the values within `k` bits, ascending.
pub fn scan(values: &[u64], queries: &[u64], k: u32) -> Vec<Vec<u32>> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let share = queries.len().div_ceil(threads).max(1);
    std::thread::scope(|scope| {
        let parts: Vec<_> =
            queries.chunks(share).map(|part| scope.spawn(move || scan_part(values, part, k))).collect();
        parts
            .into_iter()
            .flat_map(|part| part.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    })
}

fn scan_part(values: &[u64], queries: &[u64], k: u32) -> Vec<Vec<u32>> {
    const BLOCK: usize = 2048; // stays in the first-level cache while all queries pass over it
    let mut answers = vec![Vec::new(); queries.len()];
    for (number, block) in values.chunks(BLOCK).enumerate() {
        for (query, answer) in queries.iter().zip(&mut answers) {
            // Counting has no branch and becomes vector code; the rare block with a hit is looked at again.
            let hits: u64 = block.iter().map(|value| u64::from((value ^ query).count_ones() <= k)).sum();
            if hits > 0 {
                let near = block.iter().enumerate().filter(|(_, value)| (*value ^ query).count_ones() <= k);
                answer.extend(near.map(|(i, _)| (number * BLOCK + i) as u32));
            }
        }
    }
    answers
}

/// Answers on disk: `PREFIX.offsets.u64` (one more than queries) and `PREFIX.ordinals.u32`.
pub struct Truth {
    offsets: Vec<u64>,
    ordinals: File,
}

impl Truth {
    /// Writes answers.
    pub fn write(prefix: &str, answers: &[Vec<u32>]) -> Result<(), String> {
        let mut offsets = vec![0u64];
        let mut end = 0;
        for answer in answers {
            end += answer.len() as u64;
            offsets.push(end);
        }
        files::write(
            Path::new(&format!("{prefix}.ordinals.u32")),
            answers.iter().flatten().map(|ordinal| ordinal.to_le_bytes()),
        )?;
        files::write(
            Path::new(&format!("{prefix}.offsets.u64")),
            offsets.iter().map(|offset| offset.to_le_bytes()),
        )
    }

    /// Opens answers; the ordinals stay on disk, a pile-up has very many of them.
    pub fn open(prefix: &str) -> Result<Self, String> {
        let path = format!("{prefix}.ordinals.u32");
        let ordinals = File::open(&path).map_err(|error| format!("{path}: {error}; run.py makes it"))?;
        Ok(Self { offsets: files::read(Path::new(&format!("{prefix}.offsets.u64")))?, ordinals })
    }

    /// The answers of one query.
    pub fn of(&self, query: usize) -> Result<Vec<u32>, String> {
        let (start, end) = (self.offsets[query], self.offsets[query + 1]);
        let mut bytes = vec![0; (end - start) as usize * 4];
        self.ordinals
            .read_exact_at(&mut bytes, start * 4)
            .map_err(|error| format!("the truth cannot be read ({error}); delete it and run again"))?;
        Ok(bytes.as_chunks().0.iter().map(|chunk| u32::from_le_bytes(*chunk)).collect())
    }
}

/// How many answers were expected, found and wrong.
#[derive(Default)]
pub struct Score {
    expected: u64,
    found: u64,
    extra: u64,
}

impl Score {
    /// Counts one query's answers in. Sorts `answers`; the same ordinal twice counts once.
    pub fn add(&mut self, truth: &[u32], answers: &mut Vec<u32>) {
        answers.sort_unstable();
        answers.dedup();
        let found = answers.iter().filter(|ordinal| truth.binary_search(ordinal).is_ok()).count();
        self.expected += truth.len() as u64;
        self.found += found as u64;
        self.extra += (answers.len() - found) as u64;
    }

    /// Two JSON members.
    pub fn json(&self) -> String {
        format!("\"recall\":{:.6},\"extra\":{}", self.found as f64 / self.expected.max(1) as f64, self.extra)
    }
}
