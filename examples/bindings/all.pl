#!/usr/bin/perl
# SPDX-License-Identifier: MIT
# all.pl MOUNT: everything that fs-layout.md offers a language, with the core modules alone: a context
# that ends with this program, events by name, this thread, an overflow and its message, samples, the
# live counts. The programs of this folder print the same lines, then wait for their input to end.
use strict;
use warnings;
use Fcntl;
use Time::HiRes 'sleep';

$| = 1;
my ($mount) = @ARGV;
fail("usage: all.pl MOUNT\n") unless defined $mount;

sub fail {
	print STDERR @_;
	exit 1;
}

# An open clone is a context. The last close removes it, even if this program is killed.
sysopen my $clone, "$mount/clone", O_RDWR or fail("$mount/clone: $!\n");
sysread $clone, my $line, 256;
my (undef, $path) = split ' ', $line;
my $context = "$mount/$path";

sub get {
	open my $file, '<', "$context/$_[0]" or fail("$_[0]: $!\n");
	local $/;
	my $text = <$file>;
	fail("$_[0]: $!\n") unless defined $text;
	$text =~ s{\n$}{};
	return $text;
}

# One write is one command. The next read of the same descriptor has the sentence of an error; in
# files that have text of their own, at any offset but 0.
sub put {
	my ($name, $text) = @_;
	sysopen my $file, "$context/$name", O_RDWR or fail("$name: $!\n");
	return if defined syswrite $file, $text;
	sysseek $file, 1, 0;
	sysread $file, my $sentence, 4096;
	fail("$name: $sentence");
}

sub command {
	return '' if defined syswrite $clone, $_[0];
	my $error = "$!\n";
	my $sentence;
	return sysread($clone, $sentence, 4096) ? $sentence : $error; # a removed context leaves none
}

sub execute {
	my $sentence = command($_[0]);
	fail("$_[0]: $sentence") if $sentence;
}

sub check {
	my ($holds, $what) = @_;
	fail("not so: $what\n") unless $holds;
	print "$what\n";
}

check(get('state') eq 'unloaded', 'context: made');
print 'error: ', command('start');

put('format', 'default size=4096');
put('pmc/0', 'context-switches');
put('pmc/1', 'task-clock');
# A sample every millisecond, with PMD 0. A full buffer masks the counters and sends a message.
put('pmd/1', '-1000000 short=-1000000 long=-1000000 notify smpl=0');
print "events: context-switches, task-clock\n";

my ($pid, undef, $tid) = split '/', readlink '/proc/thread-self';
execute("load tid=$tid");
execute('start');
sleep 0.001 for 1 .. 20;
check(get('pmd/0') >= 20, 'count: at least 20 context switches of 20 sleeps');

# The file events is ready when there is a message.
open my $events, '<', "$context/events" or fail("events: $!\n");
my $ready = '';
vec($ready, fileno $events, 1) = 1;
my $x = 0;
until (select(my $found = $ready, undef, undef, 0)) {
	$x += sqrt $_ for 1 .. 1000;
}
sysread $events, my $message, 256;
check($message =~ /^overflow .*\bpmds=1 pid=$pid tid=$tid\b/, 'message: PMD 1 has overflowed in this thread');
check(get('state') =~ /^masked /, 'state: masked');

# The sampling format "default": a header of 128 bytes, then samples of an entry and one value.
open my $buffer, '<:raw', "$context/buffer" or fail("buffer: $!\n");
read $buffer, my $bytes, 4096;
my ($count, $end, $overflows) = unpack 'Q3', $bytes;
my ($mine, $switches) = (0, get('pmd/0'));
for (my $at = 128; $at < $end; $at += 48) {
	my ($sample_tid, $pmd, undef, undef, undef, undef, undef, $set, $sample_pid, $value) =
		unpack 'L S S Q Q Q S S L Q', substr $bytes, $at, 48;
	$mine += $sample_tid == $tid && $sample_pid == $pid && $pmd == 1 && $set == 0 && $value <= $switches;
}
check($count == $mine && $overflows == 1, "buffer: $count samples, all of this thread");

execute('stop');
my ($live) = get('set/0/live') =~ /^pmd0 (\d+)/m;
check($live == get('pmd/0'), 'live: the count of PMD 0');
print "end: the context goes with this program\n";
1 while <STDIN>;
