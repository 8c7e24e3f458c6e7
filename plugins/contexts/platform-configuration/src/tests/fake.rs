//! Surroundings for tests.

use rialto_sdk::auditing::Audited;
use rialto_sdk::documents::Memory;
use rialto_sdk::operators::Caller;
use serde_json::{Value, json};

use crate::bindings::exports::rialto::host::configuration_handler::{
    ComponentConfiguration, NeededSecret,
};
use crate::bindings::exports::rialto::host::http_handler::Request;
use crate::bindings::rialto::host::keys::KeyError;
use crate::bindings::rialto::platform_configuration::configuration_values_changed::Event as ValuesChanged;
use crate::bindings::rialto::platform_configuration::secrets_values_changed::Event as SecretsChanged;
use crate::settings::Settings;
use crate::world::World;
use crate::{api, components, needs};

/// When tests begin: UTC, milliseconds since 1970.
pub const NOW: u64 = 1_000_000_000;

#[derive(Default)]
pub struct Fake {
    pub store: Memory,
    pub later: u64,
    pub warnings: Vec<String>,
    pub audited: Vec<Audited>,
    pub changed: Vec<ValuesChanged>,
    pub secrets: Vec<SecretsChanged>,
    /// The header with the assertion.
    pub assertion: Option<&'static str>,
    /// Keys that the host has no longer.
    pub lost: Vec<String>,
    ids: u32,
    keys: u32,
}

rialto_sdk::stores_in!(Fake, this => this.store);

impl World for Fake {
    fn now(&mut self) -> u64 {
        NOW + self.later
    }
    fn uuid(&mut self) -> String {
        self.ids += 1;
        format!("id-{}", self.ids)
    }
    fn settings(&mut self) -> Settings {
        Settings::default()
    }
    fn generate(&mut self, _: &str) -> Result<String, KeyError> {
        self.keys += 1;
        Ok(format!("key-{}", self.keys))
    }
    fn encrypt(&mut self, key: &str, plain: &[u8], associated: &[u8]) -> Result<Vec<u8>, KeyError> {
        if self.lost.iter().any(|lost| lost == key) {
            return Err(KeyError::NoKey("it is gone".to_owned()));
        }
        let flipped = plain.iter().map(|byte| byte ^ 0xff);
        Ok([key.as_bytes(), b"\0", associated, b"\0"]
            .concat()
            .into_iter()
            .chain(flipped)
            .collect())
    }
    fn decrypt(
        &mut self,
        key: &str,
        cipher: &[u8],
        associated: &[u8],
    ) -> Result<Vec<u8>, KeyError> {
        if self.lost.iter().any(|lost| lost == key) {
            return Err(KeyError::NoKey("it is gone".to_owned()));
        }
        let head = [key.as_bytes(), b"\0", associated, b"\0"].concat();
        let flipped = cipher
            .strip_prefix(head.as_slice())
            .ok_or(KeyError::NotOpened)?;
        Ok(flipped.iter().map(|byte| byte ^ 0xff).collect())
    }
    fn verify_assertion(&mut self, assertion: &str) -> Result<String, String> {
        let subject = assertion.strip_prefix("signed by ");
        subject
            .map(str::to_owned)
            .ok_or_else(|| "the signature is not of this key".to_owned())
    }
    fn secrets_changed(&mut self, event: &SecretsChanged) {
        self.secrets.push(event.clone());
    }
    fn audit(&mut self, audited: &Audited) {
        self.audited.push(audited.clone());
    }
    fn warn(&mut self, message: &str) {
        self.warnings.push(message.to_owned());
    }
    fn values_changed(&mut self, event: &ValuesChanged) {
        self.changed.push(event.clone());
    }
}

/// A component's configuration.
pub fn component(
    name: &str,
    version: u32,
    schema: &Value,
    settings: &Value,
) -> ComponentConfiguration {
    ComponentConfiguration {
        component: name.to_owned(),
        version,
        settings_schema: schema.to_string(),
        settings: settings.to_string(),
        secrets: Vec::new(),
    }
}

/// The same with secrets.
pub fn needing(mut component: ComponentConfiguration, names: &[&str]) -> ComponentConfiguration {
    let secret = |name: &&str| NeededSecret {
        name: (*name).to_owned(),
        description: "d".to_owned(),
    };
    component.secrets = names.iter().map(secret).collect();
    component
}

impl Fake {
    /// A release becomes current.
    pub fn release(&mut self, number: u64, all: &[ComponentConfiguration]) {
        components::publish(self, number, all);
        needs::publish_release(self, number, all);
    }

    /// Ask as an operator with a role. The operation may be followed by a context, and that by a secret's name.
    pub fn ask(&mut self, who: &str, role: &str, operation: &str, body: &Value) -> (u16, Value) {
        let mut words = operation.split(' ');
        let operation = words.next().unwrap_or_default();
        let names = ["boundedContextId", "name"].into_iter();
        let path = names
            .zip(words)
            .map(|(name, value)| (name.to_owned(), value.to_owned()));
        let assertion = self.assertion.into_iter();
        let header = |value: &str| ("x-client-assertion".to_owned(), value.to_owned());
        let request = Request {
            operation_id: operation.to_owned(),
            method: "POST".to_owned(),
            path: String::new(),
            path_parameters: path.collect(),
            query_parameters: Vec::new(),
            headers: assertion.map(header).collect(),
            body: Some(body.to_string()),
            caller: None,
        };
        let caller = Caller {
            name: who.to_owned(),
            roles: vec![role.to_owned()],
        };
        let answer = api::answer(self, &caller, &request);
        let body = answer.body.as_deref().unwrap_or("null");
        (answer.status, serde_json::from_str(body).unwrap())
    }

    /// The program `switch` publishes its configuration.
    pub fn publish(&mut self, body: &Value) -> (u16, Value) {
        self.ask(
            "switch",
            "context",
            "publishConfigurationSchemaOf switch",
            body,
        )
    }

    /// What is shown of a context.
    pub fn shown(&mut self, context: &str) -> Value {
        let operation = format!("getConfigurationSchema {context}");
        let (status, body) = self.ask("anna", "reader", &operation, &json!(null));
        assert_eq!(status, 200, "{body}");
        body
    }
}

/// The end of a problem's type.
pub fn kind(body: &Value) -> &str {
    let of = body["type"].as_str().unwrap_or_default();
    of.strip_prefix("urn:rialto:problem:").unwrap_or_default()
}
