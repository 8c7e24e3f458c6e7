//! The calls of Security's authentication: an application from its registration to its end.

use http::Method;
use rialto_grpc_client::api::rialto::security_authn::v0_1 as authn;
use rialto_grpc_client::api::rialto::security_authn::v0_1::security_authn_service_client::SecurityAuthnServiceClient;
use rialto_grpc_client::tonic::{Code, Status};
use rialto_grpc_client::{Connection, Details};
use rialto_simulator::client::HttpClient;
use rialto_tests::{RunningHost, TestScheme};
use serde_json::{Value, json};

use crate::grpc::support::{Clients, offering};

type Client = SecurityAuthnServiceClient<Connection>;

/// An id that no application has.
const NOBODY: &str = "00000000-0000-4000-8000-000000000000";
const PAYER: &str = "payerfsp";

/// A scheme whose FSPs show access tokens.
fn scheme() -> TestScheme {
    let scheme = offering("serve = [\"security-authn/*\"]\n");
    let (none, bearer) = ("fsps = \"none\"", "fsps = \"bearer\"");
    scheme.replace("scheme.toml", none, bearer).unwrap();
    let fsps = "[listeners.fsps]\n";
    let tokens = "[listeners.fsps]\nplaintext-tokens = true\n";
    scheme.replace("rialto.toml", fsps, tokens).unwrap();
    scheme
}

async fn started(scheme: &TestScheme) -> (RunningHost, Client) {
    let host = RunningHost::start(scheme).unwrap();
    host.approve_first_release().unwrap();
    let clients = Clients::of(&host, scheme).await;
    (host, SecurityAuthnServiceClient::new(clients.connection))
}

fn asked(name: &str) -> authn::RegisterApplicationRequest {
    authn::RegisterApplicationRequest {
        name: name.to_owned(),
        label: "treasury".to_owned(),
        maker: "maya".to_owned(),
    }
}

async fn registered(client: &mut Client) -> (authn::Application, String) {
    let answer = client.register_application(asked(PAYER)).await.unwrap();
    let made = answer.into_inner().result.unwrap();
    (made.application.unwrap(), made.secret)
}

async fn decided(
    client: &mut Client,
    id: &str,
    checker: &str,
    approved: bool,
) -> Result<authn::Application, Status> {
    let request = authn::DecideApplicationRequest {
        id: id.to_owned(),
        checker: checker.to_owned(),
        approved,
    };
    let answer = client.decide_application(request).await?;
    Ok(answer.into_inner().result.unwrap())
}

async fn revoked(client: &mut Client, id: &str) -> Result<authn::Application, Status> {
    let request = authn::RevokeApplicationRequest {
        id: id.to_owned(),
        operator: "olga".to_owned(),
    };
    let answer = client.revoke_application(request).await?;
    Ok(answer.into_inner().result.unwrap())
}

async fn shown(client: &mut Client, id: &str) -> Option<authn::Application> {
    let request = authn::GetApplicationRequest { id: id.to_owned() };
    client
        .get_application(request)
        .await
        .unwrap()
        .into_inner()
        .result
}

async fn verified(client: &mut Client, token: &str) -> Option<authn::Verified> {
    let request = authn::VerifyTokenRequest {
        token: token.to_owned(),
    };
    client
        .verify_token(request)
        .await
        .unwrap()
        .into_inner()
        .result
}

/// The status and the answer of `/app-basic-auth`.
async fn log_in(host: &RunningHost, id: &str, secret: &str) -> (u16, Value) {
    let uri = format!("{}/app-basic-auth", host.url("fsps").unwrap());
    let mut headers = http::HeaderMap::new();
    headers.insert("content-type", "application/json".parse().unwrap());
    let body = json!({ "id": id, "secret": secret }).to_string();
    let client = HttpClient::new(std::time::Duration::from_secs(30));
    let answer = client
        .send(Method::POST, uri.parse().unwrap(), headers, body.into())
        .await;
    let answer = answer.unwrap();
    let said = serde_json::from_slice(&answer.body).unwrap_or(Value::Null);
    (answer.status.as_u16(), said)
}

/// The kind of a refusal, and its reason for programs.
fn refusal(status: &Status) -> (authn::application_error::Kind, String) {
    let details = Details::of(status);
    let name = "rialto.security_authn.v0_1.ApplicationError";
    let error: authn::ApplicationError = details.find(name).unwrap();
    (error.kind.unwrap(), details.error_info().unwrap().reason)
}

#[tokio::test(flavor = "multi_thread")]
async fn application_lives_from_its_registration_to_its_end() {
    use authn::ApplicationState::{Active, Pending, Revoked};

    let scheme = scheme();
    let (host, mut client) = started(&scheme).await;
    let (made, secret) = registered(&mut client).await;
    assert_eq!((made.state(), made.name.as_str()), (Pending, PAYER));
    assert_eq!((made.maker.as_str(), &made.decided_by), ("maya", &None));
    assert_eq!(shown(&mut client, &made.id).await.as_ref(), Some(&made));
    assert_ne!(log_in(&host, &made.id, &secret).await.0, 200, "it waits");

    let active = decided(&mut client, &made.id, "chris", true).await.unwrap();
    assert_eq!((active.state(), active.decided_by()), (Active, "chris"));
    let (status, said) = log_in(&host, &made.id, &secret).await;
    assert_eq!(status, 200, "{said}");
    let token = said["accessToken"].as_str().unwrap();
    let known = verified(&mut client, token).await.unwrap();
    assert_eq!((&known.application, known.name.as_str()), (&made.id, PAYER));
    assert_eq!(known.bound_to, None, "there is no TLS");
    for wrong in ["", "none", &token[..token.len() - 2]] {
        assert_eq!(verified(&mut client, wrong).await, None, "{wrong}");
    }

    let ended = revoked(&mut client, &made.id).await.unwrap();
    assert_eq!((ended.state(), ended.decided_by()), (Revoked, "olga"));
    assert_eq!(verified(&mut client, token).await, None);
    assert_ne!(log_in(&host, &made.id, &secret).await.0, 200);
    assert_eq!(shown(&mut client, &made.id).await, Some(ended));
    assert_eq!(shown(&mut client, NOBODY).await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn refusals_of_authentication_say_why() {
    use authn::application_error::Kind;

    let scheme = scheme();
    let (_host, mut client) = started(&scheme).await;
    let (made, _) = registered(&mut client).await;
    let own = decided(&mut client, &made.id, "maya", true)
        .await
        .unwrap_err();
    assert_eq!(own.code(), Code::FailedPrecondition, "{own:?}");
    let (kind, reason) = refusal(&own);
    assert_eq!(
        (kind, reason.as_str()),
        (Kind::MakerIsChecker(()), "MAKER_IS_CHECKER")
    );
    let nobody = decided(&mut client, NOBODY, "chris", true)
        .await
        .unwrap_err();
    assert_eq!(refusal(&nobody).0, Kind::Unknown(()));
    decided(&mut client, &made.id, "chris", false)
        .await
        .unwrap();
    for again in [
        decided(&mut client, &made.id, "chris", true).await,
        revoked(&mut client, &made.id).await,
    ] {
        let rejected = authn::ApplicationState::Rejected.into();
        assert_eq!(refusal(&again.unwrap_err()).0, Kind::InState(rejected));
    }
    let mut unlabelled = asked(PAYER);
    unlabelled.label = String::new();
    let malformed = client.register_application(unlabelled).await.unwrap_err();
    assert!(
        matches!(refusal(&malformed).0, Kind::Malformed(_)),
        "{malformed:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_of_applications_list_each_once() {
    let scheme = scheme();
    let (_host, mut client) = started(&scheme).await;
    let mut made = Vec::new();
    for _ in 0..5 {
        made.push(registered(&mut client).await.0);
    }
    made.sort_by(|a, b| a.id.cmp(&b.id));
    let (mut listed, mut cursor) = (Vec::new(), None);
    loop {
        let request = authn::GetApplicationsRequest { cursor, limit: 2 };
        let answer = client.get_applications(request).await.unwrap();
        let page = answer.into_inner().result.unwrap();
        assert!(page.applications.len() <= 2);
        listed.extend(page.applications);
        cursor = page.cursor;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(listed, made);
}
