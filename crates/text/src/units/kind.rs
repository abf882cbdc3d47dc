//! What a character is to units.

/// What a character of the normal form is to units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Nothing, but a word ends here.
    Separator,
    /// A unit of its own.
    Alone,
    /// Part of a piece of up to four letters.
    Letter,
}

impl Kind {
    /// The kind of a character.
    #[must_use]
    #[inline]
    pub fn of(c: char) -> Self {
        match c {
            // Those that texts are mostly made of, before the look-up in Unicode's tables.
            '一'..='龥' | '가'..='힣' => Self::Alone,
            'a'..='z' => Self::Letter,
            '0'..='9' => Self::Alone,
            '\0'..='\x7f' if !c.is_ascii_alphabetic() => Self::Separator,
            '〇' => Self::Alone,
            _ if !c.is_alphanumeric() => Self::Separator,
            // Thai to Myanmar, Khmer; kana, CJK and Hangul are all from U+2E80 on.
            '\u{e00}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{2e80}'.. => Self::Alone,
            _ => Self::Letter,
        }
    }
}
