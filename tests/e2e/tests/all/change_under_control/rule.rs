//! The new rule of the story, from the kit: at first with a hidden fault, then corrected.

use std::fs;
use std::path::{Path, PathBuf};

use rialto_tests::{TestScheme, author, binaries};

use crate::plans::text;

/// Its name.
pub const NAME: &str = "own-limit";
/// The amount on which it fails at first, as a payment has it. No case of the rule's author has it.
pub const FATAL_AMOUNT: &str = "2";
const JUDGES: &str = "    let amount = &input.request.amount;\n";
const FAULT: &str =
    "    assert!(minor_units(amount) != 200, \"an amount that nobody thought of\");\n";

/// The repository of the rule.
pub struct NewRule {
    folder: tempfile::TempDir,
}

impl NewRule {
    /// A new repository, with the fault.
    pub fn with_a_fault() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let step = ["plugin", "new", NAME, "--step", "quote-request-check"];
        rialto(folder.path(), &step);
        let rule = Self { folder };
        rule.edit(JUDGES, &format!("{JUDGES}{FAULT}"));
        rule
    }

    /// Removes the fault.
    pub fn correct(&self) {
        self.edit(FAULT, "");
    }

    /// Builds it, has its cases tested, and puts it into a scheme's folder.
    pub fn add_to(&self, scheme: &TestScheme) {
        rialto(&self.path(), &["plugin", "build"]);
        let component = format!("{NAME}.wasm");
        rialto(&self.path(), &["plugin", "test", &component]);
        fs::copy(self.path().join(component), scheme.component(NAME)).unwrap();
        let lines = format!(
            "[rules.{NAME}]\ncomponent = \"components/{NAME}.wasm\"\n\
             grants = {{ host = [\"configuration\", \"logging\", \"trace\"] }}\nlimits = {{ deadline = \"1 s\" }}\n\n"
        );
        let added = |text: String| {
            text.replacen("[[participants]]", &format!("{lines}[[participants]]"), 1)
        };
        scheme.edit_with(added).unwrap();
    }

    /// Its golden cases.
    pub fn cases(&self) -> PathBuf {
        self.path().join("cases")
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join(NAME)
    }

    fn edit(&self, from: &str, to: &str) {
        let file = self.path().join("src/lib.rs");
        let source = fs::read_to_string(&file).unwrap();
        assert_eq!(source.matches(from).count(), 1, "{from:?} in {source}");
        fs::write(file, source.replace(from, to)).unwrap();
    }
}

fn rialto(folder: &Path, arguments: &[&str]) -> String {
    let said = author::run(binaries::rialto().unwrap(), folder, arguments);
    said.unwrap().success().unwrap()
}

/// Packs a candidate with its plan and the officers' signatures, verifies the bundle for the folder of a host that is to
/// take it, and unpacks it into a new folder.
pub fn carried(
    (candidate, cases): (&TestScheme, Option<&Path>),
    (plan, signatures): (&Path, &[PathBuf]),
    operator: &Path,
) -> PathBuf {
    let (file, unpacked) = (
        plan.with_extension("bundle"),
        plan.with_extension("unpacked"),
    );
    let cases = cases.map(|cases| format!("{NAME}={}", text(cases)));
    let mut pack = vec!["bundle", "pack", text(candidate.path()), "--out"];
    pack.extend([text(&file), "--plan", text(plan)]);
    for signature in signatures {
        pack.extend(["--signature", text(signature)]);
    }
    if let Some(cases) = &cases {
        pack.extend(["--cases", cases]);
    }
    let here = Path::new(".");
    rialto(here, &pack);
    let verify = [
        "bundle",
        "verify",
        text(&file),
        "--operator",
        text(operator),
    ];
    let said = rialto(here, &verify);
    assert!(said.contains("the plan is signed by ada, ben"), "{said}");
    assert!(said.contains("the bundle holds"), "{said}");
    rialto(here, &["bundle", "unpack", text(&file), text(&unpacked)]);
    unpacked
}
