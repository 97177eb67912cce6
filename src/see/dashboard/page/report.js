// What a report has beside the page (page.js): several runs, answers of `outpace whatif`, and how to
// repeat a run.
"use strict";

function accuracyOf(frame) {
  const last = frame.evaluations[frame.evaluations.length - 1];
  return last && last[3] !== null ? (100 * last[3]).toFixed(1) + " %" : "–";
}
function rateOf(frame) {
  const first = frame.points[0];
  const last = frame.points[frame.points.length - 1];
  return last && last[0] > first[0] ? (last[3] - first[3]) / (last[0] - first[0]) : 0;
}
function showWhatif(one) {
  $("whatif-card").hidden = one.whatif === null;
  if (one.whatif === null) return;
  const most = Math.max(...one.whatif.questions.map((answer) => answer.ratio));
  $("whatif").tBodies[0].replaceChildren(...one.whatif.questions.map((answer) => {
    const between = answer.low !== null ? ` (${answer.low.toFixed(2)} to ${answer.high.toFixed(2)})` : "";
    const tr = row([answer.question, "", `${answer.ratio.toFixed(2)}x${between}`,
      `${grouped(answer.examples_per_second)} examples/s`]);
    tr.className = answer.question === "as it was" ? "was" : "";
    const bar = document.createElement("div");
    bar.className = "bar";
    bar.style.width = `${100 * answer.ratio / most}%`;
    tr.cells[1].append(bar);
    return tr;
  }));
  const lost = one.whatif.lost_to_workers.filter((worker) => worker.share >= 0.005)
    .sort((one, other) => other.share - one.share)
    .map((worker) => `${(100 * worker.share).toFixed(1)} % to worker ${worker.worker}`);
  $("whatif-words").textContent = [lost.length ? "time lost: " + lost.join(", ")
    : "no time is lost to any worker being slower than the others", ...one.whatif.notes].join(". ") + ".";
}
function showRecorded(number) {
  const one = recorded[number];
  heard({ ...one.frame, begins: true });
  for (const [i, button] of [...$("runs").children].entries()) button.setAttribute("aria-pressed", String(i === number));
  $("notes").hidden = one.notes.length === 0;
  setList($("notes").firstElementChild, one.notes);
  showWhatif(one);
  $("repeat-card").hidden = one.config === "";
  $("repeat-how").textContent = "Save this as config.toml, and run: outpace " +
    `${one.command || "COMMAND"} --resolved=config.toml`;
  $("repeat").textContent = one.config;
}
function beginReport() {
  if (recorded.length > 1) {
    $("runs").hidden = false;
    $("runs").append(...recorded.map((one, number) => {
      const button = document.createElement("button");
      button.textContent = one.frame.about.run;
      button.addEventListener("click", () => showRecorded(number));
      return button;
    }));
    $("side-card").hidden = false;
    setRows("side", recorded.map(({ frame }) => [[frame.about.run, frame.policy, frame.about.workers,
      seconds(frame.now), grouped(frame.version), grouped(rateOf(frame)), accuracyOf(frame)]]));
  }
  showRecorded(0);
}
