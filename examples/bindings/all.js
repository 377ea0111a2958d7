#!/usr/bin/node
// SPDX-License-Identifier: MIT
// all.js MOUNT: everything that fs-layout.md offers a language, without modules of others: see all.pl.
'use strict';

const fs = require('fs');

if (process.argv.length !== 3) {
  console.error('usage: all.js MOUNT');
  process.exit(1);
}
const mount = process.argv[2];

function fail(why) {
  fs.writeSync(2, why + '\n');
  process.exit(1);
}

function say(line) {
  fs.writeSync(1, line + '\n');
}

function check(holds, what) {
  if (!holds)
    fail('not so: ' + what);
  say(what);
}

function text(fd, position) {
  const bytes = Buffer.alloc(4096);
  return bytes.toString('utf8', 0, fs.readSync(fd, bytes, 0, bytes.length, position)).trimEnd();
}

// An open clone is a context. The last close removes it, even if this program is killed.
const clone = fs.openSync(mount + '/clone', 'r+');
const context = mount + '/' + text(clone, null).split(' ')[1];

function get(name) {
  return fs.readFileSync(context + '/' + name, 'utf8').trimEnd();
}

// One write is one command. The next read of the same descriptor has the sentence of an error; in
// files that have text of their own, at any offset but 0.
function put(name, line) {
  const fd = fs.openSync(context + '/' + name, 'r+');
  try {
    fs.writeSync(fd, line);
  } catch (error) {
    fail(name + ': ' + text(fd, 1));
  }
  fs.closeSync(fd);
}

function command(line) {
  try {
    fs.writeSync(clone, line);
  } catch (error) {
    return text(clone, null) || error.message; // a removed context leaves no sentence
  }
  return null;
}

function execute(line) {
  const sentence = command(line);
  if (sentence !== null)
    fail(line + ': ' + sentence);
}

function sleep(ms) {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

// A waiting read has one of Node's four threads for files, until there is a message: wait for one
// file at a time, or set UV_THREADPOOL_SIZE.
function nextMessage() {
  return fs.promises.open(context + '/events').then(async (events) => {
    const { bytesRead, buffer } = await events.read(Buffer.alloc(256), 0, 256, null);
    await events.close();
    return buffer.toString('utf8', 0, bytesRead);
  });
}

// Works in this thread until the promise is settled.
async function workUntil(promise) {
  let result, x = 0;
  promise.then((value) => { result = value; }, (error) => fail('events: ' + error.message));
  while (result === undefined) {
    for (let n = 0; n < 100000; n++)
      x += Math.sqrt(n);
    await new Promise(setImmediate);
  }
  return result;
}

async function main() {
  check(get('state') === 'unloaded', 'context: made');
  say('error: ' + command('start'));

  put('format', 'default size=4096');
  put('pmc/0', 'context-switches');
  put('pmc/1', 'task-clock');
  // A sample every millisecond, with PMD 0. A full buffer masks the counters and sends a message.
  put('pmd/1', '-1000000 short=-1000000 long=-1000000 notify smpl=0');
  say('events: context-switches, task-clock');

  const [pid, , tid] = fs.readlinkSync('/proc/thread-self').split('/');
  execute('load tid=' + tid);
  execute('start');
  for (let n = 0; n < 20; n++)
    sleep(1);
  check(BigInt(get('pmd/0')) >= 20n, 'count: at least 20 context switches of 20 sleeps');

  const message = await workUntil(nextMessage());
  check(message.startsWith('overflow ') && message.includes(` pmds=1 pid=${pid} tid=${tid} `),
    'message: PMD 1 has overflowed in this thread');
  check(get('state').startsWith('masked '), 'state: masked');

  // The sampling format "default": a header of 128 bytes, then samples of an entry and one value.
  const buffer = fs.readFileSync(context + '/buffer');
  const count = buffer.readBigUInt64LE(0);
  const switches = BigInt(get('pmd/0'));
  let mine = 0n;
  for (let at = 128; at < buffer.readBigUInt64LE(8); at += 48)
    mine += BigInt(buffer.readUInt32LE(at) === Number(tid) && buffer.readUInt16LE(at + 4) === 1 &&
      buffer.readUInt16LE(at + 34) === 0 && buffer.readUInt32LE(at + 36) === Number(pid) &&
      buffer.readBigUInt64LE(at + 40) <= switches);
  check(count === mine && buffer.readBigUInt64LE(16) === 1n,
    `buffer: ${count} samples, all of this thread`);

  execute('stop');
  check(get('set/0/live').match(/^pmd0 (\d+)/m)[1] === get('pmd/0'), 'live: the count of PMD 0');
  say('end: the context goes with this program');
  while (fs.readSync(0, Buffer.alloc(256)) > 0)
    ;
}

main().catch((error) => fail(error.message));
