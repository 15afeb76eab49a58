"""Takes the READMEs' pictures of the pages: `make pictures`."""

import pathlib
import shutil
import socket
import subprocess
import sys
import time
import urllib.request

from playwright.sync_api import Browser, sync_playwright

HERE = pathlib.Path(__file__).parent
PAGES = {"overview": "", "similarity": "similarity", "scaling": "scaling"}
LANGUAGES = {"ja": "ja-JP", "en": "en-US"}
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]


def main() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.headless=true", f"--server.port={port}"]
    server = subprocess.Popen([*command, "--server.fileWatcherType=none"], cwd=HERE.parent)
    try:
        address = f"http://127.0.0.1:{port}"
        wait_for(address)
        with sync_playwright() as driver:
            found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
            browser = driver.chromium.launch(executable_path=found, args=FLAGS)
            for language in LANGUAGES:
                take(browser, address, language)
            browser.close()
    finally:
        server.terminate()


def wait_for(address: str) -> None:
    """Until the server answers.

    Raises:
        TimeoutError: it does not within a minute.
    """
    for _ in range(240):
        try:
            urllib.request.urlopen(f"{address}/_stcore/health", timeout=1)
            return
        except OSError:
            time.sleep(0.25)
    raise TimeoutError("the app did not start")


def take(browser: Browser, address: str, language: str) -> None:
    """The first screen of each page in one language."""
    context = browser.new_context(viewport={"width": 1280, "height": 860}, locale=LANGUAGES[language])
    page = context.new_page()
    for name, path in PAGES.items():
        page.goto(f"{address}/{path}?lang={language}")
        page.wait_for_selector("[data-testid=stApp][data-test-connection-state=CONNECTED]")
        page.wait_for_selector(".js-plotly-plot .main-svg")
        page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]")
        page.wait_for_timeout(2000)  # the last chart is drawn after the script has ended
        page.screenshot(path=HERE / "pictures" / f"{name}-{language}.png")
    context.close()


if __name__ == "__main__":
    main()
