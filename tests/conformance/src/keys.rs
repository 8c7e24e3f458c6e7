//! The keys of the hub and of signing participants: generated for each run, and known to the scheme and to the
//! FSPs, which verify all signed messages.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use anyhow::{Context as _, Result};
use rialto_simulator::jws::{KeyKind, KeyPair};
use rialto_tests::{TestScheme, WorldOptions};

use crate::stage::{CURVED, HUB, SIGNER};

/// The keys of the hub and of the participants that sign.
pub(crate) struct Keys {
    /// The hub's.
    pub(crate) hub: KeyPair,
    /// Those of participants, by their ids.
    pub(crate) participants: BTreeMap<&'static str, KeyPair>,
}

impl Keys {
    /// Draw them, and have the scheme know them.
    pub(crate) fn of(scheme: &TestScheme) -> Result<Self> {
        let mut participants = BTreeMap::new();
        for (id, kind) in [(SIGNER, KeyKind::Rsa), (CURVED, KeyKind::P256)] {
            let pair = KeyPair::generate(kind)?;
            let line = format!("id = \"{id}\"\n");
            let with_key = format!("{line}jws-public-keys = [\"\"\"\n{}\"\"\"]\n", pair.public);
            scheme.edit(&line, &with_key)?;
            participants.insert(id, pair);
        }
        let hub = KeyPair::generate(KeyKind::Rsa)?;
        let file = scheme.path().join("hub.pem");
        fs::write(&file, &hub.private).context("writing the hub's key")?;
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600))?;
        let with_key = "[signatures]\nhub-key = \"hub.pem\"\n\n[ceilings]";
        scheme.replace("rialto.toml", "[ceilings]", with_key)?;
        Ok(Self { hub, participants })
    }

    /// FSPs that sign with their keys, and verify all signed messages.
    pub(crate) fn options(&self) -> WorldOptions {
        let pairs = || self.participants.iter();
        let public = pairs().map(|(id, pair)| ((*id).to_owned(), pair.public.clone()));
        let private = pairs().map(|(id, pair)| ((*id).to_owned(), pair.private.clone()));
        let hub = (HUB.to_owned(), self.hub.public.clone());
        WorldOptions {
            signing_keys: private.collect(),
            verify_keys: public.chain([hub]).collect(),
            ..WorldOptions::default()
        }
    }
}
