//! Documents made from their ordinal alone, so that nothing has to be kept to ask for them again.

const COLLECTION: u32 = 7;

/// Ids of ordinals from here on are never written.
pub const ABSENT: u64 = 1 << 40;

pub fn splitmix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

fn fill(bytes: &mut [u8], state: &mut u64) {
    for chunk in bytes.chunks_mut(8) {
        chunk.copy_from_slice(&splitmix(state).to_le_bytes()[..chunk.len()]);
    }
}

/// Streams of different seeds do not meet in practice: the seed is mixed first.
fn stream(ordinal: u64, kind: u64) -> u64 {
    let mut state = ordinal.wrapping_mul(4).wrapping_add(kind);
    splitmix(&mut state)
}

/// Key of `records` and `texts`.
pub fn record_key(ordinal: u64) -> [u8; 12] {
    let mut key = [0; 12];
    key[..4].copy_from_slice(&COLLECTION.to_be_bytes());
    key[4..].copy_from_slice(&ordinal.to_be_bytes());
    key
}

/// Key of `ids`.
pub fn id_key(ordinal: u64) -> [u8; 24] {
    let mut key = [0; 24];
    key[..4].copy_from_slice(&COLLECTION.to_be_bytes());
    fill(&mut key[4..], &mut stream(ordinal, 0));
    key
}

/// Key of `keys`.
pub fn hash_key(ordinal: u64) -> [u8; 21] {
    let mut key = [0; 21];
    key[..4].copy_from_slice(&COLLECTION.to_be_bytes());
    key[4] = 1;
    fill(&mut key[5..13], &mut stream(ordinal, 1));
    key[13..].copy_from_slice(&ordinal.to_be_bytes());
    key
}

/// 180 bytes, 96 of them random, the rest alike in all records: fingerprints and digests beside names and flags.
pub fn record(ordinal: u64) -> [u8; 180] {
    let mut record = [0x20; 180];
    fill(&mut record[..96], &mut stream(ordinal, 2));
    record
}

/// 1,200 bytes that do not compress.
pub fn text(ordinal: u64) -> [u8; 1200] {
    let mut text = [0; 1200];
    fill(&mut text, &mut stream(ordinal, 3));
    text
}
