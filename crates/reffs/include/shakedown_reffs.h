/* Snapshots of a file system that `shakedown mount` serves.
 *
 * Each command is an ioctl on any file or directory of the mount, its root for instance:
 *
 *     int dir = open("/mnt/ref", O_RDONLY | O_DIRECTORY);
 *     __u64 key = 1;
 *     ioctl(dir, SHAKEDOWN_REFFS_SAVE, &key);
 *     ... any changes ...
 *     ioctl(dir, SHAKEDOWN_REFFS_RESTORE, &key);
 *
 * A snapshot is the whole file system: names, contents, attributes, times. What was stored through a shared mapping is
 * part of it, written back (msync) or not. Making one and going back to it costs what changed and which files were read
 * or written in between, not what exists: the kernel drops the pages of these files, and reads them again when needed.
 * After a restore the kernel's caches are right: names, attributes, sizes, and the pages of files that are open or
 * mapped. A file that is open and exists in the snapshot has the contents and the size of the snapshot; one that does
 * not exist there gives ESTALE. Positions of open files and locks stay what they were.
 *
 * Sizes need a server that is root (CAP_DAC_READ_SEARCH), on a directory over which nothing else was mounted, and Linux
 * 5.9. Else the kernel cannot be made to ask for the size of a file that stays open: appends, mappings, sendfile and
 * copy_file_range go by the one before the restore until somebody calls fstat on the file.
 *
 * Saving and restoring while other processes write is safe; whether each write comes before or after is open. An append
 * goes to the end of the file as it is then.
 *
 * Only root and the user who mounted may use these; others get EPERM. Elsewhere than on such a mount, ENOTTY.
 */
#ifndef SHAKEDOWN_REFFS_H
#define SHAKEDOWN_REFFS_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define SHAKEDOWN_REFFS_GROUP 0xF5
/* With the terminating zero. Paths are absolute and seen by the server; else EINVAL. */
#define SHAKEDOWN_REFFS_PATH_BYTES 4096

struct shakedown_reffs_pickle {
	__u64 key;
	char path[SHAKEDOWN_REFFS_PATH_BYTES];
};

struct shakedown_reffs_load {
	char path[SHAKEDOWN_REFFS_PATH_BYTES];
};

/* Keeps the state under a key, in place of what was kept there. */
#define SHAKEDOWN_REFFS_SAVE _IOW(SHAKEDOWN_REFFS_GROUP, 1, __u64)
/* Goes back to the state under a key, which stays kept. ENOENT: there is none. */
#define SHAKEDOWN_REFFS_RESTORE _IOW(SHAKEDOWN_REFFS_GROUP, 2, __u64)
/* Keeps the state under a key no longer. ENOENT: there is none. */
#define SHAKEDOWN_REFFS_DISCARD _IOW(SHAKEDOWN_REFFS_GROUP, 3, __u64)
/* Writes the state under a key to a file, which is made or replaced. ENOENT: there is no state under the key; EINVAL:
 * what is there is no file, but a device or the like; or what writing the file gave. */
#define SHAKEDOWN_REFFS_PICKLE _IOW(SHAKEDOWN_REFFS_GROUP, 4, struct shakedown_reffs_pickle)
/* Goes to the state that was written to a file. EBADMSG: the file is no such state, or is damaged; EINVAL: it is none,
 * but a pipe or the like; or what reading it gave. Inodes get new numbers, so all files that are open give ESTALE. */
#define SHAKEDOWN_REFFS_LOAD _IOW(SHAKEDOWN_REFFS_GROUP, 5, struct shakedown_reffs_load)

#endif
