"""Checks report pages in a real Chromium.

    check.py [--screens FOLDER] PAGE...

Each PAGE is the path of an HTML file. The script prints one line per problem, and exits with 1 if
there is a problem. It uses Playwright, because Playwright drives the Chromium of the machine without a
second program, and records console messages and network requests. The accessibility rules are those of
axe-core.
"""

import argparse
import sys
from pathlib import Path

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import sync_playwright

# Widths of the windows with their colour schemes. The scheme does not change the layout.
WINDOWS = ((320, "light"), (420, "light"), (1400, "light"), (1400, "dark"), (2560, "light"))
HEIGHT = 1000
# Time limit of each wait. Only a page that never becomes complete reaches it.
LIMIT_MS = 120_000
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


class Checker:
    def __init__(self, browser, screens):
        self.browser = browser
        self.screens = screens
        self.problems = []

    def report(self, page, place, problem):
        self.problems.append(f"{page.name}, {place}: {problem}")

    def open(self, page, place, **options):
        context = self.browser.new_context(**options)
        tab = context.new_page()
        tab.set_default_timeout(LIMIT_MS)
        address = page.resolve().as_uri()

        def on_request(request):
            if request.url != address and not request.url.startswith(("data:", "blob:")):
                self.report(page, place, f"requests {request.url}")

        def on_console(message):
            if message.type in ("error", "warning"):
                self.report(page, place, f"console {message.type}: {message.text}")

        tab.on("request", on_request)
        tab.on("console", on_console)
        tab.on("pageerror", lambda error: self.report(page, place, f"error: {error}"))
        tab.goto(address)
        return context, tab

    def check_without_script(self, page):
        place = "without JavaScript"
        size = {"width": 1400, "height": HEIGHT}
        context, tab = self.open(page, place, viewport=size, java_script_enabled=False)
        figure = tab.evaluate(FIRST_FIGURE)
        if not figure:
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
            found = tab.evaluate(MEASURE)
            if found["texts"] < 20:
                self.report(page, place, f"{state}: only {found['texts']} texts are visible")
            for problem in sorted(set(found["problems"])):
                self.report(page, place, f"{state}: {problem}")
            if self.screens:
                name = f"{page.stem}-{width}-{scheme}-{state}.png"
                tab.screenshot(path=str(self.screens / name))
        if width == 1400:
            self.check_accessibility(page, place, tab)
        context.close()

    def check_accessibility(self, page, place, tab):
        for violation in Axe().run(tab).response["violations"]:
            nodes = [node["html"][:120] for node in violation["nodes"][:3]]
            count = len(violation["nodes"])
            self.report(page, place, f"axe-core {violation['id']}: {count} elements: {nodes}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--screens", type=Path)
    parser.add_argument("pages", nargs="+", type=Path)
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
        browser.close()
    for problem in checker.problems:
        print(problem)
    return 1 if checker.problems else 0


if __name__ == "__main__":
    sys.exit(main())
