"use strict";
const at = (id) => document.getElementById(id);
const made = (tag, text, name) => {
  const element = document.createElement(tag);
  if (text !== undefined) element.textContent = text;
  if (name) element.className = name;
  return element;
};
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const whole = new Intl.NumberFormat("en");
const shown = (value, digits = 1) => (value === null || value === undefined ? "–" : value.toFixed(digits));
const bytes = (value) => {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (value >= 1024 && unit < 4) { value /= 1024; unit += 1; }
  return `${value.toFixed(unit ? 1 : 0)} ${units[unit]}`;
};

for (const name of ["idle", "read", "program", "copy", "erase", "suspended"]) {
  const item = made("span");
  item.append(made("i", "", name), name === "copy" ? "GC copy" : name);
  at("legend").append(item);
}
at("legend").append(made("span", "dashed frame: the drive may collect now (its window)"));

const SECONDS = 120;
const history = { read: [[], [], [], []], write: [[], [], [], []] };
const plots = {};
function draw(kind, place, title) {
  const axis = { stroke: () => colour("--text"), grid: { stroke: () => colour("--line"), width: 1 }, ticks: { show: false } };
  const line = (label, name) => ({ label, stroke: () => colour(name), width: 1.5, points: { show: false },
    value: (_, value) => shown(value) });
  const options = {
    title, width: Math.max(280, at(place).clientWidth), height: 180, cursor: { y: false },
    scales: { x: { time: false }, y: { distr: 3, log: 10 } },
    axes: [{ ...axis, values: (_, all) => all.map((value) => `${value} s`) },
      { ...axis, size: 64, values: (_, all) => all.map((value) => (value === null ? "" : value < 1000 ? `${value} us` : `${value / 1000} ms`)) }],
    series: [{ label: "model", value: (_, value) => `${shown(value)} s` },
      line("p50", "--p50"), line("p99", "--p99"), line("p99.9", "--p999")],
  };
  plots[kind] = new uPlot(options, history[kind], at(place));
}
draw("read", "reads", "Reads");
draw("write", "writes", "Writes");
const resize = () => {
  for (const [kind, place] of [["read", "reads"], ["write", "writes"]]) {
    plots[kind].setSize({ width: Math.max(280, at(place).clientWidth), height: 180 });
  }
};
addEventListener("resize", resize);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => Object.values(plots).forEach((plot) => plot.redraw()));

let lastSecond = -1;
function note(state) {
  const second = Math.floor(state.wall_s);
  if (second === lastSecond) return;
  lastSecond = second;
  for (const kind of ["read", "write"]) {
    const { p50, p99, p99_9 } = state.second[kind];
    [Number(state.model_s.toFixed(3)), p50, p99, p99_9].forEach((value, place) => {
      const list = history[kind][place];
      list.push(value === null || value <= 0 ? (place ? null : 0) : value);
      if (list.length > SECONDS) list.shift();
    });
    plots[kind].setData(history[kind]);
  }
}

function numbers(state) {
  const per = (kind) => whole.format(Math.round(state.second[kind].count));
  const list = [
    ["model time", `${shown(state.model_s, 2)} s`], ["speed", String(state.speed)],
    ["reads / s", per("read")], ["writes / s", per("write")],
    ["under way", whole.format(state.under_way)], ["requests", whole.format(state.requests)],
    ["errors", whole.format(state.errors)], ["clients", whole.format(state.connections)],
    ["lateness p99", `${shown(state.second.lateness_us.p99)} us`], ["bytes kept", bytes(state.content_bytes)],
  ];
  if (state.array) {
    list.push(["fast-fails", whole.format(state.array.fast_fails)], ["computed", whole.format(state.array.reconstructs)]);
  }
  at("numbers").replaceChildren(...list.map(([name, value]) => {
    const item = made("div");
    item.append(made("dt", name), made("dd", value));
    return item;
  }));
}

function drives(state) {
  at("drives").replaceChildren(...state.drives.map((drive, number) => {
    const box = made("div", undefined, drive.may_collect ? "drive busy" : "drive");
    const busy = drive.dies.filter(([, act]) => act !== "Idle").length;
    box.append(made("h3", `drive ${number}: ${busy} of ${drive.dies.length} dies busy`));
    for (let channel = 0; channel < drive.channels; channel += 1) {
      const row = made("div", undefined, "channel");
      drive.dies.forEach(([its, act], die) => {
        if (its !== channel) return;
        const cell = made("b", undefined, act.toLowerCase());
        cell.title = `channel ${channel}, die ${die}: ${act.toLowerCase()}`;
        row.append(cell);
      });
      box.append(row);
    }
    box.append(made("p", `WAF ${shown(drive.waf, 2)}, free ${shown(100 * drive.free)} %, queue ${drive.outstanding}, `
      + `buffer ${drive.buffered} pages, ${whole.format(drive.collections)} GC runs (${whole.format(drive.forced)} forced), `
      + `${whole.format(drive.fast_fails)} fast-fails`));
    return box;
  }));
  at("h-dies").parentElement.hidden = state.drives.length === 0;
}

function table(state) {
  const head = made("tr");
  ["", "count", "p50", "p99", "p99.9", "max"].forEach((name) => head.append(made("th", name)));
  const rows = [["reads, last second", state.second.read], ["reads, run", state.run.read],
    ["writes, last second", state.second.write], ["writes, run", state.run.write],
    ["lateness (wall), run", state.run.lateness_us]].map(([name, { count, p50, p99, p99_9, max }]) => {
    const row = made("tr");
    row.append(made("th", name), made("td", whole.format(count)));
    [p50, p99, p99_9, max].forEach((value) => row.append(made("td", shown(value))));
    return row;
  });
  at("table").replaceChildren(at("table").caption, head, ...rows);
}

let paused = false;
function knobs(state) {
  paused = state.paused;
  at("pause").textContent = paused ? "Resume GC" : "Pause GC";
  at("pause").setAttribute("aria-pressed", String(paused));
  for (const [key, value] of Object.entries(state.settings || {})) {
    let input = document.getElementById(`knob ${key}`);
    if (!input) {
      const label = made("label");
      input = made("input");
      input.id = `knob ${key}`;
      input.addEventListener("change", () => order({ order: "set", sets: [`${key}=${input.value}`] }));
      label.append(made("code", key), input);
      at("knobs").append(label);
    }
    if (document.activeElement !== input) input.value = value;
  }
  at("pause").hidden = state.drives.length === 0;
}
at("knobs").addEventListener("submit", (event) => event.preventDefault());
at("pause").addEventListener("click", () => order({ order: paused ? "resume" : "pause" }));

async function order(body) {
  const answer = at("answer");
  try {
    const response = await fetch("/order", { method: "POST", headers: { "X-Manx-Order": "1" }, body: JSON.stringify(body) });
    const said = await response.json();
    answer.className = said.error ? "wrong" : "";
    answer.textContent = said.error || (body.sets ? `set: ${body.sets.join(", ")}` : `done: ${body.order}`);
    if (said.ok) show(said.ok);
  } catch (error) {
    answer.className = "wrong";
    answer.textContent = String(error);
  }
}

function show(state) {
  numbers(state);
  drives(state);
  note(state);
  table(state);
  knobs(state);
}

function status(text, isLost) {
  at("status").textContent = text;
  at("status").className = isLost ? "lost" : "";
}
const source = new EventSource("/states");
source.onopen = () => status("live");
source.onmessage = (event) => { status("live"); show(JSON.parse(event.data)); };
source.onerror = () => status("no connection: the server has ended, or is busy", true);
