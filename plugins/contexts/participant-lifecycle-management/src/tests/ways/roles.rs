//! Roles are asked before anything else.

use super::*;

#[test]
fn who_has_lost_the_role_is_not_answered_again() {
    let mut office = Office::new();
    let key = [("idempotency-key", "k1")];
    let way = &ways()[0];
    let mut asked = way.body.clone();
    asked["reason"] = json!("why not");
    let id = body(&office.post("anna", way.submit, &[("id", FSP)], &asked, &key))["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let decided = json!({ "decision": "APPROVE" });
    let path = [("id", FSP), ("requestId", id.as_str())];
    let first = office.post("ben", way.approve, &path, &decided, &key);
    assert_eq!(first.status, 200, "{first:?}");
    let again = office.post("ben", way.approve, &path, &decided, &key);
    assert_eq!(again.body, first.body);
    let with = |name: &str, role: &str| Caller {
        name: name.to_owned(),
        roles: vec![role.to_owned()],
    };
    office.refused("a maker no more", "role-missing", |o| {
        let anna = with("anna", "checker");
        o.post_as(&anna, way.submit, &[("id", FSP)], &asked, &key)
    });
    office.refused("a checker no more", "role-missing", |o| {
        let ben = with("ben", "maker");
        o.post_as(&ben, way.approve, &path, &decided, &key)
    });
}
