//! Who may do what on the operators' listener: the privileges that a release's components publish, and the component that is
//! asked for each request.

use std::pin::Pin;
use std::sync::Arc;

use anyhow::Context as _;
use rialto_components::release::{Member, Release};
use rialto_components::runtime::Runtime;
use rialto_components::{ComponentPrivileges, Privilege};
use rialto_edge::Api;
use rialto_edge::authorization::{Answer, Authorizer, NoAnswer, Question};
use rialto_engine::{Engine, Name};
use serde::Deserialize;
use serde_json::json;

use crate::asking::{Asking, only};

/// The interface of the component that says who may do what.
const HANDLER: &str = "rialto:host/authorization-handler@0.1.0";
/// Its question.
const AUTHORIZE: &str = "authorize";
/// The beginning of the name by which the questions about an operator have a share of the engine's queue. No client's name
/// begins like this.
const ASKER: &str = "host: authorization of";

/// Several components would say who may do what.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("several components say who may do what: only one may export `{HANDLER}`, and {0} do")]
pub struct Several(String);

/// The component that says who may do what, if there is one.
///
/// # Errors
/// When there are several.
pub fn authorizer(release: &Release) -> Result<Option<&Member>, Several> {
    only(release, Member::authorizes).map_err(Several)
}

/// The privileges that the documents on the operators' listener name. Operations without `x-rialto-roles` have none: their
/// components judge alone.
#[must_use]
pub fn privileges(api: &Api) -> Vec<ComponentPrivileges> {
    let all = api.served.iter().map(|served| {
        let operations = served.document.operations().iter();
        let governed = operations.filter(|operation| !operation.roles.is_empty());
        let privileges = governed.map(|operation| Privilege {
            name: operation.id.clone(),
            description: operation.summary.clone(),
            roles: operation.roles.clone(),
        });
        ComponentPrivileges {
            component: served.component.to_string(),
            privileges: privileges.collect(),
        }
    });
    all.filter(|these| !these.privileges.is_empty()).collect()
}

/// Asks the authorizer of the current release.
pub struct CurrentAuthorizer(Asking);

/// The `result` of the contract.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Answered {
    Ok(Vec<String>),
    Err(String),
}

impl CurrentAuthorizer {
    /// The authorizer of the release that is current when it is asked.
    #[must_use]
    pub const fn new(engine: Engine, runtime: Arc<Runtime>) -> Self {
        Self(Asking {
            engine,
            runtime,
            handler: HANDLER,
        })
    }

    async fn ask(&self, question: Question<'_>) -> anyhow::Result<Answer> {
        let arguments = vec![
            json!({ "name": question.operator.name, "roles": question.operator.roles }),
            json!(question.component),
            json!(question.operation),
            json!(question.default_roles),
        ];
        let whom = |release: &Release| -> anyhow::Result<Option<Name>> {
            Ok(authorizer(release)?.map(|member| member.identity.name.clone()))
        };
        // Each operator has a share of their own, so that the requests of one keep nobody else out.
        let asker = format!("{ASKER} {}", question.operator.name);
        let answered = self.0.ask(&asker, whom, AUTHORIZE, arguments).await;
        Ok(match answered.context("asking who may do what")? {
            None => Answer::NotKept,
            Some(Answered::Ok(roles)) => Answer::May(roles),
            Some(Answered::Err(why)) => Answer::MayNot(why),
        })
    }
}

impl Authorizer for CurrentAuthorizer {
    fn may<'q>(
        &'q self,
        question: Question<'q>,
    ) -> Pin<Box<dyn Future<Output = Result<Answer, NoAnswer>> + Send + 'q>> {
        Box::pin(async move {
            let asked = self.ask(question).await;
            asked.map_err(|error| NoAnswer(format!("{error:#}")))
        })
    }
}
