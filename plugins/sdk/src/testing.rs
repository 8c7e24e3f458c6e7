//! For plugins' own tests: random choices that a seed repeats.

/// A small generator of pseudo-random numbers (SplitMix64): the same seed, the same choices, on
/// every machine. Not for secrets.
#[derive(Debug, Clone)]
pub struct Dice {
    state: u64,
}

impl Dice {
    /// Dice that fall the same way for the same seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// Any number of 64 bits.
    pub fn any(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number from 0 to below `end`; 0 when `end` is 0.
    pub fn below(&mut self, end: u64) -> u64 {
        self.any().checked_rem(end).unwrap_or(0)
    }

    /// True in `percent` of a hundred cases.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// One of the choices.
    ///
    /// # Panics
    /// When there is none.
    pub fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        let index = self.below(choices.len() as u64);
        // Below a length of memory, so it fits.
        &choices[index as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_repeats_its_choices_and_reaches_every_number() {
        let (mut one, mut two) = (Dice::new(7), Dice::new(7));
        let mut seen = [false; 6];
        for _ in 0..200 {
            let fallen = one.below(6);
            assert_eq!(fallen, two.below(6));
            seen[usize::try_from(fallen).unwrap()] = true;
        }
        assert_eq!(seen, [true; 6]);
        assert_eq!(one.below(0), 0);
    }
}
