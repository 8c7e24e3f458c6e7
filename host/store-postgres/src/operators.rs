//! The operators: their credentials, their passkeys, what they did, and which file has people's keys.

use rialto_engine::Timestamp;
use rialto_engine::store::StoreError;
use rialto_store::{
    Credential, CredentialKind, CredentialStore, Operation, OperationStore, Outcome, Passkey,
    PasskeyStore, PeopleKeyStore, PeopleKeys,
};
use sqlx::postgres::PgRow;

use crate::failures::unreadable;
use crate::rows::{Columns, signed};
use crate::text::owned;
use crate::{Bound, PostgresStore};

impl CredentialStore for PostgresStore {
    fn add_credential(&self, credential: &Credential) -> Result<(), StoreError> {
        let (made, expires) = (signed(credential.made.0)?, instant(credential.expires.0));
        self.execute(
            "INSERT INTO rialto.credentials
                (partition, id, hash, kind, operator, person, subject, label, roles, made, expires)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
            |query| {
                query
                    .bind(owned(&credential.id))
                    .bind(credential.hash.to_vec())
                    .bind(credential.kind.word())
                    .bind(owned(&credential.operator))
                    .bind(owned(&credential.person))
                    .bind(credential.subject.as_deref().map(owned))
                    .bind(owned(&credential.label))
                    .bind(
                        credential
                            .roles
                            .as_ref()
                            .map(|roles| owned(&roles.join(","))),
                    )
                    .bind(made)
                    .bind(expires)
            },
        )
        .map(drop)
    }

    fn remove_credential(&self, id: &str) -> Result<(), StoreError> {
        self.execute(
            "DELETE FROM rialto.credentials WHERE partition = $1 AND id = $2",
            |query| query.bind(owned(id)),
        )
        .map(drop)
    }

    fn credentials(&self) -> Result<Vec<Credential>, StoreError> {
        let rows = self.all(
            "SELECT id, hash, kind, operator, person, subject, label, roles, made, expires
             FROM rialto.credentials WHERE partition = $1 ORDER BY id",
            |query| query,
        )?;
        rows.iter().map(credential).collect()
    }
}

impl PasskeyStore for PostgresStore {
    fn add_passkey(&self, passkey: &Passkey) -> Result<(), StoreError> {
        let registered = signed(passkey.registered.0)?;
        self.execute(
            "INSERT INTO rialto.passkeys
                (partition, approved_by, approved, ended_by, ended, sign_count, used, id, credential, public_key, person,
                 handle, label, transports, is_backup_eligible, registered)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)",
            |query| {
                state(query, passkey)
                    .bind(owned(&passkey.id))
                    .bind(owned(&passkey.credential))
                    .bind(owned(&passkey.public_key))
                    .bind(owned(&passkey.person))
                    .bind(owned(&passkey.handle))
                    .bind(owned(&passkey.label))
                    .bind(owned(&passkey.transports.join(",")))
                    .bind(passkey.is_backup_eligible)
                    .bind(registered)
            },
        )
        .map(drop)
    }

    fn change_passkey(&self, passkey: &Passkey) -> Result<(), StoreError> {
        self.execute(
            "UPDATE rialto.passkeys
             SET approved_by = $2, approved = $3, ended_by = $4, ended = $5, sign_count = $6, used = $7
             WHERE partition = $1 AND id = $8",
            |query| state(query, passkey).bind(owned(&passkey.id)),
        )
        .map(drop)
    }

    fn remove_passkey(&self, id: &str) -> Result<(), StoreError> {
        self.execute(
            "DELETE FROM rialto.passkeys WHERE partition = $1 AND id = $2",
            |query| query.bind(owned(id)),
        )
        .map(drop)
    }

    fn passkeys(&self) -> Result<Vec<Passkey>, StoreError> {
        let rows = self.all(
            "SELECT id, credential, public_key, person, handle, label, transports, is_backup_eligible, registered,
                    approved_by, approved, ended_by, ended, sign_count, used
             FROM rialto.passkeys WHERE partition = $1 ORDER BY id",
            |query| query,
        )?;
        rows.iter().map(passkey).collect()
    }
}

impl OperationStore for PostgresStore {
    fn add_operation(&self, operation: &Operation) -> Result<(), StoreError> {
        let (id, at) = (signed(operation.id)?, instant(operation.at.0));
        let outcome = operation.outcome.as_ref();
        self.execute(
            "INSERT INTO rialto.operations
                (partition, id, at, person, operator, action, about, note, outcome, reason)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
            |query| {
                query
                    .bind(id)
                    .bind(at)
                    .bind(owned(&operation.person))
                    .bind(owned(&operation.operator))
                    .bind(owned(&operation.action))
                    .bind(owned(&operation.about))
                    .bind(owned(&operation.note))
                    .bind(outcome.map(Outcome::word))
                    .bind(owned(outcome.map_or("", Outcome::reason)))
            },
        )
        .map(drop)
    }

    fn end_operation(&self, id: u64, outcome: &Outcome) -> Result<(), StoreError> {
        let id = signed(id)?;
        self.execute(
            "UPDATE rialto.operations SET outcome = $3, reason = $4
             WHERE partition = $1 AND id = $2 AND outcome IS NULL",
            |query| {
                query
                    .bind(id)
                    .bind(outcome.word())
                    .bind(owned(outcome.reason()))
            },
        )
        .map(drop)
    }

    fn last_operation(&self) -> Result<u64, StoreError> {
        let rows = self.all(
            "SELECT coalesce(max(id), 0) FROM rialto.operations WHERE partition = $1",
            |query| query,
        )?;
        rows.first().map_or(Ok(0), |row| Columns(row).number(0))
    }

    fn has_operation(
        &self,
        (action, about): (&str, &str),
        since: Timestamp,
    ) -> Result<bool, StoreError> {
        let rows = self.all(
            "SELECT 1 FROM rialto.operations WHERE partition = $1 AND at >= $2 AND action = $3 AND about = $4 LIMIT 1",
            |query| {
                query
                    .bind(instant(since.0))
                    .bind(owned(action))
                    .bind(owned(about))
            },
        )?;
        Ok(!rows.is_empty())
    }

    fn operations(&self, about: &str, most: u32) -> Result<Vec<Operation>, StoreError> {
        let rows = self.all(
            "SELECT id, at, person, operator, action, about, note, outcome, reason
             FROM rialto.operations WHERE partition = $1 AND strpos(about, $2) > 0 ORDER BY id DESC LIMIT $3",
            |query| query.bind(owned(about)).bind(i64::from(most)),
        )?;
        rows.iter().rev().map(operation).collect()
    }
}

impl PeopleKeyStore for PostgresStore {
    fn people_keys(&self) -> Result<Option<PeopleKeys>, StoreError> {
        let rows = self.all(
            "SELECT id, shreddings FROM rialto.people_keys WHERE partition = $1",
            |query| query,
        )?;
        let keys = |row: &PgRow| {
            let row = Columns(row);
            let wrong = |_| {
                unreadable(
                    "the id of the file of people's keys",
                    "it is not 16 bytes long",
                )
            };
            Ok(PeopleKeys {
                id: row.bytes(0)?.try_into().map_err(wrong)?,
                shreddings: row.number(1)?,
            })
        };
        rows.first().map(keys).transpose()
    }

    fn set_people_keys(&self, keys: PeopleKeys) -> Result<(), StoreError> {
        let shreddings = signed(keys.shreddings)?;
        self.execute(
            "INSERT INTO rialto.people_keys (partition, id, shreddings) VALUES ($1, $2, $3)
             ON CONFLICT (partition) DO UPDATE SET id = excluded.id, shreddings = excluded.shreddings",
            |query| query.bind(keys.id.to_vec()).bind(shreddings),
        )
        .map(drop)
    }
}

/// An instant that may be "never".
fn instant(at: u64) -> i64 {
    i64::try_from(at).unwrap_or(i64::MAX)
}

/// What changes of a passkey, in the order of the columns.
fn state(query: Bound, passkey: &Passkey) -> Bound {
    let acts = [&passkey.approved, &passkey.ended].into_iter();
    let query = acts.fold(query, |query, act| {
        query
            .bind(act.as_ref().map(|act| owned(&act.by)))
            .bind(act.as_ref().map(|act| instant(act.at.0)))
    });
    query
        .bind(i64::from(passkey.sign_count))
        .bind(passkey.used.map(|at| instant(at.0)))
}

fn credential(row: &PgRow) -> Result<Credential, StoreError> {
    let row = Columns(row);
    let kind = row.text(2)?;
    let split = |roles: String| {
        let roles = roles.split(',').filter(|role| !role.is_empty());
        roles.map(str::to_owned).collect()
    };
    Ok(Credential {
        id: row.original(0)?,
        hash: row
            .bytes(1)?
            .try_into()
            .map_err(|_| unreadable("a credential", "its hash"))?,
        kind: CredentialKind::of(kind).ok_or_else(|| unreadable("a credential", kind))?,
        operator: row.original(3)?,
        person: row.original(4)?,
        subject: row.some_text(5)?,
        label: row.original(6)?,
        roles: row.some_text(7)?.map(split),
        made: row.instant(8)?,
        expires: row.instant(9)?,
    })
}

fn passkey(row: &PgRow) -> Result<Passkey, StoreError> {
    let row = Columns(row);
    let transports = row.original(6)?;
    let transports = transports.split(',').filter(|name| !name.is_empty());
    Ok(Passkey {
        id: row.original(0)?,
        credential: row.original(1)?,
        public_key: row.original(2)?,
        person: row.original(3)?,
        handle: row.original(4)?,
        label: row.original(5)?,
        transports: transports.map(str::to_owned).collect(),
        is_backup_eligible: row.is(7)?,
        registered: row.instant(8)?,
        approved: row.act(9)?,
        ended: row.act(11)?,
        sign_count: row.number(13)?,
        used: row.some_number(14)?.map(rialto_engine::Timestamp),
    })
}

/// `id, at, person, operator, action, about, note, outcome, reason`.
pub(crate) fn operation(row: &PgRow) -> Result<Operation, StoreError> {
    let row = Columns(row);
    let reason = row.original(8)?;
    let outcome = row.some_text(7)?.map(|word| {
        Outcome::of(&word, reason).ok_or_else(|| unreadable("the operators' log", word))
    });
    Ok(Operation {
        id: row.number(0)?,
        at: row.instant(1)?,
        person: row.original(2)?,
        operator: row.original(3)?,
        action: row.original(4)?,
        about: row.original(5)?,
        note: row.original(6)?,
        outcome: outcome.transpose()?,
    })
}
