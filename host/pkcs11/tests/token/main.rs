//! A token by SoftHSM. Each test is a process with a token of its own, because a module is initialized once in a
//! process and reads its configuration then.

#![allow(
    clippy::unwrap_used,
    reason = "a failed unwrap in a test is a failed test"
)]

mod algorithms;
mod closing;
mod faults;
mod loading;
mod making;
mod setup;
mod world;

use std::process::Command;

use libtest_mimic::{Arguments, Failed, Trial};

use setup::Setup;
use world::World;

/// The variable that says which test a process runs.
const TEST: &str = "RIALTO_TEST_NAME";

/// The tests, by name.
macro_rules! tests {
    ($($file:ident: $($name:ident),+;)+) => {
        const TESTS: &[(&str, fn(&World))] = &[
            $($((concat!(stringify!($file), "::", stringify!($name)), $file::$name),)+)+
        ];
    };
}

tests! {
    algorithms:
        token_supports_what_its_mechanisms_say,
        signature_is_verified_with_the_public_key_alone,
        key_is_used_for_its_purpose_alone,
        encrypted_bytes_open_with_their_key_alone,
        nonce_may_be_the_token_s,
        keys_cannot_be_extracted_or_used_otherwise,
        pin_zones_are_refused;
    closing:
        module_is_finalized_when_nobody_is_inside,
        module_of_two_tokens_is_finalized_with_the_last,
        module_that_does_not_end_is_given_up;
    faults:
        panic_in_a_call_fails_it_alone,
        slow_module_is_given_up,
        closed_sessions_are_opened_again,
        removed_token_works_when_it_is_back,
        lost_token_folder_makes_the_provider_away,
        rsa_key_pairs_are_awaited_longer,
        slow_token_holds_no_more_than_its_sessions,
        waiting_caller_gives_up_when_sessions_are_busy,
        wrong_pin_is_tried_once,
        unusable_configurations_say_what_to_do,
        tokens_of_one_label_are_told_apart_by_serial_number,
        debug_shows_no_pin;
    loading:
        wrapped_keys_are_the_same_as_in_software,
        wrapped_pair_signs_as_in_software,
        what_is_no_such_key_is_not_loaded;
    making:
        key_of_one_id_is_made_once,
        key_has_a_name_for_people,
        failed_generation_is_done_once_more,
        late_key_is_destroyed,
        destroyed_key_is_gone,
        turns_do_not_call_a_token;
}

fn main() {
    if let Ok(name) = std::env::var(TEST) {
        let (_, test) = TESTS.iter().find(|(known, _)| *known == name).unwrap();
        test(&World::of_environment());
        return;
    }
    let arguments = Arguments::from_args();
    let setup = std::sync::Arc::new(Setup::new());
    let trials = TESTS.iter().map(|(name, _)| {
        let setup = setup.clone();
        Trial::test(*name, move || in_a_process(&setup, name))
    });
    libtest_mimic::run(&arguments, trials.collect()).exit();
}

fn in_a_process(setup: &Setup, name: &str) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let mut child = Command::new(std::env::current_exe()?);
    setup.surround(folder.path(), &mut child);
    let output = child.env(TEST, name).output()?;
    if output.status.success() {
        return Ok(());
    }
    Err(String::from_utf8_lossy(&output.stderr).into_owned().into())
}
