#include "sim/faults.h"

#include <gtest/gtest.h>

#include "base/refusal_test.h"

namespace outpace::sim {
namespace {

using std::chrono::seconds;

std::string fault_refusal(const std::string& text) {
  return refusal_of([&] { (void)parse_fault(text, 4); });
}

TEST(Faults, AreReadFromASpec) {
  EXPECT_EQ(parse_fault("crash:worker=3,at=10s", 4),
            (Fault{.kind = Fault::Kind::kCrash,
                   .worker = WorkerId{3},
                   .at = Time{seconds(10)},
                   .lasts = std::nullopt}));
  EXPECT_EQ(parse_fault("crash:worker=0,at=500ms,for=5s", 4).lasts, Duration{seconds(5)});
  EXPECT_EQ(parse_fault("leave:worker=1,at=1s", 4).kind, Fault::Kind::kLeave);
  EXPECT_EQ(parse_fault("join:worker=1,at=1s", 4).kind, Fault::Kind::kJoin);
  const Fault slow = parse_fault("slow:worker=2,at=10s,for=60s,factor=4", 4);
  EXPECT_EQ(slow.lasts, Duration{seconds(60)});
  EXPECT_EQ(slow.factor, 4.0);
}

TEST(Faults, OfLinksAndMessagesAreReadFromASpec) {
  EXPECT_EQ(parse_fault("partition:workers=1+3,at=10s,for=5s,way=to_server", 4),
            (Fault{.kind = Fault::Kind::kPartition,
                   .at = Time{seconds(10)},
                   .lasts = seconds(5),
                   .workers = {WorkerId{1}, WorkerId{3}},
                   .way = Way::kToServer}));
  const Fault clog = parse_fault("clog:at=10s,for=5s,step=100ms,share=0.5", 4);
  EXPECT_EQ(clog.by, std::chrono::milliseconds(100));
  EXPECT_EQ(clog.probability, 0.5);
  EXPECT_EQ(parse_fault("reorder:at=1s,for=2s,probability=0.1,by=1s", 4).by, seconds(1));
  EXPECT_EQ(parse_fault("lose:at=1s,for=2s,probability=0.1", 4).kind, Fault::Kind::kLose);
  EXPECT_EQ(parse_fault("pause:worker=1,at=1s,for=2s", 4).lasts, seconds(2));
}

TEST(Faults, AHangIsNotSilentAndStillTakesHeartbeats) {
  const Fault hang = parse_fault("hang:worker=3,at=10s,for=5s", 4);
  EXPECT_EQ(hang.kind, Fault::Kind::kHang);
  EXPECT_EQ(hang.lasts, Duration{seconds(5)});
  EXPECT_FALSE(can_silence(hang));
  EXPECT_TRUE(takes_heartbeats(hang));
  EXPECT_FALSE(takes_heartbeats(parse_fault("crash:worker=3,at=10s,for=5s", 4)));
  EXPECT_NE(fault_refusal("hang:worker=1,at=1s").find("for"), std::string::npos);
}

TEST(Faults, OfPeersThatGreetAreReadFromASpec) {
  EXPECT_EQ(parse_fault("foreign:worker=2,at=1s", 4),
            (Fault{.kind = Fault::Kind::kForeign, .worker = WorkerId{2}, .at = Time{seconds(1)}}));
  EXPECT_EQ(parse_fault("double:worker=2,at=1s", 4).kind, Fault::Kind::kDouble);
  const Fault evaluator = parse_fault("evaluator:at=1s,for=3s", 4);
  EXPECT_EQ(evaluator.lasts, Duration{seconds(3)});
  EXPECT_TRUE(greets(evaluator.kind));
  EXPECT_FALSE(greets(Fault::Kind::kReorder));
  EXPECT_FALSE(can_silence(evaluator));
  EXPECT_FALSE(takes_heartbeats(evaluator));
  EXPECT_NE(fault_refusal("evaluator:at=1s").find("for"), std::string::npos);
  EXPECT_NE(fault_refusal("double:worker=4,at=1s").find("worker"), std::string::npos);
  EXPECT_NE(fault_refusal("foreign:at=1s").find("worker"), std::string::npos);
}

TEST(Faults, CanSilenceALivingWorkerOrNot) {
  EXPECT_FALSE(can_silence(parse_fault("crash:worker=3,at=10s,for=5s", 4)));
  EXPECT_FALSE(can_silence(parse_fault("slow:worker=3,at=10s,for=5s,factor=2", 4)));
  EXPECT_TRUE(can_silence(parse_fault("pause:worker=3,at=10s,for=5s", 4)));
  EXPECT_TRUE(can_silence(parse_fault("delay:at=10s,for=5s,probability=0.1,by=1s", 4)));
}

TEST(Faults, ThatAreWrongAreRefusedInALine) {
  EXPECT_NE(fault_refusal("crahs:worker=3,at=10s").find("did you mean 'crash'?"),
            std::string::npos);
  EXPECT_NE(fault_refusal("crash:worker=4,at=10s").find("worker"), std::string::npos);
  EXPECT_NE(fault_refusal("crash:worker=1").find("at"), std::string::npos);
  EXPECT_NE(fault_refusal("crash:worker=1,at=10").find("at"), std::string::npos) << "no unit";
  EXPECT_NE(fault_refusal("crash:worker=1,at=-1s").find("at"), std::string::npos);
  EXPECT_NE(fault_refusal("leave:worker=1,at=1s,for=3s").find("for"), std::string::npos);
  EXPECT_NE(fault_refusal("pause:worker=1,at=1s").find("for"), std::string::npos);
  EXPECT_NE(fault_refusal("partition:workers=1+4,at=1s,for=1s").find("0 to 3"), std::string::npos);
  EXPECT_NE(fault_refusal("partition:workers=,at=1s,for=1s").find("workers"), std::string::npos);
  EXPECT_NE(fault_refusal("lose:at=1s,for=1s,probability=1.5").find("probability"),
            std::string::npos);
  EXPECT_NE(fault_refusal("lose:at=1s,for=1s,probability=1,by=1s").find("by"), std::string::npos);
  EXPECT_NE(fault_refusal("clog:at=1s,for=1s,share=1").find("step"), std::string::npos);
  EXPECT_NE(fault_refusal("slow:worker=1,at=1s,factor=2").find("for"), std::string::npos);
  EXPECT_NE(fault_refusal("slow:worker=1,at=1s,for=1s,factor=0.5").find("factor"),
            std::string::npos);
}

}  // namespace
}  // namespace outpace::sim
