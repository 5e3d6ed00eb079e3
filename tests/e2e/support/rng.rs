//! Random choices that a seed repeats.

/// `SplitMix64`.
#[derive(Debug, Clone)]
pub struct Rng(u64);

impl Rng {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Seed from this environment variable, or the given one.
    pub fn seed(variable: &str, default: u64) -> u64 {
        number(variable, default)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from 0 to `n` - 1.
    pub fn below(&mut self, n: usize) -> usize {
        let n = u64::try_from(n.max(1)).expect("a size");
        usize::try_from(self.next() % n).expect("below a size")
    }

    /// This many bytes, rounded up to a multiple of eight, that do not compress.
    pub fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count.div_ceil(8))
            .flat_map(|_| self.next().to_le_bytes())
            .collect()
    }

    /// True once in `n` times on average.
    pub fn once_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }
}

/// True in a long run (`tests/run --long`), in which every test takes all its cases.
pub fn is_long() -> bool {
    std::env::var_os("BACKSTITCH_LONG").is_some()
}

/// Number of cases of a generated test: the environment variable, else the second number in a long run, else the first.
pub fn cases(variable: &str, ordinary: u64, long: u64) -> u64 {
    number(variable, if is_long() { long } else { ordinary })
}

/// A number from an environment variable, or the given one.
pub fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(default)
}
