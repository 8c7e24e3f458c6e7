//! Tests of what every backend of the engine's [`Store`] must do.
//!
//! A backend implements [`Backend`], which makes and opens its stores, and calls [`suite!`] in one of its test files.
//! The tests use only the trait. They compare the store with [`model::Model`], a very simple store. One that keeps what a
//! host needs beside groups, and is a `HostStore`, also calls [`host_suite!`].

#![forbid(unsafe_code)]

pub mod documents;
pub mod fence;
pub mod groups;
pub mod model;
pub mod random;
pub mod recovery;
pub mod releases;
pub mod samples;
pub mod session;
pub mod subjects;

use rialto_engine::store::Store;

/// A store under test: a folder, a database. It is empty when it is made, and is removed with
/// the value.
pub trait Backend: Sized {
    /// What is tested.
    type Store: Store;

    /// A backend of its own, with no store in it.
    fn new() -> Self;

    /// Open the store. The one before has been dropped.
    fn open(&self) -> Self::Store;

    /// Open it although another one is open, as if what keeps a second host out had failed. Only the
    /// fencing token stands between the two.
    fn intrude(&self) -> Self::Store;
}

/// One `#[test]` for each behaviour of a store on which a host runs, with this backend.
#[macro_export]
macro_rules! host_suite {
    ($backend:ty) => {
        $crate::suite!(@ $backend;
            releases::what_is_kept_is_as_it_was_changed_last,
            releases::a_store_that_was_taken_over_keeps_nothing_more,
            subjects::scheduled_and_waiting_releases_are_kept,
            subjects::plans_are_kept,
            subjects::suspensions_are_kept,
            subjects::canaries_are_kept,
            subjects::credentials_are_kept,
            subjects::passkeys_are_kept,
            subjects::operations_are_kept,
            subjects::the_file_of_peoples_keys_is_kept,
            subjects::the_audit_log_is_read_and_proven,
        );
    };
}

/// One `#[test]` for each behaviour, of this [`Backend`].
#[macro_export]
macro_rules! suite {
    ($backend:ty) => {
        $crate::suite!(@ $backend;
            recovery::a_new_store_has_nothing,
            recovery::written_items_are_returned,
            recovery::finished_items_are_not_returned,
            recovery::a_delivery_has_its_redelivery_count,
            recovery::a_reminder_has_its_redelivery_count,
            recovery::the_poison_candidate_is_stored_until_it_is_cleared,
            recovery::a_reminder_set_again_returns_as_set_last,
            recovery::a_group_without_changes_still_moves_the_log,
            recovery::a_removal_of_what_never_was_changes_nothing,
            recovery::a_dead_letter_stays_until_it_is_decided,
            documents::a_document_is_read_as_it_was_written_last,
            documents::a_removed_document_is_gone,
            documents::ids_and_bodies_may_hold_any_text,
            documents::a_scan_is_in_byte_order_within_its_range,
            documents::a_scan_gives_the_first_documents_up_to_its_limit,
            documents::collections_do_not_mix,
            groups::a_big_group_is_written_whole,
            groups::readers_see_a_group_whole_and_see_what_was_acknowledged,
            fence::a_store_that_was_taken_over_writes_nothing_more,
            random::any_sequence_of_groups_gives_what_the_model_gives,
        );
    };
    (@ $backend:ty; $($module:ident :: $test:ident),* $(,)?) => {
        $(
            #[test]
            fn $test() {
                $crate::$module::$test::<$backend>();
            }
        )*
    };
}
