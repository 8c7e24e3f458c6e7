//! A host whose clock is wrong by hours, and right again. libfaketime, in front of the C library, moves the clock while
//! the host runs.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use super::*;

/// Where Debian has the library, by processor.
const LIBRARY: [&str; 2] = [
    "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1",
    "/usr/lib/aarch64-linux-gnu/faketime/libfaketimeMT.so.1",
];

/// The clock of a host, as the content of a file that the library reads at each question.
struct Clock(PathBuf);

impl Clock {
    fn of(folder: &Path) -> Self {
        let clock = Self(folder.join("clock"));
        clock.set("+0");
        clock
    }

    /// How far it is from the true time, such as `+5h`.
    fn set(&self, offset: &str) {
        let next = self.0.with_extension("next");
        fs::write(&next, offset).unwrap();
        fs::rename(next, &self.0).unwrap();
    }

    fn variables(&self) -> Vec<(String, OsString)> {
        let library = LIBRARY.into_iter().find(|path| Path::new(path).exists());
        let library = library.expect("libfaketime is installed: Debian's package faketime");
        [
            ("LD_PRELOAD", library.into()),
            ("FAKETIME_TIMESTAMP_FILE", self.0.clone().into_os_string()),
            ("FAKETIME_NO_CACHE", "1".into()),
            // As after a jump of a real clock: what counts from the start of the machine goes on.
            ("FAKETIME_DONT_FAKE_MONOTONIC", "1".into()),
        ]
        .map(|(name, value): (&str, OsString)| (name.to_owned(), value))
        .to_vec()
    }
}

#[tokio::test]
async fn wrong_clock_refuses_signed_messages_and_loses_no_money() {
    let scheme = TestScheme::demo().unwrap();
    let clock = Clock::of(scheme.path());
    let scene = Scene::with(scheme, clock.variables()).await;
    let world = &scene.world;
    committed(&world.pay("10", "USD").await).unwrap();
    let good = scene.payer();

    for (offset, waits) in [("+5h", true), ("-5h", false)] {
        // A transfer is under way when the clock jumps forward.
        let under_way = if waits {
            Some(scene.reserved().await.transfer_id)
        } else {
            None
        };
        let before = world.books().unwrap();
        clock.set(offset);
        scene
            .until_status("the jump is seen", Some(&good), 400)
            .await;
        let refused = scene.transfer().signed_by(&good).send().await.unwrap();
        assert_eq!(code(&refused), (400, "3105".to_owned()), "{offset}");
        if let Some(id) = under_way {
            // By the host's clock it has expired. Both FSPs hear so, and the money is the payer's again.
            let told = world
                .payer()
                .expect_callback(Method::PUT, &format!("/transfers/{id}/error"), SOON)
                .await
                .unwrap();
            let told = told.json();
            assert_eq!(told["errorInformation"]["errorCode"], "3303", "{told}");
            world.settled_books().await.unwrap();
        } else {
            assert_eq!(world.books().unwrap(), before, "something has happened");
        }
        clock.set("+0");
        scene
            .until_status("the clock is right again", Some(&good), 202)
            .await;
        world
            .payee_behaves(r#"{"transfer":{"silent":"0%"}}"#)
            .unwrap();
        committed(&world.pay("3", "USD").await).unwrap();
        world.settled_books().await.unwrap();
    }
    let checked = world.host.cli(&["ledger", "check"]).unwrap();
    checked.success().unwrap();
    let log = world.host.log();
    assert!(!log.contains("panicked"), "the host panicked:\n{log}");
}
