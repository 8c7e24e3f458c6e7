//! What a database must be before anything is written to it.

use std::net::IpAddr;

use sqlx::PgConnection;
use sqlx::postgres::{PgConnectOptions, PgSslMode};

use crate::{OpenError, Settings};

/// The oldest server, as `server_version_num`.
const SERVER_MIN: i32 = 140_000;

/// Refuse a server on another machine without verified TLS.
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
        PgSslMode::VerifyFull | PgSslMode::VerifyCa => Ok(()),
        _ if local => Ok(()),
        _ => Err(OpenError::Unprotected(host.to_owned())),
    }
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
            ("postgres://db.example/a?sslmode=verify-ca", true),
            ("postgres://db.example/a?sslmode=verify-full", true),
        ] {
            let options: PgConnectOptions = url.parse().unwrap();
            assert_eq!(protected(&options).is_ok(), accepted, "{url}");
        }
    }
}
