//! The features of the Python package simhash 2.1.2: lower case, runs of word characters joined, windows of four.

/// The windows; a text without word characters has one empty window, as in the package.
pub(crate) fn windows(text: &str, width: usize) -> Vec<String> {
    let letters: Vec<char> = text.to_lowercase().chars().filter(|&c| is_word(c)).collect();
    if letters.len() < width {
        return vec![letters.into_iter().collect()];
    }
    letters.windows(width).map(|window| window.iter().collect()).collect()
}

/// Python's `\w`: letters, numbers of any kind, and the underscore. Rust's `is_alphanumeric` also takes marks and
/// circled letters, so the general category is asked.
fn is_word(c: char) -> bool {
    use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};
    c == '_'
        || matches!(c.general_category_group(), GeneralCategoryGroup::Letter | GeneralCategoryGroup::Number)
}

#[cfg(test)]
mod tests {
    use super::windows;

    #[test]
    fn windows_of_four() {
        assert_eq!(windows("Ab, c_d!", 4), ["abc_", "bc_d"]);
        assert_eq!(windows("雷同", 4), ["雷同"]);
        assert_eq!(windows("！？", 4), [""]);
    }
}
