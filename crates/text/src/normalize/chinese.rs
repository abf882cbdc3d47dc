//! Traditional Chinese characters to simplified ones, character by character.
//!
//! The table is frozen in `data/t2s.tsv`, taken from OpenCC's `TSCharacters` (see `data/README.md`), because
//! stored fingerprints must not change with a dependency. Where OpenCC needs two steps (薴 to 苧 to 苎, the only
//! one) the table goes both, so that simplifying twice is simplifying once.
//!
//! Characters suffice, phrases are left out: traditional to simplified is nearly many-to-one, so what OpenCC's 284
//! phrases add is only where one traditional character has two simplified ones. There the table takes the
//! commoner one or leaves the character alone: 乾 becomes 干 also in 乾坤 and 乾隆 (the same on both sides of a comparison, so
//! nothing is lost to matching but the dictionary word); 瞭 and 藉 stay also in 瞭解 and 藉口, and 著 stays also
//! where the mainland writes 着, so a Taiwanese 看著 differs from 看着 in one character. A phrase table would need a longest
//! match at every character, cost most of the speed, and make a character depend on its neighbours.
//! Regional vocabulary (軟體 and 软件) is a matter for the synonym table.

use std::sync::LazyLock;

const DATA: &str = include_str!("../../data/t2s.tsv");

static PAIRS: LazyLock<Vec<(char, char)>> = LazyLock::new(|| parse(DATA));

/// The simplified form of `c`, or `c`.
pub(super) fn simplify(c: char) -> char {
    match PAIRS.binary_search_by_key(&c, |&(from, _)| from) {
        Ok(i) => PAIRS[i].1,
        Err(_) => c,
    }
}

/// Every (traditional, simplified) pair, ascending.
pub(super) fn pairs() -> &'static [(char, char)] {
    &PAIRS
}

fn parse(data: &str) -> Vec<(char, char)> {
    data.lines()
        .filter_map(|line| {
            let mut chars = line.chars();
            match (chars.next(), chars.next(), chars.next(), chars.next()) {
                (Some(from), Some('\t'), Some(to), None) => Some((from, to)),
                _ => None,
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ferrous_opencc::OpenCC;
    use ferrous_opencc::config::BuiltinConfig;
    use std::fmt::Write as _;

    /// The file as OpenCC's data would have it today, each character followed to where it stays.
    fn from_opencc() -> String {
        let opencc = OpenCC::from_config(BuiltinConfig::T2s).unwrap();
        let mut file = String::new();
        for c in '\u{2E80}'..=char::MAX {
            let once = opencc.convert(c.encode_utf8(&mut [0; 4]));
            let simplified = opencc.convert(&once);
            if !simplified.chars().eq([c]) {
                assert_eq!(simplified.chars().count(), 1, "{c} has no single simplified character");
                writeln!(file, "{c}\t{simplified}").unwrap();
            }
        }
        file
    }

    #[test]
    #[ignore = "rewrites data/t2s.tsv, which changes stored fingerprints: run by hand"]
    fn write_the_table() {
        std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/data/t2s.tsv"), from_opencc()).unwrap();
    }

    #[test]
    fn the_committed_table_agrees_with_opencc() {
        assert!(from_opencc() == DATA, "data/t2s.tsv is not what ferrous-opencc says");
    }

    #[test]
    fn the_table_is_whole_ascending_and_settled() {
        assert_eq!(pairs().len(), DATA.lines().count());
        assert!(pairs().is_sorted_by(|a, b| a.0 < b.0));
        for &(from, to) in pairs() {
            assert_ne!(from, to);
            assert_eq!(simplify(to), to, "{from} needs two steps");
        }
    }

    #[test]
    fn what_is_documented_as_lost() {
        let simplified = |s: &str| s.chars().map(simplify).collect::<String>();
        assert_eq!(simplified("絕非巧合"), "绝非巧合");
        assert_eq!(simplified("乾坤 瞭解 藉口 看著"), "干坤 瞭解 藉口 看著");
    }
}
