//! The sentence feature code: the first and last characters of every sentence, an old and cheap signature.
//!
//! Kept as an option for those who compare with systems that use it. It survives edits inside sentences and
//! nothing else.

/// The code of a text from its sentences: `edge` characters from either end of each, letters and digits only.
/// A sentence with fewer is taken whole; one without letters is left out.
///
/// ```
/// use leitong_fingerprint::sentence_code::sentence_code;
/// assert_eq!(sentence_code(["生活本没有路，", "走的人多了。"], 1), "生路走了");
/// ```
pub fn sentence_code<'a>(sentences: impl IntoIterator<Item = &'a str>, edge: usize) -> String {
    let mut code = String::new();
    for sentence in sentences {
        let letters: Vec<char> = sentence.chars().filter(|c| c.is_alphanumeric()).collect();
        if letters.len() <= 2 * edge {
            code.extend(&letters);
        } else {
            code.extend(&letters[..edge]);
            code.extend(&letters[letters.len() - edge..]);
        }
    }
    code
}

#[cfg(test)]
mod tests {
    use super::sentence_code;

    #[test]
    fn short_and_empty_sentences() {
        assert_eq!(sentence_code(["好！", "……", "", "abcdef"], 2), "好abef");
    }
}
