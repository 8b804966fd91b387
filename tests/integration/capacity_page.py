# SPDX-License-Identifier: Apache-2.0
"""Holds the page of calculators against the command, in a browser.

    capacity_page.py BROWSER AKIN URL VECTORS|"" [DIRECTORY-FOR-SCREENSHOTS]

The browser is driven over its debugging pipe. Every published row and cell, and
lines of every kind, go through the page; what it shows must be what the command
prints, to the byte.
"""
import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

# A hundred addresses in ten seconds are a flood to a browser, which then stops
# changing them and says nothing.
FLAGS = ['--headless=new', '--no-sandbox', '--disable-gpu', '--no-first-run',
         '--disable-background-networking', '--disable-component-update',
         '--disable-ipc-flooding-protection', '--disable-sync',
         '--disable-dev-shm-usage', '--remote-debugging-pipe']
LINES = ['sun7000 1', 'sun7000 4 --disk=2TB', 'sun7000 1 h1 add 1 h add 1',
         'sun7000 8/8/8 12/2/10', 'zfs draid2:8d:24c:1s@4TB',
         'zfs 2xraidz2:6@4TB mirror@1TB --recordsize=1M --ashift=13',
         'zfs raidz3:255@1024ZiB', 'zfs stripe:3@64MiB --disk-loss=1M',
         'netapp --data=100GiB --distinct=4KiB --release=8.0',
         'netapp --used=289150724K --saved=356485168K',
         'akin --data=40TB --change=2% --keep=7d4w12m3y --compression=2 '
         '--growth=20% --disk=100TB --from=2026-05-01',
         'akin --data=40TB --compression=2 --change-compression=15.5 --keep=90 '
         '--disk=100TB --from=2026-05-01',
         'akin --data=1024ZiB --change=100% --keep=365 --from=2026-05-01']
WRONG = ['sun7000 0', 'zfs raidz2:2@4TB', 'netapp --used=5', 'akin --data=x',
         'plan --disk=1TB --estimate={}']
ESTIMATE = '{"type":"estimate","logical_bytes":10000000000000,' \
           '"unique_bytes":8000000000000,"stored_bytes":4000000000000}'
JBODS = {'24+24+24': '3', '24+24+24+24': '4', '24': '1', '11': '1 h1',
         '12': '1 h', '+'.join(['20'] * 2 + ['24'] * 10): '12 4 4',
         '+'.join(['12'] * 12): '12h', '+'.join(['24'] * 12): '12'}


class Browser:
    def __init__(self, program):
        from_us, to_browser = os.pipe()
        from_browser, to_us = os.pipe()
        self.profile = tempfile.mkdtemp()

        def arrange():
            reading, writing = os.dup(from_us), os.dup(to_us)
            os.dup2(reading, 3)
            os.dup2(writing, 4)
        self.process = subprocess.Popen(
            [program, *FLAGS, '--user-data-dir=' + self.profile, 'about:blank'],
            close_fds=False, preexec_fn=arrange, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        os.close(from_us)
        os.close(to_us)
        self.out = os.fdopen(to_browser, 'wb', 0)
        self.back = os.fdopen(from_browser, 'rb')
        self.number, self.session, self.exceptions = 0, None, []

    def receive(self):
        text = bytearray()
        while (c := self.back.read(1)) != b'\0':
            if not c:
                raise EOFError('the browser has gone')
            text += c
        return json.loads(text)

    def call(self, method, **params):
        self.number += 1
        message = {'id': self.number, 'method': method, 'params': params}
        if self.session:
            message['sessionId'] = self.session
        self.out.write(json.dumps(message).encode() + b'\0')
        while True:
            o = self.receive()
            if o.get('method') == 'Runtime.exceptionThrown':
                self.exceptions.append(o['params'])
            if o.get('id') == self.number:
                assert 'error' not in o, o
                return o['result']

    def open(self, url):
        target = self.call('Target.createTarget', url='about:blank')['targetId']
        self.session = self.call('Target.attachToTarget', targetId=target,
                                 flatten=True)['sessionId']
        for domain in 'Page', 'Runtime':
            self.call(domain + '.enable')
        self.call('Page.navigate', url=url)
        end = time.time() + 60
        while self.js('document.body ? document.body.dataset.ready : ""') != 'yes':
            assert time.time() < end, 'the page does not start'
            time.sleep(0.05)

    def js(self, expression):
        r = self.call('Runtime.evaluate', expression=expression,
                      awaitPromise=True, returnByValue=True)
        assert 'exceptionDetails' not in r, r
        return r['result'].get('value')

    def size(self, width, height, dark=False):
        self.call('Emulation.setDeviceMetricsOverride', width=width,
                  height=height, deviceScaleFactor=1, mobile=False)
        self.call('Emulation.setEmulatedMedia', features=[
            {'name': 'prefers-color-scheme', 'value': 'dark' if dark else 'light'}])

    def screenshot(self, path):
        time.sleep(0.3)
        shot = self.call('Page.captureScreenshot', captureBeyondViewport=True)
        with open(path, 'wb') as f:
            f.write(base64.b64decode(shot['data']))

    def close(self):
        self.out.close()
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.profile, ignore_errors=True)


def go(browser, words):
    """Shows a configuration, as a link to it would."""
    return json.loads(browser.js('''(words => new Promise(done => {
        const shown = () => done(JSON.stringify({
            text: document.getElementById('text').textContent,
            error: document.getElementById('error').hidden ? '' :
                document.getElementById('error').textContent,
            answer: document.getElementById('answer').textContent,
            command: document.getElementById('command').value,
            hash: location.hash, drawn: document.querySelectorAll('#figure svg').length,
            rows: [...document.querySelectorAll('#tables tbody tr')].map(tr =>
                Object.fromEntries([...tr.querySelectorAll('td[data-key]')].map(td =>
                    [td.dataset.key, [td.textContent, td.dataset.value]]))) }));
        const hash = toHash(words);
        if (location.hash === hash)
            return shown();
        addEventListener('hashchange', () => setTimeout(shown, 0), { once: true });
        location.hash = hash;
    }))(%s)''' % json.dumps(words)))


def command(akin, words, stdin=None):
    r = subprocess.run([akin, 'capacity', *words], capture_output=True, input=stdin)
    assert r.returncode == 0, (words, r.stderr)
    return r.stdout.decode()


def rows(vectors, name):
    with open(os.path.join(vectors, name)) as f:
        return [line.rstrip('\n').split('\t') for line in f if line[0] != '#']


def check_sun(browser, akin, vectors):
    shown = {}
    for jbods, words in JBODS.items():
        page = go(browser, ['sun7000', *words.split()])
        assert page['text'] == command(akin, ['sun7000', *words.split()]), words
        for row in page['rows']:
            shown[jbods, row['profile'][0], row['nspf'][0]] = row
    nr = 0
    for jbods, profile, nspf, width, spares, data, raw, usable in \
            rows(vectors, 'sun7000_sizecalc.tsv'):
        row = shown[jbods, profile, 'yes' if nspf == 'True' else 'no']
        got = [row[key][0] for key in ('width', 'spares', 'data_drives', 'raw_tb',
                                       'usable_tib')]
        want = [width if width != '0' else '-', spares, data, raw + '.00', usable]
        assert got == want, (jbods, profile, nspf, got, want)
        nr += 1
    return nr


def check_zfs(browser, akin, vectors):
    nr = 0
    for disk, layout, vdevs, usable in rows(vectors, 'openzfs_capacity_24disks.tsv'):
        width, kind = layout.replace('-way ', '-wide ').split('-wide ')
        words = ['zfs', f'{vdevs}x{kind}:{width}', f'--disk={disk}TB']
        page = go(browser, words)
        whole, part = usable.split('.') if '.' in usable else (usable, '')
        want = f'{whole}.{part:0<3} TiB available'
        assert page['answer'] == want, (words, page['answer'], want)
        assert page['text'] == command(akin, words), words
        nr += 1
    return nr


def check_lines(browser, akin):
    for line in LINES:
        page = go(browser, line.split())
        assert not page['error'], (line, page)
        assert page['text'] == command(akin, line.split()), line
        assert page['drawn'] > 0, line
        again = page['command'].split()[2:]
        assert command(akin, again + (['--from', '2026-05-01'] if
                       again[0] == 'akin' else [])) == page['text'], again
    words = ['plan', '--disk=5TB', '--from=2026-05-01']
    page = go(browser, [*words, '--estimate=' + ESTIMATE])
    assert page['text'] == command(akin, ['plan', '-', *words[1:]], ESTIMATE.encode())
    assert page['answer'] + '\n' == page['text']
    for line in WRONG:
        page = go(browser, line.split())
        assert page['error'] and not page['answer'], (line, page)


def check_drop(browser, akin):
    """A file of 'akin estimate --json', dropped on the page, is a plan."""
    last = json.dumps({'type': 'estimate', 'version': 1, 'logical_bytes': 10**13,
                       'unique_bytes': 8 * 10**12, 'stored_bytes': 4 * 10**12,
                       'states': 4, 'days_between': 1, 'change_per_day': 0.05,
                       'growth_per_year': 0.1, 'change_compression': 12.5})
    lines = [json.dumps({'type': 'method', 'cut': 'fixed', 'x': 'y' * 1000})] * 300
    go(browser, ['zfs', 'mirror', '--disk=4TB'])
    browser.js('''new Promise(done => {
        addEventListener('hashchange', () => setTimeout(done, 0), { once: true });
        const data = new DataTransfer();
        data.items.add(new File([%s], 'estimate.json'));
        document.body.dispatchEvent(new DragEvent('drop',
            { bubbles: true, cancelable: true, dataTransfer: data }));
    })''' % json.dumps('\n'.join([*lines, last, ''])))
    assert browser.js('document.getElementById("estimate").value') == last
    words = ['plan', '--disk=9TB', '--from=2026-05-01']
    page = go(browser, [*words, '--estimate=' + last])
    assert page['text'] == command(akin, ['plan', '-', *words[1:]], last.encode())
    assert page['text'].startswith('fits: '), page['text']


def check_use(browser):
    """Names for screen readers, the keyboard, and narrow screens."""
    for kind in 'sun7000', 'zfs', 'netapp', 'akin', 'plan':
        go(browser, [kind])
        unnamed = browser.js('''[...document.querySelectorAll('input,select,textarea,button')]
            .filter(e => !(e.labels && e.labels.length) && !e.getAttribute('aria-label') &&
                !e.textContent.trim()).length''')
        assert unnamed == 0, (kind, unnamed)
        for svg in browser.js('''[...document.querySelectorAll('#figure svg')]
                .map(s => s.getAttribute('aria-label') || s.getAttribute('aria-hidden'))'''):
            assert svg, kind
        for width in 360, 768, 1280, 3840:
            browser.size(width, 900)
            wide = browser.js('document.documentElement.scrollWidth - innerWidth')
            assert wide <= 0, (kind, width, wide)
    browser.size(1280, 900)
    go(browser, ['zfs', 'mirror', '--disk=4TB'])
    browser.js('(e => { e.focus(); e.setSelectionRange(99, 99); })'
               '(document.getElementById("words"))')
    browser.call('Input.insertText', text=' raidz2:6')
    assert browser.js('location.hash') == '#zfs+mirror+raidz2:6+--disk=4TB'
    assert 'TiB available' in browser.js('document.getElementById("answer").textContent')
    key = {'key': 'Tab', 'code': 'Tab', 'windowsVirtualKeyCode': 9}
    browser.call('Input.dispatchKeyEvent', type='keyDown', **key)
    assert browser.js('document.activeElement.id') == 'field-disk'


def screenshots(browser, where):
    """Every kind on a telephone and on a large screen, dark and light."""
    browser.call('Emulation.setScrollbarsHidden', hidden=True)
    for nr, words in enumerate((
            ['sun7000', '12', '4', '4'],
            ['zfs', '2xdraid2:8d:24c:2s', '4xraidz2:6', '--disk=18TB'],
            ['netapp'], LINES[-2].split(), ['plan'])):
        for width, height in (360, 740), (1280, 900), (3840, 2160):
            browser.size(width, height, (nr + width // 40) % 2 == 0)
            go(browser, words)
            browser.screenshot(os.path.join(where, f'capacity-{words[0]}-{width}.png'))


def main():
    program, akin, url, vectors = sys.argv[1:5]
    browser = Browser(program)
    try:
        browser.open(url)
        nr = 0
        if vectors:
            nr = check_sun(browser, akin, vectors) + check_zfs(browser, akin, vectors)
        check_lines(browser, akin)
        check_drop(browser, akin)
        check_use(browser)
        if len(sys.argv) > 5:
            screenshots(browser, sys.argv[5])
        assert not browser.exceptions, browser.exceptions
        print(nr)
    finally:
        browser.close()


main()
