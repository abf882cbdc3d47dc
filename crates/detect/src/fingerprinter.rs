//! A recipe made ready: documents in, fingerprints of every kind out.

use crate::kind::Kind;
use crate::prepared::{Prepared, Source};
use crate::recipe::{Features, IdfSource, Over, Recipe, RecipeError, Settings};
use crate::value::{Answer, PlacedMark, Value};
use crate::{picture, python};
use leitong_fingerprint::embedding;
use leitong_fingerprint::image::{Pixels, colour_code, perceptual_hash};
use leitong_fingerprint::minhash::MinHash;
use leitong_fingerprint::rolling::Rolling;
use leitong_fingerprint::sentence_code::sentence_code;
use leitong_fingerprint::shingle::{Shingles, hashes_of_words};
use leitong_fingerprint::weight::Idf;
use leitong_text::normalize::{Normalizer, Options, Punctuation, Whitespace};
use leitong_text::sentence;
use leitong_text::tokenize::{self, Resources, Token, Tokenizer, TokenizerError};
use std::sync::OnceLock;

/// A document that cannot have the fingerprint asked for, however much evidence it has.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FingerprintError {
    /// A kind that is not made from text.
    #[error("{0} fingerprints are not made from text: {1}")]
    NotText(&'static str, &'static str),
    /// An image file that cannot be read.
    #[error("not a readable image ({0}); PNG, JPEG, GIF, WebP, BMP and TIFF are read")]
    Image(String),
    /// A vector without direction.
    #[error(transparent)]
    Embedding(#[from] embedding::EmbeddingError),
}

/// A recipe made ready. Building one can take some tens of milliseconds; share it between threads.
///
/// ```
/// use leitong_detect::{Fingerprinter, Kind, Recipe};
/// let fingerprinter = Fingerprinter::new(Recipe::built_in("py-simhash")?)?;
/// let prepared = fingerprinter.prepare("aa");
/// let answer = fingerprinter.fingerprint(Kind::Simhash, &prepared).unwrap();
/// assert!(answer.value.is_some());
/// # Ok::<(), leitong_detect::RecipeError>(())
/// ```
#[derive(Debug)]
pub struct Fingerprinter {
    recipe: Recipe,
    normalizer: OnceLock<Normalizer>,
    letters_only: OnceLock<Normalizer>,
    tokenizer: OnceLock<Tokenizer>,
    untagged_tokenizer: OnceLock<Tokenizer>,
    pub(crate) simhash_idf: IdfTable,
    pub(crate) keyword_idf: IdfTable,
}

/// The built-in table is only loaded when a weight asks for it.
#[derive(Debug)]
pub(crate) enum IdfTable {
    Chinese,
    Own(Idf),
}

impl IdfTable {
    pub(crate) fn get(&self) -> &Idf {
        match self {
            Self::Chinese => Idf::chinese(),
            Self::Own(table) => table,
        }
    }
}

impl Fingerprinter {
    /// Makes a recipe ready.
    pub fn new(recipe: Recipe) -> Result<Self, RecipeError> {
        let settings = recipe.settings();
        let idf = |source: &IdfSource| match source {
            IdfSource::Chinese => Ok(IdfTable::Chinese),
            IdfSource::File(path) => Idf::parse(recipe.file(path).unwrap_or_default())
                .map(IdfTable::Own)
                .map_err(|error| recipe.bad_file(path, &error)),
        };
        let own = Self {
            simhash_idf: idf(&settings.simhash.idf)?,
            keyword_idf: idf(&settings.keywords.idf)?,
            normalizer: OnceLock::new(),
            letters_only: OnceLock::new(),
            tokenizer: OnceLock::new(),
            untagged_tokenizer: OnceLock::new(),
            recipe,
        };
        if own.settings().words.has_files() {
            // Not lazily: what is wrong with a file is to be said now.
            let tokenizer = own.build_tokenizer(own.needs_tags())?;
            own.tokenizer.get_or_init(|| tokenizer);
        }
        Ok(own)
    }

    /// The recipe.
    #[must_use]
    pub fn recipe(&self) -> &Recipe {
        &self.recipe
    }

    pub(crate) fn settings(&self) -> &Settings {
        self.recipe.settings()
    }

    /// Takes a text in. What a fingerprint needs of it is made when it is asked for, once.
    #[must_use]
    pub fn prepare(&self, text: impl Into<String>) -> Prepared<'_> {
        Prepared::new(self, Source::Text(text.into()))
    }

    /// Takes in words that were found elsewhere: neither normalised nor filtered.
    #[must_use]
    pub fn prepare_tokens(&self, tokens: Vec<String>) -> Prepared<'_> {
        Prepared::new(self, Source::Tokens(tokens))
    }

    // Tables and segmenter are built when they are first needed: most runs need only some of them.

    pub(crate) fn normalizer(&self) -> &Normalizer {
        self.normalizer.get_or_init(|| Normalizer::new(self.settings().normalize))
    }

    pub(crate) fn letters_only(&self) -> &Normalizer {
        self.letters_only.get_or_init(|| {
            let normalize = self.settings().normalize;
            Normalizer::new(Options {
                punctuation: Punctuation::Drop,
                whitespace: Whitespace::Drop,
                ..normalize
            })
        })
    }

    pub(crate) fn tokenizer(&self) -> &Tokenizer {
        self.tokenizer.get_or_init(|| self.sure_tokenizer(self.needs_tags()))
    }

    /// For words whose parts of speech nobody looks at: tags cost half as much again.
    pub(crate) fn untagged_tokenizer(&self) -> &Tokenizer {
        if self.needs_tags() {
            self.untagged_tokenizer.get_or_init(|| self.sure_tokenizer(false))
        } else {
            self.tokenizer()
        }
    }

    /// Whether some fingerprint weighs words by their parts of speech.
    fn needs_tags(&self) -> bool {
        let Settings { simhash, keywords, .. } = self.settings();
        !simhash.boosts.0.is_empty() || !keywords.boosts.0.is_empty()
    }

    fn sure_tokenizer(&self, tags: bool) -> Tokenizer {
        self.build_tokenizer(tags).unwrap_or_else(|error| {
            unreachable!("the recipe's files were read when it was made ready: {error}")
        })
    }

    fn build_tokenizer(&self, tags: bool) -> Result<Tokenizer, RecipeError> {
        let Settings { words, .. } = self.settings();
        let content = |path: &Option<String>| {
            path.as_deref().and_then(|path| self.recipe.file(path)).unwrap_or_default()
        };
        let resources = Resources {
            dictionary: content(&words.dictionary_file),
            stop_words: content(&words.stop_words_file),
            synonyms: content(&words.synonyms_file),
        };
        let tokens = tokenize::Settings { segment: words.segment, filter: words.filter.clone() };
        Tokenizer::new(&tokens, resources, self.normalizer(), tags).map_err(|error| {
            let path = match error {
                TokenizerError::Synonyms(_) => &words.synonyms_file,
                _ => &words.dictionary_file,
            };
            self.recipe.bad_file(path.as_deref().unwrap_or_default(), &error)
        })
    }

    /// The fingerprint of one kind.
    pub fn fingerprint(&self, kind: Kind, document: &Prepared<'_>) -> Result<Answer, FingerprintError> {
        Ok(match kind {
            Kind::Simhash => self.simhash(document),
            Kind::Minhash => self.minhash(document),
            Kind::Winnow => self.winnow(document),
            Kind::Keywords => self.keywords(document),
            Kind::Shingles => self.shingles(document),
            Kind::RabinKarp => self.rabin_karp(document),
            Kind::SentenceCode => self.sentence_code(document),
            Kind::Image => return Err(FingerprintError::NotText("image", "name image files")),
            Kind::Embedding => {
                return Err(FingerprintError::NotText("embedding", "give one JSON array of numbers a line"));
            }
        })
    }

    fn set_of(&self, document: &Prepared<'_>, features: Features, words: usize) -> Shingles {
        match features {
            Features::Words => Shingles::of_words(&texts(&document.tokens()), words),
            Features::Characters(n) => Shingles::of_characters(&document.letters().text, n),
            Features::Units(n) => {
                let text = &document.normalized().text;
                let mut units = Vec::new();
                crate::units::cut_features(text, |start, end| units.push(&text[start..end]));
                Shingles::of_words(&units, n)
            }
            Features::PythonWindows(n) => Shingles::of_words(&python::windows(&document.plain_text(), n), 1),
        }
    }

    pub(crate) fn shingle_set(&self, document: &Prepared<'_>) -> Shingles {
        let settings = &self.settings().shingles;
        self.set_of(document, settings.features, settings.words)
    }

    fn shingles(&self, document: &Prepared<'_>) -> Answer {
        let set = self.shingle_set(document);
        Answer::unless_empty(set.hashes().is_empty(), || Value::Hashes {
            bits: 64,
            hashes: set.hashes().to_vec(),
        })
    }

    pub(crate) fn minhash_signature(&self, document: &Prepared<'_>) -> Option<MinHash> {
        let settings = &self.settings().minhash;
        let set = self.set_of(document, settings.features, settings.words);
        MinHash::new(set.hashes(), settings.banding.places())
    }

    fn minhash(&self, document: &Prepared<'_>) -> Answer {
        let banding = self.settings().minhash.banding;
        match self.minhash_signature(document) {
            Some(signature) => {
                let bands = signature.band_keys(banding);
                Answer::some(Value::MinHash { signature, bands })
            }
            None => Answer::no_text(),
        }
    }

    pub(crate) fn marks(&self, document: &Prepared<'_>) -> Vec<PlacedMark> {
        let settings = self.settings().winnow;
        let winnowing = settings.winnowing();
        match settings.over {
            Over::Characters => {
                let marks = winnowing.of_characters(&document.letters().text);
                document.place_letters(&marks, settings.noise)
            }
            Over::Words => {
                let tokens = document.tokens();
                document.place_words(&winnowing.of_words(&texts(&tokens)), settings.noise, &tokens)
            }
        }
    }

    fn winnow(&self, document: &Prepared<'_>) -> Answer {
        let marks = self.marks(document);
        if marks.is_empty() {
            let noise = self.settings().winnow.noise;
            return Answer::none(&format!("too little evidence: winnowing needs at least {noise} units"));
        }
        Answer::some(Value::Marks(marks))
    }

    fn rabin_karp(&self, document: &Prepared<'_>) -> Answer {
        let settings = self.settings().rabin_karp;
        // Checked when the recipe was read.
        let Ok(rolling) = Rolling::new(settings.base, settings.modulus, settings.window) else {
            return Answer::none("the recipe's rolling hash makes no sense");
        };
        let hashes = match settings.over {
            Over::Characters => rolling.hashes(document.letters().text.chars().map(u64::from)),
            Over::Words => rolling.hashes(hashes_of_words(&texts(&document.tokens()), 1).into_iter()),
        };
        if hashes.is_empty() {
            return Answer::none(&format!("too little evidence: a window has {} units", settings.window));
        }
        Answer::some(Value::Hashes { bits: 64 - (settings.modulus - 1).leading_zeros(), hashes })
    }

    /// The sentence code of a document.
    pub(crate) fn code(&self, document: &Prepared<'_>) -> String {
        let settings = self.settings().sentence_code;
        let text = &document.normalized().text;
        let blocks = sentence::blocks(&sentence::sentences(text), &document.tokens(), settings.least_words);
        sentence_code(blocks.iter().map(|block| &text[block.span.range()]), settings.edge)
    }

    fn sentence_code(&self, document: &Prepared<'_>) -> Answer {
        let code = self.code(document);
        Answer::unless_empty(code.is_empty(), || Value::Code(code))
    }

    /// The fingerprint of an image file's bytes.
    pub fn image(&self, bytes: &[u8]) -> Result<Answer, FingerprintError> {
        let settings = self.settings().image;
        let decoded = picture::decode(bytes).map_err(FingerprintError::Image)?;
        let pixels = Pixels::new(decoded.width, decoded.height, &decoded.rgb)
            .ok_or_else(|| FingerprintError::Image("it has no pixels".into()))?;
        let code = colour_code(pixels, settings.columns, settings.rows);
        Ok(Answer::some(Value::Image { code, hash: perceptual_hash(pixels) }))
    }

    /// The fingerprint of a model's vector.
    pub fn embedding(&self, vector: &[f32]) -> Result<Answer, FingerprintError> {
        let settings = self.settings().embedding;
        Ok(Answer::some(Value::Bits(embedding::fingerprint(vector, settings.bits, settings.seed)?)))
    }
}

fn texts<'t>(tokens: &[Token<'t>]) -> Vec<&'t str> {
    tokens.iter().map(|token| token.text).collect()
}
