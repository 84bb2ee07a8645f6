"""Credentials that are recognised by their format: keys of known services, and private keys."""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass
from itertools import zip_longest


@dataclass(frozen=True, slots=True)
class CredentialFormat:
    """A kind of credential. Only texts that contain one of its `signs` are searched.

    If the pattern has a group `value`, only that group is the secret.
    """

    kind: str
    signs: tuple[str, ...]
    pattern: re.Pattern[str]


def _format(kind: str, signs: str, pattern: str) -> CredentialFormat:
    return CredentialFormat(kind, tuple(signs.split()), re.compile(pattern))


def _make_prefix_format(kind: str, prefixes: str, rest: str) -> CredentialFormat:
    """Return the format of credentials with a unique prefix."""
    signs = tuple(prefixes.split())
    start = "|".join(re.escape(sign) for sign in signs)
    return CredentialFormat(kind, signs, re.compile(rf"(?<![A-Za-z0-9])(?:{start}){rest}"))


_WORD = r"[A-Za-z0-9]"
_OPEN = r"[A-Za-z0-9_-]"
_HEX = r"[0-9a-f]"
_TYPED = r"(?P<value>[^\s'\"$<{]{4,200})"  # not a variable, not a placeholder

FORMATS: tuple[CredentialFormat, ...] = (
    # Keys of the documentation of AWS end with EXAMPLE.
    _format(
        "AWS access key", "AKIA ASIA", r"\b(?:AKIA|ASIA)(?![0-9A-Z]{9}EXAMPLE\b)[0-9A-Z]{16}\b"
    ),
    # Its secret, beside it.
    _format(
        "AWS secret key",
        "AKIA ASIA",
        r"\b(?:AKIA|ASIA)[0-9A-Z]{16}[^\w\n]{1,8}(?!\S{0,40}EXAMPLE)"
        r"(?P<value>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])",
    ),
    _format(
        "GitHub token",
        "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_",
        rf"\b(?:gh[pousr]_{_WORD}{{20,255}}|github_pat_\w{{40,255}})\b",
    ),
    _make_prefix_format(
        "GitLab token",
        "glpat- glrt- gldt- glptt- glcbt- glsoat- gloas- glft- glimt- glagent- GR1348941",
        r"[A-Za-z0-9_.-]{19,250}\w",
    ),
    _format(
        "Slack token",
        "xox xapp-",
        r"\b(?:xox[abceoprsd](?:\.xox[bp])?-(?=[A-Za-z-]{0,249}\d)[A-Za-z0-9-]{10,250}|"
        r"xapp-\d-[A-Za-z0-9-]{20,250})",
    ),
    _format(
        "Slack webhook",
        "hooks.slack.com",
        r"https://hooks\.slack\.com/(?:services|workflows|triggers)/(?:\w{6,}/){2,3}\w{16,}",
    ),
    _format(
        "Discord webhook",
        "/api/webhooks/",
        rf"https://[a-z.]{{0,20}}discord(?:app)?\.com/api/webhooks/\d{{10,}}/{_OPEN}{{40,}}",
    ),
    _format(
        "Teams webhook",
        "/IncomingWebhook/",
        r"https://[\w.-]{1,100}/webhook(?:b2)?/[0-9a-f@-]{36,80}/IncomingWebhook"
        rf"(?:/{_OPEN}{{16,}}){{1,3}}",
    ),
    _format("webhook", "/hooks/", r"https://[\w.-]{1,200}/hooks/[a-z0-9]{26}(?![\w/-])"),
    _format(
        "webhook",
        "hooks.zapier.com make.com/",
        r"https://(?:hooks\.zapier\.com/hooks/catch/\d+/\w{5,}|hook\.[a-z0-9.]*make\.com/\w{20,})",
    ),
    _format("Anthropic key", "sk-ant-", rf"\bsk-ant-{_OPEN}{{20,200}}"),
    _format(
        "OpenAI key",
        "sk-",
        rf"\bsk-(?:(?:proj|svcacct|admin|or-v1)-{_OPEN}{{20,250}}|{_WORD}{{20,200}}\b)",
    ),
    _make_prefix_format("model service key", "gsk_ xai- pplx- r8_", rf"{_WORD}{{32,120}}\b"),
    _make_prefix_format(
        "Stripe key", "sk_live_ rk_live_ sk_test_ rk_test_ whsec_", rf"{_WORD}{{16,200}}\b"
    ),
    _format("Google API key", "AIza", rf"\bAIza{_OPEN}{{35}}(?!{_OPEN})"),
    _format(
        "Google OAuth secret",
        "GOCSPX- ya29. 1//0",
        rf"\b(?:GOCSPX-{_OPEN}{{20,40}}|ya29\.{_OPEN}{{20,}}|1//0{_OPEN}{{30,}})",
    ),
    _format(
        "Azure key",
        "AccountKey= sig=",
        r"\b(?:AccountKey=|[?&]sig=)(?P<value>[A-Za-z0-9+/%_-]{40,100}={0,2})",
    ),
    _format("Azure client secret", "Q~", r"(?<![\w~.-])[\w~.-]{3}\dQ~[\w~.-]{31,34}(?![\w~.-])"),
    _format("SendGrid key", "SG.", rf"\bSG\.{_OPEN}{{16,32}}\.{_OPEN}{{32,64}}"),
    _format("Twilio key", "SK", rf"\bSK{_HEX}{{32}}\b"),
    # The id of an account, and its token as the next argument or field.
    _format(
        "Twilio token",
        "AC",
        rf"\bAC{_HEX}{{32}}[\"']?\s{{0,3}}[,:;/|]\s{{0,3}}[\"']?(?P<value>{_HEX}{{32}})\b",
    ),
    # The secret of an API key, as the argument after it.
    _format(
        "Twilio token",
        "SK",
        rf"\bSK{_HEX}{{32}}[\"']\s{{0,3}},\s{{0,3}}[\"'](?P<value>{_WORD}{{32}})\b",
    ),
    _format("Mailchimp key", "-us", rf"\b{_HEX}{{32}}-us\d{{1,2}}\b"),
    _format("Airtable token", "pat", rf"\bpat{_WORD}{{14}}\.{_HEX}{{64}}\b"),
    _format("PayPal token", "access_token$", r"\baccess_token\$\w{1,20}\$[\w$]{20,200}"),
    _format("Plaid token", "access-", r"\baccess-(?:production|sandbox|development)-[0-9a-f-]{36}"),
    _make_prefix_format("Square token", "EAAA", rf"{_OPEN}{{56,80}}"),
    _make_prefix_format(
        "build service token", "CCIPAT_ CCIPRJ_ bkua_ bkaj_ bkct_", rf"{_OPEN}{{24,120}}"
    ),
    _format("Mailgun key", "key-", rf"\bkey-{_HEX}{{32}}\b"),
    _format(
        "Mailgun key",
        "ailgun AILGUN",
        rf"(?<![\w-]){_HEX}{{32}}-{_HEX}{{8}}-{_HEX}{{8}}(?![\w-])",
    ),
    _format("Telegram token", ":AA", rf"(?<!\d)\d{{8,10}}:AA{_OPEN}{{33}}(?!{_OPEN})"),
    _format("Firebase key", ":APA91b", rf"\bAAAA{_OPEN}{{7}}:APA91b{_OPEN}{{100,200}}"),
    _make_prefix_format("npm token", "npm_", rf"{_WORD}{{36}}\b"),
    _make_prefix_format("PyPI token", "pypi-AgE", rf"{_OPEN}{{50,}}"),
    _make_prefix_format(
        "package registry token", "rubygems_ dckr_pat_ dckr_oat_", rf"{_OPEN}{{24,80}}"
    ),
    _make_prefix_format("Hugging Face token", "hf_", rf"{_WORD}{{30,60}}\b"),
    _make_prefix_format("DigitalOcean token", "dop_v1_ doo_v1_ dor_v1_", rf"{_HEX}{{64}}\b"),
    _make_prefix_format("Vault token", "hvs. hvb.", rf"{_OPEN}{{24,300}}"),
    _format("Terraform token", ".atlasv1.", rf"\b{_WORD}{{14}}\.atlasv1\.{_OPEN}{{40,80}}"),
    _format("Databricks token", "dapi", rf"\bdapi{_HEX}{{32}}\b"),
    _make_prefix_format("Shopify token", "shpat_ shpss_ shpca_ shppa_", r"[0-9a-fA-F]{32}\b"),
    _make_prefix_format("Grafana token", "glsa_ glc_", rf"{_WORD}{{32,}}(?:_{_HEX}{{8}})?"),
    _make_prefix_format("Sentry token", "sntrys_ sntryu_", r"[A-Za-z0-9+/=_-]{40,}"),
    _make_prefix_format("Atlassian token", "ATATT3 ATCTT3", r"[A-Za-z0-9_=-]{60,}"),
    _make_prefix_format("Supabase key", "sbp_ sb_secret_", rf"{_OPEN}{{20,}}"),
    _make_prefix_format(
        "service token",
        "lin_api_ ntn_ figd_ figp_ pul- NRAK- PMAK- dp.pt. dp.st. pscale_tkn_ pscale_pw_ sq0atp- "
        "sq0csp- FlyV1",
        r"[ A-Za-z0-9_,-]?[A-Za-z0-9_.-]{20,}",
    ),
    _make_prefix_format("Brevo key", "xkeysib-", rf"{_HEX}{{64}}-{_WORD}{{16}}\b"),
    _make_prefix_format("Resend key", "re_", rf"{_WORD}{{8}}_{_WORD}{{24}}\b"),
    _make_prefix_format("JFrog token", "AKCp cmVmdGtuOj", rf"{_WORD}{{48,80}}\b"),
    _make_prefix_format(
        "Tailscale key", "tskey-", rf"[a-z]{{3,10}}-{_WORD}{{6,40}}-{_WORD}{{20,}}"
    ),
    _make_prefix_format("1Password token", "ops_eyJ", rf"{_OPEN}{{100,}}"),
    _make_prefix_format("EasyPost key", "EZAK EZTK", rf"{_WORD}{{54}}\b"),
    _make_prefix_format("Bedrock key", "ABSK", r"[A-Za-z0-9+/]{100,}={0,2}"),
    _make_prefix_format("Facebook token", "EAACEdEose0cBA", rf"{_WORD}{{20,}}"),
    _make_prefix_format("ElevenLabs key", "sk_", rf"{_HEX}{{48}}\b"),
    _make_prefix_format(
        "service token", "HRKU- sgp_ phx_ nfp_ tfp_ tvly- rnd_", r"[A-Za-z0-9_-]{26,}\b"
    ),
    _format("Notion token", "secret_", rf"\bsecret_{_WORD}{{43}}\b"),
    _format("age key", "AGE-SECRET-KEY-1", r"\bAGE-SECRET-KEY-1[0-9A-Z]{50,60}\b"),
    _format(
        "JSON Web Token",
        "eyJ",
        rf"\beyJ{_OPEN}{{10,2000}}\.eyJ{_OPEN}{{10,4000}}\.{_OPEN}{{10,1000}}",
    ),
    _format(
        "encrypted JSON Web Token",
        "eyJ",
        rf"\beyJ{_OPEN}{{10,2000}}\.{_OPEN}{{0,1000}}(?:\.{_OPEN}{{8,4000}}){{3}}",
    ),
    # What Terraform generated is in its state.
    _format(
        "generated password",
        "random_password",
        r"random_password\"[^\0]{1,1500}?\"result\"\s{0,3}:\s{0,3}\"(?P<value>[^\"\n]{8,200})\"",
    ),
    _format(
        "password of a pgpass file",
        ":5432:",
        r"(?<![^\s\"'`])[\w.*-]{1,200}:5432:[\w*-]{1,63}:[\w*.-]{1,63}:"
        r"(?P<value>[^\s:\"'`<>${}]{6,200})",
    ),
    _format(
        "private key",
        "PuTTY-User-Key-File",
        r"Private-Lines: \d+\s(?P<value>(?:[A-Za-z0-9+/=]+\s)+)",
    ),
    # "-----BEGIN ... PRIVATE KEY-----" in base64, as in a kubeconfig.
    _format(
        "private key",
        "LS0tLS1CRUdJTi",
        r"\bLS0tLS1CRUdJTi(?:BQUklWQVRFIEtFW|BSU0EgUFJJVkFURS|BFQyBQUklWQVRF|BPUEVOU1NIIFBSSVZBV|"
        r"BFTkNSWVBURUQgUFJJVkFU)[A-Za-z0-9+/=]+",
    ),
    _format(
        "password on a command line",
        "curl",
        r"\bcurl\b[^\n|]{0,300}?\s(?:-[a-zA-Z]{0,5}u|--user)[ =]?['\"]?"
        rf"[^\s:'\"$]{{1,64}}:{_TYPED}",
    ),
    _format(
        "password on a command line",
        "http",
        rf"\bhttps?\s[^\n|]{{0,100}}?(?:-a|--auth)[ =]['\"]?[^\s:'\"$]{{1,64}}:{_TYPED}",
    ),
    _format(
        "password on a command line",
        "docker podman",
        rf"\b(?:docker|podman)\s{{1,3}}login\b[^\n|;&]{{0,200}}?\s-p[ =]?['\"]?"
        rf"(?=\S{{0,199}}\d){_TYPED}",
    ),
    _format(
        "password on a command line",
        "mysql",
        rf"\bmysql(?:dump|admin|import)?\b[^\n|]{{0,300}}?\s-p{_TYPED}",
    ),
    _format(
        "password on a command line",
        "mongo ldap",
        r"\b(?:mongo(?:sh|dump|restore|export|import)?\b[^\n|]{0,200}?\s(?:-p|--password)|"
        rf"ldap[a-z]{{3,10}}\b[^\n|]{{0,200}}?\s-w)[ =]?(?!-)(?=\S{{0,199}}\d){_TYPED}",
    ),
    _format("password on a command line", "sshpass", rf"\bsshpass\s+-p\s?['\"]?{_TYPED}"),
    _format(
        "password on a command line",
        "redis-cli",
        r"\bredis-cli\b[^\n|]{0,200}?\s(?:-a|--pass)[ =]['\"]?(?=[^\s'\"]{0,199}\d)"
        r"(?P<value>[^\s'\"$<{]{8,200})",
    ),
    _format(
        "password of a netrc file",
        "machine",
        r"\bmachine\s{1,9}(?:[\w-]{0,99}\.[\w.-]{1,200}|localhost)\s{1,9}login\s{1,9}\S{1,100}"
        rf"\s{{1,9}}(?:account\s{{1,9}}\S{{1,100}}\s{{1,9}})?password\s{{1,9}}{_TYPED}",
    ),
    # A host without a dot, or none: a sentence about machines and logins has no digit there.
    _format(
        "password of a netrc file",
        "machine default",
        r"\b(?:machine\s{1,9}[\w-]{1,100}|default)\s{1,9}login\s{1,9}\S{1,100}\s{1,9}"
        rf"password\s{{1,9}}(?=\S{{0,199}}\d){_TYPED}",
    ),
)

SIGNS: tuple[tuple[str, CredentialFormat], ...] = tuple(
    (sign, known) for known in FORMATS for sign in known.signs
)

# The password may contain characters that should have been escaped. A host must follow it, and a
# port must not be taken for a password.
URL_PASSWORD = re.compile(
    r"\b[a-z][a-z0-9+.-]{1,20}://[^\s:/@?#'\"]{0,100}:(?!\d{1,5}(?:[/?#]|$))"
    r"(?P<value>[^\s'\"`<>]{3,200}?)"
    r"@(?=[\w.:,%\[\]-]{1,300}(?:[/?#\s'\"`)>]|$))"
)
# A token instead of a user. The addresses of Sentry have a key that is public.
URL_TOKEN = re.compile(
    r"https?://(?P<value>[A-Za-z0-9_-]{20,255})@(?![\w.-]{0,100}sentry)[\w-]{1,100}\."
)
_KEY_BEGIN = re.compile(r"-----BEGIN (?:[A-Z]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_KEY_END = re.compile(r"-----END (?:[A-Z]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_BASE64_RUN = re.compile(r"[A-Za-z0-9+/=]{16}")
_PROSE = re.compile(r"[A-Za-z]{2} | [A-Za-z]{2}")
# The lines of a key whose end was cut off, with what surrounds them in a string of a program.
_KEY_LINES = re.compile(
    r"(?:\\[nr]|[\s\"'+,]|[A-Za-z-]{3,30}: [^\n]{0,100}\n|[A-Za-z0-9/+=]{16,})*[A-Za-z0-9/+=]*"
)


def private_keys(text: str) -> list[tuple[int, int]]:
    """Return the spans of private keys: from BEGIN to END, or to the last line of a cut-off key.

    A sentence that mentions such a line does not count.
    """
    ends = [match.span() for match in _KEY_END.finditer(text)]
    found: list[tuple[int, int]] = []
    begins = list(_KEY_BEGIN.finditer(text))
    for begin, after in zip_longest(begins, begins[1:]):
        if found and begin.start() < found[-1][1]:
            continue
        at = bisect_left(ends, begin.span())
        if at < len(ends):
            inside = text[begin.end() : ends[at][0]]
            if _BASE64_RUN.search(inside) or not _PROSE.search(inside):
                found.append((begin.start(), ends[at][1]))
                continue
        end = after.start() if after is not None else len(text)  # else the time is quadratic
        lines = _KEY_LINES.match(text, begin.end(), end)
        if lines and _BASE64_RUN.search(lines[0]):
            found.append((begin.start(), lines.end()))
    return found
