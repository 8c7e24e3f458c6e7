//! The report as one HTML page that needs nothing else.

use std::fmt::Write as _;

use indicatif::HumanCount;
use rialto_components::Digest;

use super::{Coverage, RuleCoverage, Times};
use crate::words::instant;

/// The page's look: tables that fit a phone and paper, light and dark.
const STYLE: &str = "
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.15rem; margin: 2rem 0 .25rem; }
table { border-collapse: collapse; width: 100%; margin: .5rem 0; }
th, td { text-align: left; padding: .3rem .6rem; border-bottom: 1px solid #8886; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; }
tr.never td { font-weight: 600; }
code { font-size: .85rem; overflow-wrap: anywhere; }
p.quiet { color: #777; margin: 0; }
";

/// A report as a page. The digest is that of its JSON.
#[must_use]
pub fn page(report: &Coverage, digest: Digest) -> String {
    let mut body = String::new();
    let (since, until) = (instant(report.since), instant(report.until));
    let _ = write!(
        body,
        "<h1>Coverage of rules</h1>\n<p>{} verdicts from {since} to {until}.</p>\n\
         <p class=\"quiet\">Scheme <code>{}</code><br>This report as JSON <code>{digest}</code></p>\n",
        HumanCount(report.receipts),
        report.scheme
    );
    if report.unread > 0 {
        let unread = HumanCount(report.unread);
        let _ = writeln!(
            body,
            "<p>{unread} receipts could not be read, and are not counted.</p>"
        );
    }
    for archive in &report.archives {
        let _ = writeln!(body, "<p>Not counted: the archive {}</p>", escaped(archive));
    }
    for rule in &report.rules {
        of_rule(&mut body, rule);
    }
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>Coverage of rules</title>\n<style>{STYLE}</style>\n</head>\n<body>\n{body}</body>\n</html>\n"
    )
}

fn of_rule(body: &mut String, rule: &RuleCoverage) {
    let gone = if rule.is_bound {
        ""
    } else {
        " (not bound now)"
    };
    let _ = write!(
        body,
        "<h2>{} {} at {}{gone}</h2>\n<p>{}</p>\n<p class=\"quiet\"><code>{}</code></p>\n\
         <table>\n<tr><th>What</th><th class=\"n\">How often</th><th>First</th><th>Last</th></tr>\n",
        escaped(&rule.rule),
        escaped(&rule.version),
        escaped(&rule.step),
        escaped(&rule.summary),
        escaped(&rule.digest),
    );
    row(body, "asked", rule.asked);
    row(body, "allowed", rule.allowed);
    for (code, times) in &rule.refused {
        row(body, &format!("refused {code}"), *times);
    }
    row(body, "failed", rule.failed);
    for (label, times) in &rule.branches {
        row(body, &format!("branch {label}"), *times);
    }
    body.push_str("</table>\n");
}

fn row(body: &mut String, what: &str, times: Times) {
    // A failure that never was is no gap.
    let is_gap = times.count == 0 && what != "failed";
    let class = if is_gap { " class=\"never\"" } else { "" };
    let at = |at: Option<u64>| at.map_or_else(|| "never".to_owned(), instant);
    let _ = writeln!(
        body,
        "<tr{class}><td>{}</td><td class=\"n\">{}</td><td>{}</td><td>{}</td></tr>",
        escaped(what),
        HumanCount(times.count),
        at(times.first),
        at(times.last),
    );
}

/// A text in HTML. What rules and archives are called is not trusted.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_rules_are_text_and_what_never_was_is_marked() {
        let rule = RuleCoverage {
            rule: "<script>alert(1)</script>".to_owned(),
            refused: [("4200".to_owned(), Times::default())].into(),
            ..RuleCoverage::default()
        };
        let report = Coverage {
            form: super::super::FORM.to_owned(),
            scheme: Digest::of("x"),
            since: 0,
            until: 1,
            receipts: 0,
            unread: 0,
            archives: vec!["a & b".to_owned()],
            rules: vec![rule],
        };
        let page = page(&report, Digest::of("y"));
        assert!(
            !page.contains("<script>") && page.contains("&lt;script&gt;"),
            "{page}"
        );
        assert!(page.contains("a &amp; b"), "{page}");
        assert!(
            page.contains("<tr class=\"never\"><td>refused 4200</td>"),
            "{page}"
        );
        assert!(page.contains("<tr><td>failed</td>"), "{page}");
    }
}
