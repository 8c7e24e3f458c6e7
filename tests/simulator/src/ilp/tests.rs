//! Vectors for packets, conditions and fulfilments, from the API definition and from the
//! libraries that FSPs use.

use super::*;
use rand::rngs::StdRng;
use rand::{Rng, RngExt, SeedableRng};

const FULFILMENT: &str = "mhPUT9ZAwd-BXLfeSd7-YPh46rBWRNBiTCSWjpku90s";
const CONDITION: &str = "fH9pAYDQbmoZLPbvv3CSW2RfjU4jvM4ApG_fqGnR7Xs";
const SECRET: &str = "JdtBrN2tskq9fuFr6Kg6kdy8RANoZv6BqR9nSk3rUbY";

/// The transaction of the API definition's example, in its own layout: CRLF, four spaces.
const TRANSACTION: &str = r#"{
    "transactionId": "85feac2f-39b2-491b-817e-4a03203d4f14",
    "quoteId": "7c23e80c-d078-4077-8263-2c047876fcf6",
    "payee": {
        "partyIdInfo": {
            "partyIdType": "MSISDN",
            "partyIdentifier": "123456789",
            "fspId": "MobileMoney"
        },
        "personalInfo": {
            "complexName": {
                "firstName": "Henrik",
                "lastName": "Karlsson"
            }
        }
    },
    "payer": {
        "personalInfo": {
            "complexName": {
                "firstName": "Mats",
                "lastName": "Hagman"
            }
        },
        "partyIdInfo": {
            "partyIdType": "IBAN",
            "partyIdentifier": "SE4550000000058398257466",
            "fspId": "BankNrOne"
        }
    },
    "amount": {
        "amount": "100",
        "currency": "USD"
    },
    "transactionType": {
        "scenario": "TRANSFER",
        "initiator": "PAYER",
        "initiatorType": "CONSUMER"
    },
    "note": "From Mats"
}
"#;

fn hex(octets: &[u8]) -> String {
    octets.iter().map(|octet| format!("{octet:02x}")).collect()
}

#[test]
fn the_condition_is_the_hash_of_the_fulfilment() {
    let fulfilment = bytes32(FULFILMENT).expect("32 octets");
    assert_eq!(text32(&condition(&fulfilment)), CONDITION);
    assert!(fulfils(FULFILMENT, CONDITION));
    assert!(!fulfils(CONDITION, FULFILMENT));
    assert!(!fulfils("", CONDITION));
    assert!(!fulfils(&FULFILMENT[1..], CONDITION));
}

#[test]
fn the_specification_example_is_rebuilt_octet_by_octet() {
    let data = TRANSACTION.replace('\n', "\r\n");
    assert_eq!(data.len(), 1057);
    let account = "g.se.mobilemoney.msisdn.123456789";
    let packet = specification_packet(9900, account, data.as_bytes());
    assert_eq!(packet.len(), 1103);
    assert_eq!(
        hex(&Sha256::digest(&packet)),
        "4137e66e04febf97375d129bade777b1ae9ca63d2dea29db879a3cb602741748"
    );
    assert_eq!(base64url(&packet).len(), 1471);
    let secret = Secret::from_base64url(SECRET).expect("32 octets");
    assert_eq!(text32(&secret.fulfilment_of_packet(&packet)), FULFILMENT);
    let read = decode(&packet).expect("a packet");
    assert_eq!((read.layout, read.amount), (Layout::Specification, 9900));
    assert_eq!(
        (read.account.as_str(), read.data.as_slice()),
        (account, data.as_bytes())
    );
}

#[test]
fn packets_of_the_deployed_library_are_written_alike() {
    let packet = deployed_packet(9900, "g.mobilemoney.msisdn.123456789", b"hello");
    assert_eq!(
        hex(&packet),
        "012e00000000000026ac1e672e6d6f62696c656d6f6e65792e6d736973646e2e3132333435363738390568656c6c6f00"
    );
    let packet = deployed_packet(u64::MAX, "g.a", b"");
    assert_eq!(hex(&packet), "010effffffffffffffff03672e610000");
    let packet = deployed_packet(1, "g.a", &[b'a'; 200]);
    assert!(hex(&packet).starts_with("0181d7000000000000000103672e6181c8"));
    assert_eq!(packet.len(), 218);
}

#[test]
fn a_version_4_packet_is_written_alike() {
    let condition = [0xab; 32];
    let packet = version4_packet(
        9900,
        "2030-01-02T03:04:05.678Z",
        &condition,
        "g.mojaloop",
        b"hello",
    );
    let expected = format!(
        "0c4a00000000000026ac3230333030313032303330343035363738{}0a672e6d6f6a616c6f6f700568656c6c6f",
        "ab".repeat(32)
    );
    assert_eq!(hex(&packet), expected);
}

#[test]
fn every_layout_reads_back_as_it_was_written() {
    let mut random = StdRng::seed_from_u64(20_260_101);
    for _ in 0..500 {
        let amount = random.next_u64() >> random.random_range(0..64);
        let length = random.random_range(0..400);
        let data: Vec<u8> = (0..length).map(|_| random.random_range(0..=255)).collect();
        let account = "g.a".repeat(random.random_range(1..60));
        for layout in [Layout::Deployed, Layout::Version4] {
            let packet = match layout {
                Layout::Version4 => version4_packet(
                    amount,
                    "2030-01-02T03:04:05.678Z",
                    &[7; 32],
                    &account,
                    &data,
                ),
                _ => deployed_packet(amount, &account, &data),
            };
            let read = decode(&packet).expect("a packet");
            assert_eq!(
                read,
                Packet {
                    layout,
                    amount,
                    account: account.clone(),
                    data: data.clone()
                }
            );
        }
        // The layout without a frame cannot be told from the framed one by its octets alone
        // when the amount is astronomical, so it is tried with amounts that occur.
        let amount = amount >> 16;
        let read = decode(&specification_packet(amount, &account, &data)).expect("a packet");
        assert_eq!((read.amount, read.data), (amount, data));
    }
}

#[test]
fn foreign_octets_are_refused_and_never_panic() {
    let mut random = StdRng::seed_from_u64(5);
    let sound = deployed_packet(9900, "g.mobilemoney.msisdn.123456789", b"hello");
    for cut in 0..sound.len() {
        assert!(decode(&sound[..cut]).is_err(), "cut at {cut}");
    }
    for _ in 0..5_000 {
        let length = random.random_range(0..60);
        let mut octets: Vec<u8> = (0..length).map(|_| random.random_range(0..=255)).collect();
        if let Some(first) = octets.first_mut() {
            *first = if random.random_range(0..2) == 0 {
                1
            } else {
                12
            };
        }
        let _ = decode(&octets);
    }
    assert_eq!(decode(&[]), Err(PacketError::Truncated("its type")));
    assert_eq!(decode(&[9]), Err(PacketError::Type(9)));
}
