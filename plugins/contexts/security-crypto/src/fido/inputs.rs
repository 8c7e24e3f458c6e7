//! What callers give: owners, users' ids, labels and transactions, checked.

use rialto_sdk::operators::Amount;

use super::documents::Transaction;
use super::{Asked, FidoError, Owner, OwnerKind, malformed};
use crate::world::World;

/// Bytes of an owner's name, at most: with it and a user's id a document's key has fewer than 256.
const OWNER_BYTES_MAX: usize = 128;

/// An owner as the first part of keys: its kind and its name.
///
/// # Errors
/// When the name is empty, too long, or not read as it stands.
pub fn owner_text(owner: &Owner) -> Result<String, FidoError> {
    // A participant's id has at most 32 characters, an operator's name at most 64 bytes.
    if !is_label(&owner.name, OWNER_BYTES_MAX) || owner.name.len() > OWNER_BYTES_MAX {
        return Err(malformed("the owner's name must have 1 to 128 bytes"));
    }
    let kind = match owner.kind {
        OwnerKind::Program => "program",
        OwnerKind::Participant => "participant",
    };
    Ok(format!("{kind}/{}", owner.name))
}

/// An id of a user, if it is one.
///
/// # Errors
/// When it has other characters, or too many.
pub fn user_id(id: &str) -> Result<&str, FidoError> {
    let is_of_one = |byte: u8| byte.is_ascii_alphanumeric() || b"._@:+-".contains(&byte);
    if (1..=64).contains(&id.len()) && id.bytes().all(is_of_one) {
        return Ok(id);
    }
    Err(malformed(
        "`user.id` must be 1 to 64 letters, digits and `. _ @ : + -`",
    ))
}

/// Whether a text has this many characters for people, at most, and is read as it stands: nothing in it is invisible or
/// turns the order of other characters around, and it does not begin or end with white space. Joiners (U+200C and
/// U+200D) belong to some scripts.
#[must_use]
pub fn is_label(text: &str, most: usize) -> bool {
    let hides = |character: char| {
        matches!(character, '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
    };
    (1..=most).contains(&text.chars().count())
        && text.trim() == text
        && !text
            .chars()
            .any(|character| character.is_control() || hides(character))
}

/// A transaction in one spelling: `100.50` and `100.5` are one amount.
///
/// # Errors
/// When a part is not of its form, or the scheme does not use the currency.
pub fn transaction(world: &mut impl World, asked: &Asked) -> Result<Transaction, FidoError> {
    let is_of_id = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    let id = &asked.transfer_id;
    if !(1..=64).contains(&id.len()) || !id.bytes().all(is_of_id) {
        return Err(malformed(
            "`transaction.transferId` must be 1 to 64 letters, digits and hyphens",
        ));
    }
    if !is_label(&asked.payee, 128) {
        return Err(malformed(
            "`transaction.payee` must have 1 to 128 characters",
        ));
    }
    let amount = Amount {
        currency: asked.currency.clone(),
        amount: asked.amount.clone(),
    };
    let money = amount.some_money(world.scheme());
    let money = money.map_err(|problem| {
        FidoError::Malformed(format!("`transaction.amount`: {}", problem.detail))
    })?;
    Ok(Transaction {
        transfer_id: id.clone(),
        amount: Amount::from(&money),
        payee: asked.payee.clone(),
    })
}
