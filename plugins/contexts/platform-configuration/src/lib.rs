//! Platform Configuration: the bounded context that knows the configuration of all contexts.
//!
//! Values of components change in releases alone, with a plan and an approval. The host publishes here the schemas and the
//! values of each release. Programs outside publish their own, and change their values themselves. Whoever wants to know is
//! told what has changed. Secrets are set by two operators, and told to their owner alone.
//!
//! | Module | Holds |
//! |---|---|
//! | [`api`] | the operations over HTTP, and the roles that they need |
//! | [`configurations`] | configurations: a schema with its version, and current values |
//! | [`components`] | those of a release |
//! | [`programs`] | those that programs publish |
//! | [`needs`] | which secrets each context needs |
//! | [`secrets`] | values of secrets: set, decided, told to their owner |
//! | [`sealing`] | the key that encrypts them |
//! | [`settings`] | how long new secrets wait, and replaced ones are valid |
//! | [`contexts`] | names of contexts, and where their documents lie |
//! | [`world`] | everything outside; [`host`] is the real one |

pub mod api;
pub mod bindings;
pub mod components;
pub mod configurations;
pub mod contexts;
pub mod host;
pub mod needs;
pub mod programs;
pub mod sealing;
pub mod secrets;
pub mod settings;
#[cfg(test)]
mod tests;
pub mod world;

mod component {
    //! The exports.

    use crate::bindings::exports::rialto::host::configuration_handler::{
        self, ComponentConfiguration,
    };
    use crate::bindings::exports::rialto::host::{
        configuration_schema, http_handler, secrets_handler, settings_handler,
    };
    use crate::host::Host;
    use crate::settings::Settings;
    use crate::{api, components, needs, secrets};

    struct PlatformConfiguration;

    rialto_sdk::serves_operators!(
        http_handler for PlatformConfiguration, "../openapi.yaml",
        |request, caller| api::answer(&mut Host, &caller, &request)
    );

    rialto_sdk::judges_settings!(settings_handler, PlatformConfiguration, Settings);
    rialto_sdk::describes_settings!(configuration_schema, PlatformConfiguration, version 1, "../settings.schema.json");

    impl configuration_handler::Guest for PlatformConfiguration {
        fn configuration_published(release: u64, all: Vec<ComponentConfiguration>) {
            components::publish(&mut Host, release, &all);
            needs::publish_release(&mut Host, release, &all);
        }
    }

    impl secrets_handler::Guest for PlatformConfiguration {
        fn read_secret(owner: String, name: String) -> Option<secrets_handler::SecretValues> {
            let values = secrets::of_component(&mut Host, &owner, &name)?;
            Some(secrets_handler::SecretValues {
                current: values.current,
                previous: values.previous,
            })
        }
    }

    // Component exports have names that no native linker takes.
    #[cfg(target_arch = "wasm32")]
    crate::bindings::export!(PlatformConfiguration with_types_in crate::bindings);
}
