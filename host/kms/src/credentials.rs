//! The credentials of AWS: read, checked, and read again when the service refuses them.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;

use parking_lot::RwLock;
use zeroize::Zeroizing;

use crate::configuration::{CredentialsSource, OpenError};

/// The names of the parts in a file, and in variables.
const ACCESS_KEY: (&str, &str) = ("aws_access_key_id", "AWS_ACCESS_KEY_ID");
const SECRET: (&str, &str) = ("aws_secret_access_key", "AWS_SECRET_ACCESS_KEY");
const TOKEN: (&str, &str) = ("aws_session_token", "AWS_SESSION_TOKEN");

/// The bits of a file's mode that let others access it.
const OTHERS: u32 = 0o077;
/// The longest file with credentials, in bytes.
const FILE_BYTES_MAX: u64 = 16 * 1024;
/// The longest part of credentials, in bytes.
const PART_BYTES_MAX: usize = 8 * 1024;

/// An access key. Its parts are overwritten with zeros when it is dropped.
#[derive(PartialEq, Eq)]
pub(crate) struct Credentials {
    pub(crate) access_key: Zeroizing<String>,
    pub(crate) secret: Zeroizing<String>,
    /// Of temporary credentials.
    pub(crate) token: Option<Zeroizing<String>>,
}

/// Parts that were found, not checked yet.
#[derive(Default)]
struct Parts {
    access_key: Option<Zeroizing<String>>,
    secret: Option<Zeroizing<String>>,
    token: Option<Zeroizing<String>>,
}

/// The credentials in use.
pub(crate) struct Holder {
    source: CredentialsSource,
    current: RwLock<Arc<Credentials>>,
}

impl Holder {
    pub(crate) fn read(source: CredentialsSource) -> Result<Self, OpenError> {
        let current = RwLock::new(Arc::new(source.read()?));
        Ok(Self { source, current })
    }

    pub(crate) fn current(&self) -> Arc<Credentials> {
        self.current.read().clone()
    }

    /// Other credentials than these, which the service refused, if there are any by now.
    pub(crate) fn other_than(&self, refused: &Credentials) -> Option<Arc<Credentials>> {
        let current = self.current();
        if *current != *refused {
            return Some(current);
        }
        let read = self.source.read();
        let read = read.inspect_err(|error| tracing::warn!(%error, "the credentials of AWS KMS were refused, and cannot be read again"));
        let read = Arc::new(read.ok()?);
        if *read == *refused {
            return None;
        }
        tracing::info!("the credentials of AWS KMS were read again");
        *self.current.write() = read.clone();
        Some(read)
    }
}

impl CredentialsSource {
    fn read(&self) -> Result<Credentials, OpenError> {
        let (parts, place) = match self {
            Self::File(path) => (of_file(path)?, path.display().to_string()),
            Self::Environment => {
                let parts = of_variables()?;
                (parts, "what the environment variables have".to_owned())
            }
        };
        checked(parts).map_err(|why| OpenError::BadCredentials { place, why })
    }
}

fn of_variables() -> Result<Parts, OpenError> {
    let of = |(_, name)| std::env::var(name).map(Zeroizing::new).ok();
    let needed = |(file, name)| of((file, name)).ok_or(OpenError::NoVariable(name));
    Ok(Parts {
        access_key: Some(needed(ACCESS_KEY)?),
        secret: Some(needed(SECRET)?),
        token: of(TOKEN).filter(|token| !token.is_empty()),
    })
}

fn of_file(path: &Path) -> Result<Parts, OpenError> {
    let failed = |source| OpenError::CredentialsFile {
        path: path.to_owned(),
        source,
    };
    let found = std::fs::symlink_metadata(path).map_err(failed)?;
    let is_private = found.is_file() && found.permissions().mode() & OTHERS == 0;
    if !is_private || found.len() > FILE_BYTES_MAX {
        return Err(OpenError::CredentialsFileOpen(path.to_owned()));
    }
    let text = std::fs::read_to_string(path);
    let text = text.map(Zeroizing::new).map_err(failed)?;
    of_text(&text).map_err(|why| OpenError::BadCredentials {
        place: path.display().to_string(),
        why,
    })
}

/// Lines `name = value` in one section, as AWS's tools write them. Other names mean nothing here.
fn of_text(text: &str) -> Result<Parts, &'static str> {
    let mut parts = Parts::default();
    let mut sections = 0;
    for line in text.lines().map(str::trim) {
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if line.starts_with('[') {
            sections += 1;
            continue;
        }
        let (name, value) = line.split_once('=').ok_or("a line has no `=`")?;
        let part = match name.trim() {
            name if name == ACCESS_KEY.0 => &mut parts.access_key,
            name if name == SECRET.0 => &mut parts.secret,
            name if name == TOKEN.0 => &mut parts.token,
            _ => continue,
        };
        if part.is_some() {
            return Err("it has a part twice: give the host a file with one profile");
        }
        *part = Some(Zeroizing::new(value.trim().to_owned()));
    }
    if sections > 1 {
        return Err("it has several profiles: give the host a file with one");
    }
    Ok(parts)
}

fn checked(parts: Parts) -> Result<Credentials, &'static str> {
    let usable = |part: &str| {
        (1..=PART_BYTES_MAX).contains(&part.len())
            && part.bytes().all(|byte| byte.is_ascii_graphic())
    };
    let (Some(access_key), Some(secret)) = (parts.access_key, parts.secret) else {
        return Err("it needs `aws_access_key_id` and `aws_secret_access_key`");
    };
    if !access_key.bytes().all(|byte| byte.is_ascii_alphanumeric()) || !usable(&access_key) {
        return Err("the access key id has letters and digits alone");
    }
    if !usable(&secret) || parts.token.as_ref().is_some_and(|token| !usable(token)) {
        return Err("the secret or the session token is empty, too long, or has white space in it");
    }
    Ok(Credentials {
        access_key,
        secret,
        token: parts.token,
    })
}

#[cfg(test)]
mod tests {
    use std::fs::{Permissions, set_permissions, write};
    use std::path::PathBuf;

    use super::*;

    const FILE: &str = "# of the host\n[default]\naws_access_key_id = AKIDEXAMPLE\n aws_secret_access_key=wJalr/Xu=\nregion = eu-central-1\n";

    fn private(text: &str) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("credentials");
        write(&path, text).unwrap();
        set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        (folder, path)
    }

    #[test]
    fn credentials_are_read_from_a_file_of_one_profile() {
        let (_folder, path) = private(FILE);
        let source = CredentialsSource::File(path);
        let read = source.read().unwrap();
        assert_eq!(*read.access_key, "AKIDEXAMPLE");
        assert_eq!(*read.secret, "wJalr/Xu=");
        assert!(read.token.is_none());
        let (_folder, path) = private(&format!("{FILE}aws_session_token = abc//==\n"));
        let read = CredentialsSource::File(path).read().unwrap();
        assert_eq!(read.token.as_deref().map(String::as_str), Some("abc//=="));
    }

    #[test]
    fn unusable_credentials_are_refused_without_their_text() {
        for text in [
            "",
            "[default]\naws_access_key_id = AKIDEXAMPLE\n",
            "aws_access_key_id = AKIDEXAMPLE\naws_secret_access_key = \n",
            "aws_access_key_id = AKID EXAMPLE\naws_secret_access_key = hushhush\n",
            "aws_access_key_id = AKIDEXAMPLE\naws_secret_access_key = hush hush\n",
            "aws_access_key_id = AKIDEXAMPLE\naws_secret_access_key = hushhush\naws_session_token = hush hush",
            "aws_access_key_id = AKIDEXAMPLE\naws_secret_access_key = hush\naws_secret_access_key = hush\n",
            "[a]\naws_access_key_id = AKIDEXAMPLE\naws_secret_access_key = hush\n[b]\n",
            "hush\n",
        ] {
            let (_folder, path) = private(text);
            let Err(error) = CredentialsSource::File(path).read() else {
                panic!("{text}");
            };
            assert!(matches!(error, OpenError::BadCredentials { .. }), "{text}");
            let told = format!("{error} {error:?}");
            assert!(!told.contains("hush") && !told.contains("AKID"), "{told}");
        }
    }

    #[test]
    fn credentials_file_that_others_can_access_is_refused() {
        let (folder, path) = private(FILE);
        let read = |path: &Path| CredentialsSource::File(path.to_owned()).read();
        for (mode, is_private) in [(0o644, false), (0o620, false), (0o600, true), (0o400, true)] {
            set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            let refused = matches!(read(&path), Err(OpenError::CredentialsFileOpen(_)));
            assert_eq!(refused, !is_private, "{mode:o}");
        }
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert!(matches!(
            read(&link),
            Err(OpenError::CredentialsFileOpen(_))
        ));
        assert!(matches!(
            read(&folder.path().join("none")),
            Err(OpenError::CredentialsFile { .. })
        ));
    }

    #[test]
    fn refused_credentials_are_read_again() {
        let (_folder, path) = private(FILE);
        let holder = Holder::read(CredentialsSource::File(path.clone())).unwrap();
        let first = holder.current();
        assert!(holder.other_than(&first).is_none());
        write(&path, FILE.replace("wJalr", "other")).unwrap();
        let second = holder.other_than(&first).unwrap();
        assert_eq!(*second.secret, "other/Xu=");
        assert!(holder.current() == second);
        // Somebody else has read them again meanwhile.
        assert!(holder.other_than(&first).unwrap() == second);
        write(&path, "nothing").unwrap();
        assert!(holder.other_than(&second).is_none());
        assert!(holder.current() == second);
    }
}
