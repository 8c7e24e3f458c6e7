//! A context that needs the secret `api-key`, and shows by HTTP what it reads: `current`, and `previous` if there is one.

/// Bindings generated from `world.wit`.
#[allow(missing_docs, clippy::all, clippy::pedantic)]
pub mod bindings {
    wit_bindgen::generate!({
        world: "rialto:secret-reader/secret-reader",
        path: ["../../../wit/common", "../../../wit/host", "."],
        with: {
            "rialto:host/http@0.1.0": rialto_sdk::bindings::rialto::host::http,
            "rialto:host/logging@0.1.0": rialto_sdk::bindings::rialto::host::logging,
        },
        generate_all,
    });
}

// Imports and exports have names that no native linker takes.
#[cfg(target_arch = "wasm32")]
mod component {
    //! The exports.

    use crate::bindings::exports::rialto::host::{configuration_schema, http_handler};
    use crate::bindings::rialto::host::secrets;
    use rialto_sdk::operators::{Answer, parameter};
    use serde_json::{Value, json};

    struct SecretReader;

    impl configuration_schema::Guest for SecretReader {
        fn describe() -> configuration_schema::Description {
            configuration_schema::Description {
                version: 1,
                settings_schema: r#"{"type":"object","maxProperties":0}"#.to_owned(),
                secrets: vec![configuration_schema::Secret {
                    name: "api-key".to_owned(),
                    description: "The key of a partner".to_owned(),
                }],
            }
        }
    }

    rialto_sdk::serves_operators!(
        http_handler for SecretReader, "../openapi.yaml",
        |request, _caller| {
            let name = parameter(&request.path_parameters, "name").unwrap_or_default();
            let read = secrets::read(name);
            let shown = read.map_or(Value::Null, |values| {
                json!({ "current": values.current, "previous": values.previous })
            });
            Answer::json(200, &shown)
        }
    );

    crate::bindings::export!(SecretReader with_types_in crate::bindings);
}
