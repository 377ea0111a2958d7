// SPDX-License-Identifier: MIT
/*
 * A flame graph in SVG. It is complete without its script, as in a README. Browsers run the script
 * when the file is opened on its own: it follows the width of the window, describes the frame under
 * the pointer in the last line, zooms on click, and searches with Ctrl-F.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "tools/pfm/samples/reports.h"
#include "tools/pfm/samples/stacks.h"
#include "tools/pfm/text/utf8.h"

enum {
	FLAME_TOP = 40,
	FLAME_ROW = 18,
};
/* In px. Macros, because clang warns about sums of an enumerator and a double. */
#define FLAME_WIDTH     1180 /* the whole */
#define FLAME_LEFT      10
#define FLAME_CHAR      7   /* a character */
#define FLAME_NARROWEST 0.1 /* px: narrower frames are left out */

static const char flame_style[] = "<style>\n"
				  "text{font:12px monospace;fill:#222}\n"
				  "#frames rect{stroke:#fff;stroke-width:.5}\n"
				  "#frames g{cursor:pointer}\n"
				  "#frames g:hover rect{stroke:#000}\n"
				  ".hit rect{fill:#c060ff}\n"
				  ".b{cursor:pointer;text-decoration:underline}\n"
				  "</style>\n";

/* The script reads a frame from its title and its rectangle. The first frame is the whole graph. */
static const char flame_script[] =
	"<script><![CDATA[\n"
	"'use strict';\n"
	"const L=10,C=7,byId=id=>document.getElementById(id),svg=document.documentElement;\n"
	"const H=svg.getAttribute('height');\n"
	"let W=1180,seen=[0,1],chosen='';\n"
	"const end=/( \\([^()]*\\))?(, [-+][0-9.]+ points)?, [0-9.]+ %, [0-9]+ "
	"(overflows|events)$/;\n"
	"const all=[...byId('frames').children].map(g=>{\n"
	" const r=g.querySelector('rect'),t=g.querySelector('title').textContent;\n"
	" return "
	"{g,r,t,n:t.replace(end,''),x:(+r.getAttribute('x')-L)/W,w:+r.getAttribute('width')/W};\n"
	"});\n"
	"function label(f,x,s){\n"
	" let t=f.g.querySelector('text');\n"
	" if(!t&&s){\n"
	"  t=document.createElementNS('http://www.w3.org/2000/svg','text');\n"
	"  t.setAttribute('y',+f.r.getAttribute('y')+13);f.g.append(t);\n"
	" }\n"
	" if(t){t.setAttribute('x',x+3);t.textContent=s}\n"
	"}\n"
	"function zoom(x0,w0){\n"
	" seen=[x0,w0];\n"
	" for(const f of all){\n"
	"  const a=Math.max(f.x,x0),b=Math.min(f.x+f.w,x0+w0);\n"
	"  const px=(b-a)/w0*W,x=L+(a-x0)/w0*W,m=Math.floor((px-6)/C);\n"
	"  f.g.style.display=px<0.1?'none':'';\n"
	"  if(px<0.1)continue;\n"
	"  f.r.setAttribute('x',x);f.r.setAttribute('width',px);\n"
	"  label(f,x,m<3?'':f.n.length<=m?f.n:f.n.slice(0,m-2)+'..');\n"
	" }\n"
	" byId('reset').style.display=w0<1?'':'none';\n"
	"}\n"
	"function search(what){\n"
	" let re=null,end=-1,sum=0;\n"
	" try{re=what?new RegExp(what):null}catch(_){alert('not a regular expression: '+what)}\n"
	" for(const f of all){\n"
	"  const hit=re!==null&&f!==all[0]&&re.test(f.n);\n"
	"  f.g.classList.toggle('hit',hit);\n"
	"  if(hit&&f.x>=end-1e-7){sum+=f.w;end=f.x+f.w}\n"
	" }\n"
	" byId('found').textContent=re?'found '+(100*sum).toFixed(2)+' %':'';\n"
	"}\n"
	"function fit(){\n"
	" W=Math.max(600,innerWidth-2*L);\n"
	" svg.setAttribute('width',W+2*L);svg.setAttribute('viewBox','0 0 '+(W+2*L)+' '+H);\n"
	" for(const [id,x] of [['reset',310],['search',220],['found',150]])\n"
	"  byId(id).setAttribute('x',W+2*L-x);\n"
	" zoom(...seen);\n"
	"}\n"
	"for(const f of all){\n"
	" const tell=t=>{byId('details').textContent=t};\n"
	" f.g.addEventListener('click',()=>{chosen=f.t;tell(f.t);zoom(f.x,f.w)});\n"
	" f.g.addEventListener('mouseover',()=>tell(f.t));\n"
	" f.g.addEventListener('mouseout',()=>tell(chosen));\n"
	"}\n"
	"const find=()=>search(prompt('functions to find (a regular expression)')||'');\n"
	"byId('search').addEventListener('click',find);\n"
	"byId('search').style.display='';\n"
	"byId('reset').addEventListener('click',()=>zoom(0,1));\n"
	"addEventListener('keydown',e=>{if(e.ctrlKey&&e.key==='f'){e.preventDefault();find()}});\n"
	"addEventListener('resize',fit);fit();\n"
	"if(location.hash.length>1)search(decodeURIComponent(location.hash.slice(1)));\n"
	"]]></script>\n";

static void flame_write_text(const char *s, size_t n, FILE *out)
{
	for (size_t i = 0; s[i] && i < n; i++) {
		switch (s[i]) {
		case '&':
			fputs("&amp;", out);
			break;
		case '<':
			fputs("&lt;", out);
			break;
		case '>':
			fputs("&gt;", out);
			break;
		case '"':
			fputs("&quot;", out);
			break;
		default:
			fputc(s[i], out);
		}
	}
}

/* Writes a colour by the name, warm, or cool for the kernel. It is the same in each graph, so that
 * graphs can be compared. */
static void flame_write_colour(const struct stack_name *k, FILE *out)
{
	uint64_t h = hash_string(k->name) * 0x9e3779b97f4a7c15ULL >> 32;

	if (!k->object)
		fprintf(out, "#d8d8c8");
	else if (k->kernel)
		fprintf(out, "#%02x%02x%02x", (unsigned)(110 + h % 40),
			(unsigned)(150 + h / 40 % 60), (unsigned)(210 + h / 2400 % 40));
	else
		fprintf(out, "#%02x%02x%02x", (unsigned)(225 + h % 30),
			(unsigned)(90 + h / 30 % 120), (unsigned)(40 + h / 3600 % 50));
}

/* Writes a label, if there is room. */
static void flame_write_label(const char *name, double left, double width, unsigned y, FILE *out)
{
	size_t length = strlen(name), room = width < 6 ? 0 : (size_t)((width - 6) / FLAME_CHAR);

	if (room < 3)
		return;
	fprintf(out, "<text x=\"%.2f\" y=\"%u\">", left + 3, y + 13);
	flame_write_text(name, length <= room ? length : utf8_cut(name, room - 2), out);
	fprintf(out, "%s</text>", length <= room ? "" : "..");
}

struct flame {
	FILE *out;
	uint64_t total;   /* 1 or more */
	unsigned depth;   /* depth of the deepest frame shown */
	double narrowest; /* px: narrower frames are left out */
	const char *unit; /* of weights */
	struct stacks st;
};

static const struct stack_name flame_all = {.name = (char[]){"all"}};

static bool flame_is_shown(const struct flame *fl, const struct stack_node *s)
{
	return (double)s->weight / (double)fl->total * FLAME_WIDTH >= fl->narrowest;
}

/* Whether the walk should enter the node: the root has no weight if nothing was sampled. */
static bool flame_enters(const struct flame *fl, uint32_t node)
{
	return !node || flame_is_shown(fl, &fl->st.nodes[node]);
}

static unsigned flame_depth(const struct flame *fl)
{
	struct stack_walk w = {0};
	unsigned deepest = 0;

	while (stacks_walk(&fl->st, &w, flame_enters(fl, w.at)))
		if (w.depth > deepest && flame_is_shown(fl, &fl->st.nodes[w.at]))
			deepest = w.depth;
	return deepest;
}

/* The change of a node's share, in points. */
static double flame_change(const struct flame *fl, const struct stack_node *s)
{
	double all = fl->st.before->weight ? (double)fl->st.before->weight : 1;

	return 100 * ((double)s->weight / (double)fl->total -
			     (double)fl->st.before[s - fl->st.nodes].weight / all);
}

/* Writes a colour by a change: red for more, blue for less, the stronger the larger; 10 points have
 * the full colour. */
static void flame_write_change(double points, FILE *out)
{
	double strength = points < 0 ? -points / 10 : points / 10;
	unsigned weak = (unsigned)(240 - 170 * (strength < 1 ? strength : 1));

	if (points < 0)
		fprintf(out, "#%02x%02xff", weak, weak);
	else
		fprintf(out, "#ff%02x%02x", weak, weak);
}

static void flame_write_frame(
	const struct flame *fl, const struct stack_node *s, double x, unsigned depth)
{
	double part = (double)s->weight / (double)fl->total, width = part * FLAME_WIDTH;
	double left = FLAME_LEFT + x * FLAME_WIDTH;
	unsigned y = FLAME_TOP + (fl->depth - depth) * FLAME_ROW;
	const struct stack_name *k = s == fl->st.nodes ? &flame_all : stack_name(&fl->st, s);
	FILE *out = fl->out;

	fputs("<g><title>", out);
	flame_write_text(k->name, SIZE_MAX, out);
	if (k->object) {
		fputs(" (", out);
		flame_write_text(k->object, SIZE_MAX, out);
		fputs(")", out);
	}
	if (fl->st.before)
		fprintf(out, ", %+.2f points", flame_change(fl, s));
	fprintf(out, ", %.2f %%, %" PRIu64 " %s</title>", 100 * part, s->weight, fl->unit);
	fprintf(out, "<rect x=\"%.4f\" y=\"%u\" width=\"%.4f\" height=\"%d\" fill=\"", left, y,
		width, FLAME_ROW - 1);
	if (fl->st.before)
		flame_write_change(flame_change(fl, s), out);
	else
		flame_write_colour(k, out);
	fputs("\"/>", out);
	flame_write_label(k->name, left, width, y, out);
	fputs("</g>\n", out);
}

/* Writes the frames. Each begins, in parts of the width, where its parent does, after those beside
 * it. Returns 0 or -ENOMEM. */
static int flame_write_frames(const struct flame *fl)
{
	CLEANUP_FREE double *ends = calloc(fl->st.n, sizeof(*ends)); /* of the frames so far */
	struct stack_walk w = {0};

	if (!ends)
		return -ENOMEM;
	flame_write_frame(fl, fl->st.nodes, 0, 0);
	while (stacks_walk(&fl->st, &w, flame_enters(fl, w.at))) {
		const struct stack_node *s = &fl->st.nodes[w.at];
		double *end = &ends[s->parent];

		ends[w.at] = *end;
		if (flame_is_shown(fl, s))
			flame_write_frame(fl, s, *end, w.depth);
		*end += (double)s->weight / (double)fl->total;
	}
	return 0;
}

static void flame_write_head(const struct recording *r, const struct flame *fl, FILE *out)
{
	unsigned height = FLAME_TOP + (fl->depth + 1) * FLAME_ROW + 30;
	struct slice command = recording_info(r, "command");

	fprintf(out,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%u\" "
		"viewBox=\"0 0 %d %u\">\n",
		FLAME_WIDTH + 2 * FLAME_LEFT, height, FLAME_WIDTH + 2 * FLAME_LEFT, height);
	fputs(flame_style, out);
	fprintf(out, "<rect width=\"100%%\" height=\"100%%\" fill=\"#fffef8\"/>\n");
	fprintf(out, "<text x=\"%d\" y=\"24\">", FLAME_LEFT);
	flame_write_text(command.p, command.n < 90 ? command.n : utf8_cut(command.p, 90), out);
	fputs(": ", out);
	flame_write_text(recording_event(r), SIZE_MAX, out);
	fprintf(out, ", %" PRIu64 " %s</text>\n", r->weight, fl->unit);
	fprintf(out,
		"<text id=\"reset\" class=\"b\" x=\"890\" y=\"24\" style=\"display:none\">"
		"reset zoom</text>\n"
		"<text id=\"search\" class=\"b\" x=\"980\" y=\"24\" style=\"display:none\">"
		"search</text>\n"
		"<text id=\"found\" x=\"1050\" y=\"24\"></text>\n"
		"<text id=\"details\" x=\"%d\" y=\"%u\"></text>\n",
		FLAME_LEFT, height - 10);
}

/* Writes the graph, and frees the tree, whose making returned @rc. */
static int flame_finish(struct flame *fl, const struct recording *r, int rc, struct err *e)
{
	if (rc == 0) {
		fl->depth = flame_depth(fl);
		fl->unit = report_unit(r);
		flame_write_head(r, fl, fl->out);
		fputs("<g id=\"frames\">\n", fl->out);
		rc = flame_write_frames(fl);
		fputs("</g>\n", fl->out);
		fputs(flame_script, fl->out);
		fputs("</svg>\n", fl->out);
	}
	stacks_free(&fl->st);
	return rc < 0 ? err_set(e, ENOMEM, "no memory for the stacks") : 0;
}

int flamegraph_write(const struct recording *r, double at_least, FILE *out, struct err *e)
{
	double least = at_least / 100 * FLAME_WIDTH;
	struct flame fl = {
		.out = out,
		.total = r->weight ? r->weight : 1,
		.narrowest = least > FLAME_NARROWEST ? least : FLAME_NARROWEST,
	};

	return flame_finish(&fl, r, stacks_build(&fl.st, r, STACKS_BY_NAME), e);
}

int flamegraph_write_diff(const struct recording *const r[2], FILE *out, struct err *e)
{
	struct flame fl = {
		.out = out,
		.total = r[1]->weight ? r[1]->weight : 1,
		.narrowest = FLAME_NARROWEST,
	};

	return flame_finish(&fl, r[1], stacks_build_diff(&fl.st, r, STACKS_BY_NAME), e);
}
