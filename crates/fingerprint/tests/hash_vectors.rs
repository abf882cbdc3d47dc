//! Every hash against published values, against the shared vectors, and against values of our own that must never
//! change. The code reads bytes in a fixed order, so the same holds on big-endian machines.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use leitong_fingerprint::hash::{Algorithm, Units, hashlittle, hashlittle2, murmur3_x64_128, murmur64a};
use serde_json::Value;
use std::path::PathBuf;

fn hash(name: &str, word: &str) -> String {
    name.parse::<Algorithm>().unwrap().hash(word, Units::Utf8).to_string()
}

#[test]
fn published_fnv() {
    // draft-eastlake-fnv / the authors' test suite.
    for (name, word, expected) in [
        ("fnv1-32", "", "811c9dc5"),
        ("fnv1-32", "foobar", "31f0b262"),
        ("fnv1a-32", "a", "e40c292c"),
        ("fnv1a-32", "foobar", "bf9cf968"),
        ("fnv1-64", "a", "af63bd4c8601b7be"),
        ("fnv1-64", "foobar", "340d8765a4dda9c2"),
        ("fnv1a-64", "", "cbf29ce484222325"),
        ("fnv1a-64", "a", "af63dc4c8601ec8c"),
        ("fnv1a-64", "foobar", "85944171f73967e8"),
        ("fnv1a-128", "", "6c62272e07bb014262b821756295c58d"),
        ("fnv1a-128", "a", "d228cb696f1a8caf78912b704e4a8964"),
        ("fnv1a-128", "foobar", "343e1662793c64bf6f0d3597ba446f18"),
        ("fnv1a-256", "a", "63323fb0f35303ec28dc751d0a33bdfa4de6a99b7266494f6183b2716811637c"),
        ("fnv1a-256", "foobar", "b055ea2f306cadad4f0f81c02d3889dc32453dad5ae35b753ba1a91084af3428"),
        (
            "fnv1a-512",
            "foobar",
            "b0ec738d9c6fd969d05f0b35f6c0ed53adcacccd8e0000004bf99f58ee4196afb9700e20110830fea5396b76280e47fd022b6e81331ca1a9ced729c364be7788",
        ),
        (
            "fnv1a-1024",
            "foobar",
            "00000631175fa7ae643ad08723d312c9fd024adb91f77f6b19587197a22bcdf23727166c4572d0b985d5ae00000000000000000000000000000000000000000000000000000000000000000000000000000000000000004270d11ef418ef08b8a49e1e825e547eb39937f819222f3b7fc92a0e4707900888847a554bacec98b0",
        ),
    ] {
        assert_eq!(hash(name, word), expected, "{name} of {word:?}");
    }
}

#[test]
fn published_md5() {
    // RFC 1321.
    assert_eq!(hash("md5", ""), "d41d8cd98f00b204e9800998ecf8427e");
    assert_eq!(hash("md5", "abc"), "900150983cd24fb0d6963f7d28e17f72");
    assert_eq!(hash("md5", "message digest"), "f96b697d7cb7938d525a2f31aaf161d0");
}

/// The reference test suite's check of a whole hash: keys {0}, {0,1}, ... with falling seeds, hashed, and the
/// results hashed again; the first four bytes are published.
fn smhasher_verification(hash: impl Fn(&[u8], u32) -> Vec<u8>) -> u32 {
    let key: Vec<u8> = (0..=255).collect();
    let hashes: Vec<u8> = (0..256).flat_map(|i| hash(&key[..i], 256 - i as u32)).collect();
    let last = hash(&hashes, 0);
    u32::from_le_bytes([last[0], last[1], last[2], last[3]])
}

#[test]
fn published_murmur() {
    let a = smhasher_verification(|bytes, seed| murmur64a(bytes, u64::from(seed)).to_le_bytes().to_vec());
    assert_eq!(a, 0x1f0d_3804);
    let three = smhasher_verification(|bytes, seed| {
        let (first, second) = murmur3_x64_128(bytes, seed);
        [first.to_le_bytes(), second.to_le_bytes()].concat()
    });
    assert_eq!(three, 0x6384_ba69);
    // As the Python package mmh3 prints it.
    assert_eq!(hash("murmur3-128", "a"), "85555565f6597889e6b53a48510e895a");
    let fox = "The quick brown fox jumps over the lazy dog";
    assert_eq!(hash("murmur3-128", fox), "e34bbc7bbc071b6c7a433ca9c49a9347");
}

#[test]
fn published_lookup3() {
    // The values in the author's own source, driver5.
    let speech = b"Four score and seven years ago";
    assert_eq!(hashlittle2(b"", 0, 0), (0xdead_beef, 0xdead_beef));
    assert_eq!(hashlittle2(b"", 0, 0xdead_beef), (0xbd5b_7dde, 0xdead_beef));
    assert_eq!(hashlittle2(b"", 0xdead_beef, 0xdead_beef), (0x9c09_3ccd, 0xbd5b_7dde));
    assert_eq!(hashlittle2(speech, 0, 0), (0x1777_0551, 0xce72_26e6));
    assert_eq!(hashlittle2(speech, 0, 1), (0xe360_7cae, 0xbd37_1de4));
    assert_eq!(hashlittle2(speech, 1, 0), (0xcd62_8161, 0x6cbe_a4b3));
    assert_eq!(
        smhasher_verification(|bytes, seed| hashlittle(bytes, seed).to_le_bytes().to_vec()),
        0x3d83_917a
    );
}

#[test]
fn published_xxh3() {
    // As the reference implementation prints it (python-xxhash 3).
    for (word, seed0) in [
        ("", "2d06800538d394c2"),
        ("a", "e6c632b61e964e1f"),
        ("abc", "78af5f94892f3950"),
        ("如有雷同，绝非巧合", "cededec4ee1ad464"),
        ("The quick brown fox jumps over the lazy dog", "ce7d19a5418fb365"),
    ] {
        assert_eq!(hash("xxh3", word), seed0);
    }
    let mut wide = [0; 2];
    Algorithm::Xxh3.hash_into("abc", Units::Utf8, &mut wide);
    assert_eq!(wide, [0x78af_5f94_892f_3950, 0x6b44_67b4_43c7_6228], "word i is seed i");
}

#[test]
fn our_own_frozen_values() {
    for (name, utf8, utf16) in FROZEN {
        let algorithm: Algorithm = name.parse().unwrap();
        let word = "雷同 abc😀";
        assert_eq!(algorithm.hash(word, Units::Utf8).to_string(), *utf8, "{name}, bytes");
        assert_eq!(algorithm.hash(word, Units::Utf16).to_string(), *utf16, "{name}, code units");
    }
}

/// Checked once against a second implementation, then frozen.
const FROZEN: &[(&str, &str, &str)] = &[
    ("fnv1-32", "e0fae0be", "dc562bb3"),
    ("fnv1a-32", "6d6ff084", "7e1dd49b"),
    ("fnv1-64", "b229ef4df55a285e", "b64860b8bdd352d3"),
    ("fnv1a-64", "a4834e6b59f0c244", "da0a3c2adb5ac27b"),
    ("fnv1-128", "f351d637710cd95b4d3cd045fc0dc5f6", "99e591734c659b326921539e9e688afb"),
    ("fnv1a-128", "5e9e73d9ae14525b630e11911f9529d4", "fbdd9c5a4e6342a4aa63b6e5a62e8413"),
    ("mul1000003-7", "326238ea7bc340cd", "3d3a591c10a85bee"),
    ("mul1000003-12", "29c753de429a8c4d", "40fbc29ee419bf6e"),
    ("sdbm", "3a8e6e9f9c789335", "102f8e812f690f9a"),
    ("rs", "3e81f05f9d0af0f9", "96b924c220d049ee"),
    ("js", "6250dadce6a993ae", "68ee644b871978a8"),
    ("pjw", "00fad58660135180", "000c206163ad5000"),
    ("elf", "0f375e8e6792a900", "000009c37e75e4d0"),
    ("md5", "ec5a2c5145156c600b9b977929e73dce", "d6b6bfb79215fc011f7645397cfa7a31"),
    ("murmur3-128", "a8ae18238dd69e4f51ab1ee5eb1f77b6", "9134b54289134867c6c0fd6089e589c2"),
    ("xxh3", "9d4139875e0e9176", "e081242ca2ffbc79"),
];

#[test]
fn names_read_back() {
    for algorithm in Algorithm::all() {
        assert_eq!(algorithm.to_string().parse(), Ok(algorithm));
    }
    assert!("sha256".parse::<Algorithm>().unwrap_err().to_string().contains("xxh3"));
    assert!(Algorithm::Sdbm.check_width(128).is_err() && Algorithm::Xxh3.check_width(1024).is_ok());
}

#[test]
fn shared_words() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/vectors/words.jsonl");
    let Ok(text) = std::fs::read_to_string(&path) else {
        println!("skipped: shared_words (needs ../shared/vectors/words.jsonl)");
        return;
    };
    let mut checked = 0;
    for line in text.lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let word = row["word"].as_str().unwrap();
        for (field, expected) in row.as_object().unwrap() {
            let name = if let Some(shift) = field.strip_prefix("mul1000003_shift") {
                format!("mul1000003-{shift}")
            } else if let Some((kind, width)) = field.split_once("_utf16_") {
                format!("{kind}-{width}")
            } else if field == "length_weight" {
                assert_eq!(leitong_fingerprint::weight::length_weight(word), expected.as_u64().unwrap());
                continue;
            } else {
                continue;
            };
            let algorithm: Algorithm = name.parse().unwrap();
            assert_eq!(
                algorithm.hash(word, Units::Utf16).to_string(),
                expected.as_str().unwrap(),
                "{name} of {word}"
            );
            checked += 1;
        }
    }
    assert!(checked >= 120 * 14, "{checked} values");
}
