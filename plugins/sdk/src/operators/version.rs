//! Versions of operators' resources: `ETag`, `If-Match`, `If-None-Match` (RFC 9110, 13.1).

use super::{Answer, Kind, Problem, header};

/// The entity tag of a version.
#[must_use]
pub fn tag(version: u64) -> String {
    format!("\"{version}\"")
}

/// The entity tag of a version of one kind of resource. Tags of different kinds differ.
#[must_use]
pub fn tag_of(kind: char, version: u64) -> String {
    format!("\"{kind}{version}\"")
}

/// Checks that `If-Match`, if present, names the current version.
///
/// # Errors
/// If it is another one.
pub fn insist(headers: &[(String, String)], version: u64) -> Result<(), Problem> {
    insist_on_any(headers, &[tag(version)])
}

/// As [`insist`], with several tags: `If-Match` may name any of them.
///
/// # Errors
/// If it names none of them.
pub fn insist_on_any(headers: &[(String, String)], tags: &[String]) -> Result<(), Problem> {
    let Some(wanted) = header(headers, "if-match") else {
        return Ok(());
    };
    // A weak tag never matches here.
    if tags.iter().any(|tag| names(wanted, tag, false)) {
        return Ok(());
    }
    let tags = tags.join(" or ");
    let detail = format!("it is at version {tags} now, not {wanted}: read it again");
    Err(Problem::new(Kind::PreconditionFailed, detail))
}

/// An answer with this version: without a body for a client that has it already.
#[must_use]
pub fn answer(headers: &[(String, String)], version: u64, full: impl FnOnce() -> Answer) -> Answer {
    answer_tagged(headers, tag(version), full)
}

/// As [`answer`], with this tag. The tag must cover the whole body.
#[must_use]
pub fn answer_tagged(
    headers: &[(String, String)],
    tag: String,
    full: impl FnOnce() -> Answer,
) -> Answer {
    let has = header(headers, "if-none-match").is_some_and(|known| names(known, &tag, true));
    let answer = if has {
        Answer {
            status: 304,
            headers: Vec::new(),
            body: None,
        }
    } else {
        full()
    };
    answer.with("etag", tag)
}

fn names(list: &str, tag: &str, weak: bool) -> bool {
    list.split(',').map(str::trim).any(|item| {
        let item = item.strip_prefix("W/").filter(|_| weak).unwrap_or(item);
        item == "*" || item == tag
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(name: &str, value: &str) -> [(String, String); 1] {
        [(name.to_owned(), value.to_owned())]
    }

    #[test]
    fn a_version_that_is_not_there_any_more_is_refused() {
        assert_eq!(insist(&[], 3), Ok(()));
        for right in ["\"3\"", "*", "\"2\", \"3\""] {
            assert_eq!(insist(&with("if-match", right), 3), Ok(()), "{right}");
        }
        for wrong in ["\"2\"", "3", "W/\"3\"", "\"33\"", ""] {
            let refused = insist(&with("if-match", wrong), 3).unwrap_err();
            assert_eq!(refused.kind, Kind::PreconditionFailed, "{wrong}");
        }
    }

    #[test]
    fn a_tag_of_one_kind_is_none_of_another() {
        let tags = [tag_of('p', 3), tag_of('r', 1)];
        for right in ["\"p3\"", "\"r1\"", "\"p2\", \"r1\""] {
            let insisted = insist_on_any(&with("if-match", right), &tags);
            assert_eq!(insisted, Ok(()), "{right}");
        }
        for wrong in ["\"p1\"", "\"r3\"", "\"3\"", "\"1\""] {
            let refused = insist_on_any(&with("if-match", wrong), &tags).unwrap_err();
            assert_eq!(refused.kind, Kind::PreconditionFailed, "{wrong}");
        }
        let full = || Answer::json(200, &1);
        let other = answer_tagged(&with("if-none-match", "\"r3\""), tag_of('p', 3), full);
        assert_eq!(other.status, 200);
    }

    #[test]
    fn who_has_the_version_gets_no_body() {
        let full = || Answer::json(200, &1);
        let known = answer(&with("if-none-match", "W/\"3\""), 3, full);
        assert_eq!((known.status, known.body), (304, None));
        assert_eq!(known.headers, with("etag", "\"3\""));
        let new = answer(&with("if-none-match", "\"2\""), 3, full);
        assert_eq!((new.status, new.body.as_deref()), (200, Some("1")));
        assert_eq!(header(&new.headers, "etag"), Some("\"3\""));
    }
}
