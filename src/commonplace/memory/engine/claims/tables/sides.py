"""Ways to take one of two sides of a matter: "soft delete" and "removed for good"."""

from __future__ import annotations

from typing import Final

# Groups of words that several patterns below have.
GROUPS: Final = {
    "@need": r"(?:needs?|requires?|wait\w* for|must have|without|nécessite|exige|attend\w*|sans)",
    "@article": r"(?:the |an? |l'|la |une |their |her |his |any |explicit |prior |\w+'s )*",
    "@approval": (
        r"(?:approval|sign.?off|agreement|consent|validation|accord|contresignature|approbation"
        r"|relecture|review|go.ahead|permission|autorisation)"
    ),
    "@approved": (
        r"(?:approved|validated|signed off|reviewed|validée?s?|approuvée?s?|signée?s?|relue?s?)"
    ),
}
# A kind, and below it its sides: regular expressions for text in small letters. A side goes on
# where a line ends with a semicolon.
SIDES: Final = r"""
deletion
  soft.delete\w*; deleted_at; marked as deleted; flagged as deleted; only hidden; is_deleted flag;
  suppression logique; marquée?s? comme supprimée?s?; keeps the row; simplement masquée?s?;
  effacement logique
  hard.delete\w*; sql delete; (?:removes?|removed|erases?|deletes?) the rows?; efface la ligne;
  rien ne peut être restauré; nothing can be restored; delete with cascade\w*; really gone;
  delete from;
  physically (?:delete|remove|erase|wipe)\w*; row is (?:really |physically )?(?:removed|deleted);
  deleted for good; permanently (?:delete|remove|erase)\w*; delete\w* (?:\w+ )?permanently;
  suppression physique; physiquement (?:supprimée?s?|effacée?s?);
  définitivement (?:supprimée?s?|effacée?s?); nothing to recover; cannot be (?:restored|recovered);
  effacée?s? définitivement; supprimée?s? définitivement; no soft delete
numbering
  zero.based; 0.based; (?:starts?|begins?|counts?|numbered) (?:at|from|with) (?:0|zero);
  (?:commence|numérotée?s?|part|débute) (?:à|par|de) (?:0|zéro); first \w+ is (?:0|zero)
  one.based; 1.based; (?:starts?|begins?|counts? \w+|numbered|counts?) (?:at|from|with) (?:1|one);
  (?:commence|numérotée?s?|part|débute) (?:à|par|de) (?:1|un)
failure
  fails? open; failing open;
  lets? (?:all|every|everything|them|traffic|the) ?\w* ?(?:requests? )?through
  fails? closed?; failing closed; refuses? (?:all|every)\w*;
  (?:each|every|all) requests? (?:is|are) (?:refused|rejected|denied)
waiting
  synchronous(?:ly)?; synchrones?; while the (?:user|caller|client) waits; in the (?:same )?request;
  blocking call; inline; waits for the (?:answer|reply|response|result)
  asynchronous(?:ly)?; async(?:hrones?)?; in the background; en arrière.plan; fire.and.forget;
  asynchrones?; does not wait; through (?:a|the) queue; non.blocking; without waiting;
  en tâche de fond; hands? (?:it|them|the \w+) to (?:a|the) (?:queue|worker)
who starts it
  by hand; manual(?:ly)?; manuel(?:le)?s?(?:ment)?; à la main; someone (?:has to|must|clicks);
  clicks? (?:the )?(?:button|approve); never (?:\w+ )?automatic\w*;
  by an? (?:operator|engineer|admin);
  (?:operator|engineer|developer|person) (?:runs|starts|triggers|launches) (?:it|them|the)
  automatic(?:ally)?; automated; on (?:its|their) own; automatiques?; automatiquement;
  tout seule?s?; without (?:anyone|anybody|human|manual)\w*; generated (?:from|by|out of);
  générée?s? (?:à partir|par|depuis); itself; by (?:a|the) (?:script|bot|robot|pipeline|job)
need
  mandatory; required; compulsory; obligatoires?; must (?:always )?(?:be|have|contain|carry);
  cannot be (?:omitted|left out|empty|skipped); imposée?s?; obligatoirement; impérativement;
  must(?! not| never| only); doi(?:t|vent)(?! pas| jamais| seulement);
  enforced; exigée?s?; indispensables?; (?:is|are) a must; have to be (?:present|set|filled);
  has to be (?:present|set|filled|given); no (?:one|user|account) (?:is exempt|without)\w*;
  (?:on|you|we|they) (?:have|has|need|needs) to (?:use|wear|fill|enter|provide|set|enable);
  (?:is|are) not optional
  optional; not required; facultati\w+;
  may be (?:omitted|left out|left empty|empty|skipped|missing);
  can be (?:omitted|left out|left empty|skipped); not mandatory; optionnel(?:le)?s?;
  no need (?:to|for); not needed; voluntary;
  if (?:you|they|he|she|the \w+) (?:wants?|likes?|wish\w*);
  not enforced; pas (?:obligatoires?|exigée?s?|imposée?s?|nécessaires?|requise?s?); au choix;
  (?:do|does|need) not (?:need|have|require)(?: to| an?| any)?; (?:don't|doesn't) (?:need|have to);
  need(?:s)? not; n'(?:a|ont) pas besoin; n'est pas (?:tenue?|obligée?); dispensée?s?;
  non (?:obligatoires?|requise?s?); recommended but not\w*; only recommended; merely recommended;
  (?:peut|peuvent) être (?:omise?s?|laissée?s? vides?); à la discrétion;
  up to (?:you|each|the user);
  nice to have; (?:is|are) not (?:compulsory|obligatory|necessary|a must); left to (?:you|each|the)
strictness
  strict mode is on; strict": true; strict ?[=:] ?true; in strict mode; strict mode on;
  with strict mode; mode strict activé; en mode strict
  strict mode is off; strict": false; strict ?[=:] ?false; without strict mode; not in strict mode;
  strict mode off; sans mode strict; strict(?: mode)? is (?:off|disabled); mode strict désactivé;
  non strict
visibility
  is public; are public; publicly (?:visible|readable|available|accessible); open to everyone;
  anyone can (?:see|read|view); sans authentification;
  without (?:a )?(?:login|authentication|logging in); world.readable;
  visible (?:to|by) (?:all|everyone|anyone); accessibles? (?:à tous|publiquement);
  ouverte?s? à tous; no (?:login|authentication|token) (?:is )?(?:needed|required)
  is private; are private; behind (?:the )?(?:login|vpn|sso); logged.in (?:users|people) only;
  needs? (?:a )?(?:login|token|vpn); requires? (?:a )?(?:login|token|authentication|vpn);
  only (?:visible|readable) (?:to|by|for); réservée?s? aux?; derrière le vpn;
  authentification obligatoire; must be (?:logged in|authenticated)
change
  immutable; append.only; never (?:be )?(?:changed|edited|updated|modified|overwritten|rewritten);
  cannot be (?:changed|edited|updated|modified); read.only; write.once; immuables?;
  jamais modifiée?s?; en lecture seule; non modifiables?
  mutable; editable; can be (?:changed|edited|updated|modified|overwritten);
  may be (?:changed|edited|updated|modified|overwritten); updated in place; overwritten;
  edit\w* in place; modifiables?; peu(?:t|vent) être (?:modifiée?s?|changée?s?|corrigée?s?);
  overwrites?; écrasée?s?
writing
  appends?; appended to; adds? to the end; ajoutée?s? à la (?:fin|suite)
  overwrites?; overwritten; replaces? the (?:whole )?(?:file|content|table|old); écrase; écrasée?s?;
  truncates?; remplacée?s? entièrement
loading
  eager(?:ly)?; at start(?:up)?; up front; on start(?:up)?; au démarrage; préchargée?s?; preloaded;
  at upload; ahead of time; à l'avance; at boot; when the (?:app|process|service|server) starts
  lazy; lazily; on demand; on first (?:use|access|request|call); à la demande; à la volée;
  au premier (?:accès|appel); paresseu\w+; when (?:first )?needed; only when; on the fly;
  when (?:it|they) (?:is|are) first \w+; the first time
guarantee of order
  (?:arrive|delivered|come|received|processed|sent) in order; in the order (?:of|they|in which)\w*;
  order is (?:guaranteed|kept|preserved); strictly ordered; dans l'ordre; ordre garanti; sorted by
  out of order; no (?:guarantee|particular order)\w*; in any order; unordered;
  never assume the order; dans le désordre; ordre non garanti;
  order is not (?:guaranteed|kept|preserved); no guarantee on order
defect
  (?:is|was|has been|are) (?:now )?(?:fixed|corrected|solved|resolved|repaired); no longer occurs?;
  no longer happens?; est corrigée?s?; ne se produit plus; a été corrigée?s?; résolue?s?;
  does not occur any more; fixed (?:since|in|by|with|now);
  no longer (?:fails?|crashes|leaks|breaks);
  works (?:again|fine|now|since); without (?:crashing|failing|errors?|blocking|leaking);
  corrigée?s? (?:depuis|dans|en|par); stable (?:again|since|now);
  (?:has|have) (?:now )?been (?:fixed|corrected|solved|resolved|repaired); went away;
  ne (?:plante|bloque|casse|fuit) plus; fonctionne (?:à nouveau|de nouveau|depuis); gone since;
  the fix (?:is|was) (?:in|out|released|shipped|merged|deployed)
  (?:not|never) (?:been )?(?:fixed|corrected|solved|resolved);
  still (?:lost|happens?|occurs?|crashes|fails|broken|open|leaks|missing|there); remains? open;
  toujours (?:présente?|ouverte?|là|cassée?); n'est (?:pas|toujours pas) corrigée?;
  se produit (?:encore|toujours); unresolved; no fix; unfixed; there is no (?:fix|solution|cure);
  (?:is|are) still (?:not )?(?:there|open|flaky|wrong|slow|unsolved|unstable|being investigated);
  known (?:bug|issue|problem|defect|limitation); pas (?:encore )?(?:de correctif|corrigée?s?);
  aucun (?:correctif|contournement); won.t fix; not (?:yet )?(?:solved|fixed|resolved|corrected);
  keeps (?:crashing|failing|leaking|breaking|happening); awaiting a fix; en attente de correctif
test data
  copy of (?:the |our )?(?:live|real) data; real (?:customer |user )?data; vraies données;
  dump of (?:the )?production; données réelles; copy of the production; anonymi[sz]ed;
  anonymisée?s?; pseudonymi[sz]ed; masked copy; copy of production;
  copie de (?:la )?production
  (?:entirely |fully )?synthetic; generated (?:data|by); fictive?s?; données générées; imaginary;
  jeu(?:x)? de données (?:fictifs?|synthétiques?); synthétiques?; made.up; anonymi[sz]ed or not;
  even anonymi[sz]ed; même anonymisée?s?; anonymisée?s? ou non
autoscaling
  fixed number; no autoscaler; without autoscal\w+; nombre fixe; not autoscaled; static number;
  constant number
  autoscal(?:er|ing|ed|es)(?: \w+)?; hpa; scales? (?:up|out|automatically|between);
  mise à l'échelle automatique; grows and shrinks; scaled automatically
rollback
  (?:rolls?|goes|going|falls) back (?:to|on its|automatically)\w*;
  automatic(?:ally)? (?:rollback|rolled back|return\w*|revert\w*); retour arrière automatique;
  reverts? (?:to|automatically)\w*; revient à (?:la|l')\w*
  no automatic (?:rollback|return|revert); no rollback; (?:never|not) (?:rolled|rolls?|goes) back;
  somebody must; aucun retour arrière; pas de retour arrière; no way back; forward only;
  fix forward; roll forward
copies
  single copy; only one copy; no replica\w*; une seule copie; not replicated; no second copy
  replicated; replicas? in; copied to; dupliquée?s?; répliquée?s?; mirrored
stop
  hard stop; blocks? the; cannot (?:go past|continue|proceed|override); (?:is|are) blocked;
  bloquante?s?; est bloquée?; the build fails; makes the build fail; fails the build; faute de quoi;
  must (?:pass|be green|succeed); ha(?:s|ve) to (?:pass|be green|succeed);
  blocks? (?:every|any|each);
  blocking; fails? the (?:pipeline|job);
  doi(?:t|vent) (?:passer|être verte?s?|réussir); breaks the build;
  (?<!not )(?<!never )blocks? merg\w+
  only a warning; (?:can|may) (?:be )?(?:overrid\w+|continue|proceed|ignore\w*|bypass\w*);
  warns?(?: only)?; non bloquante?s?; just a warning; does not block; doesn't block;
  informati\w+ only; lets? the \w+ through; simple avertissement; passe outre;
  never fails the (?:build|pipeline|job); (?:only|just) warns?; informati(?:ve|onal);
  ne bloque(?:nt)? pas; do not block; don't block;
  never blocks?;
  allowed to fail; may fail; can fail; non.blocking; advisory; indicati(?:f|ve)s?;
  peu(?:t|vent) échouer; informational; only (?:inform\w*|report\w*); not blocking
paging
  page and size; page numbers?; offset and limit; page parameter; limit.offset; numéros? de page;
  page=
  cursors?; keyset; curseurs?
order of time
  oldest first; fifo; first.in.first.out; ascending; croissante?s?; les plus anciens? d'abord;
  du plus ancien; chronological; in order of arrival; earliest first; a.z order; ordre croissant;
  plus ancienne? en premier
  newest first; lifo; last.in.first.out; descending; décroissante?s?; les plus récente?s? d'abord;
  du plus récent; latest first; most recent first; ordre décroissant; plus récente? en premier;
  reverse chronological
bounds
  inclusive; included; incluse?s?; compris\w*; belongs to the range; up to and including
  exclusive; excluded; exclue?s?; non compris\w*; not included; half.open; does not include
scope
  per user; per.user; for each user; par utilisateur; each user (?:has|gets); par client;
  each customer; per customer; per tenant; per.tenant; par locataire;
  one per (?:tenant|customer|user)
  global(?:ly)?; for everyone; shared by all; shared (?:across|between); globale?s?;
  commune? à tous; for all users; partagée?s?; one for all; a single shared; system.wide
side
  client.side; in the browser; on the client; côté client; in the app; dans le navigateur;
  on the device; sur l'appareil
  server.side; on the server; côté serveur; in the backend; by the backend; sur le serveur;
  by the server; dans le backend; by the api
secrecy
  encrypted; chiffrée?s?; crypté?e?s?; over tls; end.to.end; https only; sur tls; de bout en bout
  plain ?text; in clear; in the clear; en clair; unencrypted; not encrypted; plain http;
  en http simple; non chiffrée?s?; without encryption; sans chiffrement
tls
  s'arrête au (?:répartiteur|proxy);
  terminated (?:at|on|by) the (?:load balancer|proxy|edge|ingress);
  ends? at the (?:load balancer|proxy|edge|ingress); termine[sd]? tls at the
  terminated (?:in|inside|by) (?:each|the|every) (?:pod|app|service|backend|container)\w*;
  passes? tcp through; tls passthrough; de bout en bout; end.to.end; passthrough
compressed
  compresse[sd]; is compressed; gzipped; with gzip; compressée?s?; gzip is on;
  compression is (?:on|enabled)
  uncompressed; not compressed; compression is (?:switched |turned )?(?:off|disabled);
  without compression; non compressée?s?; sans compression; no compression; full size
caching
  is cached; are cached; caches?; kept in (?:the )?cache; mise?s? en cache; en cache; dans le cache;
  cached for
  not cached; never cached; no.store; cache is (?:off|disabled); bypass\w* the (?:cache|cdn);
  without (?:a )?cach\w+; contourne\w* le (?:cdn|cache); jamais (?:mise?s? )?en cache; sans cache;
  uncached; no.cache; pas (?:mise?s? )?en cache;
  always (?:read|fetch\w*|go\w*) (?:from|to) the origin; hits? the origin
duplicates
  is unique; are unique; must be unique; unicité; est unique; sont uniques; identifies one;
  unique (?:index|constraint|across|per)
  not unique; duplicates are (?:allowed|possible); may (?:repeat|occur twice|appear twice);
  non unique; n'est pas unique; doublons (?:possibles|autorisés|acceptés);
  can (?:repeat|occur twice|appear twice|be duplicated)
emptiness
  never null; not null; non.null\w*; always (?:set|present|filled); jamais (?:null|vide|nulle);
  toujours (?:renseignée?s?|présente?s?|remplie?s?)
  nullable; can be null; may be null; can be (?:empty|missing|absent);
  may be (?:empty|missing|absent); peut être (?:null|nulle|vide|absente?);
  sometimes (?:null|empty|missing); parfois (?:null|vide|absente?)
case of letters
  case.insensitive; insensible à la casse; ignor\w+ (?:the )?case; ignore la casse;
  regardless of case; upper and lower case are the same
  case.sensitive; sensible à la casse; respecte la casse; distinguish\w* (?:upper|case);
  tient compte de la casse; exact case
threads
  thread.safe; can be shared (?:between|across|by) (?:all )?(?:threads|workers); safe to share;
  safe (?:for|under) concurrent
  not thread.safe; one per thread; not safe (?:to share|for concurrent|under)\w*; never share;
  own instance; must not be shared; not be shared;
  each (?:thread|worker) (?:has|needs|makes|creates|gets) (?:its|a)
repeat
  idempotent; repeating (?:it|the call) is harmless; safe to (?:retry|repeat|replay|call twice);
  can be (?:repeated|retried|replayed); sans effet supplémentaire; rejouable; retrying is safe
  not idempotent; must not be (?:repeated|retried|replayed); never (?:retry|repeat|replay);
  do not (?:retry|repeat|replay); each call (?:adds|creates);
  creates? (?:a )?(?:second|duplicate|another); non idempotente?;
  ne pas (?:rejouer|relancer|répéter)
retrying
  is retried; are retried; retries; retry; rejouée?s?; renvoyée?s?; nouvelles? tentatives?;
  retries? it; attempted again; relancée?s?; tries again
  never retried; not retried; no retr(?:y|ies); sans rejeu; only once; once only; tried once;
  no second try; one try; une seule fois; aucun rejeu;
  without retr\w+; no second attempt; gives? up at once; one attempt; jamais rejouée?s?;
  fails at once
steps
  before the (?:new )?(?:pods|rollout|roll.out|release|deploy\w*|version|code|app)\w*;
  before (?:new )?(?:pods|rollout|deploy\w*); avant le déploiement;
  avant la mise en (?:production|ligne); pre.upgrade; pre.deploy;
  (?:migrations?|migrates?) (?:run |runs |applied |go |goes )?first; avant les (?:nouveaux )?pods;
  prior to the (?:rollout|deploy\w*|release)
  after the (?:new )?(?:pods|rollout|roll.out|release|deploy\w*|version|code|app)\w*;
  after (?:new )?(?:pods|rollout|deploy\w*); après le déploiement;
  après la mise en (?:production|ligne); post.upgrade; post.deploy;
  once (?:all )?(?:the )?(?:new )?(?:pods|deploy\w*|rollout)\w*; as the last step;
  une fois (?:le )?(?:déploiement|les pods)\w*; après les (?:nouveaux )?pods;
  last step of the (?:deploy|release)\w*
way back of migrations
  (?:have|has|with|needs?|write|writes) an? (?:\w+ )?down (?:script|migration|method)\w*;
  reversible;
  avec (?:un|son) script (?:de retour|d'annulation); est réversible
  no down (?:script|migration|method)\w*; forward only; never revert\w*; not reversible;
  irreversible; (?:plus|pas|jamais) de script (?:de retour|d'annulation); irréversible
signing
  must be (?:\w+ )?signed; requires? (?:\w+ )?signed; signature is (?:required|mandatory);
  doi(?:t|vent) être signée?s?; signature obligatoire
  needs? no (?:\w+ )?signature; unsigned \w+ are (?:fine|accepted|allowed|welcome);
  signature is (?:optional|not (?:needed|required)); no need to sign; signature facultative;
  pas (?:besoin )?de signature; sans signature
approvals
  (?:must|has to|have to|needs? to) (?:first )?(?:approve|validate|sign off|review|agree);
  doi(?:t|vent) (?:d'abord )?(?:valider|approuver|signer|relire|donner);
  @need @article@approval (?:of|from|by|is|de|du|par|d'); @approved (?:first |d'abord )?(?:by|par);
  must be @approved; doi(?:t|vent) être @approved; has the last word; waits for;
  tant qu\w* .{0,30} (?:pas|n'a) .{0,20}@approved
  needs? no (?:\w+ )?@approval; without (?:\w+ )?review; without @article@approval;
  without asking; sans @article@approval; sans demander;
  (?:do|does) not (?:need|require) @article@approval(?: of| from| by)?;
  pas besoin (?:de |d')@article@approval;
  no @approval (?:is |are )?(?:needed|required|necessary); aucune @approval;
  decides? (?:alone|on (?:its|their) own); décide\w* seule?s?;
  nobody (?:else )?(?:has to|needs to|must)
presence
  always commit\w*; is committed; are committed; checked in; under version control; in git;
  versionnée?s?; commitée?s?; dans git; committed to
  gitignore\w*; never commit\w*; not committed; out of git; ignored by git; hors de git;
  not checked in; do not commit; don't commit; jamais commitée?s?; non versionnée?s?;
  not be committed; kept out of (?:git|the repo\w*)
counting
  per line; line by line; each line; ligne par ligne; à chaque ligne; par ligne
  on the total; of the total; once at the end; sur le total; une (?:seule )?fois; at the end only;
  au total
when
  real.?time; immediately; at once; instantly; right away; straight away; immédiatement;
  en temps réel; aussitôt; as soon as; on every (?:change|commit|push|merge|save); à chaque
  nightly; every night; once a (?:day|week|night|month);
  every (?:hour|day|week|sunday|monday|morning|evening)\w*;
  chaque (?:nuit|soir|jour|heure|semaine|dimanche|lundi)\w*; toutes les (?:heures|nuits|semaines);
  batch(?:es|ed)? (?:at night|overnight); overnight; la nuit; par lots?; weekly; hourly;
  une fois par (?:jour|semaine|nuit|mois)
rhythm of runs
  every night; nightly; each night; every evening; every day; daily; once a day;
  chaque (?:nuit|soir|jour|matin); tous les (?:soirs|jours|matins); toutes les nuits;
  une fois par jour; quotidien\w*
  weekly; every week; once a week; every (?:sun|mon|tues|wednes|thurs|fri|satur)day;
  each (?:sun|mon|tues|wednes|thurs|fri|satur)day; chaque semaine;
  chaque (?:dimanche|lundi|mardi|mercredi|jeudi|vendredi|samedi); que le (?:dimanche|lundi|samedi);
  une fois par semaine; hebdomadaires?; on (?:sun|satur)days only
  hourly; every hour; each hour; toutes les heures; chaque heure; once an hour; une fois par heure
  monthly; once a month; every month; each month; chaque mois; mensuel\w*; une fois par mois
fate
  (?:is|are|gets?) (?:silently )?(?:dropped|discarded|ignored|skipped|thrown away);
  (?:est|sont) (?:ignorée?s?|rejetée?s?|jetée?s?|écartée?s?)
  (?:is|are|gets?) (?:accepted|kept|processed|recomputed|repaired|retained);
  accepts? .{0,20}however; (?:est|sont) (?:acceptée?s?|conservée?s?|traitée?s?|reprise?s?)
combining
  cannot (?:be )?combine\w*; one (?:\w+ )?per order; non cumulables?; not (?:be )?combined;
  mutually exclusive; not cumulative; cannot be (?:stacked|added)
  can (?:be )?combine\w*; cumulables?; may (?:be )?combine\w*; stackable;
  several (?:\w+ )?(?:on|per) the same; can be (?:stacked|added)
default
  (?:on|enabled|active|activated) by default; opt.out; activée?s? par défaut; default is on;
  (?:on|enabled|active|sent|collected|shown) unless; enabled for everyone; on from the start;
  ticked by default; cochée?s? par défaut
  (?:off|disabled|inactive) by default; opt.in; désactivée?s? par défaut; default is off;
  nothing is (?:sent|collected|shared) (?:unless|until|before|without); off unless;
  not on by default;
  (?:has|have) to be (?:enabled|turned on|switched on|activated); only after (?:consent|opting in);
  must be (?:enabled|turned on|switched on|activated) (?:first|explicitly|by)\w*
layout of repositories
  monorepo; mono.repo; (?:one|single|same|shared) (?:big |git |common )?repo(?:sitory)?;
  dépôt (?:unique|commun); un seul dépôt; même dépôt
  polyrepo; (?:own|separate|dedicated|different) (?:git )?repo(?:sitory|sitories|s)?;
  one repo(?:sitory)? per; repo(?:sitory)? of its own; (?:propre|un) dépôt (?:par|pour chaque);
  dépôts? séparés?; son propre dépôt; repo(?:sitory)? per
hours
  around the clock; 24/7; 24 ?h(?:/| sur )24 ?h?; day and night; at all hours; jour et nuit;
  every hour of the day; at any (?:time|hour); à toute heure; 7 (?:jours )?(?:/|sur) ?7
  (?:office|business|working|opening) hours; on weekdays; on working days; heures ouvrées;
  (?:jours|heures) (?:ouvrés|de bureau|ouvrables|ouvrées); from \d+(?::\d\d)? to \d+; not at night;
  de \d+ ?h(?:\d\d)? à \d+ ?h; monday to friday; du lundi au vendredi; in the daytime
pinning
  pinned; exact versions?; fixed versions?; locked to; to a tag; épinglée?s?; versions? figée?s?;
  versions? exactes?; by digest; to (?:a|one) (?:commit|digest|sha)
  always (?:use |take |pull |follow )?(?:the )?(?:latest|newest); floating; follows? (?:the )?main;
  tracks? (?:the )?main; always follow\w*; latest tag; unpinned; not pinned; dernière version;
  caret ranges?; version ranges?; toujours la dernière; :latest
place of the version
  in (?:the |its )?(?:url|path|uri)s?; (?:url|path) prefix; in the url path; dans l'url; in urls;
  part of the (?:url|path); dans le chemin
  in (?:the |an? |its )?(?:\w+ )?headers?; with an? (?:\w+ )?header; through an? (?:\w+ )?header;
  dans (?:l'|un |une )en.tête; par (?:l'|un |une )en.tête; accept header; custom header; as a header
  query (?:string|parameter|param)s?; as a parameter; paramètre d'url; paramètre de requête
place of work
  (?:fully |entirely )?remote; work(?:s|ing)? from home; à distance; en télétravail; home office
  on.site; in the office; sur site; au bureau; in person; en présentiel; présentielle?s?;
  face.to.face
form of meeting
  in writing; written; asynchronous(?:ly)?; async; in (?:a|the) thread; par écrit; by message;
  in the channel; (?:status|update)s? (?:is|are) (?:posted|written)
  (?:a|the|daily|weekly|short) (?:\w+ )?call; meet\w* (?:every|each|in); in a meeting; de vive voix;
  en réunion; on a call; video call
draft of the change
  feature branch(?:es)?; branches? per; une branche par
  directly (?:to|on|onto|into) (?:main|master|trunk);
  straight (?:to|on|onto|into) (?:main|master|trunk);
  trunk.based; directement sur (?:main|master)
sending
  html (?:mails?|emails?|messages?)?; in html; as html
  plain.text (?:mails?|emails?|messages?)?; in plain text; as plain text; texte brut
charge
  free of charge; for free; (?:is|are) free; no (?:charge|fee|cost); gratuite?s?; sans frais;
  gratuitement; at no (?:cost|charge); not (?:charged|billed); costs nothing; offerte?s?
  charged; (?:is|are) billed; for a fee; (?:cost|costs) \d+; payante?s?; facturée?s?;
  (?:at|with) a fee;
  has to be paid; coûte(?:nt)? \d+; must be paid
renewal
  renew\w* automatically; automatically renew\w*; auto.renew\w*; reconduction tacite; tacitement;
  renouvelée?s? automatiquement; renewed automatically
  renewed by hand; no automatic renewal; (?:ends?|expires?|stops?) (?:unless|if not|without) \w+;
  must be renewed; not renewed; (?:is|are) not renewed automatically; sans reconduction;
  never renew\w*; aucune reconduction
sharing
  (?:one|a) shared (?:account|login|password|key|mailbox); compte (?:partagé|commun|générique);
  shared (?:account|login|password|key)s? (?:is|are); generic account; common account
  personal (?:account|login|key)s?; own (?:account|login|key)s?; individual (?:account|login|key)s?;
  comptes? (?:nominatifs?|personnels?|individuels?); no shared (?:account|login)s?; named accounts?
number of writers
  single writer; one writer; single leader; un seul écrivain; single primary
  multi.(?:leader|master|primary); several writers; multiple writers; active.active
standby
  active.passive; hot standby; warm standby; cold standby; failover only
  active.active; both (?:sites|regions) (?:serve|take)\w*
support
  (?:still |officially |fully )?supported; (?:still )?supports?; works? (?:on|with|in);
  est (?:encore |toujours )?prise?s? en charge;
  compatible with
  no longer (?:runs?|works?) (?:on|with|in); do(?:es)? not (?:run|work) (?:on|with|in);
  stopped supporting; no longer supports?; do(?:es)? not support; ne fonctionne(?:nt)? (?:pas|plus);
  no longer supported; not supported; unsupported; dropped support; end of life; deprecated;
  support (?:for .{1,40} )?(?:was|is|has been) (?:dropped|removed|ended|discontinued);
  (?:plus|pas) prise?s? en charge; dropped in; (?:has|have) dropped; obsolètes?;
  n'est plus support\w+;
  we (?:have )?dropped
language of the interface
  only in english; english only; anglais uniquement; uniquement en anglais; not translated
  several languages; multilingual; translated into; multilingue; in \d+ languages
payment time
  in advance; upfront; prepaid; d'avance; prépayée?s?; before delivery; à la commande
  in arrears; after delivery; on invoice; à terme échu; à réception; postpaid; after the service
keeping of drafts
  saved automatically; autosave\w*; auto.save\w*; enregistrée?s? automatiquement
  not saved; no autosave; must be saved; have to save; not saved automatically; has to click save;
  by clicking save; non enregistrée?s?
restart of numbers
  restarts? (?:at|from|with|every|each)\w*; starts? again (?:at|from|with|every|each)\w*;
  reset (?:every|each|to) \w+; repart(?:ent)? (?:à|de) (?:1|un|zéro|0); resets? (?:every|each)\w*;
  remise?s? à zéro
  never restarts?; continuous(?:ly)?; never reset\w*; run on; consecutive across; sans rupture;
  en continu; ne repart(?:ent)? jamais; not reset
reuse
  re.?used?; recycled; can be reused; réutilisée?s?; réutilisables?; recyclée?s?; given out again
  never re.?used; not re.?used; single.use; usage unique; jamais réutilisée?s?; à usage unique;
  only be used once; can be used once; used only once; one.time
visibility of names
  anonymous(?:ly)?; anonymes?; without (?:a |their )?names?; nameless
  with (?:their|the|full) names?; not anonymous; nominati(?:f|ve)s?; signed with the name
recording
  (?:is|are) recorded; enregistrée?s? en vidéo; recordings? (?:is|are) (?:kept|made|available)
  not recorded; never recorded; no recordings?; pas enregistrée?s?; jamais enregistrée?s?
guests
  guests? (?:can|may) (?:order|buy|check out|checkout); guest checkout; sans compte;
  without an account
  need an account; account (?:is )?required; must (?:register|sign up|log in|create an account)\w*;
  compte obligatoire; only registered; logged.in (?:customers|users) only; no guest checkout
rounding up
  rounded up; arrondie?s? au supérieur; round up; arrondie?s? vers le haut
  rounded down; arrondie?s? à l'inférieur; round down; truncated; tronquée?s?;
  arrondie?s? vers le bas
  rounded (?:to the nearest|half)\w*; arrondie?s? au plus proche
"""
