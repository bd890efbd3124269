/* nftw, mkdtemp */
#define _XOPEN_SOURCE 700
#include "net/keys.h"

#include "net/tls/certificate.h"

#include <sys/stat.h>

enum { DAY = 86400 };

static tc_credential read_certificate(keys *k, const char *inside, bool with_key) {
    tc_credential read = {0};
    assert_int_equal(tc_certificate_read(k->arena, keys_path(k, inside), with_key, &k->messages, &read), TC_OK);
    return read;
}

static int expect_private(const char *path, const struct stat *found, int what, struct FTW *where) {
    (void)path;
    (void)where;
    assert_int_equal(found->st_mode & 07777, what == FTW_D ? 0700 : 0600);
    return 0;
}

static void every_file_is_its_owners_alone(void **state) {
    (void)state;
    keys k = keys_begin();
    mode_t before = umask(0);
    keys_init(&k, NULL);
    keys_issue(&k, "home[17]", NULL);
    assert_int_equal(nftw(k.folder, expect_private, 16, FTW_PHYS), 0);
    (void)umask(before);
    static const char *const files[] = {"authority/identity.pem", "cloud/authority.pem", "cloud/identity.pem",
                                        "agents/home.17/authority.pem", "agents/home.17/identity.pem"};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        assert_int_equal(access(keys_path(&k, files[i]), R_OK), 0);
    keys_end(&k);
}

static void a_name_survives_the_certificate_whatever_it_is(void **state) {
    (void)state;
    static const char *const names[] = {"a",  "home[17]", "a,URI:tacit:agent:b", "x%2Fy", "Größe 7", "a/../b",
                                        ".x", "\"q\"",    "tacit:agent:z"};
    enum { COUNT = sizeof names / sizeof names[0] };
    keys k = keys_begin();
    keys_init(&k, NULL);
    assert_int_equal(tc_authority_issue(k.arena, k.folder, "gateway", names, COUNT, NULL, &k.messages), TC_OK);
    tc_identity *identity = tc_identity_new(read_certificate(&k, "agents/gateway/identity.pem", true).certificate);
    assert_non_null(identity);
    assert_int_equal(tc_identity_count(identity), COUNT);
    for (size_t i = 0; i < COUNT; i++)
        assert_true(tc_identity_has(identity, names[i], strlen(names[i])));
    assert_false(tc_identity_has(identity, "b", 1));
    assert_false(tc_identity_has(identity, "home[1", 6));
    assert_false(tc_identity_has(identity, "home[17]x", 9));
    assert_false(tc_identity_has(identity, "", 0));
    assert_false(tc_identity_has(identity, "a\0b", 3));
    tc_identity_free(identity);
    keys_end(&k);
}

static void the_clouds_certificate_names_no_agent(void **state) {
    (void)state;
    keys k = keys_begin();
    keys_init(&k, NULL);
    tc_identity *identity = tc_identity_new(read_certificate(&k, "cloud/identity.pem", true).certificate);
    assert_non_null(identity);
    assert_int_equal(tc_identity_count(identity), 0);
    tc_identity_free(identity);
    keys_end(&k);
}

static void expect_refusal(keys *k, tc_status status, const char *word) {
    assert_int_equal(status, TC_BAD_USAGE);
    assert_non_null(strstr(tc_buffer_text(&k->messages), word));
    k->messages = tc_buffer_new(k->arena, 1 << 16);
}

static void nothing_is_made_twice_and_wrong_names_are_refused(void **state) {
    (void)state;
    keys k = keys_begin();
    const char *one = "a", *empty = "", *twice[] = {"a", "b", "a"}, *cloud = "cloud";
    char longest[300];
    memset(longest, 'n', sizeof longest);
    longest[sizeof longest - 1] = 0;
    const char *too_long = longest;
#define ISSUE(label, names, count) tc_authority_issue(k.arena, k.folder, label, names, count, NULL, &k.messages)
    expect_refusal(&k, ISSUE(NULL, &one, 1), "keys init");
    keys_init(&k, NULL);
    expect_refusal(&k, tc_authority_init(k.arena, k.folder, NULL, &k.messages), "already");
    assert_int_equal(ISSUE(NULL, &one, 1), TC_OK);
    expect_refusal(&k, ISSUE(NULL, &one, 1), "renew");
    expect_refusal(&k, ISSUE(NULL, &empty, 1), "1 to 256");
    expect_refusal(&k, ISSUE(NULL, &too_long, 1), "1 to 256");
    expect_refusal(&k, ISSUE("x", twice, 3), "twice");
    expect_refusal(&k, ISSUE("../x", &one, 1), "--together LABEL");
    expect_refusal(&k, ISSUE(NULL, &cloud, 1), "--together LABEL");
    expect_refusal(&k, ISSUE("x", NULL, 0), "1 to 1000");
#undef ISSUE
    keys_end(&k);
}

static void openssls_own_verifier_agrees(void **state) {
    (void)state;
    keys k = keys_begin();
    keys_init(&k, NULL);
    keys_issue(&k, "home[17]", NULL);
    static const char *const checks[] = {
        "openssl verify -x509_strict -purpose sslclient -CAfile %s/authority/identity.pem "
        "%s/agents/home.17/identity.pem >/dev/null",
        "openssl verify -x509_strict -purpose sslserver -verify_hostname cloud.tacit.internal "
        "-CAfile %s/authority/identity.pem %s/cloud/identity.pem >/dev/null",
    };
    for (size_t i = 0; i < 2; i++) {
        char command[512];
        const char *at = strstr(checks[i], "%s/authority");
        (void)snprintf(command, sizeof command, "%.*s%s/authority/identity.pem %s%s", (int)(at - checks[i]), checks[i],
                       k.folder, k.folder, strchr(strstr(at, " %s/"), '/'));
        assert_int_equal(system(command), 0);
    }
    keys_end(&k);
}

static void a_renewal_keeps_names_and_changes_key_serial_and_time(void **state) {
    (void)state;
    keys k = keys_begin();
    const char *names[] = {"a", "b"};
    size_t renewed = 0;
    keys_init(&k, NULL);
    assert_int_equal(tc_authority_issue(k.arena, k.folder, "both", names, 2, NULL, &k.messages), TC_OK);
    tc_credential before = read_certificate(&k, "agents/both/identity.pem", true);
#define RENEW(label, all, settings) tc_authority_renew(k.arena, k.folder, label, all, settings, &k.messages, &renewed)
    assert_int_equal(RENEW(NULL, false, NULL), TC_OK);
    assert_int_equal(renewed, 0); /* nothing is due yet */
    tc_authority_settings later = {.now = time(NULL) + (time_t)300 * DAY};
    assert_int_equal(RENEW(NULL, false, &later), TC_OK);
    assert_int_equal(renewed, 2); /* the cloud's too */
    assert_int_equal(RENEW("both", true, NULL), TC_OK);
    assert_int_equal(renewed, 1);
    assert_int_equal(RENEW("cloud", true, NULL), TC_OK);
    assert_int_equal(renewed, 1);
#undef RENEW
    tc_credential after = read_certificate(&k, "agents/both/identity.pem", true);
    assert_int_not_equal(EVP_PKEY_eq(before.key, after.key), 1);
    assert_int_not_equal(
        ASN1_INTEGER_cmp(X509_get0_serialNumber(before.certificate), X509_get0_serialNumber(after.certificate)), 0);
    tc_identity *identity = tc_identity_new(after.certificate);
    assert_non_null(identity);
    assert_int_equal(tc_identity_count(identity), 2);
    assert_string_equal(tc_identity_name(identity, 0), "a");
    assert_string_equal(tc_identity_name(identity, 1), "b");
    tc_identity_free(identity);
    keys_end(&k);
}

static void no_certificate_outlasts_its_authority(void **state) {
    (void)state;
    keys k = keys_begin();
    tc_authority_settings settings = {.authority_days = 100, .party_days = 400};
    keys_init(&k, &settings);
    keys_issue(&k, "a", &settings);
    time_t from, until, last;
    assert_true(tc_certificate_span(read_certificate(&k, "authority/identity.pem", true).certificate, &from, &last));
    assert_true(tc_certificate_span(read_certificate(&k, "agents/a/identity.pem", true).certificate, &from, &until));
    assert_true(until == last && from <= time(NULL) && until > from);
    keys_end(&k);
}

static void a_key_that_others_may_read_is_not_used(void **state) {
    (void)state;
    keys k = keys_begin();
    SSL_CTX *context;
    keys_init(&k, NULL);
    assert_int_equal(chmod(keys_path(&k, "cloud/identity.pem"), 0644), 0);
    expect_refusal(&k, tc_tls_cloud(k.arena, keys_path(&k, "cloud"), &k.messages, &context), "chmod");
    keys_end(&k);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_file_is_its_owners_alone),
        cmocka_unit_test(a_name_survives_the_certificate_whatever_it_is),
        cmocka_unit_test(the_clouds_certificate_names_no_agent),
        cmocka_unit_test(nothing_is_made_twice_and_wrong_names_are_refused),
        cmocka_unit_test(openssls_own_verifier_agrees),
        cmocka_unit_test(a_renewal_keeps_names_and_changes_key_serial_and_time),
        cmocka_unit_test(no_certificate_outlasts_its_authority),
        cmocka_unit_test(a_key_that_others_may_read_is_not_used),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
