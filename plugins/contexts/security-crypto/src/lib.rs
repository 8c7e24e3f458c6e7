//! Security (crypto): the bounded context for keys, signatures, encryption, hashes and random numbers.
//!
//! Keys are made and used by the host's providers. This context keeps their references, which it cannot read, and says
//! who may use which key for what, and until when.
//!
//! | Module | Holds |
//! |---|---|
//! | [`api`] | the operations over HTTP, and the roles that they need |
//! | [`definitions`] | definitions of keys: usage, algorithm, owner, end |
//! | [`keys`] | keys: their documents and states |
//! | [`destroying`] | destroying keys at their providers |
//! | [`making`] | generating, loading and handing out keys |
//! | [`using`] | signatures, encryption, hashes, PIN blocks, random numbers |
//! | [`adapters`] | which provider makes new keys |
//! | [`fido`] | FIDO2: authenticators, users, transactions |
//! | [`settings`] | the relying party of FIDO2 |
//! | [`termination`] | the host's TLS files: state, and reading them again |
//! | [`words`] | names and encodings of the API |
//! | [`world`] | everything outside; [`host`] is the real one |

pub mod adapters;
pub mod api;
pub mod bindings;
pub mod definitions;
pub mod destroying;
pub mod fido;
pub mod host;
pub mod keys;
pub mod making;
pub mod settings;
pub mod termination;
#[cfg(test)]
mod tests;
pub mod using;
pub mod words;
pub mod world;

mod component {
    //! The exports.

    use crate::bindings::exports::rialto::host::{
        activation_handler, configuration_schema, http_handler, reminder_handler, settings_handler,
    };
    use crate::bindings::exports::rialto::security_crypto::fido::{
        self, Authenticated, Authorized, Begun, FidoError, Owner, Registered, Transaction, User,
    };
    use crate::host::Host;
    use crate::settings::Settings;
    use crate::{adapters, api, destroying, fido as operations};

    struct SecurityCrypto;

    rialto_sdk::serves_operators!(
        http_handler for SecurityCrypto, "../openapi.yaml",
        |request, caller| api::answer(&mut Host, &caller, &request)
    );

    rialto_sdk::judges_settings!(settings_handler, SecurityCrypto, Settings);
    rialto_sdk::describes_settings!(configuration_schema, SecurityCrypto, version 1, "../settings.schema.json");

    impl reminder_handler::Guest for SecurityCrypto {
        fn reminder_due(id: String, _due: u64, _payload: String) {
            destroying::reminded(&mut Host, &id);
        }
    }

    impl activation_handler::Guest for SecurityCrypto {
        fn release_activated(_release: u64, _step: u32) -> bool {
            destroying::resume(&mut Host);
            adapters::tell(&mut Host);
            false
        }
    }

    impl fido::Guest for SecurityCrypto {
        fn begin_registration(owner: Owner, user: User) -> Result<Begun, FidoError> {
            operations::begin_registration(&mut Host, &owner, &user)
        }

        fn finish_registration(
            owner: Owner,
            id: String,
            credential: String,
        ) -> Result<Registered, FidoError> {
            operations::finish_registration(&mut Host, &owner, &id, &credential)
        }

        fn begin_authentication(owner: Owner, user: String) -> Result<Begun, FidoError> {
            operations::begin_authentication(&mut Host, &owner, &user)
        }

        fn finish_authentication(
            owner: Owner,
            id: String,
            credential: String,
        ) -> Result<Authenticated, FidoError> {
            operations::finish_authentication(&mut Host, &owner, &id, &credential)
        }

        fn begin_authorization(
            owner: Owner,
            user: String,
            transaction: Transaction,
        ) -> Result<Begun, FidoError> {
            operations::begin_authorization(&mut Host, &owner, &user, &transaction)
        }

        fn finish_authorization(
            owner: Owner,
            id: String,
            credential: String,
            expected: Option<Transaction>,
        ) -> Result<Authorized, FidoError> {
            operations::finish_authorization(&mut Host, &owner, &id, &credential, expected.as_ref())
        }
    }

    // Component exports have names that no native linker takes.
    #[cfg(target_arch = "wasm32")]
    crate::bindings::export!(SecurityCrypto with_types_in crate::bindings);
}
