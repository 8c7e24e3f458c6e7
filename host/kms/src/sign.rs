//! Signatures of requests: AWS Signature Version 4.
//!
//! The requests of this provider are all `POST /` without a query. So the path and the query have no canonical form
//! here.

use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::hmac::{self, HMAC_SHA256};
use data_encoding::HEXLOWER;
use zeroize::Zeroizing;

use crate::credentials::Credentials;

const ALGORITHM: &str = "AWS4-HMAC-SHA256";
/// The last part of a scope.
const TERMINATOR: &str = "aws4_request";

/// What a signature is for.
pub(crate) struct Scope<'a> {
    /// The time of the request, such as `20150830T123600Z`.
    pub(crate) time: &'a str,
    pub(crate) region: &'a str,
    pub(crate) service: &'a str,
}

impl Scope<'_> {
    fn day(&self) -> &str {
        self.time.get(..8).unwrap_or(self.time)
    }

    fn text(&self) -> String {
        [self.day(), self.region, self.service, TERMINATOR].join("/")
    }
}

/// The header `Authorization` of a request with these headers, whose names are in lower case.
pub(crate) fn authorization(
    credentials: &Credentials,
    scope: &Scope<'_>,
    headers: &[(&str, &str)],
    body: &[u8],
) -> String {
    let mut headers = headers.to_vec();
    headers.sort_unstable();
    let names: Vec<&str> = headers.iter().map(|(name, _)| *name).collect();
    let names = names.join(";");
    // It has the session token.
    let mut canonical = Zeroizing::new(String::with_capacity(16 * 1024));
    canonical.push_str("POST\n/\n\n");
    for (name, value) in &headers {
        for part in [name, ":", value.trim(), "\n"] {
            canonical.push_str(part);
        }
    }
    for part in ["\n", &names, "\n", &hash(body)] {
        canonical.push_str(part);
    }
    let scope_text = scope.text();
    let hashed = hash(canonical.as_bytes());
    let to_sign = [ALGORITHM, scope.time, &scope_text, &hashed].join("\n");
    let signature = mac(signing_key(credentials, scope).as_ref(), &to_sign);
    format!(
        "{ALGORITHM} Credential={}/{scope_text}, SignedHeaders={names}, Signature={}",
        *credentials.access_key,
        HEXLOWER.encode(signature.as_ref())
    )
}

/// The key of a day, a region and a service.
fn signing_key(credentials: &Credentials, scope: &Scope<'_>) -> hmac::Tag {
    let secret = Zeroizing::new(["AWS4", &credentials.secret].concat());
    let day = mac(secret.as_bytes(), scope.day());
    let region = mac(day.as_ref(), scope.region);
    let service = mac(region.as_ref(), scope.service);
    mac(service.as_ref(), TERMINATOR)
}

fn mac(key: &[u8], text: &str) -> hmac::Tag {
    hmac::sign(&hmac::Key::new(HMAC_SHA256, key), text.as_bytes())
}

fn hash(bytes: &[u8]) -> String {
    HEXLOWER.encode(digest(&SHA256, bytes).as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOST: (&str, &str) = ("host", "example.amazonaws.com");
    const DATE: (&str, &str) = ("x-amz-date", "20150830T123600Z");
    const TOKEN: &str = "AQoDYXdzEPT//////////wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfpSPfIeoIYRqTflfKD8YUuwthAx7mSEI/qkPpKPi/kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0KPkyQDYwT7WZ0wq5VSXDvp75YU9HFvlRd8Tx6q6fE8YQcHNVXAkiY9q6d+xo0rKwT38xVqr7ZD0u0iPPkUL64lIZbqBAz+scqKmlzm8FDrypNC9Yjc8fPOLn9FX9KSYvKTr4rvx3iSIlTJabIQwj2ICCR/oLxBA==";

    fn signed(headers: &[(&str, &str)], body: &str) -> String {
        let credentials = Credentials {
            access_key: Zeroizing::new("AKIDEXAMPLE".to_owned()),
            secret: Zeroizing::new("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY".to_owned()),
            token: None,
        };
        let scope = Scope {
            time: DATE.1,
            region: "us-east-1",
            service: "service",
        };
        authorization(&credentials, &scope, headers, body.as_bytes())
    }

    fn expected(names: &str, signature: &str) -> String {
        format!(
            "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders={names}, Signature={signature}"
        )
    }

    /// The published test suite of Signature Version 4: its cases of `POST /`.
    #[test]
    fn published_vectors_have_their_signatures() {
        assert_eq!(
            signed(&[HOST, DATE], ""),
            expected(
                "host;x-amz-date",
                "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"
            ),
            "post-vanilla"
        );
        assert_eq!(
            signed(&[DATE, ("my-header1", " VALUE1 "), HOST], ""),
            expected(
                "host;my-header1;x-amz-date",
                "cdbc9802e29d2942e5e10b5bccfdd67c5f22c7c4e8ae67b53629efa58b974b7d"
            ),
            "post-header-value-case"
        );
        assert_eq!(
            signed(&[HOST, DATE, ("x-amz-security-token", TOKEN)], ""),
            expected(
                "host;x-amz-date;x-amz-security-token",
                "85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead"
            ),
            "post-sts-header-before"
        );
        let form = ("content-type", "application/x-www-form-urlencoded");
        assert_eq!(
            signed(&[HOST, DATE, form], "Param1=value1"),
            expected(
                "content-type;host;x-amz-date",
                "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a"
            ),
            "post-x-www-form-urlencoded"
        );
    }
}
