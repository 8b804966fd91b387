// SPDX-License-Identifier: Apache-2.0
// The page: fields to words, words to the module, its answer to tables. Nothing
// is calculated here. The configuration is the fragment of the address: the
// words of the command, joined by '+'.
'use strict';

const KEEP_HINT = 'daily backups kept, 30d; or daily, weekly, monthly, yearly: 7d4w12m3y';
const POOL_FIELDS = [
	['compression', 'Compression', '1', 'a factor: 2 halves'],
	['change', 'Change a day', '1%', 'share of the data that is replaced'],
	['change-compression', 'Compression of changes', '', 'more, where they resemble the rest'],
	['keep', 'Keep', '30d', KEEP_HINT],
	['growth', 'Growth a year', '0%', ''],
	['disk', 'Disk', '', 'of the pool, such as 100TB'],
	['meta-disk', 'Metadata disk', '', 'if it is one of its own'],
	['ram', 'Memory', '128M', 'that akin may use'],
	['chunk-size', 'Chunk size', '8K', 'on average'],
	['years', 'Look ahead', '3', 'years'],
];
const KINDS = [
	{ kind: 'sun7000', title: 'Sun Storage 7000', intro: 'Usable capacity of every storage ' +
		'profile, as the appliance lays its disks out.',
	words: ['JBODs', '4', 'How many, then a word for each that has log devices (a number), ' +
		'is half full (h), or both (h2). Steps are joined with add. Or a word for each ' +
		'JBOD with its disks for each pool: 8/8/8.'],
	presets: [['one', '1'], ['four', '4'], ['twelve, logs', '12 4 4'], ['twelve halves', '12h'],
		['in steps', '1 h1 add 1 h add 1'], ['SAS, three pools', '8/8/8 12/2/10']],
	fields: [['disk', 'Disk size', '1TB', 'as sold']] },
	{ kind: 'zfs', title: 'OpenZFS', intro: 'What a pool of mirrors, RAID-Z or dRAID holds, and ' +
		'what blocks of each size waste.',
	builder: true,
	words: ['Vdevs', '4xraidz2:6', 'As OpenZFS names them: mirror:2, raidz2:6, ' +
		'draid2:8d:24c:1s; 4x in front, @8TB behind; several with blanks between.'],
	fields: [['disk', 'Disk size', '', 'as sold', '18TB'],
		['recordsize', 'Record size', '128K', ''], ['ashift', 'ashift', '12', 'sectors of 2^N bytes'],
		['disk-loss', 'Lost of each disk', '0', 'to swap and partitions'],
		['slop-shift', 'Slop shift', '5', 'spa_slop_shift']] },
	{ kind: 'netapp', title: 'NetApp', intro: 'Block sharing of Data ONTAP: blocks of 4 KiB, each ' +
		'shared 255 or 32,767 times at most. Or %saved from the figures of df -s.',
	fields: [['data', 'Data', '', '', '100GiB'], ['distinct', 'Of it different', '', '', '4KiB'],
		['release', 'Data ONTAP', '8.2', '7.2 to 8.2'],
		['used', 'df -s: used', '', 'instead of data, as 289150724K'],
		['saved', 'df -s: saved', '', '']] },
	{ kind: 'akin', title: 'akin', intro: 'Disk, metadata disk and memory for daily backups, over ' +
		'time, and when the disk is full.',
	fields: [['data', 'Data', '', 'of one backup', '40TB'],
		['dedup', 'Deduplication', '1', 'within one backup'], ...POOL_FIELDS] },
	{ kind: 'plan', title: 'Plan', intro: 'Does an estimate fit into a box, until when, and what ' +
		'else would make it fit?',
	estimate: '{"type":"estimate","version":1,"logical_bytes":10000000000000,\n' +
		' "unique_bytes":8000000000000,"stored_bytes":4000000000000,\n "change_per_day":0.02}',
	fields: POOL_FIELDS.map(f => f[0] === 'disk' ? [...f, '7TB'] :
		['compression', 'change', 'change-compression', 'growth', 'chunk-size'].includes(f[0]) ?
			[f[0], f[1], '', 'as estimated'] : f) },
];

const $ = id => document.getElementById(id);
const state = { kind: 'sun7000', chosen: 'raidz2/no' };
let module;

// The module ------------------------------------------------------------------

function loadModule() {
	const bytes = Uint8Array.from(atob(CAPACITY_WASM), c => c.charCodeAt(0));
	return WebAssembly.instantiate(bytes, {}).then(r => r.instance.exports);
}

function put(at, size, text) {
	const bytes = new TextEncoder().encode(text);
	if (bytes.length > size)
		throw new RangeError('more text than can be calculated with');
	new Uint8Array(module.memory.buffer, at, bytes.length).set(bytes);
	return bytes.length;
}

// Text; throws {text, hint} for what cannot be calculated.
function calculate(words, estimate) {
	const n = put(module.capacity_words(), module.capacity_words_size(), words.join('\n'));
	const m = put(module.capacity_estimate(), module.capacity_estimate_size(), estimate || '');
	const len = module.capacity_run(n, m);
	const out = new TextDecoder().decode(new Uint8Array(module.memory.buffer,
		module.capacity_output(), len));
	if (out[0] === '\x01') {
		const [text, hint] = out.slice(1).split('\n');
		throw { text, hint };
	}
	return out;
}

// Words and the address ---------------------------------------------------------

function today() {
	const d = new Date(), two = n => String(n).padStart(2, '0');
	return `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())}`;
}

function definition() {
	return KINDS.find(k => k.kind === state.kind);
}

function currentWords() {
	const def = definition(), words = [def.kind];
	if (def.words)
		words.push(...$('words').value.split(/\s+/).filter(Boolean));
	for (const [name] of def.fields) {
		const v = $(`field-${name}`).value.trim();
		if (v)
			words.push(`--${name}=${v}`);
	}
	if (state.from)
		words.push(`--from=${state.from}`);
	return words;
}

function currentEstimate() {
	return definition().estimate ? $('estimate').value : '';
}

function encodeWord(w) {
	return encodeURIComponent(w).replace(/%(3A|3D|2F|40)/g, decodeURIComponent);
}

function toHash(words, estimate) {
	const list = estimate ? [...words, `--estimate=${estimate}`] : words;
	return '#' + list.map(encodeWord).join('+');
}

function fromHash(hash) {
	return hash.replace(/^#/, '').split('+').filter(Boolean).map(w => {
		try {
			return decodeURIComponent(w);
		} catch {
			return w;
		}
	});
}

function shellWord(w) {
	return /^[A-Za-z0-9_@%+=:,./-]+$/.test(w) ? w : `'${w.replace(/'/g, '\'\\\'\'')}'`;
}

function commandLine(words) {
	const list = ['akin', 'capacity', words[0]];
	if (definition().estimate)
		list.push('estimate.json');
	for (const w of words.slice(1)) {
		const m = /^--([^=]*)=([^]*)$/.exec(w);
		if (m)
			list.push(`--${m[1]}`, m[2]);
		else
			list.push(w);
	}
	return list.map(shellWord).join(' ');
}

// The form ------------------------------------------------------------------------

function labelled(id, label, hint, input) {
	const div = element('div', { class: 'field' }, element('label', { for: id }, label), input);
	input.id = id;
	if (hint) {
		div.append(element('p', { class: 'hint', id: `${id}-hint` }, hint));
		input.setAttribute('aria-describedby', `${id}-hint`);
	}
	return div;
}

function textInput(value, placeholder) {
	return element('input', { type: 'text', value, placeholder, spellcheck: 'false',
		autocapitalize: 'off' });
}

function buildZfsBuilder() {
	const count = element('input', { type: 'number', min: 1, max: 1024, value: 4 });
	const width = element('input', { type: 'number', min: 1, max: 255, value: 6 });
	const layout = element('select', {}, ...['stripe', 'mirror', 'raidz1', 'raidz2', 'raidz3',
		'draid1', 'draid2', 'draid3'].map(n => element('option', {}, n)));
	layout.value = 'raidz2';
	const parts = [labelled('build-count', 'Vdevs', '', count), labelled('build-layout', 'Layout',
		'', layout), labelled('build-width', 'Disks of each', '', width)];
	const box = element('fieldset', {}, element('legend', {}, 'Put together'),
		element('div', { class: 'row' }, ...parts));
	box.addEventListener('input', e => {
		e.stopPropagation();
		const draid = layout.value.startsWith('draid');
		$('words').value = layout.value === 'stripe' ? `${count.value}xstripe` :
			`${count.value}x${layout.value}:${width.value}${draid ? 'c:1s' : ''}`;
		update();
	});
	return box;
}

// The builder shows what the words say, if it can.
function syncBuilder() {
	if (!$('build-count'))
		return;
	const m = /^(?:(\d+)x)?(stripe|mirror|raidz[123]|draid[123])(?::(\d+)(?:c:1s)?)?$/
		.exec($('words').value.trim());
	if (!m)
		return;
	$('build-count').value = m[1] || 1;
	$('build-layout').value = m[2];
	if (m[3])
		$('build-width').value = m[3];
}

function buildForm(values) {
	const def = definition(), fields = $('fields');
	$('title').textContent = def.title;
	$('intro').textContent = def.intro;
	document.body.className = def.kind;
	fields.replaceChildren();
	if (def.estimate) {
		const area = element('textarea', { spellcheck: 'false' });
		area.value = values.estimate === undefined ? def.estimate : values.estimate;
		fields.append(labelled('estimate', 'Estimate (JSON)', '', area));
	}
	if (def.builder)
		fields.append(buildZfsBuilder());
	if (def.words) {
		const [label, value, hint] = def.words;
		fields.append(labelled('words', label, hint,
			textInput(values.words === undefined ? value : values.words, '')));
	}
	if (def.presets) {
		const box = element('div', { class: 'presets', role: 'group', 'aria-label': 'Examples' });
		for (const [label, words] of def.presets) {
			const b = element('button', { type: 'button' }, label);
			b.addEventListener('click', () => {
				$('words').value = words;
				update();
			});
			box.append(b);
		}
		fields.append(box);
	}
	for (const [name, label, placeholder, hint, value] of def.fields) {
		const given = values.params ? values.params[name] || '' : value || '';
		fields.append(labelled(`field-${name}`, label, hint, textInput(given, placeholder)));
	}
	syncBuilder();
	for (const a of document.querySelectorAll('nav a')) {
		if (a.dataset.kind === def.kind)
			a.setAttribute('aria-current', 'page');
		else
			a.removeAttribute('aria-current');
	}
}

// Results ---------------------------------------------------------------------------

function parseResult(out) {
	const r = { tables: [], facts: [], byKey: {}, steps: [], notes: [], rows: {} };
	for (const line of out.split('\n').filter(Boolean)) {
		const o = JSON.parse(line);
		if (o.type === 'columns') {
			r.tables.push({ of: o.of, columns: o.columns, rows: [] });
			r.rows[o.of] = r.rows[o.of] || [];
		} else if (o.type === 'fact') {
			r.facts.push(o);
			if (o.key)
				r.byKey[o.key] = o.value;
		} else if (o.type === 'step') {
			r.steps.push(o.text);
		} else if (o.type === 'note') {
			r.notes.push(o.text);
		} else {
			r.tables[r.tables.length - 1].rows.push(o);
			r.rows[o.type].push(o);
		}
	}
	return r;
}

function factText(r, key) {
	const f = r.facts.find(x => x.key === key);
	return f ? f.text : '';
}

function rowName(row) {
	return `${row.profile[0]}/${row.nspf[0]}`;
}

const CAPTIONS = { profile: 'Profiles', vdev: 'Vdevs', block: 'What blocks take (sectors)',
	point: 'Over time' };

function buildTable(t, choose) {
	const table = element('table', {}, element('caption', {}, CAPTIONS[t.of] || t.of));
	const head = element('tr', {});
	if (choose)
		head.append(element('th', { scope: 'col', class: 'left' }, 'draw'));
	for (const [, heading, align] of t.columns)
		head.append(element('th', { scope: 'col', class: align }, heading));
	table.append(element('thead', {}, head));
	const body = element('tbody', {});
	for (const row of t.rows) {
		const tr = element('tr', {});
		if (choose) {
			const radio = element('input', { type: 'radio', name: `draw-${t.number}`,
				'aria-label': `draw ${row.profile[0]}${row.nspf[1] === 'true' ? ' NSPF' : ''}` });
			radio.checked = rowName(row) === state.chosen;
			tr.className = radio.checked ? 'chosen' : '';
			radio.addEventListener('change', () => choose(rowName(row)));
			tr.append(element('td', { class: 'left' }, radio));
		}
		for (const [key, , align] of t.columns)
			tr.append(element('td', { class: align, 'data-key': key, 'data-value': row[key][1] },
				row[key][0]));
		body.append(tr);
	}
	table.append(body);
	return element('div', { class: 'scroll', tabindex: 0, role: 'region',
		'aria-label': CAPTIONS[t.of] || t.of }, table);
}

function buildFacts(r) {
	const dl = element('dl', {});
	for (const f of r.facts) {
		if (!f.label)
			continue;
		dl.append(element('dt', f.label.startsWith(' ') ? { class: 'in' } : {}, f.label.trim()),
			element('dd', { 'data-key': f.key || '' }, f.text));
	}
	return dl;
}

function answerOf(r) {
	switch (state.kind) {
	case 'sun7000': {
		const row = (r.rows.profile || []).find(x => rowName(x) === state.chosen);
		return row ? `${row.profile[0]}${row.nspf[1] === 'true' ? ', NSPF' : ''}: ` +
			`${row.usable_tib[0]} TiB usable` : '';
	}
	case 'zfs':
		return `${r.byKey.available_tib} TiB available`;
	case 'netapp':
		return `${factText(r, 'saved_percent')} saved`;
	case 'akin':
		return `${factText(r, 'disk_bytes')} needed ${r.facts.find(f => f.label === 'needed').text}` +
			(r.byKey.full_text ? `; full ${r.byKey.full_text}` : '');
	default:
		return factText(r, 'answer');
	}
}

function draw(r) {
	const figure = $('figure');
	figure.replaceChildren();
	if (state.kind === 'sun7000') {
		const pool = r.rows.jbod[0].pool[1];
		const layouts = r.rows.layout.filter(l => rowName(l) === state.chosen);
		if (layouts.length)
			drawSun(figure, r.rows.jbod, layouts, (pool === '0' ? '' : 'Pools one below the ' +
				'other. ') + 'Which disk of a vdev lies where is an example; how many of ' +
				'each is not.');
	} else if (state.kind === 'zfs') {
		drawZfs(figure, r.rows.vdev);
	} else if (state.kind === 'netapp') {
		drawBar(figure, [['D', `used ${factText(r, 'used_kib')} KiB`, Number(r.byKey.used_kib)],
			['S', `saved ${factText(r, 'saved_kib')} KiB`, Number(r.byKey.saved_kib)]]);
	} else {
		drawChart(figure, $('results').clientWidth - 34, r.rows.curve, r.rows.point, r.byKey);
	}
	figure.hidden = !figure.childNodes.length;
}

function chooseFirst(r) {
	const rows = r.rows.profile || [];
	if (rows.length && !rows.some(row => rowName(row) === state.chosen))
		state.chosen = rowName(rows.find(row => row.profile[1] === 'raidz2') || rows[0]);
}

function show(r, text) {
	const hidden = ['jbod', 'layout', 'curve'];
	state.shown = r;
	chooseFirst(r);
	$('answer').textContent = answerOf(r);
	draw(r);
	$('tables').replaceChildren();
	r.tables.filter(t => !hidden.includes(t.of) && t.rows.length).forEach((t, i) => {
		t.number = i;
		$('tables').append(buildTable(t, t.of === 'profile' ? name => {
			state.chosen = name;
			show(r, text);
			const again = document.querySelector(`[name="draw-${i}"]:checked`);
			if (again)
				again.focus();
		} : null));
	});
	const facts = buildFacts(r);
	if (facts.childNodes.length)
		$('tables').append(facts);
	$('steps').replaceChildren(...r.steps.map(s => element('li', {}, s)));
	$('text').textContent = text;
}

function update() {
	const words = currentWords(), estimate = currentEstimate();
	const run = ['akin', 'plan'].includes(state.kind) && !state.from ?
		[...words, `--from=${today()}`] : words;
	const hash = toHash(words, estimate);
	history.replaceState(null, '', hash);
	$('command').value = commandLine(words);
	$('link').value = location.href;
	syncBuilder();
	try {
		const r = parseResult(calculate([...run, '--both', '--explain'], estimate));
		show(r, calculate(run, estimate));
		$('error').hidden = true;
		$('good').hidden = false;
	} catch (e) {
		if (e.text === undefined && !(e instanceof RangeError))
			throw e;
		$('answer').textContent = '';
		$('error').replaceChildren(element('p', {}, e.text || e.message),
			element('p', { class: 'hint' }, e.hint || ''));
		$('error').hidden = false;
		$('good').hidden = true;
	}
}

function restore() {
	const list = fromHash(location.hash), values = { words: undefined };
	const known = KINDS.some(k => k.kind === list[0]);
	state.kind = known ? list[0] : 'sun7000';
	state.from = undefined;
	if (known && list.length > 1) {
		values.params = {};
		const words = [];
		for (const w of list.slice(1)) {
			const m = /^--([^=]*)=([^]*)$/.exec(w);
			if (!m)
				words.push(w);
			else if (m[1] === 'estimate')
				values.estimate = m[2];
			else if (m[1] === 'from')
				state.from = m[2];
			else
				values.params[m[1]] = m[2];
		}
		values.words = words.join(' ');
	}
	buildForm(values);
	update();
}

// A file of 'akin estimate --json': its last estimate becomes a plan. Other lines
// can be many, and have no place in an address.
function lastEstimate(text) {
	const lines = text.split('\n').filter(line => {
		try {
			return JSON.parse(line).type === 'estimate';
		} catch {
			return false;
		}
	});
	return lines.length ? lines[lines.length - 1] : text;
}

function takeEstimate(text) {
	const plan = KINDS.find(k => k.kind === 'plan');
	const disk = state.kind === 'plan' ? $('field-disk').value.trim() :
		plan.fields.find(f => f[0] === 'disk')[4];
	location.hash = toHash(disk ? ['plan', `--disk=${disk}`] : ['plan'], lastEstimate(text));
}

function acceptDrops() {
	addEventListener('dragover', e => {
		if ([...e.dataTransfer.types].includes('Files'))
			e.preventDefault();
	});
	addEventListener('drop', e => {
		if (!e.dataTransfer.files.length)
			return;
		e.preventDefault();
		e.dataTransfer.files[0].text().then(takeEstimate);
	});
}

function copy(id) {
	const input = $(id);
	const done = ok => {
		$('copied').textContent = ok ? 'Copied.' : 'Press Ctrl-C to copy.';
		if (!ok)
			input.select();
	};
	if (!navigator.clipboard)
		return done(false);
	navigator.clipboard.writeText(input.value).then(() => done(true), () => done(false));
}

function start(exports) {
	module = exports;
	for (const k of KINDS) {
		const a = element('a', { href: `#${k.kind}`, 'data-kind': k.kind }, k.title);
		$('kinds').append(element('li', {}, a));
	}
	$('form').addEventListener('input', update);
	$('form').addEventListener('submit', e => e.preventDefault());
	$('copy-command').addEventListener('click', () => copy('command'));
	$('copy-link').addEventListener('click', () => copy('link'));
	addEventListener('hashchange', restore);
	acceptDrops();
	addEventListener('resize', () => {
		if (state.shown && !$('good').hidden)
			draw(state.shown);
	});
	restore();
	document.body.dataset.ready = 'yes';
}

loadModule().then(start).catch(e => {
	$('error').textContent = `This browser cannot run the calculation: ${e.message || e.text}`;
	$('error').hidden = false;
});
