/* measure COMMAND...: runs a command with its standard output thrown away, and prints its wall time in seconds, its
 * peak memory in MiB and its exit code. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double seconds_now(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int main(int argc, char **argv) {
    if (argc < 2)
        return 2;
    double began = seconds_now();
    pid_t child = fork();
    if (child < 0)
        return 3;
    if (child == 0) {
        int nowhere = open("/dev/null", O_WRONLY);
        if (nowhere < 0 || dup2(nowhere, STDOUT_FILENO) < 0)
            _exit(127);
        (void)execvp(argv[1], argv + 1);
        perror(argv[1]);
        _exit(127);
    }
    int status = 0;
    if (waitpid(child, &status, 0) < 0)
        return 3;
    struct rusage usage;
    if (getrusage(RUSAGE_CHILDREN, &usage) != 0)
        return 3;
    printf("%.3f %.1f %d\n", seconds_now() - began, (double)usage.ru_maxrss / 1024.0,
           WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
    return 0;
}
