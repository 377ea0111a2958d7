#!/usr/bin/ruby
# SPDX-License-Identifier: MIT
# all.rb MOUNT: everything that fs-layout.md offers a language, without libraries: see all.pl.

$stdout.sync = true
abort 'usage: all.rb MOUNT' unless ARGV.length == 1
MOUNT = ARGV[0]

def check(holds, what)
  abort "not so: #{what}" unless holds
  puts what
end

# An open clone is a context. The last close removes it, even if this program is killed.
CLONE = File.open("#{MOUNT}/clone", File::RDWR)
_number, path = CLONE.sysread(256).split
CONTEXT = "#{MOUNT}/#{path}"

def get(name)
  File.read("#{CONTEXT}/#{name}").chomp
end

# One write is one command. The next read of the same descriptor has the sentence of an error; in
# files that have text of their own, at any offset but 0.
def put(name, text)
  File.open("#{CONTEXT}/#{name}", File::RDWR) do |file|
    file.syswrite(text)
  rescue SystemCallError
    abort "#{name}: #{file.pread(4096, 1)}"
  end
end

def command(text)
  CLONE.syswrite(text)
  nil
rescue SystemCallError
  CLONE.sysread(4096)
end

def do!(text)
  sentence = command(text)
  abort "#{text}: #{sentence}" if sentence
end

check(get('state') == 'unloaded', 'context: made')
puts "error: #{command('start')}"

put('format', 'default size=4096')
put('pmc/0', 'context-switches')
put('pmc/1', 'task-clock')
# A sample every millisecond, with PMD 0. A full buffer masks the counters and sends a message.
put('pmd/1', '-1000000 short=-1000000 long=-1000000 notify smpl=0')
puts 'events: context-switches, task-clock'

pid, _task, tid = File.readlink('/proc/thread-self').split('/')
do!("load tid=#{tid}")
do!('start')
20.times { sleep 0.001 }
check(get('pmd/0').to_i >= 20, 'count: at least 20 context switches of 20 sleeps')

# The file events is ready when there is a message.
events = File.open("#{CONTEXT}/events")
x = 0
1000.times { |n| x += Math.sqrt(n) } until IO.select([events], nil, nil, 0)
check(events.sysread(256) =~ /^overflow .*\bpmds=1 pid=#{pid} tid=#{tid}\b/,
      'message: PMD 1 has overflowed in this thread')
check(get('state').start_with?('masked '), 'state: masked')

# The sampling format "default": a header of 128 bytes, then samples of an entry and one value.
buffer = File.binread("#{CONTEXT}/buffer")
switches = get('pmd/0').to_i
count, last, overflows = buffer.unpack('Q3')
mine = (128...last).step(48).count do |at|
  sample_tid, pmd, _, _, _, _, _, set, sample_pid, value = buffer[at, 48].unpack('L S S Q Q Q S S L Q')
  [sample_tid, sample_pid, pmd, set] == [tid.to_i, pid.to_i, 1, 0] && value <= switches
end
check(count == mine && overflows == 1, "buffer: #{count} samples, all of this thread")

do!('stop')
check(get('set/0/live')[/^pmd0 (\d+)/, 1] == get('pmd/0'), 'live: the count of PMD 0')
puts 'end: the context goes with this program'
$stdin.read
