//! Nothing that changes is left out, and what is said can be read.

use proptest::prelude::*;
use rialto_manifest::ComponentKind;
use rialto_manifest::scheme::SchemeDocument;
use rialto_manifest::values::Digest;

use super::{ONLY_LAYOUT, changes};

/// The parts of a small scheme's document, each as text, and its digests.
#[derive(Clone, Debug)]
struct Parts {
    /// By what a person would call a section; each may be another.
    sections: [String; SECTIONS],
    pins: Vec<(ComponentKind, &'static str, u8)>,
}

const SECTIONS: usize = 7;

impl Parts {
    fn document(&self) -> SchemeDocument {
        let mut digests = rialto_manifest::Digests::default();
        for (kind, name, byte) in &self.pins {
            digests.insert(*kind, name.parse().unwrap(), Digest::of(&[*byte]));
        }
        let text = self.sections.join("\n");
        SchemeDocument::new(text, digests)
    }
}

/// Settings: a table of few keys and few values, so that two of them are often nearly the same.
fn settings() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        (0..3_i32).prop_map(|n| n.to_string()),
        Just("\"x\"".to_owned()),
        Just("true".to_owned()),
        Just("1.0".to_owned()),
    ];
    let value = leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(|v| format!("[{}]", v.join(", "))),
            table(inner),
        ]
    });
    table(value)
}

fn table(value: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    // `currency` and `rule` are names of keys elsewhere; in settings they are keys as any other.
    let names = prop::sample::subsequence(vec!["currency", "rule", "\"a.b\"", "max"], 0..3);
    (names, prop::collection::vec(value, 4)).prop_map(|(names, values)| {
        let members = names.iter().zip(values);
        let members: Vec<String> = members.map(|(k, v)| format!("{k} = {v}")).collect();
        format!("{{ {} }}", members.join(", "))
    })
}

/// Some of these, in any order.
fn some_of(all: &'static [&'static str]) -> impl Strategy<Value = Vec<&'static str>> {
    prop::sample::subsequence(all, 0..=all.len()).prop_shuffle()
}

fn facts() -> impl Strategy<Value = String> {
    let name = prop::sample::select(vec!["demo", "other"]);
    let hub = prop::sample::select(vec!["", "hub = \"Hub\"", "hub = \"Switch\""]);
    (name, hub).prop_map(|(name, hub)| {
        format!("name = \"{name}\"\n{hub}\nauthentication = {{ fsps = \"none\" }}")
    })
}

fn currencies() -> impl Strategy<Value = String> {
    let more = some_of(&["RWF", "KES"]);
    (more, 2..4_u8).prop_map(|(more, scale)| {
        let all = ["USD", "EUR"].into_iter().chain(more);
        let all = all.map(|c| format!("[[currencies]]\ncode = \"{c}\"\nscale = {scale}\n"));
        all.collect()
    })
}

fn errors() -> impl Strategy<Value = String> {
    let codes = some_of(&["3100", "3200", "4200"]);
    (codes, prop::sample::select(vec!["It failed", "It broke"])).prop_map(|(codes, words)| {
        let all = ["2001"].into_iter().chain(codes);
        let all = all.map(|c| format!("[[errors]]\ncode = \"{c}\"\ndescription = \"{words}\"\n"));
        all.collect()
    })
}

fn contexts() -> impl Strategy<Value = String> {
    let one = (
        some_of(&["storage", "clock", "logging"]),
        some_of(&["a/b", "a/c"]),
        prop::sample::select(vec!["", "limits = { fuel = 7 }", "isolation = \"fresh\""]),
        prop::sample::select(vec!["c.wasm", "d.wasm"]),
        settings(),
    );
    let one = one.prop_map(|(host, calls, more, file, settings)| {
        let list = |names: &[&str]| format!("{names:?}");
        format!(
            "component = \"{file}\"\n{more}\nsettings = {settings}\ngrants = {{ host = {}, calls = {} }}\n",
            list(&host),
            list(&calls)
        )
    });
    let names = prop::sample::subsequence(vec!["ledger", "quotes"], 0..=2);
    (names, prop::collection::vec(one, 2)).prop_map(|(names, bodies)| {
        let all = names.iter().zip(bodies);
        all.map(|(name, body)| format!("[contexts.{name}]\n{body}"))
            .collect()
    })
}

fn rules() -> impl Strategy<Value = String> {
    let pin = prop::option::of(0..2_u8);
    (pin, some_of(&["configuration", "logging"])).prop_map(|(pin, host)| {
        let pin = pin.map(|byte| format!("digest = \"{}\"\n", Digest::of(&[byte])));
        let pin = pin.unwrap_or_default();
        format!(
            "[rules.limits]\ncomponent = \"l.wasm\"\n{pin}grants = {{ host = {host:?} }}\n\
             [rules.other]\ncomponent = \"o.wasm\"\n"
        )
    })
}

fn steps() -> impl Strategy<Value = String> {
    let binding = (
        prop::sample::select(vec!["limits", "other"]),
        settings(),
        prop::sample::select(vec!["", "on-failure = \"allow\""]),
    );
    let binding = binding.prop_map(|(rule, settings, more)| {
        format!("rule = \"{rule}\"\nsettings = {settings}\n{more}\n")
    });
    let at = prop::option::of(prop::collection::vec(binding, 0..4));
    prop::collection::vec(at, 2).prop_map(|steps| {
        let mut text = String::new();
        let steps: Vec<_> = ["first-check", "second-check"]
            .into_iter()
            .zip(steps)
            .collect();
        // A step without rules is written as a list without items, before any table of tables.
        let none = steps
            .iter()
            .filter(|(_, b)| b.as_ref().is_some_and(Vec::is_empty));
        let none: String = none.map(|(step, _)| format!("{step} = []\n")).collect();
        if !none.is_empty() {
            text += &format!("[steps]\n{none}");
        }
        for (step, bindings) in steps {
            for binding in bindings.into_iter().flatten() {
                text += &format!("[[steps.{step}]]\n{binding}");
            }
        }
        text
    })
}

/// A key of a participant, in TOML.
fn key(content: &str) -> String {
    format!(r#""-----BEGIN PUBLIC KEY-----\n{content}\n-----END PUBLIC KEY-----""#)
}

fn participants() -> impl Strategy<Value = String> {
    let account = prop::sample::select(vec![
        "opening-liquidity = \"1\"",
        "opening-liquidity = \"1.0\"",
        "opening-liquidity = \"1\"\nnet-debit-cap = \"5\"",
    ]);
    let one = (
        some_of(&["USD", "EUR"]),
        prop::collection::vec(account, 2),
        prop::sample::select(vec!["A name", "Another"]),
        prop::collection::vec(prop::sample::select(vec!["AAAA", "BBBB"]), 0..3),
    );
    let one = one.prop_map(|(currencies, accounts, name, keys)| {
        let keys = keys.into_iter().map(key);
        let keys: Vec<String> = keys.collect();
        let keys = keys.join(", ");
        let mut text = format!("name = \"{name}\"\ncallback-base-url = \"http://127.0.0.1:1\"\njws-public-keys = [{keys}]\n");
        for (currency, account) in currencies.iter().zip(accounts) {
            text += &format!("[[participants.accounts]]\ncurrency = \"{currency}\"\n{account}\n");
        }
        text
    });
    let ids = some_of(&["one", "two", "three"]);
    (ids, prop::collection::vec(one, 3)).prop_map(|(ids, bodies)| {
        let all = ids.iter().zip(bodies);
        all.map(|(id, body)| format!("[[participants]]\nid = \"{id}\"\n{body}"))
            .collect()
    })
}

fn parts() -> impl Strategy<Value = Parts> {
    let sections = (
        facts(),
        currencies(),
        errors(),
        contexts(),
        rules(),
        steps(),
        participants(),
    );
    let pins = prop::collection::vec(prop::option::of(0..2_u8), 3);
    (sections, pins).prop_map(|((a, b, c, d, e, f, g), pins)| {
        let names = [
            (ComponentKind::Context, "ledger"),
            (ComponentKind::Rule, "limits"),
            (ComponentKind::Rule, "gone"),
        ];
        let pins = names.into_iter().zip(pins);
        Parts {
            sections: [a, b, c, d, e, f, g],
            pins: pins
                .filter_map(|((k, n), byte)| Some((k, n, byte?)))
                .collect(),
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_500))]

    /// Of two schemes that have most sections in common, and differ in comments too: the plan says
    /// "only layout" if, and only if, they mean the same.
    #[test]
    fn only_equivalent_releases_differ_only_in_layout(
        one in parts(),
        other in parts(),
        taken in prop::collection::vec(prop::bool::weighted(0.2), SECTIONS + 1),
        comment in any::<bool>(),
    ) {
        let mut two = one.clone();
        for (n, taken) in taken.iter().enumerate().filter(|(_, taken)| **taken) {
            match two.sections.get_mut(n) {
                Some(section) => section.clone_from(&other.sections[n]),
                None => two.pins.clone_from(&other.pins),
            }
            prop_assert!(*taken);
        }
        let before = one.document();
        let mut after = two.document();
        if comment {
            let text = format!("{}\n# A word\n", after.text());
            after = SchemeDocument::new(text, after.digests().clone());
        }
        let (old, new) = (before.scheme(), after.scheme());
        let (old, new) = (old.unwrap(), new.unwrap());
        let same = **old == **new && before.digests() == after.digests();
        let told = changes(Some(&before), &after);
        if before.text() == after.text() && before.digests() == after.digests() {
            prop_assert!(told.is_empty(), "{told:?}");
        } else {
            prop_assert!((told == [ONLY_LAYOUT]) == same, "{told:?}");
            prop_assert!(!told.is_empty());
        }
        let lines = told.iter().all(|line| !line.contains('\n'));
        prop_assert!(lines, "a change is a line: {told:?}");
    }
}

fn scheme(edit: impl Fn(&str) -> String) -> SchemeDocument {
    let text = include_str!("../../../../schemes/demo/scheme.toml");
    let text = edit(text);
    let mut digests = rialto_manifest::Digests::default();
    digests.insert(
        ComponentKind::Rule,
        "amount-limits".parse().unwrap(),
        Digest::of(text.contains("# another build").then_some(1).as_slice()),
    );
    let document = SchemeDocument::new(text, digests);
    document.scheme().unwrap();
    document
}

/// The plan after edits of the demonstration's scheme.toml: every `from` becomes `to`.
fn plan(edits: &[(&str, &str)]) -> String {
    let before = scheme(str::to_owned);
    let after = scheme(|text| {
        edits.iter().fold(text.to_owned(), |text, (from, to)| {
            assert!(text.contains(from), "no `{from}`");
            text.replacen(from, to, 1)
        })
    });
    changes(Some(&before), &after).join("\n")
}

const LIMIT: &str = "maximum = \"10000\" },";
const SECOND: &str = "maximum = \"10000\" },\n    { currency = \"USD\", scenario = \"REFUND\", minimum = \"1\", maximum = \"50\" },";

#[test]
fn settings_at_a_step_are_told_by_their_place() {
    // Two entries in one currency: what they were mistaken for once was one.
    let before = scheme(|text| text.replacen(LIMIT, SECOND, 1));
    let after = scheme(|text| {
        let raised = SECOND.replace("10000", "90000");
        text.replacen(LIMIT, &raised, 1)
    });
    insta::assert_snapshot!(changes(Some(&before), &after).join("\n"));
    insta::assert_snapshot!(plan(&[(LIMIT, SECOND)]));
}

#[test]
fn a_rule_bound_twice_is_named_by_its_number() {
    let second = "[[steps.quote-request-check]]\nrule = \"amount-limits\"\nsettings = { otherwise = \"allow\" }\n\n";
    let at = "[[steps.transfer-prepare-check]]";
    let twice = format!("{second}{at}");
    insta::assert_snapshot!(plan(&[(at, &twice)]));
    let before = scheme(|text| text.replacen(at, &twice, 1));
    let after = scheme(|text| text.replacen(at, &twice.replace("\"allow\"", "\"refuse\""), 1));
    insta::assert_snapshot!(changes(Some(&before), &after).join("\n"));
}

#[test]
fn a_new_or_removed_participant_is_one_line() {
    let came = "# Participants that exist from the beginning.\n";
    let new = "[[participants]]\nid = \"newfsp\"\nname = \"New FSP\"\ncallback-base-url = \"http://127.0.0.1:4103\"\naccounts = [{ currency = \"USD\", opening-liquidity = \"5\", net-debit-cap = \"3\" }, { currency = \"RWF\", opening-liquidity = \"0\" }]\n";
    insta::assert_snapshot!(plan(&[
        (came, new),
        ("name = \"Payer FSP\"", "name = \"The payer\""),
        ("net-debit-cap = \"500000.00\"", "net-debit-cap = \"1.00\""),
    ]));
    let gone = scheme(|text| text.to_owned());
    let gone = {
        let start = gone
            .text()
            .find("[[participants]]\nid = \"payeefsp\"")
            .unwrap();
        let end = gone.text().find("# The error codes").unwrap();
        scheme(|text| format!("{}{}", &text[..start], &text[end..]))
    };
    insta::assert_snapshot!(changes(Some(&scheme(str::to_owned)), &gone).join("\n"));
}

#[test]
fn new_keys_and_the_loss_of_all_are_shown() {
    let id = "id = \"payeefsp\"\n";
    let with = |content: &str| format!("{id}jws-public-keys = [{}]\n", key(content));
    let at = |text: &str, keys: &str| text.replacen(id, keys, 1);
    let before = scheme(|text| at(text, &with("AAAA")));
    let pem = |content: &str| {
        format!(r#""-----BEGIN PUBLIC KEY-----\n{content}\n-----END PUBLIC KEY-----""#)
    };
    let (old, new) = (pem("AAAA"), pem("BBBB"));
    let after = scheme(|text| at(text, &with("BBBB")));
    assert_eq!(
        changes(Some(&before), &after),
        [format!(
            "~ participant payeefsp: jws-public-keys[0] = {old} → {new}"
        )]
    );
    let after = scheme(str::to_owned);
    assert_eq!(
        changes(Some(&before), &after),
        [format!("- participant payeefsp: jws-public-keys = [{old}]")]
    );
    let gone = scheme(|text| {
        let start = text.find("[[participants]]\nid = \"payeefsp\"").unwrap();
        let end = text.find("# The error codes").unwrap();
        format!("{}{}", &text[..start], &text[end..])
    });
    assert_eq!(
        changes(Some(&before), &gone)[1],
        "- participant payeefsp: jws-public-keys: what it must sign is refused, unless the operator has a key of it"
    );
}

#[test]
fn unlisted_participants_are_summed_with_amounts_and_keys() {
    let more = |n: usize| {
        let keys = if n > 22 {
            format!("jws-public-keys = [{}]\n", key("AAAA"))
        } else {
            String::new()
        };
        format!(
            "[[participants]]\nid = \"fsp{n:02}\"\nname = \"F\"\ncallback-base-url = \"http://127.0.0.1:1\"\n{keys}\
             [[participants.accounts]]\ncurrency = \"USD\"\nopening-liquidity = \"{n}.50\"\nnet-debit-cap = \"10\"\n"
        )
    };
    let all: String = (1..=25).map(more).collect();
    let before = scheme(str::to_owned);
    let after =
        scheme(|text| text.replacen("# The error codes", &format!("{all}# The error codes"), 1));
    let came = changes(Some(&before), &after);
    assert_eq!(came.len(), 21, "{came:#?}");
    assert!(came[19].starts_with("+ participant fsp20: "), "{came:#?}");
    assert_eq!(
        came[20],
        "+ and 5 more participants: 5 accounts in USD with net-debit-cap 50 in all, \
         opening-liquidity 117.5 in all; 3 with jws-public-keys"
    );
    let went = changes(Some(&after), &before);
    assert_eq!(went.len(), 22, "{went:#?}");
    assert!(
        went[20].starts_with("- and 5 more participants: no effect"),
        "{went:#?}"
    );
    assert!(
        went[21].contains("3 of these 5 more participants"),
        "{went:#?}"
    );
    assert!(
        went[21].contains("what they must sign is refused"),
        "{went:#?}"
    );
}

#[test]
fn components_grants_currencies_and_codes_have_their_own_words() {
    insta::assert_snapshot!(plan(&[
        ("name = \"demo\"", "name = \"demo\" # another build"),
        (
            "\"clock\", \"random\", \"crypto\", \"auditing\", \"judging\", \"logging\"]",
            "\"clock\", \"crypto\", \"auditing\", \"judging\", \"logging\"]"
        ),
        (
            "[contexts.account-lookup]",
            "[contexts.account-lookup]\nsettings = { takeover = \"allow\" }"
        ),
        (
            "[[currencies]]\ncode = \"USD\"",
            "[[currencies]]\ncode = \"EUR\"\nscale = 2\n[[currencies]]\ncode = \"USD\""
        ),
        (
            "[[errors]]\ncode = \"1000\"\ndescription = \"Communication error\"",
            ""
        ),
        (
            "[contexts.scheduling]\n",
            "[contexts.again]\ncomponent = \"components/scheduling.wasm\"\ngrants = { host = [\"logging\"] }\n[contexts.scheduling]\n"
        ),
    ]));
}

#[test]
fn layout_and_a_first_release_have_their_own_lines() {
    assert_eq!(plan(&[("# A sandbox", "# Only a sandbox")]), ONLY_LAYOUT);
    assert_eq!(
        changes(None, &scheme(str::to_owned)),
        ["first release, with 1 components"]
    );
}
