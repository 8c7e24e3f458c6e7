//! Surroundings for tests.

use rialto_sdk::documents::Memory;
use rialto_sdk::operators::Caller;
use serde_json::Value;

use crate::api;
use crate::bindings::exports::rialto::host::authorization_handler::{
    Caller as HostCaller, ComponentPrivileges, Privilege as Published,
};
use crate::bindings::exports::rialto::host::http_handler::Request;
use crate::bindings::rialto::auditing::audit_log_write::Event as AuditEvent;
use crate::bindings::rialto::host::keys::{Algorithm, KeyError};
use crate::bindings::rialto::security_authn::types::{Application, ApplicationState};
use crate::bindings::rialto::security_authn::verify_token::Verified;
use crate::bindings::rialto::security_authz::privileges_changed::Event;
use crate::bindings::rialto::security_crypto::fido::{
    Authorized, Begun, FidoError, Owner, Transaction,
};
use crate::fido::Authenticators;
use crate::names::Privilege;
use crate::settings::Settings;
use crate::world::World;
use crate::{authorize, published};

/// When tests begin: UTC, milliseconds since 1970.
pub const NOW: u64 = 1_000_000_000;

/// Surroundings in which a signature is right if it is `signed by` the key's text.
#[derive(Default)]
pub struct Fake {
    pub store: Memory,
    pub later: u64,
    ids: u32,
    pub events: Vec<Event>,
    pub audited: Vec<AuditEvent>,
    pub revoked: Vec<&'static str>,
    begun: Option<Transaction>,
}

rialto_sdk::stores_in!(Fake, this => this.store);

impl Authenticators for Fake {
    fn begin(
        &mut self,
        owner: &Owner,
        user: &str,
        transaction: &Transaction,
    ) -> Result<Begun, FidoError> {
        if (owner.name.as_str(), user) != ("green", "alice") {
            return Err(FidoError::UnknownUser);
        }
        self.begun = Some(transaction.clone());
        Ok(Begun {
            id: "challenge".to_owned(),
            public_key: r#"{"challenge":"c"}"#.to_owned(),
            expires_at: NOW,
        })
    }
    fn finish(
        &mut self,
        owner: &Owner,
        challenge: &str,
        credential: &str,
        expected: &Transaction,
    ) -> Result<Authorized, FidoError> {
        let begun = self.begun.take().ok_or(FidoError::ChallengeUsed)?;
        if begun != *expected || credential != r#"{"id":"x"}"# {
            return Err(FidoError::Refused("another transaction".to_owned()));
        }
        assert_eq!((owner.name.as_str(), challenge), ("green", "challenge"));
        Ok(Authorized {
            user: "alice".to_owned(),
            credential: "x".to_owned(),
            transaction: begun,
            authorized_at: NOW,
        })
    }
}

impl World for Fake {
    fn now(&mut self) -> u64 {
        NOW + self.later
    }
    fn uuid(&mut self) -> String {
        self.ids += 1;
        format!("id-{}", self.ids)
    }
    fn scheme(&mut self) -> String {
        "scheme".to_owned()
    }
    fn settings(&mut self) -> Settings {
        Settings::default()
    }
    fn verify_token(&mut self, token: &str) -> Option<Verified> {
        (token == "valid").then(|| Verified {
            application: "app".to_owned(),
            name: "green".to_owned(),
            expires_at: 2_000_000,
            token_id: "t".to_owned(),
            bound_to: None,
        })
    }
    fn application(&mut self, id: &str) -> Option<Application> {
        let state = if self.revoked.contains(&id) {
            ApplicationState::Revoked
        } else {
            ApplicationState::Active
        };
        id.starts_with("app").then(|| Application {
            id: id.to_owned(),
            name: "green".to_owned(),
            label: "l".to_owned(),
            state,
            maker: "maya".to_owned(),
            created_at: 1,
            decided_by: None,
            decided_at: None,
        })
    }
    fn verify_with(
        &mut self,
        public_key: &str,
        _: Algorithm,
        _: &[u8],
        signature: &[u8],
    ) -> Result<bool, KeyError> {
        if !public_key.starts_with("PEM") {
            return Err(KeyError::BadInput("no key".to_owned()));
        }
        Ok(signature == format!("signed by {public_key}").as_bytes())
    }
    fn audit(&mut self, event: &AuditEvent) {
        self.audited.push(event.clone());
    }
    fn changed(&mut self, event: &Event) {
        self.events.push(event.clone());
    }
}

impl Fake {
    /// One component with three operations.
    pub fn new() -> Self {
        let mut fake = Self::default();
        fake.publish(1);
        fake
    }

    /// A release publishes its privileges.
    pub fn publish(&mut self, release: u64) {
        let privilege = |name: &str, roles: &[&str]| Published {
            name: name.to_owned(),
            description: "d".to_owned(),
            roles: roles.iter().map(|role| (*role).to_owned()).collect(),
        };
        let settlements = vec![
            privilege("list", &["reader"]),
            privilege("settle", &["maker"]),
            privilege("stop", &["maker", "checker"]),
        ];
        let own = vec![
            privilege("askAuthorizationChange", &["maker"]),
            privilege("decideAuthorizationChange", &["checker"]),
        ];
        let of = |component: &str, privileges| ComponentPrivileges {
            component: component.to_owned(),
            privileges,
        };
        let all = vec![of("settlements", settlements), of("security-authz", own)];
        published::publish(self, release, all);
    }

    /// Send a request as an operator with these roles.
    pub fn ask(&mut self, who: &str, roles: &[&str], operation: &str, body: &str) -> (u16, Value) {
        let (operation, id) = operation.split_once(' ').unwrap_or((operation, ""));
        let request = Request {
            operation_id: operation.to_owned(),
            method: "POST".to_owned(),
            path: format!("/{operation}"),
            path_parameters: vec![
                ("id".to_owned(), id.to_owned()),
                ("role".to_owned(), id.to_owned()),
            ],
            query_parameters: Vec::new(),
            headers: Vec::new(),
            body: Some(body.to_owned()),
            caller: None,
        };
        let caller = Caller {
            name: who.to_owned(),
            roles: roles.iter().map(|role| (*role).to_owned()).collect(),
        };
        let answer = api::answer(self, &caller, &request);
        let body = answer.body.as_deref().unwrap_or("null");
        (answer.status, serde_json::from_str(body).unwrap())
    }

    /// Maya asks for a change, and chris approves it.
    pub fn change(&mut self, change: &str) -> (u16, Value) {
        let body = format!(r#"{{"change":{change},"reason":"r"}}"#);
        let (status, asked) = self.ask("maya", &["maker"], "askAuthorizationChange", &body);
        if status != 202 {
            return (status, asked);
        }
        let decide = format!(
            "decideAuthorizationChange {}",
            asked["id"].as_str().unwrap()
        );
        self.ask("chris", &["checker"], &decide, r#"{"decision":"APPROVE"}"#)
    }

    /// The host's question about an operation of settlements.
    pub fn may(
        &mut self,
        who: &str,
        roles: &[&str],
        operation: &str,
    ) -> Result<Vec<String>, String> {
        let defaults: &[&str] = match operation {
            "list" => &["reader"],
            "settle" => &["maker"],
            _ => &["maker", "checker"],
        };
        let owned = |roles: &[&str]| roles.iter().map(|role| (*role).to_owned()).collect();
        let caller = HostCaller {
            name: who.to_owned(),
            roles: owned(roles),
        };
        let defaults: Vec<String> = owned(defaults);
        let privilege = Privilege::of("settlements", operation);
        authorize::operator(self, &caller, &privilege, &defaults)
    }
}
