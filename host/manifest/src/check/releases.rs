//! The checks of the table `[releases]` of `rialto.toml`.

use crate::diagnostics::{Code, Diagnostics};
use crate::document::Document;
use crate::operator::OperatorFile;

/// Enough officers can sign, each in some way.
pub(super) fn releases(document: &Document<OperatorFile>, problems: &mut Diagnostics) {
    let wanted = &document.value.releases;
    let count = wanted.officers.len();
    match wanted.signatures {
        Some(_) if count == 0 && !document.is_doubtful("releases/officers") => document.problem(
            problems,
            "releases/signatures",
            Code::Contradiction,
            "nobody may sign a plan: there are no officers".to_owned(),
            "Name officers, as in `[releases.officers.ada]`, or leave `signatures` out.",
        ),
        // One of them may be the plan's maker, who does not count.
        Some(needed) if count > 0 && needed as usize > count => document.problem(
            problems,
            "releases/signatures",
            Code::Contradiction,
            format!("a plan needs {needed} signatures, and there are {count} officers"),
            "Name more officers, or ask for fewer signatures.",
        ),
        _ => {}
    }
    for (name, officer) in &wanted.officers {
        if officer.public_key.is_none()
            && document.value.passkeys.is_none()
            && !document.is_doubtful("passkeys")
        {
            document.problem(
                problems,
                &format!("releases/officers/{name}"),
                Code::Contradiction,
                format!(
                    "`{name}` has no public key, and there are no passkeys: `{name}` could not sign"
                ),
                "Give the officer a `public-key`, or add [passkeys].",
            );
        }
    }
    for (first, one) in &wanted.officers {
        let same = wanted.officers.iter().find(|(other, of)| {
            *other > first && one.public_key.is_some() && one.public_key == of.public_key
        });
        if let Some((other, _)) = same {
            document.problem(
                problems,
                &format!("releases/officers/{other}/public-key"),
                Code::Duplicate,
                format!("`{other}` has the public key of `{first}`"),
                "Give each officer a key of their own: one person could sign for two.",
            );
        }
    }
}
