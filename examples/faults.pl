#!/usr/bin/perl
# SPDX-License-Identifier: MIT
# faults.pl MOUNT PROGRAM [ARG...]: counts the page faults of PROGRAM at user level. PROGRAM
# prints a line when it is ready, waits for a line, works, and prints a line when it is done; pages.c
# is such a program. The count is from ready to done. faults.sh, faults.py and faults.c do the same.
use strict;
use warnings;
use Fcntl;
use IPC::Open2;

sub fail {
	print STDERR 'faults.pl: ', @_;
	exit 1;
}

fail("usage: faults.pl MOUNT PROGRAM [ARG...]\n") if @ARGV < 2;
my ($mount, @command) = @ARGV;
my $ctx = "$mount/ctx/faults-$$";
my ($made, $to);

END {
	close $to if $to;
	rmdir $ctx if $made;
}

sub content {
	my ($file) = @_;
	open my $in, '<', $file or fail("$file: $!\n");
	my $text = do { local $/; <$in> };
	return $text if defined $text;
	open $in, '<', "$ctx/last_error" or fail("$file: $!\n");
	fail("$file: ", <$in>);
}

# One write is one command. last_error explains an error.
sub put {
	my ($file, $text) = @_;
	sysopen my $out, "$ctx/$file", O_WRONLY or fail("$file: $!\n");
	defined syswrite $out, $text or fail("$file: ", content("$ctx/last_error"));
}

my ($event) = content("$mount/pmu/events") =~ /^page-faults (\S+)/m
	or fail("$mount counts no page faults: see --backend=perf\n");
mkdir $ctx or fail("$ctx: $!: ", content("$mount/last_error"));
$made = 1;
{
	no warnings 'portable';    # all 64 bits
	put('pmc/0', hex($event) & ~0x20000);    # user level only
}

my $program = open2(my $from, $to, @command);
defined <$from> or fail("the program has ended\n");
put('ctl', "load tid=$program");
put('ctl', 'start');
print $to "\n";
<$from>;
put('ctl', 'stop');
print content("$ctx/pmd/0");
