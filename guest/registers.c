/* Floating-point registers of the guest's processes on a processor with more than User Mode Linux knows
 * (AMX). It keeps 2,696 bytes of each process's XSAVE area (arch/x86/um/user-offsets.c), and the host takes
 * back a whole area or none. What lies beyond belongs to features that a process has to ask for
 * (arch_prctl), which none of the guest's does: it stays in its first state.
 * Source: Intel SDM 1, chapter 13 (XSAVE area, standard form). */
#include <elf.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

#define KEPT 2696
#define MOST 65536
/* XSTATE_BV: the features that are not in their first state; and those of AMX. */
#define HEADER 512
#define AMX (3ull << 17)

static unsigned char whole[MOST] __attribute__((aligned(64)));
static unsigned long length;

extern int __real_get_fp_registers(int pid, unsigned long *kept);
extern int __real_put_fp_registers(int pid, unsigned long *kept);

static int get(int pid)
{
	struct iovec area = { whole, sizeof(whole) };

	if (ptrace(PTRACE_GETREGSET, pid, (void *)NT_X86_XSTATE, &area))
		return -1;
	length = area.iov_len;
	return 0;
}

/* The host's area is longer than what is kept; the first process that is asked about tells. */
static int is_longer(int pid)
{
	if (!length && get(pid))
		length = 1;
	return length > KEPT;
}

int __wrap_get_fp_registers(int pid, unsigned long *kept)
{
	if (!is_longer(pid) || get(pid))
		return __real_get_fp_registers(pid, kept);
	memcpy(kept, whole, KEPT);
	return 0;
}

int __wrap_put_fp_registers(int pid, unsigned long *kept)
{
	struct iovec area = { whole, 0 };
	unsigned long long features;

	if (!is_longer(pid))
		return __real_put_fp_registers(pid, kept);
	memcpy(whole, kept, KEPT);
	memset(whole + KEPT, 0, length - KEPT);
	memcpy(&features, whole + HEADER, sizeof(features));
	features &= ~AMX;
	memcpy(whole + HEADER, &features, sizeof(features));
	area.iov_len = length;
	return ptrace(PTRACE_SETREGSET, pid, (void *)NT_X86_XSTATE, &area) ? -1 : 0;
}
