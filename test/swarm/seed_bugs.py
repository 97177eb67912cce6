#!/usr/bin/env python3
"""Puts bugs into copies of the sources, to prove that the swarm's invariants find them.

    seed_bugs.py SOURCE_FOLDER OUT_FOLDER

Writes to OUT_FOLDER a copy of each source that a bug of BUGS is in, and seeded_bugs.h, the list of
bugs. The test program seeded_bugs.cc is built from the copies and turns one bug on at a time. The
sources themselves know nothing of it. A bug whose place is gone from its source, or stands there
twice, fails the build: give it its place again.
"""

import pathlib
import sys

# Name, the invariant that it breaks, what it does; its file; the text of the source, and what stands
# there instead. BUG is true while the bug is on.
BUGS = [
    ("duplicate_accepted", "I1", "A repeated push is accepted again.",
     "core/server/coordinator.cc",
     "    emplace<Send>(out, id.worker, *member->last_verdict);\n",
     "    emplace<Send>(out, id.worker, *member->last_verdict);\n"
     "    if (BUG) {\n"
     "      out.emplace_back(Accept{id.worker, id.sequence, 1.0, 1});\n"
     "    }\n"),
    ("dropped_accepted", "I1", "A gradient that the policy dropped is accepted.",
     "core/server/coordinator_actions.cc",
     "  out.emplace_back(Forget{action.worker});\n",
     "  if (BUG) {\n"
     "    out.emplace_back(Accept{action.worker, action.release, 1.0, member.examples});\n"
     "  }\n"
     "  out.emplace_back(Forget{action.worker});\n"),
    ("stale_round_counts", "I3", "A round accepts a gradient of an older one.",
     "core/policy/round.cc",
     "if (state.version < version_) {", "if (state.version < version_ && !BUG) {"),
    ("late_part_counts", "I3", "A part of a phase that was cut off before counts in the next one.",
     "core/policy/hand_ins.cc",
     "  if (worker.version == version_) {\n    ++came_;\n",
     "  if (worker.version == version_ || BUG) {\n    ++came_;\n"),
    ("step_counted_twice", "I1", "The last step that a part had is handed out again.",
     "core/server/coordinator_actions.cc",
     "  move_head(member.ranges, member.examples, accepted_ranges_);\n",
     "  const bool again = BUG && member.partial && member.examples > options_.batch;\n"
     "  move_head(member.ranges, member.examples - (again ? options_.batch : 0), accepted_ranges_);\n"),
    ("ssp_one_more", "I3", "The fastest is s + 1 iterations ahead.",
     "core/policy/ssp.cc",
     "if (ahead <= options_.slack) {", "if (ahead <= options_.slack + (BUG ? 1 : 0)) {"),
    ("saps_one_more", "I3", "A gradient that is s + 1 versions old is accepted.",
     "core/policy/saps.cc",
     "lag > bound_.now() &&", "lag > bound_.now() + (BUG ? 1 : 0) &&"),
    ("lease_lost", "I5", "The examples of a dead worker are never handed out again.",
     "core/server/coordinator.cc",
     "    leases_.give_back(worker, member->ranges);\n",
     "    if (!BUG) {\n"
     "      leases_.give_back(worker, member->ranges);\n"
     "    }\n"),
    ("dead_awaited", "I6", "An update waits for a worker that is dead.",
     "core/policy/round.cc",
     "if (workers_.leave(event.worker).computing) {",
     "if (workers_.leave(event.worker).computing && !BUG) {"),
    ("live_miscounted", "I6", "A worker that died counts as live.",
     "core/server/coordinator.cc",
     "  --live_;\n", "  live_ -= BUG ? 0U : 1U;\n"),
    ("silence_overlooked", "I6", "A worker that is silent for too long stays live.",
     "core/server/coordinator.cc",
     "if (!is_live(member.state)) {", "if (!is_live(member.state) || BUG) {"),
    ("fence_ignored", "I19", "A worker whose connection was given up leaves again at its end.",
     "core/admission/roster.cc",
     "  peer.role = Role::kSentAway;\n  peer.joined = false;\n",
     "  peer.role = Role::kSentAway;\n  peer.joined = peer.joined && BUG;\n"),
    ("idle_forgotten", "I9", "Worker 1 is not released again once its gradient was accepted.",
     "core/policy/round.cc",
     "    if (!state.computing) {\n", "    if (!state.computing && !(BUG && worker == WorkerId{1})) {\n"),
    ("version_back", "I10", "A death takes an update back.",
     "core/server/coordinator.cc",
     "  out.emplace_back(ForgetWorker{worker});\n",
     "  out.emplace_back(ForgetWorker{worker});\n"
     "  if (BUG && version_ > Version{}) {\n"
     "    version_ = Version{count(version_) - 1};\n"
     "  }\n"),
    ("broken_part_used", "I12", "The finite numbers of a gradient that is not finite are used.",
     "core/server/shard.cc",
     "  if (!std::isfinite(*squared_norm)) {\n",
     "  if (!std::isfinite(*squared_norm)) {\n"
     "    for (std::size_t i = 0; BUG && i < weights_->size() && std::isfinite(gradient[i]); ++i) {\n"
     "      (*weights_)[i] -= gradient[i];\n"
     "    }\n"),
    ("checkpoint_forgets", "I5", "What was out at a checkpoint is not handed out again.",
     "core/server/coordinator_state.cc",
     "    out.insert(out.end(), member.ranges.begin(), member.ranges.end());\n",
     "    if (!BUG) {\n"
     "      out.insert(out.end(), member.ranges.begin(), member.ranges.end());\n"
     "    }\n"),
    ("resumes_a_version_back", "I10", "A server goes on with the version before its checkpoint's.",
     "core/server/coordinator_state.cc",
     "  iterations_ = iterations;\n",
     "  iterations_ = iterations;\n"
     "  version_ = Version{count(version_) - (BUG && count(version_) > 0 ? 1U : 0U)};\n"),
    ("hidden_state", "I14", "A run depends on those before it.",
     "core/server/coordinator.cc",
     "  CHECK(options_.batch >= 1 && options_.workers > options_.later);\n",
     "  CHECK(options_.batch >= 1 && options_.workers > options_.later);\n"
     "  if (BUG) {\n"
     "    static std::uint64_t runs = 0;\n"
     "    sequences_ = ++runs;\n"
     "  }\n"),
    ("cutoff_one_more", "I17", "An update waits for more gradients than the live can give.",
     "core/policy/first_come.cc",
     "accepted_ < cutoff)) {", "accepted_ < cutoff + (BUG ? 1 : 0))) {"),
    ("foreign_accepted", "I19", "A worker of another network is accepted.",
     "core/admission/terms.cc",
     "if (terms.network && network != *terms.network) {",
     "if (terms.network && network != *terms.network && !BUG) {"),
    ("two_evaluators", "I19", "A second evaluator is served beside the first.",
     "core/admission/evaluators.cc",
     "  if (served_) {", "  if (served_ && !BUG) {"),
    ("late_joiner", "I19", "A worker that comes after the end is accepted.",
     "core/admission/admission.cc",
     "  if (end_) {\n    return say_that_it_is_over(from, out);",
     "  if (end_ && !BUG) {\n    return say_that_it_is_over(from, out);"),
    # Without a server.
    ("member_twice", "I23", "A ring that formed anew counts its first worker twice.",
     "core/peer/ring.cc",
     "  plan_.set_workers(group.members);\n",
     "  plan_.set_workers(group.members);\n"
     "  if (BUG && group.generation > 1) {\n"
     "    std::vector<WorkerId> twice = group.members;\n"
     "    twice.push_back(twice.front());\n"
     "    plan_.set_workers(twice);\n"
     "  }\n"),
    ("broken_update_lost", "I23", "The examples of an update that broke off are not used again.",
     "core/peer/ring.cc",
     "    plan_.put_back();\n", "    if (!BUG) {\n      plan_.put_back();\n    }\n"),
    ("visit_answered_twice", "I21", "A visitor that has its weights gets them again.",
     "core/peer/pull.cc",
     "  return next ? reply_to(next->rank) : Actions{};\n",
     "  return next ? reply_to(next->rank) : BUG ? reply_to(message.from) : Actions{};\n"),
    ("dead_member_awaited", "I22", "The next group waits for a worker that is dead.",
     "core/peer/formation.cc",
     "if (workers_.erase(worker) == 0 || workers_.empty()) {",
     "if ((BUG ? workers_.count(worker) : workers_.erase(worker)) == 0 || workers_.empty()) {"),
]


def seeded(text, bugs, path):
    for name, _, _, _, place, instead in bugs:
        found = text.count(place)
        if found != 1:
            raise SystemExit(f"seed_bugs.py: the place of the bug {name} stands {found} times in "
                             f"{path}, not once: {place.strip()}")
        text = text.replace(place, instead.replace("BUG", f'(::outpace::seeded_bug == "{name}")'))
    return f'#include "seeded_bugs.h"\n#line 1 "{path}"\n{text}'


def table(bugs):
    lines = "".join(f'    {{"{name}", "{invariant}"}},  // {what}\n'
                    for name, invariant, what, _, _, _ in bugs)
    return ("// The seeded bugs, and the invariant that each of them breaks.\n\n#pragma once\n\n"
            "#include <array>\n#include <string_view>\n\nnamespace outpace {\n\n"
            "struct SeededBug {\n  std::string_view name;\n  std::string_view invariant;\n};\n"
            "// The one that is on; empty if none is.\nextern std::string_view seeded_bug;\n\n"
            f"inline constexpr std::array<SeededBug, {len(bugs)}> kSeededBugs{{{{\n{lines}}}}};\n\n"
            "}  // namespace outpace\n")


def main(source, out, all_bugs):
    out.mkdir(parents=True, exist_ok=True)
    (out / "seeded_bugs.h").write_text(table(all_bugs))
    for file in sorted({bug[3] for bug in all_bugs}):
        path = source / "src" / file
        bugs = [bug for bug in all_bugs if bug[3] == file]
        (out / file.replace("/", "_")).write_text(seeded(path.read_text(), bugs, path))


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), BUGS)
