//! Asks the component that knows which client certificates are revoked, for the edge, which judges requests
//! ([`rialto_edge::revocations`]). Each question is a turn of the component that writes nothing.

use std::collections::HashMap;
use std::sync::Arc;

use anyhow::ensure;
use rialto_components::release::{Member, Release};
use rialto_components::runtime::Runtime;
use rialto_edge::following::{AskError, Keeper};
use rialto_edge::revocations::Serials;
use rialto_engine::{Engine, Name};
use serde::Deserialize;
use serde_json::json;

use crate::asking::{Asking, only};

/// The interface of the component that knows it.
const HANDLER: &str = "rialto:host/revocation-handler@0.1.0";
/// Its question.
const REVOKED: &str = "revoked";
/// The name by which the questions have a share of the engine's queue. No client's name begins like this.
const ASKER: &str = "host: revocations of certificates";

/// Several components would say which client certificates are revoked.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "several components say which client certificates are revoked: only one may export `{HANDLER}`, and {0} do"
)]
pub struct Several(String);

/// The component that says which client certificates are revoked, if there is one.
///
/// # Errors
/// When there are several.
pub fn keeper(release: &Release) -> Result<Option<&Member>, Several> {
    let exports = |member: &Member| member.export(HANDLER, REVOKED).is_some();
    only(release, exports).map_err(Several)
}

/// Asks the keeper of the current release.
pub struct CurrentRevocationKeeper(Asking);

/// `revoked-client` of the contract.
#[derive(Deserialize)]
struct RevokedClient {
    name: Arc<str>,
    serials: Vec<Box<str>>,
}

impl CurrentRevocationKeeper {
    /// The keeper of the release that is current when it is asked.
    #[must_use]
    pub const fn new(engine: Engine, runtime: Arc<Runtime>) -> Self {
        Self(Asking {
            engine,
            runtime,
            handler: HANDLER,
        })
    }

    async fn ask(&self, names: &[Arc<str>]) -> anyhow::Result<HashMap<Arc<str>, Serials>> {
        let whom = |release: &Release| -> anyhow::Result<Option<Name>> {
            Ok(keeper(release)?.map(|member| member.identity.name.clone()))
        };
        let answered = self.0.ask(ASKER, whom, REVOKED, vec![json!(names)]);
        // Without a component that knows revocations there are none.
        let revoked: Vec<RevokedClient> = answered.await?.unwrap_or_default();
        let mut found = HashMap::with_capacity(revoked.len());
        for RevokedClient { name, serials } in revoked {
            let before = found.insert(name.clone(), serials.into_iter().collect());
            ensure!(
                before.is_none(),
                "the client `{name}` is in the answer twice"
            );
        }
        Ok(found)
    }
}

impl Keeper<Serials> for CurrentRevocationKeeper {
    async fn values(&self, names: &[Arc<str>]) -> Result<HashMap<Arc<str>, Serials>, AskError> {
        let asked = self.ask(names).await;
        asked.map_err(|error| AskError(format!("{error:#}")))
    }
}
