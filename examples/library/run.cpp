// The same from C++: a private run of a problem file, with a progress bar. Ctrl-C ends it.
//
//     c++ -std=c++17 run.cpp $(pkg-config --cflags --libs tacit) -o run && ./run ev.tacit
#include <tacit/tacit.h>

#include <csignal>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>

namespace {

struct Free {
    void operator()(tacit_problem *problem) const { tacit_problem_free(problem); }
    void operator()(tacit_result *result) const { tacit_result_free(result); }
};
using Problem = std::unique_ptr<tacit_problem, Free>;
using Result = std::unique_ptr<tacit_result, Free>;

// A status as an exception, thrown outside of the library: no exception may cross its callbacks.
void need(tacit_status status, char *message) {
    if (status == TACIT_OK)
        return;
    std::string text = message == nullptr ? tacit_status_text(status) : message;
    tacit_text_free(message);
    throw std::runtime_error(text);
}

template <typename Facts> Facts sized() {
    Facts facts{};
    facts.size = sizeof facts;
    return facts;
}

volatile std::sig_atomic_t wants_to_stop = 0;

int show(void *, const char *what, double fraction) {
    std::string bar(static_cast<std::size_t>(30 * fraction), '=');
    bar.resize(30, ' ');
    return std::fprintf(stderr, "\r[%s] %3.0f %% %-40.40s", bar.c_str(), 100 * fraction, what) < 0;
}

int run(const char *path) {
    tacit_problem *problem = nullptr;
    tacit_result *result = nullptr;
    char *message = nullptr;
    need(tacit_problem_load(path, &problem, &message), message);
    Problem owns_problem(problem);

    tacit_options options;
    tacit_options_default(&options, sizeof options);
    options.interrupted = [](void *) -> int { return wants_to_stop; };
    options.progress = show;
    std::signal(SIGINT, [](int) { wants_to_stop = 1; });
    need(tacit_run(problem, nullptr, nullptr, &options, &result, &message), message);
    Result owns_result(result);
    std::fputs("\n", stderr);

    auto plan = sized<tacit_plan_facts>();
    need(tacit_result_plan(result, &plan), nullptr);
    if (plan.headline != nullptr)
        std::printf("%s\n", plan.headline);
    auto facts = sized<tacit_run_facts>();
    auto last = sized<tacit_row>();
    need(tacit_result_run(result, 0, &facts), nullptr);
    need(tacit_result_row(result, 0, facts.rows - 1, &last), nullptr);
    std::printf("%s after %llu rounds: x error %.4g, largest violation %.4g\n", facts.outcome,
                static_cast<unsigned long long>(facts.rounds), last.x_error, last.max_violation);
    return tacit_result_interrupted(result) ? 3 : !tacit_result_holds(result);
}

} // namespace

int main(int argc, char **argv) {
    if (argc != 2) {
        std::fprintf(stderr, "usage: %s FILE.tacit\n", argv[0]);
        return 2;
    }
    try {
        return run(argv[1]);
    } catch (const std::exception &error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 2;
    }
}
