# SPDX-License-Identifier: Apache-2.0
"""What is done to the pool, by several at once.

Each actor has a tree of its own, which nobody else changes. It draws a command,
runs it, and holds the outcome against the model: which exit codes are right,
and what was read.
"""
import hashlib
import os
import signal

from soak_pool import DOUBT, FORGOTTEN, LIVE, Failure, restore_differs
from soak_tree import content, manifest, without

SNAPSHOTS = 24          # from here on more is forgotten than backed up


class World:
    """What the actors share."""

    def __init__(self, runner, model, own_disk):
        self.runner = runner
        self.model = model
        self.own_disk = own_disk    # with plenty of room but when full
        self.full = False       # no space may be left
        self.gcs = 0            # running now
        self.repairs = 0        # begun or ended so far


class Actor:
    def __init__(self, world, name, tree, rng):
        self.world = world
        self.runner = world.runner
        self.model = world.model
        self.name = name
        self.tree = tree
        self.rng = rng

    # Running --------------------------------------------------------------

    def fate(self):
        x = self.rng.random()
        seconds = self.rng.random() ** 3 * 0.5
        if x < 0.16:
            return signal.SIGKILL, seconds
        if x < 0.20:
            return self.rng.choice((signal.SIGTERM, signal.SIGINT)), seconds
        if x < 0.25:
            return signal.SIGSTOP, seconds
        return None

    def run(self, args, right, **kw):
        """@right: exit codes that are right besides 0."""
        repairs = self.world.repairs
        common = ['--threads', str(self.rng.randrange(1, 5)), '--memory',
                  self.rng.choice(('40M', '64M', '128M', '128M'))]
        r = self.runner.run(self.rng, args[:1] + common + args[1:], **kw)
        if self.world.repairs != repairs or 'repair' in args:
            right = right + (4,)
        if r.code and not r.died and r.code not in right:
            raise Failure('%s: %s' % (' '.join(args), r))
        if r.died and r.code not in right + (0, -9, -15, -2, 143, 130):
            raise Failure('%s: %s' % (' '.join(args), r))
        return r

    def space(self):
        return (6,) if self.world.full else ()

    def step(self):
        nr_live = len(self.model.live())
        draw = [self.backup] * (8 if nr_live < SNAPSHOTS else 2)
        draw += [self.forget] * (1 if nr_live < SNAPSHOTS // 2 else 5)
        draw += [self.restore] * 5 + [self.gc] * 3 + [self.undelete] * 2
        draw += [self.check, self.check, self.optimize, self.optimize,
                 self.rewrite, self.look, self.look, self.label,
                 self.dry_run, self.stream, self.put]
        if self.rng.random() < 0.02:
            draw = [self.repair]
        self.rng.choice(draw)()

    # Writing --------------------------------------------------------------

    def how(self):
        """Options of a backup."""
        rng, out = self.rng, []
        if rng.random() < 0.3:
            out += ['--engine', rng.choice(('identity', 'similarity',
                                            'hybrid'))]
        if rng.random() < 0.2:
            out += ['--verify', rng.choice(('off', 'match', 'write'))]
        if rng.random() < 0.2:
            out += ['--delta-depth', str(rng.randrange(0, 9))]
        if rng.random() < 0.2:
            out += ['--compression', rng.choice(('lz4', 'none', 'zstd:3',
                                                 'gzip', 'lzjb'))]
        return out

    def commit(self, args, source, nodes, **kw):
        """A backup; returns the id of its snapshot, or None."""
        tag = 't%d' % self.runner.number()
        r = self.run(args[:1] + ['--tag', tag] + args[1:], self.space(),
                     fate=self.fate(), **kw)
        if r.code == 0:
            id_ = r.summary()['snapshot']
            self.model.add(id_, tag, source, nodes)
            return id_
        self.model.maybe(tag, source, nodes)
        return None

    def backup(self):
        if self.rng.random() < 0.9:
            self.tree.change()
        args = ['backup'] + self.how()
        if self.rng.random() < 0.15:
            args.append('--force')
        nodes = manifest(self.tree.top)
        id_ = self.commit(args + [self.tree.top], self.tree.top, nodes)
        if id_ and self.rng.random() < 0.15:
            self.verify(id_)

    def data(self):
        path = os.path.join(self.runner.work, 'data-' + self.name)
        with open(path, 'wb') as f:
            for _ in range(self.rng.randrange(1, 8)):
                f.write(content(self.rng))
        with open(path, 'rb') as f:
            return path, hashlib.sha1(f.read()).hexdigest()

    def stream(self):
        path, digest = self.data()
        name = 'stream-' + self.name
        with open(path, 'rb') as f:
            self.commit(['backup'] + self.how() + ['--stdin', name],
                        ('stream', name), digest, stdin=f)

    def put(self):
        path, digest = self.data()
        name = 'dir/object-' + self.name
        self.commit(['put', 'space', name, path], ('object', 'space', name),
                    digest)

    def forget(self):
        snap = self.model.choose(self.rng, LIVE)
        if not snap or not self.model.begin(snap):
            return
        state = DOUBT
        try:
            r = self.run(['forget', snap.id], (1,) if snap.protected else (),
                         fate=self.fate())
            if snap.protected:
                if r.code == 0:
                    raise Failure('%s is protected and was forgotten' % snap.id)
                state = LIVE
            elif r.code == 0:
                state = FORGOTTEN
        finally:
            self.model.end(snap, state)

    def undelete(self):
        snap = self.model.choose(self.rng, FORGOTTEN)
        if not snap or not self.model.begin(snap):
            return
        reclaimed = self.world.gcs or snap.since != self.model.gcs
        state = FORGOTTEN
        try:
            r = self.run(['undelete', snap.id], (1,), fate=self.fate())
            if r.code == 0:
                state = LIVE
            elif r.died:
                state = DOUBT
            elif not reclaimed and not self.world.gcs and \
                    snap.since == self.model.gcs and r.code == 1:
                raise Failure('undelete %s: nobody reclaimed, but %s' %
                              (snap.id, r))
        finally:
            self.model.end(snap, state)

    def label(self):
        snap = self.model.choose(self.rng, LIVE)
        if not snap or not self.model.begin(snap):
            return
        try:
            if snap.protected or self.rng.random() < 0.2:
                verb = 'unprotect' if snap.protected else 'protect'
                r = self.run([verb, snap.id], self.space())
                if r.code == 0:
                    snap.protected = not snap.protected
            else:
                self.run(['tag', snap.id, '--add', 'x%d' %
                          self.rng.randrange(99)], self.space(),
                         fate=self.fate())
        finally:
            self.model.end(snap, LIVE)

    def rewrite(self):
        snap = self.model.choose(self.rng, LIVE)
        if not snap or isinstance(snap.source, tuple) or not snap.nodes or \
                snap.protected or not self.model.begin(snap):
            return
        state = DOUBT
        drop = self.rng.choice(sorted(snap.nodes))
        nodes = without(snap.nodes, drop)
        try:
            r = self.run(['rewrite', '--drop', os.path.join(snap.source, drop),
                          snap.id], self.space(), fate=self.fate())
            if r.code == 0:
                new = [x for x in r.lines if x.get('type') == 'rewritten'][0]
                self.model.add(new['new_id'], snap.tag, snap.source, nodes)
                state = FORGOTTEN
            else:
                self.model.maybe(snap.tag, snap.source, nodes)
        finally:
            self.model.end(snap, state)

    # Maintenance ----------------------------------------------------------

    def gc(self):
        args = ['gc']
        if self.rng.random() < 0.5:
            args += ['--threshold', str(self.rng.choice((1, 5, 50, 101)))]
        if self.rng.random() < 0.2:
            args += ['--limit', '2M']
        if self.rng.random() < 0.2:
            args += ['--interrupted']
        self.world.gcs += 1
        self.model.gcs += 1
        try:
            self.run(args, (4,), fate=self.fate())
        finally:
            self.world.gcs -= 1
            self.model.gcs += 1

    def optimize(self):
        args = ['optimize']
        if self.rng.random() < 0.3:
            args += ['--all']
        if self.rng.random() < 0.3:
            args += ['--delta-depth', str(self.rng.randrange(1, 9))]
        if self.rng.random() < 0.3:
            args += ['--compression', self.rng.choice(('zstd:3', 'lz4'))]
        self.run(args, (4,) + self.space(), fate=self.fate())

    def repair(self):
        self.world.repairs += 1
        self.world.gcs += 1
        self.model.gcs += 1
        try:
            self.run(['repair', '--yes'], (4,) + self.space(),
                     fate=self.fate())
        finally:
            self.world.repairs += 1
            self.world.gcs -= 1
            self.model.gcs += 1

    def check(self):
        args = ['check'] + self.rng.choice(([], [], ['--read-data'],
                                            ['--budget', '1s'],
                                            ['--read-data=10%']))
        r = self.run(args, (), fate=self.fate())
        if r.code == 0 and r.summary().get('findings'):
            raise Failure('check: %s' % r.lines)

    # Reading --------------------------------------------------------------

    def restore(self):
        snap = self.model.choose(self.rng, LIVE, FORGOTTEN, still=False)
        if not snap:
            return
        version, repairs = snap.version, self.world.repairs
        options = ['--verify'] if self.rng.random() < 0.2 else []
        r, text = restore_differs(self.runner, self.rng, snap, options)
        if text:
            raise Failure('restore of %s: %s' % (snap.id, text))
        if r.code and self.model.stable(snap, version):
            if r.code == 4 and self.world.repairs != repairs:
                return
            raise Failure('restore of %s: %s' % (snap.id, r))
        if r.code not in (0, 1, 4):
            raise Failure('restore of %s: %s' % (snap.id, r))

    def verify(self, id_):
        snap = self.model.snaps[id_]
        version = snap.version
        r = self.run(['verify', '%s:%s' % (id_, self.tree.top)], (1,))
        if r.code == 1 and self.model.stable(snap, version):
            raise Failure('verify %s: %s' % (id_, r))

    def look(self):
        snap = self.model.choose(self.rng, LIVE)
        other = self.model.choose(self.rng, LIVE)
        if not snap or not other:
            return
        version = snap.version, other.version
        args = self.rng.choice((['ls', snap.id], ['diff', snap.id, other.id],
                                ['stats', '--restore-cost', snap.id],
                                ['stats', '--space', snap.id, other.id],
                                ['stats', '--histogram'], ['stats'],
                                ['find', 'f1*']))
        # A summary of the pool warns of a disk that is nearly full.
        right = (1, 3) if args in (['stats'], ['stats', '--histogram']) and \
            (self.world.full or not self.world.own_disk) else (1,)
        r = self.run(args, right, fate=self.fate())
        if r.code == 1 and self.model.stable(snap, version[0]) and \
                self.model.stable(other, version[1]):
            raise Failure('%s: %s' % (' '.join(args), r))

    def dry_run(self):
        args = self.rng.choice((['gc'], ['forget', '--keep-last', '2'],
                                ['optimize'], ['repair', '--read-data'],
                                ['backup', self.tree.top]))
        self.run(args + ['--dry-run'], (), fate=self.fate())
