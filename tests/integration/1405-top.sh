#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The live view: one frame off a terminal; on one, keys, sizes, and that the
# terminal is as it was however it ends.
. "$(dirname "$0")/functions.sh"

requires_command python3
export AKIN_COUNTERS=$tmp/counters
mkdir "$src"
noise 200000000 1 >"$src/new"
new_pool
"$AKIN" -q -p "$pool" backup --limit-read 1MB "$src" &
pids+=($!)
sleep 1

expect 0 akin top --once 1
assert_says "$out" "^akin top  $pool  every 1 s  1 process, 1 stream\$"
assert_says "$out" "^ +in +[0-9.]+ +[0-9]+% .* $src\$"
assert_says "$out" "^ +[0-9]+ [^ ]+ .*akin -q -p $pool backup"
! grep -q $'\033' "$out" || fail "control sequences in a file"
expect 0 akin top --once --json 1
assert_eq "flow" "$(jq -r 'select(.type == "stream") |
	.direction, .name, (.mb_s > 0.2 and .mb_s < 30)' "$out" | xargs)" \
	"in $src true"
# Alone it goes on until it is told to end.
expect 0 akin top --json -c 3 1
assert_eq "frames" "$(jq -r .type "$out" | uniq | xargs)" \
	"top process stream top process stream top process stream"
got=0
"$AKIN" top --json 1 2>"$err" | head -n 4 >"$out" || got=${PIPESTATUS[0]}
assert_eq "lines" "$(wc -l <"$out")" 4
assert_eq "of a closed pipe" "$got" 141
expect 2 akin top 0
expect 2 akin top 1 2
# No terminal, or none that can do it.
expect 2 akin top
assert_says "$err" 'no terminal'
assert_says "$err" '--once'

cat >"$tmp/screen_test.py" <<'END'
import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time

ENTER, LEAVE = b'\033[?1049h\033[?25l', b'\033[?25h\033[?1049l'
MOST = 60


def shell(report, env):
    """What a shell does: the program in a group of its own, which has the
    terminal. Only such a group can be stopped. Tells what becomes of it."""
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    pid = os.fork()
    if pid == 0:
        os.setpgid(0, 0)
        os.tcsetpgrp(0, os.getpgid(0))
        signal.signal(signal.SIGTTOU, signal.SIG_DFL)
        os.environ.update({'TERM': 'xterm', 'LC_ALL': 'C.UTF-8'})
        os.environ.update(env)
        os.execv(sys.argv[1], [sys.argv[1], '-p', sys.argv[2], 'top', '1'])
    while True:
        status = os.waitpid(pid, os.WUNTRACED)[1]
        os.write(report, b'%d %d\n' % (pid, status))
        if not os.WIFSTOPPED(status):
            os._exit(0)


def read_until(fd, deadline):
    """More bytes; b'' at the end, or when it takes too long."""
    left = deadline - time.time()
    if left <= 0 or not select.select([fd], [], [], left)[0]:
        return b''
    try:
        return os.read(fd, 65536)
    except OSError:
        return b''


class Top:
    def __init__(self, lines=30, columns=100, env=None):
        report, child = os.pipe()
        self.session, self.fd = pty.fork()
        if self.session == 0:
            # Not before the terminal has its size.
            os.read(0, 1)
            shell(child, env or {})
        os.close(child)
        self.report = report
        self.out, self.seen = b'', 0
        self.deadline = time.time() + MOST
        self.resize(lines, columns)
        self.key(b'\n')
        self.wait(ENTER)
        # The terminal's echo of the newline came first.
        self.out = self.out[self.out.index(ENTER):]
        self.seen = 0
        self.pid = os.tcgetpgrp(self.fd)

    def resize(self, lines, columns):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ,
                    struct.pack('HHHH', lines, columns, 0, 0))

    def key(self, k):
        os.write(self.fd, k)

    def wait(self, text):
        """Until it is there, in what was drawn after what was waited for."""
        while text not in self.out[self.seen:]:
            data = read_until(self.fd, self.deadline)
            assert data, (text, self.out[-3000:])
            self.out += data
        self.seen += self.out[self.seen:].index(text) + len(text)

    def status(self):
        """What became of it. It may be writing: somebody has to read."""
        fds = [self.report, self.fd]
        while True:
            left = max(self.deadline - time.time(), 0)
            ready = select.select(fds, [], [], left)[0]
            assert ready, 'nothing became of it'
            if self.report in ready:
                return int(os.read(self.report, 65536).split()[-1])
            data = read_until(self.fd, self.deadline)
            self.out += data
            if not data:
                fds.remove(self.fd)

    def frame(self):
        """The last frame that is complete: its lines, without sequences."""
        frames = self.out.split(b'\033[H')
        assert len(frames) >= 3
        text = re.sub(rb'\033\[[0-9;?]*[A-Za-z]', b'', frames[-2])
        # The terminal adds a '\r' of its own.
        return text.decode().replace('\r', '').split('\n')

    def end(self):
        """How it ended; the terminal is as it was."""
        status = self.status()
        assert termios.tcgetattr(self.fd)[3] & termios.ICANON
        assert termios.tcgetattr(self.fd)[3] & termios.ECHO
        while True:
            data = read_until(self.fd, self.deadline)
            if not data:
                break
            self.out += data
        os.waitpid(self.session, 0)
        os.close(self.fd)
        os.close(self.report)
        # Whatever says more says it on the screen that was there before.
        assert LEAVE in self.out and ENTER not in self.out.split(LEAVE)[-1]
        return status


def test_keys():
    top = Top()
    top.wait(b'(by rate)')
    top.key(b's')
    top.wait(b'(by total)')
    top.key(b'\033[C')
    top.wait(b'(by name)')
    top.key(b'\033O')
    top.key(b'D')
    top.wait(b'(by total)')
    top.key(b'h')
    top.wait(b'sort by rate')
    top.key(b'h')
    top.wait(b'(by total)')
    top.key(b'\033q')
    top.wait(b'(by total)')
    top.key(b'q')
    assert top.end() == 0


def test_sizes():
    top = Top(24, 80)
    for lines, columns in ((24, 80), (10, 40), (3, 20), (50, 200)):
        top.resize(lines, columns)
        # The second frame from now on, and its end, is of that size.
        for _ in range(4):
            top.wait(b'\033[H')
        frame = top.frame()
        assert len(frame) <= lines, frame
        assert max(len(line) for line in frame) <= columns, frame
        if lines > 3:
            assert any(' akin' in line for line in frame[3:]), frame
    top.key(b'q')
    assert top.end() == 0


def test_scroll():
    """Of two rows with room for one."""
    top = Top(5, 100)
    top.wait(b'... and 2 more')
    top.key(b'\033[B')
    top.wait(b' in ')
    top.wait(b' in ')
    top.key(b'\033[H')
    top.wait(b'... and 2 more')
    top.key(b'q')
    assert top.end() == 0


def test_stop():
    top = Top()
    top.wait(b'(by rate)')
    os.kill(top.pid, signal.SIGTSTP)
    assert os.WIFSTOPPED(top.status())
    assert termios.tcgetattr(top.fd)[3] & termios.ICANON
    os.kill(top.pid, signal.SIGCONT)
    top.wait(LEAVE)
    top.wait(ENTER)
    top.wait(b'(by rate)')
    assert not termios.tcgetattr(top.fd)[3] & termios.ICANON
    top.key(b'q')
    assert top.end() == 0
    assert top.out.count(LEAVE) == 2


def test_signals():
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        top = Top()
        top.wait(b'(by rate)')
        os.kill(top.pid, number)
        status = top.end()
        assert os.WIFEXITED(status), status
    for number in (signal.SIGQUIT, signal.SIGSEGV, signal.SIGABRT):
        top = Top()
        top.wait(b'(by rate)')
        os.kill(top.pid, number)
        status = top.end()
        assert os.WIFSIGNALED(status), status
        assert os.WTERMSIG(status) == number, status


def test_colours():
    for env, coloured in (({}, True), ({'NO_COLOR': '1'}, False)):
        top = Top(env=env)
        top.wait(b'(by rate)')
        top.key(b'q')
        assert top.end() == 0
        found = re.search(rb'\033\[[0-9;]*m', top.out) is not None
        assert found == coloured, (env, top.out)


for name, test in sorted(globals().items()):
    if name.startswith('test_'):
        test()
END
(
	ulimit -c 0
	python3 "$tmp/screen_test.py" "$AKIN" "$pool"
)
kill "${pids[0]}"
wait "${pids[0]}" || :
pids=()
