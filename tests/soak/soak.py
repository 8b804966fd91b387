# SPDX-License-Identifier: Apache-2.0
"""Random work on one pool by several processes at once, held against a model.

    soak.py --akin PROGRAM [--seconds N] [--seed N] [--actors N] [--keep]
            [--round SECONDS] [--damage EVERY-NTH-ROUND, 0: never]

Round after round: for some seconds the actors back up, forget, restore,
reclaim, optimize and check side by side, and are killed, stopped and
interrupted meanwhile, sometimes on a full disk. Then all is quiet: what is
listed must be what the model says, a check of every byte finds nothing, and
snapshots restore to what they were made from. Now and then something is
damaged and repaired. At the end everything but a few snapshots goes, and the
pool must be about as small as a new one with the same snapshots.

The seed decides what each actor draws, not how the processes meet. After a
failure the pool and the log stay where they are.
"""
import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import traceback

from soak_actor import Actor, World
from soak_damage import expect, restore_all, round_of_damage
from soak_pool import LIVE, Failure, Model, Runner, reconcile, restore_differs
from soak_tree import Tree

FS_BYTES = 2 << 30      # of the file system, as long as there is room


def used(path):
    st = os.statvfs(path)
    return (st.f_blocks - st.f_bfree) * st.f_frsize


class Soak:
    def __init__(self, args, work):
        self.args = args
        self.work = work
        self.rng = random.Random(args.seed)
        self.fs = os.path.join(work, 'fs')
        os.makedirs(self.fs)
        self.mounted = self.mount()
        self.pool = os.path.join(self.fs, 'pool')
        env = dict(os.environ, AKIN_CONFIG='', LC_ALL='C', TMPDIR=work)
        for name in ('AKIN_POOL', 'AKIN_MEMORY', 'AKIN_THREADS'):
            env.pop(name, None)
        self.runner = Runner(args.akin, self.pool, work, env)
        self.model = Model()
        self.world = World(self.runner, self.model, self.mounted)
        self.actors = [self.actor('a%d' % i) for i in range(args.actors)]
        self.failures = []

    def actor(self, name):
        rng = random.Random(self.rng.getrandbits(64))
        tree = Tree(os.path.join(self.work, 'source', name), rng)
        return Actor(self.world, name, tree, rng)

    def mount(self):
        """A file system of our own can be made full."""
        return os.geteuid() == 0 and subprocess.call(
            ['mount', '-t', 'tmpfs', '-o', 'size=%d' % FS_BYTES, 'tmpfs',
             self.fs], stderr=subprocess.DEVNULL) == 0

    def unmount(self):
        if self.mounted:
            subprocess.call(['umount', self.fs])

    def resize(self, nbytes):
        subprocess.check_call(['mount', '-o', 'remount,size=%d' % nbytes,
                               self.fs])

    def init(self, path):
        cmd = [self.args.akin, 'init', '--quiet', '--container-size', '1M',
               '--chunk-size', self.rng.choice(('1K', '2K', '4K')),
               '--delta-depth', str(self.rng.randrange(0, 5)),
               '--parity', self.rng.choice(('0', '0', '10', '30')), path]
        self.runner.say(' '.join(cmd))
        subprocess.check_call(cmd, env=self.runner.env)

    # Rounds ---------------------------------------------------------------

    def work_for(self, actor, until):
        try:
            while time.monotonic() < until and not self.failures:
                actor.step()
        except Failure as e:
            self.failures.append(str(e))
        except Exception:
            self.failures.append(traceback.format_exc())

    def side_by_side(self, seconds):
        until = time.monotonic() + seconds
        threads = [threading.Thread(target=self.work_for, args=(a, until))
                   for a in self.actors]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        if self.failures:
            raise Failure('\n'.join(self.failures))

    def quiet(self, share):
        """Nobody works: everything must be right."""
        reconcile(self.runner, self.rng, self.model)
        r = expect(self.runner, self.rng, ['check', '--read-data'], (0,))
        if r.summary()['findings']:
            raise Failure('check: %s' % r.lines)
        for snap in self.model.live():
            if self.rng.random() > share:
                continue
            r, text = restore_differs(self.runner, self.rng, snap)
            if r.code or text:
                raise Failure('restore of %s: %s%s' % (snap.id, r, text))

    def full_round(self):
        """Hardly any room, then room again."""
        self.world.full = True
        room = self.rng.choice((0, self.rng.randrange(6_000_000)))
        self.resize(used(self.fs) + room)
        self.runner.say('%d bytes are free' % room)
        self.side_by_side(self.args.round)
        self.quiet(0.3)
        self.resize(FS_BYTES)
        self.world.full = False
        self.runner.count('rounds on a full disk')

    def copy(self):
        """Everything into another pool, stopped on the way and begun again."""
        other = os.path.join(self.fs, 'other')
        self.init(other)
        for fate in (self.actors[0].fate(), None):
            r = self.runner.run(self.rng, ['copy', self.pool, other],
                                fate=fate, pool=other)
            if r.code and not r.died:
                raise Failure('copy: %s' % r)
        expect(self.runner, self.rng, ['check', '--read-data'], (0,),
               pool=other)
        for snap in self.model.live():
            if self.rng.random() < 0.3:
                r, text = restore_differs(self.runner, self.rng, snap,
                                          pool=other)
                if r.code or text:
                    raise Failure('copy of %s: %s%s' % (snap.id, r, text))
        shutil.rmtree(other)

    def rounds(self):
        until = time.monotonic() + self.args.seconds
        nr = 0
        while nr < 2 or time.monotonic() < until:
            nr += 1
            if self.mounted and nr % 4 == 3:
                self.full_round()
            else:
                self.side_by_side(self.args.round)
            self.quiet(0.4)
            every = self.args.damage
            if every and nr % every == every - 1:
                round_of_damage(self.world, self.rng, self.actors, self.pool)
            if nr % 5 == 4:
                self.copy()
        return nr

    def shrink(self):
        """At the end: forget, reclaim, and compare with a new pool."""
        live = self.model.live()
        for snap in live[4:]:
            if snap.protected:
                expect(self.runner, self.rng, ['unprotect', snap.id], (0,))
            expect(self.runner, self.rng, ['forget', snap.id], (0,))
            snap.state = 'forgotten'
        for _ in range(2):
            expect(self.runner, self.rng, ['gc', '--interrupted',
                                           '--threshold', '1'], (0,))
        self.quiet(1)
        r = expect(self.runner, self.rng, ['check'], (0,))
        if r.summary()['orphan_files']:
            raise Failure('files are left: %s' % r.lines)
        fresh = os.path.join(self.fs, 'fresh')
        self.init(fresh)
        expect(self.runner, self.rng, ['copy', self.pool, fresh], (0,),
               pool=fresh)
        have, want = self.containers(self.pool), self.containers(fresh)
        self.runner.say('%d bytes at the end, a new pool: %d' % (have, want))
        if have > want * 2 + 1_000_000:
            raise Failure('%d bytes for %d snapshots; a new pool takes %d' %
                          (have, len(live[:4]), want))

    @staticmethod
    def containers(pool):
        top = os.path.join(pool, 'data', 'containers')
        return sum(os.path.getsize(os.path.join(at, n))
                   for at, _, names in os.walk(top) for n in names)

    def run(self):
        self.init(self.pool)
        nr = self.rounds()
        restore_all(self.runner, self.rng, self.model, (0,))
        self.shrink()
        return nr


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--akin', required=True)
    parser.add_argument('--seconds', type=int, default=4 * 3600)
    parser.add_argument('--seed', type=int)
    parser.add_argument('--actors', type=int, default=3)
    parser.add_argument('--round', type=float, default=8)
    parser.add_argument('--damage', type=int, default=3)
    parser.add_argument('--keep', action='store_true')
    args = parser.parse_args()
    args.akin = os.path.realpath(args.akin)
    if args.seed is None:
        args.seed = random.SystemRandom().getrandbits(32)
    work = tempfile.mkdtemp(prefix='akin-soak.')
    print('seed %d, %d seconds, %s' % (args.seed, args.seconds, work),
          flush=True)
    soak = Soak(args, work)
    if not soak.mounted:
        print('without full disks: may not mount')
    status, nr = 1, 0
    try:
        nr = soak.run()
        status = 0
    except Failure as e:
        print('FAILED: %s' % e)
    except Exception:
        traceback.print_exc(file=sys.stdout)
    counts = sorted(soak.runner.counts.items())
    print('%d rounds, %d snapshots; %s' % (
        nr, len(soak.model.snaps),
        ', '.join('%s %d' % c for c in counts)))
    if status or args.keep:
        print('kept: %s (log, fs/pool)' % work)
    else:
        soak.unmount()
        shutil.rmtree(work)
    return status


sys.exit(main())
