/* The floor: what the machine itself needs for the same bytes, and a shim that reports a command's peak memory.
 *
 *   floor pread FILE BYTES REPEATS    reads FILE up to BYTES in blocks of 256 KiB and looks at nothing
 *   floor peak COMMAND...             runs COMMAND; its peak memory in KiB goes to the file that FLOOR_PEAK names
 *
 * `pread` prints the nanoseconds of each repeat. A small process starts COMMAND because the peak that the
 * kernel reports of a child includes what its parent held when it was started.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { BLOCK = 1 << 18 };

static long long now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static int time_pread(const char *path, long long bytes, int repeats) {
    static char buffer[BLOCK];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return perror(path), 1;
    for (int i = 0; i < repeats; i++) {
        long long start = now();
        for (long long at = 0; at < bytes;) {
            long long left = bytes - at;
            ssize_t got = pread(fd, buffer, left < BLOCK ? left : BLOCK, at);
            if (got <= 0) break;
            at += got;
        }
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
