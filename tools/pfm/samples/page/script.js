// SPDX-License-Identifier: MIT
// Draws the page of pfm report --html; html.c describes the data. Texts of the recording become text nodes only.
'use strict';
const KERNEL = 1, INLINED = 2, COMMAND = 4;
const ROW = 18; // px of a frame
const ROWS = 300; // of the table
const byId = id => document.getElementById(id);
const page = JSON.parse(byId('data').textContent);
let data; // of the event that is shown

// --- Data

// The numbers of a packed string
function unpack(packed) {
	const bytes = atob(packed), numbers = [];
	let value = 0, factor = 1;
	for (let i = 0; i < bytes.length; i++) {
		const byte = bytes.charCodeAt(i);
		value += (byte & 127) * factor;
		factor *= 128;
		if (byte < 128) {
			numbers.push(value);
			value = 0;
			factor = 1;
		}
	}
	return numbers;
}

// A name in the call tree, and the function in the table: one, whether it is inlined or not.
let functions, names;
function readNames() {
	const known = new Map();
	functions = [];
	names = [];
	for (let i = 0; i < data.names.length; i += 3) {
		const [text, object, flags] = data.names.slice(i, i + 3);
		const name = {text, flags, object: object < 0 ? '' : data.objects[object], of: null};
		if (!(flags & COMMAND)) {
			const key = (flags & KERNEL) + ' ' + object + ' ' + text;
			if (!known.has(key)) {
				known.set(key, functions.length);
				functions.push({name: text, object: name.object, flags, self: 0, total: 0});
			}
			name.of = functions[known.get(key)];
		}
		names.push(name);
	}
}

// Nodes of the call tree. Parents precede their children; 0 is the root. A node is the outermost of a recursion if
// no caller has its function.
let nodes;
function readNodes() {
	const packed = unpack(data.nodes);
	nodes = [{parent: 0, name: null, kids: [], outermost: false, self: 0, total: 0}];
	for (let i = 0; i < packed.length; i += 2) {
		const parent = nodes.length - packed[i], name = names[packed[i + 1]];
		let at = parent;
		while (at && nodes[at].name.of !== name.of)
			at = nodes[at].parent;
		nodes[parent].kids.push(nodes.length);
		nodes.push({parent, name, kids: [], outermost: !at && name.of !== null, self: 0, total: 0});
	}
	for (const node of nodes)
		node.kids.sort((a, b) => nodes[a].name.text < nodes[b].name.text ? -1 : 1);
}

function readLane([command, pid, tid, packed]) {
	const numbers = unpack(packed), lane = {command, pid, tid, ticks: [], nodes: [], weights: [], weight: 0};
	let tick = 0, node = 0;
	for (let i = 0; i < numbers.length;) {
		const step = Math.floor(numbers[i] / 2), weighs = numbers[i++] % 2;
		node = step || !lane.ticks.length ? numbers[i++] : node + numbers[i++];
		tick += step;
		lane.ticks.push(tick);
		lane.nodes.push(node);
		lane.weights.push(weighs ? numbers[i++] : 1);
		lane.weight += lane.weights[lane.weights.length - 1];
	}
	return lane;
}

// --- Numbers for people

const percent = (part, whole) => (whole ? 100 * part / whole : 0).toFixed(2) + ' %';

function seconds(ns) {
	for (const [unit, size] of [['s', 1e9], ['ms', 1e6], ['us', 1e3]])
		if (ns >= size)
			return (ns / size).toPrecision(3) + ' ' + unit;
	return ns.toFixed(0) + ' ns';
}

// The time or the events for which overflows stand
function amount(weight) {
	const value = weight * data.period;
	if (data.time)
		return seconds(value);
	for (const [unit, size] of [['G', 1e9], ['M', 1e6], ['k', 1e3]])
		if (value >= size)
			return (value / size).toPrecision(3) + unit;
	return value.toFixed(0);
}

const moment = tick => (data.span * tick / data.ticks / 1e9).toFixed(3) + ' s';

// --- What is selected. The table and the graph show it.

let selection = null; // ticks from .from to below .to in the lanes .first to .last; null: all
let chosen = null; // a function
let selected = 0; // weight of the selection
let lanes;

function weigh() {
	const s = selection || {from: 0, to: data.ticks, first: 0, last: lanes.length - 1};
	for (const part of [nodes, functions])
		for (const x of part)
			x.self = x.total = 0;
	for (const lane of lanes.slice(s.first, s.last + 1))
		lane.ticks.forEach((tick, i) => {
			if (tick >= s.from && tick < s.to)
				nodes[lane.nodes[i]].self += lane.weights[i];
		});
	for (let i = nodes.length - 1; i > 0; i--) {
		const node = nodes[i], of = node.name.of;
		node.total += node.self;
		nodes[node.parent].total += node.total;
		if (of)
			of.self += node.self;
		if (node.outermost)
			of.total += node.total;
	}
	selected = nodes[0].total + nodes[0].self;
}

function select(s) {
	selection = s;
	weigh();
	drawSelection();
	drawGraph();
	drawTable();
}

function choose(of) {
	chosen = chosen === of ? null : of;
	drawGraph();
	drawTable();
	drawSource(chosen && chosen.name);
}

// An element with properties, and with children or a text
function element(tag, properties, ...children) {
	const e = Object.assign(document.createElement(tag), properties);
	e.append(...children);
	return e;
}

// --- Time line

function drawLane(lane, most) {
	const canvas = lane.canvas, scale = devicePixelRatio || 1;
	const width = canvas.width = Math.max(1, Math.round(canvas.clientWidth * scale));
	const height = canvas.height = Math.round(canvas.clientHeight * scale), pen = canvas.getContext('2d');
	pen.fillStyle = getComputedStyle(document.body).getPropertyValue('--accent');
	laneColumns(lane, width).forEach((weight, x) => {
		const h = weight && Math.max(1, weight / most * (height - 2));
		pen.fillRect(x, height - h, 1, h);
	});
}

// The weight in each of so many columns. Moments are wider than columns where there are more columns than moments.
function laneColumns(lane, width) {
	const columns = new Float64Array(width);
	lane.ticks.forEach((tick, i) => {
		const from = Math.floor(tick * width / data.ticks);
		const to = Math.max(from + 1, Math.floor((tick + 1) * width / data.ticks));
		for (let x = from; x < to; x++)
			columns[x] += lane.weights[i] / (to - from);
	});
	return columns;
}

function drawLanes() {
	const width = Math.max(1, lanes[0] ? lanes[0].canvas.clientWidth : 1);
	let most = 1e-9;
	for (const lane of lanes)
		for (const weight of laneColumns(lane, Math.round(width * (devicePixelRatio || 1))))
			most = Math.max(most, weight);
	for (const lane of lanes)
		drawLane(lane, most);
	drawSelection();
}

function drawSelection() {
	const range = byId('range'), s = selection;
	byId('all').hidden = range.hidden = !s;
	byId('selection').textContent = s ? percent(selected, data.weight) + ' of all ' + data.unit + ': ' + moment(s.from) +
		' to ' + moment(s.to) + ', ' + (s.first === s.last ? lanes[s.first].command + ' ' + (lanes[s.first].tid || '') :
			(s.last - s.first + 1) + ' threads') : '';
	if (!s)
		return;
	const top = lanes[s.first].canvas, bottom = lanes[s.last].canvas, width = top.clientWidth / data.ticks;
	Object.assign(range.style, {left: top.offsetLeft + s.from * width + 'px', width: (s.to - s.from) * width + 'px',
		top: top.offsetTop + 'px', height: bottom.offsetTop + bottom.offsetHeight - top.offsetTop + 'px'});
}

// The tick and the lane at a pointer, which may have left the time line
function spot(event) {
	const box = lanes[0].canvas.getBoundingClientRect();
	let at = lanes.findIndex(lane => event.clientY < lane.canvas.getBoundingClientRect().bottom);
	at = at < 0 ? lanes.length - 1 : at;
	const tick = Math.round((event.clientX - box.left) / box.width * data.ticks);
	return {at, tick: Math.min(data.ticks, Math.max(0, tick)), x: event.clientX, y: event.clientY};
}

function dragged(start, end) {
	const whole = Math.abs(start.x - end.x) < 4 && Math.abs(start.y - end.y) < 4;
	return {
		from: whole ? 0 : Math.min(start.tick, end.tick),
		to: whole ? data.ticks : Math.max(start.tick, end.tick, Math.min(start.tick, end.tick) + 1),
		first: Math.min(start.at, end.at), last: Math.max(start.at, end.at),
	};
}

function makeLanes() {
	lanes = data.lanes.map(readLane);
	byId('lanes').replaceChildren(byId('range'), ...lanes.map((lane, i) => {
		const who = lane.tid ? lane.command + ' ' + lane.tid : lane.command;
		const label = element('button', {title: who + ', process ' + lane.pid}, element('span', {}, who),
			element('span', {}, percent(lane.weight, data.weight)));
		lane.canvas = element('canvas', {});
		label.addEventListener('click', () => select({from: 0, to: data.ticks, first: i, last: i}));
		return element('div', {className: 'lane'}, label, lane.canvas);
	}));
	byId('axis').replaceChildren(...[0, 1, 2, 3, 4, 5].map(i => element('span', {}, moment(data.ticks * i / 5))));
}

function followPointer() {
	const box = byId('lanes');
	let start = null;
	box.addEventListener('pointerdown', event => {
		if (event.target.tagName !== 'CANVAS' || event.button)
			return;
		start = spot(event);
		event.preventDefault();
	});
	addEventListener('pointermove', event => {
		if (!start)
			return;
		selection = dragged(start, spot(event));
		drawSelection();
	});
	addEventListener('pointerup', event => {
		if (start)
			select(dragged(start, spot(event)));
		start = null;
	});
}

// --- Flame graph

let callers = false; // the interrupted functions on top, with their callers below
let path = []; // the names of the frames above the one that has the whole width, and of that
let frames = []; // as drawn

const downFrame = (name, node) => ({name, weight: nodes[node].total, kids: () =>
	nodes[node].kids.filter(kid => nodes[kid].total).map(kid => downFrame(nodes[kid].name, kid))});

// A frame of callers, for nodes with the weights that they have below it
function upFrame(name, list) {
	const kids = () => {
		const groups = new Map();
		for (const [node, weight] of list) {
			if (!node)
				continue;
			const of = nodes[node].name;
			if (!groups.has(of))
				groups.set(of, []);
			groups.get(of).push([nodes[node].parent, weight]);
		}
		return [...groups].map(([of, below]) => upFrame(of, below)).sort((a, b) => b.weight - a.weight);
	};
	return {name, weight: list.reduce((sum, [, weight]) => sum + weight, 0), kids};
}

function hue(name) {
	let sum = 0;
	if (name.flags & KERNEL)
		return 14;
	for (const c of name.object || 'command')
		sum = (sum * 31 + c.codePointAt(0)) % 9973;
	return 40 + sum % 290;
}

const label = name => name.text + (name.flags & INLINED ? ' [i]' : '') + (name.flags & KERNEL ? ' [k]' : '');
const describe = frame => !frame.name ? 'all: ' + amount(frame.weight) : label(frame.name) +
	(frame.name.object ? ' (' + frame.name.object + ')' : '') + ', ' + percent(frame.weight, selected) + ', ' +
	amount(frame.weight);

// Adds the frames in a part of the width, from @left to below @left + @width of 1.
function layOut(frame, at, left, width, row, out) {
	if (width * byId('graph').clientWidth < 1 && row)
		return;
	out.push({frame, at, left, width, row});
	const next = path.length > row && frame.kids().find(kid => kid.name === path[row]);
	if (next) {
		layOut(next, [...at, next.name], left, width, row + 1, out);
		return;
	}
	for (const kid of frame.kids()) {
		const part = width * kid.weight / frame.weight;
		layOut(kid, [...at, kid.name], left, part, row + 1, out);
		left += part;
	}
}

function makeFrame({frame, left, width, row}, i) {
	const name = frame.name, pixels = width * byId('graph').clientWidth;
	const e = element('div', {className: 'frame', title: describe(frame)},
		pixels < 24 ? '' : name ? label(name) : 'all');
	e.dataset.i = i;
	e.classList.toggle('thin', pixels < 24);
	e.classList.toggle('inlined', Boolean(name && name.flags & INLINED));
	e.classList.toggle('hit', Boolean(name && name.of && isFound(name.of)));
	Object.assign(e.style, {left: 100 * left + '%', width: 100 * width + '%', top: row * ROW + 'px'});
	e.style.setProperty('--hue', name ? hue(name) : 220);
	return e;
}

function drawGraph() {
	const root = callers ?
		upFrame(null, nodes.flatMap((node, i) => i && node.self ? [[i, node.self]] : [])) :
		downFrame(null, 0);
	const graph = byId('graph');
	let depth = 0;
	for (let at = root; at && depth < path.length; depth += at ? 1 : 0)
		at = at.kids().find(kid => kid.name === path[depth]);
	path = path.slice(0, depth);
	frames = [];
	layOut(root, [], 0, 1, 0, frames);
	graph.replaceChildren(...frames.map(makeFrame));
	graph.append(element('div', {style: 'height:' + (1 + Math.max(...frames.map(f => f.row))) * ROW + 'px'}));
	graph.classList.toggle('faded', Boolean(chosen || byId('filter').value));
	byId('reset').hidden = !path.length;
	byId('down').setAttribute('aria-pressed', !callers);
	byId('up').setAttribute('aria-pressed', callers);
	byId('details').textContent = describe(frames[Math.min(path.length, frames.length - 1)].frame);
}

// --- Functions

let sorted = 'self';

function isFound(of) {
	const text = byId('filter').value.toLowerCase();
	return chosen ? chosen === of : Boolean(text) && isListed(of);
}

const isListed = of => (of.name + ' ' + of.object).toLowerCase().includes(byId('filter').value.toLowerCase());

function drawTable() {
	const list = functions.filter(of => of.total && isListed(of));
	const down = (a, b) => b[sorted] - a[sorted] || b.total - a.total;
	list.sort(sorted === 'self' || sorted === 'total' ? down : (a, b) => a[sorted] < b[sorted] ? -1 : 1);
	byId('functions').replaceChildren(...list.slice(0, ROWS).map(of => {
		const row = element('tr', {className: chosen === of ? 'chosen' : ''});
		for (const part of [of.self, of.total]) {
			const cell = element('td', {className: 'share', title: amount(part)}, percent(part, selected));
			cell.style.setProperty('--share', 100 * part / (selected || 1) + '%');
			row.append(cell);
		}
		row.append(element('td', {className: 'code', title: of.name}, of.name + (of.flags & KERNEL ? ' [k]' : '')),
			element('td', {className: 'code', title: of.object}, of.object));
		row.addEventListener('click', () => choose(of));
		return row;
	}));
	byId('found').textContent = list.length + (list.length === 1 ? ' function' : ' functions') +
		(list.length > ROWS ? ', ' + ROWS + ' shown' : '') + (byId('filter').value ?
		', self ' + percent(list.reduce((sum, of) => sum + of.self, 0), selected) : '');
	for (const button of document.querySelectorAll('th button'))
		button.classList.toggle('sorted', button.dataset.key === sorted);
}

// --- Source

function drawFile([, file, newer, lines]) {
	const box = element('div', {className: 'lines'});
	let most = 1;
	for (let i = 0; i < lines.length; i += 3)
		most = Math.max(most, lines[i + 1]);
	for (let i = 0; i < lines.length; i += 3) {
		const [number, weight, text] = lines.slice(i, i + 3);
		const line = element('div', {className: i && number !== lines[i - 3] + 1 ? 'line gap' : 'line'},
			element('span', {}, weight ? percent(weight, data.weight) : ''), element('span', {}, String(number)),
			text);
		line.style.setProperty('--heat', .4 * weight / most);
		box.append(line);
	}
	return [element('p', {className: 'note'}, file + (newer ? ' (changed after the recording)' : '')), box];
}

// The source of a function; without a name, of the hottest one that has any
function drawSource(name) {
	const wanted = name || (data.sources.length ? data.sources[0][0] : '');
	const files = data.sources.filter(source => source[0] === wanted);
	const none = !name ? 'No function has source lines that can be read here. Compile with -g to see them.' :
		'The source of this function is not in the page.';
	byId('source').replaceChildren(element('h2', {title: wanted}, wanted || 'Source'),
		...files.length ? files.flatMap(drawFile) : [element('p', {className: 'note'}, none)]);
}

// --- The page

function followInput() {
	followPointer();
	byId('event').addEventListener('change', () => show(byId('event').value));
	byId('all').addEventListener('click', () => select(null));
	byId('filter').addEventListener('input', () => {
		chosen = null;
		drawGraph();
		drawTable();
	});
	for (const [id, to] of [['down', false], ['up', true]])
		byId(id).addEventListener('click', () => {
			callers = to;
			path = [];
			drawGraph();
		});
	byId('reset').addEventListener('click', () => {
		path = [];
		drawGraph();
	});
	byId('graph').addEventListener('click', event => {
		if (!event.target.dataset.i)
			return;
		path = frames[event.target.dataset.i].at;
		drawGraph();
		if (path.length && !chosen)
			drawSource(path[path.length - 1].text);
	});
	for (const button of document.querySelectorAll('th button'))
		button.addEventListener('click', () => {
			sorted = button.dataset.key;
			drawTable();
		});
	addEventListener('keydown', event => {
		if (event.key === 'Escape')
			select(null);
	});
	addEventListener('resize', () => {
		drawLanes();
		drawGraph();
	});
	matchMedia('(prefers-color-scheme: dark)').addEventListener('change', drawLanes);
}

function show(event) {
	data = page.events[event];
	document.title = 'pfm: ' + data.event;
	byId('title').textContent = (data.head.find(line => line.startsWith('command: ')) || 'A recording').replace(/^command: /, '');
	byId('summary').textContent = data.event + ': ' + amount(data.weight) + ' in ' + data.samples + ' samples, ' +
		seconds(data.span) + (data.shortened ? '. Rare call chains are shortened: ' + percent(data.shortened, data.weight) : '');
	byId('head').textContent = data.head.join('\n');
	byId('about').open = data.lacks; // says what is missing
	readNames();
	readNodes();
	makeLanes();
	chosen = null;
	path = [];
	select(null);
	drawLanes();
	drawSource();
}

page.events.forEach((event, i) => byId('event').append(element('option', {value: i, selected: i === page.shown}, event.event)));
byId('event').hidden = page.events.length < 2;
followInput();
show(page.shown);
