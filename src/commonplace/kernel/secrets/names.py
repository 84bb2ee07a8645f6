"""Names after which a secret is expected, as parts of regular expressions."""

from __future__ import annotations

import re

# Names of passwords and of issued keys, in lower case: patterns that ignore case are ten times
# slower.
CHOSEN = (
    r"passw(?:or)?d|passphrase|passcode|pass(?![a-z])|pwd(?![a-z])|mdp(?![a-z])|"
    r"mots?[ _-]?de[ _-]?passe"
)
ISSUED = (
    r"secret(?:[_-]?key)?|credential|token|api[_-]?key|access[_-]?key|auth[_-]?key|"
    r"app(?:lication)?[_-]?key|fernet[_-]?key|private[_-]?key|signing[_-]?key|encryption[_-]?key|"
    r"master[_-]?key|account[_-]?key|deploy[_-]?key|license[_-]?key|"
    r"jeton(?: d['\u2019]acc[eè]s)?|cl[eé]s?[ _-](?:d['\u2019])?(?:api|secr[eè]te|priv[eé]e)"
)
# Of an Authorization header, before the secret.
SCHEMES = "bearer|basic|token|api-?key|bot|splunk|geniekey|ssws"
# The rest of a name whose value is about a secret, not the secret itself.
ABOUT = re.compile(
    r"(?i)[_-]?(?:path|file|dir|ur[li]|id|name|arn|ref|header|field|hash(?:er|ers|ed)?|length|len|"
    r"size|min|max|count|type|policy|ttl|expir\w*|"
    r"lifetime|age|timeout|seconds|manager|provider|version|rotation|prefix|suffix|format|"
    r"algorithm|endpoint|method|store|backend|class|"
    r"scope|limit|usage|budget|env|var|stdin|command|less|protected|generator|validators?)s?"
    r"(?-i:(?![a-z]))"
)
