// SPDX-License-Identifier: Apache-2.0
// Drawings: shelves and disks, capacity over time, shares. Every number that a
// drawing shows stands in a table too; a drawing's label says it in a sentence.
'use strict';

const SVG = 'http://www.w3.org/2000/svg';
const DISK = 20;
const NAMES = { D: 'data', P: 'parity', M: 'mirror copy', S: 'spare', L: 'log device', E: 'empty' };
const MAX_SHELVES = 60;

function element(name, attributes, ...children) {
	const e = document.createElement(name);
	for (const [k, v] of Object.entries(attributes || {}))
		e.setAttribute(k, v);
	e.append(...children);
	return e;
}

function shape(name, attributes, ...children) {
	const e = document.createElementNS(SVG, name);
	for (const [k, v] of Object.entries(attributes))
		e.setAttribute(k, v);
	e.append(...children);
	return e;
}

function drawDisk(disk, x, y) {
	const g = shape('g', {});
	const odd = disk.vdev % 2 ? ' odd' : '';
	g.append(shape('title', {}, NAMES[disk.kind] +
		(disk.vdev ? `, vdev ${disk.vdev}` : '')));
	g.append(shape('rect', { class: `disk ${disk.kind}${odd}`, x: x + 1, y: y + 1,
		width: DISK - 2, height: DISK - 2, rx: 3 }));
	if (disk.kind !== 'E')
		g.append(shape('text', { class: 'on', x: x + DISK / 2, y: y + DISK / 2 + 4,
			'font-size': 11 }, disk.kind));
	return g;
}

function countKinds(disks) {
	const n = {};
	for (const d of disks)
		n[d.kind] = (n[d.kind] || 0) + 1;
	return Object.keys(NAMES).filter(k => n[k]).map(k => `${n[k]} ${NAMES[k]}`).join(', ');
}

function drawShelf(title, disks, columns) {
	const rows = Math.ceil(disks.length / columns);
	const svg = shape('svg', { viewBox: `0 0 ${columns * DISK + 4} ${rows * DISK + 4}`,
		role: 'img', 'aria-label': `${title}: ${countKinds(disks)}` });
	svg.append(shape('rect', { class: 'frame', x: 0.5, y: 0.5, width: columns * DISK + 3,
		height: rows * DISK + 3, rx: 4 }));
	disks.forEach((d, i) => svg.append(drawDisk(d, 2 + i % columns * DISK,
		2 + Math.floor(i / columns) * DISK)));
	return element('div', { class: 'shelf' }, element('p', {}, title), svg);
}

function drawLegend(kinds) {
	const ul = element('ul', { class: 'legend' });
	for (const k of Object.keys(NAMES)) {
		if (!kinds.has(k))
			continue;
		const svg = shape('svg', { viewBox: `0 0 ${DISK} ${DISK}`, 'aria-hidden': 'true' });
		svg.append(drawDisk({ kind: k }, 0, 0));
		ul.append(element('li', {}, svg, NAMES[k]));
	}
	return ul;
}

// shelves: [{title, disks, columns}]
function drawShelves(figure, shelves, caption) {
	const kinds = new Set();
	const box = element('div', { class: 'shelves' });
	for (const s of shelves.slice(0, MAX_SHELVES)) {
		box.append(drawShelf(s.title, s.disks, s.columns));
		s.disks.forEach(d => kinds.add(d.kind));
	}
	figure.append(box, drawLegend(kinds));
	if (shelves.length > MAX_SHELVES)
		caption += ` ${shelves.length - MAX_SHELVES} more are not drawn.`;
	figure.append(element('figcaption', {}, caption));
}

// Disks of a step's JBODs, given to vdevs: always from the JBOD that has most
// left, with limit from one JBOD at most.
function fillVdevs(jbods, layout, limit) {
	const left = jbods.map(j => j.free);
	for (let v = 1; v <= layout.vdevs; v++) {
		const taken = jbods.map(() => 0);
		for (let i = 0; i < layout.width; i++) {
			let best = -1;
			left.forEach((n, j) => {
				if (n && taken[j] < limit && (best < 0 || n > left[best]))
					best = j;
			});
			if (best < 0)
				return;
			left[best]--;
			taken[best]++;
			const parity = i >= layout.width - layout.parity;
			jbods[best].disks.push({ vdev: v,
				kind: !parity ? 'D' : layout.mirror ? 'M' : 'P' });
		}
	}
}

function drawSun(figure, jbodRows, layouts, caption) {
	const jbods = jbodRows.map(r => ({ step: r.step[1], pool: r.pool[1],
		free: Number(r.disks[1]), logs: Number(r.logs[1]), disks: [] }));
	for (const l of layouts) {
		const mine = jbods.filter(j => j.step === l.step[1] && j.pool === l.pool[1]);
		const layout = { vdevs: Number(l.vdevs[1]), width: Number(l.width[1]),
			parity: Number(l.parity[1]), mirror: l.profile[1].startsWith('mirror') };
		if (!layout.width)
			layout.width = 1;
		fillVdevs(mine, layout, l.nspf[1] === 'true' ? layout.parity : Infinity);
	}
	const shelves = jbods.filter(j => layouts.some(l => l.pool[1] === j.pool)).map((j, i) => {
		while (j.disks.length < j.free)
			j.disks.push({ kind: 'S' });
		for (let n = 0; n < j.logs; n++)
			j.disks.push({ kind: 'L' });
		while (j.disks.length < 24)
			j.disks.push({ kind: 'E' });
		return { title: `JBOD ${i + 1}`, disks: j.disks, columns: 12 };
	});
	drawShelves(figure, shelves, caption);
}

function drawZfs(figure, rows) {
	const shelves = [];
	for (const r of rows) {
		const children = Number(r.children[1]), spares = Number(r.spares[1]);
		const mirror = r.vdev[1].includes('mirror');
		let parity = Number(r.parity[1]);
		const draid = /draid(\d):(\d+)d/.exec(r.vdev[1]);
		if (draid)
			parity = Math.round((children - spares) * parity / (parity + Number(draid[2])));
		const disks = [];
		for (let i = 0; i < children; i++)
			disks.push({ vdev: shelves.length + 1, kind: i >= children - spares ? 'S' :
				i >= children - spares - parity ? (mirror ? 'M' : 'P') : 'D' });
		for (let v = 0; v < Number(r.vdevs[1]); v++)
			shelves.push({ title: `vdev ${shelves.length + 1}: ${r.vdev[0].replace(/^\d+x/, '')}`,
				disks: disks.map(d => ({ ...d, vdev: shelves.length + 1 })),
				columns: 12 });
	}
	drawShelves(figure, shelves, 'Parity and dRAID\u2019s spares are spread over all ' +
		'disks of a vdev; drawn is their share.');
}

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB', 'ZiB', 'YiB'];

function niceStep(most) {
	const power = 10 ** Math.floor(Math.log10(most / 4));
	return [1, 2, 2.5, 5, 10].map(f => f * power).find(s => most / s <= 5) || 10 * power;
}

// curve: many rows of day, disk_bytes, meta_bytes; points: those of the table.
function drawChart(figure, width, curve, points, facts) {
	const W = Math.min(Math.max(width, 300), 900), H = Math.round(W / 3) + 100;
	const L = 62, R = 16, T = 30, B = 40;
	const disk = Number(facts.box_disk_bytes || 0);
	const days = curve.map(p => Number(p.day[1])), end = days[days.length - 1];
	const bytes = curve.map(p => Number(p.disk_bytes[1]));
	const meta = curve.map(p => Number(p.meta_bytes[1]));
	const most = Math.max(disk <= 4 * Math.max(...bytes) ? disk : 0, ...bytes, ...meta) * 1.08;
	const unit = Math.min(UNITS.length - 1, Math.max(0, Math.floor(Math.log2(most) / 10)));
	const scale = 1024 ** unit;
	const x = d => L + (W - L - R) * d / end, y = b => H - B - (H - T - B) * b / most;
	const last = points[points.length - 1];
	const label = `Data disk from ${points[0].disk_bytes[0]} to ${last.disk_bytes[0]}, ` +
		`metadata to ${last.meta_bytes[0]}` +
		(facts.full_text ? `; full ${facts.full_text}` : '');
	const svg = shape('svg', { viewBox: `0 0 ${W} ${H}`, role: 'img', 'aria-label': label });
	const text = (s, at) => svg.append(shape('text', { 'font-size': 12, ...at }, s));
	const line = (values, cls) => svg.append(shape('polyline', { class: `line ${cls}`,
		points: values.map((v, i) => `${x(days[i]).toFixed(1)},${y(v).toFixed(1)}`).join(' ') }));

	const step = niceStep(most / scale);
	for (let v = 0; v * scale <= most; v += step) {
		svg.append(shape('line', { class: 'axis', x1: L, x2: W - R, y1: y(v * scale), y2: y(v * scale) }));
		text(`${Number(v.toPrecision(6))} ${UNITS[unit]}`, { x: L - 5, y: y(v * scale) + 4, 'text-anchor': 'end' });
	}
	for (const i of W < 500 ? [0, 6, 12] : [0, 3, 6, 9, 12]) {
		if (points[i])
			text(points[i].date[0] === '-' ? `day ${points[i].day[0]}` : points[i].date[0],
				{ x: x(Number(points[i].day[1])), y: H - B + 18,
					'text-anchor': i === 12 ? 'end' : i ? 'middle' : 'start' });
	}
	if (disk && disk <= most) {
		svg.append(shape('line', { class: 'limit', x1: L, x2: W - R, y1: y(disk), y2: y(disk) }));
		text('the disk', { x: W - R, y: y(disk) - 5, 'text-anchor': 'end', class: 'limit-text' });
	}
	line(bytes, '');
	line(meta, 'meta');
	svg.append(shape('line', { class: 'line', x1: L, x2: L + 26, y1: T - 18, y2: T - 18 }));
	text('data disk', { x: L + 32, y: T - 14 });
	svg.append(shape('line', { class: 'line meta', x1: L + 110, x2: L + 136, y1: T - 18, y2: T - 18 }));
	text('metadata disk', { x: L + 142, y: T - 14 });
	const full = facts.full_day === undefined || facts.full_day === 'null' ? -1 : Number(facts.full_day);
	if (disk && full >= 0 && full <= end)
		svg.append(shape('circle', { class: 'mark', cx: x(full), cy: y(Math.min(disk, most)), r: 5 },
			shape('title', {}, `full ${facts.full_text || ''}`)));
	figure.append(svg, element('figcaption', {}, label + '.'));
}

// parts: [[class, label, value]]
function drawBar(figure, parts) {
	const W = 680, H = 40;
	const sum = parts.reduce((n, p) => n + p[2], 0) || 1;
	const label = parts.map(p => p[1]).join(', ');
	const svg = shape('svg', { viewBox: `0 0 ${W} ${H}`, role: 'img', 'aria-label': label });
	let at = 0;
	for (const [cls, , value] of parts) {
		svg.append(shape('rect', { class: `disk ${cls}`, x: at, y: 0, width: W * value / sum, height: H }));
		at += W * value / sum;
	}
	figure.append(svg, element('figcaption', {}, label + '.'));
}
