// The test binary's entry: Catch2's own session, and one closing line with the case counts that the
// script `test` reads and compares between the native and the wasm runs.
#include <catch2/catch_session.hpp>
#include <catch2/reporters/catch_reporter_event_listener.hpp>
#include <catch2/reporters/catch_reporter_registrars.hpp>
#include <cstdio>

namespace {

class CaseCounts : public Catch::EventListenerBase {
 public:
  using Catch::EventListenerBase::EventListenerBase;

  void testRunEnded(const Catch::TestRunStats& stats) override {
    const Catch::Counts& cases = stats.totals.testCases;
    std::fflush(stdout);
    std::printf("cases %llu passed %llu failed %llu skipped %llu\n",
                static_cast<unsigned long long>(cases.total()),
                static_cast<unsigned long long>(cases.passed + cases.failedButOk),
                static_cast<unsigned long long>(cases.failed),
                static_cast<unsigned long long>(cases.skipped));
  }
};

CATCH_REGISTER_LISTENER(CaseCounts)

}  // namespace

int main(int argc, char** argv) { return Catch::Session().run(argc, argv); }
