//! The calls of Security's FIDO2: an authenticator from its registration to a transaction, and what is refused.

use rialto_grpc_client::api::rialto::security_crypto::v0_1 as crypto;
use rialto_grpc_client::api::rialto::security_crypto::v0_1::fido_error::Kind;
use rialto_grpc_client::api::rialto::security_crypto::v0_1::security_crypto_service_client::SecurityCryptoServiceClient;
use rialto_grpc_client::tonic::Status;
use rialto_grpc_client::{Connection, Details};
use rialto_tests::RunningHost;
use rialto_webauthn::authenticator::Authenticator;
use serde_json::Value;

use crate::grpc::support::{Clients, offering};

type Client = SecurityCryptoServiceClient<Connection>;

fn owner(name: &str) -> Option<crypto::Owner> {
    Some(crypto::Owner {
        kind: crypto::OwnerKind::Program.into(),
        name: name.to_owned(),
    })
}

fn payment(amount: &str) -> crypto::Transaction {
    crypto::Transaction {
        transfer_id: "b51ec534-ee48-4575-b6a9-ead2955b8069".to_owned(),
        amount: amount.to_owned(),
        currency: "USD".to_owned(),
        payee: "Bakery Bo".to_owned(),
    }
}

fn options(begun: &crypto::Begun) -> Value {
    serde_json::from_str(&begun.public_key).unwrap()
}

fn refusal(status: &Status) -> Kind {
    let details = Details::of(status);
    let name = "rialto.security_crypto.v0_1.FidoError";
    let error: crypto::FidoError = details.find(name).unwrap();
    error.kind.unwrap()
}

async fn begin_authorization(client: &mut Client, amount: &str) -> crypto::Begun {
    let request = crypto::FidoBeginAuthorizationRequest {
        owner: owner("switch"),
        user: "alice".to_owned(),
        transaction: Some(payment(amount)),
    };
    let begun = client.fido_begin_authorization(request).await.unwrap();
    begun.into_inner().result.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn authenticator_is_registered_authenticates_and_authorizes_a_payment() {
    let scheme = offering("serve = [\"security-crypto/*\"]\n");
    let host = RunningHost::start(&scheme).unwrap();
    let clients = Clients::of(&host, &scheme).await;
    let mut client: Client = SecurityCryptoServiceClient::new(clients.connection);
    let mut device = Authenticator::new(1, "localhost", "http://localhost:8080");

    let user = crypto::User {
        id: "alice".to_owned(),
        name: "alice@example.com".to_owned(),
        display_name: "Alice".to_owned(),
    };
    let request = crypto::FidoBeginRegistrationRequest {
        owner: owner("switch"),
        user: Some(user),
    };
    let begun = client.fido_begin_registration(request).await.unwrap();
    let begun = begun.into_inner().result.unwrap();
    let finish = crypto::FidoFinishRegistrationRequest {
        owner: owner("switch"),
        id: begun.id.clone(),
        credential: device.create(&options(&begun)).to_string(),
    };
    // Another owner does not find the challenge.
    let foreign = crypto::FidoFinishRegistrationRequest {
        owner: owner("shop"),
        ..finish.clone()
    };
    let refused = client.fido_finish_registration(foreign).await.unwrap_err();
    assert_eq!(refusal(&refused), Kind::UnknownChallenge(()));
    let registered = client.fido_finish_registration(finish).await.unwrap();
    let registered = registered.into_inner().result.unwrap();
    assert_eq!(registered.user, "alice");

    let request = crypto::FidoBeginAuthenticationRequest {
        owner: owner("switch"),
        user: "alice".to_owned(),
    };
    let begun = client.fido_begin_authentication(request).await.unwrap();
    let begun = begun.into_inner().result.unwrap();
    let finish = crypto::FidoFinishAuthenticationRequest {
        owner: owner("switch"),
        id: begun.id.clone(),
        credential: device.get(&options(&begun)).to_string(),
    };
    let first = client.fido_finish_authentication(finish.clone()).await;
    let first = first.unwrap().into_inner().result.unwrap();
    assert!(first.user_verified);
    assert_eq!(first.credential, registered.credential);
    let copied = client.fido_finish_authentication(finish).await.unwrap_err();
    assert_eq!(refusal(&copied), Kind::ChallengeUsed(()));

    let begun = begin_authorization(&mut client, "100.5").await;
    let credential = device.get(&options(&begun)).to_string();
    let finish = crypto::FidoFinishAuthorizationRequest {
        owner: owner("switch"),
        id: begun.id,
        credential,
        expected: Some(payment("100.5")),
    };
    let authorized = client.fido_finish_authorization(finish).await.unwrap();
    let authorized = authorized.into_inner().result.unwrap();
    assert_eq!(authorized.transaction, Some(payment("100.5")));
    assert_eq!(authorized.credential, first.credential);

    // What the user has authorized is not what is to be paid.
    let begun = begin_authorization(&mut client, "1").await;
    let finish = crypto::FidoFinishAuthorizationRequest {
        owner: owner("switch"),
        id: begun.id.clone(),
        credential: device.get(&options(&begun)).to_string(),
        expected: Some(payment("1000")),
    };
    let other = client.fido_finish_authorization(finish).await.unwrap_err();
    assert!(matches!(refusal(&other), Kind::Refused(_)), "{other:?}");
    // Words that are none.
    let request = crypto::FidoBeginAuthenticationRequest {
        owner: owner("switch"),
        user: "a b".to_owned(),
    };
    let malformed = client.fido_begin_authentication(request).await;
    let malformed = refusal(&malformed.unwrap_err());
    assert!(
        matches!(malformed, Kind::Malformed(_) | Kind::UnknownUser(())),
        "{malformed:?}"
    );
    host.nothing_failed().await.unwrap();
}
