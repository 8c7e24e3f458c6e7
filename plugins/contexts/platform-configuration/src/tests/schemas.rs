//! Schemas and values: of releases, and of programs.

use serde_json::{Value, json};

use super::fake::{Fake, NOW, component, kind};
use crate::bindings::exports::rialto::host::configuration_handler::ComponentConfiguration;

fn schema() -> Value {
    json!({
        "type": "object", "additionalProperties": false,
        "properties": {
            "timeoutMs": { "type": "integer", "minimum": 1, "default": 500 },
            "mode": { "enum": ["fast", "slow"], "default": "fast" },
        },
    })
}

fn any() -> Value {
    json!({ "type": "object" })
}

fn release(settings: &Value) -> Vec<ComponentConfiguration> {
    vec![
        component("quoting", 1, &schema(), settings),
        component(
            "rule/limits/quote-check",
            0,
            &any(),
            &json!({ "most": "5" }),
        ),
        component("transfers", 0, &any(), &json!({})),
    ]
}

#[test]
fn release_shows_schemas_with_values_and_defaults() {
    let mut fake = Fake::default();
    fake.release(1, &release(&json!({ "timeoutMs": 7 })));
    let shown = fake.shown("quoting");
    assert_eq!(shown["schema"], schema());
    assert_eq!(shown["values"], json!({ "timeoutMs": 7, "mode": "fast" }));
    assert_eq!(
        (&shown["source"], &shown["release"]),
        (&json!("RELEASE"), &json!(1))
    );
    assert_eq!(
        fake.shown("rule/limits/quote-check")["values"],
        json!({ "most": "5" })
    );
    assert_eq!(fake.shown("transfers")["schema"], any());
    let (status, all) = fake.ask(
        "switch",
        "context",
        "listConfigurationSchemas",
        &json!(null),
    );
    let names = all["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["boundedContextId"]);
    assert_eq!(status, 200);
    assert!(
        names.eq(&["quoting", "rule/limits/quote-check", "transfers"]),
        "{all}"
    );
    assert_eq!(fake.changed, [], "the first values are no change");
}

#[test]
fn release_with_other_values_tells_which() {
    let mut fake = Fake::default();
    fake.release(1, &release(&json!({})));
    fake.later = 5;
    fake.release(2, &release(&json!({ "timeoutMs": 500 })));
    assert_eq!(fake.changed, [], "what was set is the default");
    fake.release(3, &release(&json!({ "timeoutMs": 600, "mode": "slow" })));
    let told = fake.changed.pop().unwrap();
    assert_eq!(
        (told.context.as_str(), told.release, told.at),
        ("quoting", Some(3), NOW + 5)
    );
    assert_eq!(told.changed, ["/mode", "/timeoutMs"]);
    let shown = fake.shown("quoting");
    assert_eq!(
        (&shown["publishedAt"], &shown["changedAt"]),
        (&json!(NOW), &json!(NOW + 5))
    );
    // A release whose activation begins again.
    fake.release(3, &release(&json!({ "timeoutMs": 600, "mode": "slow" })));
    assert_eq!(fake.changed, []);
    // An earlier release is current again.
    fake.release(1, &release(&json!({})));
    assert_eq!(fake.changed.len(), 1);
    assert_eq!(fake.shown("quoting")["release"], 1);
}

#[test]
fn default_of_a_newer_component_is_a_changed_value() {
    let mut fake = Fake::default();
    fake.release(1, &release(&json!({})));
    let mut newer = release(&json!({}));
    let mut other = schema();
    other["properties"]["timeoutMs"]["default"] = json!(900);
    newer[0] = component("quoting", 2, &other, &json!({}));
    fake.release(2, &newer);
    assert_eq!(fake.changed[0].changed, ["/timeoutMs"]);
    assert_eq!((fake.changed.len(), fake.changed[0].version), (1, 2));
}

#[test]
fn component_that_a_release_lacks_is_gone() {
    let mut fake = Fake::default();
    fake.release(1, &release(&json!({})));
    fake.release(2, &release(&json!({}))[1..]);
    let (status, body) = fake.ask(
        "anna",
        "reader",
        "getConfigurationSchema quoting",
        &json!(null),
    );
    assert_eq!((status, kind(&body)), (404, "context-unknown"));
    assert!(
        body["detail"]
            .as_str()
            .unwrap()
            .contains("GET /config/schemas/"),
        "{body}"
    );
}

#[test]
fn schema_that_is_not_judged_here_is_shown_as_it_is() {
    let mut fake = Fake::default();
    let foreign = json!({ "type": "object", "unevaluatedProperties": false });
    let all = [component("foreign", 1, &foreign, &json!({ "a": 1 }))];
    fake.release(1, &all);
    fake.release(2, &all);
    assert_eq!(fake.shown("foreign")["schema"], foreign);
    assert_eq!(fake.shown("foreign")["values"], json!({ "a": 1 }));
    assert_eq!(fake.warnings.len(), 1, "{:?}", fake.warnings);
}

#[test]
fn program_publishes_its_configuration_by_version() {
    let mut fake = Fake::default();
    let first = json!({ "version": 2, "schema": schema() });
    let (status, body) = fake.publish(&first);
    assert_eq!(
        (status, &body["values"]["timeoutMs"]),
        (201, &json!(500)),
        "{body}"
    );
    assert_eq!(fake.publish(&first).0, 200, "the same again");
    let (status, body) = fake.publish(&json!({ "version": 1, "schema": schema() }));
    assert_eq!(
        (status, kind(&body), &body["version"]),
        (409, "version-outdated", &json!(2))
    );
    let (status, body) = fake.publish(&json!({ "version": 2, "schema": any() }));
    assert_eq!((status, kind(&body)), (409, "version-used"));
    assert_eq!(fake.changed, []);
    fake.later = 9;
    let values = json!({ "version": 2, "schema": schema(), "values": { "mode": "slow" } });
    assert_eq!(fake.publish(&values).0, 200);
    assert_eq!(fake.changed[0].changed, ["/mode"]);
    assert_eq!(
        (fake.changed[0].release, fake.changed[0].version),
        (None, 2)
    );
    // A higher version keeps the current values.
    let (status, body) = fake.publish(&json!({ "version": 3, "schema": schema() }));
    assert_eq!((status, &body["values"]["mode"]), (200, &json!("slow")));
    assert_eq!(body["publishedAt"], json!(NOW + 9));
    assert_eq!(fake.changed.len(), 1);
}

#[test]
fn wrong_schemas_and_values_are_refused_and_change_nothing() {
    let mut fake = Fake::default();
    let first = json!({ "version": 1, "schema": schema(), "values": { "mode": "slow" } });
    assert_eq!(fake.publish(&first).0, 201);
    let before = fake.store.clone();
    let wrong = json!({ "version": 2, "schema": { "properties": { "a": { "type": "text" } } } });
    let (status, body) = fake.publish(&wrong);
    assert_eq!((status, kind(&body)), (422, "schema-invalid"));
    assert_eq!(body["problems"][0]["pointer"], "/properties/a/type");
    let misfit =
        json!({ "version": 1, "schema": schema(), "values": { "timeoutMs": 0, "other": 1 } });
    let (status, body) = fake.publish(&misfit);
    assert_eq!((status, kind(&body)), (422, "values-misfit"));
    assert_eq!(body["problems"].as_array().unwrap().len(), 2, "{body}");
    let narrower =
        json!({ "version": 2, "schema": { "properties": { "mode": { "const": "fast" } } } });
    let (status, body) = fake.publish(&narrower);
    assert_eq!((status, kind(&body)), (422, "values-misfit"));
    assert!(
        body["detail"].as_str().unwrap().contains("give `values`"),
        "{body}"
    );
    assert_eq!(fake.store, before);
}

#[test]
fn program_publishes_for_itself_alone() {
    let mut fake = Fake::default();
    fake.release(1, &release(&json!({})));
    let body = json!({ "version": 1, "schema": any() });
    for (who, role, operation, status, wanted) in [
        (
            "other",
            "context",
            "publishConfigurationSchemaOf switch",
            403,
            "context-foreign",
        ),
        (
            "quoting",
            "context",
            "publishConfigurationSchemaOf quoting",
            409,
            "context-of-release",
        ),
        (
            "quoting",
            "context",
            "publishConfigurationSchema",
            409,
            "context-of-release",
        ),
        (
            "switch",
            "reader",
            "publishConfigurationSchemaOf switch",
            403,
            "role-missing",
        ),
        (
            "maya",
            "maker",
            "listConfigurationSchemas",
            403,
            "role-missing",
        ),
    ] {
        let (answered, said) = fake.ask(who, role, operation, &body);
        assert_eq!((answered, kind(&said)), (status, wanted), "{who}: {said}");
    }
    let (status, said) = fake.ask("switch", "context", "publishConfigurationSchema", &body);
    assert_eq!((status, &said["boundedContextId"]), (201, &json!("switch")));
    let other = json!({ "boundedContextId": "other", "version": 1, "schema": any() });
    let (status, said) = fake.ask("switch", "context", "publishConfigurationSchema", &other);
    assert_eq!((status, kind(&said)), (403, "context-foreign"));
    assert_eq!(fake.publish(&other).0, 400);
}

#[test]
fn component_hides_the_program_of_its_name() {
    let mut fake = Fake::default();
    assert_eq!(
        fake.publish(&json!({ "version": 9, "schema": any() })).0,
        201
    );
    let component = component("switch", 1, &schema(), &json!({}));
    fake.release(1, std::slice::from_ref(&component));
    assert_eq!(fake.shown("switch")["version"], 1);
    let (_, all) = fake.ask("anna", "reader", "listConfigurationSchemas", &json!(null));
    assert_eq!(all["items"].as_array().unwrap().len(), 1, "{all}");
    assert_eq!(fake.changed, [], "it is another context");
    fake.release(2, &[]);
    assert_eq!(fake.shown("switch")["version"], 9);
}
