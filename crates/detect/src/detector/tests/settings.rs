//! Collections: what they were made with is read back, or refused.

use super::*;
use crate::detector::{DEFAULT_COLLECTION, DetectError};
use crate::{Recipe, recipe};
use leitong_store::{Store, StoreError};

#[test]
fn every_recipe_survives() {
    let own = |toml: &str| Recipe::from_toml(toml, "own.toml", &|name| Ok(file(name))).unwrap();
    let mut recipes: Vec<Recipe> = recipe::names().map(|name| Recipe::built_in(name).unwrap()).collect();
    recipes.push(own("name = \"files\"\n[words]\nstop-words-file = \"stop.txt\"\ndictionary-file = \"d.txt\"\n\
                      synonyms-file = \"s.txt\"\n[simhash]\nidf = { file = \"idf.txt\" }\nfeatures = \"words\"\nweight = \"tf-idf\""));
    // What the base has and this has not: written as TOML and read again it would come back.
    recipes.push(own("name = \"no boosts\"\n[keywords]\nboosts = {}"));
    recipes.push(own("name = \"wide\"\n[simhash]\nbits = 256\ntop = 50\nprint-lsb-first = true"));
    let detector = detector();
    for (i, recipe) in recipes.into_iter().enumerate() {
        assert_eq!(Recipe::from_json(recipe.to_json()).unwrap(), recipe);
        let name = i.to_string();
        let settings =
            CollectionSettings { distance: 2, keep_texts: false, ..CollectionSettings::new(recipe) };
        let made = detector.create(&name, &settings).unwrap();
        assert_eq!(*made.settings(), settings);
        let opened = Detector::new(Arc::clone(detector.store())).open(&name).unwrap();
        assert_eq!(*opened.settings(), settings);
        assert_eq!(opened.settings().recipe.digest(), settings.recipe.digest());
        assert_eq!(opened.recipe_digest(), settings.recipe.digest());
        let stored = opened.add(vec![Document::new("1", NEWS)], When::Replace, Evidence::None).unwrap();
        assert!(stored[0].as_ref().unwrap().outcome.is_stored());
    }
    assert!(
        detector
            .collections()
            .unwrap()
            .iter()
            .all(|info| info.settings.is_some() && info.count.documents == 1)
    );
}

fn file(name: &str) -> String {
    match name {
        "d.txt" => "新馆 100 n\n".into(),
        "s.txt" => "开馆\t开放\n".into(),
        "idf.txt" => "图书馆 3.5\n".into(),
        _ => "已经\n".into(),
    }
}

#[test]
fn making_twice_is_opening() {
    let detector = detector();
    let settings = CollectionSettings::default();
    detector.create(DEFAULT_COLLECTION, &settings).unwrap();
    detector.create(DEFAULT_COLLECTION, &settings).unwrap();
    let other = CollectionSettings::new(Recipe::built_in("ik").unwrap());
    let refused = detector.create(DEFAULT_COLLECTION, &other).unwrap_err();
    assert!(matches!(refused, DetectError::Store(StoreError::OtherCollection { .. })));
    let same = CollectionSettings { keep_texts: false, ..settings };
    assert!(detector.create(DEFAULT_COLLECTION, &same).unwrap().settings().keep_texts);
    assert!(detector.destroy(DEFAULT_COLLECTION).unwrap());
    assert!(!detector.destroy(DEFAULT_COLLECTION).unwrap());
    let refused = detector.open(DEFAULT_COLLECTION).unwrap_err();
    assert!(matches!(refused, DetectError::Store(StoreError::NoCollection { .. })));
}

/// A recipe that cannot be used leaves no collection behind that cannot be opened.
#[test]
fn a_bad_recipe_makes_nothing() {
    let toml = "name = \"bad\"\n[words]\nsynonyms-file = \"s.txt\"";
    let recipe = Recipe::from_toml(toml, "own.toml", &|_| Ok("no tab".into())).unwrap();
    let detector = detector();
    let refused = detector.create("bad", &CollectionSettings::new(recipe)).unwrap_err();
    assert!(matches!(refused, DetectError::Recipe(_)));
    assert!(detector.collections().unwrap().is_empty());
}

#[test]
fn collections_share_a_recipe_made_ready() {
    let detector = detector();
    let settings = CollectionSettings::default();
    let (a, b) = (detector.create("a", &settings).unwrap(), detector.create("b", &settings).unwrap());
    assert!(std::ptr::eq(a.fingerprinter(), b.fingerprinter()));
}

#[test]
fn what_cannot_be_read_is_said() {
    let store = Arc::new(Memory::default());
    let made = CollectionSettings::default().write("made");
    let changed = leitong_store::Collection { name: "changed".into(), recipe: [7; 16], ..made.clone() };
    let foreign = leitong_store::Collection { name: "foreign".into(), about: "mine".into(), ..made.clone() };
    let later = made.about.replace("\"format\":1", "\"format\":2");
    let later = leitong_store::Collection { name: "later".into(), about: later, ..made };
    [&changed, &foreign, &later].iter().for_each(|collection| store.create(collection).unwrap());
    let detector = Detector::new(store);
    let error = detector.open("changed").unwrap_err();
    assert!(matches!(error, DetectError::RecipeChanged { .. }) && error.to_string().contains("export"));
    assert!(matches!(detector.open("foreign").unwrap_err(), DetectError::Settings { .. }));
    assert!(matches!(detector.open("later").unwrap_err(), DetectError::Settings { .. }));
    assert_eq!(detector.collections().unwrap().len(), 3);
}
