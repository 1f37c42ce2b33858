// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/parse_serve.hpp"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

namespace quantjit::cli {

void add_serve_command(CLI::App& app, CommandOptions& command, ServeOptions& serve) {
  CLI::App* const serving = app.add_subcommand(
      "serve", "Compile for other machines over HTTP, or report on a service that does");
  const auto number = [](double least, double most) { return CLI::Range(least, most); };
  std::vector<CLI::Option*> options{
      serving->add_option("--listen", serve.listen, "address to listen on; port 0 is any")
          ->capture_default_str()
          ->type_name("HOST:PORT"),
      serving->add_option("--port-file", serve.port_file, "write the port into this file")
          ->type_name("FILE"),
      serving->add_flag("--no-token", serve.no_token,
                        "serve other machines without asking for a token"),
      serving->add_flag("--open-metrics", serve.open_metrics, "/metrics needs no token"),
      serving->add_flag("--allow-sources", serve.allow_sources,
                        "compile kernel sources that clients send"),
      serving->add_option("-j,--jobs", serve.jobs, "compiles at a time; 0 = by cores and memory")
          ->check(CLI::Range(0, 1024))
          ->type_name("N"),
      serving->add_option("--queue", serve.queue, "compiles that wait, at most")
          ->check(CLI::Range(0, 1 << 20))
          ->capture_default_str()
          ->type_name("N"),
      serving->add_option("--max-connections", serve.max_connections, "connections at a time")
          ->check(CLI::Range(8, 1 << 20))
          ->capture_default_str()
          ->type_name("N"),
      serving
          ->add_option("--max-request", serve.max_request,
                       "longest body of a request, with suffix K or M; by default 64K, and 4M "
                       "with --allow-sources")
          ->type_name("BYTES"),
      serving
          ->add_option("--client-timeout", serve.client_timeout,
                       "time for a client to send a head, to send a body, to take an answer")
          ->check(number(0.1, 86400))
          ->capture_default_str()
          ->type_name("SECONDS"),
      serving
          ->add_option("--drain", serve.drain,
                       "time to finish what was accepted after SIGTERM or Ctrl-C")
          ->check(number(0, 86400))
          ->capture_default_str()
          ->type_name("SECONDS")};
  serving
      ->add_option("--token-file", serve.token_file,
                   "file with the tokens that are accepted, one a line; with --status the token to "
                   "show")
      ->type_name("FILE");
  CLI::Option* const status =
      serving->add_option("--status", serve.status, "report on the service at this address")
          ->check([](const std::string& url) {
            return url.empty() ? std::string("it must be a URL") : std::string();
          })
          ->type_name("URL");
  serving
      ->add_option("--interval", serve.interval,
                   "time between reports; 0: one report, as when the output is no terminal")
      ->check(number(0, 86400))
      ->type_name("SECONDS")
      ->needs(status);
  for (CLI::Option* const option : options) {
    status->excludes(option);
  }
  serving->callback([&command, &serve] { command = serve; });
}

}  // namespace quantjit::cli
