# SPDX-License-Identifier: Apache-2.0
"""Damage, alone with the pool, and what must follow.

One thing of the pool is flipped, zeroed, cut or removed. From then on a restore
may fail, with the exit code that says so, but never gives other bytes for
right ones; a check or a repair ends with 0 or 5; a backup works. After the
repair what is not whole is forgotten, and with that the pool is sound.
"""
import os
import shutil

from soak_pool import DOUBT, FORGOTTEN, LIVE, Failure, reconcile, \
    restore_differs


def files_below(top):
    found = []
    for at, _, names in os.walk(top):
        if 'quarantine' not in at:
            found += [os.path.join(at, n) for n in names]
    return sorted(found)


def flip(rng, path):
    size = os.path.getsize(path)
    with open(path, 'r+b') as f:
        for _ in range(rng.randrange(1, 4)):
            at = rng.randrange(size)
            f.seek(at)
            byte = f.read(1)[0]
            f.seek(at)
            f.write(bytes([byte ^ (1 << rng.randrange(8))]))
    return 'bits flipped'


def zero(rng, path):
    size = os.path.getsize(path)
    at = rng.randrange(size)
    n = min(rng.randrange(1, 100_000), size - at)
    with open(path, 'r+b') as f:
        f.seek(at)
        f.write(bytes(n))
    return '%d zeros at %d' % (n, at)


def cut(rng, path):
    size = rng.randrange(os.path.getsize(path))
    os.truncate(path, size)
    return 'cut to %d bytes' % size


def remove(rng, path):
    os.unlink(path)
    return 'removed'


def choose(rng, pool):
    kind = rng.choice(('data/containers', 'data/containers', 'data/containers',
                       'data/snapshots', 'meta/runs', 'meta', 'data', ''))
    files = [f for f in files_below(os.path.join(pool, kind))
             if os.path.getsize(f)]
    if kind in ('meta', 'data'):
        files = [f for f in files if os.path.dirname(f).endswith(kind)]
    return rng.choice(files) if files else None


def hurt(runner, rng, pool):
    if rng.random() < 0.08:
        shutil.rmtree(os.path.join(pool, 'meta'))
        runner.say('damage: the metadata directory is gone')
        return
    path = choose(rng, pool)
    if path:
        what = rng.choice((flip, flip, zero, cut, remove))(rng, path)
        runner.say('damage: %s: %s' % (path[len(pool) + 1:], what))


def expect(runner, rng, args, right, **kw):
    r = runner.run(rng, args, **kw)
    if r.code not in right:
        raise Failure('%s: %s' % (' '.join(args), r))
    return r


def restore_all(runner, rng, model, right):
    """The snapshots that do not come back."""
    bad = []
    for snap in model.live():
        r, text = restore_differs(runner, rng, snap)
        if text:
            raise Failure('%s after damage: exit code 0, but\n%s' %
                          (snap.id, text))
        if r.code not in right:
            raise Failure('restore of %s: %s' % (snap.id, r))
        if r.code:
            bad.append(snap)
    return bad


def back_up_again(runner, rng, model, actors):
    """Heals what it has; where the catalog is hurt it may fail."""
    for a in actors:
        try:
            a.backup()
        except Failure as e:
            if 'exit code 5' not in str(e) and 'exit code 4' not in str(e):
                raise


def round_of_damage(world, rng, actors, pool):
    runner, model = world.runner, world.model
    hurt(runner, rng, pool)
    runner.count('damage')
    if rng.random() < 0.5:
        restore_all(runner, rng, model, (0, 1, 3, 4, 5))
    if rng.random() < 0.5:
        expect(runner, rng, ['check', '--read-data'], (0, 4, 5))
    if rng.random() < 0.4:
        back_up_again(runner, rng, model, actors)
    model.gcs += 1
    expect(runner, rng, ['repair', '--yes', '--read-data'], (0, 5))
    if rng.random() < 0.5:
        back_up_again(runner, rng, model, actors)
        expect(runner, rng, ['repair', '--yes'], (0, 5))
    mend(runner, rng, model)


def mend(runner, rng, model):
    """What does not come back is forgotten; then all is sound."""
    for snap in model.snaps.values():
        if snap.state == FORGOTTEN:
            snap.state = DOUBT      # its tombstone may be what was hurt
    reconcile(runner, rng, model, lenient=True)
    bad = restore_all(runner, rng, model, (0, 3, 5))
    runner.say('damage: %d snapshots are hurt' % len(bad))
    for snap in bad:
        runner.count('snapshots lost')
        expect(runner, rng, ['unprotect', snap.id], (0,))
        expect(runner, rng, ['forget', snap.id], (0,))
        model.end(snap, FORGOTTEN)
    for _ in range(2):
        model.gcs += 1
        expect(runner, rng, ['gc', '--threshold', '1', '--interrupted'],
               (0, 5))
    expect(runner, rng, ['check', '--read-data'], (0,))
    if any(s.state == LIVE for s in model.snaps.values()):
        restore_all(runner, rng, model, (0,))
