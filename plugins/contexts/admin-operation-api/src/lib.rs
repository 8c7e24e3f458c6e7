//! The Admin/Operation API: histories and reservations of participants' accounts, and participants' applications.
//!
//! It stores nothing: Participant Lifecycle Management knows the participants and asks the ledger (choreography
//! 6.12), and serves the operations that change participants, on the same listener. Security (authentication) keeps
//! the applications.
//!
//! | Module | Holds |
//! |---|---|
//! | [`api`] | which operation does what, and histories and reservations |
//! | [`applications`] | applications: asked for, decided, revoked, listed |
//! | [`views`] | postings and reservations as operators see them |

#![allow(
    clippy::result_large_err,
    reason = "the contract's ledger-error carries an account's position, and is not made often"
)]

pub mod api;
pub mod applications;
pub mod views;

/// Bindings generated from `world.wit`.
#[allow(missing_docs)]
pub mod bindings {
    wit_bindgen::generate!({
        world: "rialto:admin-operation-api-plugin/admin-operation-api",
        path: [
            "../../../wit/common",
            "../../../wit/host",
            "../../../wit/rules",
            "../../../wit/accounts-and-balances",
            "../../../wit/participant-lifecycle-management",
            "../../../wit/security-authn",
            ".",
        ],
        with: {
            "rialto:common/types@0.1.0": rialto_sdk::bindings::rialto::common::types,
            "rialto:host/http@0.1.0": rialto_sdk::bindings::rialto::host::http,
            "rialto:host/logging@0.1.0": rialto_sdk::bindings::rialto::host::logging,
        },
        generate_all,
        additional_derives: [PartialEq],
    });
}

// Component exports have names that no native linker takes.
#[cfg(target_arch = "wasm32")]
mod component {
    //! The export.

    use crate::api::{self, Lifecycle};
    use crate::applications::Applications;
    use crate::bindings::exports::rialto::host::http_handler;
    use crate::bindings::rialto::accounts_and_balances::types::LedgerError;
    use crate::bindings::rialto::participant_lifecycle_management::get_participant_info;
    use crate::bindings::rialto::participant_lifecycle_management::{
        get_liquidity_cover_history as cover_history, get_reservations as reservations,
    };
    use crate::bindings::rialto::security_authn::{
        decide_application, get_applications, register_application, revoke_application,
        types::{Application, ApplicationError},
    };
    use rialto_sdk::logging::subject;

    struct Wired;

    impl Applications for Wired {
        fn is_participant(&mut self, id: &str) -> bool {
            get_participant_info::get_participant_info(id).is_some()
        }

        fn register(
            &mut self,
            request: &register_application::Request,
        ) -> Result<register_application::Registered, ApplicationError> {
            subject("participant", &request.name);
            let registered = register_application::register_application(request)?;
            subject("application", &registered.application.id);
            Ok(registered)
        }

        fn decide(
            &mut self,
            id: &str,
            checker: &str,
            approved: bool,
        ) -> Result<Application, ApplicationError> {
            subject("application", id);
            decide_application::decide_application(id, checker, approved)
        }

        fn revoke(&mut self, id: &str, operator: &str) -> Result<Application, ApplicationError> {
            subject("application", id);
            revoke_application::revoke_application(id, operator)
        }

        fn page(&mut self, cursor: Option<&str>, limit: u32) -> get_applications::Page {
            get_applications::get_applications(cursor, limit)
        }
    }

    impl Lifecycle for Wired {
        fn history(
            &mut self,
            request: &cover_history::Request,
        ) -> Result<Option<cover_history::Response>, LedgerError> {
            subject("participant", &request.participant);
            cover_history::get_liquidity_cover_history(request)
        }

        fn reservations(&mut self, participant: &str) -> Option<Vec<reservations::Reservation>> {
            subject("participant", participant);
            reservations::get_reservations(participant)
        }
    }

    struct AdminOperationApi;

    rialto_sdk::serves_operators!(
        http_handler for AdminOperationApi, "../openapi.yaml",
        |request, caller| api::answer(&mut Wired, &caller, &request)
    );

    crate::bindings::export!(AdminOperationApi with_types_in crate::bindings);
}
