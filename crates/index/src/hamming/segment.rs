//! A segment: fingerprints that no longer change, in the layout that suits their number.

use super::cells::{self, Cells};
use super::columns::{self, Columns};
use super::plan::{self, Choice};
use super::{Found, HammingError, MOST_ITEMS};
use crate::files::{self, Output, Part, Sections};
use crate::memory::Section;
use crate::{Level, Value};
use std::ops::Range;
use std::path::Path;

/// Fingerprints to be indexed, readable in pieces and more than once.
///
/// A slice is one: its ordinals are its places. So is a generator, or a file too large for the memory.
pub trait Source<V>: Sync {
    /// How many pieces can be asked for. A piece gives no, one or several items.
    fn rows(&self) -> usize;

    /// How many items there are in all.
    fn items(&self) -> u64 {
        self.rows() as u64
    }

    /// Appends ordinals and values of the pieces in `range`, always the same ones for the same range. An ordinal occurs
    /// once and is below [`MOST_ITEMS`].
    fn read(&self, range: Range<usize>, items: &mut Vec<(u32, V)>) -> Result<(), HammingError>;
}

impl<V: Value> Source<V> for [V] {
    fn rows(&self) -> usize {
        self.len()
    }

    fn read(&self, range: Range<usize>, items: &mut Vec<(u32, V)>) -> Result<(), HammingError> {
        items.extend((range.start as u32..).zip(&self[range]).map(|(ordinal, &value)| (ordinal, value)));
        Ok(())
    }
}

/// How the fingerprints of a segment are laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Layout {
    /// A table per block with a dense column to scan: the fastest up to some ten million fingerprints.
    Columns,
    /// Tables of packed cells, as many as the blocks of the ring rule: the fastest for a hundred million.
    Ring,
    /// Few tables of packed cells, their neighbours visited too: the smallest, and the fastest for larger distances.
    Cells,
}

/// How a segment is built.
#[derive(Clone, Debug)]
pub struct Build {
    /// The largest distance that will be asked for.
    pub k: u32,
    /// Bytes the finished index may take for each fingerprint; no limit if `None`. The smallest layout is taken where none fits.
    pub bytes_per_item: Option<f64>,
    /// Which layout; chosen by size, distance and `bytes_per_item` if `None`.
    pub layout: Option<Layout>,
    /// Memory for building, in bytes, besides the index itself where that is kept in memory.
    pub memory: u64,
}

impl Build {
    /// For distances up to `k`.
    #[must_use]
    pub fn new(k: u32) -> Self {
        Self { k, bytes_per_item: None, layout: None, memory: 8 << 30 }
    }

    /// An index in memory.
    pub fn in_memory<V: Value>(
        &self,
        source: &(impl Source<V> + ?Sized),
    ) -> Result<Segment<V>, HammingError> {
        self.write(&source, Output::memory())
    }

    /// An index in a file, which is then opened.
    pub fn to_file<V: Value>(
        &self,
        source: &(impl Source<V> + ?Sized),
        path: &Path,
    ) -> Result<Segment<V>, HammingError> {
        check_number(source.items())?;
        let expected = plan::choose::<V>(source.items(), self)?.bytes_per_item::<V>(source.items())
            * source.items() as f64;
        self.write(&source, Output::file(&super::KIND, path, expected as u64)?)
    }

    fn write<V: Value>(
        &self,
        source: &dyn Source<V>,
        mut output: Output,
    ) -> Result<Segment<V>, HammingError> {
        let items = source.items();
        check_number(items)?;
        let choice = plan::choose::<V>(items, self)?;
        let mut parameters = vec![choice.number(), u64::from(V::WIDTH), u64::from(self.k), items];
        parameters.extend(match &choice {
            Choice::Columns { .. } => {
                let mut list = Vec::with_capacity(source.rows());
                source.read(0..source.rows(), &mut list)?;
                list.sort_unstable_by_key(|item| item.0);
                let values: Vec<V> = list.iter().map(|item| item.1).collect();
                if list.iter().zip(0..).any(|(item, place)| item.0 != place) {
                    let ordinals: Vec<u32> = list.iter().map(|item| item.0).collect();
                    output.whole(Part::Ordinals, &[&ordinals])?;
                }
                drop(list);
                columns::write(&values, self.k, &mut output)?
            }
            Choice::Cells(shape) => cells::build::write(source, shape, self.memory, &mut output)?,
        });
        Segment::from_sections(output.finish(parameters)?)
    }
}

fn check_number(items: u64) -> Result<(), HammingError> {
    if items > MOST_ITEMS { Err(HammingError::TooMany { items }) } else { Ok(()) }
}

impl<V, S: Source<V> + ?Sized> Source<V> for &S {
    fn rows(&self) -> usize {
        (**self).rows()
    }

    fn items(&self) -> u64 {
        (**self).items()
    }

    fn read(&self, range: Range<usize>, items: &mut Vec<(u32, V)>) -> Result<(), HammingError> {
        (**self).read(range, items)
    }
}

/// Fingerprints that no longer change. Many threads may search it at once, each with its own [`Searcher`].
#[derive(Debug)]
pub struct Segment<V> {
    k: u32,
    items: u64,
    layout: Layout,
    body: Body<V>,
}

#[derive(Debug)]
enum Body<V> {
    Columns { columns: Columns<V>, ordinals: Option<Section<u32>> },
    Cells(Cells<V>),
}

impl<V: Value> Segment<V> {
    /// Opens a segment file without reading it: what is read later is checked then.
    pub fn open(path: &Path) -> Result<Self, HammingError> {
        Self::from_sections(files::open(&super::KIND, path)?)
    }

    fn from_sections(sections: Sections) -> Result<Self, HammingError> {
        let parameters = sections.parameters.clone();
        let Some((&[number, width, k, items], rest)) = parameters.split_first_chunk() else {
            return Err(sections.refused("its parameters are missing").into());
        };
        if width != u64::from(V::WIDTH) {
            let path = sections.path().unwrap_or(Path::new("(memory)")).to_owned();
            return Err(HammingError::Width { path, found: width, expected: V::WIDTH });
        }
        let k = k as u32;
        let (layout, body) = match number {
            plan::COLUMNS => {
                let ordinals =
                    sections.has(Part::Ordinals).then(|| sections.get(Part::Ordinals)).transpose()?;
                (Layout::Columns, Body::Columns { columns: Columns::open(sections, rest, k)?, ordinals })
            }
            plan::RING => (Layout::Ring, Body::Cells(Cells::open(sections, rest)?)),
            plan::CELLS => (Layout::Cells, Body::Cells(Cells::open(sections, rest)?)),
            other => {
                return Err(sections
                    .refused(&format!("its layout {other} is not known here: use a newer program"))
                    .into());
            }
        };
        Ok(Self { k, items, layout, body })
    }

    /// The largest distance that can be asked for.
    #[must_use]
    pub fn k(&self) -> u32 {
        self.k
    }

    /// How many fingerprints there are.
    #[must_use]
    pub fn items(&self) -> u64 {
        self.items
    }

    /// How they are laid out.
    #[must_use]
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// Bytes of the index.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.sections().bytes()
    }

    fn sections(&self) -> &Sections {
        match &self.body {
            Body::Columns { columns, .. } => &columns.sections,
            Body::Cells(cells) => &cells.sections,
        }
    }

    /// A checksum of everything in its file; 0 in memory.
    pub(crate) fn identity(&self) -> u64 {
        self.sections().identity
    }

    /// Reads everything once and compares all checksums.
    pub fn verify(&self) -> Result<(), HammingError> {
        Ok(self.sections().verify()?)
    }

    /// Calls `found` with query, ordinal and distance of everything within `k` bits of the queries.
    pub(crate) fn find(
        &self,
        searcher: &mut Searcher,
        queries: &[V],
        k: u32,
        found: &mut impl FnMut(Found),
    ) -> Result<(), HammingError> {
        if k > self.k {
            return Err(HammingError::TooFar { asked: k, built: self.k });
        }
        match &self.body {
            Body::Columns { columns, ordinals: None } => {
                columns.find(searcher.level, queries, k, &mut searcher.columns, found)
            }
            Body::Columns { columns, ordinals: Some(ordinals) } => {
                let view = ordinals.view();
                let mut rows = std::mem::take(&mut searcher.found);
                rows.clear();
                columns.find(searcher.level, queries, k, &mut searcher.columns, &mut |row| {
                    view.expect_at(row.ordinal as usize, 0);
                    rows.push(row);
                })?;
                columns.sections.sound()?;
                for row in &rows {
                    found(Found { ordinal: view.items[row.ordinal as usize], ..*row });
                }
                searcher.found = rows;
                Ok(())
            }
            Body::Cells(cells) => cells.find(searcher.level, queries, k, &mut searcher.cells, found),
        }
    }

    /// Finds everything within `k` bits of each query: `found(query, ordinal, distance)`, each once, in no certain order.
    pub fn search(
        &self,
        searcher: &mut Searcher,
        queries: &[V],
        k: u32,
        mut found: impl FnMut(u32, u32, u32),
    ) -> Result<(), HammingError> {
        self.find(searcher, queries, k, &mut |f: Found| found(f.query, f.ordinal, f.distance))
    }
}

/// A segment's items, in no certain order: for merging.
impl<V: Value> Source<V> for Segment<V> {
    fn rows(&self) -> usize {
        match &self.body {
            Body::Columns { .. } => self.items as usize,
            Body::Cells(cells) => cells.rows(),
        }
    }

    fn items(&self) -> u64 {
        self.items
    }

    fn read(&self, range: Range<usize>, items: &mut Vec<(u32, V)>) -> Result<(), HammingError> {
        match &self.body {
            Body::Columns { columns, ordinals } => {
                let values = &columns.values()?[range.clone()];
                if let Some(ordinals) = ordinals {
                    let view = ordinals.view();
                    view.expect(range.start, range.end);
                    columns.sections.sound()?;
                    items.extend(view.items[range].iter().copied().zip(values.iter().copied()));
                } else {
                    items.extend((range.start as u32..).zip(values.iter().copied()));
                }
                Ok(())
            }
            Body::Cells(cells) => {
                cells.read(range.start, range.end, |ordinal, value| items.push((ordinal, value)))
            }
        }
    }
}

/// Memory for searches, to be used again by one thread, and how they are run.
#[derive(Debug)]
pub struct Searcher {
    pub(crate) level: Level,
    columns: columns::Scratch,
    cells: cells::Scratch,
    pub(crate) fresh: super::fresh::Scratch,
    found: Vec<Found>,
}

impl Searcher {
    /// At the best level the machine has.
    #[must_use]
    pub fn new() -> Self {
        Self::at(Level::best())
    }

    /// At a level, or the best below it that the machine has; the answers are the same.
    #[must_use]
    pub fn at(level: Level) -> Self {
        Self {
            level,
            columns: Default::default(),
            cells: Default::default(),
            fresh: Default::default(),
            found: Vec::new(),
        }
    }
}

impl Default for Searcher {
    fn default() -> Self {
        Self::new()
    }
}
