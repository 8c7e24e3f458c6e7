//! What others are told: the host of tokens, the Admin/Operation API of applications.

use rialto_sdk::documents::Range;

use crate::applications::{APPLICATIONS, Application, active, is_id};
use crate::bindings::exports::rialto::host::token_handler::{TokenClient, TokenKey, TokenRules};
use crate::bindings::exports::rialto::security_authn::get_applications::Page;
use crate::bindings::exports::rialto::security_authn::verify_token::Verified;
use crate::bindings::rialto::security_authn::types;
use crate::settings::Settings;
use crate::signing;
use crate::tokens::Claims;
use crate::world::World;

/// Which tokens are valid now.
pub fn rules(world: &mut impl World, settings: &Settings) -> TokenRules {
    let keys = signing::verifying(world).into_iter().map(|key| TokenKey {
        id: key.id,
        public_key: key.public_key,
    });
    TokenRules {
        issuer: settings.issuer.clone(),
        audience: settings.audience().to_owned(),
        keys: keys.collect(),
    }
}

/// Those of these applications that have valid tokens.
pub fn clients(world: &mut impl World, ids: &[String]) -> Vec<TokenClient> {
    let found = ids.iter().filter_map(|id| active(world, id));
    let clients = found.map(|application| TokenClient {
        id: application.id,
        name: application.name,
        generation: application.generation,
    });
    clients.collect()
}

/// An application, without the hash of its secret.
#[must_use]
pub fn application(application: Application) -> types::Application {
    types::Application {
        id: application.id,
        name: application.name,
        label: application.label,
        state: application.state.into(),
        maker: application.maker,
        created_at: application.created_at,
        decided_by: application.decided_by,
        decided_at: application.decided_at,
    }
}

/// A page of applications. The cursor is the last id of the page before; any other text begins anew.
pub fn page(world: &mut impl World, cursor: Option<&str>, limit: u32) -> Page {
    let limit = limit.clamp(1, 1_000);
    let from = cursor.filter(|cursor| is_id(cursor));
    let from = from.map_or_else(|| "0".to_owned(), |last| format!("{last}\0"));
    // All ids are before this one.
    let range = Range::Between((from, "g".to_owned()));
    let page = APPLICATIONS.within(world).scan(&range, None, limit);
    let applications: Vec<_> = page.documents.into_iter().map(|(_, found)| found).collect();
    let last = applications.last().map(|last| last.id.clone());
    Page {
        applications: applications.into_iter().map(application).collect(),
        cursor: page.cursor.and(last),
    }
}

/// What a valid token says.
#[must_use]
pub fn verified(claims: Claims) -> Verified {
    Verified {
        application: claims.client_id,
        name: claims.sub,
        expires_at: claims.exp,
        token_id: claims.jti,
        bound_to: claims.cnf.map(|cnf| cnf.thumbprint),
    }
}
