/* The randomness that User Mode Linux asks its host for, from a seed: the guest's UUIDs, hash seeds and
 * stack canaries are the same in every run. `make linux` links it before libc's getrandom, and in place of
 * the kernel's gathering from interrupts; the kernel's sources stay as they are. SplitMix64 (Steele, Lea,
 * Flood 2014). */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

static uint64_t state;
static int seeded;

ssize_t getrandom(void *buffer, size_t length, unsigned int flags)
{
	unsigned char *out = buffer;

	(void)flags;
	if (!seeded) {
		const char *seed = getenv("MANX_GUEST_SEED");

		state = seed ? strtoull(seed, NULL, 10) : 0;
		seeded = 1;
	}
	for (size_t done = 0; done < length; done += 8) {
		uint64_t z = state += 0x9e3779b97f4a7c15u;
		size_t left = length - done;

		z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
		z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
		z ^= z >> 31;
		memcpy(out + done, &z, left < 8 ? left : 8);
	}
	return length;
}

/* An interrupt finds the kernel at an instruction that depends on the host's scheduler, and this would go
 * into the guest's random numbers. */
void __wrap_add_interrupt_randomness(int irq)
{
	(void)irq;
}
