//! Laying values into parts by some of their bits, within a ceiling of memory.
//!
//! One reading counts how many values each part of each pass gets. Where they do not all fit at once, a pass takes
//! several rounds, each with a range of parts and a reading of its own.

use super::batch::Input;
use super::equal::Seen;
use super::plan::{Pass, Plan};
use super::threads::on_threads;
use crate::machine::scatter;
use crate::memory::Buffer;
use crate::{Level, Value};
use std::io;
use std::ops::Range;

/// Values are collected in groups of this many before they are written to their part: whole cache lines.
pub(super) const GROUP: usize = 16;

/// Keys are read of this many values at a time.
const BLOCK: usize = 1024;

/// What is laid out, and how.
pub(super) struct Source<'a, V: Value> {
    pub(super) input: &'a Input<'a, V>,
    /// One for each thread.
    pub(super) ranges: &'a [Range<usize>],
    /// These are left out.
    pub(super) seen: &'a Seen,
    pub(super) level: Level,
}

/// Every thread reads one range of positions, in all passes the same.
pub(super) fn ranges(len: usize, threads: usize) -> Vec<Range<usize>> {
    // borders at whole words of the bit set of seen values
    let each = len.div_ceil(threads).next_multiple_of(64).max(64);
    (0..threads).map(|i| (i * each).min(len)..((i + 1) * each).min(len)).collect()
}

/// How many values of each range fall into each part of each pass: `[range][pass][part]`.
pub(super) type Counts = Vec<Vec<Vec<u32>>>;

/// Counts, reading everything once. `any_seen` tells whether there is something to leave out.
pub(super) fn count<V: Value>(source: &Source<'_, V>, plan: &Plan<V>, any_seen: bool) -> io::Result<Counts> {
    let &Source { input, seen, level, .. } = source;
    let of_range = |range: &Range<usize>| {
        let mut counts: Vec<Vec<u32>> = plan.passes.iter().map(|pass| vec![0; pass.parts()]).collect();
        let mut keys = [0; BLOCK];
        input.visit(range.clone(), |from, values| {
            // a block at a time through all passes, so that it is in the cache for all but the first
            for (from, values) in (from..).step_by(BLOCK).zip(values.chunks(BLOCK)) {
                let keys = &mut keys[..values.len()];
                for (pass, counts) in plan.passes.iter().zip(&mut counts) {
                    pass.part.read(level, values, keys);
                    if any_seen {
                        (from..).zip(&*keys).for_each(|(position, &part)| {
                            counts[part as usize] += u32::from(!seen.has(position));
                        });
                    } else {
                        keys.iter().for_each(|&part| counts[part as usize] += 1);
                    }
                }
            }
        })?;
        Ok(counts)
    };
    on_threads(source.ranges.iter().collect(), of_range).into_iter().collect()
}

/// A range of parts taken at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Round {
    pub(super) parts: Range<usize>,
    /// Places for values, with those that fill up groups.
    pub(super) places: usize,
    /// How many values the largest part has.
    pub(super) largest: usize,
}

/// Cuts a pass into as few rounds as fit: `bytes(parts, places, largest)` is what a round takes, `room` what there is.
/// A part that does not fit by itself is an error, with what it takes.
pub(super) fn rounds(
    counts: &Counts,
    pass: usize,
    room: u64,
    bytes: impl Fn(&Round) -> u64,
) -> Result<Vec<Round>, u64> {
    let mut rounds: Vec<Round> = Vec::new();
    let parts = counts.first().map_or(0, |counts| counts[pass].len());
    for part in 0..parts {
        let of_part = || counts.iter().map(|counts| counts[pass][part] as usize);
        let alone = Round {
            parts: part..part + 1,
            places: of_part().map(|count| count.next_multiple_of(GROUP)).sum(),
            largest: of_part().sum(),
        };
        if let Some(last) = rounds.last_mut() {
            let longer = Round {
                parts: last.parts.start..part + 1,
                places: last.places + alone.places,
                largest: last.largest.max(alone.largest),
            };
            if bytes(&longer) <= room {
                *last = longer;
                continue;
            }
        }
        let needed = bytes(&alone);
        if needed > room {
            return Err(needed);
        }
        rounds.push(alone);
    }
    Ok(rounds)
}

/// Values and their positions, laid into the parts of one round.
pub(super) struct Parts<V: Value> {
    values: Buffer<V>,
    positions: Buffer<u32>,
    /// For each part and range where its values begin and how many there are.
    pieces: Vec<(usize, usize)>,
    ranges: usize,
}

/// Values on their way to a part, in cache lines of their own.
#[derive(Clone)]
#[repr(align(64))]
struct Group<V> {
    values: [V; GROUP],
    positions: [u32; GROUP],
}

/// What one thread fills: for each part of the round a stretch of values and of positions.
struct Share<'a, V> {
    range: Range<usize>,
    stretches: Vec<(&'a mut [V], &'a mut [u32])>,
}

impl<V: Value> Parts<V> {
    /// Room for the largest of the rounds.
    pub(super) fn new(places: usize) -> io::Result<Self> {
        let (values, positions) = (Buffer::zeroed(places)?, Buffer::zeroed(places)?);
        Ok(Self { values, positions, pieces: Vec::new(), ranges: 0 })
    }

    /// Lays the values of the round's parts out, leaving those that have been seen before. Within a part positions
    /// ascend.
    pub(super) fn fill(
        &mut self,
        source: &Source<'_, V>,
        pass: &Pass<V>,
        round: &Round,
        sizes: impl Fn(usize, usize) -> usize,
    ) -> io::Result<()> {
        let mut shares: Vec<_> =
            source.ranges.iter().map(|range| Share { range: range.clone(), stretches: Vec::new() }).collect();
        self.pieces.clear();
        self.ranges = source.ranges.len();
        let (mut values, mut positions): (&mut [V], &mut [u32]) = (&mut self.values, &mut self.positions);
        let mut start = 0;
        for part in round.parts.clone() {
            for (range, share) in shares.iter_mut().enumerate() {
                let size = sizes(range, part).next_multiple_of(GROUP);
                let head;
                (head, values) = values.split_at_mut(size);
                let head_positions;
                (head_positions, positions) = positions.split_at_mut(size);
                share.stretches.push((head, head_positions));
                self.pieces.push((start, 0));
                start += size;
            }
        }
        let filled = on_threads(shares, |share| share.fill(source, pass, round));
        for (range, filled) in filled.into_iter().enumerate() {
            for (part, count) in filled?.into_iter().enumerate() {
                self.pieces[part * self.ranges + range].1 = count as usize;
            }
        }
        Ok(())
    }

    /// The values of a part of the round, counted from its first, with their positions; one piece per range.
    pub(super) fn part(&self, part: usize) -> impl Iterator<Item = (&[V], &[u32])> + Clone {
        self.pieces[part * self.ranges..(part + 1) * self.ranges]
            .iter()
            .map(|&(start, len)| (&self.values[start..start + len], &self.positions[start..start + len]))
    }
}

impl<V: Value> Share<'_, V> {
    /// Reads the range and writes its values; how many there are in each part.
    fn fill(mut self, source: &Source<'_, V>, pass: &Pass<V>, round: &Round) -> io::Result<Vec<u32>> {
        let &Source { input, seen, level, .. } = source;
        let first = round.parts.start;
        let parts = round.parts.len();
        let mut filled = vec![0_u32; parts];
        let mut groups = vec![Group { values: [V::ZERO; GROUP], positions: [0; GROUP] }; parts];
        let stretches = &mut self.stretches;
        let mut keys = [0; BLOCK];
        let all = parts == pass.parts();
        let mut chosen: [u16; BLOCK] = std::array::from_fn(|i| i as u16);
        input.visit(self.range, |from, values| {
            for (from, values) in (from..).step_by(BLOCK).zip(values.chunks(BLOCK)) {
                let keys = &mut keys[..values.len()];
                pass.part.read(level, values, keys);
                let count = if all { values.len() } else { choose(keys, &round.parts, &mut chosen) };
                for &i in &chosen[..count] {
                    let (position, value) = (from + i as usize, values[i as usize]);
                    let part = keys[i as usize] as usize - first;
                    if seen.has(position) {
                        continue;
                    }
                    let place = filled[part] as usize;
                    filled[part] += 1;
                    let group = &mut groups[part];
                    group.values[place % GROUP] = value;
                    group.positions[place % GROUP] = position as u32;
                    if place % GROUP == GROUP - 1 {
                        let stretch = &mut stretches[part];
                        let start = place + 1 - GROUP;
                        scatter::stream(level, &group.values, &mut stretch.0[start..=place]);
                        scatter::stream(level, &group.positions, &mut stretch.1[start..=place]);
                    }
                }
            }
        })?;
        for ((&count, group), stretch) in filled.iter().zip(&groups).zip(stretches) {
            let start = count as usize / GROUP * GROUP;
            let rest = count as usize - start;
            stretch.0[start..start + rest].copy_from_slice(&group.values[..rest]);
            stretch.1[start..start + rest].copy_from_slice(&group.positions[..rest]);
        }
        scatter::finish();
        Ok(filled)
    }
}

/// Lists the places of the keys within a range, and returns how many there are. Without a branch: whether a value
/// belongs to the round cannot be guessed.
fn choose(keys: &[u32], range: &Range<usize>, chosen: &mut [u16; BLOCK]) -> usize {
    let (first, len) = (range.start as u32, range.len() as u32);
    let mut count = 0;
    for (i, key) in keys.iter().enumerate() {
        chosen[count % BLOCK] = i as u16;
        count += usize::from(key.wrapping_sub(first) < len);
    }
    count
}
