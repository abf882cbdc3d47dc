//! One index measured: build, all queries, then each alone with its answers checked.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::files;
use crate::truth::{Score, Truth};

/// Where the inputs are and how long to ask.
pub struct Task {
    /// The file of values.
    pub values: String,
    /// The file of queries.
    pub queries: String,
    /// What the truth's files start with.
    pub truth: String,
    /// The most bits that may differ.
    pub k: usize,
    /// Seconds after which a pass over the queries ends early.
    pub budget: f64,
}

/// A search that puts the ordinals it finds into a cleared list.
pub type Search<'a> = Box<dyn FnMut(u64, &mut Vec<u32>) + 'a>;

/// Measures an index and returns a JSON object.
pub fn index<I>(
    task: &Task,
    build: impl FnOnce(Vec<u64>) -> Result<I, String>,
    settings: impl FnOnce(&I) -> String,
    searcher: impl for<'a> FnOnce(&'a I) -> Search<'a>,
) -> Result<String, String> {
    let queries = files::read(Path::new(&task.queries))?;
    // From before the values are loaded to after the build: whoever needs them later has kept them.
    let before = files::memory("VmRSS");
    let values = files::read(Path::new(&task.values))?;
    let n = values.len();
    let start = Instant::now();
    let index = build(values)?;
    let build_s = start.elapsed().as_secs_f64();
    let bytes = files::memory("VmRSS").saturating_sub(before);
    let settings = settings(&index);
    let mut search = searcher(&index);
    let mut answers = Vec::new();
    let budget = Duration::from_secs_f64(task.budget);

    for &query in queries.iter().take(100) {
        answers.clear();
        search(query, &mut answers);
    }
    let start = Instant::now();
    let mut asked = 0;
    for part in queries.chunks(100) {
        for &query in part {
            answers.clear();
            search(query, &mut answers);
        }
        asked += part.len();
        if start.elapsed() > budget {
            break;
        }
    }
    let per_s = asked as f64 / start.elapsed().as_secs_f64();
    let peak = files::memory("VmHWM"); // before the truth is read

    let truth = Truth::open(&task.truth)?;
    let mut score = Score::default();
    let mut times = Vec::with_capacity(queries.len());
    let mut spent = Duration::ZERO;
    for (number, &query) in queries.iter().enumerate() {
        answers.clear();
        let start = Instant::now();
        search(query, &mut answers);
        let time = start.elapsed();
        times.push(time);
        score.add(&truth.of(number)?, &mut answers);
        spent += time;
        if spent > budget {
            break;
        }
    }
    times.sort_unstable();
    let at = |share: f64| {
        times[((times.len() as f64 * share) as usize).min(times.len() - 1)].as_nanos() as f64 / 1e3
    };
    Ok(format!(
        "{{\"settings\":\"{settings}\",\"n\":{n},\"build_s\":{build_s:.3},\"queries_per_s\":{per_s:.1},\"p50_us\":{:.2},\"p99_us\":{:.2},\
         \"peak_bytes\":{peak},\"bytes_per_item\":{:.1},{},\"queries\":{}}}",
        at(0.5),
        at(0.99),
        bytes as f64 / n as f64,
        score.json(),
        times.len(),
    ))
}
