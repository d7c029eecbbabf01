//! A file system in a file, as a guest's root.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// A kind of file system that the guest's kernel mounts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileSystem {
    /// ext2, ext3, ext4.
    Ext4,
    /// XFS.
    Xfs,
    /// Btrfs.
    Btrfs,
}

/// Where the magic number of each lies: in its superblock.
const MAGIC: [(FileSystem, u64, &[u8]); 3] = [
    (FileSystem::Ext4, 1024 + 56, &[0x53, 0xef]),
    (FileSystem::Xfs, 0, b"XFSB"),
    (FileSystem::Btrfs, 64 * 1024 + 64, b"_BHRfS_M"),
];

/// Images that are no file system, and how each begins.
const OTHERS: [(&str, u64, &[u8]); 4] = [
    ("a qcow2 image: `qemu-img convert -O raw`", 0, b"QFI\xfb"),
    ("a GPT: give the partition alone", 512, b"EFI PART"),
    ("a squashfs, which the guest does not know", 0, b"hsqs"),
    ("a partition table: give the partition alone", 510, &[0x55, 0xaa]),
];

impl FileSystem {
    /// The file system in a file.
    ///
    /// # Errors
    /// It cannot be read, or holds none that the guest knows; in words.
    pub fn of(path: &Path) -> Result<Self, String> {
        let file = File::open(path).map_err(|error| error.to_string())?;
        if !file.metadata().is_ok_and(|about| about.is_file()) {
            return Err("this is no file".to_string());
        }
        let holds = |at: u64, magic: &[u8]| -> io::Result<bool> {
            let mut bytes = vec![0; magic.len()];
            let count = file.read_at(&mut bytes, at)?;
            Ok(count == magic.len() && bytes == magic)
        };
        let unread = |error: io::Error| format!("cannot read it: {error}");
        for (kind, at, magic) in MAGIC {
            if holds(at, magic).map_err(unread)? {
                return Ok(kind);
            }
        }
        for (other, at, magic) in OTHERS {
            if holds(at, magic).map_err(unread)? {
                return Err(format!("this is {other}"));
            }
        }
        Err("no file system that the guest knows is in it: ext4, xfs or btrfs".to_string())
    }

    /// Its name for the kernel.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Ext4 => "ext4",
            Self::Xfs => "xfs",
            Self::Btrfs => "btrfs",
        }
    }

    /// Options with which it is mounted without a change, a journal that was not replayed included.
    pub(super) fn options(self) -> &'static str {
        match self {
            Self::Ext4 => "noload",
            Self::Xfs => "norecovery",
            Self::Btrfs => "rescue=nologreplay",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_system_is_known_by_its_superblock_and_others_are_named() {
        let folder = std::env::temp_dir().join(format!("manx-image-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("image");
        let image = |at: u64, magic: &[u8]| {
            let file = File::create(&path).unwrap();
            file.set_len(1 << 20).unwrap();
            file.write_at(magic, at).unwrap();
            FileSystem::of(&path)
        };
        for (kind, at, magic) in MAGIC {
            assert_eq!(image(at, magic), Ok(kind));
        }
        for (other, at, magic) in OTHERS {
            assert_eq!(image(at, magic), Err(format!("this is {other}")));
        }
        assert!(image(0, b"").unwrap_err().contains("ext4, xfs or btrfs"));
        File::create(&path).unwrap();
        assert!(FileSystem::of(&path).is_err());
        assert_eq!(FileSystem::of(&folder), Err("this is no file".to_string()));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
