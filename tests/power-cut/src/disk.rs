//! All files and directories, and whether there is power.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::time::SystemTime;

use fuser::{Errno, FileAttr, FileType, INodeNo};

use crate::file::Bytes;
use crate::folder::Names;
use crate::luck::Luck;

/// The directory that is mounted.
pub(crate) const ROOT: u64 = INodeNo::ROOT.0;

/// A file or a directory. Its mode and its owner are on the disk at once.
pub(crate) struct Node {
    pub holds: Holds,
    pub mode: u16,
    pub uid: u32,
    pub gid: u32,
    pub changed: SystemTime,
}

pub(crate) enum Holds {
    File(Bytes),
    Folder(Names),
}

/// See the module's documentation.
pub(crate) struct Disk {
    nodes: BTreeMap<u64, Node>,
    next: u64,
    /// Changes and syncs that it still takes before the power goes; none if it stays.
    left: Option<u64>,
    /// How many it has taken.
    taken: u64,
    dead: bool,
}

impl Disk {
    pub fn new(uid: u32, gid: u32) -> Self {
        let root = Node::folder(0o700, uid, gid);
        Self {
            nodes: BTreeMap::from([(ROOT, root)]),
            next: ROOT + 1,
            left: None,
            taken: 0,
            dead: false,
        }
    }

    /// Cuts the power after a number of further changes and syncs: no call succeeds any more.
    pub fn die_after(&mut self, operations: u64) {
        self.left = Some(operations);
        self.dead = operations == 0;
    }

    pub fn is_dead(&self) -> bool {
        self.dead
    }

    pub fn taken(&self) -> u64 {
        self.taken
    }

    /// Count a change or a sync that is about to happen.
    pub fn take(&mut self) -> Result<(), Errno> {
        self.powered()?;
        if let Some(left) = &mut self.left {
            if *left == 0 {
                self.dead = true;
                return Err(Errno::EIO);
            }
            *left -= 1;
        }
        self.taken += 1;
        Ok(())
    }

    pub fn powered(&self) -> Result<(), Errno> {
        if self.dead { Err(Errno::EIO) } else { Ok(()) }
    }

    /// The state after a power cut, with the power back.
    pub fn cut(&mut self, luck: &mut Luck) {
        for node in self.nodes.values_mut() {
            match &mut node.holds {
                Holds::File(bytes) => bytes.cut(luck),
                Holds::Folder(names) => names.cut(luck),
            }
        }
        let reachable = self.reachable();
        self.nodes.retain(|node, _| reachable.contains(node));
        self.left = None;
        self.dead = false;
    }

    /// Whether nothing would be lost.
    pub fn is_synced(&self) -> bool {
        let reachable = self.reachable();
        let mut nodes = self
            .nodes
            .iter()
            .filter(|(node, _)| reachable.contains(node));
        nodes.all(|(_, node)| match &node.holds {
            Holds::File(bytes) => bytes.is_synced(),
            Holds::Folder(names) => names.is_synced(),
        })
    }

    fn reachable(&self) -> BTreeSet<u64> {
        let mut found = BTreeSet::from([ROOT]);
        let mut rest = vec![ROOT];
        while let Some(node) = rest.pop() {
            if let Some(Holds::Folder(names)) = self.nodes.get(&node).map(|node| &node.holds) {
                rest.extend(
                    names
                        .all()
                        .map(|(_, node)| node)
                        .filter(|n| found.insert(*n)),
                );
            }
        }
        found
    }

    pub fn node(&self, node: u64) -> Result<&Node, Errno> {
        self.nodes.get(&node).ok_or(Errno::ENOENT)
    }

    pub fn node_mut(&mut self, node: u64) -> Result<&mut Node, Errno> {
        self.nodes.get_mut(&node).ok_or(Errno::ENOENT)
    }

    pub fn names(&self, folder: u64) -> Result<&Names, Errno> {
        match &self.node(folder)?.holds {
            Holds::Folder(names) => Ok(names),
            Holds::File(_) => Err(Errno::ENOTDIR),
        }
    }

    pub fn names_mut(&mut self, folder: u64) -> Result<&mut Names, Errno> {
        match &mut self.node_mut(folder)?.holds {
            Holds::Folder(names) => Ok(names),
            Holds::File(_) => Err(Errno::ENOTDIR),
        }
    }

    pub fn bytes(&self, file: u64) -> Result<&Bytes, Errno> {
        match &self.node(file)?.holds {
            Holds::File(bytes) => Ok(bytes),
            Holds::Folder(_) => Err(Errno::EISDIR),
        }
    }

    pub fn bytes_mut(&mut self, file: u64) -> Result<&mut Bytes, Errno> {
        match &mut self.node_mut(file)?.holds {
            Holds::File(bytes) => Ok(bytes),
            Holds::Folder(_) => Err(Errno::EISDIR),
        }
    }

    pub fn named(&self, folder: u64, name: &OsStr) -> Result<u64, Errno> {
        self.names(folder)?.get(name).ok_or(Errno::ENOENT)
    }

    /// Put a new file or directory under a name that is free.
    pub fn make(&mut self, folder: u64, name: &OsStr, node: Node) -> Result<u64, Errno> {
        if self.names(folder)?.get(name).is_some() {
            return Err(Errno::EEXIST);
        }
        let number = self.next;
        self.next += 1;
        self.nodes.insert(number, node);
        self.names_mut(folder)?.put(name, number);
        Ok(number)
    }

    pub fn attributes(&self, number: u64) -> Result<FileAttr, Errno> {
        let node = self.node(number)?;
        let (kind, size) = match &node.holds {
            Holds::File(bytes) => (FileType::RegularFile, bytes.now().len() as u64),
            Holds::Folder(_) => (FileType::Directory, 0),
        };
        Ok(FileAttr {
            ino: INodeNo(number),
            size,
            blocks: size.div_ceil(512),
            atime: node.changed,
            mtime: node.changed,
            ctime: node.changed,
            crtime: node.changed,
            kind,
            perm: node.mode,
            nlink: self.links(number),
            uid: node.uid,
            gid: node.gid,
            rdev: 0,
            blksize: 4096,
            flags: 0,
        })
    }

    fn links(&self, number: u64) -> u32 {
        let folders = self.nodes.values().filter_map(|node| match &node.holds {
            Holds::Folder(names) => Some(names),
            Holds::File(_) => None,
        });
        let named = folders.flat_map(Names::all).filter(|(_, to)| *to == number);
        u32::try_from(named.count()).unwrap_or(u32::MAX)
    }
}

impl Node {
    pub fn file(mode: u16, uid: u32, gid: u32) -> Self {
        Self::new(Holds::File(Bytes::default()), mode, uid, gid)
    }

    pub fn folder(mode: u16, uid: u32, gid: u32) -> Self {
        Self::new(Holds::Folder(Names::default()), mode, uid, gid)
    }

    fn new(holds: Holds, mode: u16, uid: u32, gid: u32) -> Self {
        Self {
            holds,
            mode: mode & 0o7777,
            uid,
            gid,
            changed: SystemTime::now(),
        }
    }
}
