//! No core dump of the host: it would have keys, PINs, tokens and messages.

use std::io;

use rustix::process::{DumpableBehavior, Resource, Rlimit, set_dumpable_behavior, setrlimit};

/// From now on the system writes no core dump of this process, and no other process of the same user reads its memory
/// or is its debugger.
///
/// A limit of 0 bytes keeps the system from writing a file. Programs that take core dumps, such as systemd-coredump, do
/// not heed the limit, so the process is marked as not dumpable too.
///
/// # Errors
/// When the system refuses.
pub fn forbid() -> io::Result<()> {
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    let none = Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    Ok(setrlimit(Resource::Core, none)?)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

    use std::process::Command;

    use rustix::process::{dumpable_behavior, getrlimit};

    use super::*;

    /// The name of the test that a child process runs.
    const CHILD: &str = "dumps::tests::child_that_forbids_dumps";

    #[test]
    fn process_is_not_dumpable_afterwards() {
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", CHILD, "--ignored", "--nocapture"]);
        let ended = child.output().unwrap();
        let said = String::from_utf8_lossy(&[ended.stdout, ended.stderr].concat()).into_owned();
        assert!(
            ended.status.success() && said.contains("1 passed"),
            "{said}"
        );
    }

    /// Changes its process: only for the test before it.
    #[test]
    #[ignore = "it changes its process"]
    fn child_that_forbids_dumps() {
        assert_eq!(dumpable_behavior().unwrap(), DumpableBehavior::Dumpable);
        forbid().unwrap();
        assert_eq!(dumpable_behavior().unwrap(), DumpableBehavior::NotDumpable);
        let limit = getrlimit(Resource::Core);
        assert_eq!((limit.current, limit.maximum), (Some(0), Some(0)));
    }
}
