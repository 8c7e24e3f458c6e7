//! Whether the system may write the host's memory to swap space: keys in use are in it.

use std::fs;
use std::path::{Path, PathBuf};

/// Where control groups (version 2) are.
const GROUPS: &str = "/sys/fs/cgroup";

/// Whether the machine has swap space on a disk, and no control group of this process keeps its memory out of it.
///
/// Swap space may be encrypted; the system does not say so in one place. What cannot be read counts as no swap space.
#[must_use]
pub fn is_possible() -> bool {
    let spaces = fs::read_to_string("/proc/swaps").unwrap_or_default();
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    has_space(&spaces) && !is_kept_out(Path::new(GROUPS), &groups)
}

/// Whether a table like `/proc/swaps` has a space on a disk. Compressed memory (zram) is none.
fn has_space(table: &str) -> bool {
    let mut spaces = table
        .lines()
        .skip(1)
        .filter_map(|line| line.split(' ').next());
    spaces.any(|space| !space.is_empty() && !space.starts_with("/dev/zram"))
}

/// Whether a group that a table like `/proc/self/cgroup` names, or one above it, has no swap space
/// (`memory.swap.max`, in systemd `MemorySwapMax=0`).
fn is_kept_out(root: &Path, table: &str) -> bool {
    let Some(group) = table.lines().find_map(|line| line.strip_prefix("0::/")) else {
        return false;
    };
    let group: PathBuf = root.join(group);
    let mut above = group.ancestors().take_while(|one| one.starts_with(root));
    above.any(|one| {
        let most = fs::read_to_string(one.join("memory.swap.max"));
        most.is_ok_and(|most| most.trim() == "0")
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

    use super::*;

    const HEAD: &str = "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n";

    #[test]
    fn disks_and_files_are_swap_space_and_compressed_memory_is_none() {
        assert!(!has_space(""));
        assert!(!has_space(HEAD));
        let zram = format!("{HEAD}/dev/zram0      partition\t8388604\t\t0\t\t100\n");
        assert!(!has_space(&zram));
        assert!(has_space(&format!(
            "{zram}/swap.img      file\t\t8388604\t\t0\t\t-2\n"
        )));
        assert!(has_space(&format!(
            "{HEAD}/dev/dm-1      partition\t1\t\t0\t\t-2\n"
        )));
    }

    #[test]
    fn a_group_without_swap_keeps_those_below_it_out() {
        let root = tempfile::tempdir().unwrap();
        let service = root.path().join("system.slice/rialto.service");
        fs::create_dir_all(&service).unwrap();
        let table = "1:name=systemd:/\n0::/system.slice/rialto.service\n";
        assert!(!is_kept_out(root.path(), table));
        fs::write(service.join("memory.swap.max"), "max\n").unwrap();
        assert!(!is_kept_out(root.path(), table));
        fs::write(root.path().join("system.slice/memory.swap.max"), "0\n").unwrap();
        assert!(is_kept_out(root.path(), table));
        assert!(!is_kept_out(root.path(), "0::/user.slice\n"));
        assert!(!is_kept_out(root.path(), "4:memory:/docker\n"));
    }
}
