"""Proves that every rule of tidy.py fires on a small tree, and that a clean tree passes."""

import pathlib
import re
import sys
import tempfile
import unittest
import unittest.mock

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))
import tidy  # noqa: E402 (its folder has just been added)

CMAKE = """
function(outpace_module name)
endfunction()
outpace_module(base PURE)
outpace_module(policy PURE DEPENDS base)
outpace_module(protocol PURE DEPENDS base)
outpace_module(wire DEPENDS base)
outpace_module(live DEPENDS base
               protocol  # a comment (with parentheses)
               LIBRARIES fmt::fmt spdlog::spdlog)
if(OUTPACE_TORCH)
  outpace_module(learn DEPENDS base LIBRARIES torch)
  outpace_module(collective DEPENDS base)
endif()
"""
CLEAN_HEADER = "// A thing that stands for one.\n\n#pragma once\n"
HARD = (  # What is found, and a sentence with it: at least one for each of tidy.PHRASES.
    ("so many", "End after so many updates."),
    ("Whoever", "Whoever waits is released."),
    ("whom", "the workers whom the bound holds up"),
    ("gone through", "Every worker is gone through for 40 mini-batches."),
    ("gone beyond", "where a calibrated profile is gone beyond"),
    ("foretold", "what the cutoff foretold"),
    ("foretells", "what foretells it best"),
    ("asked for ahead", "An event is asked for ahead."),
    ("taken for wholes", "parts taken for wholes"),
    ("taken for a whole", "a part taken for a whole mini-batch"),
    ("in hand", "the mini-batch in hand"),
    ("what of it", "and what of it does not depend on examples"),
    ("not alike", "machines that are not alike"),
    ("thrice", "diverged, thrice"),
    ("Who d", "Who dies, or hangs, ends the run."),
    (". Who i", "It ends. Who is late is cancelled."),
    ("Of what", "Of what a payload costs, one half is the worker's."),
    ("Of the", "Of the weights: the updates applied so far."),
    (". Of four", "All wait. Of four workers one is slow."),
    ("| Of 60", "| Of 60 scrapes none failed. |"),
)


class Tidy(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = pathlib.Path(self.folder.name)
        self.write("CMakeLists.txt", CMAKE)
        self.write("src/core/base/time.h", CLEAN_HEADER)
        self.write("src/core/policy/sync.h", CLEAN_HEADER + '#include "base/time.h"\n')
        self.write("src/core/policy/sync.cc", '#include "policy/sync.h"\n')
        self.write("src/core/policy/sync_test.cc", '#include "policy/sync.h"\n')
        for source in ("live/loop", "learn/network", "collective/gloo_group", "collective/ring"):
            self.write(f"src/world/{source}_test.cc", "\n")

    def write(self, place, text):
        path = self.root / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def assert_found(self, place, message):
        found = [f"{path.relative_to(self.root)}:{number}: {text}"
                 for path, number, text in tidy.problems(self.root)]
        self.assertEqual(len(found), 1, found)
        self.assertTrue(found[0].startswith(place), found)
        self.assertIn(message, found[0])

    def assert_clean(self):
        self.assertEqual(list(tidy.problems(self.root)), [])

    def test_a_clean_tree_passes(self):
        self.assert_clean()

    def test_reads_calls_that_are_indented_or_span_lines(self):
        modules = tidy.modules_of(CMAKE)
        self.assertEqual(modules["live"], ({"base", "protocol"}, False))
        self.assertEqual(modules["learn"], ({"base"}, False))
        self.assertEqual(modules["policy"], ({"base"}, True))
        self.assertEqual(modules["base"], (set(), True))

    def test_an_arrow_that_is_not_listed(self):
        self.write("src/core/base/time.h", CLEAN_HEADER + '#include "policy/sync.h"\n')
        self.assert_found("src/core/base/time.h:4", "base/ may not include policy/")

    def test_an_arrow_through_another_folder_is_allowed(self):
        self.write("CMakeLists.txt", CMAKE + "outpace_module(cli DEPENDS live)\n")
        self.write("src/face/cli/main.cc", '#include "base/time.h"\n')
        self.assert_clean()

    def test_folders_that_depend_on_each_other(self):
        self.write("CMakeLists.txt", "outpace_module(base DEPENDS policy PURE)\n"
                                     "outpace_module(policy PURE DEPENDS base)\n")
        messages = [message for _, _, message in tidy.problems(self.root)]
        self.assertIn("base and policy depend on each other", messages)

    def test_a_folder_without_a_module(self):
        self.write("src/core/stray/thing.cc", "int x();\n")
        self.write("src/core/stray/thing_test.cc", "\n")
        self.assert_found("src/core/stray", "no outpace_module()")

    def test_a_folder_outside_the_wings(self):
        self.write("src/strays/base/thing.txt", "\n")
        self.assert_found("src/strays", "no wing is called so")

    def test_an_arrow_to_a_higher_wing(self):
        self.write("CMakeLists.txt", CMAKE + "outpace_module(links DEPENDS live)\n")
        self.write("src/virtual/links/flow.h", CLEAN_HEADER + '#include "live/loop.h"\n')
        self.assert_found("CMakeLists.txt", "links of virtual/ may not depend on live of world/")

    def test_more_pairs_of_wings_than_may_be(self):
        self.write("src/world/record/log.h", CLEAN_HEADER + '#include "base/time.h"\n')
        self.write("src/see/watch/board.h", CLEAN_HEADER + '#include "base/time.h"\n'
                                                           '#include "watch/lanes.h"\n')
        self.write("src/see/watch/board_test.h", CLEAN_HEADER + '#include "record/log.h"\n')
        with unittest.mock.patch.object(tidy, "WING_PAIRS_MAX", 2):
            self.assertEqual(list(tidy.wing_pair_problems(self.root)), [])
            self.write("src/see/watch/lanes.h", CLEAN_HEADER + '#include "record/log.h"\n')
            found = list(tidy.wing_pair_problems(self.root))
        self.assertEqual(len(found), 1)
        self.assertIn("3 pairs of wings include each other's files; 2 may", found[0][2])

    def test_the_product_may_not_depend_on_the_lab(self):
        self.write("CMakeLists.txt", CMAKE + "outpace_module(cli DEPENDS chaos)\n"
                                             "outpace_module(chaos DEPENDS base)\n")
        self.write("src/face/cli/main.cc", '#include "chaos/plan.h"\n')
        self.write("lab/chaos/plan.h", CLEAN_HEADER)
        self.assert_found("CMakeLists.txt", "cli of face/ may not depend on chaos of lab/")

    def test_the_lab_may_depend_on_the_product(self):
        self.write("CMakeLists.txt", CMAKE + "outpace_module(command_line DEPENDS live)\n"
                                             "outpace_module(chaos DEPENDS command_line)\n")
        self.write("src/face/command_line/program.h", CLEAN_HEADER)
        self.write("lab/chaos/plan.h", CLEAN_HEADER + '#include "command_line/program.h"\n')
        self.assert_clean()

    def test_command_lines_are_read_in_one_place(self):
        self.write("CMakeLists.txt", CMAKE + "outpace_module(cli DEPENDS command_line)\n"
                                             "outpace_module(command_line DEPENDS live)\n")
        text = "#include <CLI/CLI.hpp>\n"
        self.write("src/face/command_line/program.h", CLEAN_HEADER + text)
        self.write("test/program/worker.cc", text)
        self.assert_clean()
        self.write("src/face/cli/main.cc", text)
        self.assert_found("src/face/cli/main.cc:1", "CLI11 belongs")

    def test_torch_outside_learn(self):
        for text in ("#include <torch/torch.h>\n", "torch::Tensor weights();\n"):
            with self.subTest(text):
                self.write("src/world/live/loop.cc", text)
                self.assert_found("src/world/live/loop.cc:1", "libtorch belongs")

    def test_torch_where_it_belongs(self):
        self.write("src/world/learn/network.cc", "#include <torch/torch.h>\n")
        self.write("include/outpace/torch.h", CLEAN_HEADER + "#include <torch/torch.h>\n")
        self.write("examples/own_network/main.cc", "#include <torch/torch.h>\n")
        self.assert_clean()

    def test_gloo_has_one_place(self):
        self.write("src/world/collective/gloo_group.cc", "#include <gloo/context.h>\n")
        self.assert_clean()
        self.write("src/world/collective/ring.cc", "#include <gloo/context.h>\n")
        self.assert_found("src/world/collective/ring.cc:1", "Gloo belongs")

    def test_torch_in_the_torch_free_public_header(self):
        self.write("include/outpace/worker.h", CLEAN_HEADER + "#include <torch/torch.h>\n")
        self.assert_found("include/outpace/worker.h:4", "libtorch belongs")

    def test_sockets_outside_wire(self):
        for text in ("#include <sys/socket.h>\n", "#include <openssl/ssl.h>\n",
                     "int number = ::socket(1, 2, 3);\n"):
            with self.subTest(text):
                self.write("src/world/learn/network.cc", text)
                self.assert_found("src/world/learn/network.cc:1", "sockets and TLS")

    def test_sockets_in_the_proxy_that_spoils_connections(self):
        self.write("CMakeLists.txt", CMAKE + "outpace_module(chaos_run DEPENDS wire)\n")
        text = "#include <sys/socket.h>\n"
        self.write("lab/chaos_run/fault_proxy.cc", text)
        self.write("lab/chaos_run/fault_proxy_test.cc", text)
        self.assert_clean()
        self.write("lab/chaos_run/fault_proxy.h", CLEAN_HEADER + text)
        self.assert_found("lab/chaos_run/fault_proxy.h:4", "sockets and TLS")

    def test_sockets_in_wire(self):
        self.write("src/world/wire/loop.h", CLEAN_HEADER + "#include <sys/socket.h>\n")
        self.assert_clean()

    def test_what_pure_folders_may_not_use(self):
        for text in ("auto now = std::chrono::steady_clock::now();", "std::thread thread;",
                     "std::mutex mutex;", "#include <fstream>", "std::random_device device;",
                     'std::getenv("HOME");', "std::unordered_map<int, int> state;"):
            with self.subTest(text):
                self.write("src/core/policy/sync.cc", text + "\n")
                self.assert_found("src/core/policy/sync.cc:1", "is banned")

    def test_tests_of_pure_folders_and_other_folders_may(self):
        self.write("src/core/policy/sync_test.cc", "#include <fstream>\n")
        self.write("src/world/live/loop.cc", "std::thread thread;\n")
        self.assert_clean()

    def test_what_nobody_may_use(self):
        for text in ("// FIXME: later", "TEST(A, DISABLED_B)", "GTEST_SKIP();", "int x;  // NOLINT",
                     "for (int x : std::views::iota(0, 3))", "std::source_location place;",
                     "std::normal_distribution<> normal;", "using namespace std;",
                     '#include "../base/time.h"'):
            with self.subTest(text):
                self.write("src/world/live/loop.cc", text + "\n")
                self.assert_found("src/world/live/loop.cc:1", "is banned")

    def test_a_reasoned_exception_and_literals_may_stay(self):
        self.write("src/world/live/loop.cc", "int x;  // NOLINT(bugprone-x): the library wants it.\n"
                                       "using namespace std::chrono_literals;\n")
        self.assert_clean()

    def test_a_file_that_is_too_long(self):
        self.write("src/world/live/loop.cc", "\n" * (tidy.FILE_LINES_MAX + 1))
        self.assert_found("src/world/live/loop.cc:1", "501 lines")

    def test_phrases_that_are_hard_to_read(self):
        for phrase, text in HARD:
            for place, line in (("README.md", text), ("docs/page.md", text),
                                ("src/world/live/loop.cc", f"int x;  // {text}"),
                                ("src/world/live/loop.cc", f'say("{text}");'),
                                ("include/outpace/worker.h", CLEAN_HEADER + f"// {text}"),
                                ("tools/tool.py", text), ("examples/job.yaml", text)):
                with self.subTest(place=place, text=text):
                    self.write(place, line + "\n")
                    self.assert_found(place, f"'{phrase}' is hard to read; write ")
                    (self.root / place).unlink()

    def test_every_phrase_has_its_example(self):
        for pattern in tidy.PHRASES:
            with self.subTest(pattern):
                self.assertTrue(any(re.search(pattern, text) for _, text in HARD))

    def test_right_sentences_and_names_in_code_may_stay(self):
        self.write("docs/page.md", "It lost so many workers that it stopped. Who wins? Who else? The Art Of\nWar. Of Mice and Men.\n")
        self.write("src/world/live/loop.cc", "double foretold = whoever(in_hand);  // The prediction.\n")
        self.write("tools/tidy.py", "# Refuses foretold.\n")
        self.assert_clean()

    def test_an_indented_comment_that_a_formatter_broke(self):
        for word in ("every", "counts.", "m)", "docs/wire.md"):
            with self.subTest(word):
                self.write("src/world/live/loop.cc", f"//   1. a row of a table\n  //   {word}\n")
                self.assert_found("src/world/live/loop.cc:2", f"'{word}' stands alone in an indented")

    def test_single_words_that_are_no_remainder(self):
        self.write("src/world/live/loop.cc", "// Two kinds:\n//   first\n//\n"
                                             "//   while (next()) {\n//     a, b\n//   }\n// Done.\n")
        self.assert_clean()

    def test_a_page_that_is_too_long(self):
        self.write("docs/page.md", "\n" * tidy.PAGE_LINES_MAX)
        self.assert_clean()
        self.write("docs/page.md", "\n" * (tidy.PAGE_LINES_MAX + 1))
        self.assert_found("docs/page.md:1", "251 lines; split the page")

    def test_a_link_that_leads_nowhere(self):
        self.write("README.md", "# Read\n\n[gone](docs/gone.md)\n")
        self.assert_found("README.md:3", "the link docs/gone.md leads nowhere")

    def test_a_link_to_a_heading_that_is_not_there(self):
        self.write("docs/other.md", "# Other\n\n## The `--clip` of it\n")
        self.write("docs/page.md", "[here](#pages) [there](other.md#the---clip)\n\n# Page\n")
        found = [text for _, _, text in tidy.problems(self.root)]
        self.assertEqual(found, ["the link #pages names no heading of that page",
                                 "the link other.md#the---clip names no heading of that page"])

    def test_links_that_are_right(self):
        self.write("docs/other.md", "# Other\n\n```sh\n# no heading\n```\n## The `--clip` of it\n\n# Other\n")
        self.write("docs/page.md", "[a](other.md#the---clip-of-it) [b](other.md#other-1) [c](../docs/)\n"
                                   "[d](https://example.org/#x) [e](#page)\n\n# Page\n")
        self.assert_clean()

    def test_links_of_an_example_and_links_in_code(self):
        self.write("examples/one/README.md", "# One\n\n```\n[a](b)\n```\n[run](../run.md)\n")
        self.assert_found("examples/one/README.md:6", "the link ../run.md leads nowhere")

    def test_a_page_that_the_table_of_contents_leaves_out(self):
        self.write("docs/README.md", "# Contents\n\n- [Run](run.md): a run\n- [First](first/run.md)\n")
        self.write("docs/run.md", "# Run\n")
        self.write("docs/first/run.md", "# First\n")
        self.assert_clean()
        self.write("docs/first/other.md", "# Other\n")
        self.assert_found("docs/first/other.md:1", "docs/README.md does not list this page")

    def test_a_generated_page_may_be_long(self):
        self.write("docs/options.md", "\n" * (tidy.PAGE_LINES_MAX + 1))
        self.assert_clean()

    def test_a_header_that_does_not_say_what_it_is(self):
        self.write("src/world/live/loop.h", "#pragma once\n")
        self.assert_found("src/world/live/loop.h:1", "opens with a sentence")

    def test_a_header_without_its_guard(self):
        self.write("src/world/live/loop.h", "// A loop.\n")
        self.assert_found("src/world/live/loop.h:1", "no #pragma once")

    def write_class(self, above="", functions=59):
        """A class of eight lines apart from a struct inside, a function of one line, and others of ten."""
        self.write("src/world/live/server.h", CLEAN_HEADER + "namespace outpace::live {\n\n"
                   "enum class Way {\n  kThere,\n};\n" + above +
                   "template <typename T>\nclass Server final\n    : public Base {\n public:\n"
                   "  struct Inner {\n    int x;\n  };\n"
                   "  Server();\n  int get() {\n    return 1;\n  }\n};\n\n}  // namespace outpace::live\n")
        body = " {\n" + "  if (x) {\n  }\n" * 4 + "}\n"
        text = ("namespace outpace::live {\nnamespace {\n\nint free_one(int x = std::get(1))" + body +
                "constexpr int kTable[] = {\n    1};\nconstexpr Pair kPair{\n    .x = 1,\n};\n}  // namespace\n\nServer::Server() : x_{1} {}\n" +
                "std::vector<int> Server::Inner::look(Inner::Kind kind)" + body)
        for i in range(functions):
            if i % 30 == 0:
                self.write(f"src/world/live/server_{i}.cc", "// Tested by src/world/live/loop_test.cc.\n" + text)
                text = "namespace outpace::live {\n"
            text += f"Inner::Kind Server::do_{i}(int x)  // It does.\n" + body[1:]
        self.write("src/world/live/server_rest.cc", "// Tested by src/world/live/loop_test.cc.\n" + text)

    def test_a_class_is_counted_over_all_its_files(self):
        self.write_class()
        sizes = {}
        for path in sorted(self.root.rglob("server*")):
            for name, _, lines in tidy.class_parts(path):
                sizes[name] = sizes.get(name, 0) + lines
        self.assertEqual(sizes["outpace::live::Server"], 8 + 1 + 59 * 11)
        self.assertEqual(sizes["outpace::live::Server::Inner"], 3 + 10)

    def test_classes_of_one_name_are_counted_apart(self):
        text = "// Tested by src/world/live/loop_test.cc.\nnamespace {\n" + (
            "class Ring {\n" + "  int x;\n" * 300 + "};\n}  // namespace\n")
        for name in ("one", "other", "third"):
            self.write(f"src/world/live/{name}.cc", text)
        self.assert_clean()

    def test_a_class_inside_one_is_counted_apart_wherever_it_is_defined(self):
        self.write_class("// A server.\n", functions=45)
        body = "".join(f"  int f{i}() {{\n    return {i};\n  }}\n" for i in range(100))
        self.write("src/world/live/job.h", "// A server's job.\n\n#pragma once\n\nnamespace outpace::live {\n\n"
                   "class Server::Job {\n" + body + "};\n\n}  // namespace outpace::live\n")
        self.assert_clean()

    def test_a_large_class_needs_a_reason(self):
        self.write_class(functions=53)
        self.assert_clean()
        self.write_class(functions=54)
        self.assert_found("src/world/live/server.h:10", "outpace::live::Server has 603 lines over all")
        self.write_class("// A server.\n\n// Large class: it is not above.\n\n", functions=54)
        self.assert_found("src/world/live/server.h:14", "split it at 600, or say above it why")
        self.write_class("// A server.\n// Large class: its parts share all of its\n// state.\n", functions=54)
        self.assert_clean()

    def test_a_reason_of_a_class_that_is_not_large(self):
        self.write_class("// Large class: it was.\n", functions=2)
        self.assert_found("src/world/live/server.h:11", "has 31 lines: its reason to be large is not")

    def test_a_pure_file_without_a_test(self):
        self.write("src/core/policy/async.cc", "\n")
        self.assert_found("src/core/policy/async.cc:1", "no test beside it")

    def test_a_file_that_no_test_is_known_to_cover(self):
        for text in ("\n", "// Tested by hand.\n", "// Tested by src/world/live/loop_test.cc\n",
                     "// It is tested by src/world/live/loop_test.cc.\n",
                     "// Tested by src/world/live/loop.cc.\n"):
            with self.subTest(text):
                self.write("src/world/live/server.cc", text)
                self.assert_found("src/world/live/server.cc:1", "no test: write server_test.cc, or say")

    def test_a_pure_file_has_its_test_beside_it_whatever_it_says(self):
        self.write("src/core/policy/async.cc", "// Tested by src/core/policy/sync_test.cc.\n")
        self.assert_found("src/core/policy/async.cc:1", "no test beside it")

    def test_a_file_may_say_which_test_covers_it(self):
        self.write("test/program/train_test.py", "class Stopped(ProgramTest):\n")
        self.write("src/world/live/half.cc", "// One half.\n// Tested by src/world/live/loop_test.cc.\n\n")
        self.write("src/world/live/server.h", "// A server.\n//\n// Tested by test/program/train_test.py "
                                        "(class Stopped).\n\n#pragma once\n")
        self.write("src/world/live/server.cc", '#include "live/server.h"\n')
        self.write("src/face/cli/main.cc", "\n")
        self.write("CMakeLists.txt", CMAKE + "outpace_module(cli DEPENDS live)\n")
        self.assert_clean()

    def test_a_sentence_that_names_a_test_that_is_not_there(self):
        text = "// Tested by src/world/live/{}_test.cc.\n"
        self.write("src/world/live/server.cc", "// A server.\n" + text.format("absent"))
        self.assert_found("src/world/live/server.cc:2", "there is no src/world/live/absent_test.cc; name")
        self.write("src/world/live/server.cc", text.format("loop") + text.format("absent"))
        self.assert_found("src/world/live/server.cc:2", "there is no src/world/live/absent_test.cc; name")
        self.write("src/world/live/server.cc", "\n")
        self.write("src/world/live/server.h", CLEAN_HEADER + text.format("absent"))
        self.assert_found("src/world/live/server.h:4", "there is no src/world/live/absent_test.cc; name")
        for suffix in (".h", ".cc"):
            (self.root / "src/world/live/server").with_suffix(suffix).unlink()
        self.write("src/world/live/loop.cc", text.format("absent"))  # Though it has a test beside it.
        self.assert_found("src/world/live/loop.cc:1", "there is no src/world/live/absent_test.cc; name")

    def test_a_sentence_that_names_a_class_that_the_test_does_not_have(self):
        self.write("test/program/train_test.py", "class Stopped(ProgramTest):\n")
        self.write("src/world/live/server.cc",
                   "// Tested by test/program/train_test.py (class Stop).\n")
        self.assert_found("src/world/live/server.cc:1",
                          "test/program/train_test.py has no class Stop; name one")

    def test_a_class_of_tests_that_nobody_runs(self):
        self.write("test/program/run_test.py", "class Run(ProgramTest):\n    WAY = 1\n\n"
                   "    def test_it(self):\n        pass\n\n\n"
                   "class Left(ProgramTest):\n    def test_it(self):\n        pass\n\n\n"
                   "class Shared(ProgramTest):\n    pass\n")
        self.write("test/CMakeLists.txt", "program_test(run Run)  # program_test(run Left)\n")
        self.assert_found("test/program/run_test.py:8", "nobody runs class Left")
        self.write("test/CMakeLists.txt", "program_test(run Run Left)\n")
        self.assert_clean()

    def test_a_class_that_only_has_tests_of_its_base(self):
        tests = "class Run(ProgramTest):\n    def test_it(self):\n        pass\n\n\n"
        self.write("test/CMakeLists.txt", "program_test(run Run)\n")
        for base in ("Run", "other_test.Run"):
            self.write("test/program/run_test.py", tests + f"class Fast({base}):\n    WAY = 2\n")
            self.assert_found("test/program/run_test.py:6", "nobody runs class Fast")
        self.write("Makefile", "pages:\n\tpython3 test/program/fast_run_test.py\n")
        self.assert_found("test/program/run_test.py:6", "nobody runs class Fast")
        self.write("Makefile", "pages:\n\tpython3 test/program/run_test.py\n")
        self.assert_clean()

    def test_a_file_named_for_nothing(self):
        for name in ("strategy", "worker_manager", "event_handler", "helpers", "text_util"):
            with self.subTest(name):
                path = f"src/world/live/{name}.h"
                self.write(path, CLEAN_HEADER)
                self.assert_found(path, "in a file name")
                (self.root / path).unlink()


if __name__ == "__main__":
    unittest.main()
