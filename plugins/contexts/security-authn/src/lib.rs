//! Security (authentication): the bounded context of applications and their access tokens.
//!
//! A participant's application has an id and a secret. With both it gets an access token, which lasts an hour, and which
//! it shows with each request. The host verifies tokens by itself, and asks this context only for keys and for the
//! state of applications.
//!
//! | Module | Holds |
//! |---|---|
//! | [`api`] | the operations over HTTP, and how each words its refusals |
//! | [`guesses`] | who guesses secrets is slowed down, and barred for a while |
//! | [`login`] | an id and a secret are compared; wrong ones are counted, and operators are alerted |
//! | [`applications`] | applications, and the two operators behind each |
//! | [`tokens`] | access tokens: made and verified |
//! | [`signing`] | the keys that sign tokens, and their rotation |
//! | [`told`] | what the host and the Admin/Operation API are told |
//! | [`settings`] | issuer, audience, lifetime |
//! | [`world`] | everything outside; [`host`] is the real one |

pub mod api;
pub mod applications;
pub mod bindings;
pub mod guesses;
pub mod host;
pub mod login;
pub mod settings;
pub mod signing;
#[cfg(test)]
mod tests;
pub mod tokens;
pub mod told;
pub mod world;

mod component {
    //! The exports.

    use crate::api;
    use crate::bindings::exports::rialto::host::{
        configuration_schema, http_handler, settings_handler, token_handler,
    };
    use crate::bindings::exports::rialto::security_authn::{
        decide_application, get_application, get_applications, register_application,
        revoke_application, verify_token,
    };
    use crate::bindings::exports::rialto::security_crypto::adapter_chosen;
    use crate::bindings::rialto::security_authn::types::{Application, ApplicationError};
    use crate::host::Host;
    use crate::settings::Settings;
    use crate::{applications, signing, tokens, told};
    use rialto_sdk::scheme::settings;

    struct SecurityAuthn;

    rialto_sdk::judges_settings!(settings_handler, SecurityAuthn, Settings);
    rialto_sdk::describes_settings!(configuration_schema, SecurityAuthn, version 1, "../settings.schema.json");

    impl http_handler::Guest for SecurityAuthn {
        fn openapi() -> String {
            include_str!("../openapi.yaml").to_owned()
        }

        fn handle(request: http_handler::Request) -> http_handler::Response {
            api::answer(&mut Host, settings(), &request)
        }

        fn refuse(
            head: http_handler::RequestHead,
            violation: http_handler::Violation,
        ) -> http_handler::Response {
            api::refusal(&head, &violation)
        }
    }

    impl token_handler::Guest for SecurityAuthn {
        fn rules() -> token_handler::TokenRules {
            told::rules(&mut Host, settings())
        }

        fn clients(ids: Vec<String>) -> Vec<token_handler::TokenClient> {
            told::clients(&mut Host, &ids)
        }
    }

    impl adapter_chosen::Guest for SecurityAuthn {
        fn adapter_chosen(event: adapter_chosen::Event) {
            signing::choose(&mut Host, event.provider, event.at);
        }
    }

    impl register_application::Guest for SecurityAuthn {
        fn register_application(
            request: register_application::Request,
        ) -> Result<register_application::Registered, ApplicationError> {
            let registered = applications::register(&mut Host, request)?;
            Ok(register_application::Registered {
                application: told::application(registered.application),
                secret: registered.secret,
            })
        }
    }

    impl decide_application::Guest for SecurityAuthn {
        fn decide_application(
            id: String,
            checker: String,
            approved: bool,
        ) -> Result<Application, ApplicationError> {
            let decided = applications::decide(&mut Host, &id, &checker, approved)?;
            Ok(told::application(decided))
        }
    }

    impl revoke_application::Guest for SecurityAuthn {
        fn revoke_application(
            id: String,
            operator: String,
        ) -> Result<Application, ApplicationError> {
            let revoked = applications::revoke(&mut Host, &id, &operator)?;
            Ok(told::application(revoked))
        }
    }

    impl get_applications::Guest for SecurityAuthn {
        fn get_applications(cursor: Option<String>, limit: u32) -> get_applications::Page {
            told::page(&mut Host, cursor.as_deref(), limit)
        }
    }

    impl get_application::Guest for SecurityAuthn {
        fn get_application(id: String) -> Option<Application> {
            applications::find(&mut Host, &id).map(told::application)
        }
    }

    impl verify_token::Guest for SecurityAuthn {
        fn verify_token(token: String) -> Option<verify_token::Verified> {
            tokens::verify(&mut Host, settings(), &token).map(told::verified)
        }
    }

    // Component exports have names that no native linker takes.
    #[cfg(target_arch = "wasm32")]
    crate::bindings::export!(SecurityAuthn with_types_in crate::bindings);
}
