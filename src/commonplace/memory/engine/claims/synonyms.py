"""Read words that say the same as one: "sign-in" and "login", "kept" and "keeps", "repo"."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from commonplace.memory.engine.terms import terms_of_word

# All words of a row are read as its first one.
_ROWS: Final = """
login signin sign-in log-in auth authentication authenticate authenticates authenticated sso
login connexion authentification authentifier authentifient authentifie connexions logins
2fa mfa two-factor multi-factor second-factor 2sv
delete deleted deletes deleting deletion remove removes removed removal erase erased wipe wiped
delete purge purged purges supprimer supprime supprimé supprimée supprimés supprimées suppression
delete effacer effacé effacement purgé purgés retiré retirée effacés effacée effacées efface
delete effacent supprimées supprimons suppriment purge purger purgée purgées retirés retirées
database databases db
pr prs pull-request pull-requests merge-request merge-requests mr
repository repositories repo repos dépôt dépôts
production prod
configuration configurations config configs
environment environments env environnement environnements
mail mails email emails e-mail e-mails courriel courriels
documentation docs doc
application applications app apps appli applis
image images photo photos picture pictures
basket baskets cart carts panier paniers
invoice invoices invoicing facture factures facturation
approve approves approved approval approvals sign-off signoff approbation approbations valider
approve valide validée validé validation approuvé approuvée approuver validés validées valident
approve approuve approuvent approuvés approuvées approving validons
own owns owned owner owners ownership owning appartient propriétaire propriétaires
admin admins administrator administrators administrateur administrateurs administratrice
keep keeps kept retain retained retains retention conserver conserve conservé conservés
keep conservée conservées garder garde gardé gardés gardée gardées conservation
keep gardons gardez gardent conservons conservez conservent keeping retaining preserved
format formats formatted formatter formatting formatters
send sends sent sending envoyer envoie envoyé envoyés envoyées envoi envois
write writes written writing wrote écrire écrit écrits écrites
build builds built building
hold holds held holding
pay pays paid payment payments paiement paiements
begin begins begun start starts started startup démarrer démarre démarrage
sell sold sale sales vente ventes
backup backups sauvegarde sauvegardes sauvegardée sauvegardé sauvegarder sauvegardées
schedule schedules scheduled scheduling scheduler
test tests tested testing
license licence licences licenses licensed
deploy deploys deployed deployment deployments déploiement déploiements déployer déployé rollout
ship ships shipped shipping
encrypt encrypts encrypted encryption chiffrer chiffré chiffrés chiffrée chiffrées chiffrement
store stores stored storage stocker stocké stockés stockée stockées stockage
sort sorts sorted sorting trier trié triés triées tri
host hosts hosted hosting hébergement hébergé hébergée hébergés héberge hébergeur hébergent tourne
idle inactive inactivity inactif inactifs inactive inactives inactivité
translation translations translate translates translated translators translator traduction
translation traductions traduit traduite traduits
verify verifies verified verifying verification vérifier vérification
limit limits limited cap capped maximum max limite limites limité plafond plafonné
frontend front-end
backend back-end
employee employees staff
compress compresses compressed compression compressé compressés compressée
hash hashes hashed hashing haché hachés
sign signs signed signature signatures signing signé signés
restart restarts reboot reboots
review reviews reviewer reviewers relecture relectures relecteur relecteurs
vendor provider providers vendors fournisseur fournisseurs prestataire
minimum min lowest oldest minimal minimale
timestamp timestamps horodatage
pdf pdfs
url urls
id ids identifier identifiers identifiant identifiants
vm vms
supplier suppliers
bug bugs anomalie anomalies
exception exceptions
meeting meetings réunion réunions
meal meals repas
ticket tickets
candidate candidates candidat candidats
absence absences
leave congé congés vacation vacations holidays
salary salaries salaire salaires payroll paie
attachment attachments
export exporte exportés exportée exportées exported exports exporting
import importe importés importée importées imported imports importing
render renders rendered rendering
generate generated generates generating
print printed printing prints imprimer imprimé imprimés
publish published publishes publishing publication publications publier publié publiés publiée
subscription subscriptions subscribe subscribed abonnement abonnements
message messages
reminder reminders rappel rappels
password passwords mot-de-passe
length lengths duration durée durées
upgrade upgrades upgraded upgrading
rotation rotations rotate rotated rotates rotating
cache cached caches caching
team teams squad squads équipe équipes
log logs logged logging journaux journal
read reads reading lire lit lue lus
"""
# Words with a particle that are also written as one: "sign in", "times out".
_JOINED: Final = {
    **dict.fromkeys(("sign in", "signs in", "signed in", "signing in", "log in"), "login"),
    **dict.fromkeys(("logs in", "logged in", "logging in"), "login"),
    **dict.fromkeys(("time out", "times out", "timed out"), "timeout"),
    **dict.fromkeys(("roll out", "rolls out", "rolled out"), "deploy"),
    **dict.fromkeys(("back up", "backs up", "backed up"), "backup"),
    **dict.fromkeys(("look up", "looks up", "looked up"), "lookup"),
    **dict.fromkeys(("sign off", "signs off", "signed off"), "approve"),
    **dict.fromkeys(("pull request", "pull requests"), "pr"),
    **dict.fromkeys(("merge request", "merge requests"), "pr"),
    **dict.fromkeys(("without activity", "no activity", "sans activité"), "idle"),
    **dict.fromkeys(("two-factor authentication", "two factor", "second factor"), "2fa"),
    **dict.fromkeys(("multi-factor authentication", "multifactor authentication"), "2fa"),
    **dict.fromkeys(("double authentification", "second facteur", "deux facteurs"), "2fa"),
}


def _build() -> dict[str, str]:
    found: dict[str, str] = {}
    for row in _ROWS.strip().splitlines():
        first, *others = row.split()
        term = (terms_of_word(first) or (first,))[0]
        for word in (first, *others):
            found.setdefault(word, term)
    return found


_SAME: Final = _build()


@lru_cache(maxsize=8_192)
def read_word(written: str) -> tuple[str, ...]:
    """Return the terms of a word and of its parts, each as the first word that says the same."""
    if same := _SAME.get(written):
        return (same,)
    parts = tuple(_SAME.get(part, "") for part in written.split("-")) if "-" in written else ()
    found = (*terms_of_word(written), *(part for part in parts if part))
    return tuple(dict.fromkeys(found))


def join_words(first: str, second: str) -> str:
    """Return the term of two words that are also written as one; empty if they are not."""
    joined = _JOINED.get(f"{first} {second}")
    return terms_of_word(joined)[0] if joined else ""
