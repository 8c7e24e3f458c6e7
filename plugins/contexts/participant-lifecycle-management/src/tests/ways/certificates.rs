//! Certificates of participants, and their revocation.

use super::*;
use crate::certificates::REVOKED;

/// A participant with a certificate.
fn certified() -> Office {
    let mut office = Office::new();
    let way = Way {
        kind: Kind::Certificate,
        submit: "OrderCertificate",
        approve: "ApproveCertificate",
        account: None,
        body: json!({ "certificateRequest": "a good request" }),
        meddle: None,
    };
    let id = office.asked(&way);
    let done = office.approve(&way, "ben", &id, "APPROVE");
    assert_eq!(body(&done)["state"], "APPROVED", "{done:?}");
    office
}

fn revoke(office: &mut Office, who: &str, of: (&str, &str)) -> Answer {
    let parameters = [("id", of.0), ("serial", of.1)];
    let why = json!({ "reason": "its key was stolen" });
    office.post(who, "RevokeCertificate", &parameters, &why, &[])
}

fn revoked(office: &mut Office) -> Vec<String> {
    let found = REVOKED.within(&mut office.world).get(FSP);
    let certificates = found.unwrap_or_default().certificates;
    certificates.into_iter().map(|one| one.serial).collect()
}

#[test]
fn one_operator_revokes_a_certificate_for_good() {
    let mut office = certified();
    assert_eq!(revoked(&mut office), [""; 0]);
    let done = revoke(&mut office, "ben", (FSP, "01"));
    assert_eq!(done.status, 200, "{done:?}");
    let now = office.world.now;
    let expected = json!({ "by": "ben", "at": now, "reason": "its key was stolen" });
    assert_eq!(body(&done)["revocation"], expected);
    assert_eq!(revoked(&mut office), ["01"]);
    let listed = office.get("GetParticipantCertificates", &[]);
    assert_eq!(listed["items"][0]["revocation"], expected);
    // The history tells of it, and notices do.
    let participant = office.participant();
    assert_eq!(history::broken(&mut office.world, &participant), None);
    let changes = &office.get("GetParticipantChanges", &[])["items"];
    let last = changes.as_array().unwrap().last().unwrap();
    assert_eq!(last["kind"], "certificate-revocation");
    assert_eq!(
        (&last["state"], &last["by"]),
        (&json!("REVOKED"), &json!({ "maker": "ben" }))
    );
    assert_eq!(last["asked"]["payload"]["serial"], "01");
    let notice = office.world.published.last();
    assert!(
        matches!(notice, Some(Event::Notice(notice)) if notice.state == "REVOKED"
            && notice.participant == FSP && notice.message.contains("its key was stolen")),
        "{notice:?}"
    );
    office.refused("again", "nothing-changes", |o| {
        revoke(o, "anna", (FSP, "01"))
    });
}

#[test]
fn unknown_certificates_are_not_revoked() {
    let mut office = certified();
    for of in [(FSP, "02"), (FSP, "0"), (FSP, "")] {
        office.refused(of.1, "certificate-unknown", |o| revoke(o, "ben", of));
    }
    // Another participant's id is the beginning of this one's.
    let (shorter, _) = FSP.split_at(FSP.len() - 1);
    office.refused(shorter, "participant-unknown", |o| {
        revoke(o, "ben", (shorter, "01"))
    });
    assert_eq!(revoked(&mut office), [""; 0]);
}

#[test]
fn reading_is_not_enough_to_revoke() {
    let mut office = certified();
    let reader = Caller {
        name: "rita".to_owned(),
        roles: vec!["reader".to_owned()],
    };
    office.refused("a reader", "role-missing", |o| {
        let parameters = [("id", FSP), ("serial", "01")];
        let why = json!({ "reason": "why" });
        o.post_as(&reader, "RevokeCertificate", &parameters, &why, &[])
    });
    for role in ["maker", "checker"] {
        let mut office = certified();
        let caller = Caller {
            name: "mo".to_owned(),
            roles: vec![role.to_owned()],
        };
        let parameters = [("id", FSP), ("serial", "01")];
        let why = json!({ "reason": "why" });
        let done = office.post_as(&caller, "RevokeCertificate", &parameters, &why, &[]);
        assert_eq!(done.status, 200, "{role}: {done:?}");
    }
}

#[test]
fn expired_certificates_leave_the_list_of_revoked_ones() {
    let mut office = certified();
    assert_eq!(revoke(&mut office, "ben", (FSP, "01")).status, 200);
    let mut found = REVOKED
        .within(&mut office.world)
        .get_for_update(FSP)
        .unwrap();
    let one = found.certificates[0].clone();
    let old = |serial: &str, not_after| crate::certificates::RevokedCertificate {
        serial: serial.to_owned(),
        not_after,
    };
    let now = office.world.now;
    found.certificates = vec![old("0a", now - 1), old("0b", now)];
    REVOKED.within(&mut office.world).put(FSP, &found);
    let id = format!("{FSP}/{now:013}/01");
    let mut certificate = crate::certificates::CERTIFICATES
        .within(&mut office.world)
        .get_for_update(&id)
        .unwrap();
    certificate.revocation = None;
    let world = &mut office.world;
    crate::certificates::CERTIFICATES
        .within(world)
        .put(&id, &certificate);
    assert_eq!(revoke(&mut office, "ben", (FSP, &one.serial)).status, 200);
    assert_eq!(revoked(&mut office), ["0b", "01"]);
}
