#define _GNU_SOURCE
#define _FILE_OFFSET_BITS 64

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/falloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#ifndef SYS_openat2
#define SYS_openat2 437
#endif
#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE 1
#define RENAME_EXCHANGE 2
#endif

/* The most that one system call transfers. */
#define TRANSFER_MAX 0x7ffff000u
/* Longer attribute values are refused. */
#define XATTR_MAX 65536u
/* What memory for direct transfers is aligned to. */
#define ALIGNMENT 4096u

/* The directory that stands for "/". */
static int root = -1;

/* Files that ops have opened. */
static int slots[256];

/* A file by its path, or by the slot that holds it open. */
struct file {
    const char *path;
    int slot;
};
#define PATH(p) ((struct file){.path = (p)})
#define SLOT(n) ((struct file){.slot = (n)})

/* ---- Telling ---- */

void op(const char *text)
{
    puts(text);
    fflush(stdout);
}

void result(int64_t value)
{
    if (value < 0)
        printf("    = error %d: %s\n", errno, strerror(errno));
    else
        printf("    = %lld\n", (long long)value);
}

int64_t fails(int error)
{
    errno = error;
    return -1;
}

/* ---- Finding: symlinks and ".." lead nowhere but below the root ---- */

int resolve(const char *path, uint64_t flags, unsigned mode)
{
    struct { uint64_t flags, mode, resolve; } how = {
        .flags = flags | O_CLOEXEC,
        .mode = flags & O_CREAT ? mode & 07777 : 0,
        .resolve = 0x10, /* RESOLVE_IN_ROOT */
    };
    return syscall(SYS_openat2, root, path, &how, sizeof how);
}

/* Closes what was opened for one op, without touching what the op reported. */
int64_t closing(int fd, int64_t value)
{
    int error = errno;
    close(fd);
    errno = error;
    return value;
}

/* Opens the directory of a path's last component, which is left in `name`. */
int parent(const char *path, const char **name)
{
    static char above[PATH_MAX];
    size_t end = strlen(path);
    if (end >= sizeof above)
        return fails(ENAMETOOLONG);
    while (end > 0 && path[end - 1] == '/')
        end--;
    while (end > 0 && path[end - 1] != '/')
        end--;
    memcpy(above, path, end);
    above[end] = 0;
    *name = path[end] && path[end] != '/' ? path + end : ".";
    return resolve(end ? above : "/", O_PATH | O_DIRECTORY, 0);
}

int get(struct file file, int flags)
{
    if (file.path)
        return resolve(file.path, flags, 0);
    return slots[file.slot] < 0 ? fails(EBADF) : slots[file.slot];
}

int64_t put(struct file file, int fd, int64_t value)
{
    return file.path ? closing(fd, value) : value;
}

/* A path that the kernel follows to exactly what this descriptor holds. */
const char *itself(int fd)
{
    static char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return path;
}

/* ---- Files ---- */

int64_t open_slot(const char *path, uint64_t flags, unsigned mode, int slot)
{
    int fd = resolve(path, flags, mode);
    if (fd < 0)
        return -1;
    if (slots[slot] >= 0)
        close(slots[slot]);
    slots[slot] = fd;
    return 0;
}

int64_t close_slot(int slot)
{
    int fd = slots[slot];
    slots[slot] = -1;
    return close(fd);
}

int64_t create_file(const char *path, unsigned mode)
{
    int fd = resolve(path, O_CREAT | O_EXCL | O_WRONLY, mode);
    return fd < 0 ? -1 : closing(fd, 0);
}

unsigned char *aligned(uint64_t len, int fill)
{
    size_t size = len < TRANSFER_MAX ? len : TRANSFER_MAX;
    size_t whole = (size + ALIGNMENT) / ALIGNMENT * ALIGNMENT;
    unsigned char *bytes = aligned_alloc(ALIGNMENT, whole);
    if (bytes)
        memset(bytes, fill, size);
    else
        errno = ENOMEM;
    return bytes;
}

/* Prints runs of equal bytes. */
void show(const unsigned char *bytes, int64_t count)
{
    for (int64_t start = 0, end; start < count; start = end) {
        for (end = start; end < count && bytes[end] == bytes[start];)
            end++;
        printf("    %lld x %02x\n", (long long)(end - start), bytes[start]);
    }
}

int64_t read_range(struct file file, uint64_t offset, uint64_t len)
{
    int fd = get(file, O_RDONLY);
    if (fd < 0)
        return -1;
    unsigned char *bytes = aligned(len, 0);
    int64_t count = bytes ? pread(fd, bytes, len, offset) : -1;
    int error = errno;
    show(bytes, count);
    free(bytes);
    errno = error;
    return put(file, fd, count);
}

/* `how` has O_APPEND to write at the end, and O_DIRECT to write directly. */
int64_t write_bytes(struct file file, uint64_t offset, uint64_t len, int fill, int how)
{
    int fd = get(file, O_WRONLY);
    if (fd < 0)
        return -1;
    int flags = fcntl(fd, F_GETFL);
    if (how && fcntl(fd, F_SETFL, flags | how) < 0)
        return put(file, fd, -1);
    unsigned char *bytes = aligned(len, fill);
    int64_t count = bytes ? pwrite(fd, bytes, len, offset) : -1;
    int error = errno;
    fcntl(fd, F_SETFL, flags);
    free(bytes);
    errno = error;
    return put(file, fd, count);
}

/* A shared mapping, which starts at the page that `offset` is in. `length` has no sense if it fails. */
unsigned char *map(int fd, uint64_t offset, uint64_t len, int protection, size_t *length)
{
    uint64_t skip = offset % sysconf(_SC_PAGESIZE);
    *length = len ? len + skip : 0;
    if (offset + len < offset || len + skip < len) {
        errno = EOVERFLOW;
        return MAP_FAILED;
    }
    return mmap(NULL, *length, protection, MAP_SHARED, fd, offset - skip);
}

/* `how` has O_APPEND to write at the end. */
int64_t write_mapped(struct file file, uint64_t offset, uint64_t len, int fill, int how)
{
    int fd = get(file, O_RDWR);
    struct stat stat;
    if (fd < 0)
        return -1;
    if (fstat(fd, &stat) < 0)
        return put(file, fd, -1);
    uint64_t size = stat.st_size;
    if (how & O_APPEND)
        offset = size;
    size_t length;
    unsigned char *bytes = map(fd, offset, len, PROT_READ | PROT_WRITE, &length);
    if (bytes == MAP_FAILED)
        return put(file, fd, -1);
    int64_t value = offset + len > size ? ftruncate(fd, offset + len) : 0;
    int error = errno;
    if (value == 0) {
        memset(bytes + (length - len), fill, len);
        value = len;
    }
    munmap(bytes, length);
    errno = error;
    return put(file, fd, value);
}

int64_t msync_range(struct file file, uint64_t offset, uint64_t len)
{
    int fd = get(file, O_RDWR);
    if (fd < 0)
        return -1;
    size_t length;
    unsigned char *bytes = map(fd, offset, len, PROT_READ, &length);
    if (bytes == MAP_FAILED)
        return put(file, fd, -1);
    int64_t value = msync(bytes, length, MS_SYNC);
    int error = errno;
    munmap(bytes, length);
    errno = error;
    return put(file, fd, value);
}

int64_t set_size(struct file file, uint64_t size)
{
    if (!file.path)
        return ftruncate(slots[file.slot], size);
    int fd = resolve(file.path, O_PATH, 0);
    return fd < 0 ? -1 : closing(fd, truncate(itself(fd), size));
}

int64_t allocate(struct file file, int mode, uint64_t offset, uint64_t len)
{
    int fd = get(file, O_WRONLY);
    return fd < 0 ? -1 : put(file, fd, fallocate(fd, mode, offset, len));
}

int64_t fsync_file(struct file file)
{
    int fd = get(file, O_RDONLY);
    return fd < 0 ? -1 : put(file, fd, fsync(fd));
}

int64_t fdatasync_file(struct file file)
{
    int fd = get(file, O_RDONLY);
    return fd < 0 ? -1 : put(file, fd, fdatasync(fd));
}

/* ---- Names ---- */

int64_t make_dir(const char *path, unsigned mode)
{
    const char *name;
    int dir = parent(path, &name);
    return dir < 0 ? -1 : closing(dir, mkdirat(dir, name, mode));
}

int64_t remove_dir(const char *path)
{
    const char *name;
    int dir = parent(path, &name);
    return dir < 0 ? -1 : closing(dir, unlinkat(dir, name, AT_REMOVEDIR));
}

int64_t unlink_name(const char *path)
{
    const char *name;
    int dir = parent(path, &name);
    return dir < 0 ? -1 : closing(dir, unlinkat(dir, name, 0));
}

int64_t rename_name(const char *from, const char *to, unsigned flags)
{
    const char *old, *new;
    int source = parent(from, &old);
    if (source < 0)
        return -1;
    int target = parent(to, &new);
    if (target < 0)
        return closing(source, -1);
    return closing(source, closing(target, syscall(SYS_renameat2, source, old, target, new, flags)));
}

int64_t link_name(const char *from, const char *to)
{
    const char *name;
    int file = resolve(from, O_PATH | O_NOFOLLOW, 0);
    if (file < 0)
        return -1;
    int dir = parent(to, &name);
    if (dir < 0)
        return closing(file, -1);
    return closing(file, closing(dir, linkat(AT_FDCWD, itself(file), dir, name, AT_SYMLINK_FOLLOW)));
}

int64_t make_symlink(const char *says, const char *path)
{
    const char *name;
    int dir = parent(path, &name);
    return dir < 0 ? -1 : closing(dir, symlinkat(says, dir, name));
}

/* ---- Attributes ---- */

int64_t set_mode(const char *path, unsigned mode)
{
    int fd = resolve(path, O_PATH, 0);
    return fd < 0 ? -1 : closing(fd, chmod(itself(fd), mode));
}

int64_t set_owner(const char *path, uid_t uid, gid_t gid)
{
    int fd = resolve(path, O_PATH, 0);
    return fd < 0 ? -1 : closing(fd, chown(itself(fd), uid, gid));
}

int64_t set_xattr(const char *path, const char *name, uint64_t len, int fill)
{
    static unsigned char bytes[XATTR_MAX];
    int fd = resolve(path, O_PATH, 0);
    if (fd < 0)
        return -1;
    memset(bytes, fill, sizeof bytes);
    return closing(fd, setxattr(itself(fd), name, bytes, len, 0));
}

int64_t remove_xattr(const char *path, const char *name)
{
    int fd = resolve(path, O_PATH, 0);
    return fd < 0 ? -1 : closing(fd, removexattr(itself(fd), name));
}

/* ---- The file system as a whole ---- */

int64_t sync_all(void)
{
    sync();
    return 0;
}

int64_t remount(void)
{
    puts("    note: to unmount and mount needs root; closed all slots and synced instead");
    for (int slot = 0; slot < 256; slot++) {
        if (slots[slot] >= 0)
            close(slots[slot]);
        slots[slot] = -1;
    }
    return syncfs(root);
}

/* ---- The program ---- */

void stop(const char *why)
{
    fprintf(stderr, "%s\n", why);
    exit(2);
}

/* Takes the directory, and finds out which part is to run. */
int enter(int argc, char **argv, int parts)
{
    static const char usage[] = "usage: ./a.out DIR [--after-recovery[=N]]";
    static const char after[] = "--after-recovery";
    int part = 0;
    if (argc != 2 && argc != 3)
        stop(usage);
    if (argc == 3) {
        const char *rest = argv[2] + strlen(after);
        if (strncmp(argv[2], after, strlen(after)) != 0 || (*rest && (*rest != '=' || (part = atoi(rest + 1)) < 1)))
            stop(usage);
        part = part ? part : 1;
    }
    if (part >= parts)
        stop("nothing happens in this trace after that recovery");
    root = open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (root < 0) {
        fprintf(stderr, "could not use %s: %s\n", argv[1], strerror(errno));
        exit(2);
    }
    int probe = resolve("/", O_PATH | O_DIRECTORY, 0);
    if (probe < 0)
        stop("could not stay below the directory: that takes openat2, which came with Linux 5.6");
    close(probe);
    memset(slots, -1, sizeof slots);
    umask(0); /* the mode of an op is the mode of the file */
    return part;
}
