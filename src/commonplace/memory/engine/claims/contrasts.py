"""Words that tell two things of one name apart: the access token and the refresh token."""

from __future__ import annotations

import re
from typing import Final

# Two entries of which each names another word of one row speak of two things. Words after a
# slash say the same. A row goes on where a line is indented.
_ROWS: Final = """
production/prod staging/preprod/préproduction/préprod preview/previews dev/development sandbox
    demo/démo/démonstration local/locally/laptop/localement recette
ios/iphone/iphones/ipad android desktop windows linux macos/mac web/site kiosk/borne/bornes
    tablet/tablets tv watch
chrome firefox safari edge
access refresh id
connect/connection read/reads write/writes idle keep-alive
primary/master replica/replicas secondary standby
java python go/golang rust ruby php swift kotlin typescript/javascript scala c++ terraform yaml
    sql dart elixir shell/bash
frontend/front-end/front/web/browser backend/back-end/server/api/apis database worker/workers
    gateway
client/clients/cliente server/servers/serveur broker/brokers
unit integration e2e/end-to-end load/performance smoke browser security component contract
full/complète/complet/intégrale/intégralement incremental/incrémentale/incrémentales differential
critical/critique medium/moyenne low/faible high/haute
raw/brut/brute/brutes bronze prepared/préparée/cleaned/curated/silver gold
pod/pods/online/web batch/job/jobs/cron worker/workers/matrix
demo/démo/sales training/formation
dump/dumps wal snapshot/snapshots
urgent/emergency/hotfix normal/regular/ordinary
new/nouveau/nouveaux existing/existants legacy/ancien/anciens
left/gauche right/droite
adult/adults child/children/minors
staff/employee/employees customer/customers/clients visitor/visitors
hot cold archived/archive/archives
anonymous partner/partners free enterprise premium trial guest/guests/invités members/member
internal/interne/internes external/externe/externes public/publique
admin/admins/administration traffic
ui/screen/screens/dashboard/écran/écrans api/apis json/payload database/base/table
request/requests/requête response/responses/réponse
import/imports/importer/incoming/inbound/entrant export/exports/exporter/outgoing/outbound/sortant
upload/uploads download/downloads
default/défaut maximum/max/most/maximal minimum/min/least/minimal
summer/été winter/hiver
cpu memory/mémoire disk/disque network
header/headers body
push/pushes email/emails/mail sms
warehouse/entrepôt shop/magasin/boutique
france/french/français/françaises belgique/belgium/belges uk/british germany/german spain/spanish
    italy/italian poland/polish us/american switzerland
max-age s-maxage
first/première/premier second/deuxième/seconde third
web/dashboard mobile tv
binary/binaries library/libraries gem
build/compile/compiled runtime
rows/row batches/batch
soft hard
monthly/mensuel weekly/hebdomadaire daily/quotidien quarterly yearly/annual
logs traces metrics/métriques errors alerts
monolith microservice microservices
sender recipient/receiver
buyer/buyers seller/sellers
reader/readers editor/editors author/authors
doctor/doctors/physician nurse/nurses patient/patients
teacher/teachers student/students
minor major patch
upper lower
draft/drafts/brouillon/brouillons published/publié/publiés/publiée/publiées
field/fields/champ/champs column/columns/colonne/colonnes
price/prices/pricing/prix stock/stocks inventory
availability latency throughput/débit
photo/photos video/videos/vidéo/vidéos document/documents audio
order/orders/commande/commandes quote/quotes/devis invoice/invoices/facture/factures
day/jour night/nuit/nightly
weekday/weekdays weekend/weekends
domestic/national international
application/app/apps library/sdk plugin/plugins/extension
code/source documentation/docs/doc interface/ui commit/commits
issuer acquirer/merchant
"""
_VERSION: Final = re.compile(r"v\d+")


def _build() -> dict[str, tuple[tuple[int, str], ...]]:
    found: dict[str, tuple[tuple[int, str], ...]] = {}
    for number, row in enumerate(_ROWS.replace("\n    ", " ").strip().splitlines()):
        for group in row.split():
            first, *others = group.split("/")
            for word in (first, *others):
                found[word] = (*found.get(word, ()), (number, first))
    return found


_PLACES: Final = _build()


def find_contrasts(written: frozenset[str]) -> frozenset[tuple[int, str]]:
    """Return the words of some that tell things of one name apart, each with its row."""
    written = written.union(*(word.split("-") for word in written if "-" in word))
    versions = {(-1, word) for word in written if _VERSION.fullmatch(word)}
    return (
        frozenset(place for word in written & _PLACES.keys() for place in _PLACES[word]) | versions
    )


def are_contrasted(
    part_a: frozenset[tuple[int, str]],
    part_b: frozenset[tuple[int, str]],
    entry_a: frozenset[tuple[int, str]],
    entry_b: frozenset[tuple[int, str]],
) -> bool:
    """Say whether parts of two entries each name a word of one row that the other one does not."""
    own_a = {row for row, word in part_a - entry_b}
    return any(row in own_a for row, word in part_b - entry_a)
