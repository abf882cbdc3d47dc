//! All rules but the collapsing of white space, as one look-up a character.

use super::{
    Options, Punctuation, Whitespace, case, chinese, invisible, is_line_break, is_punctuation, nfkc,
};

/// What a character becomes when it stands alone in its cluster. Four bytes: only one variant carries data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    /// Itself.
    Unchanged,
    /// Another character.
    Other(char),
    /// Several characters, found in `several`.
    Several,
    /// Nothing.
    Dropped,
    /// White space to be collapsed.
    Space,
    /// White space that ends a line, where the options ask to keep lines.
    Line,
    /// Not known alone: it may join the character before it.
    JoinsPrevious,
}

/// The compiled rules. Read only, so it is shared freely.
#[derive(Clone, Debug)]
pub(super) struct Table {
    options: Options,
    /// A bit per character of the basic plane: its entry is not `Unchanged`. 8 KB, so that the usual
    /// question stays in the first-level cache; the entries themselves would not.
    changed: Box<[u64; 0x1_0000 / 64]>,
    /// The entries of the basic plane.
    basic: Box<[Entry]>,
    /// The entries of the characters beyond it that change, ascending. A search is enough for the rare.
    beyond: Vec<(char, Entry)>,
    /// What the characters with the entry `Several` become, ascending.
    several: Vec<(char, Box<str>)>,
}

impl Table {
    pub(super) fn compile(options: Options) -> Self {
        let mut table = Self {
            options,
            changed: Box::new([0; 0x1_0000 / 64]),
            basic: vec![Entry::Unchanged; 0x1_0000].into(),
            beyond: Vec::new(),
            several: Vec::new(),
        };
        let han = chinese::pairs().iter().map(|&(from, _)| from);
        let mut all: Vec<char> = (char::MIN..='\u{1FFFF}')
            .chain('\u{2F800}'..='\u{2FA1F}')
            .chain('\u{E0000}'..='\u{E0FFF}')
            .filter(|&c| !only_simplifying_applies(c))
            .chain(han)
            .collect();
        // Both parts are in order already, which this way of sorting makes use of.
        all.sort();
        all.dedup();
        for c in all {
            let entry = table.outcome(c);
            if entry == Entry::Unchanged {
                continue;
            }
            let code = c as usize;
            if let Some(slot) = table.basic.get_mut(code) {
                *slot = entry;
                table.changed[code / 64] |= 1 << (code % 64);
            } else {
                table.beyond.push((c, entry));
            }
        }
        table
    }

    /// Whether a character of the basic plane has an entry other than `Unchanged`.
    #[inline]
    pub(super) fn changes(&self, code: u16) -> bool {
        self.changed[usize::from(code / 64)] >> (code % 64) & 1 != 0
    }

    #[inline]
    pub(super) fn entry(&self, c: char) -> Entry {
        match u16::try_from(c as u32) {
            Ok(code) => self.basic[usize::from(code)],
            Err(_) => match self.beyond.binary_search_by_key(&c, |&(from, _)| from) {
                Ok(i) => self.beyond[i].1,
                Err(_) => Entry::Unchanged,
            },
        }
    }

    /// What a character with the entry `Several` becomes.
    pub(super) fn several(&self, c: char) -> &str {
        self.several.binary_search_by_key(&c, |&(from, _)| from).map_or("", |i| &self.several[i].1)
    }

    /// Applies the rules after NFKC to one character, up to but without the collapsing of white space.
    pub(super) fn after_nfkc(&self, c: char, mut put: impl FnMut(char)) {
        let options = self.options;
        let mut rest = |c: char| {
            let c = if options.simplify { chinese::simplify(c) } else { c };
            if options.drop_invisible && invisible::is_invisible(c) {
                return;
            }
            let c = match options.punctuation {
                Punctuation::Drop if is_punctuation(c) => return,
                Punctuation::Space if is_punctuation(c) => ' ',
                _ => c,
            };
            if options.whitespace != Whitespace::Drop || !c.is_whitespace() {
                put(c);
            }
        };
        if options.fold_case {
            case::fold(c).for_each(rest);
        } else {
            rest(c);
        }
    }

    fn outcome(&mut self, c: char) -> Entry {
        let by_nfkc = self.options.nfkc && !nfkc::is_plain(c);
        if by_nfkc && nfkc::joins_previous(c) {
            return Entry::JoinsPrevious;
        }
        let mut becomes = String::new();
        if by_nfkc {
            nfkc::compose(c.encode_utf8(&mut [0; 4])).for_each(|d| self.after_nfkc(d, |e| becomes.push(e)));
        } else {
            self.after_nfkc(c, |e| becomes.push(e));
        }
        let mut chars = becomes.chars();
        match (chars.next(), chars.next()) {
            (None, _) => Entry::Dropped,
            (Some(one), None) if self.collapses() && one.is_whitespace() => self.space(one),
            (Some(one), None) if one == c => Entry::Unchanged,
            (Some(one), None) => Entry::Other(one),
            (Some(_), Some(_)) => {
                self.several.push((c, becomes.into()));
                Entry::Several
            }
        }
    }

    /// The entry of white space that is to be collapsed.
    pub(super) fn space(&self, c: char) -> Entry {
        if self.options.whitespace == Whitespace::Lines && is_line_break(c) {
            Entry::Line
        } else {
            Entry::Space
        }
    }

    /// Whether runs of white space are collapsed.
    pub(super) fn collapses(&self) -> bool {
        matches!(self.options.whitespace, Whitespace::Collapse | Whitespace::Lines)
    }
}

/// Ranges in which no rule but the table of Chinese characters changes anything: unified ideographs, Yi and Hangul
/// syllables, private use; cuneiform, hieroglyphs, Tangut, Khitan, kana of old; and what is not assigned. Skipped when a table
/// is compiled, to save time; the tests do not skip them.
fn only_simplifying_applies(c: char) -> bool {
    matches!(c,
        '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{A48F}' | '\u{AC00}'..='\u{D7A3}' | '\u{E000}'..='\u{F8FF}'
        | '\u{12480}'..='\u{12F8F}' | '\u{13460}'..='\u{160FF}' | '\u{17000}'..='\u{1B11F}'
        | '\u{1B130}'..='\u{1BBFF}' | '\u{1BCB0}'..='\u{1CBFF}' | '\u{1FC00}'..='\u{1FFFF}')
}
