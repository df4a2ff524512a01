/* The floor: what the machine itself needs for the same bytes, and a shim that reports a command's peak memory.
 *
 *   floor pread FILE BYTES REPEATS    two threads read FILE up to BYTES in 1 MiB blocks and look at nothing
 *   floor peak COMMAND...             runs COMMAND; its peak memory in KiB goes to the file that FLOOR_PEAK names
 *
 * `pread` prints the nanoseconds of each repeat. A small process starts COMMAND because the peak that the
 * kernel reports of a child includes what its parent held when it was started.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { BLOCK = 1 << 20 };

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

static int report_peak(char **command) {
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
    if (argc >= 3 && !strcmp(argv[1], "peak")) return report_peak(argv + 2);
    fprintf(stderr, "usage: floor pread FILE BYTES REPEATS | peak COMMAND...\n");
    return 2;
}
