//! Bob Jenkins' lookup3: `hashlittle` and `hashlittle2`, over bytes read little-endian on every machine.

/// The 32-bit hash.
#[must_use]
pub fn hashlittle(bytes: &[u8], initval: u32) -> u32 {
    hashlittle2(bytes, initval, 0).0
}

/// Two 32-bit hashes at once; the first is the better mixed one and equals [`hashlittle`] when `second` is 0.
#[must_use]
pub fn hashlittle2(bytes: &[u8], first: u32, second: u32) -> (u32, u32) {
    let start = 0xdead_beef_u32.wrapping_add(bytes.len() as u32).wrapping_add(first);
    let mut state = [start, start, start.wrapping_add(second)];
    let mut rest = bytes;
    // The last 1 to 12 bytes are added and then mixed differently, so a block is only taken while more follow.
    while rest.len() > 12 {
        let (block, after) = rest.split_at(12);
        add(&mut state, block);
        mix(&mut state);
        rest = after;
    }
    if !rest.is_empty() {
        add(&mut state, rest);
        finish(&mut state);
    }
    (state[2], state[1])
}

/// Adds up to twelve bytes to the three words of the state.
fn add(state: &mut [u32; 3], bytes: &[u8]) {
    for (word, chunk) in state.iter_mut().zip(bytes.chunks(4)) {
        let value = chunk.iter().rev().fold(0, |value, &byte| value << 8 | u32::from(byte));
        *word = word.wrapping_add(value);
    }
}

fn mix([a, b, c]: &mut [u32; 3]) {
    let round = |x: &mut u32, y: &mut u32, z: &mut u32, turn: u32| {
        *x = x.wrapping_sub(*z) ^ z.rotate_left(turn);
        *z = z.wrapping_add(*y);
    };
    round(a, b, c, 4);
    round(b, c, a, 6);
    round(c, a, b, 8);
    round(a, b, c, 16);
    round(b, c, a, 19);
    round(c, a, b, 4);
}

fn finish([a, b, c]: &mut [u32; 3]) {
    let round = |x: &mut u32, y: u32, turn: u32| *x = (*x ^ y).wrapping_sub(y.rotate_left(turn));
    round(c, *b, 14);
    round(a, *c, 11);
    round(b, *a, 25);
    round(c, *b, 16);
    round(a, *c, 4);
    round(b, *a, 14);
    round(c, *b, 24);
}
