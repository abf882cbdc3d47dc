//! The small string hashes of the literature, at 64 bits, and the multiplicative hash of the documents.
//!
//! The originals of RS, JS, PJW, ELF and SDBM are 32-bit recurrences. Our 64-bit form keeps each recurrence, its
//! constants and its starting value, computes modulo 2^64, and scales the two that name bit positions (PJW, ELF)
//! from the word size as their authors wrote them: PJW moves the top eighth back by three quarters of the word
//! (bits 56-63 down by 48), ELF moves the top four bits (60-63) down by 56.

pub(super) fn mul1000003(units: impl Iterator<Item = u16>, shift: u32) -> u64 {
    let mut units = units.map(u64::from).peekable();
    let Some(&first) = units.peek() else { return 0 };
    let mut hash = first << shift;
    let mut length = 0;
    for unit in units {
        hash = hash.wrapping_mul(1_000_003) ^ unit;
        length += 1;
    }
    hash ^ length
}

pub(super) fn sdbm(units: impl Iterator<Item = u16>) -> u64 {
    units.fold(0, |hash: u64, unit| {
        u64::from(unit).wrapping_add(hash << 6).wrapping_add(hash << 16).wrapping_sub(hash)
    })
}

pub(super) fn rs(units: impl Iterator<Item = u16>) -> u64 {
    let (mut hash, mut a) = (0u64, 63_689u64);
    for unit in units {
        hash = hash.wrapping_mul(a).wrapping_add(u64::from(unit));
        a = a.wrapping_mul(378_551);
    }
    hash
}

pub(super) fn js(units: impl Iterator<Item = u16>) -> u64 {
    units.fold(1_315_423_911, |hash: u64, unit| {
        hash ^ (hash << 5).wrapping_add(u64::from(unit)).wrapping_add(hash >> 2)
    })
}

pub(super) fn pjw(units: impl Iterator<Item = u16>) -> u64 {
    const TOP: u64 = 0xff << 56;
    units.fold(0, |hash: u64, unit| {
        let hash = (hash << 8).wrapping_add(u64::from(unit));
        let top = hash & TOP;
        if top == 0 { hash } else { (hash ^ top >> 48) & !TOP }
    })
}

pub(super) fn elf(units: impl Iterator<Item = u16>) -> u64 {
    const TOP: u64 = 0xf << 60;
    units.fold(0, |hash: u64, unit| {
        let hash = (hash << 4).wrapping_add(u64::from(unit));
        let top = hash & TOP;
        (hash ^ top >> 56) & !top
    })
}
