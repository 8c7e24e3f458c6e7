//! What an authenticator signs (Web Authentication Level 2, section 6.1): authenticator data.

use crate::cbor;
use crate::public_key::{self, PublicKey};

/// Flags (section 6.1; the two of backups are of Level 3).
const USER_PRESENT: u8 = 1;
const USER_VERIFIED: u8 = 1 << 2;
const BACKUP_ELIGIBLE: u8 = 1 << 3;
const BACKED_UP: u8 = 1 << 4;
const HAS_CREDENTIAL: u8 = 1 << 6;
const HAS_EXTENSIONS: u8 = 1 << 7;

/// Bytes of a credential's id, at most (Level 3, section 5.8.3).
pub const CREDENTIAL_ID_MAX: usize = 1_023;

/// Authenticator data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthenticatorData {
    /// The SHA-256 of the relying party's id.
    pub rp_id_hash: [u8; 32],
    /// The flags.
    pub flags: Flags,
    /// The signature counter; 0 if the authenticator has none.
    pub sign_count: u32,
    /// The new credential of a registration.
    pub credential: Option<NewCredential>,
}

/// The flags of authenticator data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flags(u8);

/// A new credential.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewCredential {
    /// Its id.
    pub id: Vec<u8>,
    /// Its public key.
    pub public_key: PublicKey,
}

impl Flags {
    /// The user has touched the authenticator.
    #[must_use]
    pub const fn is_user_present(self) -> bool {
        self.0 & USER_PRESENT != 0
    }

    /// The authenticator has verified the user.
    #[must_use]
    pub const fn is_user_verified(self) -> bool {
        self.0 & USER_VERIFIED != 0
    }

    /// The credential may be copied to the user's other devices.
    #[must_use]
    pub const fn is_backup_eligible(self) -> bool {
        self.0 & BACKUP_ELIGIBLE != 0
    }

    /// The credential has been copied.
    #[must_use]
    pub const fn is_backed_up(self) -> bool {
        self.0 & BACKED_UP != 0
    }
}

/// Reads authenticator data.
///
/// # Errors
/// When it is cut off, or a part is not of its form.
pub fn read(bytes: &[u8]) -> Result<AuthenticatorData, String> {
    let cut = || "is cut off".to_owned();
    let (rp_id_hash, rest) = bytes.split_first_chunk::<32>().ok_or_else(cut)?;
    let ([flags], rest) = rest.split_first_chunk::<1>().ok_or_else(cut)?;
    let (count, rest) = rest.split_first_chunk::<4>().ok_or_else(cut)?;
    let (credential, rest) = if flags & HAS_CREDENTIAL == 0 {
        (None, rest)
    } else {
        let (credential, rest) = credential(rest)?;
        (Some(credential), rest)
    };
    let rest = if flags & HAS_EXTENSIONS == 0 {
        rest
    } else {
        // None was asked for, and what comes unasked is ignored.
        let extensions = cbor::first_map(rest);
        extensions
            .map_err(|why| format!("has an extension part that {why}"))?
            .1
    };
    if !rest.is_empty() {
        return Err("has bytes behind its end".to_owned());
    }
    Ok(AuthenticatorData {
        rp_id_hash: *rp_id_hash,
        flags: Flags(*flags),
        sign_count: u32::from_be_bytes(*count),
        credential,
    })
}

/// Attested credential data (section 6.5.1), and the bytes behind it.
fn credential(bytes: &[u8]) -> Result<(NewCredential, &[u8]), String> {
    let cut = || "has a credential that is cut off".to_owned();
    // The authenticator's model is not looked at.
    let (_aaguid, rest) = bytes.split_first_chunk::<16>().ok_or_else(cut)?;
    let (length, rest) = rest.split_first_chunk::<2>().ok_or_else(cut)?;
    let length = usize::from(u16::from_be_bytes(*length));
    if !(1..=CREDENTIAL_ID_MAX).contains(&length) {
        return Err(format!(
            "has a credential id of {length} bytes; it must be 1 to {CREDENTIAL_ID_MAX}"
        ));
    }
    let (id, rest) = rest.split_at_checked(length).ok_or_else(cut)?;
    let in_key = |why: &str| format!("has a public key that {why}");
    let (key, rest) = cbor::first_map(rest).map_err(in_key)?;
    let public_key = public_key::of_cose(&key).map_err(in_key)?;
    let credential = NewCredential {
        id: id.to_vec(),
        public_key,
    };
    Ok((credential, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(flags: u8, rest: &[u8]) -> Vec<u8> {
        [&[7; 32][..], &[flags, 0, 0, 1, 2], rest].concat()
    }

    #[test]
    fn flags_and_counter_are_read() {
        let read = read(&data(USER_PRESENT | USER_VERIFIED, &[])).unwrap();
        assert_eq!((read.rp_id_hash, read.sign_count), ([7; 32], 258));
        assert!(read.flags.is_user_present() && read.flags.is_user_verified());
        assert!(!read.flags.is_backup_eligible() && !read.flags.is_backed_up());
        assert_eq!(read.credential, None);
    }

    #[test]
    fn extensions_are_passed_over() {
        assert!(read(&data(HAS_EXTENSIONS, &[0xa0])).is_ok());
        assert!(read(&data(HAS_EXTENSIONS, &[0x01])).is_err());
        assert!(read(&data(HAS_EXTENSIONS, &[])).is_err());
    }

    #[test]
    fn every_cut_is_refused() {
        let key = [
            &[0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21, 0x58, 0x20][..],
            &[1; 32],
            &[0x22, 0x58, 0x20],
            &[2; 32],
        ]
        .concat();
        let whole = data(
            HAS_CREDENTIAL,
            &[&[0; 16][..], &[0, 2, 8, 9], &key].concat(),
        );
        let credential = read(&whole).unwrap().credential.unwrap();
        assert_eq!(credential.id, [8, 9]);
        for end in 0..whole.len() {
            assert!(read(&whole[..end]).is_err(), "{end}");
        }
        let more = [&whole[..], &[0]].concat();
        assert_eq!(read(&more), Err("has bytes behind its end".to_owned()));
        for length in [[0, 0], [4, 0]] {
            let long = [&[0; 16][..], &length, &[8; 1024], &key].concat();
            assert!(read(&data(HAS_CREDENTIAL, &long)).is_err());
        }
    }
}
