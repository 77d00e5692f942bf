"""Checks report pages in a real Chromium.

    check.py [--screens FOLDER] PAGE...

Each PAGE is the path of an HTML file, or an address of `cassay serve`. The script prints one line per problem, and exits with 1 if
there is a problem. It uses Playwright, because Playwright drives the Chromium of the machine without a
second program, and records console messages and network requests. The accessibility rules are those of
axe-core.
"""

import argparse
import sys
from pathlib import Path
from urllib.parse import urlsplit

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import TimeoutError, sync_playwright

# Widths of the windows with their colour schemes. The scheme does not change the layout.
WINDOWS = ((320, "light"), (420, "light"), (1400, "light"), (1400, "dark"), (2560, "light"))
HEIGHT = 1000
# Time limit of each wait. Only a page that never becomes complete reaches it.
LIMIT_MS = 120_000
# Time limit of a drawing at the pointer.
APPEARS_MS = 20_000
MEASURE = Path(__file__).with_name("measure.js").read_text()

# The script of a page sets this class when the charts outside of closed folds are complete.
DRAWN = """() => !document.querySelector('.plot')
    || document.documentElement.classList.contains('drawn')"""
# The same for the charts of the folds that this script opens.
ALL_DRAWN = """() => Array.from(document.querySelectorAll('.plot'))
    .every((plot) => plot.drawn || plot.closest('details:not([open])'))"""
OPEN_FOLDS = "document.querySelectorAll('details').forEach((fold) => { fold.open = true; })"
# Size of the first figure, which must not need the script of the page.
FIRST_FIGURE = """(() => {
    const figure = document.querySelector('figure svg');
    if (!figure) return null;
    const { width, height } = figure.getBoundingClientRect();
    return { width, height, marks: figure.querySelectorAll('path, rect, circle, line').length };
})()"""
# Marks two visible charts over the same time, and returns true if the page has them.
FIND_PARTNERS = """() => {
    const plots = Array.from(document.querySelectorAll('.plot')).filter((plot) => plot.drawn
        && plot.time && plot.querySelector('.nsewdrag') && plot.querySelector('.legendtoggle'));
    const first = plots.find((one) => plots.some((other) => other !== one && other.time === one.time));
    if (!first) return false;
    first.id = 'first-chart';
    plots.find((one) => one !== first && one.time === first.time).id = 'second-chart';
    return true;
}"""
RANGES = """() => ['first-chart', 'second-chart']
    .map((id) => document.getElementById(id)._fullLayout.xaxis.range)"""
HIDDEN = """() => document.getElementById('first-chart')._fullData
    .filter((trace) => trace.visible === 'legendonly').length"""


class Page:
    """A page, with its address and the requests that it may send."""

    def __init__(self, text):
        self.is_served = text.startswith("http://")
        self.address = text if self.is_served else Path(text).resolve().as_uri()
        path = urlsplit(self.address).path.strip("/")
        self.name = path.replace("/", "-").removesuffix(".html") if self.is_served else Path(text).stem
        self.name = self.name or "list"
        self.origin = "http://" + urlsplit(self.address).netloc + "/"

    def may_request(self, url):
        if url.startswith(("data:", "blob:")) or url == self.address:
            return True
        return self.is_served and url.startswith(self.origin)


class Checker:
    def __init__(self, browser, screens):
        self.browser = browser
        self.screens = screens
        self.problems = []
        # Pages with charts that move together.
        self.linked_pages = 0
        # Pages that showed values at the pointer.
        self.hovered_pages = 0

    def report(self, page, place, problem):
        self.problems.append(f"{page.name}, {place}: {problem}")

    def open(self, page, place, fragment="", **options):
        context = self.browser.new_context(**options)
        tab = context.new_page()
        tab.set_default_timeout(LIMIT_MS)

        def on_request(request):
            if not page.may_request(request.url):
                self.report(page, place, f"requests {request.url}")

        def on_console(message):
            if message.type in ("error", "warning"):
                self.report(page, place, f"console {message.type}: {message.text}")

        tab.on("request", on_request)
        tab.on("console", on_console)
        tab.on("pageerror", lambda error: self.report(page, place, f"error: {error}"))
        tab.goto(f"{page.address}#{fragment}" if fragment else page.address)
        return context, tab

    def check_without_script(self, page):
        place = "without JavaScript"
        size = {"width": 1400, "height": HEIGHT}
        context, tab = self.open(page, place, viewport=size, java_script_enabled=False)
        figure = tab.evaluate(FIRST_FIGURE)
        if page.is_served:
            # A list has small figures only, and a run that begins has no seconds to draw.
            if not tab.locator("svg").count():
                self.report(page, place, "has no drawing")
        elif not figure:
            self.report(page, place, "has no figure")
        elif figure["width"] < 200 or figure["height"] < 80 or figure["marks"] < 3:
            self.report(page, place, f"the first figure is {figure}")
        context.close()

    def check_boxes(self, page, width, scheme):
        place = f"{width} px, {scheme}"
        size = {"width": width, "height": HEIGHT}
        context, tab = self.open(page, place, viewport=size, color_scheme=scheme)
        tab.wait_for_function(DRAWN)
        for state, open_folds in (("folded", False), ("unfolded", True)):
            if open_folds:
                tab.evaluate(OPEN_FOLDS)
                tab.wait_for_function(ALL_DRAWN)
            elif width != WINDOWS[0][0]:
                # The texts of a folded page are a part of those of an unfolded page.
                continue
            found = tab.evaluate(MEASURE)
            if found["texts"] < 20:
                self.report(page, place, f"{state}: only {found['texts']} texts are visible")
            for problem in sorted(set(found["problems"])):
                self.report(page, place, f"{state}: {problem}")
            if self.screens:
                name = f"{page.name}-{width}-{scheme}-{state}.png"
                tab.screenshot(path=str(self.screens / name))
        if width == 1400:
            self.check_accessibility(page, place, tab)
        context.close()

    def check_charts(self, page):
        """Points at a chart, zooms it and hides a series, as a reader does with the mouse."""
        place = "charts"
        size = {"width": 1400, "height": HEIGHT}
        context, tab = self.open(page, place, viewport=size)
        tab.wait_for_function(DRAWN)
        tab.evaluate(OPEN_FOLDS)
        tab.wait_for_function(ALL_DRAWN)
        if not tab.evaluate(FIND_PARTNERS):
            context.close()
            return
        self.linked_pages += 1
        before = tab.evaluate(RANGES)
        area = tab.locator("#first-chart .nsewdrag").first
        area.scroll_into_view_if_needed()
        box = area.bounding_box()
        middle = box["y"] + box["height"] / 2
        tab.mouse.move(box["x"] + 0.5 * box["width"], middle, steps=5)
        try:
            selector = "#second-chart .crosshair"
            tab.wait_for_selector(selector, state="attached", timeout=APPEARS_MS)
        except TimeoutError:
            self.report(page, place, "no crosshair in the other chart")
        # A panel of hosts may have no value at the pointer.
        self.hovered_pages += tab.locator("#first-chart .hoverlayer text").count() > 0
        tab.mouse.move(box["x"] + 0.3 * box["width"], middle)
        tab.mouse.down()
        tab.mouse.move(box["x"] + 0.6 * box["width"], middle, steps=5)
        tab.mouse.up()
        tab.wait_for_timeout(500)
        zoomed = tab.evaluate(RANGES)
        width = [end - start for start, end in zoomed]
        if not 0 < width[0] < 0.5 * (before[0][1] - before[0][0]) or abs(width[0] - width[1]) > 1e-6:
            self.report(page, place, f"a zoom changes the ranges from {before} to {zoomed}")
        tab.locator("#first-chart .legendtoggle").first.click()
        tab.wait_for_timeout(700)
        if tab.evaluate(HIDDEN) < 1:
            self.report(page, place, "a click on the legend hides no series")
        link = tab.url
        context.close()
        self.check_link(page, link, zoomed[0])

    def check_link(self, page, link, expected):
        """Opens the address that the browser showed after a zoom."""
        place = "link to a zoom"
        if "#" not in link:
            self.report(page, place, f"the address {link} has no zoom")
            return
        context, tab = self.open(page, place, fragment=link.split("#", 1)[1])
        tab.wait_for_function(DRAWN)
        tab.wait_for_timeout(1000)
        ranges = tab.evaluate(
            """() => Array.from(document.querySelectorAll('.plot'))
                .filter((plot) => plot.drawn).map((plot) => plot._fullLayout.xaxis.range)"""
        )
        near = [r for r in ranges if all(abs(a - b) < 0.01 for a, b in zip(r, expected))]
        if not near:
            self.report(page, place, f"no chart has the range {expected}: {ranges}")
        context.close()

    def check_accessibility(self, page, place, tab):
        for violation in Axe().run(tab).response["violations"]:
            nodes = [node["html"][:120] for node in violation["nodes"][:3]]
            count = len(violation["nodes"])
            self.report(page, place, f"axe-core {violation['id']}: {count} elements: {nodes}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--screens", type=Path)
    parser.add_argument("pages", nargs="+", type=Page)
    arguments = parser.parse_args()
    if arguments.screens:
        arguments.screens.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        # Tests run as root, for whom Chromium has no sandbox. The pages are our own.
        browser = playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--no-sandbox", "--disable-gpu"]
        )
        checker = Checker(browser, arguments.screens)
        for page in arguments.pages:
            checker.check_without_script(page)
            for width, scheme in WINDOWS:
                checker.check_boxes(page, width, scheme)
            checker.check_charts(page)
        browser.close()
        if not checker.linked_pages and not any(page.is_served for page in arguments.pages):
            checker.problems.append("no page has charts that move together")
        if checker.linked_pages and not checker.hovered_pages:
            checker.problems.append("no page shows values at the pointer")
    for problem in checker.problems:
        print(problem)
    return 1 if checker.problems else 0


if __name__ == "__main__":
    sys.exit(main())
