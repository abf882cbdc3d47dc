//! Results on their way to the sink: collected by each thread, handed over some thousands at a time.

use super::sink::{Pair, Repeat, Side, Sink};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// How many results of a kind a thread collects.
const BATCH: usize = 2048;

/// The bytes a [`Writer`] takes.
pub(super) const WRITER: u64 = (BATCH * (size_of::<Pair>() + 2 * size_of::<Repeat>())) as u64;

/// The sink and what all threads know about it.
pub(super) struct Output<'a, S: ?Sized> {
    sink: &'a S,
    /// The first position that belongs to the right batch, and whether there is one.
    border: u32,
    between: bool,
    stopped: AtomicBool,
    pairs: AtomicU64,
    repeats: AtomicU64,
}

impl<'a, S: Sink + ?Sized> Output<'a, S> {
    pub(super) fn new(sink: &'a S, border: usize, between: bool) -> Self {
        let (stopped, pairs, repeats) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
        Self { sink, border: border as u32, between, stopped, pairs, repeats }
    }

    /// Whether the sink wants no more.
    pub(super) fn stopped(&self) -> bool {
        self.stopped.load(Relaxed)
    }

    /// How many pairs and repeats have been handed over.
    pub(super) fn reported(&self) -> (u64, u64) {
        (self.pairs.load(Relaxed), self.repeats.load(Relaxed))
    }

    /// The batch of a position.
    #[inline(always)]
    pub(super) fn side(&self, position: u32) -> Side {
        if position < self.border { Side::Left } else { Side::Right }
    }

    /// Whether two positions make a pair: in a join of two batches only if they are of different ones.
    #[inline(always)]
    pub(super) fn wanted(&self, a: u32, b: u32) -> bool {
        !self.between || self.side(a) != self.side(b)
    }

    /// Whether two batches are joined.
    pub(super) fn between(&self) -> bool {
        self.between
    }

    pub(super) fn writer(&self) -> Writer<'_, 'a, S> {
        Writer { output: self, pairs: Vec::with_capacity(BATCH), repeats: Default::default() }
    }
}

/// One thread's results.
pub(super) struct Writer<'o, 'a, S: Sink + ?Sized> {
    output: &'o Output<'a, S>,
    pairs: Vec<Pair>,
    repeats: [Vec<Repeat>; 2],
}

impl<S: Sink + ?Sized> Writer<'_, '_, S> {
    /// A pair, in any order.
    pub(super) fn pair(&mut self, one: u32, other: u32, distance: u32) -> ControlFlow<()> {
        let offset = if self.output.between { self.output.border } else { 0 };
        self.pairs.push(Pair { a: one.min(other), b: one.max(other) - offset, distance });
        if self.pairs.len() == BATCH {
            self.hand_over();
            if self.output.stopped() {
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    }

    /// A repeated value at two positions of the same batch.
    pub(super) fn repeat(&mut self, first: u32, other: u32) {
        let side = self.output.side(other);
        let offset = if side == Side::Right { self.output.border } else { 0 };
        let list = &mut self.repeats[side as usize];
        list.push(Repeat { first: first - offset, other: other - offset });
        if list.len() == BATCH {
            self.hand_over();
        }
    }

    fn hand_over(&mut self) {
        let output = self.output;
        if !self.pairs.is_empty() && !output.stopped() {
            output.pairs.fetch_add(self.pairs.len() as u64, Relaxed);
            if output.sink.pairs(&self.pairs).is_break() {
                output.stopped.store(true, Relaxed);
            }
        }
        for (side, list) in [Side::Left, Side::Right].into_iter().zip(&self.repeats) {
            if !list.is_empty() && !output.stopped() {
                output.repeats.fetch_add(list.len() as u64, Relaxed);
                if output.sink.repeats(side, list).is_break() {
                    output.stopped.store(true, Relaxed);
                }
            }
        }
        self.pairs.clear();
        self.repeats.iter_mut().for_each(Vec::clear);
    }
}

impl<S: Sink + ?Sized> Drop for Writer<'_, '_, S> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.hand_over();
        }
    }
}
