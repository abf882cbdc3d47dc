//! Part-of-speech tags.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A part of speech: `n`, `ns`, `v`, `x` and so on. Empty where there is none.
///
/// Seven bytes held in place, so that a word stays small and `Copy`. Interning was rejected: tags of a user's
/// dictionary are arbitrary, and numbers given out at run time would not compare across dictionaries.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Tag([u8; Tag::MAX]);

/// A tag of more than [`Tag::MAX`] bytes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the part-of-speech tag `{0}` is longer than {max} bytes: use a shorter name", max = Tag::MAX)]
pub struct TagTooLong(pub String);

impl Tag {
    /// The longest tag, in bytes.
    pub const MAX: usize = 7;
    /// No tag.
    pub const NONE: Tag = Tag([0; Tag::MAX]);
    /// jieba's `m`.
    pub const NUMBER: Tag = Tag(*b"m\0\0\0\0\0\0");
    /// jieba's `eng`: words in Latin letters.
    pub const ENGLISH: Tag = Tag(*b"eng\0\0\0\0");
    /// jieba's `x`: punctuation, white space and whatever it does not know.
    pub const OTHER: Tag = Tag(*b"x\0\0\0\0\0\0");

    /// The tag with this name.
    ///
    /// # Errors
    /// If the name is longer than [`Tag::MAX`] bytes.
    pub fn new(name: &str) -> Result<Self, TagTooLong> {
        let mut bytes = [0; Tag::MAX];
        match bytes.get_mut(..name.len()) {
            Some(start) => start.copy_from_slice(name.as_bytes()),
            None => return Err(TagTooLong(name.to_owned())),
        }
        Ok(Tag(bytes))
    }

    /// Its name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        let len = self.0.iter().position(|&b| b == 0).unwrap_or(Tag::MAX);
        // Made from a whole `&str`, so it is one.
        std::str::from_utf8(&self.0[..len]).unwrap_or_default()
    }

    /// Whether there is no tag.
    #[must_use]
    pub fn is_none(self) -> bool {
        self == Tag::NONE
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Debug for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl Serialize for Tag {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Tag {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Tag::new(&String::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back() {
        for name in ["", "n", "nrfg", "机构", "1234567"] {
            assert_eq!(Tag::new(name).unwrap().as_str(), name);
        }
        assert_eq!(Tag::new("12345678"), Err(TagTooLong("12345678".to_owned())));
        assert_eq!(Tag::new("eng").unwrap(), Tag::ENGLISH);
        assert_eq!(format!("{}|{:?}|{:>3}", Tag::NUMBER, Tag::OTHER, Tag::NUMBER), "m|\"x\"|  m");
    }
}
