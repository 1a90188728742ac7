# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Decides how tests look at a page: in a browser without a window, which runs a script at the end of the page and hands back what that found.
import html
import json
import re
import shutil
import subprocess

ERRORS = """<script>window.errors = [];
window.onerror = (m, file, line) => { window.errors.push(line + ': ' + m); };
window.console.error = m => { window.errors.push(String(m)); };</script>"""
# Runs when the page has been read and drawn for the first time; LOOK returns an object.
LOOKED = """<script>{
  let says = {};
  try { says = (() => { %s })(); } catch (e) { window.errors.push(e.stack); }
  says.errors = window.errors;
  const out = document.createElement('pre');
  out.id = 'looked';
  out.textContent = JSON.stringify(says);
  document.body.append(out);
}</script>"""


def find():
    """The browser; None if there is none (tools/setup.sh browser)."""
    return shutil.which("chromium")


def look(browser, page, script, folder, width=1366, dark=False):
    """What `script` returns when it runs in `page`, the text of a page; nothing may have gone wrong there."""
    assert "<html" in page
    page = re.sub(r"(<html[^>]*>(?:\s*<head>)?)", lambda m: m.group(1) + ERRORS, page, count=1)
    ends = [page.rfind(end) for end in ("</body>", "</html>") if end in page]
    file = folder / "look.html"
    file.write_text(page[:ends[0]] + LOOKED % script + page[ends[0]:])
    flags = ["--headless=new", "--no-sandbox", "--disable-gpu", f"--window-size={width},900", f"--user-data-dir={folder}/profile"]
    flags += ["--force-dark-mode"] if dark else []
    dom = subprocess.run([browser, *flags, "--dump-dom", file.as_uri()], capture_output=True, text=True, timeout=120).stdout
    found = re.search(r'<pre id="looked">(.*?)</pre>', dom, re.S)
    assert found, f"at {width}: the page did not run"
    says = json.loads(html.unescape(found.group(1)))
    assert says["errors"] == [], says["errors"]
    return says


def near(drawn, wanted, most, what):
    assert abs(drawn - wanted) <= most, f"{what}: drawn {drawn:.2f}, wanted {wanted:.2f}"


def proportional(drawn, wanted, most, what):
    """Drawn places are one scale of the wanted values: what two of them say, the others obey, to within so many pixels."""
    assert len(drawn) == len(wanted) > 2, f"{what}: {len(drawn)} drawn, {len(wanted)} wanted"
    low, high = min(range(len(wanted)), key=wanted.__getitem__), max(range(len(wanted)), key=wanted.__getitem__)
    assert wanted[high] > wanted[low] and abs(drawn[high] - drawn[low]) > 20 * most, f"{what}: too little is drawn to be measured"
    scale = (drawn[high] - drawn[low]) / (wanted[high] - wanted[low])
    for d, w in zip(drawn, wanted):
        near(d, drawn[low] + (w - wanted[low]) * scale, most, what)
