//! Queries in groups: enough on their way at the same time to keep the memory busy, few enough to stay in the first
//! cache.

use super::{Found, HammingError};
use crate::machine::columns::Scan;
use crate::{Level, Value, machine};

/// A search that works on several queries at once.
pub(crate) trait Grouped<V> {
    /// Memory to be used again.
    type Scratch;

    /// How many queries make a group.
    fn size(&self) -> usize;

    /// Searches one group, the first of which is query number `first`. Must be `#[inline(always)]`.
    fn group<S: Scan>(
        &self,
        queries: &[V],
        first: usize,
        scratch: &mut Self::Scratch,
        found: &mut impl FnMut(Found),
    ) -> Result<(), HammingError>;
}

/// Searches all queries, compiled for the level.
pub(crate) fn search<V: Value, G: Grouped<V>>(
    level: Level,
    search: &G,
    queries: &[V],
    scratch: &mut G::Scratch,
    found: &mut impl FnMut(Found),
) -> Result<(), HammingError> {
    machine::run(level, AllGroups { search, queries, scratch, found })
}

struct AllGroups<'a, V, G: Grouped<V>, F> {
    search: &'a G,
    queries: &'a [V],
    scratch: &'a mut G::Scratch,
    found: &'a mut F,
}

impl<V: Value, G: Grouped<V>, F: FnMut(Found)> machine::Task for AllGroups<'_, V, G, F> {
    type Output = Result<(), HammingError>;

    #[inline(always)]
    fn run<S: Scan>(self) -> Self::Output {
        let size = self.search.size();
        for (group, queries) in self.queries.chunks(size).enumerate() {
            self.search.group::<S>(queries, group * size, self.scratch, self.found)?;
        }
        Ok(())
    }
}
