#include "links/xml.h"

#include <gtest/gtest.h>

#include "base/refusal_test.h"

namespace outpace::links {
namespace {

TEST(XmlFile, SaysWhereTextIsNotXml) {
  EXPECT_EQ(refusal_of([] { (void)XmlFile("<a>\n<b>\n</a>", "f.xml"); }),
            "f.xml:3: not XML: Start-end tags mismatch");
  EXPECT_EQ(refusal_of([] { (void)XmlFile("", "f.xml"); }),
            "f.xml:1: not XML: No document element found");
  EXPECT_EQ(refusal_of([] { (void)XmlFile("0-99", "f.xml"); }),
            "f.xml:1: not XML: No document element found");
}

TEST(XmlFile, ChildrenAreElementsOfTheNamesAskedForAndComments) {
  const XmlFile file("<a><!-- c --><b/><b/>\n<c/></a>", "f.xml");
  const pugi::xml_node a = file.children(file.root(), {"a"}).at(0);
  EXPECT_EQ(file.children(a, {"b", "c"}).size(), 3U);
  EXPECT_EQ(refusal_of([&] { (void)file.children(a, {"b"}); }),
            "f.xml:2: element 'c' is not supported here; known: b");
  const XmlFile with_text("<a>\n\n hello </a>", "f.xml");
  EXPECT_EQ(refusal_of([&] { (void)with_text.children(with_text.root().first_child(), {"b"}); }),
            "f.xml:3: text 'hello' between the elements");
}

TEST(XmlElement, HasNoAttributeButThoseAskedFor) {
  const XmlFile file("<a id='x' size='3' size='4'/>", "f.xml");
  EXPECT_EQ(refusal_of([&] {
              (void)XmlElement(file, file.root().first_child(), {"id", "sizes"});
            }),
            "f.xml:1: <a> 'x': attribute 'size' is not supported; did you mean 'sizes'?");
  EXPECT_EQ(refusal_of([&] {
              (void)XmlElement(file, file.root().first_child(), {"id", "size"});
            }),
            "f.xml:1: <a> 'x': attribute 'size' is given twice");
}

TEST(XmlElement, ShowsWhatIsNotFitForALineInPart) {
  const std::string text = "<a id='\x1b[2J" + std::string(100, 'x') + "'/>";
  const XmlFile file(text, "f.xml");
  const XmlElement a(file, file.root().first_child(), {"id"});
  EXPECT_EQ(std::string(a.wrong("why").what()),
            "f.xml:1: <a> '?[2J" + std::string(36, 'x') + "...': why");
}

}  // namespace
}  // namespace outpace::links
