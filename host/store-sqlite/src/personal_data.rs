//! Which file has the keys of the people whom records name. The keys are not here.

use rialto_engine::store::StoreError;
use rialto_store::{PeopleKeyStore, PeopleKeys};
use sqlx::Row as _;

use crate::rows::unsigned;
use crate::slices::Bound;
use crate::{SqliteStore, failed, unreadable};

impl PeopleKeyStore for SqliteStore {
    fn people_keys(&self) -> Result<Option<PeopleKeys>, StoreError> {
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

    fn set_people_keys(&self, keys: PeopleKeys) -> Result<(), StoreError> {
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
