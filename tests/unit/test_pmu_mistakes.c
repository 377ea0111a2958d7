// SPDX-License-Identifier: MIT
/* What --pmu-check tells of mistakes in a description: the line, what is wrong, what to write. */
#include "backend/pmu/key.h"
#include "backend/pmu/model.h"
#include "base/text.h"
#include "tests/unit/unit.h"

#define HEAD "pmu x A model\nrate 1000\n"
#define BITS " default=0 reserved=0xffffffff00380000 enable=0x400000 kernel=0x20000"
#define PMC0 "pmc 0 S addr=0x186" BITS "\n"
#define PMD0 "pmd 0 C addr=0xc1 width=40 wmask=0xff pmc=0\n"

static const struct {
	const char *text, *says; /* LINE: SENTENCE */
} mistakes[] = {
	{HEAD "pmc 0 S addr=0x186" BITS " node\n" PMD0,
		"3: S: node needs wide=, whose events it is about: write wide=BITS, or leave node "
		"out\n"},
	{HEAD "pmc 0 S addr=0x186" BITS " wide=0xff00000000 node\n" PMD0,
		"3: S: bits 0xff00000000 are both used and reserved: clear them in reserved=, or "
		"in enable=, kernel=, user= and wide=\n"},
	{HEAD "pmc 0 S addr=0x186" BITS " wide=0xe0 node scope=package\npmd 0 C addr=0xc1 width=40 "
	      "wmask=0xff pmc=0 scope=package\n",
		"3: S: node is for a selector of one counter per CPU: leave out node, or shared "
		"and scope=\n"},
	{HEAD "pmc 0 S addr=0x186" BITS " wide=0xe0 node shared\n" PMD0,
		"3: S: node is for a selector of one counter per CPU: leave out node, or shared "
		"and scope=\n"},
	{HEAD "detect vendor=intel version=4 max_version=1\n" PMC0 PMD0,
		"3: max_version=1 is below version=4, so that no CPU fits: write the higher one in "
		"max_version=\n"},
	{HEAD PMC0 PMD0 "free tsc addr=0x10 width=0 unit=ticks scope=thread\n",
		"5: tsc: width=0: write the bits of the value, 1 to 64\n"},
	{HEAD PMC0 "pmd 0 C addr=0xc1 width=0 wmask=0xff pmc=0\n",
		"4: C: the width 0 is not within 1..64: write width=, or with of= the width in "
		"'features'\n"},
	{HEAD "# note\n" PMC0 "pmc 1 T addr=0x186" BITS "\n" PMD0,
		"5: T: 0x186 is also the register of S (0x186): write another address (in an "
		"array, addr=N+STEP), or leave one out\n"},
	{HEAD "pmc 0-3 S addr=0x186" BITS "\n" PMD0,
		"3: S1: 0x186 is also the register of S0 (0x186): write another address (in an "
		"array, addr=N+STEP), or leave one out\n"},
	{HEAD PMC0 "pmc 1 T addr=0x187" BITS "\n" PMD0
		   "pmd 1 D addr=0x4c1 width=40 wmask=0xff pmc=1\n",
		"6: D: 0x4c1 is also the register of C (0xc1): write another address (in an array, "
		"addr=N+STEP), or leave one out\n"},
	{HEAD "pmc 0 S addr=0xc0010000" BITS "\npmc 1 T addr=0xc0010200" BITS
	      "\npmd 0 C addr=0xc0010004 width=48 wmask=0xff pmc=0\npmd 1 D addr=0xc0010201 "
	      "width=48 wmask=0xff pmc=1\n",
		"4: T: 0xc0010200 is also the register of S (0xc0010000): write another address "
		"(in an array, addr=N+STEP), or leave one out\n6: D: 0xc0010201 is also the "
		"register of C (0xc0010004): write another address (in an array, addr=N+STEP), or "
		"leave one out\n"},
	{HEAD "pmc 0 S addr=0xc0010000" BITS " wide=0xe0 node\npmc 1 T addr=0xc0010200" BITS
	      " wide=0xe0 node\npmd 0 C addr=0xc0010004 width=48 wmask=0xff pmc=0\n",
		"4: T: 0xc0010200 is also the register of S (0xc0010000): write another address "
		"(in an array, addr=N+STEP), or leave one out\n"},
	{HEAD "global ctrl=0x1d9\n" PMC0 PMD0,
		"3: global: 0x1d9 is not known as a PMU's global control: write the address from "
		"the processor's manual, which perfmonfs has to know, too\n"},
	{HEAD "global ctrl=0\n" PMC0 PMD0, "3: ctrl=0 is not a register: write the address of the "
					   "global control, or leave the line out\n"},
	{HEAD "global ctrl=0x38f status=0x38e\n" PMC0 PMD0,
		"3: global: status= and clear= come together: write both, or neither\n"},
	{HEAD "global ctrl=0x38f status=0x390 clear=0x38e\n" PMC0 PMD0,
		"3: global: 0x390 is a PMU's overflow clear register, not its overflow status: "
		"write it in a line 'global clear='\n"},
	{HEAD "global ctrl=0x38f clr=1\n" PMC0
	      "pmd 0 C addr=0xc1 width=40 wmask=0xff pmc=0 global=0\n",
		"3: 'clr=1' is not a key of this line: write one of ctrl=, inuse=, status=, "
		"clear=\n"},
	{HEAD PMC0 PMD0 "sim x y\n", "5: sim: its CPUID is missing: write a line 'cpuid "
				     "signature=N max_leaf=N selector=BITS', too\n"},
	{HEAD PMC0 PMD0 "cpuid signature=1 max_leaf=1 selector=1\n",
		"5: cpuid: it is for a simulated processor: write a line 'sim NAME COUNTERS', too, "
		"or leave it out\n"},
	{HEAD PMC0 PMD0 "sim x y\ncpuid signature=1 max_leaf=0 selector=1\n",
		"6: max_leaf=0: write the number of the last leaf, from 1 on\n"},
	{"", "1: the PMU's name is missing or not a plain word: write a line 'pmu NAME TITLE', its "
	     "name with letters, digits, '_', '.' and '-'\n"
	     "1: the rate is missing, which polling requires: write a line 'rate N', the events "
	     "per second that no counter exceeds\n"
	     "1: there is no PMC: write a line 'pmc'; with of=, 'features' says how many there "
	     "are\n"},
	{"pmu x A model\r\nrate 1000\r\npmc 0 S addr=0x186" BITS
	 "\r\npmd 0 C addr=0xc1 width=40 wmask=0xff pmc=0\r\n",
		"1: a carriage return ends the line: save the file with Unix line ends, as by sed "
		"-i 's/\\r$//'\n"},
	{"\357\273\277" HEAD PMC0 PMD0,
		"1: the file begins with a byte order mark: save it as UTF-8 without one\n"},
	{HEAD "pmc 0-3 S addr=0x186+1 colour=5\npmd 0-3 C addr=0xc1+1 width=40 wmask=0xff "
	      "pmc=0+1\n",
		"3: 'colour=5' is not a key of this line: write one of addr=, default=, reserved=, "
		"enable=, kernel=, user=, wide=, node, gate=, restricts, with=, busy=, latched=, "
		"shared, of=, scope=, ovf=, second=, escr=\n"},
	{HEAD "pmc S addr=0x186\n" PMD0,
		"3: the register's number: 'S' is not a number: write digits alone, such as 65536, "
		"or 0x and hexadecimal digits\n"},
	{HEAD "pmc 0 S adr=0x186\n" PMD0 "pmd 1 D addr=0xc2 width=40 wmask=0xff pmc=7\n",
		"3: 'adr=0x186' is not a key of this line: write one of addr=, default=, "
		"reserved=, enable=, kernel=, user=, wide=, node, gate=, restricts, with=, busy=, "
		"latched=, shared, of=, scope=, ovf=, second=, escr=\n"
		"5: pmc=7: no line above describes this PMC: write its line above, or another "
		"number\n"},
	{HEAD "pmc 0-3 S addr=0x186+1 default=0 reserved=0 enable=0 kernel=0\npmd 0-3 C "
	      "addr=0xc1+1 width=40 wmask=0xff pmc=0+1\n",
		"3: S0: bits 0x380000 must be reserved: set them in reserved=\n"},
	{HEAD "pmc 0 S addr=0xc0000080" BITS "\n" PMD0,
		"3: S: 0xc0000080 is not known as a PMU's configuration register: write the "
		"address from the processor's manual, which perfmonfs has to know, too\n"},
	{HEAD "pmc 0 S addr=0xc1" BITS "\n" PMD0,
		"3: S: 0xc1 is a PMU's counter, not its configuration register: write it in a line "
		"'pmd'\n"},
	{HEAD PMC0 "pmd 0 C addr=0x187 width=40 wmask=0xff pmc=0\n",
		"4: C: 0x187 is a PMU's configuration register, not its counter: write it in a "
		"line 'pmc'\n"},
	{HEAD PMC0 "pmd 0 C addr=0x600 width=40 wmask=0xff pmc=0\n",
		"4: C: 0x600 is not known as a PMU's counter: write the address from the "
		"processor's manual, which perfmonfs has to know, too\n"},
	{HEAD "rate 5\n" PMC0 PMD0, "3: a second line 'rate' after line 2: leave one out\n"},
	{HEAD "features version=1 gp=33 gp_width=40\n" PMC0 PMD0,
		"3: gp=: '33' is over the limit of 32\n"},
	{HEAD "features gp=2 gp_width=40\n" PMC0 PMD0,
		"3: version= is missing: write version=N, a number\n"},
	{HEAD "detect version=2\n" PMC0 PMD0,
		"3: vendor= is missing: write it with one of intel, amd\n"},
	{HEAD PMC0 PMD0 "free e addr=0x611 width=32 unit=ticks scope=package\n",
		"5: e: its unit is not that of 0x611: write unit=rapl or unit=rapl_atom\n"},
	{HEAD PMC0 PMD0 "free e addr=0x611 width=64 unit=rapl scope=package\n",
		"5: e: bits 0xffffffff00000000 of 0x611 are outside its value: choose shift= and "
		"width= within 0xffffffff\n"},
	{HEAD PMC0 PMD0 "free e addr=0xc0000080 width=64 unit=ticks scope=package\n",
		"5: e: 0xc0000080 is not known as a register to be read: write the address from "
		"the processor's manual, which perfmonfs has to know, too\n"},
	{HEAD PMC0 PMD0 "free e addr=0x10 width=64 unit=ticks scope=thread\nfree f addr=0x10 "
			"width=64 unit=ticks scope=thread\n",
		"6: f: e above has the same name or address 0x10: change them, or leave the line "
		"out\n"},
	{HEAD PMC0 PMD0 "free e addr=0x10 width=64 shift=1 unit=ticks scope=thread\n",
		"5: e: bits 1 to 64 do not fit in a register of 64 bits: write a lower shift= or "
		"width=\n"},
	{HEAD PMC0, "1: there is no PMD: write a line 'pmd'; with of=, 'features' says how many "
		    "there are\n"},
	{HEAD, "1: there is no PMC: write a line 'pmc'; with of=, 'features' says how many there "
	       "are\n"},
	{"pmu x y\n" PMC0 PMD0, "1: the rate is missing, which polling requires: write a line "
				"'rate N', the events per second that no counter exceeds\n"},
	{"pmu x y\nrate 0\n" PMC0 PMD0,
		"2: rate 0: write the events per second that no counter exceeds\n"},
	{"pmu x y\nrate 1e9\n" PMC0 PMD0, "2: rate: '1e9' is not a number: write digits alone, "
					  "such as 65536, or 0x and hexadecimal digits\n"},
	{"rate 1\n" PMC0 PMD0,
		"1: the PMU's name is missing or not a plain word: write a line 'pmu NAME TITLE', "
		"its name with letters, digits, '_', '.' and '-'\n"},
	{"pmu x\nrate 1\n" PMC0 PMD0, "1: the title is missing: write 'pmu NAME TITLE'\n"},
	{"pmu x/y t\nrate 1\n" PMC0 PMD0,
		"1: the PMU's name is missing or not a plain word: write a line 'pmu NAME TITLE', "
		"its name with letters, digits, '_', '.' and '-'\n"},
	{HEAD "pmc 0 S addr=0x186 default=0 reserved=0xffffffff00000000 enable=0x400000 "
	      "kernel=0x20000\n" PMD0,
		"3: S: bits 0x380000 must be reserved: set them in reserved=\n"},
	{HEAD "pmc 0 S addr=0x186 default=0 reserved=0xffffffff00380000 enable=0 "
	      "kernel=0x20000\n" PMD0,
		"3: S: bits 0x400000 must be enable bits or reserved: set them in enable= or "
		"reserved=\n"},
	{HEAD "pmc 0 S addr=0x186 default=0 reserved=0xffffffff00380000 enable=0x400000 "
	      "kernel=0\n" PMD0,
		"3: S: bits 0x20000 must be kernel bits or reserved: set them in kernel= or "
		"reserved=\n"},
	{HEAD "pmc 0 S addr=0x186 default=0x430000 reserved=0xffffffff00380000 enable=0x400000 "
	      "kernel=0x20000\n" PMD0,
		"3: S: default= sets enable or reserved bits 0x400000: clear them\n"},
	{HEAD "pmc 0 S addr=0x186" BITS " user=0x100000\n" PMD0,
		"3: S: bits 0x100000 are both used and reserved: clear them in reserved=, or in "
		"enable=, kernel=, user= and wide=\n"},
	{HEAD "pmc 1 T addr=0x187" BITS "\n" PMC0 PMD0,
		"4: S: its number 0 is not above the previous one, 1: write the lines in the order "
		"of their numbers\n"},
	{HEAD PMD0 PMC0, "3: pmc=0: no line above describes this PMC: write its line above, or "
			 "another number\n"},
	{HEAD PMC0 "pmd 256 C addr=0xc1 width=40 wmask=0xff pmc=0\n",
		"4: C: numbers from 256 on are for virtual PMDs: write a lower one\n"},
	{HEAD PMC0 "pmd 0 C addr=0xc1 width=40 wmask=0xff00 pmc=0\n",
		"4: C: wmask 0xff00 is not a run of its lowest bits: write a value like 0xff, of "
		"at most 40 ones\n"},
	{HEAD PMC0 "pmd 0 C addr=0xc1 width=40 wmask=0xffffffffffff pmc=0\n",
		"4: C: wmask 0xffffffffffff is not a run of its lowest bits: write a value like "
		"0xff, of at most 40 ones\n"},
	{HEAD PMC0 "pmd 0 C addr=0xc1 width=65 wmask=0xff pmc=0\n",
		"4: width=: '65' is over the limit of 64\n"},
	{HEAD PMC0 "pmd 0 C addr=0xc1 wmask=0xff pmc=0\n",
		"4: width= is missing: write the bits that count, or of=, by which CPUID says "
		"them\n"},
	{HEAD PMC0 "pmd 0 C addr=0xc1 waddr=0x4c2 width=40 wmask=0xff pmc=0\n",
		"4: C: 0x4c2 is not known as another address of 0xc1: write the alias of this "
		"counter, or leave it out\n"},
	{HEAD PMC0 "pmd 0 C addr=0xc1 width=40 wmask=0xff pmc=0 global=0\n",
		"4: C: there is no global control for its bit 0: write a line 'global', or leave "
		"global= out\n"},
	{HEAD "global ctrl=0x38f\npmc 0-1 S addr=0x186+1" BITS
	      "\npmd 0-1 C addr=0xc1+1 width=40 wmask=0xff pmc=0+1 global=0\n",
		"5: C1: its global bit 0 is also that of C0: write another (in an array, "
		"global=N+STEP)\n"},
	{HEAD "pmc 16 F addr=0x38d default=0 reserved=0xffffffffffffcccc enable=0x3333 "
	      "kernel=0x1111\npmd 16 C addr=0x309 width=40 wmask=0xff pmc=16\n",
		"3: F: it has several counters: write shared\n"},
	{HEAD "pmc 16 F addr=0x38d default=0 reserved=0xffffffffffffcccc enable=0x3333 "
	      "kernel=0x1111 shared\npmd 16-17 C addr=0x309+1 width=40 wmask=0xff pmc=16 "
	      "field=0xf\n",
		"4: C1: its field= in F overlaps that of C0: write other bits (in an array, "
		"field=N<<STEP)\n"},
	{HEAD PMC0 "pmd 0 C addr=0xc1 width=40 wmask=0xff pmc=0 field=0\n",
		"4: C: field= is 0: write its bits in S\n"},
	{HEAD "pmc 0 S addr=0x186 default=0 reserved=0xffffffff00380000 enable=0x400000 scope=core "
	      "kernel=0x20000\n" PMD0,
		"4: C: its scope= is not that of S: write the same in both lines\n"},
	{HEAD "pmc 0 S of=gp addr=0x186" BITS "\n" PMD0,
		"3: of=: there is no line 'features' above, which says how many there are: write "
		"one\n"},
	{HEAD "features version=1 gp=0 gp_width=40\npmc 0 S of=gp addr=0x186" BITS
	      "\npmd 0 C addr=0xc1 width=40 wmask=0xff pmc=0 of=gp\n",
		"1: there is no PMC: write a line 'pmc'; with of=, 'features' says how many there "
		"are\n"},
	{HEAD "features version=2 gp=1 gp_width=48 umc=8 umcs=2\n" PMC0
	      "pmc 64-70 S of=umc addr=0xc0010800+2 default=0 reserved=0xffffffff7ffffc00 "
	      "enable=0x80000000 kernel=0 scope=package\n" PMD0,
		"5: of=umc: the last memory controller has counters behind 70: give an array of 64 "
		"registers\n"},
	{HEAD "pmc 0-64 S addr=0x186" BITS "\n" PMD0,
		"3: the array has more than 64 registers: divide it into several lines\n"},
	{HEAD "pmc 0,3 S addr=0x186" BITS "\n" PMD0,
		"3: a line describes one register, or N-M, an array: divide it into several\n"},
	{HEAD "pmc 0 S addr=0x186 default=0 reserved=0xffffffff00380000 enable=0x400000 gate=5 "
	      "kernel=0x20000\n" PMD0,
		"3: gate=5: no line above describes this PMC: write its line above, or another "
		"number\n"},
	{HEAD "pmc 0 S addr=0x186 default=0 reserved=0xffffffff00380000 enable=0x400000 busy=1 "
	      "kernel=0x20000\n" PMD0,
		"3: S: bits 0x1 of busy= or latched= must be reserved: set them in reserved=\n"},
	{HEAD PMC0 "pmd 0 C addr=0xc1 width=40 wmask=0xff pmc=0 buffer\n",
		"4: C: a buffer needs a width of 64 bits, all of them in wmask=, and no global=: "
		"correct these, or leave buffer out\n"},
	{HEAD "pmc 0 S addr=0x186 default=0 reserved=0xffffffff00380000 enable=0x400000 "
	      "escr=0xe000:0 kernel=0x20000\n" PMD0,
		"3: escr=0: no line above describes this PMC: write its line above, or another "
		"number\n"},
	{HEAD PMC0 "pmc 18 L addr=0x3f6 default=0 reserved=0 enable=1 kernel=0\n" PMD0,
		"4: L: it only selects and has neither enable bits nor counters: write enable=0, "
		"and leave shared out\n"},
	{HEAD PMC0 PMD0 "virtual 260 f file=/x\n",
		"5: the register's number: '260' is too small: give 272 or more\n"},
	{HEAD PMC0 PMD0 "virtual 272 f file=x\n",
		"5: f: file= takes an absolute path of plain characters without blanks\n"},
	{HEAD PMC0 PMD0 "virtual 272 f path=/x\n",
		"5: file=PATH is missing: write the file that has the number\n"},
	{HEAD PMC0 PMD0 "virtual f file=/x\n",
		"5: the register's number: 'f' is not a number: write digits alone, such as 65536, "
		"or 0x and hexadecimal digits\n"},
	{HEAD "detect vendor=intel version=4 models=78\n" PMC0 PMD0,
		"3: models= needs family=: write the family of these models, too\n"},
	{HEAD "detect vendor=intel version=4 family=\n" PMC0 PMD0,
		"3: family= is empty: write a list like 5 or 0-3,16\n"},
	{HEAD "detect vendor=Intel version=4\n" PMC0 PMD0,
		"3: vendor=Intel is not one of intel, amd\n"},
	{HEAD "pmc 0 S addr=0x186 default=0 reserved=0xffffffff00380000 enable=0x400000 shared=1 "
	      "kernel=0x20000\n" PMD0,
		"3: shared takes no value: write the word alone\n"},
	{HEAD "pmc 0 S addr=0x186 default=0 reserved=0xffffffff00380000 enable=0x400000 addr=1 "
	      "kernel=0x20000\n" PMD0,
		"3: addr is given twice: leave one out\n"},
	{HEAD "pmc 0 S addr=186h" BITS "\n" PMD0,
		"3: addr=: '186h' is not a number: write digits alone, such as 65536, or 0x and "
		"hexadecimal digits\n"},
	{HEAD "space pci\n" PMC0 PMD0,
		"3: the space is msr or ipf: write 'space msr', or leave the line out\n"},
	{HEAD "space ipf\ndetect vendor=intel version=1\n" PMC0 PMD0,
		"4: space ipf: an Itanium has no x86 CPUID: leave out detect and cpuid\n5: S: "
		"0x186 is not known as a PMU's configuration register: write the address from the "
		"processor's manual, which perfmonfs has to know, too\n6: C: 0xc1 is not known as "
		"a PMU's counter: write the address from the processor's manual, which perfmonfs "
		"has to know, too\n"},
	{HEAD "PMC 0 S\n" PMC0 PMD0, "3: a line begins with pmu, space, detect, features, atom, "
				     "rate, global, pmc, pmd, require, constraint, "
				     "virtual, free, sim or cpuid, not with 'PMC'\n"},
	{HEAD "pmc 0-3 S addr=0x186<1" BITS "\n" PMD0,
		"3: addr=0x186<1: write N, N+STEP or N<<STEP\n"},
	{HEAD "pmc 0-3 S addr=0xfffffffe+1" BITS "\n" PMD0,
		"3: addr=0xfffffffe+1: register 2 of the array exceeds 0xffffffff: write less\n"},
	{"pmu x t\303\244\nrate 1\n" PMC0 PMD0,
		"1: x: the title is not a line of plain text: write printable ASCII characters\n"},
	{HEAD "pmc 0 S addr=0x186\n" PMD0, "3: default= is missing: write default=N, a number\n"},
};

static void tell(void *arg, unsigned line, const char *text)
{
	text_printf(arg, "%u: %s\n", line, text);
}

TEST(mistakes)
{
	TEXT_CLEANUP struct text said = {0};
	struct pmu pmu;

	for (unsigned i = 0; i < COUNT(mistakes); i++) {
		struct slice text = slice_of(mistakes[i].text);
		char first[sizeof(why.text) + 8];

		text_clear(&said);
		assert_true(pmu_parse_check(text, tell, &said) > 0);
		assert_string_equal(said.p, mistakes[i].says);
		/* The daemon tells the first. */
		assert_true(pmu_parse(text, &pmu, &why) < 0);
		assert_true(slice_starts(slice_of(why.text), "line "));
		snprintf(first, sizeof(first), "%s\n", why.text + strlen("line "));
		if (strlen(why.text) < sizeof(why.text) - 1)
			assert_true(slice_starts(slice_of(said.p), first));
	}
}

/* A NUL is no end, and is told of its line. */
TEST(nul)
{
	static const char text[] = HEAD PMC0 PMD0 "\n\0\n";
	TEXT_CLEANUP struct text said = {0};

	assert_int_equal(pmu_parse_check((struct slice){text, sizeof(text) - 1}, tell, &said), 1);
	assert_string_equal(
		said.p, "6: the line has a NUL character: save the file as plain text, in UTF-8\n");
}

/* Words that fill more than a sentence has room for. */
TEST(long_list)
{
	static char word[] = "a_word_of_thirty_characters___";
	const char *words[33] = {NULL};
	struct key key = {"k", KEY_WORD, .words = words};

	for (unsigned i = 0; i < 32; i++)
		words[i] = word;
	assert_int_equal(key_parse_line(slice_of("k=x"), &key, 1, &why), -EINVAL);
	assert_true(slice_starts(
		slice_of(why.text), "k=x is not one of a_word_of_thirty_characters___, a_"));
	assert_int_equal(strlen(why.text), sizeof(why.text) - 1);
	words[31] = "last";
	key.seen = false;
	assert_int_equal(key_parse_line(slice_of("k=last"), &key, 1, &why), 0);
	assert_int_equal(key.value, 31);
}
