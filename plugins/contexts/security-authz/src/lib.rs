//! Security (authorization): the bounded context of roles, privileges, and who has which.
//!
//! A privilege is the right to use an operation of a component. The components say in their OpenAPI documents which roles
//! have it. Operators change that, and give roles to persons and programs, always two of them together. The host asks here
//! for each request of an operator to a component.
//!
//! | Module | Holds |
//! |---|---|
//! | [`api`] | the operations over HTTP, and the roles that they need |
//! | [`published`] | the privileges of the components |
//! | [`roles`] | which privileges a role has, and who has which roles |
//! | [`changes`] | changes of them: asked for, decided, applied, removed |
//! | [`authorize`] | the answer to: may this one do that? |
//! | [`signatures`] | who has signed a text |
//! | [`public_keys`], [`assertions`] | programs that prove by a private key who they are |
//! | [`fido`] | transactions that a user authorizes with a FIDO authenticator |
//! | [`names`] | names of roles, privileges and subjects |
//! | [`settings`] | how long changes wait and are kept |
//! | [`world`] | everything outside; [`host`] is the real one |

pub mod api;
pub mod assertions;
pub mod authorize;
pub mod bindings;
pub mod changes;
pub mod fido;
pub mod host;
pub mod names;
pub mod public_keys;
pub mod published;
pub mod roles;
pub mod settings;
pub mod signatures;
#[cfg(test)]
mod tests;
pub mod world;

mod component {
    //! The exports.

    use crate::bindings::exports::rialto::host::authorization_handler::{
        self, Caller, ComponentPrivileges,
    };
    use crate::bindings::exports::rialto::host::{
        configuration_schema, http_handler, settings_handler,
    };
    use crate::bindings::exports::rialto::security_authz::verify_assertion::{
        self, AssertionError, Verified,
    };
    use crate::bindings::exports::rialto::security_authz::verify_signature;
    use crate::host::Host;
    use crate::names::Privilege;
    use crate::settings::Settings;
    use crate::{api, assertions, authorize, published, signatures};

    struct SecurityAuthz;

    rialto_sdk::serves_operators!(
        http_handler for SecurityAuthz, "../openapi.yaml",
        |request, caller| api::answer(&mut Host, &caller, &request)
    );

    rialto_sdk::judges_settings!(settings_handler, SecurityAuthz, Settings);
    rialto_sdk::describes_settings!(configuration_schema, SecurityAuthz, version 1, "../settings.schema.json");

    impl verify_assertion::Guest for SecurityAuthz {
        fn verify_assertion(assertion: String) -> Result<Verified, AssertionError> {
            let verified = assertions::verify(&mut Host, &assertion);
            verified
                .map(|(subject, key)| Verified { subject, key })
                .map_err(|why| AssertionError::InvalidAssertion(why.to_owned()))
        }
    }

    impl authorization_handler::Guest for SecurityAuthz {
        fn privileges_published(release: u64, all: Vec<ComponentPrivileges>) {
            published::publish(&mut Host, release, all);
        }

        fn authorize(
            caller: Caller,
            component: String,
            privilege: String,
            default_roles: Vec<String>,
        ) -> Result<Vec<String>, String> {
            let privilege = Privilege::of(&component, &privilege);
            authorize::operator(&mut Host, &caller, &privilege, &default_roles)
        }
    }

    impl verify_signature::Guest for SecurityAuthz {
        fn verify_signature(signed: verify_signature::Signed) -> Result<String, String> {
            signatures::verify(&mut Host, &signed)
        }
    }

    // Component exports have names that no native linker takes.
    #[cfg(target_arch = "wasm32")]
    crate::bindings::export!(SecurityAuthz with_types_in crate::bindings);
}
