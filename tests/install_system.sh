#!/usr/bin/env bash
# What the tests need of the operating system: Chromium, fonts with Japanese letters, nginx.
# Uses what is there, else installs it.
set -euo pipefail

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }

# install APT-NAME DNF-NAME PACMAN-NAME BREW-NAME: with the first package manager found.
install() {
    if command -v apt-get > /dev/null; then
        as_root apt-get update -qq && as_root apt-get install -y -qq --no-install-recommends "$1"
    elif command -v dnf > /dev/null; then
        as_root dnf install -y -q "$2"
    elif command -v pacman > /dev/null; then
        as_root pacman -S --noconfirm --needed "$3"
    elif command -v brew > /dev/null; then
        brew install "$4"
    else
        return 1
    fi
}

has_browser() {
    command -v chromium > /dev/null || command -v chromium-browser > /dev/null || command -v google-chrome > /dev/null ||
        [ -x "$(playwright_browser)" ]
}

playwright_browser() {
    python -c 'from playwright.sync_api import sync_playwright as s
with s() as p: print(p.chromium.executable_path)' 2> /dev/null || true
}

has_japanese() {
    if [ "$(uname)" = Darwin ]; then return 0; fi # every macOS has Hiragino
    command -v fc-list > /dev/null && [ -n "$(fc-list :lang=ja)" ]
}

if ! has_browser; then install chromium chromium chromium chromium || true; fi
if ! has_browser; then python -m playwright install chromium || true; fi
if ! has_browser; then
    echo "No Chromium found, and none could be installed. Install it by hand (for example: apt-get install chromium)" \
        "so that 'chromium', 'chromium-browser' or 'google-chrome' is on the PATH, then run make test again." >&2
    exit 1
fi

if ! has_japanese && ! command -v fc-list > /dev/null; then install fontconfig fontconfig fontconfig fontconfig || true; fi
if ! has_japanese; then
    install fonts-noto-cjk google-noto-sans-cjk-fonts noto-fonts-cjk font-noto-sans-cjk-jp || true
fi
if ! has_japanese; then
    echo "No font with Japanese letters found ('fc-list :lang=ja' is empty), and none could be installed." \
        "Install Noto CJK by hand (for example: apt-get install fonts-noto-cjk), then run make test again." >&2
    exit 1
fi

has_nginx() { PATH="$PATH:/usr/sbin" command -v nginx > /dev/null; }

if ! has_nginx; then install nginx-light nginx nginx nginx || true; fi
if ! has_nginx; then
    echo "No nginx found, and none could be installed. Install it by hand (for example: apt-get install nginx-light)," \
        "then run make test again." >&2
    exit 1
fi
echo "Browser, Japanese fonts and nginx are there."
