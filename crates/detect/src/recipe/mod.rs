//! Recipes: everything that decides a fingerprint, as one value with a digest.
//!
//! A recipe is written in TOML. A file needs to say only what differs from the recipe it names as its `base`
//! (`leitong-1` where it names none):
//!
//! ```toml
//! name = "my-news"
//! base = "leitong-1"
//! [simhash]
//! features = "words"
//! weight = "tf-idf"
//! top = 50
//! ```
//!
//! Files it refers to (dictionary, stop words, synonyms, IDF) are read with it and are part of its digest. Two recipes
//! with the same digest give the same fingerprints; a store that was built with one refuses another.

mod settings;

pub use settings::{
    EmbeddingSettings, Features, IdfSource, ImageSettings, KeywordSettings, KeywordSource, MinHashSettings,
    Over, RabinKarpSettings, SentenceCodeSettings, Settings, ShingleSettings, SimHashSettings,
    WinnowSettings, WordSettings,
};

use leitong_fingerprint::bits::WIDTHS;
use leitong_fingerprint::hash::{Algorithm, HashError, Units};
use leitong_fingerprint::rolling::{Rolling, RollingError};
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

/// The recipe that is used when none is named.
pub const DEFAULT: &str = "leitong-1";

/// The built-in recipes in their TOML form.
const BUILT_IN: [(&str, &str); 7] = [
    ("leitong-1", include_str!("../../recipes/leitong-1.toml")),
    ("leitong-words-1", include_str!("../../recipes/leitong-words-1.toml")),
    ("cms-redis", include_str!("../../recipes/cms-redis.toml")),
    ("ik", include_str!("../../recipes/ik.toml")),
    ("es-news", include_str!("../../recipes/es-news.toml")),
    ("semantic-2013", include_str!("../../recipes/semantic-2013.toml")),
    ("py-simhash", include_str!("../../recipes/py-simhash.toml")),
];

/// Sections whose fields are merged with the base; every other value replaces the base's.
const MERGED: [&str; 13] = [
    "normalize",
    "words",
    "words.segment",
    "words.filter",
    "simhash",
    "minhash",
    "shingles",
    "winnow",
    "rabin-karp",
    "keywords",
    "sentence-code",
    "image",
    "embedding",
];

/// A complete recipe, with the files it refers to.
#[derive(Clone, Debug, PartialEq)]
pub struct Recipe {
    settings: Settings,
    files: BTreeMap<String, String>,
}

/// What identifies a recipe: 128 bits over all its settings and files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RecipeDigest(pub [u8; 16]);

impl fmt::Display for RecipeDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// What can be wrong with a recipe.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecipeError {
    /// Neither a built-in name nor a file.
    #[error("there is no recipe called {name:?} and no such file; `leitong recipes` lists the built-in ones: {known}", known = names().collect::<Vec<_>>().join(", "))]
    Unknown {
        /// What was asked for.
        name: String,
    },
    /// A recipe, or a file it names, cannot be read.
    #[error("cannot read {path}: {source}; check the path and its permissions")]
    Read {
        /// The file.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// Not TOML, an unknown field, or a value of the wrong kind.
    #[error("{path}{place}: {message}; `leitong recipes --show {DEFAULT}` prints every field there is", place = place(*line))]
    Syntax {
        /// The file.
        path: String,
        /// The line, where it is known.
        line: Option<usize>,
        /// What is wrong.
        message: String,
    },
    /// A recipe that was kept as JSON cannot be read.
    #[error(
        "a stored recipe cannot be read: {0}; it was written by a later version of the program: use that"
    )]
    Stored(String),
    /// A width that does not exist.
    #[error("there is no SimHash of {0} bits; use 32, 64, 128, 256, 512 or 1024")]
    Width(u32),
    /// A hash that does not exist or is too narrow.
    #[error(transparent)]
    Hash(#[from] HashError),
    /// A rolling hash that makes no sense.
    #[error(transparent)]
    Rolling(#[from] RollingError),
    /// A number that must not be zero, or two that do not fit together.
    #[error("recipe {name:?}: {what}")]
    Value {
        /// The recipe.
        name: String,
        /// What is wrong and what would be right.
        what: String,
    },
    /// A file it names has a bad line.
    #[error("recipe {name:?}, file {path}: {message}")]
    File {
        /// The recipe.
        name: String,
        /// The file.
        path: String,
        /// What is wrong.
        message: String,
    },
}

fn place(line: Option<usize>) -> String {
    line.map_or(String::new(), |line| format!(", line {line}"))
}

/// The names of the built-in recipes.
pub fn names() -> impl Iterator<Item = &'static str> {
    BUILT_IN.iter().map(|(name, _)| *name)
}

impl Recipe {
    /// A built-in recipe.
    pub fn built_in(name: &str) -> Result<Self, RecipeError> {
        let text = built_in_text(name).ok_or_else(|| RecipeError::Unknown { name: name.to_owned() })?;
        Self::from_toml(text, name, &no_files)
    }

    /// A built-in recipe by its name, or else the recipe in a file.
    pub fn open(name_or_path: &str) -> Result<Self, RecipeError> {
        if built_in_text(name_or_path).is_some() {
            return Self::built_in(name_or_path);
        }
        let path = Path::new(name_or_path);
        let looks_like_a_path = path.extension().is_some() || path.components().count() > 1;
        if !looks_like_a_path && !path.exists() {
            return Err(RecipeError::Unknown { name: name_or_path.to_owned() });
        }
        let text = std::fs::read_to_string(path)
            .map_err(|source| RecipeError::Read { path: name_or_path.to_owned(), source })?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let read = |name: &str| std::fs::read_to_string(folder.join(name));
        Self::from_toml(&text, name_or_path, &read)
    }

    /// A recipe from its TOML form. `path` is named in errors; `read` gets the files it refers to.
    pub fn from_toml(
        text: &str,
        path: &str,
        read: &dyn Fn(&str) -> std::io::Result<String>,
    ) -> Result<Self, RecipeError> {
        let settings = parse_settings(text, path)?;
        let mut recipe = Self { settings, files: BTreeMap::new() };
        for name in recipe.file_names() {
            let content = read(&name).map_err(|source| RecipeError::Read { path: name.clone(), source })?;
            recipe.files.insert(name, content);
        }
        recipe.validate()?;
        Ok(recipe)
    }

    /// What it says.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The content of a file it refers to.
    #[must_use]
    pub fn file(&self, name: &str) -> Option<&str> {
        self.files.get(name).map(String::as_str)
    }

    /// The same recipe with SimHash (and embedding) fingerprints of another width.
    pub fn with_bits(mut self, bits: u32) -> Result<Self, RecipeError> {
        let simhash = &mut self.settings.simhash;
        simhash.bits = bits;
        // The documents have FNV at every width, so that it follows.
        simhash.hash = match simhash.hash {
            Algorithm::Fnv1(_) => Algorithm::Fnv1(bits),
            Algorithm::Fnv1a(_) => Algorithm::Fnv1a(bits),
            other => other,
        };
        self.settings.embedding.bits = bits;
        self.validate()?;
        Ok(self)
    }

    /// The whole recipe in TOML, nothing left to a base.
    #[must_use]
    pub fn to_toml(&self) -> String {
        // Settings are plain tables and values; a test writes every built-in recipe.
        toml::to_string(&self.settings).unwrap_or_default()
    }

    /// The whole recipe with the content of its files, for keeping: unlike the TOML form it is read back without a base
    /// and without files.
    #[must_use]
    pub fn to_json(&self) -> serde_json::Value {
        serde_json::json!({ "settings": self.settings, "files": self.files })
    }

    /// A recipe from what [`Recipe::to_json`] gave. Fields that a later version added are at their defaults.
    pub fn from_json(json: serde_json::Value) -> Result<Self, RecipeError> {
        #[derive(serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Whole {
            settings: Settings,
            files: BTreeMap<String, String>,
        }
        let Whole { settings, files } =
            serde_json::from_value(json).map_err(|error| RecipeError::Stored(error.to_string()))?;
        let recipe = Self { settings, files };
        recipe.validate()?;
        match recipe.file_names().into_iter().find(|name| !recipe.files.contains_key(name)) {
            Some(name) => Err(RecipeError::Stored(format!("the file {name} is missing"))),
            None => Ok(recipe),
        }
    }

    /// What identifies it. Name, description and printing do not count.
    #[must_use]
    pub fn digest(&self) -> RecipeDigest {
        let mut settings = self.settings.clone();
        settings.name.clear();
        settings.about.clear();
        settings.simhash.print_lsb_first = false;
        let mut text = format!("leitong recipe 1\n{}\n", leitong_text::DATA_VERSION);
        text.push_str(&serde_json::to_string(&settings).unwrap_or_default());
        for (name, content) in &self.files {
            text.push_str(&format!("\n{name} {}", Algorithm::Md5.hash(content, Units::Utf8)));
        }
        let hex = Algorithm::Md5.hash(&text, Units::Utf8);
        let value = u128::from(hex.words()[1]) << 64 | u128::from(hex.words()[0]);
        RecipeDigest(value.to_be_bytes())
    }

    pub(crate) fn bad_file(&self, path: &str, error: &dyn fmt::Display) -> RecipeError {
        let name = self.settings.name.clone();
        RecipeError::File { name, path: path.to_owned(), message: error.to_string() }
    }

    fn file_names(&self) -> Vec<String> {
        let words = &self.settings.words;
        let named = [&words.stop_words_file, &words.dictionary_file, &words.synonyms_file];
        let mut names: Vec<String> = named.into_iter().flatten().cloned().collect();
        for idf in [&self.settings.simhash.idf, &self.settings.keywords.idf] {
            if let IdfSource::File(name) = idf {
                names.push(name.clone());
            }
        }
        names
    }

    fn validate(&self) -> Result<(), RecipeError> {
        let Settings { name, simhash, minhash, shingles, winnow, rabin_karp, image, embedding, .. } =
            &self.settings;
        for bits in [simhash.bits, embedding.bits] {
            if !WIDTHS.contains(&bits) {
                return Err(RecipeError::Width(bits));
            }
        }
        simhash.hash.check_width(simhash.bits)?;
        Rolling::new(rabin_karp.base, rabin_karp.modulus, rabin_karp.window)?;
        let wrong = |what: &str| Err(RecipeError::Value { name: name.clone(), what: what.to_owned() });
        for features in [simhash.features, minhash.features, shingles.features] {
            if matches!(features, Features::Characters(0) | Features::Units(0) | Features::PythonWindows(0)) {
                return wrong("runs of 0 characters hold nothing; use 1 or more");
            }
        }
        if minhash.words == 0 || shingles.words == 0 {
            return wrong("shingles of 0 words hold nothing; use 1 or more");
        }
        if minhash.banding.bands == 0 || minhash.banding.rows == 0 || minhash.banding.places() > 1 << 16 {
            return wrong("minhash needs 1 to 65536 places: bands times rows");
        }
        if winnow.noise == 0 || winnow.guarantee < winnow.noise {
            return wrong("winnow: noise must be at least 1 and guarantee at least noise");
        }
        if image.columns == 0 || image.rows == 0 || image.columns.saturating_mul(image.rows) > 1 << 20 {
            return wrong("image needs 1 to 1048576 blocks: columns times rows");
        }
        Ok(())
    }
}

impl Default for Recipe {
    /// The recipe that is used when none is named.
    fn default() -> Self {
        Self::built_in(DEFAULT)
            .unwrap_or_else(|error| unreachable!("a test opens every built-in recipe: {error}"))
    }
}

fn built_in_text(name: &str) -> Option<&'static str> {
    BUILT_IN.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

fn no_files(_: &str) -> std::io::Result<String> {
    Err(std::io::Error::new(std::io::ErrorKind::NotFound, "a built-in recipe has no files"))
}

fn parse_settings(text: &str, path: &str) -> Result<Settings, RecipeError> {
    let table = parse_with_base(text, path)?;
    table.try_into().map_err(|error: toml::de::Error| {
        let message = error.to_string().trim().replace('\n', " ");
        RecipeError::Syntax { path: path.to_owned(), line: line_of(text, &message), message }
    })
}

/// The file's table laid over that of its base, and so on down to a recipe that says everything.
fn parse_with_base(text: &str, path: &str) -> Result<toml::Table, RecipeError> {
    let syntax = |line, message: &str| RecipeError::Syntax {
        path: path.to_owned(),
        line,
        message: message.to_owned(),
    };
    let mut table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
        let line = error.span().map(|span| text[..span.start].lines().count().max(1));
        syntax(line, error.message())
    })?;
    let base = match table.remove("base") {
        Some(toml::Value::String(base)) => Some(base),
        Some(_) => {
            return Err(syntax(
                line_of(text, "`base`"),
                "`base` is the name of a built-in recipe, in quotes",
            ));
        }
        None => (path != DEFAULT).then(|| DEFAULT.to_owned()),
    };
    let Some(base) = base else { return Ok(table) };
    let Some(base_text) = built_in_text(&base) else {
        return Err(syntax(line_of(text, "`base`"), &format!("there is no built-in recipe called {base:?}")));
    };
    let mut merged = parse_with_base(base_text, &base)?;
    lay_over(&mut merged, table, "");
    Ok(merged)
}

fn lay_over(base: &mut toml::Table, over: toml::Table, path: &str) {
    for (key, value) in over {
        let place = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        match (base.get_mut(&key), value) {
            (Some(toml::Value::Table(below)), toml::Value::Table(above))
                if MERGED.contains(&place.as_str()) =>
            {
                lay_over(below, above, &place);
            }
            (_, value) => {
                base.insert(key, value);
            }
        }
    }
}

/// The line of the first key or value that an error message puts in backquotes. Line numbers are lost when tables
/// are merged, so the text is searched; good enough to send a reader to the right place.
fn line_of(text: &str, message: &str) -> Option<usize> {
    let names: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    let holds = |line: &str, name: &str| {
        let (key, value) = line.split_once('=').unwrap_or((line, ""));
        key.trim().trim_matches(['[', ']']).trim() == name || value.contains(&format!("\"{name}\""))
    };
    names.iter().find_map(|name| text.lines().position(|line| holds(line, name)).map(|at| at + 1))
}
