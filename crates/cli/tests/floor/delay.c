/* A plug-in of nbdkit whose reads sleep: clock_nanosleep for DELAY microseconds. */
#define NBDKIT_API_VERSION 2
#define THREAD_MODEL NBDKIT_THREAD_MODEL_PARALLEL
#include <nbdkit-plugin.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void *delay_open(int readonly) { return NBDKIT_HANDLE_NOT_NEEDED; }
static int64_t delay_get_size(void *handle) { return 160 << 20; }

static int delay_pread(void *handle, void *buffer, uint32_t count, uint64_t offset, uint32_t flags) {
    struct timespec span = {0, 1000 * atol(getenv("DELAY"))};
    clock_nanosleep(CLOCK_MONOTONIC, 0, &span, NULL);
    memset(buffer, 0, count);
    return 0;
}

static struct nbdkit_plugin plugin = {
    .name = "delay", .open = delay_open, .get_size = delay_get_size, .pread = delay_pread};
NBDKIT_REGISTER_PLUGIN(plugin)
