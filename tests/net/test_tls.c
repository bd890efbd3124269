/* nftw, mkdtemp */
#define _XOPEN_SOURCE 700
#include "net/keys.h"

#include "net/tls/certificate.h"
#include "support/random.h"

#include <openssl/err.h>
#include <sys/socket.h>
#include <sys/time.h>

enum { DAY = 86400 };

/* Both sides of a handshake in memory of this process, over a pair of sockets. */
typedef struct outcome {
    bool done;       /* both sides think so, and neither refuses the other */
    char cloud[128]; /* what each side says otherwise */
    char agent[128];
} outcome;

static bool is_waiting(SSL *side, int result) {
    int error = SSL_get_error(side, result);
    return error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE;
}

static void say(char text[128], const char *what) { (void)snprintf(text, 128, "%s", what); }

static bool advance(SSL *side, char text[128], bool *failed) {
    ERR_clear_error();
    int result = SSL_do_handshake(side);
    if (result == 1) {
        const char *refused = tc_tls_refuse(side);
        if (refused != NULL) {
            say(text, refused);
            *failed = true;
        }
        return true;
    }
    if (!is_waiting(side, result)) {
        say(text, tc_tls_failure(side));
        *failed = true;
    }
    return false;
}

static outcome shake(SSL *cloud, SSL *agent) {
    outcome o = {0};
    bool cloud_done = false, agent_done = false, failed = false;
    for (int i = 0; i < 20 && !failed && !(cloud_done && agent_done); i++) {
        agent_done = agent_done || advance(agent, o.agent, &failed);
        cloud_done = !failed && (cloud_done || advance(cloud, o.cloud, &failed));
    }
    o.done = cloud_done && agent_done && !failed;
    return o;
}

/* Takes both contexts. */
static outcome meet(SSL_CTX *cloud_context, SSL_CTX *agent_context) {
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    for (int i = 0; i < 2; i++) {
        struct timeval soon = {.tv_usec = 1000};
        assert_int_equal(setsockopt(ends[i], SOL_SOCKET, SO_RCVTIMEO, &soon, sizeof soon), 0);
    }
    SSL *cloud = tc_tls_accept(cloud_context, ends[0]), *agent = tc_tls_connect(agent_context, ends[1]);
    assert_true(cloud != NULL && agent != NULL);
    outcome o = shake(cloud, agent);
    if (o.done) {
        assert_int_equal(SSL_version(cloud), TLS1_3_VERSION);
        assert_false(SSL_session_reused(agent));
        char byte = 'x';
        assert_int_equal(SSL_write(cloud, &byte, 1), 1);
        assert_int_equal(SSL_read(agent, &byte, 1), 1);
        assert_false(SSL_SESSION_is_resumable(SSL_get0_session(agent))); /* no ticket came with the data */
    }
    SSL_free(cloud);
    SSL_free(agent);
    SSL_CTX_free(cloud_context);
    SSL_CTX_free(agent_context);
    (void)close(ends[0]);
    (void)close(ends[1]);
    return o;
}

/* What an agent writes, as it would go over the network. */
static size_t sealed(SSL *agent, const unsigned char *bytes, size_t size, unsigned char *out, size_t room) {
    BIO *memory = BIO_new(BIO_s_mem());
    assert_non_null(memory);
    SSL_set0_wbio(agent, memory);
    for (size_t at = 0, piece; at < size; at += piece) { /* records of 1 to 300 bytes */
        piece = 1 + (at * 7919) % 300;
        if (piece > size - at)
            piece = size - at;
        assert_int_equal(SSL_write(agent, bytes + at, (int)piece), (int)piece);
    }
    int got = BIO_read(memory, out, (int)room);
    assert_true(got > (int)size && (size_t)got < room);
    return (size_t)got;
}

static SSL_CTX *cloud_of(keys *k) {
    SSL_CTX *context;
    assert_int_equal(tc_tls_cloud(k->arena, keys_path(k, "cloud"), &k->messages, &context), TC_OK);
    return context;
}

static SSL_CTX *agent_of(keys *k, const char *label) {
    SSL_CTX *context;
    const char *folder = tc_arena_format(k->arena, "%s/agents/%s", k->folder, label);
    assert_int_equal(tc_tls_agent(k->arena, folder, &k->messages, &context), TC_OK);
    return context;
}

static keys begin(void) {
    keys k = keys_begin();
    keys_init(&k, NULL);
    keys_issue(&k, "a", NULL);
    return k;
}

static void cloud_and_agent_of_one_authority_meet(void **state) {
    (void)state;
    keys k = begin();
    outcome o = meet(cloud_of(&k), agent_of(&k, "a"));
    assert_string_equal(o.cloud, "");
    assert_string_equal(o.agent, "");
    assert_true(o.done);
    keys_end(&k);
}

/* Records come in pieces, several at once, and longer than the room for them: the buffer that OpenSSL keeps is given
 * back in between, and nothing is lost. */
static void the_cloud_reads_what_was_sent_however_it_is_cut(void **state) {
    (void)state;
    enum { SIZE = 20000, ROOM = 2 * SIZE };
    keys k = begin();
    SSL_CTX *contexts[] = {cloud_of(&k), agent_of(&k, "a")};
    static unsigned char said[SIZE], wire[ROOM], heard[SIZE];
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    SSL *cloud = tc_tls_accept(contexts[0], ends[0]), *agent = tc_tls_connect(contexts[1], ends[1]);
    assert_true(cloud != NULL && agent != NULL && shake(cloud, agent).done);
    uint64_t seed = 1;
    for (size_t i = 0; i < SIZE; i++)
        said[i] = (unsigned char)random_word(&seed);
    size_t size = sealed(agent, said, SIZE, wire, ROOM), sent = 0, at = 0;
    while (at < SIZE) {
        size_t piece = random_below(&seed, 5) == 0 ? 1500 : random_below(&seed, 40);
        size_t room = 1 + random_below(&seed, 256), got = 0;
        if (piece > size - sent)
            piece = size - sent;
        if (piece > 0)
            assert_int_equal(send(ends[1], wire + sent, piece, 0), (ssize_t)piece);
        sent += piece;
        while (at < SIZE && tc_tls_read(cloud, heard + at, room < SIZE - at ? room : SIZE - at, &got))
            at += got;
        assert_true(at == SIZE || (is_waiting(cloud, 0) && sent < size));
    }
    assert_memory_equal(heard, said, SIZE);
    SSL_free(cloud);
    SSL_free(agent);
    for (int i = 0; i < 2; i++) {
        SSL_CTX_free(contexts[i]);
        (void)close(ends[i]);
    }
    keys_end(&k);
}

static void a_stranger_of_another_authority_is_refused_by_both(void **state) {
    (void)state;
    keys k = begin(), other = begin();
    outcome o = meet(cloud_of(&k), agent_of(&other, "a"));
    assert_false(o.done);
    assert_true(strlen(o.cloud) + strlen(o.agent) > 0);
    keys_end(&k);
    keys_end(&other);
}

static void an_agent_cannot_pose_as_the_cloud_nor_the_cloud_as_an_agent(void **state) {
    (void)state;
    keys k = begin();
    SSL_CTX *context;
    assert_int_equal(tc_tls_cloud(k.arena, keys_path(&k, "agents/a"), &k.messages, &context), TC_BAD_USAGE);
    assert_int_equal(tc_tls_agent(k.arena, keys_path(&k, "cloud"), &k.messages, &context), TC_BAD_USAGE);
    /* ... not even with a context that does not look at its own certificate */
    SSL_CTX *cloud = cloud_of(&k), *agent = agent_of(&k, "a");
    assert_int_equal(SSL_CTX_use_certificate(cloud, SSL_CTX_get0_certificate(agent)), 1);
    assert_int_equal(SSL_CTX_use_PrivateKey(cloud, SSL_CTX_get0_privatekey(agent)), 1);
    outcome o = meet(cloud, agent);
    assert_false(o.done);
    assert_true(strlen(o.agent) > 0);
    cloud = cloud_of(&k);
    agent = agent_of(&k, "a");
    assert_int_equal(SSL_CTX_use_certificate(agent, SSL_CTX_get0_certificate(cloud)), 1);
    assert_int_equal(SSL_CTX_use_PrivateKey(agent, SSL_CTX_get0_privatekey(cloud)), 1);
    o = meet(cloud, agent);
    assert_false(o.done);
    assert_true(strlen(o.cloud) > 0);
    keys_end(&k);
}

/* A certificate, signed by the authority, that does not say what it is for: only its names, which are in an extension,
 * are left to check. */
static void a_common_name_does_not_make_a_cloud(void **state) {
    (void)state;
    keys k = begin();
    keys_issue(&k, TC_CLOUD_HOST, NULL);
    SSL_CTX *cloud = cloud_of(&k), *posing = agent_of(&k, TC_CLOUD_HOST);
    tc_credential authority = {0};
    assert_int_equal(
        tc_certificate_read(k.arena, keys_path(&k, "authority/identity.pem"), true, &k.messages, &authority), TC_OK);
    X509 *certificate = X509_dup(SSL_CTX_get0_certificate(posing));
    assert_non_null(certificate);
    int at = X509_get_ext_by_NID(certificate, NID_ext_key_usage, -1);
    assert_true(at >= 0);
    X509_EXTENSION_free(X509_delete_ext(certificate, at));
    assert_true(X509_sign(certificate, authority.key, EVP_sha256()) > 0);
    assert_int_equal(SSL_CTX_use_certificate(cloud, certificate), 1);
    assert_int_equal(SSL_CTX_use_PrivateKey(cloud, SSL_CTX_get0_privatekey(posing)), 1);
    outcome o = meet(cloud, agent_of(&k, "a"));
    assert_false(o.done);
    assert_string_equal(o.agent, "hostname mismatch");
    X509_free(certificate);
    SSL_CTX_free(posing);
    keys_end(&k);
}

static void a_certificate_holds_from_its_first_to_its_last_day(void **state) {
    (void)state;
    keys k = begin();
    tc_authority_settings past = {.now = time(NULL) - (time_t)30 * DAY, .party_days = 10};
    tc_authority_settings future = {.now = time(NULL) + (time_t)30 * DAY};
    keys_issue(&k, "old", &past);
    keys_issue(&k, "new", &future);
    static const char *const labels[] = {"old", "new"}, *const words[] = {"expired", "not yet valid"};
    for (size_t i = 0; i < 2; i++) {
        SSL_CTX *context;
        const char *folder = tc_arena_format(k.arena, "%s/agents/%s", k.folder, labels[i]);
        k.messages = tc_buffer_new(k.arena, 1 << 16);
        bool is_early;
        assert_int_equal(tc_tls_agent(k.arena, folder, &k.messages, &context), TC_CANNOT_READ); /* the clock's matter */
        assert_non_null(strstr(tc_buffer_text(&k.messages), words[i]));
        assert_int_equal(tc_tls_agent_or_early(k.arena, folder, &k.messages, &context, &is_early), TC_CANNOT_READ);
        assert_int_equal(is_early, i == 1);
        /* ... and the cloud looks for itself */
        context = agent_of(&k, "a");
        const char *file = tc_arena_format(k.arena, "%s/identity.pem", folder);
        assert_int_equal(SSL_CTX_use_certificate_file(context, file, SSL_FILETYPE_PEM), 1);
        assert_int_equal(SSL_CTX_use_PrivateKey_file(context, file, SSL_FILETYPE_PEM), 1);
        outcome o = meet(cloud_of(&k), context);
        assert_false(o.done);
        assert_non_null(strstr(o.cloud, words[i]));
    }
    keys_end(&k);
}

static void older_versions_other_protocols_and_anonymous_clients_are_refused(void **state) {
    (void)state;
    keys k = begin();
    SSL_CTX *agent = agent_of(&k, "a");
    assert_int_equal(SSL_CTX_set_min_proto_version(agent, TLS1_2_VERSION), 1);
    assert_int_equal(SSL_CTX_set_max_proto_version(agent, TLS1_2_VERSION), 1);
    assert_false(meet(cloud_of(&k), agent).done);

    agent = agent_of(&k, "a");
    assert_int_equal(SSL_CTX_set_alpn_protos(agent, (const unsigned char *)"\x08http/1.1", 9), 0);
    outcome o = meet(cloud_of(&k), agent);
    assert_false(o.done);
    assert_non_null(strstr(o.cloud, "protocol"));

    agent = agent_of(&k, "a");
    assert_int_equal(SSL_CTX_set_alpn_protos(agent, NULL, 0), 0);
    o = meet(cloud_of(&k), agent);
    assert_false(o.done);

    agent = SSL_CTX_new(TLS_client_method());
    assert_non_null(agent);
    assert_int_equal(SSL_CTX_load_verify_file(agent, keys_path(&k, "cloud/authority.pem")), 1);
    assert_int_equal(SSL_CTX_set_alpn_protos(agent, (const unsigned char *)"\x07tacit/1", 8), 0);
    o = meet(cloud_of(&k), agent);
    assert_false(o.done);
    assert_non_null(strstr(o.cloud, "certificate"));
    keys_end(&k);
}

static void a_context_knows_when_its_certificate_ends(void **state) {
    (void)state;
    keys k = begin();
    SSL_CTX *context = cloud_of(&k);
    time_t left = tc_tls_expiry(context) - time(NULL);
    assert_true(left > (time_t)364 * DAY && left <= (time_t)365 * DAY);
    SSL_CTX_free(context);
    keys_end(&k);
}

static void the_folder_of_all_keys_is_told_from_a_partys_own(void **state) {
    (void)state;
    keys k = keys_begin();
    SSL_CTX *context = NULL;
    keys_init(&k, NULL);
    assert_int_equal(tc_tls_cloud(k.arena, k.folder, &k.messages, &context), TC_BAD_USAGE);
    assert_non_null(strstr(tc_buffer_text(&k.messages), "the cloud's keys are in '"));
    assert_int_equal(tc_tls_agent(k.arena, k.folder, &k.messages, &context), TC_BAD_USAGE);
    assert_non_null(strstr(tc_buffer_text(&k.messages), "/agents/NAME'"));
    keys_end(&k);
}

static void folders_without_keys_and_files_without_sense_are_named(void **state) {
    (void)state;
    keys k = begin();
    SSL_CTX *context;
    assert_int_equal(tc_tls_cloud(k.arena, keys_path(&k, "nowhere"), &k.messages, &context), TC_CANNOT_READ);
    assert_non_null(strstr(tc_buffer_text(&k.messages), "nowhere"));
    FILE *file = fopen(keys_path(&k, "cloud/identity.pem"), "w");
    assert_non_null(file);
    (void)fputs("no certificate\n", file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(tc_tls_cloud(k.arena, keys_path(&k, "cloud"), &k.messages, &context), TC_BAD_USAGE);
    keys_end(&k);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cloud_and_agent_of_one_authority_meet),
        cmocka_unit_test(the_cloud_reads_what_was_sent_however_it_is_cut),
        cmocka_unit_test(a_stranger_of_another_authority_is_refused_by_both),
        cmocka_unit_test(an_agent_cannot_pose_as_the_cloud_nor_the_cloud_as_an_agent),
        cmocka_unit_test(a_common_name_does_not_make_a_cloud),
        cmocka_unit_test(a_certificate_holds_from_its_first_to_its_last_day),
        cmocka_unit_test(older_versions_other_protocols_and_anonymous_clients_are_refused),
        cmocka_unit_test(a_context_knows_when_its_certificate_ends),
        cmocka_unit_test(the_folder_of_all_keys_is_told_from_a_partys_own),
        cmocka_unit_test(folders_without_keys_and_files_without_sense_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
