//! Which of many are in a share of them, by a hash of each.

/// Millionths of a whole.
const ALL: u64 = 1_000_000;

/// Whether what has this hash is in a share, in millionths. The same hash always is or never is.
#[must_use]
pub fn is_in(hash: &[u8; 32], share: u32) -> bool {
    let [a, b, c, d, e, f, g, h, ..] = *hash;
    u64::from_be_bytes([a, b, c, d, e, f, g, h]) % ALL < u64::from(share)
}
