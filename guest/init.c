/* The first process of the guest of `manx linux`: mounts the host's files under an overlay in memory, runs
 * the job, passes on what it says, and tells the calendar when it begins and how it ended.
 *
 * It is started in a folder that holds `init`, the mount points, and `job`: words that end with a zero byte,
 * the root's folder on the host, the working folder, then the command. Where it holds `before`, what a guest
 * said before the power failed, that is /run/manx-before. Where it holds `image`, words too, the root is a file
 * system in that file of the root's folder: the file's name, the kind of the file system, its options. Where it
 * holds `subsystem`, its name and that of its last namespace, that NVMe subsystem is the host's at port 4420: what is sent to this port of 127.0.0.1
 * goes there over a virtio socket, and the kernel is connected to it. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/loop.h>
#include <linux/vm_sockets.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#define WORDS 4096
#define JOB (1 << 20)

/* Marks to the calendar: the kind in the upper half, a number in the lower. */
#define BEGIN 1ull
#define END 2ull
#define FAILED 3ull

static char job[JOB];
static char *words[WORDS + 1];

/* The calendar hears of it at this instant of virtual time. */
static void mark(uint64_t kind, uint32_t number)
{
	int file = open("/sys/kernel/um-ext-time/bc-message", O_WRONLY | O_CLOEXEC);

	if (file >= 0) {
		dprintf(file, "0x%llx", (unsigned long long)(kind << 32 | number));
		close(file);
	}
}

static void off(void)
{
	reboot(RB_POWER_OFF);
	for (;;)
		pause();
}

static void fail(const char *what)
{
	fprintf(stderr, "manx guest: %s: %s\n", what, strerror(errno));
	mark(FAILED, errno);
	off();
}

static void put(const char *kind, const char *on, unsigned long flags, const char *options)
{
	if (mount(kind, on, kind, flags, options))
		fail(on);
}

static void folder(const char *path, mode_t mode)
{
	if (mkdir(path, mode) && errno != EEXIST)
		fail(path);
}

static void read_job(void)
{
	int file = open("/job", O_RDONLY | O_CLOEXEC), count = 0;
	ssize_t length = 0, got;

	if (file < 0)
		fail("/job");
	while ((got = read(file, job + length, sizeof(job) - 1 - length)) > 0)
		length += got;
	close(file);
	for (char *at = job; at < job + length && count < WORDS; at += strlen(at) + 1)
		words[count++] = at;
	if (count < 3) {
		errno = EINVAL;
		fail("/job");
	}
}

/* The file system in a file of the host's folder `root`, read only; false where there is no such file asked for. */
static int mount_image(const char *root)
{
	static char text[8192], *about[3];
	struct loop_config config = { .info.lo_flags = LO_FLAGS_READ_ONLY | LO_FLAGS_AUTOCLEAR };
	int file = open("/image", O_RDONLY | O_CLOEXEC), control, disk, number;
	ssize_t length;

	if (file < 0)
		return 0;
	length = read(file, text, sizeof(text) - 1);
	close(file);
	about[0] = text;
	for (int word = 1; word < 3; word++)
		about[word] = about[word - 1] + strlen(about[word - 1]) + 1;
	if (length <= 0 || about[2] - text > length) {
		errno = EINVAL;
		fail("/image");
	}
	if (mount("none", "/host", "hostfs", MS_RDONLY, root) || chdir("/host"))
		fail(root);
	config.fd = open(about[0], O_RDONLY | O_CLOEXEC);
	control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
	number = ioctl(control, LOOP_CTL_GET_FREE);
	if ((int)config.fd < 0 || number != 0)
		fail(about[0]);
	disk = open("/dev/loop0", O_RDONLY | O_CLOEXEC);
	if (disk < 0 || ioctl(disk, LOOP_CONFIGURE, &config))
		fail("/dev/loop0");
	if (mount("/dev/loop0", "/lower", about[1], MS_RDONLY, about[2]) || chdir("/"))
		fail(about[0]);
	close(disk);
	close(control);
	close(config.fd);
	return 1;
}

static void mount_all(const char *root)
{
	if (!mount_image(root) && mount("none", "/lower", "hostfs", MS_RDONLY, root))
		fail(root);
	put("tmpfs", "/upper", 0, "mode=755,size=90%");
	folder("/upper/data", 0755);
	folder("/upper/work", 0755);
	put("overlay", "/new", 0, "lowerdir=/lower,upperdir=/upper/data,workdir=/upper/work");
	folder("/new/proc", 0555);
	folder("/new/sys", 0555);
	folder("/new/dev", 0755);
	folder("/new/mnt", 0755);
	put("proc", "/new/proc", 0, NULL);
	put("sysfs", "/new/sys", 0, NULL);
	put("devtmpfs", "/new/dev", 0, NULL);
	folder("/new/dev/pts", 0755);
	folder("/new/dev/shm", 01777);
	put("devpts", "/new/dev/pts", 0, "mode=620,ptmxmode=666");
	put("tmpfs", "/new/dev/shm", 0, "mode=1777");
	if (symlink("/proc/self/fd", "/new/dev/fd") && errno != EEXIST)
		fail("/dev/fd");
}

/* A file of the first root, if it is there, in the one that the command sees. True when it is. */
static int hand_on(const char *name, const char *as, mode_t mode)
{
	char buffer[65536];
	int from = open(name, O_RDONLY | O_CLOEXEC), to;
	ssize_t got;

	if (from < 0)
		return 0;
	folder("/new/run", 0755);
	to = open(as, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
	if (to < 0)
		fail(as);
	while ((got = read(from, buffer, sizeof(buffer))) > 0)
		if (write(to, buffer, got) != got)
			fail(as);
	close(from);
	close(to);
	return 1;
}

/* The words in a file of the first root; none where there is no such file. */
static const char *read_name(const char *path)
{
	static char name[512];
	int file = open(path, O_RDONLY | O_CLOEXEC);

	if (file < 0)
		return NULL;
	if (read(file, name, sizeof(name) - 1) <= 0)
		fail(path);
	close(file);
	return name;
}

static void network(void)
{
	struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };
	int file = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (file >= 0) {
		ioctl(file, SIOCSIFFLAGS, &lo);
		close(file);
	}
}

#define PORT 4420
#define STREAMS 32

/* Two ends of a stream, and for each what it said and the other has not taken. */
struct stream {
	int end[2];
	size_t length[2], sent[2];
	char bytes[2][65536];
};

static struct stream streams[STREAMS];

static void shut(struct stream *of)
{
	close(of->end[0]);
	close(of->end[1]);
	of->end[0] = -1;
}

/* Passes on what one end said, and takes more of it; false at its end. */
static int relay(struct stream *of, int from)
{
	ssize_t done;

	if (of->length[from] == 0) {
		done = read(of->end[from], of->bytes[from], sizeof(of->bytes[from]));
		if (done == 0 || (done < 0 && errno != EAGAIN))
			return 0;
		of->length[from] = done > 0 ? done : 0;
		of->sent[from] = 0;
	}
	while (of->sent[from] < of->length[from]) {
		done = send(of->end[!from], of->bytes[from] + of->sent[from], of->length[from] - of->sent[from], MSG_NOSIGNAL);
		if (done < 0)
			return errno == EAGAIN;
		of->sent[from] += done;
	}
	of->length[from] = 0;
	return 1;
}

static void accept_one(int listener)
{
	struct sockaddr_vm host = { .svm_family = AF_VSOCK, .svm_cid = VMADDR_CID_HOST, .svm_port = PORT };
	int one = 1, there = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	int here = socket(AF_VSOCK, SOCK_STREAM | SOCK_CLOEXEC, 0);

	for (int number = 0; there >= 0 && number < STREAMS; number++) {
		struct stream *of = &streams[number];

		if (of->end[0] >= 0)
			continue;
		if (connect(here, (struct sockaddr *)&host, sizeof(host)) || fcntl(here, F_SETFL, O_NONBLOCK))
			break;
		setsockopt(there, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
		of->end[0] = there;
		of->end[1] = here;
		of->length[0] = of->length[1] = 0;
		return;
	}
	close(there);
	close(here);
}

/* Streams between a port of 127.0.0.1 and the host; it does not return. */
static void relay_all(int listener)
{
	for (int number = 0; number < STREAMS; number++)
		streams[number].end[0] = -1;
	for (;;) {
		struct pollfd all[1 + 2 * STREAMS] = { { listener, POLLIN, 0 } };

		for (int at = 0; at < 2 * STREAMS; at++) {
			struct stream *of = &streams[at / 2];
			int which = at % 2;

			all[1 + at].fd = of->end[0] < 0 ? -1 : of->end[which];
			all[1 + at].events = (of->length[which] ? 0 : POLLIN) | (of->length[!which] ? POLLOUT : 0);
		}
		if (poll(all, 1 + 2 * STREAMS, -1) < 0)
			continue;
		for (int at = 0; at < 2 * STREAMS; at++) {
			struct stream *of = &streams[at / 2];

			if (all[1 + at].revents && of->end[0] >= 0 && !(relay(of, 0) && relay(of, 1)))
				shut(of);
		}
		if (all[0].revents)
			accept_one(listener);
	}
}

/* Connects the kernel to the subsystem, by the relay. */
static void connect_nvme(const char *name)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(PORT), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int one = 1, listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), fabrics;
	const char *last = name + strlen(name) + 1;

	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(listener, (struct sockaddr *)&at, sizeof(at)) || listen(listener, 16))
		fail("127.0.0.1:4420");
	if (fork() == 0)
		relay_all(listener);
	close(listener);
	fabrics = open("/dev/nvme-fabrics", O_RDWR | O_CLOEXEC);
	if (fabrics < 0 || dprintf(fabrics, "nqn=%s,transport=tcp,traddr=127.0.0.1,trsvcid=%d,nr_io_queues=1,keep_alive_tmo=0,"
		"hostnqn=nqn.2014-08.org.nvmexpress:uuid:6d616e78-0000-4000-8000-000000000001,"
		"hostid=6d616e78-0000-4000-8000-000000000001", name, PORT) < 0)
		fail("/dev/nvme-fabrics");
	close(fabrics);
	/* The kernel looks for namespaces by itself, one after the other. */
	for (int wait = 0; wait < 1000 && access(last, F_OK); wait++)
		usleep(1000);
	if (access(last, F_OK))
		fail(last);
}

/* A line of the guest that goes to the caller as it is. */
static int line(const char *name)
{
	struct termios raw;
	int file = open(name, O_WRONLY | O_NOCTTY | O_CLOEXEC);

	if (file < 0)
		fail(name);
	if (tcgetattr(file, &raw) == 0) {
		cfmakeraw(&raw);
		tcsetattr(file, TCSANOW, &raw);
	}
	return file;
}

static void command(int out, int err)
{
	int nothing = open("/dev/null", O_RDONLY);

	setsid();
	dup2(nothing, 0);
	dup2(out, 1);
	dup2(err, 2);
	if (chdir(words[1]) && chdir("/"))
		_exit(126);
	execvp(words[2], words + 2);
	dprintf(2, "%s: %s\n", words[2], strerror(errno));
	_exit(errno == ENOENT ? 127 : 126);
}

/* Passes on what lies in a pipe; 0 at its end or when there is nothing. */
static int pass(int from, int to)
{
	static char buffer[65536];
	ssize_t got = read(from, buffer, sizeof(buffer)), done = 0, put;

	while (got > 0 && done < got) {
		put = write(to, buffer + done, got - done);
		if (put < 0 && errno != EINTR && errno != EAGAIN)
			fail("output");
		done += put > 0 ? put : 0;
	}
	return got > 0;
}

static void on_child(int signal)
{
	(void)signal;
}

int main(void)
{
	int out[2], err[2], status = 0, lines[2], preloads;
	const char *subsystem;
	struct sigaction action = { .sa_handler = on_child };
	sigset_t child, before;
	pid_t pid, ended;

	put("sysfs", "/sys", 0, NULL);
	put("devtmpfs", "/dev", 0, NULL);
	read_job();
	lines[0] = line("/dev/tty1");
	lines[1] = line("/dev/tty2");
	mount_all(words[0]);
	/* After a power loss: what the guest before had said. */
	hand_on("/before", "/new/run/manx-before", 0644);
	subsystem = read_name("/subsystem");
	preloads = hand_on("/random_device.so", "/new/run/manx-random_device.so", 0755);
	if (chroot("/new") || chdir("/"))
		fail("/new");
	/* A number that the command writes here is its own mark. */
	folder("/run", 0755);
	unlink("/run/manx-mark");
	if (symlink("/sys/kernel/um-ext-time/bc-message", "/run/manx-mark"))
		fail("/run/manx-mark");
	network();
	if (subsystem)
		connect_nvme(subsystem);
	sethostname("manx", 4);
	clearenv();
	setenv("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", 1);
	setenv("HOME", "/root", 1);
	setenv("LANG", "C.UTF-8", 1);
	if (preloads)
		setenv("LD_PRELOAD", "/run/manx-random_device.so", 1);
	if (pipe2(out, O_CLOEXEC | O_NONBLOCK) || pipe2(err, O_CLOEXEC | O_NONBLOCK))
		fail("pipe");
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigaction(SIGCHLD, &action, NULL);
	sigprocmask(SIG_BLOCK, &child, &before);
	mark(BEGIN, 0);
	pid = fork();
	if (pid < 0)
		fail("fork");
	if (pid == 0) {
		sigprocmask(SIG_SETMASK, &before, NULL);
		fcntl(out[1], F_SETFL, 0);
		fcntl(err[1], F_SETFL, 0);
		command(out[1], err[1]);
	}
	for (;;) {
		struct pollfd both[] = { { out[0], POLLIN, 0 }, { err[0], POLLIN, 0 } };
		int state;

		if (ppoll(both, 2, NULL, &before) > 0) {
			pass(out[0], lines[0]);
			pass(err[0], lines[1]);
		}
		while ((ended = waitpid(-1, &state, WNOHANG)) > 0)
			if (ended == pid)
				pid = 0, status = state;
		if (pid == 0)
			break;
	}
	while (pass(out[0], lines[0]) | pass(err[0], lines[1]))
		;
	tcdrain(lines[0]);
	tcdrain(lines[1]);
	mark(END, WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
	off();
	return 0;
}
