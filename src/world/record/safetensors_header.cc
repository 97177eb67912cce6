#include "record/safetensors_header.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace outpace::record {
namespace {

using nlohmann::json;

constexpr std::string_view kMetadata = "__metadata__";

// Receives the parser's tokens. The depth decides what is allowed: 1 is the whole header, 2 a
// tensor or the metadata, 3 a tensor's shape or offsets.
class HeaderTokens final : public json::json_sax_t {
 public:
  explicit HeaderTokens(SafetensorsHeader& out) : out_(out) {}

  bool start_object(std::size_t /*size*/) override {
    if (depth_ >= 2) {
      misplaced();
    }
    ++depth_;
    if (depth_ == 2 && !in_metadata_) {
      if (out_.tensors.size() == protocol::kTensorsMax) {
        refuse_safetensors(fmt::format("more than {} tensors", protocol::kTensorsMax));
      }
      out_.tensors.emplace_back().info.name = name_;
      fields_.clear();
    }
    return true;
  }

  bool key(std::string& key) override {
    if (depth_ == 1) {
      if (!names_.insert(key).second) {
        refuse_safetensors("the name " + in_quotes(key) + " stands twice in the header");
      }
      name_ = key;
      in_metadata_ = key == kMetadata;
    } else if (in_metadata_ ? out_.metadata.contains(key) : !fields_.insert(key).second) {
      refuse_safetensors("the key " + in_quotes(key) + " stands twice in " + in_quotes(name_));
    } else if (!in_metadata_ && key != "dtype" && key != "shape" && key != "data_offsets") {
      refuse_safetensors("tensor " + in_quotes(name_) + " has the unknown key " + in_quotes(key));
    }
    key_ = key;
    return true;
  }

  bool end_object() override {
    if (depth_ == 2 && !in_metadata_) {
      if (fields_.size() != 3) {
        refuse_safetensors("tensor " + in_quotes(name_) +
                           " lacks one of dtype, shape and data_offsets");
      }
      if (offsets_ != 2) {
        refuse_safetensors("the data_offsets of tensor " + in_quotes(name_) +
                           " are not two numbers");
      }
    }
    --depth_;
    return true;
  }

  bool start_array(std::size_t /*size*/) override {
    if (depth_ != 2 || in_metadata_ || key_ == "dtype") {
      misplaced();
    }
    ++depth_;
    if (key_ == "data_offsets") {
      offsets_ = 0;
    }
    return true;
  }

  bool end_array() override {
    --depth_;
    return true;
  }

  bool string(std::string& text) override {
    if (depth_ != 2 || (!in_metadata_ && key_ != "dtype")) {
      misplaced();
    }
    if (in_metadata_) {
      out_.metadata.emplace(key_, text);
    } else {
      out_.tensors.back().dtype = text;
    }
    return true;
  }

  bool number_unsigned(number_unsigned_t number) override {
    if (depth_ != 3) {
      misplaced();
    }
    HeaderTensor& tensor = out_.tensors.back();
    if (key_ == "shape") {
      if (tensor.info.shape.size() == protocol::kTensorRankMax) {
        refuse_safetensors(fmt::format(
            "tensor {} has more than {} dimensions", in_quotes(name_), protocol::kTensorRankMax));
      }
      tensor.info.shape.push_back(number);
    } else {
      ++offsets_;
      (offsets_ == 1 ? tensor.begin : tensor.end) = number;
      if (offsets_ > 2) {
        refuse_safetensors("the data_offsets of tensor " + in_quotes(name_) +
                           " are not two numbers");
      }
    }
    return true;
  }

  // A header has none of these.
  bool number_integer(number_integer_t /*number*/) override { misplaced(); }
  bool number_float(number_float_t /*number*/, const std::string& /*text*/) override {
    misplaced();
  }
  bool null() override { misplaced(); }
  bool boolean(bool /*value*/) override { misplaced(); }
  bool binary(json::binary_t& /*value*/) override { misplaced(); }

  bool parse_error(std::size_t position,
                   const std::string& /*token*/,
                   const json::exception& /*error*/) override {
    refuse_safetensors(fmt::format("the header is not JSON (at its byte {})", position));
  }

 private:
  [[noreturn]] void misplaced() const {
    if (depth_ < 2) {
      refuse_safetensors(depth_ == 0 ? "the header is not a JSON object"
                                     : "the header's " + in_quotes(name_) + " is not an object");
    }
    refuse_safetensors(
        fmt::format("{} of {} is not {}",
                    in_quotes(key_),
                    in_quotes(name_),
                    in_metadata_ || key_ == "dtype" ? "a string" : "a list of counts"));
  }

  SafetensorsHeader& out_;
  int depth_ = 0;
  bool in_metadata_ = false;
  std::string name_;  // At depth 1.
  std::string key_;   // At depth 2.
  std::set<std::string> names_;
  std::set<std::string> fields_;  // The present tensor's.
  int offsets_ = 0;
};

std::string json_string(const std::string& text) {
  try {
    return json(text).dump();
  } catch (const json::exception&) {
    throw Error(ExitCode::kFailure, "a name or a word of the metadata is not UTF-8");
  }
}

}  // namespace

void refuse_safetensors(const std::string& why) {
  throw Error(ExitCode::kUnreadable, why);
}

std::string in_quotes(std::string_view name) {
  constexpr std::size_t kShown = 80;
  std::string text = "'" + std::string(name.substr(0, kShown));
  std::ranges::replace_if(
      text, [](char letter) { return static_cast<unsigned char>(letter) < 0x20; }, '?');
  return text + (name.size() > kShown ? "...'" : "'");
}

SafetensorsHeader parse_safetensors_header(std::string_view text) {
  if (text.empty() || text.front() != '{') {
    refuse_safetensors("the header does not begin with '{'");
  }
  if (text.find('\0') != std::string_view::npos) {
    refuse_safetensors(
        "the header holds a zero byte");  // Where the JSON parser would stop reading.
  }
  SafetensorsHeader header;
  HeaderTokens tokens(header);
  static_cast<void>(json::sax_parse(text.begin(), text.end(), &tokens));
  return header;
}

std::string safetensors_header(const protocol::Manifest& manifest,
                               const std::map<std::string, std::string>& metadata) {
  fmt::memory_buffer text;
  const auto out = std::back_inserter(text);
  std::set<std::string_view> names{kMetadata};
  text.push_back('{');
  if (!metadata.empty()) {
    fmt::format_to(out, "\"{}\":{{", kMetadata);
    for (const auto& [key, value] : metadata) {
      const std::string_view comma = key == metadata.begin()->first ? "" : ",";
      fmt::format_to(out, "{}{}:{}", comma, json_string(key), json_string(value));
    }
    text.push_back('}');
  }
  std::uint64_t begin = 0;
  for (const protocol::TensorInfo& tensor : manifest.tensors) {
    if (!names.insert(tensor.name).second) {
      throw Error(ExitCode::kFailure,
                  "the tensor's name " + in_quotes(tensor.name) + " is in use already");
    }
    const std::uint64_t end = begin + tensor.numbers() * sizeof(float);
    fmt::format_to(out,
                   R"({}{}:{{"dtype":"F32","shape":[{}],"data_offsets":[{},{}]}})",
                   text.size() == 1 ? "" : ",",
                   json_string(tensor.name),
                   fmt::join(tensor.shape, ","),
                   begin,
                   end);
    begin = end;
  }
  text.push_back('}');
  while (text.size() % 8 != 0) {
    text.push_back(' ');
  }
  return fmt::to_string(text);
}

}  // namespace outpace::record
