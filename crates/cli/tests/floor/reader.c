/* Random reads of 4 KiB over NVMe/TCP, from the specifications (NVMe/TCP Transport 1.0, NVMe Base 2.1): the admin queue, one
 * I/O queue, no digests. It polls its socket, as SPDK's initiator does.
 *
 *   reader PORT NQN DEPTH SECONDS BLOCKS      prints reads a second, and p50 and p99 in microseconds
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MOST 128
static const char *HOST = "nqn.2014-08.org.nvmexpress:uuid:0b7d1f7c-5e0a-4c55-9c51-9d6a3ad11c02";

struct connection {
    int socket;
    size_t held;
    uint8_t bytes[1 << 20];
};

static void end(const char *why) {
    fprintf(stderr, "reader: %s: %s\n", why, strerror(errno));
    exit(1);
}

static uint64_t now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000ull + time.tv_nsec;
}

static void put(struct connection *to, const void *from, size_t length) {
    for (size_t sent = 0; sent < length;) {
        ssize_t more = send(to->socket, (const char *)from + sent, length - sent, 0);
        if (more <= 0 && errno != EAGAIN) end("send");
        if (more > 0) sent += more;
    }
}

static uint32_t le32(const uint8_t *at) { return at[0] | at[1] << 8 | at[2] << 16 | (uint32_t)at[3] << 24; }
static void put32(uint8_t *at, uint32_t value) { memcpy(at, &value, 4); }
static void put16(uint8_t *at, uint16_t value) { memcpy(at, &value, 2); }

/* The length of the whole PDU at the front, 0 while it is not whole; polls once. */
static size_t poll_pdu(struct connection *from) {
    if (from->held >= 8 && from->held >= le32(from->bytes + 4)) return le32(from->bytes + 4);
    ssize_t more = recv(from->socket, from->bytes + from->held, sizeof from->bytes - from->held, MSG_DONTWAIT);
    if (more == 0 || (more < 0 && errno != EAGAIN)) end("recv");
    if (more > 0) from->held += more;
    return from->held >= 8 && from->held >= le32(from->bytes + 4) ? le32(from->bytes + 4) : 0;
}

static size_t await_pdu(struct connection *from) {
    size_t length;
    while (!(length = poll_pdu(from))) {}
    return length;
}

static void command(struct connection *to, const uint8_t entry[64], const void *data, size_t length) {
    uint8_t pdu[72 + 1024] = {4, 0, 72, length ? 72 : 0};
    put32(pdu + 4, 72 + length);
    memcpy(pdu + 8, entry, 64);
    if (length) memcpy(pdu + 72, data, length);
    put(to, pdu, 72 + length);
}

/* Its result, where it succeeds. */
static uint64_t completion(struct connection *from) {
    size_t length = await_pdu(from);
    if (from->bytes[0] != 5 || (from->bytes[22] | from->bytes[23] << 8) >> 1) end("a completion that is none");
    uint64_t result = le32(from->bytes + 8);
    from->held -= length;
    memmove(from->bytes, from->bytes + length, from->held);
    return result;
}

static struct connection *open_one(int port) {
    struct connection *it = calloc(1, sizeof *it);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int one = 1;
    it->socket = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(it->socket, (struct sockaddr *)&address, sizeof address)) end("connect");
    setsockopt(it->socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    uint8_t request[128] = {0, 0, 128, 0, 128};
    put(it, request, 128);
    size_t length = await_pdu(it);
    it->held -= length;
    return it;
}

static uint16_t join(struct connection *it, const char *nqn, uint16_t controller, uint16_t queue, uint16_t entries) {
    uint8_t entry[64] = {0x7f, 0x40, 1, 0, 1}, data[1024] = {7};
    put32(entry + 32, 1024);
    entry[39] = 0x01;
    put16(entry + 42, queue);
    put16(entry + 44, entries - 1);
    put16(data + 16, controller);
    strcpy((char *)data + 256, nqn);
    strcpy((char *)data + 512, HOST);
    command(it, entry, data, sizeof data);
    return completion(it);
}

static int by_size(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

int main(int count, char **args) {
    if (count != 6) end("reader PORT NQN DEPTH SECONDS BLOCKS");
    int port = atoi(args[1]), depth = atoi(args[3]);
    double seconds = atof(args[4]);
    uint64_t blocks = strtoull(args[5], NULL, 10), pages = blocks / 8, dice = 88172645463325252ull;
    if (depth < 1 || depth >= MOST) end("DEPTH");
    struct connection *admin = open_one(port);
    uint16_t controller = join(admin, args[2], 0xffff, 0, 32);
    uint8_t entry[64] = {0x7f, 0x40, 2};
    put32(entry + 44, 0x14), put32(entry + 48, 4 << 20 | 6 << 16 | 1);
    entry[39] = 0x5a;
    command(admin, entry, NULL, 0);
    completion(admin);
    struct connection *io = open_one(port);
    join(io, args[2], controller, 1, MOST);
    static uint64_t began[MOST];
    uint32_t *times = malloc(sizeof *times * 64000000ull), done = 0;
    int idle[MOST], free_count = depth, under_way = 0;
    for (int cid = 0; cid < depth; cid++) idle[cid] = cid;
    uint64_t start = now_ns(), stop = start + (uint64_t)(seconds * 1e9);
    static uint8_t batch[MOST * 72];
    while (under_way || now_ns() < stop) {
        size_t filled = 0;
        while (free_count && now_ns() < stop) {
            uint8_t *pdu = batch + filled;
            int cid = idle[--free_count];
            dice ^= dice << 13, dice ^= dice >> 7, dice ^= dice << 17;
            memset(pdu, 0, 72);
            pdu[0] = 4, pdu[2] = 72, pdu[8] = 2, pdu[9] = 0x40, pdu[12] = 1;
            put32(pdu + 4, 72), put16(pdu + 10, cid), put32(pdu + 40, 4096), put32(pdu + 48, dice % pages * 8);
            pdu[47] = 0x5a;
            put16(pdu + 56, 7);
            began[cid] = now_ns();
            filled += 72, under_way++;
        }
        if (filled) put(io, batch, filled);
        size_t at = 0;
        if (!poll_pdu(io)) continue;
        while (io->held - at >= 8 && io->held - at >= le32(io->bytes + at + 4)) {
            uint8_t *pdu = io->bytes + at;
            if (pdu[0] == 5) {
                if ((pdu[22] | pdu[23] << 8) >> 1) end("a read that failed");
                int cid = pdu[20] | pdu[21] << 8;
                times[done++] = now_ns() - began[cid];
                idle[free_count++] = cid, under_way--;
            } else if (pdu[0] != 7) end("an unknown PDU");
            at += le32(pdu + 4);
        }
        io->held -= at;
        memmove(io->bytes, io->bytes + at, io->held);
    }
    double took = (now_ns() - start) / 1e9;
    qsort(times, done, sizeof *times, by_size);
    printf("%.0f %.1f %.1f\n", done / took, times[done / 2] / 1e3, times[(size_t)(done * 0.99)] / 1e3);
    return 0;
}
