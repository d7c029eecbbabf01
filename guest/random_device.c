/* C++'s std::random_device takes its numbers from the processor, which gives others in every run of the
 * guest. `init` lets programs load this one before libstdc++: numbers of the guest's kernel, which the
 * scenario's seed begins. It needs no libc, so any dynamic linker takes it. */
static long call3(long number, long one, long two, long three)
{
	long result;

	__asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(one), "S"(two), "d"(three) : "rcx", "r11", "memory");
	return result;
}

/* std::random_device::_M_getval() */
unsigned int _ZNSt13random_device9_M_getvalEv(void *self)
{
	unsigned int value = 0;

	(void)self;
	/* getrandom(2) */
	while (call3(318, (long)&value, sizeof(value), 0) != sizeof(value))
		;
	return value;
}
