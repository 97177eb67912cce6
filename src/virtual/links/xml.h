// Strict reading of an XML file. An attribute or element that is unexpected or missing is a usage
// error that names the file and the line, and says what would be right.

#pragma once

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <pugixml.hpp>

#include "base/error.h"

namespace outpace::links {

using Words = std::initializer_list<std::string>;

// Text from a file, made fit for one line of a message: short, printable, in quotes.
[[nodiscard]] std::string shown(std::string_view text);

// A parsed XML file.
class XmlFile {
 public:
  // `name` is for messages. Throws a usage error if the text is not XML. REQUIRES: the text
  // outlives this object.
  XmlFile(std::string_view text, std::string name);

  [[nodiscard]] pugi::xml_node root() const { return document_.root(); }
  // "name:line: what".
  [[nodiscard]] Error wrong(std::ptrdiff_t offset, const std::string& what) const;
  // The elements in a node. Throws a usage error if one has a name other than these, or if there is
  // text between them.
  [[nodiscard]] std::vector<pugi::xml_node> children(pugi::xml_node node, const Words& names) const;

 private:
  std::string_view text_;
  std::string name_;
  pugi::xml_document document_;
};

class XmlElement {
 public:
  // Throws a usage error if the element has an attribute other than these, or one twice.
  XmlElement(const XmlFile& file, pugi::xml_node node, const Words& attributes);

  // "name:line: <element> 'id': what".
  [[nodiscard]] Error wrong(const std::string& what) const;
  [[nodiscard]] bool has(const char* key) const { return !node_.attribute(key).empty(); }
  // These throw a usage error if the attribute is missing or has a wrong value.
  [[nodiscard]] std::string text(const char* key) const;
  [[nodiscard]] std::string word(const char* key, const Words& words) const;
  // The value, which `parse` must accept; `right` completes "it takes a number".
  [[nodiscard]] double quantity(const char* key,
                                std::optional<double> (*parse)(std::string_view text),
                                const std::string& right) const;

 private:
  const XmlFile& file_;
  pugi::xml_node node_;
};

}  // namespace outpace::links
