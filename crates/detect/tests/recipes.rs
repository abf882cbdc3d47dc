//! Recipes: what is stored under a digest must never change, and the fast path equals the slow one.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use leitong_detect::{Fields, Fingerprinter, Kind, Recipe, RecipeError, Scratch, Value, recipe};
use proptest::prelude::*;
use std::sync::LazyLock;

fn built_in(name: &str) -> Recipe {
    Recipe::built_in(name).unwrap()
}

fn own(toml: &str) -> Result<Recipe, RecipeError> {
    Recipe::from_toml(toml, "own.toml", &|name| Ok(format!("content of {name}")))
}

const TEXT: &str = "　　昨天上午，市圖書館新館在城東正式開館，首批１２萬冊圖書全部上架，市民憑身份證即可辦理借閱手續。\n\
    The new library opened yesterday; readers may borrow up to ten books at a time.\n\
    館長表示，新館每週開放六天，週末還將舉辦面向兒童的繪本故事會。";

/// Digests, and the SimHash of one text, of every built-in recipe. A change here means that stored fingerprints no
/// longer mean the same: give the new recipe a new name instead.
#[test]
fn built_in_recipes_are_frozen() {
    for (name, digest, simhash) in FROZEN {
        let recipe = built_in(name);
        assert_eq!(recipe.digest().to_string(), *digest, "{name}");
        let fingerprinter = Fingerprinter::new(recipe).unwrap();
        let Some(Value::Bits(bits)) = fingerprinter.simhash(&fingerprinter.prepare(TEXT)).value else {
            panic!("{name} gives no SimHash");
        };
        assert_eq!(bits.to_string(), *simhash, "{name}");
    }
    assert_eq!(recipe::names().count(), FROZEN.len());
}

const FROZEN: &[(&str, &str, &str)] = &[
    ("leitong-1", "447919d0555e211f9fce240b3c443538", "e6a3df4624fcb687"),
    ("leitong-words-1", "d79e4a5a431ae2b5d0d527b1fb979c14", "e6a424ff2efcc485"),
    ("cms-redis", "e54fcd1712c3b43df2852fdf2c5b7ae2", "9f3800081e7d0df5"),
    ("ik", "fada3dc795e50a3127eaac3b656ce65b", "2015964f790d9dac"),
    ("es-news", "15d6ec4d8238d8f2f17ce9bffdfe7ad5", "825afa7fe5fcd2be"),
    ("semantic-2013", "a59ac72c5da331892c1a151857282732", "0000000000009c41"),
    ("py-simhash", "348542e5ca55ced5200c9fe840efe563", "2ddd6bb088621f27"),
];

/// The other kinds of the default recipe, each by a digest of its printed value.
#[test]
fn every_kind_is_frozen() {
    let fingerprinter = Fingerprinter::new(built_in("leitong-1")).unwrap();
    let document = fingerprinter.prepare(TEXT);
    for (kind, expected) in FROZEN_KINDS {
        let answer = fingerprinter.fingerprint(*kind, &document).unwrap();
        let digest = leitong_fingerprint::hash::own64(format!("{:?}", answer.value).as_bytes());
        assert_eq!(format!("{digest:016x}"), *expected, "{kind:?}: {:?}", answer.value);
    }
}

const FROZEN_KINDS: &[(Kind, &str)] = &[
    (Kind::Minhash, "9ac09c68a3d029cc"),
    (Kind::Winnow, "7080ad70e3a580ec"),
    (Kind::Keywords, "41dc459036ad27cd"),
    (Kind::Shingles, "88f5a9d03211a0cf"),
    (Kind::RabinKarp, "3a5693c4fa84bfb1"),
    (Kind::SentenceCode, "283262a9c94c359e"),
];

#[test]
fn the_digest_covers_what_decides_and_nothing_else() {
    let digest = |toml: &str| own(toml).unwrap().digest();
    let plain = digest("name = \"a\"");
    assert_eq!(plain, built_in("leitong-1").digest());
    assert_eq!(plain, digest("name = \"b\"\nabout = \"other words\"\n[simhash]\nprint-lsb-first = true"));
    for change in [
        "[normalize]\nsimplify = false",
        "[words.segment]\nhmm = false",
        "[words.filter]\nstop-words = []",
        "[words]\nsynonyms-file = \"a.tsv\"",
        "[words]\nsynonyms-file = \"b.tsv\"",
        "[simhash]\nweight = \"count\"",
        "[simhash]\ntop = 9",
        "[simhash]\nfloor = \"length-weights\"",
        "[minhash]\nbanding = { bands = 8, rows = 8 }",
        "[winnow]\nguarantee = 20",
        "[keywords]\nsource = \"given\"",
        "[embedding]\nseed = 1",
    ] {
        assert_ne!(plain, digest(&format!("name = \"a\"\n{change}")), "{change}");
    }
}

#[test]
fn a_recipe_reads_back_from_its_own_toml() {
    for name in recipe::names() {
        let recipe = built_in(name);
        let again = Recipe::from_toml(&recipe.to_toml(), "again.toml", &|_| unreachable!()).unwrap();
        assert_eq!(again, recipe);
    }
}

#[test]
fn sections_are_merged_and_values_replaced() {
    let recipe = own("name = \"a\"\nbase = \"cms-redis\"\n[simhash]\nfeatures = { characters = 3 }").unwrap();
    let settings = recipe.settings();
    assert_eq!(settings.simhash.hash.to_string(), "fnv1a-64", "from the base");
    assert_eq!(settings.simhash.features, recipe::Features::Characters(3), "from the file");
    assert!(!settings.normalize.nfkc, "from the base");
}

#[test]
fn keyword_sources() {
    let keywords = |source: &str, text: &str| {
        let recipe = own(&format!("name = \"a\"\n[keywords]\nsource = {source}")).unwrap();
        let fingerprinter = Fingerprinter::new(recipe).unwrap();
        let fields = Fields { title: "标题".into(), ..Fields::default() };
        let document = fingerprinter.prepare(text).with_fields(fields);
        fingerprinter.fingerprint(Kind::Keywords, &document).unwrap().value
    };
    let shuffled = "新館在城東正式開館，昨天上午，市圖書館";
    let original = "昨天上午，市图书馆新馆在城东正式开馆";
    for source in ["{ top-terms = 4 }", "{ most-frequent = 3 }"] {
        assert!(keywords(source, original).is_some());
    }
    assert_eq!(keywords("{ top-terms = 20 }", original), keywords("{ top-terms = 20 }", shuffled));
    assert_eq!(keywords("\"first-paragraph\"", "甲。\n乙"), keywords("\"first-paragraph\"", "甲！\n丙"));
    assert_eq!(keywords("\"last-paragraph\"", "甲\n乙\n"), keywords("\"last-paragraph\"", "丙\n乙"));
    assert_eq!(keywords("{ sentence = 2 }", "甲。乙。丙。"), keywords("{ sentence = 2 }", "丁。乙。"));
    assert_eq!(keywords("{ sentence = 5 }", "甲。乙。"), None);
    assert_eq!(keywords("\"fields\"", "甲"), keywords("\"fields\"", "乙"));
    assert_eq!(keywords("\"given\"", "甲"), None);
    let imatch = "{ imatch = { lowest = 3000, highest = 9000, lexicons = 4 } }";
    assert!(matches!(keywords(imatch, original), Some(Value::Several(list)) if list.len() == 4));
}

#[test]
fn the_textbook_rolling_hash() {
    let recipe = own("name = \"a\"\n[rabin-karp]\nbase = 256\nmodulus = 101\nwindow = 5").unwrap();
    let fingerprinter = Fingerprinter::new(recipe).unwrap();
    let answer = fingerprinter.fingerprint(Kind::RabinKarp, &fingerprinter.prepare("ab cde, f")).unwrap();
    let direct =
        |window: &str| window.bytes().fold(0, |hash: u64, byte| (hash * 256 + u64::from(byte)) % 101);
    assert_eq!(answer.value, Some(Value::Hashes { bits: 7, hashes: vec![direct("abcde"), direct("bcdef")] }));
}

/// Recipes of character runs, each with a twin that takes the general path: keeping the 100,000 heaviest features
/// changes nothing, but the fast path does not know it.
static TWINS: LazyLock<Vec<(Fingerprinter, Fingerprinter)>> = LazyLock::new(|| {
    let ready = |toml: String| Fingerprinter::new(own(&toml).unwrap()).unwrap();
    let mut twins = Vec::new();
    for (features, n, weight) in [
        ("characters", 1, "set"),
        ("characters", 4, "sqrt"),
        ("characters", 3, "uniform"),
        ("units", 2, "log"),
        ("units", 3, "set"),
        ("units", 2, "count"),
    ] {
        let fast = format!(
            "name = \"a\"\n[simhash]\nfeatures = {{ {features} = {n} }}\nweight = \"{weight}\"\nfloor = {{ features = 3 }}"
        );
        twins.push((ready(fast.clone()), ready(format!("{fast}\ntop = 100000"))));
    }
    twins
});

proptest! {
    #[test]
    fn the_fast_path_equals_the_general_one(text in "([雷同检测图书馆abcＡ，。 ]|[a-z]{1,6} ){0,120}") {
        for (fast, general) in TWINS.iter() {
            let expected = general.simhash(&general.prepare(text.as_str())).value;
            prop_assert_eq!(fast.simhash(&fast.prepare(text.as_str())).value, expected.clone());
            let word = fast.simhash64(&text, &mut Scratch::default()).map(|word| Value::Bits(word.into()));
            prop_assert_eq!(word, expected);
        }
    }
}
