//! A server's reflection, read as tools read it.

use std::collections::BTreeSet;

use prost::Message as _;
use prost_types::FileDescriptorProto;
use tonic::Status;
use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;
use tonic_reflection::pb::v1::{ServerReflectionRequest, ServerReflectionResponse};

use crate::connection::Connection;

macro_rules! reading {
    ($name:ident, $version:ident, $docs:literal) => {
        #[doc = $docs]
        ///
        /// # Errors
        /// If the server does not answer, or differently.
        pub async fn $name(connection: Connection) -> Result<BTreeSet<String>, Status> {
            use tonic_reflection::pb::$version::ServerReflectionRequest;
            use tonic_reflection::pb::$version::server_reflection_client::ServerReflectionClient;
            use tonic_reflection::pb::$version::server_reflection_request::MessageRequest;
            use tonic_reflection::pb::$version::server_reflection_response::MessageResponse;

            let mut client = ServerReflectionClient::new(connection);
            let ask = async |client: &mut ServerReflectionClient<Connection>, message| {
                let request = ServerReflectionRequest {
                    host: String::new(),
                    message_request: Some(message),
                };
                let answered = client.server_reflection_info(tokio_stream::iter([request]));
                let next = answered.await?.into_inner().message().await?;
                let message = next.and_then(|response| response.message_response);
                message.ok_or_else(|| Status::internal("reflection answers nothing"))
            };
            let listed = ask(&mut client, MessageRequest::ListServices(String::new())).await?;
            let MessageResponse::ListServicesResponse(listed) = listed else {
                return Err(Status::internal("reflection lists no services"));
            };
            let mut methods = BTreeSet::new();
            for service in listed.service {
                let name = service.name;
                let asked = MessageRequest::FileContainingSymbol(name.clone());
                let MessageResponse::FileDescriptorResponse(file) = ask(&mut client, asked).await?
                else {
                    return Err(Status::internal("reflection has no file of a service"));
                };
                for bytes in file.file_descriptor_proto {
                    methods.extend(methods_of(&name, &bytes)?);
                }
            }
            Ok(methods)
        }
    };
}

reading!(
    methods,
    v1,
    "The full names of all methods, `package.Service/Method`."
);
reading!(
    methods_v1alpha,
    v1alpha,
    "As [`methods`], by the version that older tools speak."
);

/// Ask for nothing yet, as tools do that keep their question open.
///
/// # Errors
/// When the server does not listen.
pub async fn held_open(
    connection: Connection,
) -> Result<tonic::Streaming<ServerReflectionResponse>, Status> {
    let mut client = ServerReflectionClient::new(connection);
    let nothing = tokio_stream::pending::<ServerReflectionRequest>();
    Ok(client.server_reflection_info(nothing).await?.into_inner())
}

fn methods_of(service: &str, bytes: &[u8]) -> Result<Vec<String>, Status> {
    let file = FileDescriptorProto::decode(bytes);
    let file = file.map_err(|error| Status::internal(format!("no descriptor: {error}")))?;
    let services = file.service.iter();
    let found = services.filter(|found| format!("{}.{}", file.package(), found.name()) == service);
    let methods = found.flat_map(|found| &found.method);
    Ok(methods
        .map(|method| format!("{service}/{}", method.name()))
        .collect())
}
