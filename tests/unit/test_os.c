/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The directory back end and the clocks.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "testlib.h"

#include "base/mem.h"
#include "disk_contract.h"
#include "os/clock.h"
#include "os/disk.h"
#include "os/disk_files.h"

struct fixture {
	char path[64];
	struct disk *d;
};

static int setup(void **state)
{
	struct fixture *x = calloc(1, sizeof(*x));

	if (!x)
		return -1;
	snprintf(x->path, sizeof(x->path), "/tmp/akin-test-os-XXXXXX");
	if (!mkdtemp(x->path) ||
	    disk_files_new(x->path, true, &x->d, NULL))
		return -1;
	x->d->label = "data";
	*state = x;
	return 0;
}

static int remove_one(const char *path, const struct stat *st, int type,
		      struct FTW *ftw)
{
	return remove(path);
}

static int teardown(void **state)
{
	struct fixture *x = *state;
	int err;

	disk_free(x->d);
	err = nftw(x->path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	free(x);
	return err;
}

static void test_contract(void **state)
{
	struct fixture *x = *state;

	disk_contract(x->d);
}

static void test_contract_plain(void **state)
{
	struct fixture *x = *state;
	struct disk *d;

	setenv("AKIN_IO", "plain", 1);
	assert_int_equal(disk_files_new(x->path, true, &d, NULL), 0);
	unsetenv("AKIN_IO");
	d->label = "data";
	disk_contract(d);
	disk_free(d);
}

/* Whether this kernel or sandbox has io_uring; the rest works without. */
static bool have_ring(struct disk *d)
{
	struct ring_pool *p = ring_pool_new();
	struct disk_read r[2] = { { 0 } };
	u8 data[2] = { 0 };
	struct file *f;
	bool had_ring;

	assert_non_null(p);
	assert_int_equal(disk_write_file(d, "f", "ab", 2, NULL), 0);
	assert_int_equal(disk_open(d, "f", 0, &f, NULL), 0);
	r[0] = (struct disk_read){ f, &data[0], 1, 1, 1 };
	r[1] = (struct disk_read){ f, &data[1], 1, 0, 1 };
	had_ring = ring_pool_read(p, r, 2);
	assert_int_equal(file_close(f, NULL), 0);
	ring_pool_free(p);
	if (!had_ring)
		return false;
	assert_int_equal(r[0].result, 0);
	assert_int_equal(r[1].result, 0);
	assert_memory_equal(data, "ba", 2);
	return true;
}

static void *write_later(void *arg)
{
	const int *fd = arg;

	usleep(50000);
	return write(*fd, "b", 1) == 1 ? NULL : arg;
}

/*
 * A short read is continued in the ring. Only a pipe makes short reads at
 * will, and only a ring reads one at an offset.
 */
static void test_ring_short_read(void **state)
{
	struct fixture *x = *state;
	struct files_file pipe_file = { .file.disk = x->d };
	struct disk_read r[2] = { { 0 } };
	char data[3] = "";
	pthread_t t;
	void *failed;
	int fds[2];

	if (!have_ring(x->d)) {
		print_message("# skipped: no io_uring here\n");
		return;
	}
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(write(fds[1], "a", 1), 1);
	pipe_file.fd = fds[0];
	r[0] = (struct disk_read){ &pipe_file.file, data, 2, 0, 1 };
	r[1] = (struct disk_read){ &pipe_file.file, data, 0, 0, 1 };
	assert_int_equal(pthread_create(&t, NULL, write_later, &fds[1]), 0);
	assert_int_equal(file_pread_many(x->d, r, 2, NULL), 0);
	pthread_join(t, &failed);
	assert_null(failed);
	assert_int_equal(r[0].result, 0);
	assert_int_equal(r[1].result, 0);
	assert_string_equal(data, "ab");
	close(fds[0]);
	close(fds[1]);
}

/* A closed descriptor: the ring's error is asked again by plain means. */
static void test_ring_error(void **state)
{
	struct fixture *x = *state;
	struct files_file bad = { .file.disk = x->d, .fd = -1 };
	struct disk_read r[2] = { { 0 } };
	u8 data[2];

	r[0] = (struct disk_read){ &bad.file, &data[0], 1, 0, 1 };
	r[1] = (struct disk_read){ &bad.file, &data[1], 1, 0, 1 };
	assert_int_equal(file_pread_many(x->d, r, 2, NULL), 0);
	assert_int_equal(r[0].result, -AKIN_E_io);
	assert_int_equal(r[1].result, -AKIN_E_io);
}

#define THREADS 12	/* more than there are rings */

static void *read_loop(void *arg)
{
	struct file *f = arg;
	struct disk_read r[100];
	u8 data[100];
	size_t i, k, bad = 0;

	for (k = 0; k < 50; k++) {
		for (i = 0; i < 100; i++)
			r[i] = (struct disk_read){ f, &data[i], 1,
						   (i * 37 + k) % 200, 1 };
		if (file_pread_many(f->disk, r, 100, NULL))
			bad++;
		for (i = 0; i < 100; i++)
			bad += r[i].result || data[i] != (i * 37 + k) % 200;
	}
	return (void *)bad;
}

static void test_read_threads(void **state)
{
	struct fixture *x = *state;
	pthread_t t[THREADS];
	struct file *f;
	u8 all[200];
	void *bad;
	int i;

	for (i = 0; i < 200; i++)
		all[i] = (u8)i;
	assert_int_equal(disk_write_file(x->d, "f", all, 200, NULL), 0);
	assert_int_equal(disk_open(x->d, "f", 0, &f, NULL), 0);
	for (i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&t[i], NULL, read_loop, f), 0);
	for (i = 0; i < THREADS; i++) {
		pthread_join(t[i], &bad);
		assert_null(bad);
	}
	assert_int_equal(file_close(f, NULL), 0);
}

static void test_new_fails(void **state)
{
	struct akin_diag diag = { 0 };
	struct disk *d;

	assert_int_equal(disk_files_new("/nonexistent/akin", true, &d, &diag),
			 -AKIN_E_absent);
	assert_null(d);
	assert_string_equal(diag.text,
			    "/nonexistent/akin: No such file or directory");
	assert_int_equal(disk_files_new("/dev/null", true, &d, NULL),
			 -AKIN_E_absent);
}

static void test_readonly(void **state)
{
	struct fixture *x = *state;
	struct akin_diag diag = { 0 };
	struct file *f;
	struct disk *d;
	u8 c;

	assert_int_equal(disk_write_file(x->d, "f", "x", 1, NULL), 0);
	assert_int_equal(disk_files_new(x->path, false, &d, NULL), 0);
	d->label = "data";
	assert_int_equal(disk_open(d, "f", DISK_WRITE, &f, &diag),
			 -AKIN_E_readonly);
	assert_string_equal(diag.text,
			    "data pool: f: open: opened for reading only");
	assert_int_equal(disk_mkdir(d, "g", NULL), -AKIN_E_readonly);
	assert_int_equal(disk_unlink(d, "f", NULL), -AKIN_E_readonly);
	assert_int_equal(disk_rename(d, "f", "g", NULL), -AKIN_E_readonly);
	assert_int_equal(disk_tmp_open(d, ".", &f, NULL), -AKIN_E_readonly);
	assert_int_equal(disk_open(d, "f", 0, &f, NULL), 0);
	assert_int_equal(file_pread(f, &c, 1, 0, NULL), 0);
	assert_int_equal(file_lock(f, DISK_LOCK_READ, 7, 1, NULL), 0);
	assert_int_equal(file_close(f, NULL), 0);
	disk_free(d);
}

/* What is not a regular file is refused, and a FIFO does not hang us. */
static void test_odd_files(void **state)
{
	struct fixture *x = *state;
	struct disk_stat st;
	struct file *f;
	char path[128];

	snprintf(path, sizeof(path), "%s/fifo", x->path);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(disk_open(x->d, "fifo", 0, &f, NULL), -AKIN_E_io);
	snprintf(path, sizeof(path), "%s/link", x->path);
	assert_int_equal(symlink("/etc/passwd", path), 0);
	assert_int_equal(disk_open(x->d, "link", 0, &f, NULL), -AKIN_E_io);
	assert_int_equal(disk_stat(x->d, "link", &st, NULL), 0);
	assert_false(st.is_dir);
}

/* The directory is held open: the path may go elsewhere. */
static void test_survives_rename(void **state)
{
	struct fixture *x = *state;
	char moved[80];
	struct disk_stat st;

	snprintf(moved, sizeof(moved), "%s-moved", x->path);
	assert_int_equal(rename(x->path, moved), 0);
	assert_int_equal(disk_write_file(x->d, "f", "x", 1, NULL), 0);
	assert_int_equal(rename(moved, x->path), 0);
	assert_int_equal(disk_stat(x->d, "f", &st, NULL), 0);
}

/* Run @fn in a child; its return value is the exit status. */
static int in_child(int (*fn)(struct fixture *x), struct fixture *x)
{
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(fn(x));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* 0: byte 5 is locked by another process and 6 is not. */
static int child_locks(struct fixture *x)
{
	struct disk *d;
	struct file *f;
	u64 off, len;

	if (disk_files_new(x->path, true, &d, NULL) ||
	    disk_open(d, "lock", DISK_WRITE, &f, NULL))
		return 1;
	if (file_lock(f, DISK_LOCK_WRITE, 5, 1, NULL) != -AKIN_E_busy)
		return 2;
	if (file_lock_test(f, DISK_LOCK_WRITE, 0, 0, &off, &len, NULL) ||
	    off != 5 || len != 1)
		return 3;
	if (file_lock(f, DISK_LOCK_WRITE, 6, 1, NULL))
		return 4;
	/* Dies without unlocking. */
	return 0;
}

static void test_locks_between_processes(void **state)
{
	struct fixture *x = *state;
	struct file *f;

	assert_int_equal(disk_open(x->d, "lock", DISK_WRITE | DISK_CREATE, &f,
				   NULL), 0);
	assert_int_equal(file_lock(f, DISK_LOCK_READ, 5, 1, NULL), 0);
	assert_int_equal(in_child(child_locks, x), 0);
	assert_int_equal(file_lock(f, DISK_LOCK_WRITE, 6, 1, NULL), 0);
	assert_int_equal(file_close(f, NULL), 0);
}

static int child_file_limit(struct fixture *x)
{
	struct rlimit limit = { 10000, 10000 };
	static u8 data[20000];
	struct akin_diag diag = { 0 };
	struct file *f;
	u64 size;

	signal(SIGXFSZ, SIG_IGN);
	if (setrlimit(RLIMIT_FSIZE, &limit) ||
	    disk_open(x->d, "big", DISK_WRITE | DISK_CREATE, &f, NULL))
		return 1;
	/* The first part fits: a short write, then the error. */
	if (file_pwrite(f, data, sizeof(data), 0, &diag) != -AKIN_E_too_large)
		return 2;
	if (strcmp(diag.text, "data pool: big: write of 20000 bytes at 0: "
		   "File too large") != 0)
		return 3;
	if (file_size(f, &size, NULL) || size != 10000)
		return 4;
	if (file_reserve(f, 20000, NULL) != -AKIN_E_too_large)
		return 5;
	if (file_size(f, &size, NULL) || size != 10000)
		return 6;
	return file_close(f, NULL) ? 7 : 0;
}

static void test_file_limit(void **state)
{
	assert_int_equal(in_child(child_file_limit, *state), 0);
}

#define CANNOT_MOUNT 77

/* A full file system of its own, in a mount namespace of its own. */
static int child_full(struct fixture *x)
{
	static u8 data[600 * 1024];
	struct disk_stat st;
	struct disk *d;
	struct file *f;
	u64 size;

	if (unshare(CLONE_NEWNS) ||
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", x->path, "tmpfs", 0, "size=1m"))
		return CANNOT_MOUNT;
	if (disk_files_new(x->path, true, &d, NULL) ||
	    disk_open(d, "f", DISK_WRITE | DISK_CREATE, &f, NULL))
		return 1;
	if (file_reserve(f, 4 * MiB, NULL) != -AKIN_E_nospace)
		return 2;
	/* The failed reservation gave back what it had. */
	if (file_size(f, &size, NULL) || size != 0)
		return 3;
	if (file_pwrite(f, data, sizeof(data), 0, NULL))
		return 4;
	if (file_pwrite(f, data, sizeof(data), sizeof(data), NULL) !=
	    -AKIN_E_nospace)
		return 5;
	/* A full disk leaves the old file and no half of a new one. */
	if (disk_write_file(d, "g", data, sizeof(data), NULL) !=
	    -AKIN_E_nospace)
		return 6;
	if (disk_stat(d, "g.tmp", &st, NULL) != -AKIN_E_absent)
		return 7;
	if (file_close(f, NULL))
		return 8;
	disk_free(d);
	return 0;
}

static void test_full(void **state)
{
	int status = in_child(child_full, *state);

	if (status == CANNOT_MOUNT) {
		print_message("# skipped: may not mount a file system\n");
		return;
	}
	assert_int_equal(status, 0);
}

/*
 * From now on this process has a kernel that lacks something: system call @nr
 * fails with @err if (argument @arg & @mask) == @value. False if that cannot
 * be arranged.
 */
static bool deny(unsigned nr, unsigned arg, unsigned mask, unsigned value,
		 unsigned err)
{
	unsigned at = offsetof(struct seccomp_data, args) + 8 * arg;
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 4),
		/* The lower half: little-endian machines only. */
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, at),
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, mask),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | err),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { ARRAY_SIZE(code), code };

	/* A failed assertion in the child must not go on with the tests. */
	setenv("CMOCKA_TEST_ABORT", "1", 1);
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) == 0;
}

#define CANNOT_DENY 77

static int contract_in(struct fixture *x, bool denied)
{
	if (!denied)
		return CANNOT_DENY;
	disk_contract(x->d);
	return 0;
}

static int child_no_ring(struct fixture *x)
{
	return contract_in(x, deny(SYS_io_uring_setup, 0, 0, 0, EPERM));
}

static int child_no_ring_memory(struct fixture *x)
{
	return contract_in(x, deny(SYS_io_uring_setup, 0, 0, 0, ENOMEM));
}

static int child_ring_refuses(struct fixture *x)
{
	return contract_in(x, deny(SYS_io_uring_enter, 0, 0, 0, EAGAIN));
}

static int child_no_fallocate(struct fixture *x)
{
	return contract_in(x, deny(SYS_fallocate, 0, 0, 0, EOPNOTSUPP));
}

static int child_no_tmpfile(struct fixture *x)
{
	return contract_in(x, deny(SYS_openat, 2, O_TMPFILE & ~O_DIRECTORY,
				   O_TMPFILE & ~O_DIRECTORY, EOPNOTSUPP));
}

static void child_must_pass(int (*fn)(struct fixture *x), void **state)
{
	int status = in_child(fn, *state);

	if (status == CANNOT_DENY) {
		print_message("# skipped: system calls cannot be filtered here\n");
		return;
	}
	assert_int_equal(status, 0);
}

static void test_no_ring(void **state)
{
	child_must_pass(child_no_ring, state);
}

static void test_no_ring_memory(void **state)
{
	child_must_pass(child_no_ring_memory, state);
}

static void test_ring_refuses(void **state)
{
	child_must_pass(child_ring_refuses, state);
}

static void test_no_fallocate(void **state)
{
	child_must_pass(child_no_fallocate, state);
}

static void test_no_tmpfile(void **state)
{
	struct fixture *x = *state;
	struct disk_stat st;

	child_must_pass(child_no_tmpfile, state);
	assert_int_equal(disk_stat(x->d, "dir", &st, NULL), 0);
}

#define IN_FLIGHT 66	/* two more than a ring holds */

/*
 * One read, of a pipe, waits in the kernel while the submission of the last
 * two fails: the call must not return before the pipe has answered.
 */
static int child_drain(struct fixture *x)
{
	struct files_file pipe_file = { .file.disk = x->d };
	struct disk_read r[IN_FLIGHT];
	u8 data[IN_FLIGHT] = { 0 };
	struct file *f;
	int fds[2], i, bad = 0;

	if (!have_ring(x->d))
		return CANNOT_DENY;
	if (pipe(fds) || disk_write_file(x->d, "f", "x", 1, NULL) ||
	    disk_open(x->d, "f", 0, &f, NULL))
		return 1;
	if (fork() == 0) {
		usleep(100000);
		_exit(write(fds[1], "p", 1) != 1);
	}
	if (!deny(SYS_io_uring_enter, 1, 0xffffffff, 2, EAGAIN))
		return CANNOT_DENY;
	pipe_file.fd = fds[0];
	for (i = 0; i < IN_FLIGHT; i++)
		r[i] = (struct disk_read){ f, &data[i], 1, 0, 1 };
	r[0].file = &pipe_file.file;
	if (file_pread_many(x->d, r, IN_FLIGHT, NULL))
		return 2;
	for (i = 1; i < IN_FLIGHT; i++)
		bad += r[i].result != 0 || data[i] != 'x';
	return bad || r[0].result || data[0] != 'p' ? 3 : 0;
}

static void test_drain(void **state)
{
	child_must_pass(child_drain, state);
}

static int child_io_errors(struct fixture *x)
{
	struct akin_diag diag = { 0 };
	static u8 data[4096];
	struct file *f;

	if (disk_open(x->d, "f", DISK_WRITE | DISK_CREATE, &f, NULL))
		return 1;
	if (!deny(SYS_pread64, 0, 0, 0, EIO) || !deny(SYS_fsync, 0, 0, 0, EIO))
		return CANNOT_DENY;
	assert_int_equal(file_pread(f, data, 4096, 8192, &diag), -AKIN_E_io);
	assert_string_equal(diag.text, "data pool: f: read of 4096 bytes at "
			    "8192: Input/output error");
	memset(&diag, 0, sizeof(diag));
	assert_int_equal(file_sync(f, &diag), -AKIN_E_io);
	assert_string_equal(diag.text,
			    "data pool: f: sync: Input/output error");
	/* The next one would be an fdatasync(), which works, and prove
	 * nothing. */
	assert_int_equal(file_sync(f, NULL), -AKIN_E_io);
	memset(&diag, 0, sizeof(diag));
	assert_int_equal(disk_sync_dir(x->d, ".", &diag), -AKIN_E_io);
	assert_string_equal(diag.text, "data pool: sync of the directory: "
			    "Input/output error");
	return 0;
}

static void test_io_errors(void **state)
{
	child_must_pass(child_io_errors, state);
}

/* No directory sync: nothing better can be had there. */
static int child_no_dir_sync(struct fixture *x)
{
	if (!deny(SYS_fsync, 0, 0, 0, EINVAL))
		return CANNOT_DENY;
	assert_int_equal(disk_sync_dir(x->d, ".", NULL), 0);
	return 0;
}

static void test_no_dir_sync(void **state)
{
	child_must_pass(child_no_dir_sync, state);
}

static void test_clocks(void **state)
{
	u64 a = clock_ns(), b = clock_ns();
	s64 sec = 0;
	u32 nsec = UINT32_MAX;
	time_t now = time(NULL);

	assert_true(a > 0 && b >= a);
	clock_wall(&sec, &nsec);
	assert_true(nsec < 1000000000);
	assert_true(sec >= now - 1 && sec <= now + 60);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_contract),
		TEST(test_contract_plain),
		TEST(test_ring_short_read),
		TEST(test_ring_error),
		TEST(test_read_threads),
		TEST(test_new_fails),
		TEST(test_readonly),
		TEST(test_odd_files),
		TEST(test_survives_rename),
		TEST(test_locks_between_processes),
		TEST(test_file_limit),
		TEST(test_full),
		TEST(test_no_ring),
		TEST(test_no_ring_memory),
		TEST(test_ring_refuses),
		TEST(test_no_fallocate),
		TEST(test_no_tmpfile),
		TEST(test_drain),
		TEST(test_io_errors),
		TEST(test_no_dir_sync),
		cmocka_unit_test(test_clocks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
