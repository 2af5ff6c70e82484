/* Saves, changes everything it made, restores: the tree must be what it was. Argument: a mounted reference. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shakedown_reffs.h"

int main(int argc, char **argv)
{
	__u64 key = 1, unknown = 2;
	char text[8] = "";
	struct stat stat;

	assert(argc == 2 && chdir(argv[1]) == 0);
	int dir = open(".", O_RDONLY | O_DIRECTORY);
	int file = open("kept", O_RDWR | O_CREAT | O_EXCL, 0600);
	assert(dir >= 0 && file >= 0 && write(file, "before", 6) == 6);
	assert(ioctl(dir, SHAKEDOWN_REFFS_SAVE, &key) == 0);

	assert(pwrite(file, "after!!", 7, 0) == 7 && rename("kept", "moved") == 0 && mkdir("new", 0700) == 0);
	assert(ioctl(dir, SHAKEDOWN_REFFS_RESTORE, &key) == 0);
	assert(access("moved", F_OK) == -1 && errno == ENOENT);
	assert(access("new", F_OK) == -1 && errno == ENOENT);
	assert(lstat("kept", &stat) == 0 && stat.st_size == 6);
	assert(pread(file, text, sizeof text, 0) == 6 && text[0] == 'b');

	struct shakedown_reffs_pickle pickle = { key, "relative" };
	struct shakedown_reffs_load load = { "relative" };
	assert(ioctl(dir, SHAKEDOWN_REFFS_PICKLE, &pickle) == -1 && errno == EINVAL);
	assert(ioctl(dir, SHAKEDOWN_REFFS_LOAD, &load) == -1 && errno == EINVAL);
	assert(ioctl(dir, SHAKEDOWN_REFFS_DISCARD, &key) == 0);
	assert(ioctl(dir, SHAKEDOWN_REFFS_RESTORE, &unknown) == -1 && errno == ENOENT);
	return 0;
}
