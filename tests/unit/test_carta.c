// SPDX-License-Identifier: MIT
/*
 * The generator of randomized reset values: its algorithm is published, so that a user can compute
 * the values from the seed (specification 3.4.2).
 */
#include "daemon/core/random.h"
#include "tests/unit/unit.h"

#define M31 0x7fffffffU /* 2^31 - 1: also the mask of one number */

/* Seed 1: Park and Miller, Communications of the ACM 31 (1988); Carta, 33 (1990). */
static const uint32_t published[] = {16807, 282475249, 1622650073, 984943658, 1144108930, 470211272,
	101027544, 1457850878, 1458777923, 2007237709};

TEST(published)
{
	uint32_t z = random_seed(1);

	for (unsigned i = 0; i < 10; i++)
		assert_int_equal(random_draw(&z, M31), published[i]);
	for (unsigned i = 10; i < 9999; i++)
		random_draw(&z, M31);
	assert_int_equal(random_draw(&z, M31), 1043618065);
}

/* Compared with an implementation by division: the start of the period, and some other seeds. */
TEST(division)
{
	static const uint32_t seeds[] = {1, 2, 16807, 12345678, M31 - 2, M31 - 1};

	for (unsigned s = 0; s < COUNT(seeds); s++) {
		uint64_t want = seeds[s];
		uint32_t z = random_seed(seeds[s]);

		for (unsigned i = 0; i < 200000; i++) {
			want = want * 16807 % M31;
			if (random_draw(&z, M31) != want)
				fail_msg("seed %u, number %u is not %lu", seeds[s], i,
					(unsigned long)want);
		}
	}
}

/* The states 0 and 2^31 - 1 would never change. */
TEST(seeds)
{
	assert_int_equal(random_seed(0), 1);
	assert_int_equal(random_seed(1), 1);
	assert_int_equal(random_seed(M31 - 1), M31 - 1);
	assert_int_equal(random_seed(M31), 1);
	assert_int_equal(random_seed(M31 + 1), 1);
	assert_int_equal(random_seed(M31 + 2), 2);
	assert_int_equal(random_seed(UINT32_MAX - 2), M31 - 1);
	assert_int_equal(random_seed(UINT32_MAX - 1), 1);
	assert_int_equal(random_seed(UINT32_MAX), 1);
}

static uint64_t drawn(uint64_t mask, uint32_t *z)
{
	*z = random_seed(1);
	return random_draw(z, mask);
}

/* The width of the mask decides how many numbers are drawn; the first has the lowest bits. */
TEST(masks)
{
	const uint64_t a = published[0], b = published[1], c = published[2];
	uint32_t z;

	assert_int_equal(drawn(0, &z), 0);
	assert_int_equal(z, 1);
	assert_int_equal(drawn(1, &z), a & 1);
	assert_int_equal(z, a);
	assert_int_equal(drawn(0xff, &z), a & 0xff);
	assert_int_equal(drawn(M31, &z), a);
	assert_int_equal(z, a);
	assert_int_equal(drawn(1ULL << 31, &z), (b & 1) << 31);
	assert_int_equal(z, b);
	assert_int_equal(drawn((1ULL << 62) - 1, &z), a | b << 31);
	assert_int_equal(z, b);
	assert_int_equal(drawn(1ULL << 62, &z), (c & 1) << 62);
	assert_int_equal(z, c);
	assert_true(drawn(UINT64_MAX, &z) == (a | b << 31 | c << 62));
	assert_true(
		drawn(0xf0f0f0f0f0f0f0f0, &z) == ((a | b << 31 | c << 62) & 0xf0f0f0f0f0f0f0f0));
	assert_int_equal(z, c);
}
