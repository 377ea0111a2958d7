// SPDX-License-Identifier: MIT
/* Options of all commands: parsing, help, and sentences about mistakes. */
#include <errno.h>
#include <getopt.h>
#include <string.h>

#include "base/text.h"
#include "tools/pfm/command.h"
#include "tools/pfm/events/nearest.h"
#include "tools/pfm/text/wrap.h"

enum { OPTIONS_MAX = 128, OPTIONS_COLUMNS = 80, OPTIONS_INDENT = 27, OPTIONS_WORD = 64 };

/* Offset in the result of getopt_long() for a long option: the index of its row plus this. */
enum { OPTIONS_ROW = 1024 };

static bool options_has_letter(const struct option_row *r)
{
	return r->key < OPTION_LONG;
}

static int options_arguments(const struct option_row *r)
{
	if (!r->argument)
		return no_argument;
	return r->argument[0] == '[' ? optional_argument : required_argument;
}

/* Makes the tables of getopt_long(). */
static void options_make(const struct pfm_command *c, struct option *longs, char *letters)
{
	if (c->runs_command)
		*letters++ = '+';
	*letters++ = ':';
	for (int i = 0; c->options[i].key; i++) {
		const struct option_row *r = &c->options[i];
		int arguments = options_arguments(r);

		if (options_has_letter(r))
			*letters++ = (char)r->key;
		for (int n = 0; options_has_letter(r) && n < arguments; n++)
			*letters++ = ':';
		if (r->name)
			*longs++ = (struct option){r->name, arguments, NULL, OPTIONS_ROW + i};
	}
	*letters = '\0';
	*longs = (struct option){0};
}

static const struct option_row *options_with_letter(const struct pfm_command *c, int letter)
{
	for (const struct option_row *r = c->options; r->key; r++)
		if (r->key == letter && options_has_letter(r))
			return r;
	return NULL;
}

static const struct option_row *options_named(const struct pfm_command *c, struct slice name)
{
	for (const struct option_row *r = c->options; r->key; r++)
		if (r->name && slice_is(name, r->name))
			return r;
	return NULL;
}

/* Finds the row of option @word, without its argument; NULL: none. */
static const struct option_row *options_find(const struct pfm_command *c, const char *word)
{
	if (word[0] != '-' || !word[1])
		return NULL;
	if (word[1] != '-')
		return options_with_letter(c, (unsigned char)word[1]);
	return options_named(c, (struct slice){word + 2, strcspn(word + 2, "=")});
}

/* --- Mistakes */

/* Lists the commands that have option @word, in @room: "record, top"; "" if there are none. */
static const char *options_elsewhere(const char *word, char room[OPTIONS_WORD])
{
	size_t n = 0;

	room[0] = '\0';
	for (unsigned i = 0; pfm_commands[i]; i++) {
		const struct option_row *r =
			pfm_commands[i]->options ? options_find(pfm_commands[i], word) : NULL;

		if (r && r->kind == OPTION_OWN && n < OPTIONS_WORD)
			n += (size_t)snprintf(room + n, OPTIONS_WORD - n, "%s%s", n ? ", " : "",
				pfm_commands[i]->name);
	}
	return room;
}

/* Offers the long options that @word may abbreviate or misspell. */
static void options_offer(const struct pfm_command *c, const char *word, struct nearest *near)
{
	struct slice name = {word + 2, strcspn(word + 2, "=")};

	for (const struct option_row *r = c->options; r->key; r++)
		if (r->name && r->kind == OPTION_OWN)
			nearest_offer(near, name, r->name);
	for (unsigned i = 0; i < near->n; i++) {
		memmove(near->names[i] + 2, near->names[i], EVENT_NAME - 2);
		memcpy(near->names[i], "--", 2);
		near->names[i][EVENT_NAME - 1] = '\0';
	}
}

static int options_unknown(const struct pfm_command *c, const char *word, struct err *e)
{
	int n = (int)strcspn(word, "=");
	char room[NEAREST_ROOM], elsewhere[OPTIONS_WORD];
	struct nearest near = {0};

	if (strncmp(word, "--help", (size_t)n) == 0 || strncmp(word, "-h", (size_t)n) == 0)
		return err_set(e, EINVAL, "%.*s comes after other options: type `pfm help %s`", n,
			word, c->name);
	if (*options_elsewhere(word, elsewhere))
		return err_set(e, EINVAL,
			"%.*s: an option of pfm %s, not of pfm %s: see `pfm help %s`", n, word,
			elsewhere, c->name, c->name);
	if (word[1] == '-')
		options_offer(c, word, &near);
	if (near.n)
		return err_set(e, EINVAL, "%.*s: no such option: is it %s? See `pfm help %s`", n,
			word, nearest_text(&near, room), c->name);
	return err_set(e, EINVAL, "%.*s: no such option: see `pfm help %s`", n, word, c->name);
}

/* Finds the word with @letter, which getopt_long() refuses. It passes a word at its last letter. */
static const char *options_word_with(char *const *argv, char letter)
{
	const char *word = argv[optind];

	return word && word[0] == '-' && strchr(word, letter) ? word : argv[optind - 1];
}

/* Makes a sentence when getopt_long() has returned '?', or ':' for a missing argument. */
static int options_refuse(
	const struct pfm_command *c, char *const *argv, int refused, struct err *e)
{
	const char letter[] = {'-', (char)optopt, '\0'};
	const struct option_row *r = NULL;

	if (optopt >= OPTIONS_ROW)
		r = &c->options[optopt - OPTIONS_ROW];
	else if (optopt)
		r = options_with_letter(c, optopt);
	if (!r && optopt && (optopt < ' ' || optopt > '~'))
		return err_set(e, EINVAL, "%s: no such option: see `pfm help %s`",
			options_word_with(argv, (char)optopt), c->name);
	if (!r)
		return options_unknown(c, optopt ? letter : argv[optind - 1], e);
	if (refused == ':')
		return err_set(e, EINVAL, "%s%s: needs an argument: %s; see `pfm help %s`",
			optopt < OPTIONS_ROW ? letter : "--", optopt < OPTIONS_ROW ? "" : r->name,
			r->argument, c->name);
	return err_set(e, EINVAL, "--%s: takes no argument; see `pfm help %s`", r->name, c->name);
}

/* Writes the option as the user types it. */
static void options_call(const struct option_row *r, char room[OPTIONS_WORD])
{
	if (options_has_letter(r))
		snprintf(room, OPTIONS_WORD, "-%c", r->key);
	else
		snprintf(room, OPTIONS_WORD, "--%s", r->name);
}

/* Refuses an argument that is itself an option, and a long option with one dash. */
static int options_check(
	const struct pfm_command *c, const struct option_row *r, char *const *argv, struct err *e)
{
	const char *word = argv[optind - 1];
	char call[OPTIONS_WORD];

	if (!optarg || options_arguments(r) != required_argument)
		return 0;
	options_call(r, call);
	if (word == optarg && options_find(c, word))
		return err_set(e, EINVAL, "%s: needs an argument before %s: %s; see `pfm help %s`",
			call, word, r->argument, c->name);
	if (word[0] == '-' && word + 2 == optarg && options_named(c, slice_of(word + 1)))
		return err_set(e, EINVAL, "%s: is it -%s, with two dashes?", word, word);
	return 0;
}

int options_next(const struct pfm_command *c, int argc, char **argv, struct err *e)
{
	struct option longs[OPTIONS_MAX];
	char letters[3 * OPTIONS_MAX], call[OPTIONS_WORD];
	const struct option_row *r;
	int opt;

	options_make(c, longs, letters);
	do {
		opt = getopt_long(argc, argv, letters, longs, NULL);
		if (opt == -1)
			return 0;
		if (opt == '?' || opt == ':')
			return options_refuse(c, argv, opt, e);
		r = opt >= OPTIONS_ROW ? &c->options[opt - OPTIONS_ROW]
				       : options_with_letter(c, opt);
		if (options_check(c, r, argv, e) < 0)
			return -e->no;
	} while (r->kind == OPTION_DEFAULT);
	options_call(r, call);
	if (r->kind == OPTION_FOREIGN)
		return err_set(
			e, EINVAL, "%s: not an option of pfm %s: %s", call, c->name, r->help);
	return r->key;
}

int options_set_once(const char **value, const char *option, const char *arg, struct err *e)
{
	if (*value)
		return err_set(e, EINVAL,
			"%s is given twice: give one; commas separate events, as in -e A,B",
			option);
	*value = arg;
	return 0;
}

/* --- Help */

/* Prints an option. One without a letter is aligned with the long names above it. */
static void options_print_row(const struct option_row *r, struct text *t)
{
	const char *argument = r->argument ? r->argument : "";
	bool optional = argument[0] == '[';
	size_t begin = t->n;

	if (options_has_letter(r))
		text_printf(t, "  -%c%s", r->key, r->name ? ", " : "");
	else
		text_printf(t, "      ");
	if (r->name)
		text_printf(t, "--%s%s%s", r->name,
			optional    ? "[="
			: *argument ? "="
				    : "",
			argument + optional);
	if (t->n - begin > OPTIONS_INDENT - 1)
		text_printf(t, "\n%*s", OPTIONS_INDENT, "");
	else
		text_printf(t, "%*s", (int)(OPTIONS_INDENT - (t->n - begin)), "");
	wrap_text(t, r->help, OPTIONS_INDENT, OPTIONS_COLUMNS);
}

void options_print_help(const struct pfm_command *c, FILE *out)
{
	TEXT_CLEANUP struct text t = {0};

	for (const struct option_row *r = c->options; r && r->key; r++)
		if (r->kind == OPTION_OWN)
			options_print_row(r, &t);
	fputs(c->usage, out);
	if (c->options)
		fprintf(out, "\n%s", text_ok(&t) && t.p ? t.p : "");
	if (c->notes)
		fprintf(out, "\n%s", c->notes);
}
