//! The ILP packet of a quote, and the condition and fulfilment that hang on it.
//!
//! Three layouts of the packet are met in the field (the API definition's own example, the
//! `ilp-packet` 2.x library, and ILP version 4). A switch treats all of them as opaque; an FSP
//! makes one and must accept its own.

use aws_lc_rs::hmac;
use base64::Engine;
use base64::alphabet::URL_SAFE;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Reads base64url with or without padding, with any unused last bits.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &URL_SAFE,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// How an ILP packet is laid out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Layout {
    /// As the worked example of the API definition: type, amount, account, raw JSON.
    #[default]
    Specification,
    /// As `ilp-packet` 2.x: with a length after the type and an extension octet; JSON as
    /// base64url text.
    Deployed,
    /// An ILP version 4 prepare packet: with expiry and condition; JSON as base64url text.
    Version4,
}

/// The contents of a packet, in any layout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    /// The layout that it was found in.
    pub layout: Layout,
    /// The amount in minor units.
    pub amount: u64,
    /// The payee's ILP address.
    pub account: String,
    /// The data: JSON of the transaction, as the layout carries it.
    pub data: Vec<u8>,
}

/// Why octets are not an ILP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PacketError {
    /// It ends inside an element.
    #[error("the ILP packet ends inside {0}")]
    Truncated(&'static str),
    /// Not one of the known types.
    #[error("ILP packet type {0} is neither 1 (payment) nor 12 (prepare)")]
    Type(u8),
    /// Something follows the last element.
    #[error("{0} octets follow the end of the ILP packet")]
    Trailing(usize),
    /// The address is not text.
    #[error("the ILP address is not ASCII")]
    Address,
}

/// Writes a payment packet (type 1) in the layout of the API definition or of `ilp-packet` 2.x.
fn payment(amount: u64, account: &str, data: &[u8], framed: bool) -> Vec<u8> {
    let mut content = Vec::with_capacity(data.len() + account.len() + 24);
    content.extend_from_slice(&amount.to_be_bytes());
    push_octets(&mut content, account.as_bytes());
    push_octets(&mut content, data);
    let mut packet = vec![1];
    if framed {
        content.push(0); // no extensions
        push_octets(&mut packet, &content);
    } else {
        packet.extend_from_slice(&content);
    }
    packet
}

/// A payment packet as the API definition's worked example has it.
pub fn specification_packet(amount: u64, account: &str, data: &[u8]) -> Vec<u8> {
    payment(amount, account, data, false)
}

/// A payment packet as `ilp-packet` 2.x writes it.
pub fn deployed_packet(amount: u64, account: &str, data: &[u8]) -> Vec<u8> {
    payment(amount, account, data, true)
}

/// A prepare packet of ILP version 4. `expiry` is an FSPIOP `DateTime` in UTC.
pub fn version4_packet(
    amount: u64,
    expiry: &str,
    condition: &[u8; 32],
    destination: &str,
    data: &[u8],
) -> Vec<u8> {
    let mut content = Vec::with_capacity(data.len() + destination.len() + 64);
    content.extend_from_slice(&amount.to_be_bytes());
    content.extend_from_slice(crate::time::datetime_digits(expiry).as_bytes());
    content.extend_from_slice(condition);
    push_octets(&mut content, destination.as_bytes());
    push_octets(&mut content, data);
    let mut packet = vec![12];
    push_octets(&mut packet, &content);
    packet
}

/// Appends octets after their length, as OER writes it.
fn push_octets(to: &mut Vec<u8>, octets: &[u8]) {
    match u8::try_from(octets.len()) {
        Ok(short) if short < 0x80 => to.push(short),
        _ => {
            let length = octets.len().to_be_bytes();
            let significant = &length[length.iter().take_while(|octet| **octet == 0).count()..];
            to.push(0x80 + significant.len() as u8); // a usize has at most 8 octets
            to.extend_from_slice(significant);
        }
    }
    to.extend_from_slice(octets);
}

/// Reads a packet of any layout.
pub fn decode(packet: &[u8]) -> Result<Packet, PacketError> {
    let mut reader = Reader { rest: packet };
    match reader.octet("its type")? {
        1 => {
            let framed = Reader { rest: reader.rest }.payment(true);
            framed.or_else(|_| reader.payment(false))
        }
        12 => reader.prepare(),
        other => Err(PacketError::Type(other)),
    }
}

struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    fn payment(&mut self, framed: bool) -> Result<Packet, PacketError> {
        let mut content = if framed {
            Reader {
                rest: self.octets("its content")?,
            }
        } else {
            Reader {
                rest: std::mem::take(&mut self.rest),
            }
        };
        self.end()?;
        let amount = content.amount()?;
        let account = content.address()?;
        let data = content.octets("its data")?.to_vec();
        if framed {
            content.octets("its extensions")?;
        }
        content.end()?;
        let layout = if framed {
            Layout::Deployed
        } else {
            Layout::Specification
        };
        Ok(Packet {
            layout,
            amount,
            account,
            data,
        })
    }

    fn prepare(&mut self) -> Result<Packet, PacketError> {
        let mut content = Reader {
            rest: self.octets("its content")?,
        };
        self.end()?;
        let amount = content.amount()?;
        content.take(17, "its expiry")?;
        content.take(32, "its condition")?;
        let account = content.address()?;
        let data = content.octets("its data")?.to_vec();
        content.end()?;
        Ok(Packet {
            layout: Layout::Version4,
            amount,
            account,
            data,
        })
    }

    fn take(&mut self, count: usize, what: &'static str) -> Result<&'a [u8], PacketError> {
        if count > self.rest.len() {
            return Err(PacketError::Truncated(what));
        }
        let (taken, rest) = self.rest.split_at(count);
        self.rest = rest;
        Ok(taken)
    }

    fn octet(&mut self, what: &'static str) -> Result<u8, PacketError> {
        Ok(self.take(1, what)?[0])
    }

    fn octets(&mut self, what: &'static str) -> Result<&'a [u8], PacketError> {
        let first = self.octet(what)?;
        let length = if first < 0x80 {
            usize::from(first)
        } else {
            let digits = self.take(usize::from(first - 0x80), what)?;
            digits.iter().try_fold(0_usize, |length, digit| {
                length
                    .checked_mul(256)
                    .and_then(|length| length.checked_add(usize::from(*digit)))
                    .ok_or(PacketError::Truncated(what))
            })?
        };
        self.take(length, what)
    }

    fn amount(&mut self) -> Result<u64, PacketError> {
        let octets = self.take(8, "its amount")?;
        Ok(octets
            .iter()
            .fold(0, |amount, octet| amount << 8 | u64::from(*octet)))
    }

    fn address(&mut self) -> Result<String, PacketError> {
        let octets = self.octets("its address")?;
        if !octets.is_ascii() {
            return Err(PacketError::Address);
        }
        Ok(octets.iter().map(|octet| char::from(*octet)).collect())
    }

    fn end(&self) -> Result<(), PacketError> {
        match self.rest.len() {
            0 => Ok(()),
            more => Err(PacketError::Trailing(more)),
        }
    }
}

/// A payee FSP's secret: from it and the packet comes the fulfilment.
#[derive(Clone)]
pub struct Secret([u8; 32]);

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(..)")
    }
}

impl Secret {
    /// A secret from its base64url text of 32 octets.
    pub fn from_base64url(text: &str) -> Option<Self> {
        bytes32(text).map(Self)
    }

    /// A secret that follows from a name, so that an FSP that is started again can still fulfil
    /// what it promised before. Good enough for a simulation, and for nothing else.
    pub fn from_name(name: &str) -> Self {
        Self(Sha256::digest(format!("rialto-simulator secret of {name}")).into())
    }

    /// The fulfilment of a message: HMAC-SHA-256 with this secret.
    pub fn fulfilment(&self, message: &[u8]) -> [u8; 32] {
        let key = hmac::Key::new(hmac::HMAC_SHA256, &self.0);
        let mut fulfilment = [0; 32];
        fulfilment.copy_from_slice(hmac::sign(&key, message).as_ref());
        fulfilment
    }

    /// The fulfilment that belongs to a packet of any layout. For version 4 the packet contains
    /// its own condition, so there only its data counts.
    pub fn fulfilment_of_packet(&self, packet: &[u8]) -> [u8; 32] {
        match (packet.first(), decode(packet)) {
            (Some(12), Ok(decoded)) => self.fulfilment(&decoded.data),
            _ => self.fulfilment(packet),
        }
    }
}

/// The condition of a fulfilment: its SHA-256.
pub fn condition(fulfilment: &[u8; 32]) -> [u8; 32] {
    Sha256::digest(fulfilment).into()
}

/// 32 octets as the 43 characters of a condition or fulfilment.
pub fn text32(octets: &[u8; 32]) -> String {
    URL_SAFE_NO_PAD.encode(octets)
}

/// The 32 octets of a condition or fulfilment, or nothing if it is not one.
pub fn bytes32(text: &str) -> Option<[u8; 32]> {
    LENIENT.decode(text).ok()?.try_into().ok()
}

/// Octets as unpadded base64url.
pub fn base64url(octets: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(octets)
}

/// The octets of a base64url text, padded or not.
pub fn from_base64url(text: &str) -> Option<Vec<u8>> {
    LENIENT.decode(text).ok()
}

/// True if the fulfilment is the preimage of the condition.
pub fn fulfils(fulfilment: &str, condition_text: &str) -> bool {
    match (bytes32(fulfilment), bytes32(condition_text)) {
        (Some(fulfilment), Some(expected)) => condition(&fulfilment) == expected,
        _ => false,
    }
}

#[cfg(test)]
mod tests;
