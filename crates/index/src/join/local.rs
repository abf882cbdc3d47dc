//! The pairs inside one part: sort by the rest of each mask, compare what stands together.

use super::equal::Seen;
use super::output::{Output, Writer};
use super::plan::{Key, Mask, Pass, SORT_BITS};
use super::sink::Sink;
use crate::machine::sweep::{PADDING, clear, sweep};
use crate::{Level, Value};
use std::ops::ControlFlow;

/// Pairs found in a part are held back up to this number where equal values are yet to be recognised among them.
const HELD: usize = 16 * 1024;

/// As many different keys occur at most.
const KEYS: usize = 1 << SORT_BITS;

/// The bytes a worker takes besides what depends on its largest part.
pub(super) const WORKER: u64 =
    (HELD * size_of::<(u32, u32)>()) as u64 + (KEYS * 4) as u64 + super::output::WRITER;

/// The bytes a worker takes for each value of its largest part: the key, the sorted copy, and where equal values
/// abound a list to sort them out and another of those left.
pub(super) const fn bytes_per_value<V: Value>() -> u64 {
    let item = size_of::<V>() + size_of::<u32>();
    (size_of::<u32>() + 2 * item + size_of::<(V, u32)>()) as u64
}

/// What a worker needs to know about the pass.
pub(super) struct Job<'a, V, S: ?Sized> {
    pub(super) pass: &'a Pass<V>,
    /// The masks of all passes before.
    pub(super) earlier: &'a [V],
    /// In the first pass equal values are yet to be found; in the later ones there are none.
    pub(super) first: bool,
    pub(super) k: u32,
    pub(super) seen: &'a Seen,
    pub(super) output: &'a Output<'a, S>,
    pub(super) level: Level,
}

/// One thread at work, with its memory.
pub(super) struct Worker<'a, V, S: Sink + ?Sized> {
    job: &'a Job<'a, V, S>,
    writer: Writer<'a, 'a, S>,
    values: Vec<V>,
    positions: Vec<u32>,
    keys: Vec<u32>,
    counts: Box<[u32; KEYS]>,
    held: Vec<(u32, u32)>,
    /// How many values were compared.
    pub(super) compared: u64,
}

impl<'a, V: Value, S: Sink + ?Sized> Worker<'a, V, S> {
    /// `largest` is the number of values of the largest part to come.
    pub(super) fn new(job: &'a Job<'a, V, S>, largest: usize) -> Self {
        Self {
            job,
            writer: job.output.writer(),
            values: vec![V::ZERO; largest + PADDING],
            positions: vec![0; largest],
            keys: vec![0; largest],
            counts: Box::new([0; KEYS]),
            held: Vec::new(),
            compared: 0,
        }
    }

    /// Reports the pairs of a part, given in pieces, positions ascending.
    pub(super) fn part<'p>(
        &mut self,
        pieces: impl Iterator<Item = (&'p [V], &'p [u32])> + Clone,
    ) -> ControlFlow<()> {
        let len = pieces.clone().map(|(values, _)| values.len()).sum();
        if len < 2 {
            return ControlFlow::Continue(());
        }
        let masks = &self.job.pass.masks;
        let mut done = 0;
        if self.job.first {
            if !self.recognise_equals(&masks[0], pieces.clone(), len) {
                let (values, positions) = self.without_equals(pieces, len);
                return self.masks(masks, 0, &std::iter::once((&values[..], &positions[..])), values.len());
            }
            done = 1;
        }
        self.masks(masks, done, &pieces, len)
    }

    /// Sorts by the masks from `done` on, one after the other, and reports their pairs.
    fn masks<'p>(
        &mut self,
        masks: &[Mask<V>],
        done: usize,
        pieces: &(impl Iterator<Item = (&'p [V], &'p [u32])> + Clone),
        len: usize,
    ) -> ControlFlow<()> {
        let job = self.job;
        for (index, mask) in masks.iter().enumerate().skip(done) {
            let key = mask.sort_key(len);
            self.sort(&key, pieces.clone());
            let (values, positions, writer) = (&self.values, &self.positions, &mut self.writer);
            let mut flow = ControlFlow::Continue(());
            let near = |i: usize, j: usize| {
                flow = report(job, writer, index, (values[i], positions[i]), (values[j], positions[j]));
                flow
            };
            self.compared += sweep(job.level, values, len, job.pass.together(&key), job.k, near);
            flow?;
        }
        ControlFlow::Continue(())
    }

    /// As [`Worker::masks`] for the first mask of the first pass: equal values come out among the pairs, are marked as
    /// seen and reported as repeats. Gives up with no effect if there are many, answering false.
    fn recognise_equals<'p>(
        &mut self,
        mask: &Mask<V>,
        pieces: impl Iterator<Item = (&'p [V], &'p [u32])> + Clone,
        len: usize,
    ) -> bool {
        let job = self.job;
        let key = mask.sort_key(len);
        let comparisons = self.sort(&key, pieces);
        // four times what values without any order would take: uneven bits are no reason to give up
        if comparisons > 4 * (len as u64 + ((len as u64).pow(2) >> key.bits())) {
            return false;
        }
        self.held.clear();
        let held = &mut self.held;
        let mut many = false;
        let together = job.pass.together(&key);
        self.compared += sweep(job.level, &self.values, len, together, job.k, |i, j| {
            if held.len() == HELD {
                many = true;
                return ControlFlow::Break(());
            }
            held.push((i as u32, j as u32));
            ControlFlow::Continue(())
        });
        if many {
            return false;
        }
        // Pairs come by ascending first place, and equal values stand by ascending position: whoever finds a value
        // not seen yet is the first of its kind.
        for &(i, j) in &self.held {
            let (i, j) = (i as usize, j as usize);
            let (first, other) = (self.positions[i], self.positions[j]);
            if self.values[i] == self.values[j]
                && job.output.side(first) == job.output.side(other)
                && !job.seen.has(other as usize)
            {
                job.seen.set(other as usize);
                self.writer.repeat(first, other);
            }
        }
        for &(i, j) in &self.held {
            let (i, j) = (i as usize, j as usize);
            let one = (self.values[i], self.positions[i]);
            // a sink that says stop is noticed before the next part
            let _ = report(job, &mut self.writer, 0, one, (self.values[j], self.positions[j]));
        }
        true
    }

    /// The values of a part and their positions without repeated ones, which are reported.
    fn without_equals<'p>(
        &mut self,
        pieces: impl Iterator<Item = (&'p [V], &'p [u32])>,
        len: usize,
    ) -> (Vec<V>, Vec<u32>) {
        let mut items = Vec::with_capacity(len);
        for (values, positions) in pieces {
            items.extend(values.iter().copied().zip(positions.iter().copied()));
        }
        items.sort_unstable();
        let output = self.job.output;
        let mut kept: Option<(V, u32)> = None;
        items.retain(|&(value, position)| match kept {
            Some((same, first)) if same == value && output.side(first) == output.side(position) => {
                self.job.seen.set(position as usize);
                self.writer.repeat(first, position);
                false
            }
            _ => {
                kept = Some((value, position));
                true
            }
        });
        items.into_iter().unzip()
    }

    /// Copies the values to [`Worker::values`] and their positions, sorted by a key and otherwise in order. Returns
    /// how many comparisons of values with the same key there are to make, counted from both sides.
    fn sort<'p>(&mut self, key: &Key, pieces: impl Iterator<Item = (&'p [V], &'p [u32])> + Clone) -> u64 {
        let (counts, keys) = (&mut *self.counts, &mut self.keys);
        counts[..1 << key.bits()].fill(0);
        let mut from = 0;
        for (values, _) in pieces.clone() {
            let keys = &mut keys[from..from + values.len()];
            key.read(self.job.level, values, keys);
            for &key in &*keys {
                counts[key as usize % KEYS] += 1;
            }
            from += values.len();
        }
        let (mut start, mut comparisons) = (0, 0);
        for count in counts[..1 << key.bits()].iter_mut() {
            comparisons += u64::from(*count).pow(2);
            start += std::mem::replace(count, start);
        }
        let (sorted, sorted_positions) = (&mut self.values[..], &mut self.positions[..]);
        from = 0;
        for (values, positions) in pieces {
            for ((&value, &position), &key) in values.iter().zip(positions).zip(&keys[from..]) {
                let count = &mut counts[key as usize % KEYS];
                let place = *count as usize;
                *count += 1;
                sorted[place] = value;
                sorted_positions[place] = position;
            }
            from += values.len();
        }
        comparisons
    }
}

/// Reports two values within the radius, unless another mask brings them together before this one or they are no
/// pair to report.
fn report<V: Value, S: Sink + ?Sized>(
    job: &Job<'_, V, S>,
    writer: &mut Writer<'_, '_, S>,
    index: usize,
    one: (V, u32),
    other: (V, u32),
) -> ControlFlow<()> {
    let bits = one.0.xor(other.0);
    let masks = &job.pass.masks;
    if !clear(bits, masks[index].bits)
        || masks[..index].iter().any(|mask| clear(bits, mask.bits))
        || job.earlier.iter().any(|&mask| clear(bits, mask))
        || !job.output.wanted(one.1, other.1)
    {
        return ControlFlow::Continue(());
    }
    if job.first
        && (job.seen.has(one.1 as usize)
            || job.seen.has(other.1 as usize)
            || (bits == V::ZERO && !job.output.between()))
    {
        return ControlFlow::Continue(());
    }
    writer.pair(one.1, other.1, bits.ones())
}
