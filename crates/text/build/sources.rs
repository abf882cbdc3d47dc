//! jieba's text files, read as jieba reads them.

use std::collections::BTreeMap;
use std::error::Error;

use crate::layout::IMPOSSIBLE;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// A word of the dictionary.
pub(crate) struct Entry<'a> {
    pub(crate) word: &'a str,
    pub(crate) frequency: u32,
    pub(crate) tag: &'a str,
}

/// The model for unknown words: states begin, end, middle, single.
pub(crate) struct Model {
    pub(crate) start: [f64; 4],
    pub(crate) steps: [[f64; 4]; 4],
    pub(crate) emissions: BTreeMap<char, [f64; 4]>,
}

/// The model for the tags of unknown words: states position (begin, middle, end, single) × 64 + tag.
pub(crate) struct Tagger<'a> {
    pub(crate) tags: Vec<&'a str>,
    pub(crate) start: Vec<f64>,
    /// From state, to state.
    pub(crate) steps: Vec<(usize, usize, f64)>,
    /// The states of each character, ascending.
    pub(crate) states: BTreeMap<char, BTreeMap<usize, f64>>,
}

/// Lines of word, frequency, tag.
pub(crate) fn words(text: &str) -> Result<Vec<Entry<'_>>> {
    text.lines()
        .map(|line| match line.split_ascii_whitespace().collect::<Vec<_>>()[..] {
            [word, frequency, tag] => Ok(Entry { word, frequency: frequency.parse()?, tag }),
            _ => Err(format!("dict.txt: no word, frequency and tag in `{line}`").into()),
        })
        .collect()
}

/// A line of starts, four of steps, four of emissions; comments start with `#`.
pub(crate) fn model(text: &str) -> Result<Model> {
    let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    let [start, to_0, to_1, to_2, to_3, emissions @ ..] = &lines[..] else {
        return Err("hmm.model: lines are missing".into());
    };
    let four = |line: &str| -> Result<[f64; 4]> {
        let numbers: Vec<f64> =
            line.split_whitespace().map(str::parse).collect::<std::result::Result<_, _>>()?;
        numbers.try_into().map_err(|_| format!("hmm.model: not four numbers in `{line}`").into())
    };
    let mut model = Model {
        start: four(start)?,
        steps: [four(to_0)?, four(to_1)?, four(to_2)?, four(to_3)?],
        emissions: BTreeMap::new(),
    };
    for (state, line) in emissions.iter().enumerate() {
        for pair in line.split(',') {
            let (character, probability) = pair.split_once(':').ok_or("hmm.model: no colon")?;
            let of_character = model.emissions.entry(first(character)?).or_insert([IMPOSSIBLE; 4]);
            *of_character.get_mut(state).ok_or("hmm.model: more than four states")? = probability.parse()?;
        }
    }
    Ok(model)
}

/// Sections `@TAGS`, `@START`, `@TRANS`, `@EMIT` and `@CHAR_STATE`.
pub(crate) fn tagger(text: &str) -> Result<Tagger<'_>> {
    let mut tagger =
        Tagger { tags: Vec::new(), start: vec![IMPOSSIBLE; 256], steps: Vec::new(), states: BTreeMap::new() };
    let mut allowed: BTreeMap<char, Vec<usize>> = BTreeMap::new();
    let mut section = "";
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if line.starts_with('@') {
            section = line;
            continue;
        }
        let (head, parts) = line.split_once('|').unwrap_or((line, ""));
        let parts = parts.split('|').map(str::trim).filter(|part| !part.is_empty());
        match section {
            "@TAGS" => tagger.tags = line.split(',').map(str::trim).collect(),
            "@START" => {
                let (at, probability) = head.rsplit_once(',').ok_or("posseg.txt: no comma")?;
                tagger.start[state(at)?] = probability.parse()?;
            }
            "@TRANS" => {
                let from = state(head)?;
                for part in parts {
                    let (to, probability) = part.rsplit_once(',').ok_or("posseg.txt: no comma")?;
                    tagger.steps.push((from, state(to)?, probability.parse()?));
                }
            }
            "@EMIT" => {
                let state = state(head)?;
                for part in parts {
                    let (character, probability) = part.rsplit_once(',').ok_or("posseg.txt: no comma")?;
                    let emissions = tagger.states.entry(first(character)?).or_default();
                    emissions.insert(state, probability.parse()?);
                }
            }
            "@CHAR_STATE" => {
                let states = parts.map(state).collect::<Result<Vec<_>>>()?;
                allowed.insert(first(head)?, states);
            }
            _ => {}
        }
    }
    // A list of states is a restriction, but an empty one is none.
    for (character, states) in allowed.into_iter().filter(|(_, states)| !states.is_empty()) {
        let emissions = tagger.states.remove(&character).unwrap_or_default();
        let emission = |state| (state, emissions.get(&state).copied().unwrap_or(IMPOSSIBLE));
        tagger.states.insert(character, states.into_iter().map(emission).collect());
    }
    Ok(tagger)
}

fn state(text: &str) -> Result<usize> {
    let (position, tag) = text.split_once(',').ok_or("posseg.txt: no state")?;
    match (position.parse()?, tag.parse()?) {
        (position @ 0..4, tag @ 0..64) => Ok(position * 64 + tag),
        _ => Err(format!("posseg.txt: no state `{text}`").into()),
    }
}

fn first(text: &str) -> Result<char> {
    Ok(text.chars().next().ok_or("a character is missing")?)
}
