"""Texts that would do something, were they read as anything but text.

No file, address or module of these names exists: what is fetched or run is a fault. `OTHER_HOST` stands in every
address, so that a request can be told.
"""

OTHER_HOST = "elsewhere.example"

HTML = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg/onload=alert(1)>",
    "<iframe src=javascript:alert(1)>",
    "<b>bold</b>",
    "<!--",
    "<style>*{display:none}</style>",
    "<base href=//elsewhere.example>",
    "<meta http-equiv=refresh content=0;url=//elsewhere.example>",
    "&lt;script&gt;",
    "&#60;b&#62;",
    "&nbsp;&amp;amp;",
    "</title></textarea><script>alert(1)</script>",
    '" onmouseover=alert(1) x="',
    "' autofocus onfocus=alert(1) '",
)
MARKDOWN = (
    "[a](javascript:alert(1))",
    "![i](https://elsewhere.example/i.png)",
    "[x][y]",
    "**bold**",
    "~~gone~~",
    "`code`",
    "# head",
    "> quote",
    "| a | b |",
    "- item",
    "---",
    "<https://elsewhere.example>",
    "https://elsewhere.example/auto",
    "www.elsewhere.example",
    "mail@elsewhere.example",
    "\\*not\\*",
)
KATEX = (
    "$\\href{javascript:alert(1)}{x}$",
    "$\\includegraphics{https://elsewhere.example/i.png}$",
    "$\\htmlData{a=b}{x}$",
    "$$\\htmlId{root}{x}$$",
    "$\\url{https://elsewhere.example}$",
    "\\text{}",
    "}",
    "{",
    "\\def\\x{\\x\\x}\\x",
    "\\frac",
    "$",
    "$$",
    "%",
)
PLOTLY = (
    '<a href="https://elsewhere.example">a</a>',
    "<a href=javascript:alert(1)>a</a>",
    "<sub>s</sub>",
    "<br>",
    "%{x}",
    "%{customdata[0]}<extra></extra>",
    "<em>e</em>",
)
SCHEMES = (
    "javascript:alert(1)",
    "data:text/html,<script>alert(1)</script>",
    "vbscript:msgbox(1)",
    "file:///etc/passwd",
    "//elsewhere.example/x",
)
STREAMLIT = (
    ":red[red]",
    ":material/home:",
    ":streamlit:",
    ":smile:",
    ":blue-badge[b]",
    ":small[s]",
    "<-",
    "->",
    "--",
)
SPREADSHEET = (
    "=1+1",
    "+1",
    "-1",
    "@SUM(1)",
    "\t=1",
    "|cmd",
    '=HYPERLINK("https://elsewhere.example","x")',
    "＝1+1",
    "'=1",
    ';"=1"',
)
PATHS = (
    "../../etc/passwd",
    "..\\..\\x",
    "/dev/stdin",
    "CON",
    "a/../../b.csv",
    "%2e%2e%2f",
)
TEMPLATES = (
    "{{7*7}}",
    "${7*7}",
    "#{7*7}",
    "%s%s%n",
    "{0}",
    "{lang.__class__}",
    "%(x)s",
    "$title",
    "__import__('os').system('x')",
    "'''+alert+'''",
    '""" # \\',
    "\\N{BULLET}\\x00",
    "'); DROP TABLE x; --",
)
CHARACTERS = (
    "a\x00b",
    "a\u202eb\u202c",
    "Z\u0351\u036b\u0343a\u0335\u0321l",
    "pаypal",  # the second letter is Cyrillic
    "\ufeffbom",
    "\u200b",
    "👩‍👩‍👧‍👦",
    "ﷺ",
    "\x1b[31m",
    "A\u030a",
    "\u2028line",
    "İ",
)

INJECTIONS = HTML + MARKDOWN + KATEX + PLOTLY + SCHEMES + STREAMLIT + SPREADSHEET + PATHS + TEMPLATES + CHARACTERS
