# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154
# What it costs to read a count in each language that is installed; sourced by bench/run. All read pmd/0 of
# a context on CPU 1 from CPU 0, where the session thread runs, too.

mkdir "$tmp/read"
cat >"$tmp/read/open.py" <<'END'
import os, sys, time
name, rounds = sys.argv[1], int(sys.argv[2])
fd = os.open(name, os.O_RDONLY)
def pread():
    int(os.pread(fd, 64, 0))
def whole():
    with open(name) as file:
        int(file.read())
def module():
    pmd[0]
import perfmonfs
pmd = perfmonfs.Context(os.path.dirname(os.path.dirname(name))).pmd
for what in pread, whole, module:
    times = []
    for _ in range(rounds):
        began = time.monotonic_ns()
        what()
        times.append(time.monotonic_ns() - began)
    print(what.__name__, sorted(times)[rounds // 2])
END
cat >"$tmp/read/open.pl" <<'END'
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC);
my ($name, $rounds) = @ARGV;
open my $fd, '<', $name;
my %what = (
	pread => sub { sysseek $fd, 0, 0; sysread $fd, my $text, 64; return $text + 0 },
	whole => sub { open my $file, '<', $name; my $text = <$file>; return $text + 0 });
for my $what (sort keys %what) {
	my @times;
	for (1 .. $rounds) {
		my $began = clock_gettime(CLOCK_MONOTONIC);
		$what{$what}->();
		push @times, clock_gettime(CLOCK_MONOTONIC) - $began;
	}
	printf "%s %d\n", $what, 1e9 * (sort { $a <=> $b } @times)[$rounds / 2];
}
END
cat >"$tmp/read/open.rb" <<'END'
name, rounds = ARGV[0], ARGV[1].to_i
file = File.open(name)
{ 'pread' => -> { file.pread(64, 0).to_i }, 'whole' => -> { File.read(name).to_i } }.each do |what, read|
  times = Array.new(rounds) do
    began = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
    read.call
    Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond) - began
  end
  puts "#{what} #{times.sort[rounds / 2]}"
end
END
cat >"$tmp/read/open.js" <<'END'
const fs = require('fs');
const [name, rounds] = [process.argv[2], Number(process.argv[3])];
const fd = fs.openSync(name), bytes = Buffer.alloc(64);
const ways = {
  pread: () => Number(bytes.toString('latin1', 0, fs.readSync(fd, bytes, 0, 64, 0))),
  whole: () => Number(fs.readFileSync(name, 'latin1')),
};
for (const [what, read] of Object.entries(ways)) {
  const times = new Float64Array(rounds);
  for (let n = 0; n < rounds; n++) {
    const began = process.hrtime.bigint();
    read();
    times[n] = Number(process.hrtime.bigint() - began);
  }
  console.log(what, times.sort()[rounds >> 1]);
}
END
cat >"$tmp/read/Read.java" <<'END'
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.*;
import java.util.Arrays;

public class Read {
    public static void main(String[] args) throws Exception {
        Path name = Path.of(args[0]);
        int rounds = Integer.parseInt(args[1]);
        FileChannel file = FileChannel.open(name);
        ByteBuffer bytes = ByteBuffer.allocateDirect(64);
        long[] times = new long[rounds];
        long sum = 0;
        for (int n = 0; n < rounds; n++) {
            long began = System.nanoTime();
            bytes.clear();
            byte[] text = new byte[file.read(bytes, 0)];
            bytes.flip().get(text);
            sum += Long.parseUnsignedLong(new String(text).trim());
            times[n] = System.nanoTime() - began;
        }
        Arrays.sort(times);
        System.out.println("pread " + times[rounds / 2]);
        for (int n = 0; n < rounds; n++) {
            long began = System.nanoTime();
            sum += Long.parseUnsignedLong(Files.readString(name).trim());
            times[n] = System.nanoTime() - began;
        }
        Arrays.sort(times);
        System.out.println("whole " + times[rounds / 2]);
        if (sum < 0)
            throw new Exception();
    }
}
END
cat >"$tmp/read/read.go" <<'END'
package main

import ("fmt"; "os"; "sort"; "strconv"; "strings"; "time")

func timed(what string, rounds int, read func() string) {
	times := make([]int, rounds)
	for n := range times {
		began := time.Now()
		if _, err := strconv.ParseUint(strings.TrimSpace(read()), 10, 64); err != nil { panic(err) }
		times[n] = int(time.Since(began).Nanoseconds())
	}
	sort.Ints(times)
	fmt.Println(what, times[rounds/2])
}

func main() {
	rounds, _ := strconv.Atoi(os.Args[2])
	file, _ := os.Open(os.Args[1])
	bytes := make([]byte, 64)
	timed("pread", rounds, func() string { n, _ := file.ReadAt(bytes[:63], 0); return string(bytes[:n]) })
	timed("whole", rounds, func() string { text, _ := os.ReadFile(os.Args[1]); return string(text) })
}
END
cat >"$tmp/read/read.rs" <<'END'
use std::{env, fs, fs::File, os::unix::fs::FileExt, time::Instant};

fn timed(what: &str, rounds: usize, read: impl Fn() -> String) {
    let mut times: Vec<u128> = Vec::new();
    for _ in 0..rounds {
        let began = Instant::now();
        read().trim().parse::<u64>().unwrap();
        times.push(began.elapsed().as_nanos());
    }
    times.sort();
    println!("{} {}", what, times[rounds / 2]);
}

fn main() {
    let arguments: Vec<String> = env::args().collect();
    let rounds = arguments[2].parse().unwrap();
    let file = File::open(&arguments[1]).unwrap();
    timed("pread", rounds, || {
        let mut bytes = [0; 64];
        let n = file.read_at(&mut bytes, 0).unwrap();
        String::from_utf8_lossy(&bytes[..n]).to_string()
    });
    timed("whole", rounds, || fs::read_to_string(&arguments[1]).unwrap());
}
END

# language NAME NEEDED COMMAND...
language() {
	local name=$1

	command -v "$2" >/dev/null || { skip "no $2: without $name"; return 0; }
	shift 2
	taskset -c 0 env PYTHONPATH=python PYTHONDONTWRITEBYTECODE=1 "$@" "$tmp/mnt/ctx/read/pmd/0" "${ROUNDS:-20000}" |
		awk -v name="$name" '{ printf "%-7s %-7s %6d ns\n", name, $1, $2 }'
}

echo "== one count: pread of an open file, the whole file by its name, and Python's module; median"
start perf
mkdir "$tmp/mnt/ctx/read"
echo page-faults >"$tmp/mnt/ctx/read/pmc/0"
echo load cpu=1 >"$tmp/mnt/ctx/read/ctl"
echo start >"$tmp/mnt/ctx/read/ctl"
taskset -c 0 "$build/bench/bench_pread" "${ROUNDS:-20000}" "$tmp/mnt/ctx/read/pmd/0" "$tmp/mnt/ctx/read/pmd/0" |
	awk 'NR == 1 { printf "C       pread   %6d ns\n", $3 }'
if command -v go >/dev/null; then
	GO111MODULE=off GOCACHE=$tmp/read/cache go build -o "$tmp/read/go" "$tmp/read/read.go"
fi
language Go go "$tmp/read/go"
if command -v javac >/dev/null; then
	javac -d "$tmp/read" "$tmp/read/Read.java"
fi
language Java javac java -cp "$tmp/read" Read
language Node node node "$tmp/read/open.js"
language Perl perl perl "$tmp/read/open.pl"
language Python python3 python3 "$tmp/read/open.py"
language Ruby ruby ruby "$tmp/read/open.rb"
if command -v rustc >/dev/null; then
	rustc -O -o "$tmp/read/rust" "$tmp/read/read.rs"
fi
language Rust rustc "$tmp/read/rust"
stop
