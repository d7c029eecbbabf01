"use strict";
// Draws the line charts of the page from its data, and keeps what it drew in window.manx for whoever tests it.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const shown = data.policies.map(() => true);
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(name).trim();
  const HEIGHT = 340, HEIGHT_PHONE = 280, PRINT_WIDTH = 680;

  const latency = (us) => {
    if (us == null) return "–";
    const [value, unit] = us < 999.95 ? [us, "us"] : us < 999950 ? [us / 1e3, "ms"] : [us / 1e6, "s"];
    return value.toFixed(value < 9.9995 ? 3 : value < 99.995 ? 2 : 1) + unit;
  };
  const tick = (us) => {
    const [value, unit] = us < 0.9995 ? [us * 1e3, "ns"] : us < 999.5 ? [us, "us"] : us < 999500 ? [us / 1e3, "ms"] : [us / 1e6, "s"];
    return Number(value.toFixed(1)) + unit;
  };
  // The axis of a distribution counts nines: 1 is 90 %, 2 is 99 %.
  const percentile = (nines) => {
    if (nines < 1) return Number((100 * (1 - 10 ** -nines)).toFixed(1)) + "";
    return (100 * (1 - 10 ** -nines)).toFixed(Math.max(0, Math.ceil(nines - 1e-9) - 2));
  };

  // Two points at one place (the last request and the step before it) would be one: the second moves a hair.
  const ascending = (xs) => {
    for (let i = 1; i < xs.length; i++) if (xs[i] <= xs[i - 1]) xs[i] = xs[i - 1] + 1e-6;
    return xs;
  };
  const cdf = (of) => {
    const { beyond, us } = of.cdf;
    // A logarithmic axis has no place for nothing.
    return [ascending(beyond.map((share) => -Math.log10(share))), us.map((us) => Math.max(us, 1e-3))];
  };
  const time = (of, measure) => {
    if (!of.time) return [[], []];
    const { start_s, slice_s } = of.time;
    const values = of.time[measure];
    return [values.map((_, slice) => start_s + (slice + 0.5) * slice_s), values.map((us) => us == null ? null : Math.max(us, 1e-3))];
  };
  const seriesOf = (kind, op, measure) =>
    data.policies.map((policy) => {
      const [x, y] = kind === "cdf" ? cdf(policy[op]) : time(policy[op], measure);
      return { policy: policy.name, x, y };
    });
  // Lines lie on one list of x: where another line has a point and this one none, it has a gap that is drawn over.
  const aligned = (series) => {
    const tables = series.map(({ x, y }) => [x, y]);
    return tables.length === 1 ? tables[0] : uPlot.join(tables, tables.map((table) => table.map(() => 1)));
  };
  // Where a line's points have a gap on either side: no line leads there, so they are dots.
  const alone = (u, line) => {
    const ys = u.data[line];
    const near = (at, step) => { do at += step; while (at >= 0 && at < ys.length && ys[at] === undefined); return ys[at]; };
    return ys.flatMap((y, at) => (y != null && near(at, -1) == null && near(at, 1) == null ? [at] : []));
  };
  // The height of a line at x, as it is drawn: straight between its points on the logarithmic axis.
  const valueAt = ({ x, y }, at) => {
    if (!x.length || at < x[0] - 1e-9 || at > x[x.length - 1] + 1e-9) return null;
    let right = x.findIndex((own) => own >= at - 1e-9);
    if (right < 0) right = x.length - 1;
    if (right === 0 || Math.abs(x[right] - at) < 1e-9) return y[right];
    const [before, after] = [y[right - 1], y[right]];
    if (before == null || after == null) return null;
    const part = (at - x[right - 1]) / (x[right] - x[right - 1]);
    return 10 ** (Math.log10(before) * (1 - part) + Math.log10(after) * part);
  };


  // What is faster than the median, hits of a buffer say, does not stretch a distribution's axis: its line goes out below.
  const bounds = (series, kind) => {
    const from = kind === "cdf" ? Math.log10(2) - 1e-6 : -Infinity;
    const all = series.flatMap(({ x, y }) => y.filter((us, at) => us != null && x[at] >= from));
    if (!all.length) return [1, 10];
    const steps = [1, 2, 5, 10];
    const low = all.reduce((a, b) => Math.min(a, b)), high = all.reduce((a, b) => Math.max(a, b));
    const [down, up] = [10 ** Math.floor(Math.log10(low)), 10 ** Math.floor(Math.log10(high))];
    const bottom = down * steps.filter((step) => down * step <= low * 1.0001).pop();
    const top = up * steps.find((step) => up * step >= high * 0.9999);
    return bottom < top ? [bottom, top] : [bottom / 2, top * 2];
  };
  const latencySplits = (u) => {
    const { min, max } = u.scales.y;
    const dense = Math.log10(max / min) < 2.2 ? [1, 2, 5] : [1];
    const splits = [];
    for (let power = Math.floor(Math.log10(min)); power <= Math.ceil(Math.log10(max)); power++)
      for (const step of dense) if (step * 10 ** power >= min * 0.9999 && step * 10 ** power <= max * 1.0001) splits.push(step * 10 ** power);
    return splits;
  };
  const nineSplits = (u) => {
    const { min, max } = u.scales.x;
    const splits = [0, Math.log10(2), 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12].filter((x) => x >= min - 1e-6 && x <= max + 1e-6);
    return u.width < 500 ? splits.filter((x) => x === 0 || x >= 1) : splits;
  };

  const font = '12px system-ui, -apple-system, "Segoe UI", Roboto, Arial, sans-serif';
  const axis = (more) => ({
    font, labelFont: font, stroke: () => colour("--dim"), labelGap: 2, labelSize: 20,
    grid: { stroke: () => colour("--grid"), width: 1 }, ticks: { stroke: () => colour("--grid"), width: 1, size: 4 }, ...more,
  });

  const charts = [];
  const make = (element) => {
    const { chart: kind, op } = element.dataset;
    const readout = element.parentElement.querySelector(".readout");
    const chart = { kind, op, element, series: [], plot: null };
    const say = (u) => {
      const { left, idx } = u.cursor;
      if (left == null || left < 0 || idx == null) return void (readout.textContent = "");
      const at = kind === "cdf" ? u.posToVal(left, "x") : u.data[0][idx];
      readout.replaceChildren();
      const add = (text, tag) => readout.append(tag ? Object.assign(document.createElement(tag), { textContent: text }) : text);
      add(kind === "cdf" ? "p" + percentile(Math.round(at * 16) / 16) : at.toPrecision(4) + "\u00a0s");
      chart.series.forEach((line, i) => {
        const us = shown[i] ? valueAt(line, kind === "cdf" ? Math.round(at * 16) / 16 : at) : null;
        if (us == null) return;
        add("  ·  " + line.policy + "\u00a0");
        add(latency(us), "b");
      });
    };
    const size = () => ({ width: Math.max(200, Math.floor(element.clientWidth)), height: element.clientWidth < 500 ? HEIGHT_PHONE : HEIGHT });
    chart.load = () => {
      const measure = document.querySelector('input[name="measure"]:checked')?.value ?? "p99";
      chart.series = seriesOf(kind, op, measure);
      chart.bounds = bounds(chart.series, kind);
    };
    chart.load();
    chart.plot = new uPlot({
      ...size(),
      legend: { show: false },
      cursor: { drag: { x: true, y: false }, points: { show: false }, y: false },
      scales: { x: { time: false }, y: { distr: 3, log: 10, range: () => chart.bounds } },
      axes: [
        kind === "cdf"
          ? axis({ size: 32, label: "percentile (%)", splits: nineSplits, values: (_, splits) => splits.map(percentile) })
          : axis({ size: 32, label: "time (s)", values: (_, splits) => splits.map((s) => Number(s.toPrecision(6)) + "") }),
        axis({ size: 62, splits: latencySplits, values: (_, splits) => splits.map(tick), filter: (_, splits) => splits }),
      ],
      series: [
        {},
        ...data.policies.map((policy) => ({
          label: policy.name, scale: "y", width: 2,
          // uPlot takes dashes in dots of the canvas.
          dash: policy.dash.map((length) => length * devicePixelRatio), spanGaps: kind === "cdf",
          points: { show: false, size: 4, filter: alone, fill: () => colour("--p" + policy.colour) },
          stroke: () => colour("--p" + policy.colour),
        })),
      ],
      hooks: { setCursor: [say] },
    }, aligned(chart.series), element);
    chart.resize = (width) => chart.plot.setSize(width ? { width, height: 260 } : size());
    new ResizeObserver(() => printing || chart.resize()).observe(element);
    charts.push(chart);
  };

  let printing = false;
  const print = (on) => {
    if (printing === on) return;
    printing = on;
    charts.forEach((chart) => { chart.resize(on ? PRINT_WIDTH : 0); chart.plot.redraw(false); });
  };
  const toggle = (policy, on) => {
    shown[policy] = on;
    document.querySelector(`[data-policy="${policy}"]`).setAttribute("aria-pressed", on);
    charts.forEach((chart) => chart.plot.setSeries(policy + 1, { show: on }));
  };

  document.querySelectorAll(".chart").forEach(make);
  document.querySelectorAll("[data-policy]").forEach((button) =>
    button.addEventListener("click", () => toggle(+button.dataset.policy, button.getAttribute("aria-pressed") !== "true")));
  document.querySelectorAll('input[name="measure"]').forEach((input) =>
    input.addEventListener("change", () =>
      charts.filter(({ kind }) => kind === "time").forEach((chart) => { chart.load(); chart.plot.setData(aligned(chart.series)); })));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => charts.forEach(({ plot }) => plot.redraw(false)));
  matchMedia("print").addEventListener("change", (event) => print(event.matches));
  addEventListener("beforeprint", () => print(true));
  addEventListener("afterprint", () => print(false));

  window.manx = {
    charts,
    shown,
    // What is drawn: for each chart its kind, operation, and each policy's points.
    get series() { return charts.map(({ kind, op, series }) => ({ kind, op, series })); },
    // The latency (us) that a drawn distribution shows for a percentile: read("read", "base", 99.9).
    read: (op, policy, percent) => {
      const chart = charts.find((chart) => chart.kind === "cdf" && chart.op === op);
      const line = chart?.series.find((line) => line.policy === policy);
      return line ? valueAt(line, -Math.log10(1 - percent / 100)) : null;
    },
  };
})();
