//! What a collection is made with, and how it is written down.

use super::{DetectError, Judge};
use crate::{Recipe, RecipeDigest};
use leitong_store::{Space, SpaceSettings};
use serde::{Deserialize, Serialize};

/// What a collection is made with.
#[derive(Clone, Debug, PartialEq)]
pub struct CollectionSettings {
    /// What decides its fingerprints.
    pub recipe: Recipe,
    /// The largest distance at which documents are near.
    pub distance: u32,
    /// Whether texts are kept: for evidence, for judges that read, and for making fingerprints anew.
    pub keep_texts: bool,
    /// Who says what a candidate is.
    pub judge: Judge,
}

impl CollectionSettings {
    /// The default settings with a recipe.
    #[must_use]
    pub fn new(recipe: Recipe) -> Self {
        Self { recipe, distance: 3, keep_texts: true, judge: Judge::default() }
    }

    /// As a store keeps it.
    pub(super) fn write(&self, name: &str) -> leitong_store::Collection {
        let about = About {
            format: FORMAT,
            recipe: self.recipe.to_json(),
            distance: self.distance,
            keep_texts: self.keep_texts,
            judge: self.judge.clone(),
        };
        let space = |space| SpaceSettings {
            space,
            width: self.recipe.settings().simhash.bits,
            within: self.distance,
        };
        leitong_store::Collection {
            name: name.to_owned(),
            recipe: self.recipe.digest().0,
            about: serde_json::to_string(&about).unwrap_or_default(),
            spaces: vec![space(Space::DOCUMENTS), space(Space::CENTRES)],
        }
    }

    /// As a store has kept it.
    pub(super) fn read(stored: &leitong_store::Collection) -> Result<Self, DetectError> {
        let unreadable = |message| DetectError::Settings { collection: stored.name.clone(), message };
        let about: About =
            serde_json::from_str(&stored.about).map_err(|error| unreadable(error.to_string()))?;
        if about.format != FORMAT {
            return Err(unreadable(format!("format {}, not {FORMAT}", about.format)));
        }
        let recipe = Recipe::from_json(about.recipe)?;
        let (now, made) = (recipe.digest(), RecipeDigest(stored.recipe));
        if now != made {
            let collection = stored.name.clone();
            let (stored, now) = (made.to_string(), now.to_string());
            return Err(DetectError::RecipeChanged { collection, stored, now });
        }
        Ok(Self { recipe, distance: about.distance, keep_texts: about.keep_texts, judge: about.judge })
    }
}

impl Default for CollectionSettings {
    fn default() -> Self {
        Self::new(Recipe::default())
    }
}

const FORMAT: u32 = 1;

/// What stands in [`leitong_store::Collection::about`].
#[derive(Serialize, Deserialize)]
struct About {
    format: u32,
    distance: u32,
    keep_texts: bool,
    judge: Judge,
    recipe: serde_json::Value,
}
