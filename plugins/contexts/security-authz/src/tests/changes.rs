//! Changes and what they do.

use super::fake::Fake;

fn kind(said: &serde_json::Value) -> &str {
    let kind = said["type"].as_str().unwrap_or("none");
    kind.strip_prefix("urn:rialto:problem:").unwrap_or(kind)
}

#[test]
fn roles_have_what_the_documents_say() {
    let mut fake = Fake::new();
    assert_eq!(
        fake.may("anna", &["maker"], "settle"),
        Ok(vec!["maker".to_owned()])
    );
    assert!(
        fake.may("anna", &["reader", "checker", "admin"], "settle")
            .is_err()
    );
    assert!(fake.may("anna", &[], "list").is_err());
    assert_eq!(
        fake.may("anna", &["checker"], "stop"),
        Ok(vec!["checker".to_owned()])
    );
    let (_, reader) = fake.ask("anna", &["reader"], "getRole reader", "");
    assert_eq!(
        reader["privileges"],
        serde_json::json!(["settlements/list"])
    );
}

#[test]
fn new_role_gives_its_holder_a_privilege() {
    let mut fake = Fake::new();
    let role = r#"{"rolePrivileges":{"role":"treasury","grant":["settlements/settle"]}}"#;
    let (status, said) = fake.change(role);
    assert_eq!(
        (status, &said["state"]),
        (200, &serde_json::json!("APPROVED")),
        "{said}"
    );
    assert!(fake.may("anna", &["reader"], "settle").is_err());
    let give = r#"{"roleAssignment":{"subject":"operator/anna","add":["treasury"]}}"#;
    assert_eq!(fake.change(give).0, 200);
    // The component asks for `maker`, which is why it sees that role.
    let roles = fake.may("anna", &["reader"], "settle").unwrap();
    assert_eq!(roles, ["maker", "reader", "treasury"]);
    assert!(fake.may("anna", &["reader"], "stop").is_err());
    assert!(fake.may("ben", &["reader"], "settle").is_err());
    let take = r#"{"roleAssignment":{"subject":"operator/anna","remove":["treasury"]}}"#;
    assert_eq!(fake.change(take).0, 200);
    assert!(fake.may("anna", &["reader"], "settle").is_err());
    let told: Vec<_> = fake
        .events
        .iter()
        .map(|event| event.summary.as_str())
        .collect();
    assert_eq!(
        told,
        [
            "the role treasury gets settlements/settle",
            "operator/anna gets the roles treasury",
            "operator/anna loses the roles treasury",
        ]
    );
}

#[test]
fn withdrawn_privilege_is_gone_until_it_is_granted_again() {
    let mut fake = Fake::new();
    let withdraw = r#"{"rolePrivileges":{"role":"maker","withdraw":["settlements/stop"]}}"#;
    assert_eq!(fake.change(withdraw).0, 200);
    assert!(fake.may("anna", &["maker"], "stop").is_err());
    assert!(fake.may("anna", &["checker"], "stop").is_ok());
    assert!(fake.may("anna", &["maker"], "settle").is_ok());
    let grant = r#"{"rolePrivileges":{"role":"maker","grant":["settlements/stop"]}}"#;
    assert_eq!(fake.change(grant).0, 200);
    assert!(fake.may("anna", &["maker"], "stop").is_ok());
}

#[test]
fn change_has_no_effect_before_another_approves_it() {
    let mut fake = Fake::new();
    let body =
        r#"{"change":{"roleAssignment":{"subject":"operator/anna","add":["maker"]}},"reason":"r"}"#;
    let (status, asked) = fake.ask(
        "maya",
        &["maker", "checker"],
        "askAuthorizationChange",
        body,
    );
    assert_eq!(status, 202, "{asked}");
    let decide = format!(
        "decideAuthorizationChange {}",
        asked["id"].as_str().unwrap()
    );
    let approve = r#"{"decision":"APPROVE"}"#;
    let roles = ["maker", "checker"];
    let (status, said) = fake.ask("maya", &roles, &decide, approve);
    assert_eq!((status, kind(&said)), (403, "maker-is-checker"));
    let (status, said) = fake.ask("anna", &roles, &decide, approve);
    assert_eq!((status, kind(&said)), (403, "own-roles"));
    let (status, said) = fake.ask("ben", &["maker", "reader", "admin"], &decide, approve);
    assert_eq!((status, kind(&said)), (403, "role-missing"));
    let (status, said) = fake.ask("lena", &roles, "askAuthorizationChange", body);
    assert_eq!((status, kind(&said)), (409, "duplicate-request"));
    assert!(fake.may("anna", &[], "settle").is_err());
    assert!(fake.events.is_empty());
    let (status, said) = fake.ask("ben", &roles, &decide, r#"{"decision":"REJECT"}"#);
    assert_eq!(
        (status, &said["state"]),
        (200, &serde_json::json!("REJECTED"))
    );
    assert!(fake.may("anna", &[], "settle").is_err());
    let (status, said) = fake.ask("chris", &roles, &decide, approve);
    assert_eq!((status, kind(&said)), (409, "already-decided"));
    assert!(fake.events.is_empty());
}

#[test]
fn impossible_changes_are_refused_with_their_kinds() {
    let mut fake = Fake::new();
    for (change, expected) in [
        (
            r#"{"rolePrivileges":{"role":"maker","grant":["settlements/fly"]}}"#,
            (422, "privilege-unknown"),
        ),
        (
            r#"{"rolePrivileges":{"role":"maker","grant":["settlements/settle"]}}"#,
            (409, "nothing-changes"),
        ),
        (
            r#"{"rolePrivileges":{"role":"Maker","grant":["settlements/list"]}}"#,
            (400, "malformed"),
        ),
        (
            r#"{"rolePrivileges":{"role":"a","grant":["settlements/list"],"withdraw":["settlements/list"]}}"#,
            (400, "malformed"),
        ),
        (
            r#"{"rolePrivileges":{"role":"checker","withdraw":["security-authz/decideAuthorizationChange"]}}"#,
            (422, "privilege-needed"),
        ),
        (
            r#"{"roleAssignment":{"subject":"operator/anna","add":["pilot"]}}"#,
            (404, "role-unknown"),
        ),
        (
            r#"{"roleAssignment":{"subject":"anna","add":["maker"]}}"#,
            (400, "malformed"),
        ),
        (
            r#"{"roleAssignment":{"subject":"operator/anna","add":["client"]}}"#,
            (400, "malformed"),
        ),
        (
            r#"{"roleAssignment":{"subject":"operator/maya","add":["checker"]}}"#,
            (403, "own-roles"),
        ),
        (
            r#"{"rolePrivileges":{"role":"reader","withdraw":["settlements/settle"]}}"#,
            (409, "nothing-changes"),
        ),
        (
            r#"{"rolePrivileges":{"role":"reader","withdraw":["settlements/fly"]}}"#,
            (409, "nothing-changes"),
        ),
        (
            r#"{"rolePrivileges":{"role":"pilot"}}"#,
            (409, "nothing-changes"),
        ),
        (
            r#"{"publicKey":{"subject":"context/maya","algorithm":"ES256","publicKey":"PEM","notAfter":2000000000}}"#,
            (403, "own-roles"),
        ),
        (
            r#"{"roleAssignment":{"subject":"operator/anna","remove":["maker"]}}"#,
            (409, "nothing-changes"),
        ),
        (
            r#"{"publicKey":{"subject":"operator/anna","algorithm":"ES256","publicKey":"PEM","notAfter":2000000000}}"#,
            (400, "malformed"),
        ),
        (
            r#"{"publicKey":{"subject":"context/a","algorithm":"ES256","publicKey":"none","notAfter":2000000000}}"#,
            (422, "key-input"),
        ),
        (
            r#"{"publicKey":{"subject":"context/a","algorithm":"ES256","publicKey":"PEM","notAfter":1}}"#,
            (409, "key-expired"),
        ),
        (
            r#"{"publicKey":{"subject":"context/a","algorithm":"none","publicKey":"PEM","notAfter":2000000000}}"#,
            (400, "malformed"),
        ),
    ] {
        let (status, said) = fake.change(change);
        assert_eq!((status, kind(&said)), expected, "{change}: {said}");
    }
    let many: Vec<String> = (0..501).map(|n| format!("settlements/o{n}")).collect();
    let many = serde_json::json!({ "rolePrivileges": { "role": "pilot", "grant": many } });
    let (status, said) = fake.change(&many.to_string());
    assert_eq!((status, kind(&said)), (422, "too-many"));
    assert!(fake.events.is_empty());
}

#[test]
fn change_that_became_impossible_is_refused_when_decided() {
    let mut fake = Fake::new();
    let role = r#"{"rolePrivileges":{"role":"pilot","grant":["settlements/list"]}}"#;
    let body = format!(r#"{{"change":{role},"reason":"r"}}"#);
    let (_, asked) = fake.ask("maya", &["maker"], "askAuthorizationChange", &body);
    // A release without the component.
    crate::published::publish(&mut fake, 2, Vec::new());
    let decide = format!(
        "decideAuthorizationChange {}",
        asked["id"].as_str().unwrap()
    );
    let (status, said) = fake.ask("chris", &["checker"], &decide, r#"{"decision":"APPROVE"}"#);
    assert_eq!((status, kind(&said)), (422, "privilege-unknown"));
    let (_, shown) = fake.ask("anna", &["reader"], "listPrivileges", "");
    assert_eq!(shown["items"], serde_json::json!([]));
    // It waits as before, and another one about the role waits for it.
    fake.publish(3);
    let (status, said) = fake.ask("maya", &["maker"], "askAuthorizationChange", &body);
    assert_eq!((status, kind(&said)), (409, "duplicate-request"));
    let (status, said) = fake.ask("chris", &["checker"], &decide, r#"{"decision":"APPROVE"}"#);
    assert_eq!(
        (status, &said["state"]),
        (200, &serde_json::json!("APPROVED"))
    );
}

#[test]
fn each_operation_is_of_its_roles() {
    let reads = [
        "listPrivileges",
        "listRoles",
        "getRole maker",
        "listRoleAssignments",
        "listPublicKeys",
        "listAuthorizationChanges",
    ];
    let writes = [
        ("askAuthorizationChange", &["maker"][..]),
        ("decideAuthorizationChange x", &["checker"]),
        ("withdrawAuthorizationChange x", &["maker"]),
        ("revokePublicKey x", &["maker", "checker"]),
        ("authorizeToken", &["context"]),
        ("authenticateByKey", &["context"]),
        ("authorizeTransaction", &["context"]),
    ];
    let reads = reads.iter().map(|operation| (*operation, &["reader"][..]));
    for (operation, roles) in reads.chain(writes) {
        for role in ["reader", "maker", "checker", "context", "admin"] {
            let (status, said) = Fake::new().ask("anna", &[role], operation, "{}");
            assert_eq!(
                status != 403,
                roles.contains(&role),
                "{operation} as {role}: {said}"
            );
        }
        assert_eq!(Fake::new().ask("anna", &[], operation, "{}").0, 403);
    }
}
