//! Which of the 16,384 slots of a cluster a key belongs to.

pub(crate) const SLOTS: usize = 16_384;

/// Ends of keys that spread them evenly. Checksums are linear: whatever a key is, with the end of number `i` behind it it is in the
/// slot it has with the first one, its five highest bits changed by `i`. They are parts of stored keys and never change.
#[rustfmt::skip]
pub(crate) const ENDS: [&str; 32] = [
    "1bz", "04s", "dlj", "003", "5nw", "pt6", "5j7", "4x6", "17p", "0ay", "130", "0e9", "h85", "4mt", "qsu", "4i4",
    "fjl", "265", "ng4", "22u", "7l1", "c0h", "7hq", "6zp", "356", "gio", "31v", "od7", "b3k", "6o2", "7ys", "6kr",
];

/// The slot of a key with another of the [`ENDS`], by its slot with the first one.
pub(crate) fn with_end(slot: u16, end: usize) -> u16 {
    slot ^ (end * SLOTS / ENDS.len()) as u16
}

/// The ends of so many copies of a key, evenly apart, by its slot with the first end: which is that of the first copy.
pub(crate) fn ends(slot: u16, copies: usize) -> impl Iterator<Item = usize> {
    let (number, first) = (ENDS.len(), usize::from(slot) * ENDS.len() / SLOTS);
    (0..copies).map(move |copy| first ^ ((first + (copy * number + copies / 2) / copies) % number))
}

/// The slot of a key: by what stands between the first braces, if something does.
pub(crate) fn of(key: &[u8]) -> u16 {
    let tag = key.iter().position(|&byte| byte == b'{').and_then(|open| {
        let rest = &key[open + 1..];
        let close = rest.iter().position(|&byte| byte == b'}')?;
        (close > 0).then(|| &rest[..close])
    });
    crc16(tag.unwrap_or(key)) % SLOTS as u16
}

/// XMODEM's checksum, bit by bit made into a table.
fn crc16(bytes: &[u8]) -> u16 {
    const TABLE: [u16; 256] = table();
    bytes.iter().fold(0, |crc, &byte| crc << 8 ^ TABLE[usize::from((crc >> 8) as u8 ^ byte)])
}

const fn table() -> [u16; 256] {
    let (mut table, mut at) = ([0; 256], 0);
    while at < 256 {
        let (mut crc, mut bit) = ((at as u16) << 8, 0);
        while bit < 8 {
            crc = if crc & 0x8000 == 0 { crc << 1 } else { crc << 1 ^ 0x1021 };
            bit += 1;
        }
        table[at] = crc;
        at += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn copies_are_evenly_apart() {
        for slot in 0..SLOTS as u16 {
            let apart = |copies| {
                let slots = ends(slot, copies).map(|end| with_end(slot, end));
                slots
                    .map(|other| (usize::from(other) + SLOTS - usize::from(slot)) % SLOTS)
                    .collect::<Vec<_>>()
            };
            assert_eq!(apart(2), [0, SLOTS / 2]);
            assert_eq!(apart(3), [0, 11 * 512, 21 * 512]);
        }
    }

    proptest! {
        #[test]
        fn ends_spread_every_key_evenly(key in "[a-z0-9.:_-]{0,40}") {
            let slots = ENDS.map(|end| of(format!("{key}.{end}").as_bytes()));
            for (end, slot) in slots.into_iter().enumerate() {
                prop_assert_eq!(slot, with_end(slots[0], end));
            }
        }
    }

    #[test]
    fn as_redis_counts() {
        assert_eq!(crc16(b"123456789"), 0x31c3, "the check value of the specification");
        // As `CLUSTER KEYSLOT` says.
        assert_eq!([of(b"foo"), of(b"a{foo}b"), of(b"{foo}{bar}")], [12182; 3]);
        assert_eq!(of(b"foo{}{bar}"), 8363, "nothing between the braces");
    }
}
