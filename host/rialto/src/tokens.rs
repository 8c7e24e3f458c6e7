//! Asks the component that issues access tokens, for the edge, which verifies them ([`rialto_edge::tokens`]). Each
//! question is a turn of the component that writes nothing.

use std::collections::HashMap;
use std::sync::Arc;

use anyhow::{Context as _, anyhow};
use rialto_components::release::{Member, Release};
use rialto_components::runtime::Runtime;
use rialto_edge::following::AskError;
use rialto_edge::tokens::Issuer;
use rialto_engine::Engine;
use rialto_manifest::scheme::Scheme;
use rialto_tokens::{Client, Rules};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::asking::{Asking, only};

/// The interface of the component that issues tokens.
const HANDLER: &str = "rialto:host/token-handler@0.1.0";
/// Its functions.
const RULES: &str = "rules";
const CLIENTS: &str = "clients";
/// The name by which the questions have a share of the engine's queue. No client's name begins like this.
const ASKER: &str = "host: access tokens";

/// Why a release cannot verify tokens.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoIssuer {
    /// No component issues them.
    #[error(
        "the scheme needs access tokens, and no component issues them: one component must export `{HANDLER}`"
    )]
    None,
    /// Several components issue them.
    #[error(
        "the scheme needs access tokens, and several components issue them: only one may export `{HANDLER}`, and {0} do"
    )]
    Several(String),
}

/// The component that issues tokens.
fn issuer(release: &Release) -> Result<&Member, NoIssuer> {
    let exports = |member: &Member| {
        let mut functions = [RULES, CLIENTS].iter();
        functions.all(|function| member.export(HANDLER, function).is_some())
    };
    let issuer = only(release, exports).map_err(NoIssuer::Several)?;
    issuer.ok_or(NoIssuer::None)
}

/// Check that a release has one component that issues tokens, if its scheme needs them.
///
/// # Errors
/// When it has none, or several.
pub fn check(release: &Release, scheme: &Scheme) -> Result<(), NoIssuer> {
    if scheme.authentication.needs_token() {
        issuer(release)?;
    }
    Ok(())
}

/// Asks the issuer of the current release.
pub struct CurrentIssuer(Asking);

/// `token-rules` of the contract.
#[derive(Deserialize)]
struct TokenRules {
    issuer: String,
    audience: String,
    keys: Vec<TokenKey>,
}

/// `token-key` of the contract.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct TokenKey {
    id: String,
    public_key: String,
}

/// `token-client` of the contract.
#[derive(Deserialize)]
struct TokenClient {
    id: Arc<str>,
    name: Arc<str>,
    generation: u64,
}

impl CurrentIssuer {
    /// The issuer of the release that is current when it is asked.
    #[must_use]
    pub const fn new(engine: Engine, runtime: Arc<Runtime>) -> Self {
        Self(Asking {
            engine,
            runtime,
            handler: HANDLER,
        })
    }

    /// Ask for a function's result.
    async fn ask<T: DeserializeOwned>(
        &self,
        function: &str,
        arguments: Vec<serde_json::Value>,
    ) -> anyhow::Result<T> {
        let issuer = |release: &Release| Ok(Some(issuer(release)?.identity.name.clone()));
        let answer = self.0.ask(ASKER, issuer, function, arguments).await?;
        answer.context("no component issues tokens")
    }

    async fn ask_rules(&self) -> anyhow::Result<Rules> {
        let given: TokenRules = self.ask(RULES, Vec::new()).await?;
        let keys = given.keys.into_iter().map(|key| (key.id, key.public_key));
        let rules = Rules::new(given.issuer, given.audience, keys);
        rules.context("using the rules of tokens")
    }

    async fn ask_clients(&self, ids: &[Arc<str>]) -> anyhow::Result<HashMap<Arc<str>, Client>> {
        let given: Vec<TokenClient> = self.ask(CLIENTS, vec![json!(ids)]).await?;
        let mut found = HashMap::with_capacity(given.len());
        for TokenClient {
            id,
            name,
            generation,
        } in given
        {
            let client = Client { name, generation };
            if found.insert(id.clone(), client).is_some() {
                return Err(anyhow!("the client `{id}` is in the answer twice"));
            }
        }
        Ok(found)
    }
}

impl Issuer for CurrentIssuer {
    async fn rules(&self) -> Result<Rules, AskError> {
        let asked = self.ask_rules().await;
        asked.map_err(|error| AskError(format!("{error:#}")))
    }

    async fn clients(&self, ids: &[Arc<str>]) -> Result<HashMap<Arc<str>, Client>, AskError> {
        let asked = self.ask_clients(ids).await;
        asked.map_err(|error| AskError(format!("{error:#}")))
    }
}
