// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how the texts of programs are taken apart: tokens of a line, names, numbers in a range, and errors that say line, column, what was
// expected and what is there. Leaves to the parsers what the words mean.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "cubejit/result.h"

namespace cubejit {

/// Reads tokens one behind another; blanks between them mean nothing, ends of lines do. The first failure stays: what is read behind it
/// is empty, 0 or false, and no token is there, so that parsers need to ask once, at their end.
class TextReader {
 public:
  /// What `;` begins: text that is skipped up to the end of its line, or a token.
  enum class Semicolon : std::uint8_t { kComment, kToken };
  TextReader(std::string_view text, Stage stage, Semicolon semicolon);

  // -- lines
  /// Moves to the next line that has a token; one that is left must be at its end. False if there is none, or reading has failed.
  bool nextLine();
  /// True at the end of the line, of the text, and behind a failure.
  bool endOfLine();
  /// Columns before the line's first token.
  std::size_t indent() const { return indent_; }
  std::string restOfLine();
  /// The number of the line that the next token is in, or, if there is none, of what was read last. The first line is 1.
  int line();

  // -- tokens: take() says whether it was there, expect() fails without it
  bool take(std::string_view word);  ///< a whole word
  void expect(std::string_view word);
  bool takeSymbol(std::string_view symbol);  ///< punctuation
  void expectSymbol(std::string_view symbol);
  bool atSymbol(std::string_view symbol);
  /// A word: a letter or _, then letters, digits, _ and dots. Empty if another token is there; stays where it is.
  std::string_view peekWord();
  /// The word and a number without a blank between them, as in v12.
  bool atNumbered(std::string_view prefix);
  /// A word, or any text in quotation marks; fails if there is none.
  std::string name(std::string_view what);
  bool atName();
  /// A name with a signed number behind it.
  bool atOffset();
  /// Whether + or - and a digit are there.
  bool atSigned();

  // -- numbers; fail where there is none, or none within [lo, hi]
  std::int64_t integer(std::int64_t lo, std::int64_t hi, std::string_view what);
  std::int64_t signedInteger(std::int64_t lo, std::int64_t hi, std::string_view what);  ///< with its sign, + or -
  std::int64_t numbered(std::string_view prefix, std::int64_t lo, std::int64_t hi, std::string_view what);
  template <class T>
  T integerOf(std::string_view what) {
    return static_cast<T>(integer(std::numeric_limits<T>::min(), std::numeric_limits<T>::max(), what));
  }
  /// As floatText() writes them: the shortest decimals, inf, nan, or 0x and the bits.
  float real(std::string_view what);
  double real64(std::string_view what);
  bool atNumber();

  // -- repetitions: a short text may stand for much
  /// Fails with kLimitExceeded once more than kMostItems are claimed.
  void claim(std::int64_t items);
  static constexpr std::int64_t kMostItems = std::int64_t{1} << 22;

  // -- failure
  bool failed() const { return failed_; }
  /// "line 3, column 7: expected `what`, got 'foo'".
  void failExpecting(std::string_view what);
  /// "line 3, column 7: `what`", of the token that was read last.
  void fail(std::string_view what, ErrorCode code = ErrorCode::kInvalidProblem);
  /// Precondition: failed().
  Error error() const { return error_; }

 private:
  void skipBlanks();
  void skipEmptyLines();
  std::string got() const;
  std::size_t endOfWord(std::size_t from) const;
  void failAt(std::size_t where, std::string_view what, ErrorCode code);
  std::int64_t within(std::string_view digits, std::int64_t lo, std::int64_t hi, std::string_view what);
  std::string_view numberToken(std::string_view what);
  char at(std::size_t i) const { return i < text_.size() ? text_[i] : '\0'; }

  std::string_view text_;
  Stage stage_;
  bool comments_, failed_ = false;
  std::size_t pos_ = 0, last_ = 0, indent_ = 0;
  std::int64_t claimed_ = 0;
  std::size_t countedTo_ = 0;
  int lines_ = 1;  ///< up to there
  Error error_{};
};

/// Refuses a text that does not begin with "cubejit `kind` `version`", another version by name.
void expectVersion(TextReader& reader, std::string_view kind, int version);

}  // namespace cubejit
