//! jieba's two hidden Markov models: one cuts runs of single characters into words, the other guesses the tag of a
//! word that no dictionary has. Both do jieba's additions in jieba's order and break ties as it does, because the
//! last bit of a sum decides.

use super::layout::IMPOSSIBLE;

/// The model for unknown words. States: begin 0, end 1, middle 2, single 3.
pub(super) struct Model {
    pub(super) start: [f64; 4],
    /// From state, to state.
    pub(super) steps: [[f64; 4]; 4],
    /// By code.
    pub(super) emissions: Vec<[f64; 4]>,
}

impl Model {
    /// Whether two characters make one word rather than two.
    #[inline(always)]
    pub(super) fn joins(&self, first: u16, second: u16) -> bool {
        let (start, steps) = (&self.start, &self.steps);
        let (a, b) = (&self.emissions[usize::from(first)], &self.emissions[usize::from(second)]);
        let scores = [start[0] + a[0], start[1] + a[1], start[2] + a[2], start[3] + a[3]];
        let end = larger(scores[0] + steps[0][1] + b[1], scores[2] + steps[2][1] + b[1]);
        let single = larger(scores[1] + steps[1][3] + b[3], scores[3] + steps[3][3] + b[3]);
        end > single
    }

    /// For each character whether a word ends after it: 1 or 0.
    pub(super) fn ends<'a>(&self, codes: &[u16], ends: &'a mut Vec<u8>) -> &'a [u8] {
        ends.clear();
        ends.resize(codes.len(), 0);
        self.fill_ends(codes, ends);
        ends
    }

    /// The same for so few characters that there is no loop.
    #[inline(always)]
    pub(super) fn ends_of<const N: usize>(&self, codes: [u16; N]) -> [u8; N] {
        let mut ends = [0; N];
        self.fill_ends(&codes, &mut ends);
        ends
    }

    #[inline(always)]
    fn fill_ends(&self, codes: &[u16], ends: &mut [u8]) {
        /// By state and whether its first predecessor was better: begin and single come after end or single, end and
        /// middle after begin or middle. A table, because neither can be predicted.
        const BEFORE: [[u8; 2]; 4] = [[3, 1], [2, 0], [2, 0], [3, 1]];
        let steps = &self.steps;
        let Some((&first, rest)) = codes.split_first() else { return };
        let emission = &self.emissions[usize::from(first)];
        let [mut begin, mut end, mut middle, mut single] =
            std::array::from_fn(|state| self.start[state] + emission[state]);
        // Of each state's two possible predecessors, whether the first was better: a bit a state.
        for (&code, firsts) in rest.iter().zip(&mut ends[1..]) {
            let e = &self.emissions[usize::from(code)];
            let to_begin = (end + steps[1][0] + e[0], single + steps[3][0] + e[0]);
            let to_end = (begin + steps[0][1] + e[1], middle + steps[2][1] + e[1]);
            let to_middle = (begin + steps[0][2] + e[2], middle + steps[2][2] + e[2]);
            let to_single = (end + steps[1][3] + e[3], single + steps[3][3] + e[3]);
            let first_is_better = |two: (f64, f64)| u8::from(two.0 > two.1);
            *firsts = first_is_better(to_begin)
                | first_is_better(to_end) << 1
                | first_is_better(to_middle) << 2
                | first_is_better(to_single) << 3;
            begin = larger(to_begin.0, to_begin.1);
            end = larger(to_end.0, to_end.1);
            middle = larger(to_middle.0, to_middle.1);
            single = larger(to_single.0, to_single.1);
        }
        let mut state: u8 = if end > single { 1 } else { 3 };
        for firsts in ends.iter_mut().rev() {
            let first = *firsts >> state & 1;
            *firsts = state & 1; // end and single are odd
            state = BEFORE[usize::from(state) % 4][usize::from(first)];
        }
    }
}

/// The first if it is larger, else the second: jieba's choice in a tie.
#[inline(always)]
fn larger(first: f64, second: f64) -> f64 {
    if first > second { first } else { second }
}

/// The model for the tags of unknown words. States: position (begin, middle, end, single) × 64 + tag.
pub(super) struct Tagger {
    /// By code: where its states start; one more closes the last.
    pub(super) rows: Vec<u32>,
    pub(super) states: Vec<u8>,
    pub(super) emissions: Vec<f64>,
    pub(super) start: Box<[f64; 256]>,
    /// A row for each state entered, begin (0 …) and single (64 …); in it those left, end (0 …) and single (64 …).
    pub(super) between: Box<[f64; 128 * 128]>,
    /// By tag: begin to middle, middle to middle, begin to end, middle to end.
    pub(super) within: Box<[[f64; 4]; 64]>,
    /// Its tags by number.
    pub(super) tags: [u8; 64],
    /// The tag of what it cannot tell.
    pub(super) unknown: u8,
}

/// What the tagger needs while it works.
#[derive(Default)]
pub(super) struct TaggerScratch {
    /// Predecessors: one entry a state of a character.
    back: Vec<[u8; 256]>,
    path: Vec<u8>,
    /// The states that the last character can be in, with their scores, ascending.
    live: Vec<(u8, f64)>,
    next: Vec<(u8, f64)>,
}

const BEGIN: u8 = 0;
const MIDDLE: u8 = 1;
const END: u8 = 2;

impl Tagger {
    /// The tag of an unknown word: that of the longest part the model cuts it into, the last of equals. `offsets` has
    /// one entry more than `codes`: lengths are in bytes.
    pub(super) fn guess(&self, codes: &[u16], offsets: &[u32], scratch: &mut TaggerScratch) -> u8 {
        let TaggerScratch { back, path, live, next } = scratch;
        live.clear();
        for (at, &code) in codes.iter().enumerate() {
            let states = self.states_of(code);
            if at == 0 {
                let start = |(state, emission)| (state, self.start[usize::from(state)] + emission);
                live.extend(states.map(start).filter(|&(_, score)| score > IMPOSSIBLE));
            } else {
                if back.len() <= at {
                    back.resize(at + 1, [0; 256]);
                }
                // A word cannot stop in its beginning or middle.
                let stops = at + 1 == codes.len();
                let states = states.skip_while(|(state, _)| stops && state / 64 < END);
                self.step(states, live, next, &mut back[at]);
                std::mem::swap(live, next);
            }
            if live.is_empty() {
                return self.unknown;
            }
        }
        // A word ends in `end` or `single`; the first of equals.
        let mut best = (IMPOSSIBLE, None);
        for &(state, score) in live.iter().filter(|(state, _)| state / 64 >= END) {
            if score > best.0 {
                best = (score, Some(state));
            }
        }
        let Some(mut state) = best.1 else { return self.unknown };
        path.clear();
        path.resize(codes.len(), 0);
        for (at, step) in path.iter_mut().enumerate().rev() {
            *step = state;
            if at > 0 {
                state = back[at][usize::from(state)];
            }
        }
        self.longest(path, offsets)
    }

    fn states_of(&self, code: u16) -> impl Iterator<Item = (u8, f64)> {
        let row = match self.rows.get(usize::from(code)..usize::from(code) + 2) {
            Some(&[from, to]) => from as usize..to as usize,
            _ => 0..0,
        };
        self.states[row.clone()].iter().copied().zip(self.emissions[row].iter().copied())
    }

    /// From the live states of one character to those of the next.
    fn step(
        &self,
        states: impl Iterator<Item = (u8, f64)>,
        live: &[(u8, f64)],
        next: &mut Vec<(u8, f64)>,
        back: &mut [u8; 256],
    ) {
        next.clear();
        // Begin and single follow end and single of any tag; within a word the tag stays.
        let (inside, outside) = live.split_at(live.partition_point(|(state, _)| state / 64 < END));
        let mut by_tag = [[f64::NEG_INFINITY; 2]; 64];
        for &(state, score) in inside {
            by_tag[usize::from(state) % 64][usize::from(state / 64)] = score;
        }
        for (state, emission) in states {
            let mut best = (IMPOSSIBLE, 0);
            let tag = state % 64;
            let mut offer = |score: f64, from: u8| {
                if score > best.0 {
                    best = (score, from);
                }
            };
            match state / 64 {
                position @ (MIDDLE | END) => {
                    let scores = by_tag[usize::from(tag)];
                    let steps = &self.within[usize::from(tag)][usize::from(position - 1) * 2..];
                    offer(scores[0] + steps[0] + emission, tag);
                    offer(scores[1] + steps[1] + emission, 64 | tag);
                }
                position => {
                    let row = usize::from(if position == BEGIN { tag } else { 64 + tag });
                    let steps = &self.between[row * 128..][..128];
                    for &(from, score) in outside {
                        offer(score + steps[usize::from(from) % 128] + emission, from);
                    }
                }
            }
            back[usize::from(state)] = best.1;
            if best.0 > IMPOSSIBLE {
                next.push((state, best.0));
            }
        }
    }

    /// The tag of the longest part on the path.
    fn longest(&self, path: &[u8], offsets: &[u32]) -> u8 {
        let mut best = (0, self.unknown);
        let mut start = 0;
        for (at, &state) in path.iter().enumerate() {
            match state / 64 {
                BEGIN => start = at,
                MIDDLE => {}
                position => {
                    let start = if position == END { start } else { at };
                    let length = offsets[at + 1] - offsets[start];
                    if length >= best.0 {
                        best = (length, self.tags[usize::from(state) % 64]);
                    }
                }
            }
        }
        best.1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of equal scores the first wins, of equal lengths the last. The model that comes with jieba has no two equal scores
    /// that would decide about a tag, so one is made here that has nothing else.
    #[test]
    fn ties_of_the_tagger() {
        const SINGLE: u8 = 3 * 64;
        let mut tags = [0; 64];
        tags[..2].copy_from_slice(&[7, 8]);
        // Code 0 may be of both tags, codes 1 and 2 of one each; all as words of their own.
        let tagger = Tagger {
            rows: vec![0, 2, 3, 4],
            states: vec![SINGLE, SINGLE + 1, SINGLE, SINGLE + 1],
            emissions: vec![-1.0; 4],
            start: Box::new([-1.0; 256]),
            between: Box::new([-1.0; 128 * 128]),
            within: Box::new([[-1.0; 4]; 64]),
            tags,
            unknown: 9,
        };
        let guess =
            |codes: &[u16], offsets: &[u32]| tagger.guess(codes, offsets, &mut TaggerScratch::default());
        assert_eq!(guess(&[0, 0], &[0, 3, 6]), 7, "of two states at the end the first");
        assert_eq!(guess(&[0, 2], &[0, 4, 7]), 7, "of two states before it the first");
        assert_eq!(guess(&[1, 2], &[0, 3, 6]), 8, "of two parts the last");
        assert_eq!(guess(&[1, 2], &[0, 4, 7]), 7, "but the longer one");
    }
}
