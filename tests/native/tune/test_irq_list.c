#include "tune/irq_list.h"

#include "check.h"

static struct nl_irq_list list;

/* The text that a parsed list is written as. */
static const char *again(const char *text, int exact)
{
	static char out[200];

	if (nl_irq_list_parse(text, exact, &list) || nl_irq_list_render(&list, exact, out, sizeof(out)))
		return "refused";
	return out;
}

static void each_interrupt_has_its_cpus(void)
{
	CHECK(nl_irq_list_parse("0/1-3/7,5,6", 0, &list) == 0);
	CHECK(list.count == 3);
	CHECK(strcmp(list.cpus[0], "0") == 0 && strcmp(list.cpus[1], "1-3") == 0);
	CHECK(strcmp(list.cpus[2], "5-7") == 0);
}

static void runs_are_short(void)
{
	CHECK(strcmp(again("4/5/6/7", 0), "4..7") == 0);
	CHECK(strcmp(again("4..7/0/0/0-127/0-127", 0), "4..7/0*2/0-127*2") == 0);
	CHECK(strcmp(again("0/1", 0), "0/1") == 0);
	CHECK(nl_irq_list_parse("0..63", 0, &list) == 0 && list.count == 64);
	CHECK(nl_irq_list_parse("0-3*128", 0, &list) == 0 && list.count == 128);
}

static void numbers_that_follow_each_other_are_a_group(void)
{
	CHECK(strcmp(again("24:0..3;40:0-7", 1), "24:0..3;40:0-7") == 0);
	CHECK(list.number[3] == 27 && list.number[4] == 40);
	CHECK(strcmp(again("24:0;25:0", 1), "24:0*2") == 0);
}

static void other_forms_are_refused(void)
{
	static const char *const bad[] = {"",	  "/",	 "0/",	  "0//1", "3-1",  "0,0", "x",	"0..",
					  "3..1", "0*0", "0*999", "0;1",  "9999", "-1",	 "0..99999", NULL};

	for (int i = 0; bad[i]; i++)
		CHECK(nl_irq_list_parse(bad[i], 0, &list) != 0);
	CHECK(nl_irq_list_parse("0/1", 1, &list) != 0);
	CHECK(nl_irq_list_parse("24:0;", 1, &list) != 0);
	CHECK(nl_irq_list_parse("0..600", 0, &list) != 0);
}

static void a_list_without_room_is_refused(void)
{
	char out[8];

	CHECK(nl_irq_list_parse("0/2/4/6", 0, &list) == 0);
	CHECK(nl_irq_list_render(&list, 0, out, 8) == 0 && strcmp(out, "0/2/4/6") == 0);
	CHECK(nl_irq_list_render(&list, 0, out, 7) != 0);
}

static const struct nl_test tests[] = {
	TEST(each_interrupt_has_its_cpus), TEST(runs_are_short),
	TEST(numbers_that_follow_each_other_are_a_group), TEST(other_forms_are_refused),
	TEST(a_list_without_room_is_refused),
};

int main(int argc, char **argv)
{
	return RUN_TESTS(tests, argc, argv);
}
