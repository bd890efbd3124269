/* An outside program with the library of agents alone. */
#include <stdio.h>
#include <tacit/agent.h>

int main(void) {
    tacit_agent *agent = NULL;
    char *message = NULL;
    tacit_status status = tacit_agent_open(NULL, NULL, 0, &agent, &message);
    printf("%s: %s", tacit_version(), message == NULL ? "no message\n" : message);
    int good = status == TACIT_BAD_USAGE && agent == NULL && message != NULL;
    tacit_text_free(message);
    return good ? 0 : 1;
}
