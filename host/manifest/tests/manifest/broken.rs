//! Every folder in `tests/broken` is a scheme with something wrong in it; `expected.txt` is what
//! the operator reads. `UPDATE=1` writes the files.

use std::fs;

use rialto_manifest::Manifest;

use crate::support;

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
