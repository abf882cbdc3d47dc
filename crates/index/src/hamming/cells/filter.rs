//! The bitmap that tells which neighbouring cells are worth a visit.

/// Bits of a number that choose a place inside a cache line of 512 bits.
const IN_LINE: u32 = 9;

/// Which bits of a key the filter is addressed by: `high` leading ones, then `exact` bits from behind the directory, and
/// last, so that they choose the place within a line, `low` bits that follow the leading ones. Of the directory's last
/// bits some may be left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FilterShape {
    pub(crate) high: u32,
    pub(crate) exact: u32,
    pub(crate) low: u32,
    pub(crate) directory_bits: u32,
}

impl FilterShape {
    /// A filter about a tenth full; `None` where there is nothing to filter. `end` is where the bits end that must
    /// agree once a bit of the directory differs.
    pub(crate) fn new(items: u64, fixed_bits: u32, directory_bits: u32, end: u32) -> Option<Self> {
        let bits = items.max(1).ilog2() + 4;
        let exact = end.saturating_sub(directory_bits).min(8);
        let addressed = directory_bits.min(bits.saturating_sub(exact));
        let low = IN_LINE.min(addressed.saturating_sub(fixed_bits));
        let high = addressed - low;
        let useful = exact >= 3 && low >= 3 && high >= fixed_bits && directory_bits + exact <= 64;
        useful.then_some(Self { high, exact, low, directory_bits })
    }

    /// The filter's bit for the leading 64 bits of a key.
    #[inline(always)]
    pub(crate) fn address(self, key: u64) -> u64 {
        let low = key << self.high >> (64 - self.low);
        let exact = key << self.directory_bits >> (64 - self.exact);
        (key >> 1 >> (63 - self.high)) << (self.exact + self.low) | exact << self.low | low
    }

    /// Bits of the directory, the last ones, that the filter does not know.
    #[inline(always)]
    pub(crate) fn unknown(self) -> u32 {
        self.directory_bits - self.high - self.low
    }

    pub(crate) fn bytes(self) -> u64 {
        (1_u64 << (self.high + self.exact + self.low)).div_ceil(64) * 8
    }

    pub(crate) fn to_words(self) -> [u64; 4] {
        [self.high, self.exact, self.low, self.directory_bits].map(u64::from)
    }

    pub(crate) fn from_words(words: [u64; 4]) -> Option<Self> {
        let [high, exact, low, directory_bits] = words.map(|word| word as u32);
        let sizes = exact > 0 && low > 0 && words.iter().all(|&word| word <= 64);
        (sizes && high + low <= directory_bits && directory_bits + exact <= 64 && high + exact + low < 64)
            .then_some(Self { high, exact, low, directory_bits })
    }
}
