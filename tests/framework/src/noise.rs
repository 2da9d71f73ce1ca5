//! Pseudo-random numbers from a seed.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Mixes `bytes` into `seed`: FNV-1a, then the finaliser of splitmix64.
pub(crate) fn mix(seed: u64, bytes: &[u8]) -> u64 {
    let mut hash = seed ^ 0xcbf2_9ce4_8422_2325;
    for &byte in bytes {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}

/// A generator for a seed and a purpose. The numbers identify the purpose.
pub(crate) fn generator(seed: u64, purpose: &[u64]) -> ChaCha8Rng {
    let bytes: Vec<u8> = purpose.iter().flat_map(|word| word.to_le_bytes()).collect();
    ChaCha8Rng::seed_from_u64(mix(seed, &bytes))
}

/// `length` pseudo-random bytes, equal for equal seeds and purposes.
pub(crate) fn noise(seed: u64, purpose: &[u64], length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    generator(seed, purpose).fill(&mut bytes[..]);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn purposes_are_told_apart() {
        assert_eq!(noise(1, &[2, 3], 100), noise(1, &[2, 3], 100));
        assert_ne!(noise(1, &[2, 3], 100), noise(1, &[3, 2], 100));
        assert_ne!(noise(1, &[2, 3], 100), noise(2, &[2, 3], 100));
        assert_ne!(mix(0, b"put.a"), mix(0, b"put.b"));
    }
}
