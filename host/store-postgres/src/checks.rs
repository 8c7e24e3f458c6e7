//! What a database must be before anything is written to it.

use std::net::IpAddr;
use std::time::{Duration, SystemTime};

use sqlx::PgConnection;
use sqlx::postgres::{PgConnectOptions, PgSslMode};

use crate::connections::Connector;
use crate::{OpenError, Settings};

/// The oldest server, as `server_version_num`.
const SERVER_MIN: i32 = 140_000;

/// Refuse a server on another machine without verified TLS. `verify-ca` verifies no name, and public authorities are trusted
/// beside the one that is named: whoever has any public certificate could be the database.
pub(crate) fn protected(options: &PgConnectOptions) -> Result<(), OpenError> {
    let host = options.get_host();
    let local = options.get_socket().is_some()
        || host.starts_with('/')
        || host == "localhost"
        || host
            .trim_matches(['[', ']'])
            .parse()
            .is_ok_and(|address: IpAddr| address.is_loopback());
    match options.get_ssl_mode() {
        PgSslMode::VerifyFull => Ok(()),
        _ if local => Ok(()),
        _ => Err(OpenError::Unprotected(host.to_owned())),
    }
}

/// How far this machine's clock may be from the database's.
const CLOCKS_APART_MAX: Duration = Duration::from_mins(1);

/// Codes of PostgreSQL with which a connection is refused, and what to do.
const REFUSALS: [(&str, &str); 5] = [
    (
        "3D000",
        "create the database, or correct its name in the URL",
    ),
    (
        "28P01",
        "put the user's password into the file that the variable PGPASSFILE names",
    ),
    (
        "28000",
        "let the user in by pg_hba.conf, or correct its name in the URL",
    ),
    (
        "53300",
        "raise max_connections of the server, or end what uses its connections",
    ),
    ("57P03", "wait until the server has started"),
];

/// A connection to the database.
///
/// # Errors
/// When none is made, with what to do.
pub(crate) async fn reached(connector: &Connector) -> Result<PgConnection, OpenError> {
    connector.connect().await.map_err(|error| {
        let code = error.as_database_error().and_then(|error| error.code());
        let code = code.unwrap_or_default();
        let known = REFUSALS.iter().find(|(known, _)| *known == code);
        let help = known.map_or(
            "start the server, or correct the host, the port and the TLS settings in the URL",
            |(_, help)| *help,
        );
        let options = &connector.options;
        let place = match options.get_socket() {
            Some(socket) => socket.display().to_string(),
            None => format!("{}, port {}", options.get_host(), options.get_port()),
        };
        let why = match &error {
            sqlx::Error::Database(error) => error.message().to_owned(),
            error => error.to_string(),
        };
        OpenError::Unreachable { place, why, help }
    })
}

/// Refuse a machine whose clock is far from the database's. The host's clock dates what the scheme keeps, and another host
/// goes on from there.
pub(crate) async fn clocks_agree(connection: &mut PgConnection) -> Result<(), OpenError> {
    let there: f64 = sqlx::query_scalar("SELECT extract(epoch FROM clock_timestamp())::float8")
        .fetch_one(connection)
        .await?;
    let here = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let apart = here.unwrap_or_default().as_secs_f64() - there;
    let difference = Duration::try_from_secs_f64(apart.abs()).unwrap_or(Duration::MAX);
    if difference <= CLOCKS_APART_MAX {
        return Ok(());
    }
    let than = if apart > 0.0 { "ahead of" } else { "behind" };
    Err(OpenError::Clock {
        seconds: difference.as_secs(),
        than,
    })
}

/// Refuse a server that does not keep what it acknowledges, or is not the one that is meant.
pub(crate) async fn usable(
    connection: &mut PgConnection,
    settings: &Settings,
) -> Result<(), OpenError> {
    let (version, encoding, replica, read_only, fsync, standbys): (
        i32,
        String,
        bool,
        bool,
        bool,
        String,
    ) = sqlx::query_as(
        "SELECT current_setting('server_version_num')::int4, current_setting('server_encoding'),
            pg_is_in_recovery(), current_setting('transaction_read_only')::bool,
            current_setting('fsync')::bool, current_setting('synchronous_standby_names')",
    )
    .fetch_one(connection)
    .await?;
    if version < SERVER_MIN {
        return Err(OpenError::OldServer(version / 10_000));
    }
    if encoding != "UTF8" {
        return Err(OpenError::Encoding(encoding));
    }
    if replica {
        return Err(OpenError::Replica);
    }
    if read_only {
        return Err(OpenError::ReadOnly);
    }
    if !fsync {
        return Err(OpenError::NotDurable);
    }
    if settings.synchronous_standby && standbys.trim().is_empty() {
        return Err(OpenError::NoStandby);
    }
    Ok(())
}

/// Refuse a database that has another scheme.
pub(crate) async fn of_scheme(
    connection: &mut PgConnection,
    scheme: &str,
) -> Result<(), OpenError> {
    sqlx::query("INSERT INTO rialto.facts VALUES ('scheme', $1) ON CONFLICT DO NOTHING")
        .bind(scheme)
        .execute(&mut *connection)
        .await?;
    let there: String = sqlx::query_scalar("SELECT value FROM rialto.facts WHERE key = 'scheme'")
        .fetch_one(connection)
        .await?;
    if there == scheme {
        return Ok(());
    }
    Err(OpenError::OtherScheme {
        there,
        wanted: scheme.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_local_server_may_be_without_verified_tls() {
        for (url, accepted) in [
            ("postgres://127.0.0.1/a", true),
            ("postgres://[::1]/a", true),
            ("postgres://localhost/a?sslmode=disable", true),
            ("postgres:///a?host=/run/postgresql", true),
            ("postgres://db.example/a", false),
            ("postgres://db.example/a?sslmode=require", false),
            ("postgres://db.example/a?sslmode=verify-ca", false),
            ("postgres://db.example/a?sslmode=verify-full", true),
        ] {
            let options: PgConnectOptions = url.parse().unwrap();
            assert_eq!(protected(&options).is_ok(), accepted, "{url}");
        }
    }
}
