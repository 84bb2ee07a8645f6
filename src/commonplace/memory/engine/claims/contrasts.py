"""Words that tell two things of one name apart: the access token and the refresh token."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

# Two entries of which each names another word of one row speak of two things. Words after a
# slash say the same; two words are joined by "_". A row goes on where a line is indented.
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
express standard/économique
old/older/past/anciens/anciennes this_year/current/recent/récents
code_signing tls/site/website/sites
new/nouveau/nouveaux existing/existants legacy/ancien/anciens
left/gauche right/droite
adult/adults child/children/minors
staff/employee/employees/salariés customer/customers/clients visitor/visitors
    contractor/contractors/freelancers/prestataires intern/interns/stagiaires/apprentices
    trainees/alternants supplier/suppliers/fournisseurs
hot cold archived/archive/archives
anonymous partner/partners free/free_plan enterprise/enterprise_plan premium trial
    guest/guests/invités
    members/member pro/pro_plan team_plan basic/basic_plan starter/starter_plan business_plan
    standard_plan
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
reader/readers/lecteurs editor/editors/rédacteurs author/authors/auteurs
    publisher/publishers/éditeurs
    moderator/moderators/modérateurs viewer/viewers reviewer/reviewers/relecteurs
    contributor/contributors/contributeurs administrator/administrators/administrateurs
    member/members/membres guest/guests/invités
manager/managers/gestionnaires/responsables agent/agents operator/operators/opérateurs
    supervisor/supervisors auditor/auditors/auditeurs
developer/developers/développeurs tester/testers/testeurs designer/designers/graphistes sre/sres
    support/support_team commerciaux
app_store/apple/apple's play_store/google/google's huawei amazon_appstore microsoft_store
dlq/dead-letter/dead-letters main_queue
retry/retries dlq parking
eu/europe/européens us/usa uk apac asia/asie africa/afrique
audit/audit_logs access_logs application_logs/app_logs error_logs debug_logs
upstream/amont downstream/aval
parent/parents child/children
gross/brut net
lunch/midi dinner/dîner breakfast
full-time/plein part-time/partiel
part_time full_time
ingress egress
inbound/incoming/entrants outbound/outgoing/sortants
sick/maladie parental/maternity/paternity annual/annuels
sea/maritime air/aérien rail road/routier
ipv4 ipv6
tcp udp
card/cards/carte transfer/transfers/virement debit/prélèvement cheque/chèque cash/espèces
password/passwords pin/pins passphrase/passphrases
refund/refunds/remboursements payment/payments/paiements
ram vram
wifi/wi-fi ethernet/wired vpn
laptop/laptops phone/phones/téléphones screen/screens
thumbnail/thumbnails/vignettes original/originals/originaux
avatar/avatars banner/banners cover/covers logo/logos
comment/comments/commentaires article/articles
sms/textos letter/letters/courriers
ssd hdd tape/bande
purchase/purchases/achats sale/sales/ventes
hotel/hôtel flight/flights/vols train/trains
primary/principal secondary/secondaire tertiary
training_set/entraînement validation_set test_set
b2b b2c
contract/contracts/contrats quote/quotes/devis invoice/invoices/factures
credit_note/credit_notes/avoirs invoice/invoices/factures
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
code/source documentation/docs/doc interface/ui
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
_BEFORE: Final = frozenset(word.partition("_")[0] for word in _PLACES if "_" in word)


def find_contrasts(written: Sequence[str]) -> frozenset[tuple[int, str]]:
    """Return the words of a text that tell things of one name apart, each with its row."""
    words = frozenset(written).union(
        *(word.split("-") for word in written if "-" in word),
        (f"{first}_{second}" for first, second in pairwise(written) if first in _BEFORE),
    )
    versions = {(-1, word) for word in words if _VERSION.fullmatch(word)}
    return frozenset(place for word in words & _PLACES.keys() for place in _PLACES[word]) | versions


def are_contrasted(
    part_a: frozenset[tuple[int, str]],
    part_b: frozenset[tuple[int, str]],
    entry_a: frozenset[tuple[int, str]],
    entry_b: frozenset[tuple[int, str]],
) -> bool:
    """Say whether parts of two entries each name a word of one row that the other one does not."""
    if not part_a or not part_b:
        return False
    own_a = {row for row, word in part_a - entry_b}
    return any(row in own_a for row, word in part_b - entry_a)
