// SPDX-License-Identifier: Apache-2.0
// The two streams of the command: data on standard output, messages on standard error.
#pragma once

#include "tools/cli/value.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace quantjit::cli {

enum class OutputForm : std::uint8_t { kText, kJson };

/// Standard output and standard error. Output that cannot be written is remembered, and finish()
/// turns it into a failed exit. One thread at a time.
class Console {
 public:
  /// Makes sure that descriptors 0 to 2 are open (so that no file the program opens later takes the
  /// place of a closed standard output) and that a reader that goes away does not kill the process
  /// in the middle of its work.
  static void prepare_process();

  void set_form(OutputForm form) { form_ = form; }

  [[nodiscard]] bool json() const { return form_ == OutputForm::kJson; }

  /// One line of data. Dropped in JSON form, where data is one document.
  void line(std::string_view text = {});
  /// The document of JSON form; dropped in text form.
  void document(const Value& value);
  /// Bytes as they are, in either form.
  void bytes(std::span<const std::byte> data);
  /// Hands what was written to its reader, for output that goes on.
  void flush();
  /// One message on standard error.
  void message(std::string_view text);

  /// Whether a document was written.
  [[nodiscard]] bool has_document() const { return has_document_; }

  /// Whether standard error is a terminal, so that progress() shows anything.
  [[nodiscard]] static bool shows_progress();

  /// Replaces the progress line, if standard error is a terminal; an empty text removes it.
  void progress(std::string_view text);

  /// Writes everything out. Returns `status`, or 1 if it was 0 and output was lost.
  int finish(int status);

 private:
  void write(std::string_view text);

  OutputForm form_ = OutputForm::kText;
  bool has_document_ = false;
  bool progress_shown_ = false;
  int output_error_ = 0;  ///< errno of the first write that failed
};

}  // namespace quantjit::cli
