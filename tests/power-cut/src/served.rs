//! Requests of the system to the file system, answered from the disk.

use std::ffi::OsStr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use fuser::{
    BsdFileFlags, Errno, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo,
    KernelConfig, LockOwner, OpenFlags, RenameFlags, ReplyAttr, ReplyCreate, ReplyData,
    ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyStatfs, ReplyWrite, Request, TimeOrNow,
    WriteFlags,
};
use parking_lot::Mutex;

use crate::disk::{Disk, Holds, Node};

/// How long the system may cache answers: nothing else changes the disk.
const FOR_GOOD: Duration = Duration::from_secs(3600);

/// A disk, mounted.
pub(crate) struct Served(pub Arc<Mutex<Disk>>);

impl Served {
    /// Look at something.
    fn look<T>(&self, look: impl FnOnce(&Disk) -> Result<T, Errno>) -> Result<T, Errno> {
        let disk = self.0.lock();
        disk.powered()?;
        look(&disk)
    }

    /// Change or sync something.
    fn take<T>(&self, change: impl FnOnce(&mut Disk) -> Result<T, Errno>) -> Result<T, Errno> {
        let mut disk = self.0.lock();
        disk.take()?;
        change(&mut disk)
    }
}

fn entry(reply: ReplyEntry, found: Result<fuser::FileAttr, Errno>) {
    match found {
        Ok(found) => reply.entry(&FOR_GOOD, &found, Generation(0)),
        Err(error) => reply.error(error),
    }
}

fn empty(reply: ReplyEmpty, done: Result<(), Errno>) {
    match done {
        Ok(()) => reply.ok(),
        Err(error) => reply.error(error),
    }
}

fn mode(mode: u32, umask: u32) -> u16 {
    // The lower twelve bits, which fit.
    u16::try_from(mode & !umask & 0o7777).unwrap_or(0)
}

fn place(offset: u64) -> Result<usize, Errno> {
    usize::try_from(offset).map_err(|_| Errno::EFBIG)
}

impl Filesystem for Served {
    fn init(&mut self, _: &Request, _: &mut KernelConfig) -> std::io::Result<()> {
        Ok(())
    }

    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let found = self.look(|disk| disk.attributes(disk.named(parent.0, name)?));
        entry(reply, found);
    }

    fn getattr(&self, _: &Request, ino: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        match self.look(|disk| disk.attributes(ino.0)) {
            Ok(found) => reply.attr(&FOR_GOOD, &found),
            Err(error) => reply.error(error),
        }
    }

    fn setattr(
        &self,
        _: &Request,
        ino: INodeNo,
        mode: Option<u32>,
        uid: Option<u32>,
        gid: Option<u32>,
        size: Option<u64>,
        _: Option<TimeOrNow>,
        _: Option<TimeOrNow>,
        _: Option<SystemTime>,
        _: Option<FileHandle>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let done = self.take(|disk| {
            if let Some(size) = size {
                disk.bytes_mut(ino.0)?.set_length(place(size)?);
            }
            let node = disk.node_mut(ino.0)?;
            node.mode = mode.map_or(node.mode, |mode| self::mode(mode, 0));
            node.uid = uid.unwrap_or(node.uid);
            node.gid = gid.unwrap_or(node.gid);
            disk.attributes(ino.0)
        });
        match done {
            Ok(found) => reply.attr(&FOR_GOOD, &found),
            Err(error) => reply.error(error),
        }
    }

    fn mkdir(
        &self,
        who: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        umask: u32,
        reply: ReplyEntry,
    ) {
        let made = self.take(|disk| {
            let folder = Node::folder(self::mode(mode, umask), who.uid(), who.gid());
            let number = disk.make(parent.0, name, folder)?;
            disk.attributes(number)
        });
        entry(reply, made);
    }

    fn unlink(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let done = self.take(|disk| {
            disk.named(parent.0, name)?;
            disk.names_mut(parent.0)?.remove(name);
            Ok(())
        });
        empty(reply, done);
    }

    fn rmdir(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let done = self.take(|disk| {
            let number = disk.named(parent.0, name)?;
            if !disk.names(number)?.is_empty() {
                return Err(Errno::ENOTEMPTY);
            }
            disk.names_mut(parent.0)?.remove(name);
            Ok(())
        });
        empty(reply, done);
    }

    fn rename(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        newparent: INodeNo,
        newname: &OsStr,
        flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        let done = self.take(|disk| {
            if parent != newparent {
                return Err(Errno::EXDEV);
            }
            if !flags.is_empty() {
                return Err(Errno::EINVAL);
            }
            let number = disk.named(parent.0, name)?;
            disk.names_mut(parent.0)?.rename(name, newname, number);
            Ok(())
        });
        empty(reply, done);
    }

    fn link(
        &self,
        _: &Request,
        ino: INodeNo,
        newparent: INodeNo,
        newname: &OsStr,
        reply: ReplyEntry,
    ) {
        let done = self.take(|disk| {
            if disk.names(newparent.0)?.get(newname).is_some() {
                return Err(Errno::EEXIST);
            }
            disk.bytes(ino.0)?;
            disk.names_mut(newparent.0)?.put(newname, ino.0);
            disk.attributes(ino.0)
        });
        entry(reply, done);
    }

    fn open(&self, _: &Request, ino: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        match self.look(|disk| disk.bytes(ino.0).map(|_| ())) {
            Ok(()) => reply.opened(FileHandle(0), FopenFlags::FOPEN_KEEP_CACHE),
            Err(error) => reply.error(error),
        }
    }

    fn create(
        &self,
        who: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        umask: u32,
        _: i32,
        reply: ReplyCreate,
    ) {
        let made = self.take(|disk| {
            let file = Node::file(self::mode(mode, umask), who.uid(), who.gid());
            let number = disk.make(parent.0, name, file)?;
            disk.attributes(number)
        });
        match made {
            Ok(made) => reply.created(
                &FOR_GOOD,
                &made,
                Generation(0),
                FileHandle(0),
                FopenFlags::FOPEN_KEEP_CACHE,
            ),
            Err(error) => reply.error(error),
        }
    }

    fn read(
        &self,
        _: &Request,
        ino: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let read = self.look(|disk| {
            let bytes = disk.bytes(ino.0)?.now();
            let from = place(offset)?.min(bytes.len());
            let to = from.saturating_add(size as usize).min(bytes.len());
            Ok(bytes[from..to].to_vec())
        });
        match read {
            Ok(bytes) => reply.data(&bytes),
            Err(error) => reply.error(error),
        }
    }

    fn write(
        &self,
        _: &Request,
        ino: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let done = self.take(|disk| {
            disk.bytes_mut(ino.0)?.write(place(offset)?, data);
            disk.node_mut(ino.0)?.changed = SystemTime::now();
            u32::try_from(data.len()).map_err(|_| Errno::EFBIG)
        });
        match done {
            Ok(written) => reply.written(written),
            Err(error) => reply.error(error),
        }
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        // Closing a file syncs nothing.
        reply.ok();
    }

    fn fsync(&self, _: &Request, ino: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        let done = self.take(|disk| {
            disk.bytes_mut(ino.0)?.sync();
            Ok(())
        });
        empty(reply, done);
    }

    fn fsyncdir(&self, _: &Request, ino: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        let done = self.take(|disk| {
            disk.names_mut(ino.0)?.sync();
            Ok(())
        });
        empty(reply, done);
    }

    fn readdir(
        &self,
        _: &Request,
        ino: INodeNo,
        _: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        let listed = self.look(|disk| {
            let names = disk.names(ino.0)?.all();
            names
                .map(|(name, number)| {
                    let kind = match disk.node(number)?.holds {
                        Holds::File(_) => FileType::RegularFile,
                        Holds::Folder(_) => FileType::Directory,
                    };
                    Ok((name.clone(), number, kind))
                })
                .collect::<Result<Vec<_>, Errno>>()
        });
        match listed {
            Ok(listed) => {
                let rest = listed.into_iter().zip(1_u64..);
                for ((name, number, kind), next) in rest.skip_while(|(_, n)| *n <= offset) {
                    if reply.add(INodeNo(number), next, kind, name) {
                        break;
                    }
                }
                reply.ok();
            }
            Err(error) => reply.error(error),
        }
    }

    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        // Enough blocks that the disk never seems full.
        const BLOCKS: u64 = 1 << 30;
        reply.statfs(BLOCKS, BLOCKS, BLOCKS, BLOCKS, BLOCKS, 4096, 255, 4096);
    }
}
