#include "links/xml.h"

#include <algorithm>
#include <set>
#include <span>
#include <utility>

#include "base/text.h"

namespace outpace::links {
namespace {

bool contains(std::span<const std::string> words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace

std::string shown(std::string_view text) {
  constexpr std::size_t kLettersMost = 40;
  std::string out(text.substr(0, kLettersMost));
  std::replace_if(
      out.begin(), out.end(), [](char letter) { return letter < ' ' || letter > '~'; }, '?');
  return "'" + out + (text.size() > kLettersMost ? "...'" : "'");
}

XmlFile::XmlFile(std::string_view text, std::string name) : text_(text), name_(std::move(name)) {
  const pugi::xml_parse_result parsed = document_.load_buffer(
      text.data(), text.size(), pugi::parse_default | pugi::parse_trim_pcdata, pugi::encoding_utf8);
  if (!parsed) {
    throw wrong(parsed.offset, std::string("not XML: ") + parsed.description());
  }
}

Error XmlFile::wrong(std::ptrdiff_t offset, const std::string& what) const {
  const std::string_view before =
      text_.substr(0, static_cast<std::size_t>(std::max<std::ptrdiff_t>(offset, 0)));
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  return usage_error(name_ + ":" + std::to_string(line) + ": " + what);
}

std::vector<pugi::xml_node> XmlFile::children(pugi::xml_node node, const Words& names) const {
  const std::vector<std::string> known(names);
  std::vector<pugi::xml_node> found;
  for (const pugi::xml_node child : node.children()) {
    if (child.type() != pugi::node_element) {
      throw wrong(child.offset_debug(), "text " + shown(child.value()) + " between the elements");
    }
    if (!contains(known, child.name())) {
      throw wrong(child.offset_debug(),
                  "element " + shown(child.name()) + " is not supported here" +
                      suggestion(child.name(), known));
    }
    found.push_back(child);
  }
  return found;
}

XmlElement::XmlElement(const XmlFile& file, pugi::xml_node node, const Words& attributes)
    : file_(file), node_(node) {
  const std::vector<std::string> known(attributes);
  std::set<std::string> seen;
  for (const pugi::xml_attribute attribute : node_.attributes()) {
    const std::string key = attribute.name();
    if (!contains(known, key)) {
      throw wrong("attribute " + shown(key) + " is not supported" + suggestion(key, known));
    }
    if (!seen.insert(key).second) {
      throw wrong("attribute '" + key + "' is given twice");
    }
  }
}

Error XmlElement::wrong(const std::string& what) const {
  const std::string_view id = node_.attribute("id").value();
  return file_.wrong(
      node_.offset_debug(),
      std::string("<") + node_.name() + ">" + (id.empty() ? "" : " " + shown(id)) + ": " + what);
}

std::string XmlElement::text(const char* key) const {
  if (!has(key)) {
    throw wrong(std::string("attribute '") + key + "' is missing");
  }
  return node_.attribute(key).value();
}

std::string XmlElement::word(const char* key, const Words& words) const {
  std::string value = text(key);
  if (!contains(std::vector<std::string>(words), value)) {
    std::string right;
    for (const std::string& word : words) {
      right += (right.empty() ? "" : "|") + word;
    }
    throw wrong(std::string(key) + " is " + shown(value) + "; it takes " + right);
  }
  return value;
}

double XmlElement::quantity(const char* key,
                            std::optional<double> (*parse)(std::string_view text),
                            const std::string& right) const {
  const std::string written = text(key);
  const auto value = parse(written);
  if (!value) {
    throw wrong(std::string(key) + " is " + shown(written) + "; it takes a number " + right);
  }
  return *value;
}

}  // namespace outpace::links
