//! Every folder in `tests/broken` is a scheme with problems. `expected.txt` has the output for logs and programs,
//! `seen.txt` that for a terminal. `UPDATE=1` writes the files.

use std::fs;

use rialto_manifest::Manifest;

use crate::support;

/// Columns that no line reaches: where lines break would depend on the name of a folder.
const UNBROKEN: usize = 10_000;

#[test]
fn every_broken_scheme_is_reported_with_its_exact_message() {
    let mut cases: Vec<_> = fs::read_dir(support::data().join("broken"))
        .expect("the cases")
        .map(|entry| entry.expect("a case").path())
        .collect();
    cases.sort();
    assert!(cases.len() > 10, "the cases are gone");
    for case in cases {
        let folder = support::staged(&case);
        let problems = match Manifest::load(folder.path()) {
            Ok(_) => panic!("{} has nothing wrong in it", case.display()),
            Err(problems) => problems,
        };
        let text = problems
            .plain()
            .replace(&folder.path().display().to_string(), "DIR");
        support::compare(&case.join("expected.txt"), &text);
        let seen = problems
            .render(false, UNBROKEN)
            .replace(&folder.path().display().to_string(), "DIR");
        support::compare(&case.join("seen.txt"), &seen);
    }
}

#[test]
fn a_person_sees_the_lines_around_a_problem() {
    let case = support::data().join("broken/hub-as-participant");
    let folder = support::staged(&case);
    let problems = Manifest::load(folder.path()).expect_err("something is wrong");
    support::compare(
        &support::data().join("rendered.txt"),
        &problems.render(false, 80),
    );
    assert!(problems.render(true, 80).contains('\u{1b}'));
    assert!(!problems.render(false, 80).contains('\u{1b}'));
}

#[test]
fn a_missing_folder_is_one_problem_with_its_name() {
    let seen = |folder: &str| {
        let problems = Manifest::load(folder).expect_err("there is nothing");
        assert_eq!(problems.problems().len(), 1);
        let locked = rialto_manifest::lock(folder).expect_err("there is nothing");
        assert_eq!(locked.plain(), problems.plain());
        problems.render(false, 100)
    };
    let words = seen("not/there");
    assert!(
        words.contains("not/there: there is no such folder"),
        "{words}"
    );
    let words = seen("Cargo.toml");
    assert!(words.contains("Cargo.toml: it is a file"), "{words}");
}
