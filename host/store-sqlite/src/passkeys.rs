//! The passkeys by which operators confirm what they approve.

use rialto_engine::Timestamp;
use rialto_engine::store::StoreError;
use rialto_store::{Act, Passkey, PasskeyStore};
use sqlx::sqlite::SqliteRow;
use sqlx::{Row as _, SqlitePool};

use crate::rows::unsigned;
use crate::slices::Bound;
use crate::{SqliteStore, failed, unreadable};

impl PasskeyStore for SqliteStore {
    fn add_passkey(&self, passkey: &Passkey) -> Result<(), StoreError> {
        let mut bound = Bound::default();
        bound.add(passkey.id.clone())?;
        bound.add(passkey.credential.clone())?;
        bound.add(passkey.public_key.clone())?;
        bound.add(passkey.person.clone())?;
        bound.add(passkey.handle.clone())?;
        bound.add(passkey.label.clone())?;
        bound.add(passkey.transports.join(","))?;
        bound.add(passkey.is_backup_eligible)?;
        bound.number(passkey.registered.0)?;
        add_state(&mut bound, passkey)?;
        self.change(
            "INSERT INTO passkeys (id, credential, public_key, person, handle, label, transports, is_backup_eligible,
                                   registered, approved_by, approved, ended_by, ended, sign_count, used)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            bound,
        )
        .map(|_| ())
    }

    fn change_passkey(&self, passkey: &Passkey) -> Result<(), StoreError> {
        let mut bound = Bound::default();
        add_state(&mut bound, passkey)?;
        bound.add(passkey.id.clone())?;
        self.change(
            "UPDATE passkeys SET approved_by = ?, approved = ?, ended_by = ?, ended = ?, sign_count = ?, used = ?
             WHERE id = ?",
            bound,
        )
        .map(|_| ())
    }

    fn remove_passkey(&self, id: &str) -> Result<(), StoreError> {
        let mut bound = Bound::default();
        bound.add(id.to_owned())?;
        self.change("DELETE FROM passkeys WHERE id = ?", bound)
            .map(|_| ())
    }

    fn passkeys(&self) -> Result<Vec<Passkey>, StoreError> {
        let inner = &self.inner;
        inner.runtime.block_on(passkeys(&inner.readers))
    }
}

/// What changes of a passkey, in the order of the columns.
fn add_state(bound: &mut Bound, passkey: &Passkey) -> Result<(), StoreError> {
    for act in [&passkey.approved, &passkey.ended] {
        bound.add(act.as_ref().map(|act| act.by.clone()))?;
        bound.add(instant(act.as_ref().map(|act| act.at)))?;
    }
    bound.add(passkey.sign_count)?;
    bound.add(instant(passkey.used))
}

fn instant(at: Option<Timestamp>) -> Option<i64> {
    at.map(|at| i64::try_from(at.0).unwrap_or(i64::MAX))
}

async fn passkeys(readers: &SqlitePool) -> Result<Vec<Passkey>, StoreError> {
    let rows = sqlx::query(
        "SELECT id, credential, public_key, person, handle, label, transports, is_backup_eligible, registered,
                approved_by, approved, ended_by, ended, sign_count, used
         FROM passkeys ORDER BY id",
    )
    .fetch_all(readers)
    .await
    .map_err(failed)?;
    rows.iter().map(read).collect()
}

fn read(row: &SqliteRow) -> Result<Passkey, StoreError> {
    let transports: String = row.try_get("transports").map_err(failed)?;
    let transports = transports.split(',').filter(|name| !name.is_empty());
    let sign_count: i64 = row.try_get("sign_count").map_err(failed)?;
    let text = |column: &str| row.try_get::<String, _>(column).map_err(failed);
    Ok(Passkey {
        id: text("id")?,
        credential: text("credential")?,
        public_key: text("public_key")?,
        person: text("person")?,
        handle: text("handle")?,
        label: text("label")?,
        transports: transports.map(str::to_owned).collect(),
        is_backup_eligible: row.try_get("is_backup_eligible").map_err(failed)?,
        registered: Timestamp(unsigned(row.try_get("registered").map_err(failed)?)?),
        approved: act(row, "approved_by", "approved")?,
        ended: act(row, "ended_by", "ended")?,
        sign_count: u32::try_from(sign_count)
            .map_err(|_| unreadable("a passkey", "its counter"))?,
        used: time(row, "used")?,
    })
}

fn act(row: &SqliteRow, by: &str, at: &str) -> Result<Option<Act>, StoreError> {
    let by: Option<String> = row.try_get(by).map_err(failed)?;
    match (by, time(row, at)?) {
        (None, None) => Ok(None),
        (Some(by), Some(at)) => Ok(Some(Act { by, at })),
        _ => Err(unreadable("a passkey", "who has done what, and when")),
    }
}

fn time(row: &SqliteRow, column: &str) -> Result<Option<Timestamp>, StoreError> {
    let at: Option<i64> = row.try_get(column).map_err(failed)?;
    at.map(|at| Ok(Timestamp(unsigned(at)?))).transpose()
}
