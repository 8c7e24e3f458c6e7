//! Which FSP a party is with: one by one, in parts of a business, and many at once.

use super::*;

#[test]
fn an_fsp_associates_a_party_with_itself_only() {
    let mut world = World::new();
    // Nobody has the party yet.
    assert_eq!(
        world.associate("payeefsp", "otherfsp", None),
        "3003 for payeefsp"
    );
    assert_eq!(world.query("payerfsp", None), "3204 for payerfsp");
    assert_eq!(
        world.associate("payeefsp", "payeefsp", None),
        "payeefsp associated"
    );
    assert_eq!(
        world.associate("payeefsp", "payeefsp", Some("EUR")),
        "3003 for payeefsp"
    );
    assert_eq!(
        world.associate("stranger", "stranger", None),
        "3200 for stranger"
    );
    assert_eq!(world.associate("barred", "barred", None), "3200 for barred");
    assert_eq!(world.query("payerfsp", None), "payerfsp is with payeefsp");
}

#[test]
fn party_takeover_needs_the_setting() {
    let mut world = World::new();
    world.associate("payeefsp", "payeefsp", None);
    assert_eq!(
        world.associate("otherfsp", "otherfsp", None),
        "3003 for otherfsp"
    );
    assert_eq!(
        world.associate("payeefsp", "payeefsp", None),
        "payeefsp associated"
    );
    world.settings.takeover = Takeover::Allow;
    assert_eq!(
        world.associate("otherfsp", "otherfsp", None),
        "otherfsp associated"
    );
    assert_eq!(world.query("payerfsp", None), "payerfsp is with otherfsp");
}

#[test]
fn of_many_parties_each_is_associated_or_has_its_error() {
    use asked::participants_association_request_received::{Event, RequestedParty};
    let asks = |identifier: &str, fsp: &str, refused: bool| RequestedParty {
        party: PartyId {
            identifier: identifier.to_owned(),
            ..party()
        },
        fsp: fsp.to_owned(),
        error: refused.then(|| error("3101", "")),
    };
    let batch = |requester: &str, currency: Option<&str>| Event {
        requester_fsp: requester.to_owned(),
        request_id: "r1".to_owned(),
        parties: vec![
            asks("1", requester, false),
            asks("2", "otherfsp", false),
            asks("3", requester, true),
            asks("123", requester, false),
            asks("+1", requester, false),
            asks("4", requester, false),
        ],
        currency: currency.map(str::to_owned),
        message: message("POST", requester),
    };
    let mut world = World::new();
    world.associate("otherfsp", "otherfsp", None);
    associations::associate_batch(&mut world, batch("payeefsp", Some("USD")));
    let told = "1 ok, 2 3204, 3 3101, 123 3003, +1 ok, 4 ok";
    assert_eq!(world.last(), told);
    // The same again comes to the same.
    let before = world.associations.clone();
    associations::associate_batch(&mut world, batch("payeefsp", Some("USD")));
    assert_eq!(world.last(), told);
    assert_eq!(world.associations, before);
    let has = |world: &World, identifier: &str| {
        let party = PartyId {
            identifier: identifier.to_owned(),
            ..party()
        };
        associations::find_fsp(world, &party, Some("USD")).ok()
    };
    for identifier in ["1", "4"] {
        assert_eq!(has(&world, identifier).as_deref(), Some("payeefsp"));
    }
    for identifier in ["2", "3"] {
        assert_eq!(has(&world, identifier), None);
    }
    for (requester, currency, code) in [
        ("stranger", None, "3200"),
        ("barred", None, "3200"),
        ("payeefsp", Some("EUR"), "3003"),
    ] {
        associations::associate_batch(&mut world, batch(requester, currency));
        assert_eq!(world.last(), format!("{code} for {requester}"));
        assert_eq!(world.associations, before);
    }
}

#[test]
fn party_takeover_by_currency_is_refused() {
    for (theirs, ours, outcome, answers) in [
        (None, None, "3003 for otherfsp", "payeefsp"),
        (None, Some("USD"), "3003 for otherfsp", "payeefsp"),
        (Some("USD"), None, "3003 for otherfsp", "payeefsp"),
        (Some("USD"), Some("USD"), "3003 for otherfsp", "payeefsp"),
        (Some("USD"), Some("RWF"), "otherfsp associated", "payeefsp"),
    ] {
        let mut world = World::new();
        world.associate("payeefsp", "payeefsp", theirs);
        let found = world.associate("otherfsp", "otherfsp", ours);
        assert_eq!(found, outcome, "{theirs:?} {ours:?}");
        // The FSP of the party keeps it, also after a repeat.
        world.associate("payeefsp", "payeefsp", theirs);
        for currency in [None, Some("USD")] {
            let found = world.query("payerfsp", currency);
            let expected = format!("payerfsp is with {answers}");
            assert_eq!(found, expected, "{theirs:?} {ours:?} {currency:?}");
        }
        assert_eq!(world.ask("payerfsp", None), "payerfsp asks payeefsp");
    }
}

#[test]
fn party_takeover_by_another_spelling_is_refused() {
    let mut world = World::new();
    world.associate("payeefsp", "payeefsp", None);
    let spelt = |id_type: &str, identifier: &str| PartyId {
        id_type: id_type.to_owned(),
        identifier: identifier.to_owned(),
        sub_id_or_type: None,
    };
    let mut try_to_take = |party| world.associate_party(party, "otherfsp", "otherfsp", None);
    assert_eq!(try_to_take(spelt("MSISDN", "+123")), "3003 for otherfsp");
    assert_eq!(
        try_to_take(spelt("EMAIL", "a@b.org")),
        "otherfsp associated"
    );
    let mine = world.associate_party(spelt("EMAIL", "A@B.org"), "payeefsp", "payeefsp", None);
    assert_eq!(mine, "3003 for payeefsp");
}

#[test]
fn business_part_belongs_to_the_business_personal_id_has_none() {
    for (id_type, outcome) in [
        ("BUSINESS", "3003 for otherfsp"),
        ("PERSONAL_ID", "otherfsp associated"),
    ] {
        let mut world = World::new();
        let party = |sub_id: Option<&str>| PartyId {
            id_type: id_type.to_owned(),
            identifier: "acme".to_owned(),
            sub_id_or_type: sub_id.map(str::to_owned),
        };
        world.associate_party(party(None), "payeefsp", "payeefsp", None);
        let found = world.associate_party(party(Some("PASSPORT")), "otherfsp", "otherfsp", None);
        assert_eq!(found, outcome, "{id_type}");
        let own = world.associate_party(party(Some("x")), "payeefsp", "payeefsp", Some("USD"));
        assert_eq!(own, "payeefsp associated", "{id_type}");
    }
}

fn business(sub_id: Option<&str>) -> PartyId {
    PartyId {
        id_type: "BUSINESS".to_owned(),
        identifier: "acme".to_owned(),
        sub_id_or_type: sub_id.map(str::to_owned),
    }
}

#[test]
fn parts_and_whole_of_a_business_have_one_fsp() {
    let mut world = World::new();
    let shop = business(Some("shop-7"));
    let tries = |world: &mut World, party: &PartyId, fsp: &str, currency: Option<&str>| {
        world.associate_party(party.clone(), fsp, fsp, currency)
    };
    assert_eq!(
        tries(&mut world, &shop, "otherfsp", Some("USD")),
        "otherfsp associated"
    );
    // Again, which counts once.
    assert_eq!(
        tries(&mut world, &shop, "otherfsp", Some("USD")),
        "otherfsp associated"
    );
    let whole = business(None);
    assert_eq!(
        tries(&mut world, &whole, "payeefsp", None),
        "3003 for payeefsp"
    );
    assert_eq!(
        tries(&mut world, &whole, "payeefsp", Some("USD")),
        "3003 for payeefsp"
    );
    assert_eq!(
        tries(&mut world, &whole, "payeefsp", Some("RWF")),
        "payeefsp associated"
    );
    assert_eq!(
        tries(&mut world, &whole, "otherfsp", Some("USD")),
        "otherfsp associated"
    );
    // Parts of an unassociated business may have several FSPs.
    let other = PartyId {
        identifier: "other".to_owned(),
        ..business(Some("a"))
    };
    assert_eq!(
        tries(&mut world, &other, "payeefsp", None),
        "payeefsp associated"
    );
    let other = PartyId {
        identifier: "other".to_owned(),
        ..business(Some("b"))
    };
    assert_eq!(
        tries(&mut world, &other, "otherfsp", None),
        "otherfsp associated"
    );
}

#[test]
fn unassociated_part_as_payee_belongs_to_fsp_of_the_whole() {
    let mut world = World::new();
    let shop = business(Some("shop-7"));
    let find = |world: &World, party: &PartyId, currency: &str| {
        associations::find_payee_fsp(world, party, currency)
    };
    assert_eq!(find(&world, &shop, "USD"), None);
    world.associate_party(business(None), "payeefsp", "payeefsp", Some("USD"));
    let payeefsp = Some("payeefsp".to_owned());
    assert_eq!(find(&world, &shop, "USD"), payeefsp);
    assert_eq!(find(&world, &shop, "RWF"), None);
    // The part's own association comes first, and says nothing about the business.
    world.associate_party(shop.clone(), "otherfsp", "otherfsp", Some("RWF"));
    assert_eq!(find(&world, &shop, "RWF").as_deref(), Some("otherfsp"));
    assert_eq!(find(&world, &shop, "USD"), payeefsp);
    assert_eq!(find(&world, &business(None), "RWF"), None);
    // A personal id has no parts.
    let passport = |sub_id: Option<&str>| PartyId {
        id_type: "PERSONAL_ID".to_owned(),
        ..business(sub_id)
    };
    world.associate_party(passport(None), "payeefsp", "payeefsp", None);
    assert_eq!(find(&world, &passport(Some("PASSPORT")), "USD"), None);
    // Any made-up part belongs to the FSP of the whole.
    let phone = |sub_id: Option<&str>| PartyId {
        id_type: "MSISDN".to_owned(),
        identifier: "123456789".to_owned(),
        sub_id_or_type: sub_id.map(str::to_owned),
    };
    world.associate_party(phone(None), "payeefsp", "payeefsp", None);
    assert_eq!(find(&world, &phone(Some("x")), "USD"), payeefsp);
}

#[test]
fn business_is_free_after_its_last_part() {
    let mut world = World::new();
    // The first one twice, which counts once.
    for shop in ["1", "1", "2"] {
        let shop = business(Some(shop));
        world.associate_party(shop, "otherfsp", "otherfsp", None);
    }
    for (shop, outcome) in [("1", "3003 for payeefsp"), ("2", "payeefsp associated")] {
        let event = asked::participant_disassociate_request_received::Event {
            requester_fsp: "otherfsp".to_owned(),
            party: business(Some(shop)),
            currency: None,
            message: message("DELETE", "otherfsp"),
        };
        associations::disassociate(&mut world, event);
        assert_eq!(world.last(), "otherfsp disassociated");
        let whole = business(None);
        let found = world.associate_party(whole, "payeefsp", "payeefsp", None);
        assert_eq!(found, outcome, "without shop {shop}");
    }
}

#[test]
fn takeover_setting_makes_parts_and_whole_separate_parties() {
    let mut world = World::new();
    world.settings.takeover = Takeover::Allow;
    for (sub_id, fsp) in [
        (Some("1"), "otherfsp"),
        (None, "payeefsp"),
        (Some("1"), "payeefsp"),
        (Some("2"), "otherfsp"),
    ] {
        let found = world.associate_party(business(sub_id), fsp, fsp, None);
        assert_eq!(found, format!("{fsp} associated"));
    }
    // A part that was taken over no longer counts for its former FSP.
    let whole = &world.associations["BUSINESS/acme"];
    let parts: Vec<_> = whole
        .parts
        .iter()
        .map(|p| (p.fsp.as_str(), p.count))
        .collect();
    assert_eq!(parts, [("payeefsp", 1), ("otherfsp", 1)]);
}

#[test]
fn only_the_partys_own_fsp_ends_its_association() {
    let mut world = World::new();
    assert_eq!(world.disassociate("payeefsp", None), "3204 for payeefsp");
    world.associate("payeefsp", "payeefsp", None);
    assert_eq!(world.disassociate("otherfsp", None), "3204 for otherfsp");
    assert_eq!(
        world.disassociate("payeefsp", Some("USD")),
        "3204 for payeefsp"
    );
    assert_eq!(
        world.disassociate("payeefsp", None),
        "payeefsp disassociated"
    );
    assert_eq!(world.query("payerfsp", None), "3204 for payerfsp");
}
