"""Opens a report in Chromium, offline, and asks the page what it drew.

Called by crates/cli/tests/all/report_browser.rs: browser.py REPORT RESULT SCREENSHOTS CHROMIUM
"""

import json
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

report, result, shots, chromium = sys.argv[1:5]
runs = json.loads(Path(result).read_text())["runs"]
url, shots = Path(report).resolve().as_uri(), Path(shots)

# The colours of a curve's pixels in the column of a percentile: the rows where that line is, and no other is shown.
COLUMN = """([op, policy, nines]) => {
  const chart = manx.charts.find((c) => c.kind === "cdf" && c.op === op), u = chart.plot;
  manx.charts[0].element.scrollIntoView();
  const x = Math.round(u.valToPos(nines, "x", true)), canvas = u.ctx.canvas;
  const want = getComputedStyle(document.documentElement).getPropertyValue("--p" + policy).trim();
  const probe = document.createElement("canvas").getContext("2d");
  probe.fillStyle = want; probe.fillRect(0, 0, 1, 1);
  const [r, g, b] = probe.getImageData(0, 0, 1, 1).data;
  const column = u.ctx.getImageData(x, 0, 1, canvas.height).data, rows = [];
  for (let y = 0; y < canvas.height; y++) {
    const [pr, pg, pb] = column.slice(4 * y, 4 * y + 3);
    if (Math.abs(pr - r) + Math.abs(pg - g) + Math.abs(pb - b) < 60) rows.push(y);
  }
  const row = rows[Math.floor(rows.length / 2)];
  const wide = rows.length ? rows[rows.length - 1] - rows[0] : 0;
  return rows.length ? { us: u.posToVal(row / devicePixelRatio - u.bbox.top / devicePixelRatio, "y"), wide } : null;
}"""


def open_page(browser, **options):
    context = browser.new_context(offline=True, **options)
    page = context.new_page()
    page.complaints = []
    # The one warning that this test itself causes: it reads pixels.
    page.on("console", lambda m: page.complaints.append(m.text)
            if m.type in ("error", "warning") and "willReadFrequently" not in m.text else None)
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    page.on("request", lambda request: None if request.url.split(":")[0] in ("file", "data") else
            page.complaints.append("asks the network for " + request.url))
    page.goto(url)
    page.wait_for_function("window.manx && manx.charts.every((c) => c.plot.status === 1)")
    page.wait_for_timeout(150)
    return page


def near(one, two, share, what):
    assert one is not None and abs(one / two - 1) <= share, f"{what}: the page shows {one}, the result says {two}"


def curves(browser):
    page = open_page(browser, viewport={"width": 1100, "height": 900}, device_scale_factor=4)
    checked = 0
    for number, run in enumerate(runs):
        for op in ("read", "write"):
            for key, percent in (("p90", 90), ("p99", 99), ("p99_9", 99.9)):
                expected = run[op][key + "_us"]
                if expected is None:
                    continue
                near(page.evaluate("(a) => manx.read(...a)", [op, run["policy"], percent]), expected, 0.01,
                     f"{run['policy']} {op} {key}")
                checked += key == "p99_9"
        page.evaluate("(n) => document.querySelectorAll('[data-policy]').forEach((b) => "
                      "(b.getAttribute('aria-pressed') === 'true') !== (+b.dataset.policy === n) && b.click())", number)
        page.wait_for_timeout(100)
        expected = run["read"]["p99_9_us"]
        if expected:
            # A dash may end here: then its neighbours tell.
            drawn = [page.evaluate(COLUMN, ["read", number % 8, 3 + step / 400]) for step in (0, 2, -2, 4, -4)]
            drawn = [spot for spot in drawn if spot and spot["wide"] < 60]
            assert drawn, f"{run['policy']}: no pixel of its line at p99.9"
            nearest = min(drawn, key=lambda spot: abs(spot["us"] / expected - 1))
            near(nearest["us"], expected, 0.02, f"pixels of {run['policy']} at p99.9")
    assert checked >= len(runs), "no p99.9 to check"
    assert not page.complaints, page.complaints
    page.context.close()
    return checked


def toggles(browser):
    page = open_page(browser, viewport={"width": 1100, "height": 900})
    shows = "(n) => manx.charts.map((c) => c.plot.series[n + 1].show)"
    button = page.locator("[data-policy='1']")
    assert all(page.evaluate(shows, 1))
    button.click()
    assert not any(page.evaluate(shows, 1)) and button.get_attribute("aria-pressed") == "false"
    button.focus()
    page.keyboard.press("Enter")
    assert all(page.evaluate(shows, 1)) and button.get_attribute("aria-pressed") == "true"
    page.keyboard.press("Space")
    assert not any(page.evaluate(shows, 1)) and all(page.evaluate(shows, 0))
    page.keyboard.press("Space")
    # The measure over time, by keyboard: from p99 to the maximum.
    page.locator("input[value='p99']").focus()
    page.keyboard.press("ArrowRight")
    for run in runs:
        drawn = page.evaluate("(p) => manx.series.find((c) => c.kind === 'time').series.find((s) => s.policy === p).y", run["policy"])
        assert drawn == run["over_time"]["read"]["max_us"], run["policy"]
    assert not page.complaints, page.complaints
    page.locator(".chart").first.hover(position={"x": 500, "y": 100})
    page.wait_for_timeout(100)
    assert runs[0]["policy"] in page.locator(".readout").first.inner_text()
    page.context.close()


# What is drawn of the only point of a line over time that has a gap on either side.
LONE = """() => {
  const chart = manx.charts.find((c) => c.kind === "time"), u = chart.plot, [low] = chart.bounds;
  const of = (line) => (line === 1 ? [low * 1.01, null, low * 1.4, null, low * 1.01] : [null, null, null, null, null]);
  u.setData([[0, 1, 2, 3, 4], ...u.series.slice(1).map((_, line) => of(line + 1))]);
  return new Promise((done) => requestAnimationFrame(() => {
    const [x, y] = [u.valToPos(2, "x", true), u.valToPos(low * 1.4, "y", true)].map(Math.round);
    const [r, g, b, alpha] = u.ctx.getImageData(x, y, 1, 1).data;
    done(alpha > 200 && Math.max(r, g, b) - Math.min(r, g, b) > 60);
  }));
}"""


def gaps(browser):
    page = open_page(browser, viewport={"width": 1100, "height": 900})
    assert page.evaluate(LONE), "a slice of time alone between gaps is not drawn"
    page.context.close()


# The tables that hide a part of themselves.
CUT = """() => [...document.querySelectorAll(".scroll")].filter((box) => box.scrollWidth > box.clientWidth)
  .map((box) => box.getAttribute("aria-label") + ": " + box.scrollWidth + " in " + box.clientWidth)"""


def tables(browser):
    for width in (1024, 1440, 1920):
        page = open_page(browser, viewport={"width": width, "height": 900})
        cut = page.evaluate(CUT)
        assert not cut, f"at {width} pixels the last columns of tables are cut: {cut}"
        page.context.close()


def looks(browser):
    background = "getComputedStyle(document.body).backgroundColor"
    seen = {}
    for name, options in {
        "light": {"viewport": {"width": 1100, "height": 900}, "color_scheme": "light"},
        "dark": {"viewport": {"width": 1100, "height": 900}, "color_scheme": "dark"},
        "phone": {"viewport": {"width": 375, "height": 812}, "device_scale_factor": 2, "is_mobile": True, "has_touch": True},
        "phone-dark": {"viewport": {"width": 375, "height": 812}, "device_scale_factor": 2, "color_scheme": "dark"},
    }.items():
        page = open_page(browser, **options)
        seen[name] = page.evaluate(background)
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= options["viewport"]["width"], f"{name}: {wide} pixels wide"
        page.screenshot(path=shots / f"{name}.png", full_page=True)
        if name == "light":
            page.emulate_media(color_scheme="dark")
            assert page.evaluate(background) != seen["light"], "dark mode does not change an open page"
            page.emulate_media(color_scheme="dark", media="print")
            page.wait_for_timeout(200)
            assert page.evaluate(background) == seen["light"], "printed on a dark background"
            assert page.evaluate("manx.charts.every((c) => c.plot.width === 680)"), "charts are not set for paper"
            page.pdf(path=shots / "print.pdf", prefer_css_page_size=True)
            page.emulate_media(color_scheme="light", media="screen")
            page.wait_for_timeout(200)
            assert page.evaluate("manx.charts.every((c) => c.plot.width > 700)"), "charts stay as printed"
        assert not page.complaints, page.complaints
        page.context.close()
    assert seen["light"] != seen["dark"], seen


with sync_playwright() as playwright:
    # A container's root has no user namespaces for the sandbox; the page is our own file, and the network is off.
    browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
    checked = curves(browser)
    toggles(browser)
    gaps(browser)
    tables(browser)
    looks(browser)
    print(f"Chromium {browser.version}: {checked} curves read back, toggles, gaps, light, dark, phone, print")
    browser.close()
