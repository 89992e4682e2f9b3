"""Texts that want to run script where somebody reads them (B47), and what harmless HTML is."""

from collections.abc import Iterator
from html.parser import HTMLParser
from urllib.parse import urlsplit

MARKDOWN = (
    "[a](javascript:alert(1))",
    "[a](jAvAsCrIpT:alert(1))",
    "[a](javascript&#58;alert(1))",
    "[a](javascript&colon;alert(1))",
    "[a](&#x6a;avascript:alert(1))",
    "[a](java&#10;script:alert(1))",
    "[a](java\tscript:alert(1))",
    "[a](<java\nscript:alert(1)>)",
    "[a\nb]( javascript:alert(1))",
    "[a](\x01javascript:alert(1))",
    "[a](%6aavascript:alert(1))",
    "[a](vbscript:msgbox(1))",
    "[a](data:text/html,<script>alert(1)</script>)",
    "[a](data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==)",
    "[a](//evil.example/x)",
    "[a](/admin/logout)",
    "[a](file:///etc/passwd)",
    "[a](feed:javascript:alert(1))",
    '[a](https://ok.example/"onmouseover="alert(1))',
    "[a](https://ok.example 'x\" onclick=\"alert(1)')",
    "<javascript:alert(1)>",
    "<data:text/html,<script>alert(1)</script>>",
    '![" onerror=alert(1) ](x)',
    '![" onerror=alert(1) ](https://ok.example/x.png)',
    "![a](javascript:alert(1))",
    "![a](data:image/svg+xml;base64,PHN2ZyBvbmxvYWQ9YWxlcnQoMSk+)",
    "![a](https://ok.example/x.png \"' onerror='alert(1)\")",
    "[![a](https://ok.example/x.png)](javascript:alert(1))",
    "[x]: javascript:alert(1)\n\n[x]",
    "[x]: data:text/html,x\n\n![x]",
    "<img src=x onerror=alert(1)>",
    "<svg onload=alert(1)>",
    "<svg/onload=alert(1)//",
    "<script>alert(1)</script>",
    "<scr<script>ipt>alert(1)</scr</script>ipt>",
    "</title></textarea></style></script><script>alert(1)</script>",
    "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
    "<math><mtext><table><mglyph><style><!--</style><img title='--&gt;&lt;img src=1 onerror=alert(1)&gt;'>",
    "<noscript><p title='</noscript><img src=x onerror=alert(1)>'>",
    "<a href='javascript:alert(1)'>x</a>",
    "<style>@import 'javascript:alert(1)'</style>",
    "<details open ontoggle=alert(1)>",
    "<form action=javascript:alert(1)><button>x</button></form>",
    "<base href=https://evil.example/>",
    "<meta http-equiv=refresh content='0;url=javascript:alert(1)'>",
    "```html onload=alert(1)\n<script>alert(1)</script>\n```",
    '``` "onmouseover=alert(1)\nx\n```',
    "`<img src=x onerror=alert(1)>`",
    "| <img src=x onerror=alert(1)> |\n|:-:|\n| [a](javascript:alert(1)) |",
    "# <img src=x onerror=alert(1)>",
    "<!-- --!><img src=x onerror=alert(1)> -->",
    "<![CDATA[><script>alert(1)</script>]]>",
    "]]><script>alert(1)</script>",
    "{{ 7 * 7 }}{% now 'Y' %}",
)
TITLE = "</title><script>alert(1)</script><img src=x onerror=alert(1)>"


class _Elements(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def elements(html: str) -> list[tuple[str, dict[str, str | None]]]:
    """The elements of HTML with their attributes."""
    parser = _Elements()
    parser.feed(html)
    parser.close()
    return parser.found


def harms(html: str, allowed: frozenset[str]) -> Iterator[str]:
    """What in the HTML of a text could do harm; nothing where it is harmless."""
    for tag, attributes in elements(html):
        if tag not in allowed:
            yield f"<{tag}>"
        for name, value in attributes.items():
            if name not in ("href", "title", "rel", "align", "start"):
                yield f"{tag}[{name}]"
            if name == "href" and urlsplit((value or "").strip()).scheme not in ("http", "https", "mailto"):
                yield f"{tag} to {value}"
