//! Opens the file of keys at a start. The store says which file it must be.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, bail, ensure};
use rialto_manifest::Operator;
use rialto_personal_data::{FileId, People};
use rialto_store::{HostStore, PeopleKeys};

use super::HostPeople;

impl HostPeople {
    /// The people of a scheme, whose documents are in the folder `scheme`; none if the operator's document names none. The
    /// file of keys is made if there never was one. The store does not know of it before [`Self::remember`].
    ///
    /// # Errors
    /// When the file is missing, damaged, another one, or older than the store's last destruction of keys; when it is in
    /// the store's folder; when the document names no keys any more.
    pub fn open(
        operator: &Operator,
        scheme: &Path,
        (store, folder): (&Arc<dyn HostStore>, &Path),
    ) -> anyhow::Result<Option<Arc<Self>>> {
        let known = store.people_keys()?;
        let Some(wanted) = &operator.personal_data else {
            ensure!(
                known.is_none(),
                "the store has records that are encrypted for people, and rialto.toml has no table [personal-data] any more: put it back; with `subjects = []` new records are not encrypted, and old ones are still read"
            );
            return Ok(None);
        };
        let path = wanted.keys.from_folder(scheme);
        let kinds: BTreeSet<String> = wanted.subjects.iter().map(ToString::to_string).collect();
        let lost = wanted.lost.as_deref();
        let known = known.filter(|known| Some(id_of(known).as_str()) != lost);
        let opened = read_or_make(&path, kinds, folder, known)
            .context("the keys of people (`keys` of [personal-data] in rialto.toml)")?;
        let (id, _) = opened.state();
        ensure!(
            Some(id.to_string().as_str()) != lost,
            "{} is the file of people's keys that [personal-data] in rialto.toml says is lost: remove `lost`, or take the file away",
            path.display()
        );
        opened.remove_unfinished();
        Ok(Some(Arc::new(Self {
            people: opened,
            store: store.clone(),
        })))
    }
}

fn read_or_make(
    path: &Path,
    kinds: BTreeSet<String>,
    store: &Path,
    known: Option<PeopleKeys>,
) -> anyhow::Result<People> {
    let folder = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let owner = rialto_files::folder(folder)?;
    let (folder, store) = (folder.canonicalize()?, store.canonicalize()?);
    ensure!(
        !folder.starts_with(&store),
        "{} is in the store's folder, and backups of that would keep what was destroyed: name another folder",
        path.display()
    );
    rialto_files::accept_if_there(path, owner)?;
    let Some(people) = People::open(path, kinds.clone())? else {
        if let Some(known) = known {
            bail!(
                "{} is missing: bring back its last copy (its id is {id}). If there is none, what is encrypted with it is lost for ever; then write `lost = \"{id}\"` in [personal-data], and the host makes new keys",
                path.display(),
                id = id_of(&known)
            );
        }
        return Ok(People::create(path, kinds)?);
    };
    let (id, shreddings) = people.state();
    if let Some(known) = known {
        ensure!(
            id.0 == known.id,
            "{} has the keys {id}, and the store's records are encrypted with the keys {}: bring back that file",
            path.display(),
            id_of(&known)
        );
        ensure!(
            shreddings >= known.shreddings,
            "{} is an older copy: keys were destroyed {} times, and in this file {shreddings} times. The destroyed keys are in it: destroy this copy, and bring back the last one",
            path.display(),
            known.shreddings
        );
    }
    Ok(people)
}

fn id_of(known: &PeopleKeys) -> String {
    FileId(known.id).to_string()
}
