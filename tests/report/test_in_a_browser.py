"""The page as its readers have it: opened from disk in Chromium, with pointer, keyboard, telephone and printer."""

import json
import os
from contextlib import contextmanager
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe

from autoindex_haystack.report import write_report

DESK, TELEPHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def file(run, tmp_path_factory):
    return write_report(run, tmp_path_factory.mktemp("page") / "report.html")


@pytest.fixture
def opened(browser, file):
    """Open the page; nothing may be complained about, and nothing but the page itself be asked for."""

    @contextmanager
    def open_page(**how):
        context = browser.new_context(**{"viewport": DESK, **how})
        page = context.new_page()
        page.set_default_timeout(10_000)
        complaints, requests = [], []
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: complaints.append(dialog.message))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(file.as_uri())
        yield page
        assert complaints == []
        assert set(requests) == {file.as_uri()}
        context.close()

    return open_page


@pytest.mark.parametrize(
    ("name", "how"),
    [
        ("light", {"color_scheme": "light"}),
        ("dark", {"color_scheme": "dark"}),
        ("telephone", {"viewport": TELEPHONE, "color_scheme": "light"}),
        ("dark-telephone", {"viewport": TELEPHONE, "color_scheme": "dark", "has_touch": True}),
    ],
)
def test_it_is_accessible_and_fits_the_screen(opened, name, how):
    with opened(**how) as page:
        for details in page.locator("details").all()[:3]:
            details.locator("summary").first.click()
        violations = Axe().run(page).response["violations"]
        told = [(v["impact"], v["id"], [node["html"][:120] for node in v["nodes"][:3]]) for v in violations]
        assert [violation for violation in told if violation[0] in ("serious", "critical")] == []
        width = how.get("viewport", DESK)["width"]
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        if folder := os.environ.get("AUTOINDEX_SCREENSHOTS"):
            page.screenshot(path=Path(folder) / f"report-{name}.png", full_page=True)


def test_foreign_text_is_shown_and_never_run(opened):
    with opened() as page:
        assert page.evaluate("window.hacked") is None
        assert page.locator("img").count() == 0
        assert page.locator("script").count() == 2
        page.get_by_label("whole source").check()
        for place in ("#validation .query", "#held-out .documents i", "#programs tbody td", "#source"):
            assert "<script>window.hacked" in page.locator(place, has_text="window.hacked").first.text_content()
        page.locator("#program-table .link").nth(3).click()
        assert "because of </script><script>" in page.locator("#about").text_content()
        assert page.evaluate("window.hacked") is None


def test_only_our_own_script_may_run(browser, file):
    page = browser.new_page()
    complaints = []
    page.on("console", lambda message: complaints.append(message.text))
    page.goto(file.as_uri())
    page.evaluate("""() => {
        const script = document.createElement("script");
        script.textContent = "window.hacked = 1";
        document.body.append(script);
    }""")
    assert page.evaluate("window.hacked") is None
    assert "Content Security Policy" in complaints[0]
    page.close()


def test_every_program_can_be_read_with_its_changes(opened, run):
    records = [json.loads(line) for line in (run / "journal.jsonl").read_text().splitlines()]
    candidates = [record for record in records if record["record"] == "candidate"]
    with opened() as page:
        buttons = page.locator("#program-table .link")
        assert buttons.count() == 1 + len(candidates)
        for number, record in enumerate(candidates, start=1):
            buttons.nth(number).click()
            assert f"{record['iteration']}.{record['number']}" in page.locator("#panel-title").text_content()
            source = (run / "programs" / f"{record['program']}.py").read_text().splitlines()
            parent = (run / "programs" / f"{record['parents'][0]}.py").read_text().splitlines()
            page.get_by_label("whole source").check()
            assert page.locator("#source").text_content().splitlines() == source
            page.get_by_label("changes against its parent").check()
            added, removed = (page.locator(f"#source .{kind}").all_text_contents() for kind in ("added", "removed"))
            assert all(line[2:] in source for line in added)
            assert all(line[2:] in parent for line in removed)
            assert len(source) - len(parent) == len(added) - len(removed)
        page.locator("#choose").select_option("0")
        assert "has no parent" in page.locator("#against").text_content()
        assert page.locator("#previous").is_disabled()
        page.locator("#next").click()
        assert page.locator("#choose").input_value() == "1"


@pytest.mark.parametrize(
    "chart", ["#progress .chart", "#progress .tree", "#size .chart >> nth=0", "#size .chart >> nth=1"]
)
def test_charts_are_read_with_the_keyboard(opened, chart):
    with opened() as page:
        points = page.locator(chart).locator(".point")
        assert page.locator(chart).locator('[tabindex="0"]').count() == 1
        page.locator(chart).locator('[tabindex="0"]').focus()
        page.keyboard.press("End")
        focused = page.locator("*:focus")
        label = focused.get_attribute("aria-label")
        assert page.locator("#tip").text_content() == label
        assert page.locator("#tip").is_visible()
        page.keyboard.press("ArrowLeft")
        assert page.locator("*:focus").get_attribute("aria-label") != label
        page.keyboard.press("Home")
        page.keyboard.press("ArrowRight")
        number = page.locator("*:focus").get_attribute("data-program")
        page.keyboard.press("Enter")
        assert page.locator("#choose").input_value() == number
        assert page.locator("*:focus").get_attribute("id") == "panel-title"
        assert points.count() > 2


def test_adopted_programs_are_filled_and_others_open(opened):
    with opened() as page:
        fill = "element => getComputedStyle(element).fill"
        page_colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
        adopted = page.locator("#progress .chart .adopted")
        assert adopted.count() == 2
        assert all(point.evaluate(fill) != page_colour for point in adopted.all())
        others = page.locator("#progress .chart .point:not(.adopted)")
        assert others.count() > 0
        assert all(point.evaluate(fill) == page_colour for point in others.all())


def test_queries_are_searched_filtered_and_sorted(opened, run):
    compared = json.loads((run / "comparison.json").read_text())["held_out"]
    with opened() as page:
        section = page.locator("#held-out")
        rows = section.locator("tbody tr:visible")
        assert rows.count() == len(compared)
        wanted = compared[3]
        section.locator(".search").fill(f"{wanted['text'].split()[2].upper()} {wanted['query_id']}")
        shown = [row.locator("th").get_attribute("data-value") for row in rows.all()]
        assert wanted["query_id"] in shown
        assert len(shown) < len(compared)
        section.locator(".search").fill("")
        better = [q for q in compared if q["after"]["recall@100"] > q["before"]["recall@100"]]
        section.locator(".show").select_option("better")
        assert rows.count() == len(better)
        assert section.locator(".count").text_content() == f"{len(better)} of {len(compared)} shown"
        section.locator(".show").select_option("")
        head = section.get_by_role("button", name="Recall@100 after")
        for direction in ("descending", "ascending"):
            head.click()
            assert section.locator(f'th[aria-sort="{direction}"]').count() == 1
            values = [float(text) for text in section.locator('td[data-label="Recall@100 after"]').all_text_contents()]
            assert values == sorted(values, reverse=direction == "descending")


def test_the_heatmap_tells_a_cell_at_a_time(opened):
    with opened() as page:
        page.locator("#heat").focus()
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowRight")
        assert "program 1.2: not evaluated" in page.locator("#heat-cell").text_content()
        page.locator("#heat-svg").hover(position={"x": 3, "y": 3})
        assert "program 1.1: better" in page.locator("#heat-cell").text_content()
        page.keyboard.press("Enter")
        assert page.locator("#choose").input_value() == "1"


def test_the_theme_is_the_systems_until_it_is_chosen(opened):
    colour = "getComputedStyle(document.body).backgroundColor"
    with opened(color_scheme="dark") as page:
        dark = page.evaluate(colour)
        page.locator("#theme").click()
        light = page.evaluate(colour)
        assert page.locator("#theme").text_content() == "Theme: light"
        assert light == "rgb(255, 255, 255)" != dark
        page.reload()
        assert page.evaluate(colour) == light
        page.locator("#theme").click()
        assert page.evaluate(colour) == dark
        # Paper is white, whatever the screen is.
        page.emulate_media(media="print")
        assert page.evaluate(colour) == light
        assert not page.locator("nav").is_visible()


def test_without_scripts_everything_but_the_other_sources_is_there(opened, run):
    program = json.loads((run / "result.json").read_text())["program_sha256"]
    with opened(java_script_enabled=False) as page:
        assert page.locator("#source").text_content() == (run / "programs" / f"{program}.py").read_text()
        assert page.locator("noscript p").is_visible()
        assert not page.locator(".controls").first.is_visible()
        assert page.locator("#held-out tbody tr").first.is_visible()
