/* The floors: what the machine itself needs for the same bytes, and a shim that tells a command's peak memory.
 *
 *   floor pread FILE BYTES REPEATS    two threads read FILE up to BYTES in 1 MiB blocks and look at nothing
 *   floor files REPEATS               open, fstat, read, close for every file named on standard input
 *   floor peak COMMAND...             runs COMMAND; its peak memory in KiB goes to the file that FLOOR_PEAK names
 *
 * `pread` and `files` print the nanoseconds of each repeat. A small process starts COMMAND because the peak that the
 * kernel tells of a child includes what its parent held when it was started.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { BLOCK = 1 << 20, MOST_FILES = 100000 };

static long long now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

struct share {
    int fd;
    long long from, to;
    char *buffer;
};

static void *read_share(void *given) {
    struct share *share = given;
    for (long long at = share->from; at < share->to;) {
        long long left = share->to - at;
        ssize_t got = pread(share->fd, share->buffer, left < BLOCK ? left : BLOCK, at);
        if (got <= 0) break;
        at += got;
    }
    return NULL;
}

static int time_pread(const char *path, long long bytes, int repeats) {
    static char buffers[2][BLOCK];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return perror(path), 1;
    for (int i = 0; i < repeats; i++) {
        long long start = now(), half = bytes / 2 / BLOCK * BLOCK;
        struct share first = {fd, 0, half, buffers[0]}, second = {fd, half, bytes, buffers[1]};
        pthread_t helper;
        int threaded = pthread_create(&helper, NULL, read_share, &first) == 0;
        if (!threaded) read_share(&first);
        read_share(&second);
        if (threaded) pthread_join(helper, NULL);
        printf("%lld\n", now() - start);
    }
    return 0;
}

static int time_files(int repeats) {
    static char *paths[MOST_FILES], buffer[BLOCK];
    char line[4096];
    int count = 0;
    while (count < MOST_FILES && fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = 0;
        paths[count++] = strdup(line);
    }
    for (int i = 0; i < repeats; i++) {
        long long start = now();
        for (int k = 0; k < count; k++) {
            struct stat status;
            int fd = open(paths[k], O_RDONLY | O_CLOEXEC);
            if (fd < 0 || fstat(fd, &status)) return perror(paths[k]), 1;
            if (pread(fd, buffer, sizeof buffer, 0) < 0) return perror(paths[k]), 1;
            close(fd);
        }
        printf("%lld\n", now() - start);
    }
    return 0;
}

static int tell_peak(char **command) {
    pid_t child = fork();
    if (child < 0) return perror("fork"), 1;
    if (child == 0) {
        execvp(command[0], command);
        perror(command[0]);
        _exit(127);
    }
    int status = 0;
    waitpid(child, &status, 0);
    struct rusage usage;
    getrusage(RUSAGE_CHILDREN, &usage);
    FILE *out = fopen(getenv("FLOOR_PEAK") ? getenv("FLOOR_PEAK") : "/dev/null", "w");
    if (out) {
        fprintf(out, "%ld\n", usage.ru_maxrss);
        fclose(out);
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int main(int argc, char **argv) {
    if (argc == 5 && !strcmp(argv[1], "pread")) return time_pread(argv[2], atoll(argv[3]), atoi(argv[4]));
    if (argc == 3 && !strcmp(argv[1], "files")) return time_files(atoi(argv[2]));
    if (argc >= 3 && !strcmp(argv[1], "peak")) return tell_peak(argv + 2);
    fprintf(stderr, "usage: floor pread FILE BYTES REPEATS | files REPEATS | peak COMMAND...\n");
    return 2;
}
