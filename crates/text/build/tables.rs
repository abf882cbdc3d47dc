//! The tables of `layout`, made from jieba's words and models.

use std::collections::BTreeMap;
use std::error::Error;

use crate::layout::*;
use crate::sources::{Entry, Model, Tagger};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Code of unknown Han characters that the model for unknown words accepts.
const UNKNOWN_OF_MODEL: u16 = 2;
/// The signs that can be part of a word, by rank from [`FIRST_SIGN`].
const SIGNS: &str = "+#&._%-";

/// Whether the model for unknown words accepts `c`.
const fn is_of_model(c: u32) -> bool {
    matches!(c, 0x4E00..=0x9FD5)
}

/// The characters with codes of their own, by rank.
struct Alphabet {
    /// `'\0'` stands for the classes without a character of their own.
    by_rank: Vec<char>,
    codes: Vec<u16>,
}

/// A word of the dictionary in codes.
struct Key {
    codes: Vec<u16>,
    weight: usize,
    tag: usize,
}

/// The names of the tags, numbered: the dictionary's first.
struct Tags<'a>(Vec<&'a str>);

impl<'a> Tags<'a> {
    fn number(&mut self, tag: &'a str) -> usize {
        self.0.iter().position(|&known| known == tag).unwrap_or_else(|| {
            self.0.push(tag);
            self.0.len() - 1
        })
    }
}

/// The whole file, not yet compressed.
pub(crate) fn file(entries: &[Entry<'_>], model: &Model, tagger: &Tagger<'_>) -> Result<Vec<u8>> {
    let mut tags = Tags(Vec::new());
    let frequencies = frequencies(entries)?;
    let weight_of: BTreeMap<u32, usize> =
        frequencies.iter().enumerate().skip(WEIGHT_OF_ONE + 1).map(|(number, &f)| (f, number)).collect();
    let alphabet = alphabet(entries, model, tagger)?;
    let mut keys = Vec::with_capacity(entries.len());
    for entry in entries {
        let tag = tags.number(entry.tag);
        if entry.word.chars().all(is_of_words) {
            let codes = entry.word.chars().map(|c| alphabet.codes[c as usize]).collect();
            keys.push(Key { codes, weight: weight_of[&entry.frequency], tag });
        }
    }
    check(tags.0.len() < NO_TAG as usize, "too many tags")?;
    keys.sort_unstable_by(|a, b| a.codes.cmp(&b.codes));

    let trie = trie(&keys)?;
    let tagger = tagger_tables(tagger, &alphabet)?;
    let singles = singles(&keys, &alphabet, &tagger, &mut tags);
    let total: u64 = entries.iter().map(|entry| u64::from(entry.frequency)).sum();
    for tag in &tagger.names {
        tags.number(tag);
    }
    check(tags.0.len() < 255, "too many tags")?;

    let mut emissions = vec![[IMPOSSIBLE; 4]; singles.len()];
    for (&character, of_character) in model.emissions.iter().filter(|(c, _)| is_of_model(**c as u32)) {
        emissions[alphabet.codes[character as usize] as usize] = *of_character;
    }
    let mut sections: [Vec<u8>; SECTIONS] = Default::default();
    for (section, content) in [
        (Section::Codes, bytes(&alphabet.codes, |code| code.to_le_bytes())),
        (Section::Singles, bytes(&singles, |single| single.to_le_bytes())),
        (Section::Rows, bytes(&trie.rows, |row| row.to_le_bytes())),
        (Section::Pairs, bytes(&trie.pairs, |word| word.to_le_bytes())),
        (Section::Nodes, bytes(&trie.nodes, |node| node.to_le_bytes())),
        (Section::Deep, bytes(&trie.deep, |node| node.to_le_bytes())),
        (Section::Frequencies, bytes(&frequencies, |frequency| frequency.to_le_bytes())),
        (Section::ModelStart, bytes(&model.start, |p| p.to_le_bytes())),
        (Section::ModelSteps, bytes(model.steps.as_flattened(), |p| p.to_le_bytes())),
        (Section::ModelEmissions, bytes(emissions.as_flattened(), |p| p.to_le_bytes())),
        (Section::TaggerRows, bytes(&tagger.rows, |row| row.to_le_bytes())),
        (Section::TaggerStates, tagger.states),
        (Section::TaggerEmissions, bytes(&tagger.emissions, |p| p.to_le_bytes())),
        (Section::TaggerStart, bytes(&tagger.start, |p| p.to_le_bytes())),
        (Section::TaggerBetween, bytes(&tagger.between, |p| p.to_le_bytes())),
        (Section::TaggerWithin, bytes(&tagger.within, |p| p.to_le_bytes())),
        (Section::Tags, format!("{}\n{}", tags.0.join(" "), tagger.names.join(" ")).into_bytes()),
    ] {
        sections[section as usize] = content;
    }
    let mut file = MAGIC.to_vec();
    file.extend(VERSION.to_le_bytes());
    file.extend(total.to_le_bytes());
    for section in &sections {
        file.extend(u32::try_from(section.len())?.to_le_bytes());
    }
    file.resize(HEADER, 0);
    file.extend(sections.concat());
    Ok(file)
}

fn bytes<T: Copy, const N: usize>(numbers: &[T], to_bytes: impl Fn(T) -> [u8; N]) -> Vec<u8> {
    numbers.iter().flat_map(|&number| to_bytes(number)).collect()
}

fn check(holds: bool, message: &str) -> Result<()> {
    if holds { Ok(()) } else { Err(message.into()) }
}

/// The distinct frequencies by number: those that make up most of the texts first.
fn frequencies(entries: &[Entry<'_>]) -> Result<Vec<u32>> {
    let mut mass: BTreeMap<u32, u64> = BTreeMap::new();
    for entry in entries {
        *mass.entry(entry.frequency).or_default() += u64::from(entry.frequency);
    }
    check(!mass.contains_key(&0), "a word with frequency 0")?;
    let mut by_mass: Vec<(u64, u32)> = mass.into_iter().map(|(frequency, mass)| (mass, frequency)).collect();
    by_mass.sort_unstable_by(|a, b| b.cmp(a));
    // Numbers 0 and 1: no word, and a character that starts none.
    let frequencies: Vec<u32> = [0, 1].into_iter().chain(by_mass.into_iter().map(|(_, f)| f)).collect();
    check(frequencies.len() <= WEIGHTS, "too many distinct frequencies")?;
    Ok(frequencies)
}

fn alphabet(entries: &[Entry<'_>], model: &Model, tagger: &Tagger<'_>) -> Result<Alphabet> {
    let mut counts: BTreeMap<char, u64> = BTreeMap::new();
    for entry in entries {
        for c in entry.word.chars() {
            *counts.entry(c).or_default() += u64::from(entry.frequency);
        }
    }
    for &c in model.emissions.keys().chain(tagger.states.keys()) {
        counts.entry(c).or_default();
    }
    let mut han: Vec<(u64, char)> =
        counts.into_iter().filter(|&(c, _)| is_han(c as u32)).map(|(c, count)| (count, c)).collect();
    han.sort_unstable_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    let mut by_rank = vec!['\0'; FIRST_SIGN];
    by_rank.extend(SIGNS.chars().chain('0'..='9').chain('A'..='Z').chain('a'..='z'));
    by_rank.extend(han.into_iter().map(|(_, c)| c));

    let class = |c: u32| match c {
        _ if is_of_model(c) => UNKNOWN_OF_MODEL,
        _ if is_han(c) => UNKNOWN,
        _ => SEPARATOR,
    };
    let mut codes: Vec<u16> = (0..0x1_0000).map(class).collect();
    for (rank, &c) in by_rank.iter().enumerate().skip(FIRST_SIGN) {
        *codes.get_mut(c as usize).ok_or("a character outside the basic plane")? = code_of_rank(rank);
    }
    check(usize::from(code_of_rank(by_rank.len())) + 64 < CHECK_MASK as usize, "too many characters")?;
    Ok(Alphabet { by_rank, codes })
}

struct Trie {
    rows: Vec<u32>,
    pairs: Vec<u64>,
    nodes: Vec<u64>,
    deep: Vec<u64>,
}

/// Where a node is kept while its children wait for a place.
enum Place {
    Node(usize),
    Deep(usize),
}

fn trie(keys: &[Key]) -> Result<Trie> {
    let codes = keys.last().map_or(0, |key| usize::from(key.codes[0])) + 1;
    let mut trie = Trie { rows: vec![0; codes], pairs: vec![0], nodes: vec![0], deep: vec![0; DEEP] };
    let mut waiting: Vec<(Place, &[Key])> = Vec::new();
    for with_first in keys.chunk_by(|a, b| a.codes[0] == b.codes[0]) {
        let longer = &with_first[usize::from(with_first[0].codes.len() == 1)..];
        let Some(last) = longer.last() else { continue };
        let (row, length) = (trie.pairs.len(), usize::from(last.codes[1]) / 64 + 1);
        check(length < 1 << ROW_BITS, "too long a row")?;
        trie.rows[usize::from(with_first[0].codes[0])] = (row << ROW_BITS | length) as u32;
        trie.pairs.resize(row + length + 1, 0);
        for with_second in longer.chunk_by(|a, b| a.codes[1] == b.codes[1]) {
            let second = usize::from(with_second[0].codes[1]);
            let word = &mut trie.pairs[row + second / 64];
            if *word == 0 {
                *word = (trie.nodes.len() as u64) << GROUP;
            }
            *word |= 1 << (second % 64);
            let (node, longer) = node(with_second, 2);
            if !longer.is_empty() {
                waiting.push((Place::Node(trie.nodes.len()), longer));
            }
            trie.nodes.push(node);
        }
    }
    check(
        trie.pairs.len() <= PAIRS && trie.nodes.len() <= NODES,
        &format!("too many pairs {} {}", trie.pairs.len(), trie.nodes.len()),
    )?;
    let mut room = Room { free: vec![u64::MAX; DEEP / 64], used_bases: vec![false; DEEP], low: 0, end: 0 };
    let mut depth = 2;
    while !waiting.is_empty() {
        let mut next = Vec::new();
        for (parent, longer) in waiting {
            let groups: Vec<&[Key]> = longer.chunk_by(|a, b| a.codes[depth] == b.codes[depth]).collect();
            let codes: Vec<u16> = groups.iter().map(|group| group[0].codes[depth]).collect();
            let base = room.place(&codes)?;
            let parent = match parent {
                Place::Node(at) => &mut trie.nodes[at],
                Place::Deep(at) => &mut trie.deep[at],
            };
            *parent |= (base as u64) << BASE_SHIFT;
            for &code in &codes {
                *parent |= if depth == 2 {
                    1 << (FILTER_BY_CODE + u32::from(code) % 16)
                        | 1 << (FILTER_BY_GROUP + u32::from(code) / 64 % 8)
                } else {
                    1 << (DEEP_FILTER + u32::from(code) % 8)
                };
            }
            for (&code, group) in codes.iter().zip(groups) {
                let at = base + usize::from(code);
                let (node, longer) = node(group, depth + 1);
                trie.deep[at] = node | u64::from(code) << CHECK_SHIFT;
                if !longer.is_empty() {
                    next.push((Place::Deep(at), longer));
                }
            }
        }
        waiting = next;
        depth += 1;
    }
    trie.deep.truncate(room.end + 1);
    Ok(trie)
}

/// The node of keys that share their first `depth` codes, and those of them that are longer.
fn node(keys: &[Key], depth: usize) -> (u64, &[Key]) {
    match &keys[0] {
        Key { codes, weight, tag } if codes.len() == depth => {
            (*weight as u64 | (*tag as u64) << TAG_SHIFT, &keys[1..])
        }
        _ => (NO_WEIGHT as u64 | NO_TAG << TAG_SHIFT, keys),
    }
}

/// Which places of the double array are free. Place 0 and base 0 stay so: they mean "none".
struct Room {
    free: Vec<u64>,
    used_bases: Vec<bool>,
    /// The first word of `free` that is not 0.
    low: usize,
    /// The last place in use.
    end: usize,
}

impl Room {
    /// The 64 places from `at` on.
    fn free_from(&self, at: usize) -> u64 {
        let word = |at: usize| self.free.get(at).copied().unwrap_or(0);
        match at % 64 {
            0 => word(at / 64),
            shift => word(at / 64) >> shift | word(at / 64 + 1) << (64 - shift),
        }
    }

    /// Takes places for children with these codes, and returns their base.
    fn place(&mut self, codes: &[u16]) -> Result<usize> {
        while self.free.get(self.low) == Some(&0) {
            self.low += 1;
        }
        let mut from = (self.low * 64).saturating_sub(usize::from(codes[0])).max(1);
        while from < BASE_MASK as usize - CODES {
            let fits = codes.iter().try_fold(u64::MAX, |fits, &code| {
                Some(fits & self.free_from(from + usize::from(code))).filter(|&fits| fits != 0)
            });
            let mut fits = fits.unwrap_or(0);
            while fits != 0 {
                let base = from + fits.trailing_zeros() as usize;
                if !self.used_bases[base] {
                    self.used_bases[base] = true;
                    for at in codes.iter().map(|&code| base + usize::from(code)) {
                        self.free[at / 64] &= !(1 << (at % 64));
                        self.end = self.end.max(at);
                    }
                    return Ok(base);
                }
                fits &= fits - 1;
            }
            from += 64;
        }
        Err("the double array is full".into())
    }
}

struct TaggerTables<'a> {
    names: Vec<&'a str>,
    rows: Vec<u32>,
    states: Vec<u8>,
    emissions: Vec<f64>,
    start: Vec<f64>,
    between: Vec<f64>,
    within: Vec<f64>,
}

fn tagger_tables<'a>(tagger: &Tagger<'a>, alphabet: &Alphabet) -> Result<TaggerTables<'a>> {
    let mut tables = TaggerTables {
        names: tagger.tags.clone(),
        rows: Vec::new(),
        states: Vec::new(),
        emissions: Vec::new(),
        start: tagger.start.clone(),
        between: vec![IMPOSSIBLE; 128 * 128],
        within: vec![IMPOSSIBLE; 64 * 4],
    };
    check(tables.names.len() == 64, "the tagger has not 64 tags")?;
    // Ranks ascend with codes, so the rows come in order; gaps between codes get empty rows.
    for (rank, c) in alphabet.by_rank.iter().enumerate() {
        tables.rows.resize(usize::from(code_of_rank(rank)) + 1, tables.states.len() as u32);
        let states = tagger.states.get(c).filter(|_| rank >= FIRST_SIGN);
        for (&state, &emission) in states.into_iter().flatten() {
            tables.states.push(state as u8);
            tables.emissions.push(emission);
        }
    }
    tables.rows.push(tables.states.len() as u32);
    for &(from, to, probability) in &tagger.steps {
        let ((from_position, from_tag), (to_position, to_tag)) = ((from / 64, from % 64), (to / 64, to % 64));
        match (from_position, to_position) {
            (2 | 3, 0 | 3) => {
                let (row, column) = (to_position / 3 * 64 + to_tag, (from_position - 2) * 64 + from_tag);
                tables.between[row * 128 + column] = probability;
            }
            (0 | 1, 1 | 2) => {
                check(from_tag == to_tag, "the tag changes within a word")?;
                tables.within[to_tag * 4 + (to_position - 1) * 2 + from_position] = probability;
            }
            _ => {} // jieba never looks at these
        }
    }
    Ok(tables)
}

/// Everything about single characters: class, weight, and the tag of one that is a word of its own.
fn singles<'a>(
    keys: &[Key],
    alphabet: &Alphabet,
    tagger: &TaggerTables<'a>,
    tags: &mut Tags<'a>,
) -> Vec<u32> {
    let [other, number, english] = ["x", "m", "eng"].map(|tag| tags.number(tag));
    let single = |flags: u32, weight: usize, tag: usize| flags | (weight << SINGLE_WEIGHT_SHIFT | tag) as u32;
    let mut singles =
        vec![single(0, NO_WEIGHT, other); usize::from(code_of_rank(alphabet.by_rank.len())) + 1];
    singles[usize::from(SEPARATOR)] = single(IS_SEPARATOR, NO_WEIGHT, other);
    singles[usize::from(UNKNOWN_OF_MODEL)] = single(OF_MODEL | HAN, WEIGHT_OF_ONE, other);
    singles[usize::from(UNKNOWN)] = single(HAN, WEIGHT_OF_ONE, other);
    for (rank, &c) in alphabet.by_rank.iter().enumerate().skip(FIRST_SIGN) {
        let code = code_of_rank(rank);
        let mut flags = 0;
        for (flag, holds) in [
            (OF_MODEL, is_of_model(c as u32)),
            (HAN, is_han(c as u32)),
            (DIGIT, c.is_ascii_digit()),
            (ALPHANUMERIC, c.is_ascii_alphanumeric()),
        ] {
            flags |= if holds { flag } else { 0 };
        }
        let first = keys.partition_point(|key| key.codes[0] < code);
        singles[usize::from(code)] = match keys.get(first).filter(|key| key.codes[0] == code) {
            Some(Key { codes, weight, tag }) if codes.len() == 1 => single(flags, *weight, *tag),
            starts_a_word => {
                let weight = if starts_a_word.is_some() { NO_WEIGHT } else { WEIGHT_OF_ONE };
                let tag = match c {
                    '0'..='9' => number,
                    'a'..='z' | 'A'..='Z' => english,
                    _ if is_han(c as u32) => {
                        tag_of_single(tagger, usize::from(code)).map_or(other, |tag| tags.number(tag))
                    }
                    _ => other,
                };
                single(flags, weight, tag)
            }
        };
    }
    singles
}

/// The most probable tag of a character as a word of its own, the last of equals.
fn tag_of_single<'a>(tagger: &TaggerTables<'a>, code: usize) -> Option<&'a str> {
    let row = tagger.rows[code] as usize..tagger.rows[code + 1] as usize;
    let mut best = (IMPOSSIBLE, None);
    for (&state, &emission) in tagger.states[row.clone()].iter().zip(&tagger.emissions[row]) {
        let probability = tagger.start[usize::from(state)] + emission;
        if state >= 192 && probability > IMPOSSIBLE && probability >= best.0 {
            best = (probability, Some(tagger.names[usize::from(state) % 64]));
        }
    }
    best.1
}
