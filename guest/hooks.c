// SPDX-License-Identifier: GPL-2.0
/* Around functions of the guest's kernel, by the linker's --wrap; the kernel's sources stay as they are.
 *
 * Costs: processor time that a system call, or a request of a disk, takes where the caller asks for it. A
 * system call takes its time before it is carried out. A request's time is taken when the system call that
 * is under way ends: where requests begin nobody may wait (interrupts may be off).
 *
 * Events: what the block layer is asked, what it asks of a disk, and what the disk has done, written to a
 * file of the host. It takes neither time nor memory of the guest, so that who looks moves nothing. */
#include <linux/blk-mq.h>
#include <linux/bio.h>
#include <linux/irqflags.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/timekeeping.h>
#include <linux/time-internal.h>
#include <os.h>

/* The file's number, as `manx linux` starts the guest. */
#define EVENTS 5

extern char *getenv(const char *name);
extern unsigned long strtoul(const char *text, char **end, int base);

struct uml_pt_regs;
void __real_handle_syscall(struct uml_pt_regs *registers);
void __wrap_handle_syscall(struct uml_pt_regs *registers);
void __real_blk_mq_submit_bio(struct bio *bio);
void __wrap_blk_mq_submit_bio(struct bio *bio);
void __real_blk_mq_start_request(struct request *request);
void __wrap_blk_mq_start_request(struct request *request);
void __real_blk_mq_end_request(struct request *request, blk_status_t status);
void __wrap_blk_mq_end_request(struct request *request, blk_status_t status);

struct event {
	u64 time;
	u64 sector;
	char disk[8];
	u32 bytes;
	u32 process;
	u8 kind;
	u8 operation;
	u8 none[6];
};

static unsigned long of_syscall, of_request, owed;
static int has_events;
static int known;

static unsigned long said(const char *name)
{
	char *text = getenv(name);

	return text ? strtoul(text, NULL, 10) : 0;
}

static void know(void)
{
	if (known)
		return;
	of_syscall = said("MANX_GUEST_SYSCALL_NS");
	of_request = said("MANX_GUEST_REQUEST_NS");
	has_events = said("MANX_GUEST_EVENTS");
	known = 1;
}

static void tell(char kind, struct gendisk *disk, u64 sector, u32 bytes, u8 operation)
{
	struct event event = { .sector = sector, .bytes = bytes, .kind = kind, .operation = operation };
	struct timespec64 now;

	if (!disk)
		return;
	/* The host's clock that the guest is given: exact, and to read it takes no time. */
	read_persistent_clock64(&now);
	event.time = now.tv_sec * NSEC_PER_SEC + now.tv_nsec;
	/* All of it where it is as long as that: nvme0n16. */
	memcpy(event.disk, disk->disk_name, strnlen(disk->disk_name, sizeof(event.disk)));
	event.process = task_pid_nr(current);
	os_write_file(EVENTS, &event, sizeof(event));
}

void __wrap_handle_syscall(struct uml_pt_regs *registers)
{
	unsigned long due;

	know();
	if (of_syscall)
		time_travel_ndelay(of_syscall);
	__real_handle_syscall(registers);
	/* Time that passes lets others run, who may owe more. */
	while (owed) {
		due = owed;
		owed = 0;
		time_travel_ndelay(due);
	}
}

void __wrap_blk_mq_submit_bio(struct bio *bio)
{
	know();
	if (has_events)
		tell('Q', bio->bi_bdev->bd_disk, bio->bi_iter.bi_sector, bio->bi_iter.bi_size, bio_op(bio));
	__real_blk_mq_submit_bio(bio);
}

void __wrap_blk_mq_start_request(struct request *request)
{
	know();
	owed += of_request;
	if (has_events)
		tell('D', request->q->disk, blk_rq_pos(request), blk_rq_bytes(request), req_op(request));
	__real_blk_mq_start_request(request);
}

void __wrap_blk_mq_end_request(struct request *request, blk_status_t status)
{
	if (has_events)
		tell('C', request->q->disk, blk_rq_pos(request), blk_rq_bytes(request), req_op(request));
	__real_blk_mq_end_request(request, status);
}
