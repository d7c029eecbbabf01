/*
 * Stock User Mode Linux 6.1 knows 2,696 bytes of a processor's extended state. On a processor with more (AMX) the host's
 * kernel refuses to set a part, and User Mode Linux panics at its first process: "ptrace set fp regs failed, errno = 14".
 * Loaded before it (LD_PRELOAD), this completes what it sets with what the process has.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static _Thread_local char whole[1 << 16];

long ptrace(enum __ptrace_request request, ...)
{
    va_list rest;
    va_start(rest, request);
    long pid = va_arg(rest, long);
    void *address = va_arg(rest, void *);
    void *data = va_arg(rest, void *);
    va_end(rest);
    long peeked = 0;
    int peeks = request == PTRACE_PEEKTEXT || request == PTRACE_PEEKDATA || request == PTRACE_PEEKUSER;
    if (request == PTRACE_SETREGSET && address == (void *)NT_X86_XSTATE) {
        struct iovec *part = data, all = { whole, sizeof whole };
        if (syscall(SYS_ptrace, PTRACE_GETREGSET, pid, address, &all) == 0 && part->iov_len < all.iov_len) {
            memcpy(whole, part->iov_base, part->iov_len);
            return syscall(SYS_ptrace, request, pid, address, &all);
        }
    }
    /* The system call puts what it peeks where its data points. */
    long done = syscall(SYS_ptrace, request, pid, address, peeks ? (void *)&peeked : data);
    return peeks && done == 0 ? peeked : done;
}
