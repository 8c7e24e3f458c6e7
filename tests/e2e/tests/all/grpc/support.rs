//! Schemes that offer calls, and clients of them.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use anyhow::Context as _;
use prost::Message;
use rialto_grpc_client::api::rialto::accounts_and_balances::v0_1::accounts_and_balances_service_client::AccountsAndBalancesServiceClient;
use rialto_grpc_client::api::rialto::common::v0_1::{Money, U128};
use rialto_grpc_client::api::rialto::participant_lifecycle_management::v0_1::participant_lifecycle_management_service_client::ParticipantLifecycleManagementServiceClient;
use rialto_grpc_client::api::rialto::scheduling::v0_1::scheduling_service_client::SchedulingServiceClient;
use rialto_grpc_client::connection::connect;
use rialto_grpc_client::tonic::{Request, Status};
use rialto_grpc_client::{Caller, Connection};
use rialto_tests::office::OFFICE_TABLE;
use rialto_tests::{RunningHost, TestScheme, binaries};

/// All that the demonstration scheme's contexts export, and the events of the contracts.
pub const ALL: &str = r#"
serve = [
    "account-lookup/*",
    "accounts-and-balances/*",
    "participant-lifecycle-management/*",
    "quoting/*",
    "scheduling/*",
    "hostile-context/*",
]
events = [
    "participant-lifecycle-management/participant-state-updated",
    "hostile-context/happened",
]
"#;

/// The demonstration scheme with a listener for calls; `more` are the rest of its keys.
pub fn offering(more: &str) -> TestScheme {
    let scheme = TestScheme::demo().unwrap();
    listen(&scheme, "127.0.0.1:0", more);
    scheme
}

/// Give a scheme a listener for calls.
pub fn listen(scheme: &TestScheme, address: &str, more: &str) {
    let path = scheme.path().join("rialto.toml");
    let mut text = fs::read_to_string(&path).unwrap();
    text.push_str(&format!(
        "\n{OFFICE_TABLE}[operators.switch]\nroles = [\"context\", \"reader\"]\n\n\
         [listeners.grpc]\naddress = \"{address}\"\n{more}\n"
    ));
    fs::write(path, text).unwrap();
}

/// Adds the context that obeys its caller's orders.
pub fn add_friend(scheme: &TestScheme, limits: &str) {
    let name = "hostile-friend";
    fs::copy(binaries::plugin(name).unwrap(), scheme.component(name)).unwrap();
    let text = format!(
        "[contexts.{name}]\ncomponent = \"components/{name}.wasm\"\nlimits = {{ {limits} }}\n\n\
         [contexts.{name}.grants]\nhost = [\"storage\", \"keys\", \"caller\", \"logging\"]\n\n"
    );
    let add = |scheme: String| scheme.replacen("[rules.", &format!("{text}[rules."), 1);
    scheme.edit_with(add).unwrap();
    scheme.lock().unwrap();
}

/// Have `rialto proto` number what has no number yet.
pub fn number(scheme: &TestScheme) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let written = rialto_tests::CliOutput::of(binaries::rialto().unwrap(), |command| {
        let command = command.arg("proto").arg(folder.path());
        command.arg("--at").arg(scheme.path());
    });
    written.unwrap().success().unwrap();
    folder
}

/// The token of the operator that may call.
pub fn token(scheme: &TestScheme) -> String {
    let text = fs::read_to_string(scheme.path().join("state/operators/switch.token"));
    text.unwrap().trim().to_owned()
}

/// Clients of one host that show its token.
#[derive(Clone)]
pub struct Clients {
    pub connection: Connection,
    pub ledger: AccountsAndBalancesServiceClient<Connection>,
    pub participants: ParticipantLifecycleManagementServiceClient<Connection>,
    pub scheduling: SchedulingServiceClient<Connection>,
}

impl Clients {
    pub async fn of(host: &RunningHost, scheme: &TestScheme) -> Self {
        Self::by(host, Caller::with_token(&token(scheme))).await
    }

    pub async fn by(host: &RunningHost, caller: Caller) -> Self {
        let url = host.url("grpc").unwrap();
        let connected = connect(url, caller, None).await;
        Self::over(connected.context("the listener for calls answers").unwrap())
    }

    pub fn over(connection: Connection) -> Self {
        Self {
            ledger: AccountsAndBalancesServiceClient::new(connection.clone()),
            participants: ParticipantLifecycleManagementServiceClient::new(connection.clone()),
            scheduling: SchedulingServiceClient::new(connection.clone()),
            connection,
        }
    }
}

/// An amount of US dollars, in cents.
pub fn dollars(cents: u64) -> Money {
    Money {
        currency: "USD".to_owned(),
        scale: 2,
        minor_units: Some(U128 {
            high: 0,
            low: cents,
        }),
    }
}

/// An order to the friend, and its answer: `rialto proto` writes both with this one field.
#[derive(Clone, PartialEq, Message)]
pub struct Order {
    #[prost(string, tag = "1")]
    pub text: String,
}

/// The call of the friend.
pub const ECHO: &str = "/rialto.hostile_context.v0_1.HostileContextService/Echo";

/// Call a method by its path.
pub async fn call<Q, A>(
    connection: &Connection,
    path: &'static str,
    request: Q,
) -> Result<A, Status>
where
    Q: Message + 'static,
    A: Message + Default + 'static,
{
    rialto_grpc_client::connection::unary(connection.clone(), path, Request::new(request)).await
}

/// Tell the friend what to do.
pub async fn order(connection: &Connection, text: &str) -> Result<String, Status> {
    let request = Order {
        text: text.to_owned(),
    };
    let answered: Order = call(connection, ECHO, request).await?;
    Ok(answered.text)
}

/// The metrics of a host's operators' listener.
pub fn metrics(operators: &str) -> String {
    let mut stream = TcpStream::connect(operators.trim_start_matches("http://")).unwrap();
    let request = "GET /metrics HTTP/1.1\r\nhost: rialto\r\nconnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).unwrap();
    let mut metrics = String::new();
    stream.read_to_string(&mut metrics).unwrap();
    metrics
}
