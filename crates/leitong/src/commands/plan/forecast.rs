//! From a sample to the whole.

use super::sample::Sample;
use leitong_detect::batch::{least_memory, memory_left};

/// What a run will take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Forecast {
    pub(super) documents: u64,
    pub(super) bytes: u64,
    pub(super) seconds: f64,
    pub(super) memory: u64,
    pub(super) work: u64,
    pub(super) output: u64,
    pub(super) sampled: u64,
}

/// Bytes held of each mark that documents share: where its list is, twice, the list, and who is proposed for it.
const OF_SHARED: f64 = 32.0;
/// How much more a document takes for every corpus that is e times as large, as a share of taking it in: more is shared by chance, and
/// lies farther apart in memory. From runs with 50,000 to 800,000 documents.
const GROWTH: f64 = 0.13;
/// How lists of documents that share a mark grow with the corpus, as a power of it. From runs with 11,000 to 800,000 documents.
const LISTS: f64 = 1.6;
/// Bytes of the columns beside the texts.
const COLUMNS: f64 = 33.0;

impl Forecast {
    pub(super) fn of(sample: &Sample, memory: u64) -> Self {
        let times = (sample.all as f64 / sample.read.max(1) as f64).max(1.0);
        let documents = sample.documents as f64 * times;
        // Duplicates that lie apart are found in proportion to the square of what is looked at.
        let (near_by, apart) = (sample.near_by as f64 * times, sample.apart as f64 * times * times);
        let duplicates = (near_by + apart).min(documents);
        let growth = sample.taking * GROWTH * times.ln();
        // Of what a run may take a quarter is for marks, which are held as 8 bytes each until lists are made of them, and a half for
        // the lists; what does not fit is on disk. Of lists on disk each is read where a document stands in it.
        let least = least_memory(documents as u64);
        let left = memory_left(memory, documents as u64) as f64;
        let marks = sample.marks as f64 / 4.0 * times;
        let shared = sample.shared as f64 * times;
        let held = (marks * 8.0).max(shared * OF_SHARED).min(left);
        let spilled = if marks * 8.0 > left / 4.0 { marks * 10.0 } else { 0.0 };
        let grown = times.powf(LISTS);
        let on_disk = (1.0 - left / 2.0 / (sample.lists as f64 * grown).max(1.0)).max(0.0);
        let reads = (sample.listed as f64 * grown).min(marks) * on_disk;
        let reading = reads * sample.reading / rayon::current_num_threads() as f64;
        let steps = sample.taking + sample.finding + sample.copying + growth;
        let seconds = steps * times + sample.evidence * duplicates + reading;
        Self {
            documents: documents.round() as u64,
            bytes: sample.all,
            seconds: seconds.max(0.01),
            memory: least + held as u64,
            work: (sample.folder as f64 * times + documents * COLUMNS + spilled) as u64,
            output: sample.all.max((sample.texts as f64 * times) as u64),
            sampled: sample.documents,
        }
    }
}
