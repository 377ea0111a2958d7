/* SPDX-License-Identifier: MIT */
/* What survey.c needs of the engine. */
#ifndef CPU_ENGINE_I_H
#define CPU_ENGINE_I_H

#include "daemon/cpu/engine.h"
#include "daemon/cpu/worker.h"

struct survey;

struct news_box *engine_box(struct engine *eng);
void engine_expect(struct engine *eng);                 /* one more piece of news is to come */
struct survey **engine_survey_slot(struct engine *eng); /* the one under way, or NULL in it */
void survey_news(struct news *news);

#endif
