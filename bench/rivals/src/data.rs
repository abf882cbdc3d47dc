//! The data every rival is measured on. No dependencies, and the same bits everywhere: `README.md` spells out the definition.

/// The generator of Steele, Lea and Flood, as published.
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// Starts at a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 bits.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// The next number below `bound`. The remainder is good enough here, and easy to write again in any language.
    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    /// `value` with `count` different bits flipped.
    fn flip(&mut self, value: u64, count: u64) -> u64 {
        let mut mask = 0u64;
        for _ in 0..count {
            let mut bit = 1u64 << self.below(64);
            while mask & bit != 0 {
                bit = 1u64 << self.below(64);
            }
            mask |= bit;
        }
        value ^ mask
    }
}

/// How the values are distributed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Drawn evenly, a tenth of them near copies.
    Uniform,
    /// As `Uniform`, but every fifth drawn value starts with one of 1,000 prefixes of 16 bits.
    Skew,
    /// As `Uniform`, but a twentieth of all is one value and another twentieth lies within 2 bits of it.
    Pileup,
}

impl Kind {
    /// Reads the name used on the command line.
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "uniform" => Some(Self::Uniform),
            "skew" => Some(Self::Skew),
            "pileup" => Some(Self::Pileup),
            _ => None,
        }
    }
}

/// `n` values, shuffled.
pub fn values(kind: Kind, n: usize) -> Vec<u64> {
    let mut random = SplitMix64::new(42);
    let mut prefixes = SplitMix64::new(43);
    let prefixes: Vec<u64> = (0..1000).map(|_| prefixes.next() & 0xFFFF).collect();
    let pile = SplitMix64::new(44).next();
    let mut values: Vec<u64> = Vec::with_capacity(n);
    for i in 0..n {
        let piled = if kind == Kind::Pileup { random.below(20) } else { 2 };
        let value = match piled {
            0 => pile,
            1 => {
                let count = random.below(3);
                random.flip(pile, count)
            }
            _ => {
                let r = random.next();
                if i > 0 && r.is_multiple_of(10) {
                    let original = values[random.below(i as u64) as usize];
                    let count = random.below(4);
                    random.flip(original, count)
                } else {
                    let drawn = random.next();
                    if kind == Kind::Skew && random.below(5) == 0 {
                        prefixes[random.below(1000) as usize] << 48 | drawn & 0xFFFF_FFFF_FFFF
                    } else {
                        drawn
                    }
                }
            }
        };
        values.push(value);
    }
    for i in (1..n).rev() {
        let j = random.below(i as u64 + 1) as usize;
        values.swap(i, j);
    }
    values
}

/// `count` queries, half of which surely have an answer within 3 bits.
pub fn queries(values: &[u64], count: usize) -> Vec<u64> {
    let mut random = SplitMix64::new(45);
    (0..count)
        .map(|i| {
            if i % 2 == 0 {
                let value = values[random.below(values.len() as u64) as usize];
                let flips = random.below(4);
                random.flip(value, flips)
            } else {
                random.next()
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_numbers() {
        let mut random = SplitMix64::new(1_234_567);
        assert_eq!(random.next(), 6_457_827_717_110_365_317);
        assert_eq!(random.next(), 3_203_168_211_198_807_973);
        assert_eq!(random.next(), 9_817_491_932_198_370_423);
    }

    #[test]
    fn flips_are_distinct() {
        let mut random = SplitMix64::new(1);
        for count in 0..=64 {
            assert_eq!(u64::from((random.flip(7, count) ^ 7).count_ones()), count);
        }
    }

    #[test]
    fn shares_are_as_defined() {
        let n = 100_000;
        let pile = SplitMix64::new(44).next();
        let piled = values(Kind::Pileup, n);
        let exact = piled.iter().filter(|&&value| value == pile).count();
        // 5 % exact, a third of the near 5 % has no bit flipped, and copies of both.
        assert!((6_500..7_500).contains(&exact), "{exact}");
        let queries = queries(&piled, 1_000);
        let hits =
            queries.iter().step_by(2).filter(|&&q| piled.iter().any(|v| (v ^ q).count_ones() <= 3)).count();
        assert_eq!(hits, 500);
    }
}
