"""Finds the original address of a picture, which posts show in many sizes and through CDNs, so that
it is copied once."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from functools import lru_cache
from urllib.parse import (
    SplitResult,
    parse_qs,
    parse_qsl,
    quote,
    unquote,
    urlencode,
    urljoin,
    urlsplit,
    urlunsplit,
)

from msgspec import Struct

EXTENSIONS = ("jpg", "jpeg", "png", "gif", "webp", "avif", "svg", "bmp", "tif", "tiff", "heic")

MAX_URL = 8_000
"""Characters. Longer text is no address, unless it is a `data:` image."""
MAX_CANDIDATES = 4


class ImageRef(Struct, frozen=True):
    """One picture of a post, with all its addresses."""

    original_url: str
    """Identifies the picture in every post and every run."""
    urls: tuple[str, ...]
    """As written in the post, to be replaced there."""
    candidates: tuple[str, ...] = ()
    """Addresses to fetch, the best first. Empty for a relative address of an unknown site, and for
    a `data:` image."""
    source_id: str = ""
    """The source id of the post."""


def find_pictures(urls: Iterable[str], site_url: str, source_id: str = "") -> list[ImageRef]:
    """The distinct pictures of the addresses in a post."""
    originals = {url: original_of(url, site_url) for url in dict.fromkeys(urls)}
    known = set(originals.values())
    found: dict[str, list[str]] = {}
    for url, original in originals.items():
        if original:
            found.setdefault(_full_size_in_post(original, known), []).append(url)
    return [
        ImageRef(original, tuple(group), _candidates(original, group, site_url), source_id)
        for original, group in found.items()
    ]


def _full_size_in_post(original: str, known: set[str]) -> str:
    """The picture in full size if the same post shows it. This confirms that the numbers in the
    file name are a size, in any folder."""
    if not _SIZED_FILE.search(original):
        return original
    path = path_of(original)
    full = original.replace(path, _without_size(path), 1)
    return full if full in known else original


def original_of(url: str, site_url: str = "") -> str:
    """The address of the picture in full size; '' where the text is no address of a picture."""
    if url[:5].lower() == "data:":
        return _absolute(url, site_url)
    return next(iter(_originals(url, site_url)), "")


def picture_key(original_url: str) -> str:
    """A short id of the picture, for `import_items`."""
    return hashlib.sha256(original_url.encode("utf-8", "surrogatepass")).hexdigest()


def has_image_extension(url: str) -> bool:
    return path_of(url).lower().rpartition(".")[2] in EXTENSIONS


def file_name(url: str) -> str:
    """The last part of the path, decoded."""
    return unquote(path_of(url).rpartition("/")[2])


def host_of(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def path_of(url: str) -> str:
    try:
        return urlsplit(url).path
    except ValueError:
        return ""


def _candidates(original: str, group: list[str], site_url: str) -> tuple[str, ...]:
    """The original may be missing while a smaller size, or the copy of a CDN, still exists."""
    if not original[:5].lower().startswith("http"):
        return ()
    tried = [original]
    for url in sorted(group, key=_width_in, reverse=True):
        # The address in the post is more likely to exist than those in between.
        tried += reversed(_originals(url, site_url))
    return tuple(dict.fromkeys(tried))[:MAX_CANDIDATES]


def _width_in(url: str) -> int:
    return max((int(found[1]) for found in _WIDTH.finditer(url[:MAX_URL])), default=0)


_WIDTH = re.compile(r"(?:-|w_|[?&]w=|size/w)([0-9]{2,5})(?![0-9])")


# Cached, because each address is resolved several times.
@lru_cache(maxsize=1024)
def _originals(url: str, site_url: str) -> tuple[str, ...]:
    """The original, the steps by which it was found, and the address itself."""
    address = _absolute(url, site_url)
    if not host_of(address):
        return (address,) if address else ()
    steps = [address]
    for _ in range(_MAX_WRAPPERS):
        inner = _normalized(_unwrapped(steps[-1]), site_url)
        if not inner:
            break
        steps.append(inner)
    full = _full_size(steps[-1])
    if full != steps[-1]:
        steps.append(full)
    return tuple(reversed(steps))


_MAX_WRAPPERS = 4


def _absolute(url: str, site_url: str) -> str:
    if url[:5].lower() == "data:":
        return url if url[5:11].lower() == "image/" else ""
    # Browsers ignore these anywhere in an address.
    url = _IGNORED.sub("", url.strip())
    if not url or len(url) > MAX_URL or url.startswith("#"):
        return ""
    scheme = _SCHEME.match(url)
    if scheme is not None:
        # An invalid address is returned as it is: fetching it fails, which the report lists.
        return _normalized(url, site_url) or url if scheme[1].lower() in ("http", "https") else ""
    if url.startswith("//"):
        return _normalized(f"{urlsplit(site_url).scheme or 'https'}:{url}", site_url)
    if not site_url:
        return url
    try:
        return _normalized(urljoin(f"{site_url}/", url), site_url)
    except ValueError:
        return ""


_IGNORED = re.compile(r"[\t\n\r]+")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")


def _normalized(url: str, site_url: str) -> str:
    """'' for an address without a host."""
    try:
        parts = urlsplit(url)
        host, port = (parts.hostname or "").rstrip("."), parts.port
    except ValueError:
        return ""
    if not host:
        return ""
    host = f"[{host}]" if ":" in host else host
    scheme = parts.scheme
    site = urlsplit(site_url)
    if site.scheme and site.hostname == host and site.port == port:
        # Old posts of a site with HTTPS often have HTTP addresses.
        scheme = site.scheme
    shown_port = f":{port}" if port and port != _PORTS[scheme] else ""
    path = _escaped(parts.path) or "/"
    # With the user name, so that the client refuses the address.
    user = f"{parts.netloc.rpartition('@')[0]}@" if "@" in parts.netloc else ""
    return urlunsplit((scheme, f"{user}{host}{shown_port}", path, _escaped(parts.query), ""))


_PORTS = {"http": 80, "https": 443}
_HEX = re.compile(r"%[0-9a-fA-F]{2}")


def _escaped(text: str) -> str:
    if text.isascii() and "%" not in text and _PLAIN.fullmatch(text):
        return text
    escaped = quote(text, safe="/%:@!$&'()*+,;=~-._?[]|", errors="replace")
    return _HEX.sub(lambda found: found[0].upper(), escaped)


_PLAIN = re.compile(r"[A-Za-z0-9/:@!$&'()*+,;=~._?-]*")


def _unwrapped(url: str) -> str:
    """The address that a CDN fetches; '' for an address without one inside."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if _FETCHING_HOSTS.fullmatch(host):
        fetch = _FETCHED.search(parts.path)
        return _plain_address(fetch[1], parts.query) if fetch else ""
    if _PHOTON_HOSTS.fullmatch(host):
        return _behind_photon(parts)
    return ""


# Substack's CDN in both generations, and the service that the older one used.
_FETCHING_HOSTS = re.compile(
    r"(?:[\w-]+\.)?substackcdn\.com|cdn\.substack\.com|res\.cloudinary\.com"
)
_FETCHED = re.compile(r"/image/fetch/(?:.*?/)?(https?(?::|%(?:25)?3A).+)\Z", re.IGNORECASE)
_PHOTON_HOSTS = re.compile(r"i[0-3]\.wp\.com")


def _plain_address(text: str, query: str) -> str:
    # Twice, because some addresses are escaped twice.
    for _ in range(2):
        if "%" in text[:6]:
            text = unquote(text)
    return f"{text}?{query}" if query and "?" not in text else text


def _behind_photon(parts: SplitResult) -> str:
    host, slash, path = parts.path.lstrip("/").partition("/")
    if not slash or "." not in host:
        return ""
    given = parse_qs(parts.query)
    scheme = "https" if given.get("ssl") == ["1"] else "http"
    own_query = given.get("q", [""])[0]
    return f"{scheme}://{host}/{path}" + (f"?{own_query}" if own_query else "")


def _full_size(url: str) -> str:
    parts = urlsplit(url)
    host, path, query = parts.hostname or "", parts.path, parts.query
    if _is_blog_upload(host, path):
        path = _without_size(path)
        query = _without(query, _SIZE_PARAMETERS)
    elif "/content/images/size/" in path:
        path = _GHOST_SIZE.sub("/content/images/", path)
    elif host == "images.unsplash.com":
        query = _at_screen_width(query)
    return urlunsplit((parts.scheme, parts.netloc, path, query, ""))


_GHOST_SIZE = re.compile(r"/content/images/size/(?:w[0-9]+)?(?:h[0-9]+)?/(?:format/[a-z0-9]+/)?")
_SIZE_PARAMETERS = frozenset(
    {"w", "h", "resize", "fit", "crop", "quality", "strip", "ssl", "zoom", "lb", "ulb", "filter"}
)
_SCREEN_WIDTH = "w=2000"


def _is_blog_upload(host: str, path: str) -> bool:
    is_usual = "/wp-content/" in path or host.endswith(".files.wordpress.com")
    return is_usual or _UPLOADS_BY_MONTH.search(path) is not None


# The folder may be renamed; the months in it are the same.
_UPLOADS_BY_MONTH = re.compile(r"/(?:uploads|files)/(?:sites/[0-9]+/)?[0-9]{4}/[0-9]{2}/[^/]+\Z")


def _without_size(path: str) -> str:
    """`a-300x200.jpg`, `a-scaled.jpg` and `a-rotated.jpg` are sizes of `a.jpg`. `a-e1612345678.jpg`
    is another picture, because it was edited."""
    stem, dot, extension = path.rpartition(".")
    if extension.lower() not in EXTENSIONS:
        return path
    return _SCALED.sub("", _SIZED.sub("", stem)) + dot + extension


# At least one number has two digits, because `2x4` is often part of a name.
_SIZED = re.compile(r"(?<=[^/])-(?:[1-9][0-9]{1,4}x[1-9][0-9]{0,4}|[1-9]x[1-9][0-9]{1,4})\Z")
_SIZED_FILE = re.compile(r"-(?:[0-9]{1,5}x[0-9]{1,5}|scaled|rotated)\.[A-Za-z]+(?:\?|\Z)")
_SCALED = re.compile(r"(?<=[^/])-(?:scaled|rotated)\Z")


def _without(query: str, names: frozenset[str]) -> str:
    if not query:
        return ""
    pairs = parse_qsl(query, keep_blank_values=True)
    return urlencode([pair for pair in pairs if pair[0] not in names])


def _at_screen_width(query: str) -> str:
    """The originals are far too large; the themes of Ghost show at most this width."""
    rest = _without(query, frozenset({"w", "h", "dpr"}))
    return f"{rest}&{_SCREEN_WIDTH}" if rest else _SCREEN_WIDTH
