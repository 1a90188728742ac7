// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what a token is. Every character is looked at a bounded number of times: lines and columns are counted where something failed.
#include "codegen/text/reader.h"

#include <algorithm>
#include <charconv>
#include <cstring>

namespace cubejit {
namespace {

bool isDigit(char c) { return c >= '0' && c <= '9'; }
bool isLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool isWord(char c) { return isLetter(c) || isDigit(c) || c == '.'; }
bool isSign(char c) { return c == '+' || c == '-'; }

int hexDigit(char c) {
  if (isDigit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

std::string printable(std::string_view text) {
  std::string out;
  for (const char c : text) out += c >= ' ' && c <= '~' ? c : '?';
  return out;
}

// Longer than any number that is written.
constexpr std::size_t kLongestNumber = 64, kShownOfToken = 32;

}  // namespace

TextReader::TextReader(std::string_view text, Stage stage, Semicolon semicolon)
    : text_(text), stage_(stage), comments_(semicolon == Semicolon::kComment) {
  skipEmptyLines();
}

void TextReader::skipBlanks() {
  while (pos_ < text_.size() && (text_[pos_] == ' ' || text_[pos_] == '\t' || text_[pos_] == '\r')) ++pos_;
  if (comments_ && at(pos_) == ';') pos_ = std::min(text_.size(), text_.find('\n', pos_));
}

bool TextReader::endOfLine() {
  skipBlanks();
  return pos_ >= text_.size() || text_[pos_] == '\n';
}

bool TextReader::nextLine() {
  if (!endOfLine()) failExpecting("the end of the line");
  skipEmptyLines();
  return pos_ < text_.size();
}

void TextReader::skipEmptyLines() {
  std::size_t begin = pos_;
  while (pos_ < text_.size() && endOfLine()) {
    if (pos_ < text_.size()) begin = ++pos_;
  }
  last_ = pos_;
  indent_ = pos_ - begin;
}

std::string TextReader::restOfLine() {
  skipBlanks();
  const std::size_t end = std::min(text_.size(), text_.find('\n', pos_));
  std::string rest(text_.substr(pos_, end - pos_));
  while (!rest.empty() && (rest.back() == ' ' || rest.back() == '\r' || rest.back() == '\t')) rest.pop_back();
  last_ = pos_;
  pos_ = end;
  return rest;
}

int TextReader::line() {
  skipBlanks();
  const std::size_t end = std::min(pos_, text_.size());
  for (; countedTo_ < end; ++countedTo_) lines_ += text_[countedTo_] == '\n' ? 1 : 0;
  return lines_;
}

std::size_t TextReader::endOfWord(std::size_t from) const {
  while (from < text_.size() && isWord(text_[from])) ++from;
  return from;
}

std::string_view TextReader::peekWord() {
  skipBlanks();
  return isLetter(at(pos_)) ? text_.substr(pos_, endOfWord(pos_) - pos_) : std::string_view();
}

bool TextReader::take(std::string_view word) {
  if (peekWord() != word) return false;
  last_ = pos_;
  pos_ += word.size();
  return true;
}

void TextReader::expect(std::string_view word) {
  if (!take(word)) failExpecting("'" + std::string(word) + "'");
}

bool TextReader::atSymbol(std::string_view symbol) {
  skipBlanks();
  return text_.substr(pos_, symbol.size()) == symbol;
}

bool TextReader::takeSymbol(std::string_view symbol) {
  if (!atSymbol(symbol)) return false;
  last_ = pos_;
  pos_ += symbol.size();
  return true;
}

void TextReader::expectSymbol(std::string_view symbol) {
  if (!takeSymbol(symbol)) failExpecting("'" + std::string(symbol) + "'");
}

bool TextReader::atNumbered(std::string_view prefix) {
  const std::string_view word = peekWord();
  return word.substr(0, prefix.size()) == prefix && word.size() > prefix.size() && isDigit(word[prefix.size()]);
}

bool TextReader::atName() { return !peekWord().empty() || at(pos_) == '"'; }

bool TextReader::atSigned() {
  skipBlanks();
  return isSign(at(pos_)) && isDigit(at(pos_ + 1));
}

bool TextReader::atNumber() {
  skipBlanks();
  return isDigit(at(pos_)) || isSign(at(pos_)) || peekWord() == "nan" || peekWord() == "inf";
}

bool TextReader::atOffset() {
  skipBlanks();
  const std::size_t word = peekWord().size();
  return word > 0 ? isSign(at(pos_ + word)) : at(pos_) == '"' || at(pos_) == '@';
}

std::string TextReader::name(std::string_view what) {
  const std::string_view word = peekWord();
  last_ = pos_;
  if (!word.empty()) {
    pos_ += word.size();
    return std::string(word);
  }
  if (at(pos_) != '"') {
    failExpecting(what);
    return {};
  }
  std::string out;
  for (std::size_t i = pos_ + 1; i < text_.size() && text_[i] != '\n'; ++i) {
    if (text_[i] == '"') {
      pos_ = i + 1;
      return out;
    }
    if (text_[i] != '\\') {
      out += text_[i];
      continue;
    }
    const int high = hexDigit(at(i + 2)), low = hexDigit(at(i + 3));
    if (at(i + 1) == 'x' && high >= 0 && low >= 0) {
      out += static_cast<char>(high * 16 + low);
      i += 3;
    } else if (at(i + 1) == '"' || at(i + 1) == '\\') {
      out += text_[++i];
    } else {
      failAt(i, "expected \\\", \\\\ or \\x and two digits", ErrorCode::kInvalidProblem);
      return {};
    }
  }
  if (!failed_)
    failAt(last_, "expected " + std::string(what) + ", got a quotation mark that nothing closes",
           ErrorCode::kInvalidProblem);
  return {};
}

std::int64_t TextReader::within(std::string_view digits, std::int64_t lo, std::int64_t hi, std::string_view what) {
  const char *begin = digits.data(), *end = begin + digits.size();
  if (!digits.empty() && digits.front() == '+') ++begin;
  std::int64_t value = 0;
  const auto [stop, problem] = std::from_chars(begin, end, value);
  if (problem == std::errc() && stop == end && value >= lo && value <= hi) return value;
  fail("expected " + std::string(what) + ": " + printable(digits.substr(0, kShownOfToken)) + " is not in [" +
       std::to_string(lo) + ", " + std::to_string(hi) + "]");
  return lo > 0 ? lo : hi < 0 ? hi : 0;
}

std::int64_t TextReader::integer(std::int64_t lo, std::int64_t hi, std::string_view what) {
  skipBlanks();
  std::size_t end = pos_ + (at(pos_) == '-' ? 1 : 0);
  const std::size_t digits = end;
  while (isDigit(at(end))) ++end;
  if (end == digits || isLetter(at(end))) {
    failExpecting(what);
    return lo > 0 ? lo : hi < 0 ? hi : 0;
  }
  last_ = pos_;
  pos_ = end;
  return within(text_.substr(last_, end - last_), lo, hi, what);
}

std::int64_t TextReader::signedInteger(std::int64_t lo, std::int64_t hi, std::string_view what) {
  if (!atSigned()) {
    failExpecting(what);
    return 0;
  }
  if (at(pos_) == '-') return integer(lo, hi, what);
  ++pos_;
  return integer(lo, hi, what);
}

std::int64_t TextReader::numbered(std::string_view prefix, std::int64_t lo, std::int64_t hi, std::string_view what) {
  if (!atNumbered(prefix)) {
    failExpecting(what);
    return lo;
  }
  pos_ += prefix.size();
  return integer(lo, hi, what);
}

// The token that may be a number; at most as long as one.
std::string_view TextReader::numberToken(std::string_view what) {
  skipBlanks();
  std::size_t end = pos_;
  const auto more = [&] {
    const bool exponent = end > pos_ && (at(end - 1) == 'e' || at(end - 1) == 'E');
    return isWord(at(end)) || (isSign(at(end)) && (end == pos_ || exponent));
  };
  while (end - pos_ <= kLongestNumber && more()) ++end;
  last_ = pos_;
  if (end == pos_) failExpecting(what);
  const std::string_view token = text_.substr(std::min(last_, text_.size()), end - last_);
  if (!failed_) pos_ = end;
  return token;
}

float TextReader::real(std::string_view what) {
  const std::string_view token = numberToken(what);
  const char *begin = token.data(), *end = begin + token.size();
  float value = 0;
  if (token.substr(0, 2) == "0x") {
    std::uint32_t bits = 0;
    const auto [stop, problem] = std::from_chars(begin + 2, end, bits, 16);
    if (problem == std::errc() && stop == end && token.size() == 10) {
      std::memcpy(&value, &bits, 4);
      return value;
    }
  } else {
    const auto [stop, problem] = std::from_chars(begin, end, value);
    if (problem == std::errc() && stop == end) return value;
  }
  fail("expected " + std::string(what) + ", an f32, got '" + printable(token.substr(0, kShownOfToken)) + "'");
  return 0;
}

double TextReader::real64(std::string_view what) {
  const std::string_view token = numberToken(what);
  double value = 0;
  const auto [stop, problem] = std::from_chars(token.data(), token.data() + token.size(), value);
  if (problem == std::errc() && stop == token.data() + token.size()) return value;
  fail("expected " + std::string(what) + ", got '" + printable(token.substr(0, kShownOfToken)) + "'");
  return 0;
}

void TextReader::claim(std::int64_t items) {
  if (items <= kMostItems - claimed_)
    claimed_ += items;
  else
    fail("repetitions make more than " + std::to_string(kMostItems) + " items", ErrorCode::kLimitExceeded);
}

std::string TextReader::got() const {
  if (pos_ >= text_.size()) return "the end of the text";
  if (text_[pos_] == '\n') return "the end of the line";
  std::size_t end = endOfWord(pos_ + (isSign(text_[pos_]) ? 1 : 0));
  if (end == pos_) end = pos_ + 1;
  return "'" + printable(text_.substr(pos_, std::min(end - pos_, kShownOfToken))) + "'";
}

void TextReader::failExpecting(std::string_view what) {
  skipBlanks();
  failAt(pos_, "expected " + std::string(what) + ", got " + got(), ErrorCode::kInvalidProblem);
}

void TextReader::fail(std::string_view what, ErrorCode code) { failAt(last_, what, code); }

void TextReader::failAt(std::size_t where, std::string_view what, ErrorCode code) {
  if (failed_) return;
  failed_ = true;
  const std::string_view before = text_.substr(0, std::min(where, text_.size()));
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t column = before.size() - (before.rfind('\n') + 1) + 1;
  error_ = Error{code, stage_,
                 "line " + std::to_string(line) + ", column " + std::to_string(column) + ": " + std::string(what)};
  pos_ = last_ = text_.size();
}

void expectVersion(TextReader& reader, std::string_view kind, int version) {
  reader.expect("cubejit");
  reader.expect(kind);
  const std::int64_t found = reader.integer(0, std::numeric_limits<int>::max(), "a version");
  if (!reader.failed() && found != version)
    reader.fail("the text is cubejit " + std::string(kind) + " " + std::to_string(found) + "; this reads " +
                    std::to_string(version),
                ErrorCode::kUnsupported);
  reader.nextLine();
}

}  // namespace cubejit
