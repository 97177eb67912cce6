// Shows what /events says of a run; in a report, what the page itself has of some. Every word of it goes into the page by textContent.
"use strict";

const KINDS = ["computing", "sending", "waiting", "cancelled", "gone", "stalled"];
const WORDS = { computing: "computing", sending: "sending", waiting: "waiting", cancelled: "cut off",
  gone: "dead or gone", stalled: "stalled", absent: "not there yet" };
const LANE_LABEL = 46;  // Pixels at the left for the worker's number.
const $ = (id) => document.getElementById(id);

const run = { about: {}, points: [], evaluations: [], lanes: [], firstCell: 0, cells: 0, workers: [],
  staleness: [], expected: null, byExamples: false, chosen: -1, told: [], frame: {}, kept: 450 };
// In a report: a frame of each run, and what is said about it.
const recorded = $("recorded") ? JSON.parse($("recorded").textContent) : null;
const charts = {};
// run.lanes: of each worker the newest `kept` cells, each of six parts of 15.
// What the page costs, for those who measure it.
window.cost = { frames: 0, milliseconds: 0, most: 0 };

function color(name) {
  return getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
}
let palette = {};
function readPalette() {
  palette = {};
  for (const name of [...KINDS, "back", "card", "text", "quiet", "line", "accent", "applied", "drops",
    "cancels", "idle", "forecast", "good", "bad"]) {
    palette[name] = color(name);
  }
}

function seconds(value) {
  if (value === null || value === undefined) return "–";
  if (value < 0.001) return (value * 1e6).toPrecision(3) + " µs";
  if (value < 1) return (value * 1e3).toPrecision(3) + " ms";
  if (value < 100) return value.toPrecision(3) + " s";
  const whole = Math.floor(value);
  const parts = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  return parts[0] > 0 ? `${parts[0]} h ${parts[1]} min` : `${parts[1]} min ${parts[2]} s`;
}
function bytes(value) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  for (; value >= 1024 && unit < 4; ++unit) value /= 1024;
  return (unit ? value.toPrecision(3) : value) + " " + units[unit];
}
const grouped = (value) => Math.round(value).toLocaleString("en");

let chartsDrawn = -Infinity;
// What is out of sight is not drawn: to draw costs memory and time.
const outOfSight = new Set();  // Sections.
const sight = new IntersectionObserver((changes) => {
  let comes = false;
  for (const change of changes) {
    if (!change.isIntersecting) outOfSight.add(change.target);
    else comes = outOfSight.delete(change.target) || comes;
  }
  if (comes) {
    chartsDrawn = -Infinity;
    drawSoon();
  }
}, { rootMargin: "100px" });
const inSight = (id) => recorded !== null || !outOfSight.has($(id).closest("section"));

// ---- Charts -----------------------------------------------------------------------------------

function axis(title, more) {
  return { type: "linear", title: { display: true, text: title, color: palette.quiet },
    ticks: { color: palette.quiet, maxTicksLimit: 6, includeBounds: false }, grid: { color: palette.line }, ...more };
}
function makeChart(id, type, datasets, scales, more) {
  if (charts[id]) charts[id].destroy();
  charts[id] = new Chart($(id), { type, data: { datasets }, options: {
    animation: false, responsive: true, maintainAspectRatio: false, parsing: false, normalized: true,
    interaction: { mode: "nearest", intersect: false },
    plugins: { legend: { labels: { color: palette.text, boxWidth: 11, boxHeight: 11 } } }, scales, ...more } });
}
function line(label, name, more) {
  return { label, data: [], borderColor: palette[name], backgroundColor: palette[name], borderWidth: 1.6,
    pointRadius: 0, ...more };
}
function area(label, name) {
  return line(label, name, { fill: "stack", backgroundColor: palette[name] + "99", borderWidth: 1, stack: "all" });
}
function makeCharts() {
  readPalette();
  Chart.defaults.font.size = 12;
  const along = () => axis(run.byExamples ? "examples" : "seconds", { min: 0 });
  makeChart("c-loss", "line", [line("training loss", "applied", { yAxisID: "y" }),
    line("test loss", "cancels", { yAxisID: "y", pointRadius: 1.5 }),
    line("test accuracy", "good", { yAxisID: "y2", pointRadius: 1.5 })],
  { x: along(), y: axis("loss", { beginAtZero: true }),
    y2: axis("accuracy", { position: "right", min: 0, max: 1, grid: { drawOnChartArea: false } }) });
  makeChart("c-rate", "line", [area("applied", "applied"), area("lost to drops", "drops"),
    area("lost to cancels", "cancels"), area("lost to waiting", "idle")],
  { x: axis("seconds", { min: 0 }), y: axis("examples/s", { stacked: true, beginAtZero: true }) });
  makeChart("c-cutoff", "line", [line("gradients in an update", "applied"), line("live workers", "quiet", { borderDash: [4, 3] })],
    { x: axis("seconds", { min: 0 }), y: axis("workers", { beginAtZero: true }) });
  makeChart("c-stale", "bar", [{ label: "gradients", data: [], backgroundColor: palette.applied, borderWidth: 0 }],
    { x: axis("updates", { offset: true, min: 0, ticks: { color: palette.quiet, precision: 0, maxTicksLimit: 10 } }), y: axis("gradients", { beginAtZero: true }) },
    { plugins: { legend: { display: false } } });
}

// Rates between points that are some seconds apart, so that they do not jump.
function rates() {
  const all = run.points;
  const out = { applied: [], dropped: [], cancelled: [], waiting: [], gradients: [], live: [] };
  const apart = Math.max(2, (all.length ? all[all.length - 1][0] : 0) / 120);
  let from = 0;
  for (let i = 1; i < all.length; ++i) {
    while (from + 1 < i && all[i][0] - all[from + 1][0] >= apart) ++from;
    const time = all[i][0] - all[from][0];
    if (time <= 0) continue;
    const x = all[i][0];
    const rate = (column) => Math.max(0, (all[i][column] - all[from][column]) / time);
    out.applied.push({ x, y: rate(3) });
    out.dropped.push({ x, y: rate(4) });
    out.cancelled.push({ x, y: rate(5) });
    out.waiting.push({ x, y: rate(6) });
    const updates = all[i][1] - all[from][1];
    if (updates > 0) out.gradients.push({ x, y: (all[i][2] - all[from][2]) / updates });
    out.live.push({ x, y: all[i][8] });
  }
  return out;
}
// What else an evaluation has, [name, value] from e[5] on: each a curve with a scale of its own.
function addValues(place) {
  const chart = charts["c-loss"];
  const colours = ["drops", "idle", "quiet", "text"];
  const names = [...new Set(run.evaluations.flatMap((e) => e.slice(5).map((one) => one[0])))];
  chart.data.datasets.length = 3;
  names.forEach((name, i) => {
    const own = line(name, colours[i % colours.length], { yAxisID: "y-" + name, pointRadius: 1.5, borderDash: [2, 2] });
    own.data = run.evaluations.flatMap((e) => e.slice(5).filter((one) => one[0] === name)
      .map((one) => ({ x: place(e[0], e[2]), y: one[1] })));
    chart.options.scales["y-" + name] = { display: false };
    chart.data.datasets.push(own);
  });
}
function fillCharts() {
  const place = (time, examples) => (run.byExamples ? examples : time);
  const [loss, testLoss, accuracy] = charts["c-loss"].data.datasets;
  loss.data = run.points.filter((p) => p[7] !== null).map((p) => ({ x: place(p[0], p[3]), y: p[7] }));
  testLoss.data = run.evaluations.filter((e) => e[4] !== null).map((e) => ({ x: place(e[0], e[2]), y: e[4] }));
  accuracy.data = run.evaluations.filter((e) => e[3] !== null).map((e) => ({ x: place(e[0], e[2]), y: e[3] }));
  addValues(place);
  $("loss-card").hidden = Boolean(run.frame.ended) && !run.evaluations.length && !loss.data.length;  // Nothing was learnt.
  charts["c-loss"].options.scales.x.title.text = run.byExamples ? "examples" : "seconds";
  const all = rates();
  const rate = charts["c-rate"].data.datasets;
  [rate[0].data, rate[1].data, rate[2].data, rate[3].data] = [all.applied, all.dropped, all.cancelled, all.waiting];
  const cutoff = charts["c-cutoff"].data.datasets;
  [cutoff[0].data, cutoff[1].data] = [all.gradients, all.live];
  charts["c-stale"].data.datasets[0].data = run.staleness.map((y, x) => ({ x, y }));
  const last = run.points.length ? run.points[run.points.length - 1][0] : 1;
  // The record of a run that went on may lack its beginning.
  const first = run.points.length && run.points[0][0] > last / 10 ? run.points[0][0] : 0;
  for (const id of ["c-rate", "c-cutoff"]) Object.assign(charts[id].options.scales.x, { min: first, max: last });
  Object.assign(charts["c-loss"].options.scales.x, { min: run.byExamples ? 0 : first, max: run.byExamples ? undefined : last });
  // Once a second is enough: an update of a chart is a megabyte of garbage.
  const time = performance.now();
  if (time - chartsDrawn > 900 || run.frame.ended) {
    chartsDrawn = time;
    for (const id in charts) if (inSight(id)) charts[id].update("none");
  }
  const now = run.frame.ended ? rateOf(run) : run.frame.rate ?? null;
  $("t-rate").textContent = now === null ? "–" : grouped(now);
}

// ---- Canvases ---------------------------------------------------------------------------------

// A canvas as wide as its box, sharp on any screen. Returns its context, in CSS pixels.
function prepare(canvas, box, height) {
  const width = box.clientWidth;
  const scale = window.devicePixelRatio || 1;
  if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    canvas.style.width = width + "px";
    canvas.style.height = height + "px";
  }
  const context = canvas.getContext("2d");
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.clearRect(0, 0, width, height);
  context.font = "11px system-ui, sans-serif";
  return { context, width, height };
}
function laneHeight() {
  const count = Math.max(1, run.lanes.length);
  return Math.max(3, Math.min(22, Math.floor(600 / count)));
}
function label(context, worker, middle, height) {
  const every = height >= 11 ? 1 : Math.ceil(13 / height);
  if (worker % every !== 0 && worker !== run.chosen) return;
  const one = run.workers[worker];
  context.fillStyle = worker === run.chosen ? palette.accent : one && one.slow > 1 ? palette.bad : palette.quiet;
  context.textBaseline = "middle";
  context.textAlign = "right";
  context.fillText(String(worker), LANE_LABEL - 8, middle);
}
// Each cell is a column: from below, what the worker spent its time on. Cells do not change, so they
// are painted once, into a strip of a pixel a cell that moves to the left.
const strip = { canvas: document.createElement("canvas"), cell: 0, height: 0, workers: 0, palette: null };
function paintCells(context, first, height, tall) {
  const begin = run.firstCell;
  for (let worker = 0; worker < run.lanes.length; ++worker) {
    const parts = run.lanes[worker];
    const oldest = run.kept - run.cells;
    for (let at = Math.max(0, first - begin); at < run.cells; ++at) {
      let y = worker * height + tall;
      for (let kind = 0; kind < 6; ++kind) {
        const part = parts[(oldest + at) * 6 + kind] / 15 * tall;
        if (part <= 0) continue;
        context.fillStyle = palette[KINDS[kind]];
        context.fillRect(run.kept - run.cells + at, y - part, 1, part);
        y -= part;
      }
    }
  }
}
function moveStrip(height, tall) {
  const newest = run.firstCell + run.cells;
  const fresh = newest - strip.cell;
  const context = strip.canvas.getContext("2d");
  const again = strip.height !== height || strip.workers !== run.lanes.length || strip.palette !== palette ||
    fresh < 0 || fresh >= run.kept;
  if (again) {
    strip.canvas.width = run.kept;
    strip.canvas.height = Math.max(1, run.lanes.length * height);
    paintCells(context, run.firstCell, height, tall);
  } else if (fresh > 0) {
    context.globalCompositeOperation = "copy";
    context.drawImage(strip.canvas, -fresh, 0);
    context.globalCompositeOperation = "source-over";
    paintCells(context, strip.cell, height, tall);
  }
  Object.assign(strip, { cell: newest, height, workers: run.lanes.length, palette });
}
function drawLanes() {
  const height = laneHeight();
  const gap = height > 8 ? 3 : height > 4 ? 1 : 0;
  const tall = height - gap;
  const { context, width } = prepare($("c-lanes"), $("lane-box"), run.lanes.length * height + 16);
  const across = width - LANE_LABEL;
  const newest = run.firstCell + run.cells;
  const shown = run.frame.ended && run.cells ? run.cells : run.kept;
  if (run.lanes.length) {
    moveStrip(height, tall);
    context.imageSmoothingEnabled = false;
    const tallest = run.lanes.length * height;
    context.drawImage(strip.canvas, run.kept - shown, 0, shown, tallest, LANE_LABEL, 0, across, tallest);
  }
  for (let worker = 0; worker < run.lanes.length; ++worker) {
    label(context, worker, worker * height + tall / 2, height);
  }
  if (run.chosen >= 0) {
    context.strokeStyle = palette.accent;
    context.strokeRect(LANE_LABEL - 1, run.chosen * height - 1, across, height - gap + 2);
  }
  context.fillStyle = palette.quiet;
  context.textBaseline = "top";
  context.textAlign = "left";
  const bottom = run.lanes.length * height + 3;
  const cell = run.about.cell || 0.1;
  if (newest >= shown) context.fillText(newest > shown ? seconds((newest - shown) * cell) : "0", LANE_LABEL, bottom);
  context.textAlign = "right";
  context.fillText(seconds(newest * cell), width, bottom);
  $("lane-span").textContent = newest > shown ? `what each did in the last ${seconds(shown * cell)}` : "what each did";
}
function drawRuntimes() {
  const bands = new Map((run.expected ? run.expected.bands : []).map((band) => [band[0], band]));
  let longest = 0;
  run.workers.forEach((one, worker) => {
    const band = bands.get(worker);
    longest = Math.max(longest, one.high || 0, band ? Math.min(band[3], 4 * (one.high || band[3])) : 0);
  });
  const cut = cutoffSeconds();
  longest = Math.max(longest, cut || 0) * 1.05 || 1;
  const height = Math.max(3, Math.min(18, Math.floor(500 / Math.max(1, run.workers.length))));
  const { context, width } = prepare($("c-runtimes"), $("runtime-box"), run.workers.length * height + 18);
  const across = width - LANE_LABEL - 4;
  const x = (value) => LANE_LABEL + Math.min(1, value / longest) * across;
  run.workers.forEach((one, worker) => {
    const top = worker * height;
    const tall = Math.max(2, height - (height > 8 ? 4 : 1));
    const band = bands.get(worker);
    if (band) {
      context.fillStyle = palette.forecast;
      context.fillRect(x(band[1]), top, Math.max(1, x(band[3]) - x(band[1])), tall);
    }
    if (one.median !== null) {
      const thin = Math.max(1, tall * 0.5);
      context.fillStyle = one.longer ? palette.cancelled : palette.sending;
      context.fillRect(x(one.low), top + (tall - thin) / 2, Math.max(1.5, x(one.high) - x(one.low)), thin);
      context.fillStyle = one.slow > 1 ? palette.bad : palette.text;
      context.fillRect(x(one.median) - 1, top, one.slow > 1 ? 4 : 2, tall);
    }
    label(context, worker, top + tall / 2, height);
  });
  const bottom = run.workers.length * height;
  if (cut) {
    context.fillStyle = palette.cancelled;
    context.fillRect(x(cut) - 1, 0, 2, bottom);
  }
  context.fillStyle = palette.quiet;
  context.textBaseline = "top";
  context.textAlign = "left";
  context.fillText("0", LANE_LABEL, bottom + 4);
  context.textAlign = "right";
  context.fillText(seconds(longest), width - 4, bottom + 4);
}
// From one update to the next, of late: where the cutoff falls, if gradients of a round are waited for.
function cutoffSeconds() {
  return run.about.alone ? null : run.frame.update_seconds ?? null;
}

// ---- Words ------------------------------------------------------------------------------------

function row(cells, names) {
  const tr = document.createElement("tr");
  cells.forEach((cell, i) => {
    const td = document.createElement("td");
    td.textContent = cell;
    if (names && names[i]) td.className = names[i];
    tr.append(td);
  });
  return tr;
}
function addNews(rows) {
  const body = $("news").tBodies[0];
  for (const one of rows) body.prepend(one);
  while (body.rows.length > 200) body.lastChild.remove();
}
// For each row: its cells and their names. Rows that are there stay, and change their words: new
// elements for hundreds of workers, twice a second, would be tens of megabytes of garbage.
function setRows(id, rows) {
  const body = $(id).tBodies[0];
  rows.forEach(([cells, names], i) => {
    const tr = body.rows[i];
    if (!tr) {
      body.append(row(cells, names));
      return;
    }
    cells.forEach((cell, at) => {
      const td = tr.cells[at];
      const words = String(cell);
      if (td.firstChild === null) td.textContent = words;
      else if (td.firstChild.data !== words) td.firstChild.data = words;
      const name = (names && names[at]) || "";
      if (td.className !== name) td.className = name;
    });
  });
  while (body.rows.length > rows.length) body.lastChild.remove();
}
function sayWorker() {
  const one = run.workers[run.chosen];
  if (!one) return;
  $("lane-chosen").textContent = `worker ${run.chosen}${one.host ? " (" + one.host + ")" : ""}: ${WORDS[one.doing]}; ` +
    `median ${one.longer ? "over " : ""}${seconds(one.median)}; ${grouped(one.accepted)} gradients applied, ${grouped(one.dropped)} dropped, ` +
    `${grouped(one.cancelled)} cut off` + (one.slow > 1 ? `; ${one.longer ? "over " : ""}${one.slow.toFixed(1)}x its own past` : "");
}
function setList(list, lines) {
  list.replaceChildren(...lines.map((words) => {
    const item = document.createElement("li");
    item.textContent = words;
    return item;
  }));
}
function legend(id, entries) {
  $(id).replaceChildren(...entries.map(([name, words]) => {
    const span = document.createElement("span");
    const mark = document.createElement("i");
    mark.style.background = palette[name];
    span.append(mark, words);
    return span;
  }));
}
// What gradients or weights have taken; records of earlier programs do not say.
const carried = (all) => !all || !all.payloads ? "–"
  : bytes(all.bytes) + (all.ratio > 1.005 ? `, ${all.ratio.toFixed(1)} times fewer than as float32` : "");
function showWords(frame) {
  const last = run.points[run.points.length - 1];
  $("t-time").textContent = seconds(frame.now);
  $("t-version").textContent = grouped(frame.version) + (run.about.target_updates ? " / " + grouped(run.about.target_updates) : "");
  $("t-loss").textContent = frame.loss !== null ? frame.loss.toPrecision(3) : "–";
  const evaluation = run.evaluations[run.evaluations.length - 1];
  $("t-accuracy").textContent = evaluation && evaluation[3] !== null ? (100 * evaluation[3]).toFixed(1) + " %" : "–";
  $("t-live").textContent = `${frame.live} / ${run.about.workers}`;
  $("t-gain").textContent = frame.gain || "–";
  $("state").textContent = frame.ended ? "ended: " + frame.ended : "live";
  $("state").className = frame.ended ? "badge" : "badge live";
  setList($("on"), frame.on);
  $("alarm-count").textContent = frame.on.length === 1 ? "1 alarm" : `${frame.on.length} alarms`;
  $("policy").textContent = frame.policy;
  document.title = `${frame.policy} · Outpace`;
  run.told = frame.decisions.slice(-20).reverse().concat(run.told).slice(0, 20);
  if (inSight("decisions")) setRows("decisions", run.told.map((d) => [[d[0].toFixed(2), d[1], d[2], d[3]]]));
  addNews(frame.news.map((n) => row([n[0].toFixed(1), n[1]])));
  if (inSight("workers")) setRows("workers", run.workers.map((one, worker) => [[worker, WORDS[one.doing], (one.longer ? "> " : "") + seconds(one.median),
    one.slow > 1 ? (one.longer ? "> " : "") + one.slow.toFixed(1) + "x" : "", grouped(one.accepted), grouped(one.dropped), grouped(one.cancelled),
    one.joined], ["", one.doing === "gone" || one.doing === "stalled" ? "bad" : "", "", one.slow > 1 ? "bad" : ""]]));
  const use = frame.server;
  const rate = last && run.points.length > 1 ? (last[2] - run.points[0][2]) / Math.max(1e-9, last[0] - run.points[0][0]) : 0;
  setRows("server", [
    ["processor time for a gradient", use.seconds_a_gradient ? seconds(use.seconds_a_gradient) : "–"],
    ["processor time in all", use.processor_seconds ? seconds(use.processor_seconds) : "–"],
    ["a gradient, and the weights", use.gradient_bytes ? bytes(use.gradient_bytes) : "–"],
    ["gradients taken in", rate.toFixed(1) + "/s"],
    ["gradients, in bytes", carried(use.gradients)],
    ["weights handed out, in bytes", carried(use.weights)],
    ["memory", use.resident ? bytes(use.resident) : "–"],
    ["disk free", use.resident ? (100 * use.disk_free).toFixed(0) + " %" : "–"],
    ["checkpoints", frame.checkpoints + (frame.last_checkpoint !== null ? `, the last at ${frame.last_checkpoint.toFixed(1)} s` : "")],
    ["workers that came back", String(frame.restarts)],
    [frame.ended ? "expected of the last updates" : "expected of this update", run.expected ? `${run.expected.gradients} gradients by ${seconds(run.expected.seconds)}; all by ${seconds(run.expected.for_all)}, in the mean of the forecast` : "this policy makes no forecast, or has not seen enough yet"],
  ].map((cells) => [cells]));
  sayWorker();
}

// ---- Events -----------------------------------------------------------------------------------

function take(frame) {
  if (frame.begins) {
    run.about = frame.about;
    run.points = [];
    run.evaluations = [];
    run.lanes = [];
    strip.workers = -1;
    run.told = [];
    setRows("news", []);
    $("about").textContent = [run.about.network, run.about.data, run.about.run].filter(Boolean).join(" · ");
  }
  run.points = frame.points_again ? frame.points : run.points.concat(frame.points);
  run.evaluations = frame.evaluations_again ? frame.evaluations : run.evaluations.concat(frame.evaluations);
  run.workers = frame.workers;
  run.staleness = frame.staleness;
  run.expected = frame.expected;
  frame.lanes.forEach((digits, worker) => {
    // A worker that has just come has no past.
    const parts = run.lanes[worker] ??= new Uint8Array(6 * run.kept);
    const fresh = digits.slice(-parts.length);
    parts.copyWithin(0, fresh.length);
    for (let i = 0; i < fresh.length; ++i) {
      parts[parts.length - fresh.length + i] = parseInt(fresh[i], 16);
    }
  });
  run.cells = Math.min(run.kept, (frame.begins ? 0 : run.cells) + frame.cells);
  run.firstCell = frame.first_cell + frame.cells - run.cells;
}
let due = false;
function draw() {
  due = false;
  const begin = performance.now();
  fillCharts();
  if (inSight("c-lanes")) drawLanes();
  if (inSight("c-runtimes")) drawRuntimes();
  showWords(run.frame);
  run.frame.decisions = [];
  run.frame.news = [];
  const took = performance.now() - begin;
  window.cost.frames += 1;
  window.cost.milliseconds += took;
  window.cost.most = Math.max(window.cost.most, took);
}
function heard(frame) {
  if (due && !frame.begins) {  // Two came before one was drawn: no word of the first is lost.
    frame.decisions = run.frame.decisions.concat(frame.decisions).slice(-40);
    frame.news = run.frame.news.concat(frame.news).slice(-200);
  }
  take(frame);
  run.frame = frame;
  drawSoon();
}
function drawSoon() {
  if (due || run.frame.lanes === undefined) return;
  due = true;
  requestAnimationFrame(draw);
}
function connect() {
  const source = new EventSource("/events");
  source.onmessage = (event) => heard(JSON.parse(event.data));
  source.onerror = () => {
    if (run.frame.ended) {
      $("state").textContent = "ended: " + run.frame.ended;
      if (source.readyState === EventSource.CLOSED) return;
    } else {
      $("state").textContent = "no connection: the run is over, or its server gone";
      $("state").className = "badge lost";
    }
  };
}

function choose(worker) {
  run.chosen = Math.max(-1, Math.min(run.lanes.length - 1, worker));
  drawLanes();
  drawRuntimes();
  sayWorker();
}
function showLegends() {
  legend("lane-legend", KINDS.map((kind) => [kind, WORDS[kind]]));
  legend("runtime-legend", [["sending", "nine in ten of the last 20"], ["text", "median"], ["forecast", "forecast, nine in ten"],
    ["cancelled", "cutoff of late, and workers that never finish before it"], ["bad", "has become slow"]]);
}
$("c-lanes").addEventListener("keydown", (event) => {
  const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -1e6, End: 1e6 }[event.key];
  if (step === undefined) return;
  event.preventDefault();
  choose(event.key === "Home" ? 0 : run.chosen + step);
});
$("c-lanes").addEventListener("pointermove", (event) => {
  choose(Math.floor(event.offsetY / laneHeight()));
});
for (const [id, by] of [["by-time", false], ["by-examples", true]]) {
  $(id).addEventListener("click", () => {
    run.byExamples = by;
    $("by-time").setAttribute("aria-pressed", String(!by));
    $("by-examples").setAttribute("aria-pressed", String(by));
    chartsDrawn = -Infinity;
    fillCharts();
  });
}
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  makeCharts();
  chartsDrawn = -Infinity;
  showLegends();
  draw();
});
addEventListener("resize", () => { if (run.lanes.length) { drawLanes(); drawRuntimes(); } });
for (const section of document.querySelectorAll("section.card")) sight.observe(section);
addEventListener("beforeprint", () => { for (const id in charts) charts[id].resize(); });
makeCharts();
showLegends();
if (recorded) beginReport();
else connect();
