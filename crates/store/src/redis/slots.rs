//! Which of the 16,384 slots of a cluster a key belongs to.

pub(crate) const SLOTS: usize = 16_384;

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

    #[test]
    fn as_redis_counts() {
        assert_eq!(crc16(b"123456789"), 0x31c3, "the check value of the specification");
        // As `CLUSTER KEYSLOT` says.
        assert_eq!([of(b"foo"), of(b"a{foo}b"), of(b"{foo}{bar}")], [12182; 3]);
        assert_eq!(of(b"foo{}{bar}"), 8363, "nothing between the braces");
    }
}
