//! The sessions and personal tokens of operators. Their secrets are not here, only the hashes of them.

use rialto_engine::Timestamp;
use rialto_engine::store::StoreError;
use rialto_store::{Credential, CredentialKind, CredentialStore};
use sqlx::sqlite::SqliteRow;
use sqlx::{Row as _, SqlitePool};

use crate::rows::unsigned;
use crate::slices::Bound;
use crate::{SqliteStore, failed, unreadable};

impl CredentialStore for SqliteStore {
    fn add_credential(&self, credential: &Credential) -> Result<(), StoreError> {
        let instant = |at: Timestamp| i64::try_from(at.0).unwrap_or(i64::MAX);
        let mut bound = Bound::default();
        bound.add(credential.id.clone())?;
        bound.add(credential.hash.to_vec())?;
        bound.add(credential.kind.word())?;
        bound.add(credential.operator.clone())?;
        bound.add(credential.person.clone())?;
        bound.add(credential.subject.clone())?;
        bound.add(credential.label.clone())?;
        bound.add(credential.roles.as_ref().map(|roles| roles.join(",")))?;
        bound.add(instant(credential.made))?;
        bound.add(instant(credential.expires))?;
        self.change(
            "INSERT INTO credentials (id, hash, kind, operator, person, subject, label, roles, made, expires)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            bound,
        )
        .map(|_| ())
    }

    fn remove_credential(&self, id: &str) -> Result<(), StoreError> {
        let mut bound = Bound::default();
        bound.add(id.to_owned())?;
        self.change("DELETE FROM credentials WHERE id = ?", bound)
            .map(|_| ())
    }

    fn credentials(&self) -> Result<Vec<Credential>, StoreError> {
        let inner = &self.inner;
        inner.runtime.block_on(credentials(&inner.readers))
    }
}

async fn credentials(readers: &SqlitePool) -> Result<Vec<Credential>, StoreError> {
    let rows = sqlx::query(
        "SELECT id, hash, kind, operator, person, subject, label, roles, made, expires
         FROM credentials ORDER BY id",
    )
    .fetch_all(readers)
    .await
    .map_err(failed)?;
    rows.iter().map(read).collect()
}

fn read(row: &SqliteRow) -> Result<Credential, StoreError> {
    let hash: Vec<u8> = row.try_get(1).map_err(failed)?;
    let kind: String = row.try_get(2).map_err(failed)?;
    let roles: Option<String> = row.try_get(7).map_err(failed)?;
    let kind = CredentialKind::of(&kind).ok_or_else(|| unreadable("a credential", kind))?;
    let split = |roles: String| {
        let roles = roles.split(',').filter(|role| !role.is_empty());
        roles.map(str::to_owned).collect()
    };
    Ok(Credential {
        id: row.try_get(0).map_err(failed)?,
        hash: hash
            .try_into()
            .map_err(|_| unreadable("a credential", "its hash"))?,
        kind,
        operator: row.try_get(3).map_err(failed)?,
        person: row.try_get(4).map_err(failed)?,
        subject: row.try_get(5).map_err(failed)?,
        label: row.try_get(6).map_err(failed)?,
        roles: roles.map(split),
        made: Timestamp(unsigned(row.try_get(8).map_err(failed)?)?),
        expires: Timestamp(unsigned(row.try_get(9).map_err(failed)?)?),
    })
}
