//! Which file has the keys of the people whom records name. The keys are not here.

use rialto_engine::store::StoreError;
use sqlx::Row as _;

use crate::rows::unsigned;
use crate::slices::Bound;
use crate::{SqliteStore, failed, unreadable};

/// The file of people's keys that the store's records are encrypted with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeopleKeys {
    /// Its id.
    pub id: [u8; 16],
    /// How often keys in it were destroyed, as far as the store knows.
    pub shreddings: u64,
}

impl SqliteStore {
    /// The file of people's keys; none if there never was one.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn people_keys(&self) -> Result<Option<PeopleKeys>, StoreError> {
        let inner = &self.inner;
        let row = inner.runtime.block_on(async {
            let query = sqlx::query("SELECT id, shreddings FROM personal_data");
            query.fetch_optional(&inner.readers).await.map_err(failed)
        })?;
        let Some(row) = row else {
            return Ok(None);
        };
        let id: Vec<u8> = row.try_get(0).map_err(failed)?;
        let of_another_length = |_| {
            unreadable(
                "the id of the file of people's keys",
                "it is not 16 bytes long",
            )
        };
        Ok(Some(PeopleKeys {
            id: id.try_into().map_err(of_another_length)?,
            shreddings: unsigned(row.try_get(1).map_err(failed)?)?,
        }))
    }

    /// Note which file it is. It is on disk when this returns.
    ///
    /// # Errors
    /// When the store cannot write or belongs to a newer host.
    pub fn set_people_keys(&self, keys: PeopleKeys) -> Result<(), StoreError> {
        if self.people_keys()? == Some(keys) {
            return Ok(());
        }
        let mut bound = Bound::default();
        bound.add(keys.id.to_vec())?;
        bound.number(keys.shreddings)?;
        self.change(
            "INSERT OR REPLACE INTO personal_data (one, id, shreddings) VALUES (1, ?, ?)",
            bound,
        )
        .map(|_| ())
    }
}
