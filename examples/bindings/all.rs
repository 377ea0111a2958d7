// SPDX-License-Identifier: MIT
// rustc all.rs && ./all MOUNT: everything that fs-layout.md offers a language, with std alone, which
// cannot map files: see all.pl.
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::FileExt;
use std::process::exit;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

fn fail(why: String) -> ! {
    eprintln!("{}", why.trim_end());
    exit(1)
}

fn must<T>(result: io::Result<T>, what: &str) -> T {
    result.unwrap_or_else(|error| fail(format!("{}: {}", what, error)))
}

fn check(holds: bool, what: &str) {
    if !holds {
        fail(format!("not so: {}", what));
    }
    println!("{}", what);
}

fn open(path: &str) -> File {
    must(OpenOptions::new().read(true).write(true).open(path), path)
}

struct Context {
    clone: File,
    path: String,
}

impl Context {
    // An open clone is a context. The last close removes it, even if this program is killed.
    fn new(mount: &str) -> Context {
        let mut clone = open(&format!("{}/clone", mount));
        let mut line = String::new();
        must(clone.read_to_string(&mut line), "clone");
        let path = format!("{}/{}", mount, line.trim_end().split(' ').nth(1).unwrap_or(""));
        Context { clone, path }
    }

    fn file(&self, name: &str) -> String {
        format!("{}/{}", self.path, name)
    }

    fn get(&self, name: &str) -> String {
        must(fs::read_to_string(self.file(name)), name).trim_end().to_string()
    }

    fn switches(&self) -> u64 {
        self.get("pmd/0").parse().unwrap_or_else(|_| fail("pmd/0 is no number".to_string()))
    }

    // One write is one command. The next read of the same descriptor has the sentence of an error;
    // in files that have text of their own, at any offset but 0.
    fn put(&self, name: &str, line: &str) {
        let mut file = open(&self.file(name));
        if file.write_all(line.as_bytes()).is_err() {
            let mut sentence = [0; 4096];
            let n = must(file.read_at(&mut sentence, 1), name);
            fail(format!("{}: {}", name, String::from_utf8_lossy(&sentence[..n])));
        }
    }

    fn command(&mut self, line: &str) -> Result<(), String> {
        if self.clone.write_all(line.as_bytes()).is_ok() {
            return Ok(());
        }
        let mut sentence = [0; 4096];
        let n = must(self.clone.read(&mut sentence), "clone");
        Err(String::from_utf8_lossy(&sentence[..n]).trim_end().to_string())
    }

    fn execute(&mut self, line: &str) {
        if let Err(sentence) = self.command(line) {
            fail(format!("{}: {}", line, sentence));
        }
    }

    // Receives the next message, by a thread that waits for it.
    fn next_message(&self) -> mpsc::Receiver<String> {
        let (sender, receiver) = mpsc::channel();
        let path = self.file("events");
        thread::spawn(move || {
            let mut line = [0; 256];
            let mut events = must(File::open(path), "events");
            let n = must(events.read(&mut line), "events");
            sender.send(String::from_utf8_lossy(&line[..n]).to_string()).ok();
        });
        receiver
    }
}

fn work_until(found: mpsc::Receiver<String>) -> String {
    let mut x = 0.0;
    loop {
        if let Ok(message) = found.try_recv() {
            assert!(x >= 0.0);
            return message;
        }
        for n in 0..1000 {
            x += (n as f64).sqrt();
        }
    }
}

fn number(bytes: &[u8], at: usize, size: usize) -> u64 {
    bytes[at..at + size].iter().rev().fold(0, |sum, byte| sum << 8 | *byte as u64)
}

// The sampling format "default": a header of 128 bytes, then samples of an entry and one value.
fn check_buffer(buffer: &[u8], pid: u64, tid: u64, switches: u64) {
    let (count, end) = (number(buffer, 0, 8), number(buffer, 8, 8) as usize);
    let is_mine = |at: &usize| {
        number(buffer, *at, 4) == tid
            && number(buffer, at + 4, 2) == 1
            && number(buffer, at + 34, 2) == 0
            && number(buffer, at + 36, 4) == pid
            && number(buffer, at + 40, 8) <= switches
    };
    let mine = (128..end).step_by(48).filter(is_mine).count() as u64;
    check(
        count == mine && number(buffer, 16, 8) == 1,
        &format!("buffer: {} samples, all of this thread", count),
    );
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if arguments.len() != 2 {
        fail("usage: all MOUNT".to_string());
    }
    let mut context = Context::new(&arguments[1]);
    check(context.get("state") == "unloaded", "context: made");
    println!("error: {}", context.command("start").unwrap_err());

    context.put("format", "default size=4096");
    context.put("pmc/0", "context-switches");
    context.put("pmc/1", "task-clock");
    // A sample every millisecond, with PMD 0. A full buffer masks the counters and sends a message.
    context.put("pmd/1", "-1000000 short=-1000000 long=-1000000 notify smpl=0");
    println!("events: context-switches, task-clock");

    let link = must(fs::read_link("/proc/thread-self"), "/proc/thread-self");
    let link = link.to_string_lossy();
    let ids: Vec<&str> = link.split('/').collect();
    let (pid, tid) = (ids[0], ids[2]);
    context.execute(&format!("load tid={}", tid));
    context.execute("start");
    for _ in 0..20 {
        thread::sleep(Duration::from_millis(1));
    }
    check(context.switches() >= 20, "count: at least 20 context switches of 20 sleeps");

    let message = work_until(context.next_message());
    check(
        message.starts_with("overflow ") && message.contains(&format!(" pmds=1 pid={} tid={} ", pid, tid)),
        "message: PMD 1 has overflowed in this thread",
    );
    check(context.get("state").starts_with("masked "), "state: masked");
    let buffer = must(fs::read(context.file("buffer")), "buffer");
    let (pid, tid) = (pid.parse().unwrap_or(0), tid.parse().unwrap_or(0));
    check_buffer(&buffer, pid, tid, context.switches());
    context.execute("stop");
    let wanted = format!("pmd0 {}", context.get("pmd/0"));
    let live = context.get("set/0/live");
    check(
        live.lines().any(|line| line == wanted || line.starts_with(&format!("{} ", wanted))),
        "live: the count of PMD 0",
    );
    println!("end: the context goes with this program");
    must(io::copy(&mut io::stdin(), &mut io::sink()), "stdin");
}
