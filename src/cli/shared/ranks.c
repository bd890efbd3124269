/* A command on several ranks: which commands may have them, whether all ranks were started alike, who prints. */
#include "cli/shared/cli.h"

#include "base/ranks/ranks.h"

#include <stdlib.h>
#include <string.h>

static const uint64_t PRIME = 0x100000001b3, BASIS = 0xcbf29ce484222325; /* FNV-1a, eight bytes at a time */

void tc_alike_add(uint64_t *hash, const void *bytes, size_t count) {
    const unsigned char *at = bytes;
    *hash = *hash == 0 ? BASIS : *hash;
    *hash = (*hash ^ count) * PRIME;
    for (; count > 0;) {
        uint64_t word = 0;
        size_t now = count < sizeof word ? count : sizeof word;
        memcpy(&word, at, now);
        *hash = (*hash ^ word) * PRIME;
        *hash ^= *hash >> 32;
        at += now;
        count -= now;
    }
}

/* "rank 1", "ranks 1, 2 and 4" */
static const char *list_ranks(tc_arena *arena, const uint64_t *hashes, size_t ranks, size_t odd) {
    tc_buffer out = tc_buffer_new(arena, 1 << 16);
    tc_buffer_puts(&out, odd == 1 ? "rank " : "ranks ");
    for (size_t r = 1; r < ranks; r++)
        if (hashes[r] != hashes[0])
            tc_buffer_printf(&out, "%zu%s", r, --odd > 1 ? ", " : odd == 1 ? " and " : "");
    return tc_buffer_text(&out);
}

tc_status tc_cli_alike(tc_cli *cli, uint64_t hash, const char *what, const char *advice) {
    size_t ranks = tc_ranks_count(), odd = 0;
    uint64_t *hashes = TC_NEW(cli->arena, uint64_t, ranks);
    size_t *ends = TC_NEW(cli->arena, size_t, ranks);
    for (size_t r = 0; r < ranks; r++)
        ends[r] = r + 1;
    hashes[tc_ranks_mine()] = hash;
    tc_ranks_gather(hashes, ends, sizeof *hashes);
    for (size_t r = 1; r < ranks; r++)
        odd += hashes[r] != hashes[0];
    if (odd == 0)
        return TC_OK;
    tc_buffer_printf(&cli->messages, "tacit: %s %s %s than rank 0: %s\n", list_ranks(cli->arena, hashes, ranks, odd),
                     odd == 1 ? "has" : "have", what, advice);
    return TC_BAD_USAGE;
}

tc_status tc_cli_check_words(tc_cli *cli) {
    uint64_t version = 0, words = 0;
    if (!tc_ranks_several())
        return TC_OK;
    tc_alike_add(&version, tc_cli_version, strlen(tc_cli_version));
    for (size_t i = 1; cli->words[0] != NULL && cli->words[i] != NULL; i++)
        tc_alike_add(&words, cli->words[i], strlen(cli->words[i]));
    tc_status status = tc_cli_alike(cli, version, "another version of the program", "install the same one everywhere");
    if (status == TC_OK)
        status = tc_cli_alike(cli, words, "other options or arguments", "start all ranks with the same words");
    return status;
}

/* How many processes mpirun started, whether or not this program knows of the others: Open MPI's word, and that of
 * others. */
static unsigned long started(void) {
    const char *count = getenv("OMPI_COMM_WORLD_SIZE");
    count = count != NULL ? count : getenv("PMI_SIZE");
    return count == NULL ? 1 : strtoul(count, NULL, 10);
}

tc_status tc_cli_begin_ranks(tc_cli *cli, const tc_command *command, bool *works) {
    *works = true;
    if (!tc_ranks_several() && command->has_ranks && started() > 1) { /* a private run would be paid for by each */
        tc_buffer_printf(
            &cli->messages,
            "tacit %s: %lu of these were started, and none knows of the others: each would do everything. For "
            "one run on several ranks: mpirun ... tacit-mpi %s, with the mpirun of Open MPI\n",
            command->usage.name, started(), command->usage.name);
        return TC_BAD_USAGE;
    }
    if (!tc_ranks_several())
        return TC_OK;
    if (command->wants_one_rank != NULL) {
        tc_buffer_printf(&cli->messages, "tacit %s: %zu ranks were started, and this command has one: %s\n",
                         command->usage.name, tc_ranks_count(), command->wants_one_rank);
        return TC_BAD_USAGE;
    }
    *works = command->has_ranks || tc_ranks_prints();
    if (!command->has_ranks)
        tc_ranks_part();
    return TC_OK;
}

tc_status tc_cli_agree(tc_cli *cli, tc_status status) {
    tc_status agreed = tc_ranks_agree(status);
    cli->is_bystander = status == TC_OK && agreed != TC_OK && agreed != TC_INTERRUPTED;
    return agreed;
}
