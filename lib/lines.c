// SPDX-License-Identifier: MIT
#include "lib/lines.h"

#include <fcntl.h>
#include <string.h>

#include "lib/lib_i.h"

void lines_begin(struct lines *l, int fd)
{
	l->fd = fd;
	l->begin = l->end = 0;
}

int lines_open(struct lines *l, const char *path)
{
	lines_begin(l, nocancel_open(path, O_RDONLY | O_CLOEXEC));
	return l->fd < 0 ? -1 : 0;
}

void lines_close(struct lines *l)
{
	nocancel_close(l->fd);
}

/* Reads more. Returns false at the end of the file or if the buffer is full. */
static bool lines_fill(struct lines *l)
{
	ssize_t n;

	memmove(l->room, l->room + l->begin, l->end - l->begin);
	l->end -= l->begin;
	l->begin = 0;
	if (l->end == sizeof(l->room) - 1)
		return false;
	do {
		n = nocancel_read(l->fd, l->room + l->end, sizeof(l->room) - 1 - l->end);
	} while (n < 0 && errno == EINTR);
	if (n <= 0)
		return false;
	l->end += (size_t)n;
	return true;
}

char *lines_next(struct lines *l)
{
	char *newline;

	while (!(newline = memchr(l->room + l->begin, '\n', l->end - l->begin)))
		if (!lines_fill(l))
			break;
	char *line = l->room + l->begin;
	if (!newline) {
		if (l->begin == l->end)
			return NULL;
		newline = l->room + l->end;
		l->begin = l->end;
	} else {
		l->begin = (size_t)(newline - l->room) + 1;
	}
	*newline = 0;
	return line;
}

char *lines_word(char **line)
{
	char *word = *line;

	if (!word)
		return NULL;
	word += strspn(word, " ");
	if (!*word)
		return NULL;
	char *end = word + strcspn(word, " ");
	*line = *end ? end + 1 : NULL;
	*end = 0;
	return word;
}

char *lines_number(char *to, unsigned long long n)
{
	char digits[24];
	size_t count = 0;

	do {
		digits[count++] = (char)('0' + n % 10);
		n /= 10;
	} while (n);
	while (count)
		*to++ = digits[--count];
	*to = 0;
	return to;
}
