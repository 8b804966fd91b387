# SPDX-License-Identifier: Apache-2.0
"""The program under test, and the model of what its pool must hold.

A command runs as a process of its own, which may be stopped, interrupted or
killed on the way. The model knows every snapshot by its id: what it must
restore to, and whether it must be listed. What a command that died has done is
not known until somebody looks, so a snapshot may be in a state of doubt, and a
backup that died leaves behind what its snapshot would hold if there is one.
"""
import hashlib
import json
import os
import shutil
import signal
import subprocess
import threading
import time

from soak_tree import difference, manifest

HANG_SECONDS = 240      # even beside others, under a sanitizer, on a slow disk
LIVE, FORGOTTEN, DOUBT = 'live', 'forgotten', 'doubt'


class Failure(Exception):
    """The program has broken a promise."""


class Result:
    def __init__(self, code, died, lines, errors):
        self.code = code
        self.died = died        # a signal of ours may have ended it
        self.lines = lines
        self.errors = errors

    def summary(self):
        for line in reversed(self.lines):
            if line.get('type') == 'summary':
                return line
        return {}

    def error(self):
        for line in self.errors:
            if line.get('type') in ('error', 'text'):
                return line.get('code') or line.get('text')
        return ''

    def __str__(self):
        return 'exit code %d%s\n%s' % (
            self.code, ' (signalled)' if self.died else '',
            '\n'.join(json.dumps(e) for e in self.errors[-8:]))


class Snap:
    """@source: a path, and @nodes its manifest; or ('stream', NAME) or
    ('object', SPACE, PATH), and @nodes the digest of the bytes."""

    def __init__(self, id_, tag, source, nodes, state):
        self.id = id_
        self.tag = tag
        self.source = source
        self.nodes = nodes
        self.state = state
        self.version = 0        # rises with each change of state
        self.protected = False
        self.since = 0          # when it was forgotten
        self.moving = 0         # commands that may change its state run


def parse(data):
    out = []
    for line in data.decode('utf-8', 'replace').splitlines():
        try:
            out.append(json.loads(line))
        except ValueError:
            out.append({'type': 'text', 'text': line})
    return out


class Runner:
    """Starts commands; keeps a log of them; knows when all must stop."""

    def __init__(self, akin, pool, work, env):
        self.akin = akin
        self.pool = pool
        self.work = work
        self.env = env
        self.lock = threading.Lock()
        self.log = open(os.path.join(work, 'log'), 'w', buffering=1)
        self.began = time.monotonic()
        self.counts = {}
        self.serial = 0

    def say(self, text):
        with self.lock:
            self.log.write('%8.2f %s\n' % (time.monotonic() - self.began, text))

    def count(self, what):
        with self.lock:
            self.counts[what] = self.counts.get(what, 0) + 1

    def number(self):
        with self.lock:
            self.serial += 1
            return self.serial

    def run(self, rng, args, fate=None, stdin=None, pool=None, raw=False):
        """@fate: None, or (signal, seconds): what happens to it and when.
        @raw: what it prints is not JSON."""
        nr = self.number()
        cmd = [self.akin, '-p', pool or self.pool, args[0]]
        cmd += ([] if raw else ['--json']) + args[1:]
        env = dict(self.env)
        env['AKIN_IO'] = rng.choice(('plain', ''))
        self.say('%d: %s %s' % (nr, ' '.join(args), fate or ''))
        p = subprocess.Popen(cmd, stdin=stdin or subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             env=env)
        died = fate is not None and self.meet(p, fate)
        try:
            out, err = p.communicate(timeout=HANG_SECONDS)
        except subprocess.TimeoutExpired:
            p.send_signal(signal.SIGABRT)
            raise Failure('%d: %s: hangs' % (nr, ' '.join(args)))
        r = Result(p.returncode, died, out if raw else parse(out), parse(err))
        self.say('%d: %d %s%s' % (nr, r.code, 'signalled ' if died else '',
                                  r.error()))
        self.count(args[0])
        if died:
            self.count('signalled')
        if r.code < 0 and not died:
            raise Failure('%d: %s: died of signal %d\n%s' %
                          (nr, ' '.join(args), -r.code, r))
        if b'AddressSanitizer' in err or b'runtime error' in err:
            raise Failure('%d: %s\n%s' % (nr, ' '.join(args),
                                          err.decode('utf-8', 'replace')))
        return r

    @staticmethod
    def meet(p, fate):
        """True if it was still there when the signal was sent."""
        sig, seconds = fate
        try:
            p.wait(seconds)
            return False
        except subprocess.TimeoutExpired:
            pass
        p.send_signal(sig)
        if sig != signal.SIGSTOP:
            return True
        time.sleep(1)
        p.send_signal(signal.SIGCONT)
        return False


class Model:
    def __init__(self):
        self.lock = threading.Lock()
        self.snaps = {}
        self.unknown = {}       # tag -> [(source, nodes)] of what died
        self.gcs = 0            # begun or ended so far

    def add(self, id_, tag, source, nodes):
        with self.lock:
            self.snaps[id_] = Snap(id_, tag, source, nodes, LIVE)

    def maybe(self, tag, source, nodes):
        with self.lock:
            self.unknown.setdefault(tag, []).append((source, nodes))

    def choose(self, rng, *states, still=True):
        """A snapshot in one of @states; @still: no command changes it now."""
        with self.lock:
            found = [s for s in self.snaps.values() if s.state in states and
                     not (still and s.moving)]
            found.sort(key=lambda s: s.id)
            return rng.choice(found) if found else None

    def begin(self, snap):
        """A command begins that may change @snap's state; False: another one
        does already."""
        with self.lock:
            if snap.moving:
                return False
            snap.moving = 1
            snap.version += 1
            return True

    def end(self, snap, state):
        with self.lock:
            snap.moving = 0
            snap.version += 1
            if state == FORGOTTEN and snap.state != FORGOTTEN:
                snap.since = self.gcs
            snap.state = state

    def stable(self, snap, version):
        with self.lock:
            return snap.version == version and not snap.moving and \
                snap.state == LIVE

    def live(self):
        with self.lock:
            return [s for s in self.snaps.values() if s.state == LIVE]


def restore_differs(runner, rng, snap, options=(), pool=None):
    """Restore @snap apart: (the result, what differs from what it must be)."""
    if isinstance(snap.source, tuple):
        return read_differs(runner, rng, snap, pool)
    target = os.path.join(runner.work, 'restore-%d' % runner.number())
    r = runner.run(rng, ['restore', '%s:%s' % (snap.id, snap.source),
                         '--target', target] + list(options), pool=pool)
    text = ''
    if r.code == 0:
        text = difference(snap.nodes, manifest(target))
    shutil.rmtree(target, ignore_errors=True)
    return r, text


def read_differs(runner, rng, snap, pool):
    if snap.source[0] == 'stream':
        args = ['cat', '%s:%s' % (snap.id, snap.source[1])]
    else:
        args = ['get', '-s', snap.id] + list(snap.source[1:])
    r = runner.run(rng, args, pool=pool, raw=True)
    same = hashlib.sha1(r.lines).hexdigest() == snap.nodes
    return r, '' if r.code or same else 'other bytes'


def reconcile(runner, rng, model, lenient=False):
    """Nobody works: what is listed must be what the model says, and ends all
    doubt. @lenient: what nobody was told of may be damaged."""
    r = runner.run(rng, ['snapshots', '--forgotten'])
    gone = {s['id'] for s in r.lines if s.get('type') == 'snapshot'}
    r = runner.run(rng, ['snapshots'])
    if r.code:
        raise Failure('snapshots: %s' % r)
    rows = {s['id']: s for s in r.lines if s.get('type') == 'snapshot'}
    if gone & set(rows):
        raise Failure('listed and forgotten: %s' % (gone & set(rows)))
    for id_, row in rows.items():
        if id_ not in model.snaps:
            accept_unknown(runner, rng, model, row, lenient)
    for snap in list(model.snaps.values()):
        listed = snap.id in rows
        if snap.state == LIVE and not listed:
            raise Failure('%s was acknowledged and is not listed' % snap.id)
        if snap.state == FORGOTTEN and listed:
            raise Failure('%s was forgotten and is listed' % snap.id)
        if snap.state == DOUBT:
            model.end(snap, LIVE if listed else FORGOTTEN)


def accept_unknown(runner, rng, model, row, lenient):
    """A snapshot that nobody was told of: it must be whole all the same."""
    for tag in row.get('tags', []):
        for source, nodes in model.unknown.get(tag, []):
            snap = Snap(row['id'], tag, source, nodes, LIVE)
            r, text = restore_differs(runner, rng, snap)
            if (r.code == 0 or lenient) and not text:
                model.snaps[snap.id] = snap
                runner.count('unacknowledged, listed')
                return
    raise Failure('%s (%s) is listed, and nobody made it so' %
                  (row['id'], row.get('tags')))
