//! Asks the component that knows from which addresses clients may send, for the edge, which judges requests
//! ([`rialto_edge::sources`]). Each question is a turn of the component that writes nothing.

use std::collections::HashMap;
use std::sync::Arc;

use anyhow::{Context as _, ensure};
use rialto_components::release::{Member, Release};
use rialto_components::runtime::Runtime;
use rialto_edge::following::{AskError, Keeper};
use rialto_edge::sources::Ranges;
use rialto_engine::{Engine, Name};
use serde::Deserialize;
use serde_json::json;

use crate::asking::{Asking, only};

/// The interface of the component that knows it.
const HANDLER: &str = "rialto:host/address-handler@0.1.0";
/// Its question.
const LIMITED: &str = "limited";
/// The name by which the questions have a share of the engine's queue. No client's name begins like this.
const ASKER: &str = "host: addresses of clients";

/// Several components would say from where clients may send.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "several components say from which addresses clients may send: only one may export `{HANDLER}`, and {0} do"
)]
pub struct Several(String);

/// The component that says from which addresses clients may send, if there is one.
///
/// # Errors
/// When there are several.
pub fn keeper(release: &Release) -> Result<Option<&Member>, Several> {
    let exports = |member: &Member| member.export(HANDLER, LIMITED).is_some();
    only(release, exports).map_err(Several)
}

/// Asks the keeper of the current release.
pub struct CurrentSourceKeeper(Asking);

/// `limited-client` of the contract.
#[derive(Deserialize)]
struct LimitedClient {
    name: Arc<str>,
    ranges: Vec<String>,
}

impl CurrentSourceKeeper {
    /// The keeper of the release that is current when it is asked.
    #[must_use]
    pub const fn new(engine: Engine, runtime: Arc<Runtime>) -> Self {
        Self(Asking {
            engine,
            runtime,
            handler: HANDLER,
        })
    }

    async fn ask(&self, clients: &[Arc<str>]) -> anyhow::Result<HashMap<Arc<str>, Ranges>> {
        let whom = |release: &Release| -> anyhow::Result<Option<Name>> {
            Ok(keeper(release)?.map(|member| member.identity.name.clone()))
        };
        let answered = self.0.ask(ASKER, whom, LIMITED, vec![json!(clients)]);
        // Without a component that knows limits there are none.
        let limited: Vec<LimitedClient> = answered.await?.unwrap_or_default();
        let mut found = HashMap::with_capacity(limited.len());
        for LimitedClient { name, ranges } in limited {
            let ranges = Ranges::new(ranges.iter().map(String::as_str));
            let ranges = ranges.with_context(|| format!("reading the ranges of `{name}`"))?;
            let before = found.insert(name.clone(), ranges);
            ensure!(
                before.is_none(),
                "the client `{name}` is in the answer twice"
            );
        }
        Ok(found)
    }
}

impl Keeper<Ranges> for CurrentSourceKeeper {
    async fn values(&self, clients: &[Arc<str>]) -> Result<HashMap<Arc<str>, Ranges>, AskError> {
        let asked = self.ask(clients).await;
        asked.map_err(|error| AskError(format!("{error:#}")))
    }
}
