/* Put before the C library (LD_PRELOAD): counts the calls that reach files, pipes and sockets, and lets one of them fail.
 *
 * Counted is what happens between fault_arm() and fault_disarm(), on any thread, whoever asks: the interpreter, the C
 * accelerator, ctypes. What the C library does inside itself (the reading of a folder) is counted by the name of the
 * function that does it. A close that fails has closed, as on Linux. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

enum mode { COUNT, FAIL, SHORT_ONCE, SHORT_ALWAYS, LIE };

static volatile int armed, mode, number;
static volatile long nth, times, most, divide;
static long calls;
static const char *hit, *names[65536];

void fault_arm(int new_mode, long new_nth, long new_times, int new_number, long new_most, long new_divide) {
    mode = new_mode, nth = new_nth, times = new_times, number = new_number, most = new_most, divide = new_divide;
    calls = 0;
    hit = NULL;
    __atomic_store_n(&armed, 1, __ATOMIC_SEQ_CST);
}

long fault_disarm(void) {
    __atomic_store_n(&armed, 0, __ATOMIC_SEQ_CST);
    return calls;
}

/* The function that failed, or NULL if none did. */
const char *fault_hit(void) { return hit; }

const char *fault_name(long at) { return at >= 0 && at < calls && at < 65536 ? names[at] : ""; }

/* Whether this call is the one (or one of those) to be dealt with. */
static int chosen(const char *name) {
    if (!armed)
        return 0;
    long mine = __atomic_add_fetch(&calls, 1, __ATOMIC_SEQ_CST);
    if (mine <= 65536)
        names[mine - 1] = name;
    return mine >= nth && mine < nth + times;
}

static int fails(const char *name) {
    if (!chosen(name) || mode != FAIL)
        return 0;
    hit = name;
    errno = number;
    return 1;
}

/* How much of `size` a read may give. */
static size_t allowed(const char *name, size_t size, int *failed) {
    int mine = chosen(name);
    *failed = 0;
    if (!armed)
        return size;
    if (mode == FAIL && mine) {
        hit = name;
        errno = number;
        *failed = 1;
    } else if ((mode == SHORT_ONCE && mine) || mode == SHORT_ALWAYS) {
        size_t less = most ? (size_t)most : (size + 1) / 2;
        if (less < size) {
            hit = name;
            return less;
        }
    }
    return size;
}

/* `divide` 0: no size at all; 2: half of it; -2: twice as much. Only of files with contents. */
static void lie(struct stat *status) {
    if (!armed || mode != LIE || !S_ISREG(status->st_mode))
        return;
    hit = "size";
    status->st_size = divide == 0 ? 0 : divide > 0 ? status->st_size / divide : status->st_size * -divide;
}

#define REAL(name) \
    static __typeof__(&name) real; \
    if (real == NULL) \
        real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

#define PLAIN(type, failed, name, parameters, arguments) \
    type name parameters { \
        REAL(name); \
        return fails(#name) ? failed : real arguments; \
    }

#define OPENS(name, first, ...) \
    int name(first const char *path, int flags, ...) { \
        REAL(name); \
        va_list rest; \
        va_start(rest, flags); \
        unsigned permissions = va_arg(rest, unsigned); \
        va_end(rest); \
        return fails(#name) ? -1 : real(__VA_ARGS__ path, flags, permissions); \
    }
#define NOTHING
#define FOLDER int folder,
OPENS(open, NOTHING)
OPENS(open64, NOTHING)
OPENS(openat, FOLDER, folder, )
OPENS(openat64, FOLDER, folder, )

enum { OPENAT2 = 437 }; /* on every architecture; other threads ask for other things this way */

long syscall(long what, ...) {
    REAL(syscall);
    va_list rest;
    long a[6];
    va_start(rest, what);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(rest, long);
    va_end(rest);
    return fails(what == OPENAT2 ? "openat2" : "syscall") ? -1 : real(what, a[0], a[1], a[2], a[3], a[4], a[5]);
}

int close(int fd) {
    REAL(close);
    int failed = fails("close");
    int result = real(fd);
    if (failed)
        errno = number;
    return failed ? -1 : result;
}

#define READS(name, parameters, ...) \
    ssize_t name parameters { \
        REAL(name); \
        int failed; \
        size = allowed(#name, size, &failed); \
        return failed ? -1 : real(__VA_ARGS__); \
    }
READS(read, (int fd, void *to, size_t size), fd, to, size)
READS(pread, (int fd, void *to, size_t size, off_t at), fd, to, size, at)
READS(pread64, (int fd, void *to, size_t size, off64_t at), fd, to, size, at)

/* One buffer is all that is ever given here. */
#define READS_PIECES(name, place) \
    ssize_t name(int fd, const struct iovec *to, int count, place at) { \
        REAL(name); \
        int failed; \
        struct iovec first = count ? *to : (struct iovec){NULL, 0}; \
        first.iov_len = allowed(#name, first.iov_len, &failed); \
        return failed ? -1 : real(fd, count == 1 ? &first : to, count, at); \
    }
READS_PIECES(preadv, off_t)
READS_PIECES(preadv64, off64_t)

#define TELLS(name, parameters, ...) \
    int name parameters { \
        REAL(name); \
        if (fails(#name)) \
            return -1; \
        int result = real(__VA_ARGS__); \
        if (result == 0) \
            lie((struct stat *)status); \
        return result; \
    }
TELLS(fstat, (int fd, struct stat *status), fd, status)
TELLS(fstat64, (int fd, struct stat64 *status), fd, status)
TELLS(stat, (const char *path, struct stat *status), path, status)
TELLS(stat64, (const char *path, struct stat64 *status), path, status)
TELLS(lstat, (const char *path, struct stat *status), path, status)
TELLS(lstat64, (const char *path, struct stat64 *status), path, status)
TELLS(fstatat, (int fd, const char *path, struct stat *status, int how), fd, path, status, how)
TELLS(fstatat64, (int fd, const char *path, struct stat64 *status, int how), fd, path, status, how)

PLAIN(int, -1, fstatfs, (int fd, struct statfs *status), (fd, status))
PLAIN(int, -1, fstatfs64, (int fd, struct statfs64 *status), (fd, status))
PLAIN(ssize_t, -1, readlink, (const char *path, char *to, size_t size), (path, to, size))
PLAIN(ssize_t, -1, readlinkat, (int fd, const char *path, char *to, size_t size), (fd, path, to, size))
PLAIN(off_t, -1, lseek, (int fd, off_t at, int from), (fd, at, from))
PLAIN(off64_t, -1, lseek64, (int fd, off64_t at, int from), (fd, at, from))
PLAIN(int, -1, access, (const char *path, int how), (path, how))
PLAIN(int, -1, dup, (int fd), (fd))
PLAIN(int, -1, dup2, (int fd, int to), (fd, to))
PLAIN(int, -1, dup3, (int fd, int to, int flags), (fd, to, flags))
PLAIN(int, -1, memfd_create, (const char *name, unsigned flags), (name, flags))
PLAIN(int, -1, pipe, (int fds[2]), (fds))
PLAIN(int, -1, pipe2, (int fds[2], int flags), (fds, flags))
PLAIN(ssize_t, -1, write, (int fd, const void *from, size_t size), (fd, from, size))
PLAIN(int, -1, rename, (const char *from, const char *to), (from, to))
PLAIN(int, -1, renameat, (int one, const char *from, int other, const char *to), (one, from, other, to))
PLAIN(int, -1, unlink, (const char *path), (path))
PLAIN(int, -1, mkdir, (const char *path, mode_t how), (path, how))
PLAIN(int, -1, utimensat, (int fd, const char *path, const struct timespec when[2], int how), (fd, path, when, how))

/* Folders are read inside the C library: the functions that do it stand for openat and getdents64. */
PLAIN(DIR *, NULL, opendir, (const char *path), (path))
PLAIN(DIR *, NULL, fdopendir, (int fd), (fd))
PLAIN(struct dirent *, NULL, readdir, (DIR * folder), (folder))
PLAIN(struct dirent64 *, NULL, readdir64, (DIR * folder), (folder))

PLAIN(int, -1, socketpair, (int family, int kind, int protocol, int fds[2]), (family, kind, protocol, fds))
PLAIN(ssize_t, -1, sendmsg, (int fd, const struct msghdr *message, int flags), (fd, message, flags))
PLAIN(ssize_t, -1, send, (int fd, const void *from, size_t size, int flags), (fd, from, size, flags))
PLAIN(ssize_t, -1, recv, (int fd, void *to, size_t size, int flags), (fd, to, size, flags))
PLAIN(int, -1, getsockname, (int fd, struct sockaddr *name, socklen_t *size), (fd, name, size))
PLAIN(pid_t, -1, waitpid, (pid_t child, int *status, int how), (child, status, how))
PLAIN(int, -1, poll, (struct pollfd * fds, nfds_t count, int milliseconds), (fds, count, milliseconds))

#define CONTROLS(name, kind) \
    int name(int fd, kind what, ...) { \
        REAL(name); \
        va_list rest; \
        va_start(rest, what); \
        void *argument = va_arg(rest, void *); \
        va_end(rest); \
        return fails(#name) ? -1 : real(fd, what, argument); \
    }
CONTROLS(fcntl, int)
CONTROLS(fcntl64, int)
CONTROLS(ioctl, unsigned long)
