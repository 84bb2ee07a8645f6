"""The words by which statements are recognised: English first, German, French and Spanish too.

Patterns are searched in one sentence at a time, so their cost is bounded by its length.
"""

from __future__ import annotations

import re


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns), re.IGNORECASE)


QUESTION = _any(
    r"\?\s*[\"')]*$",
    r"^(?:should|could|can|would|do|does|did|is|are|shall|what|why|how|which|where|when|"
    r"who) (?:we|you|i|it|this|that|there|the)\b.*\?",
)
HEDGED = _any(
    r"\b(?:maybe|perhaps|might|probably|possibly|presumably|i think|i guess|i suspect|i assume|"
    r"it seems|seems? like|"
    r"could be|may be|not sure|unsure|let me (?:check|see|try|look|verify)|hypothes\w+|my guess|"
    r"likely)\b",
    r"\b(?:vielleicht|vermutlich|wahrscheinlich|könnte|peut-être|probablement|quizás?|tal vez|"
    r"probablemente)\b",
)
CONDITIONAL = _any(
    r"^(?:(?:and|but|so|well|ok(?:ay)?),? )?(?:if|suppose|assuming|in case|were we|what if|"
    r"imagine)\b",
    r"\b(?:would|could|might) (?:be|have|also|want|make|use|need|work|mean)\b",
    r"^(?:wenn|falls|si)\b",
    r"\b(?:we|you|i) (?:could|might|may)\b",
)
UNDECIDED = _any(
    r"\b(?:haven'?t|have not|not yet|didn'?t|did not|don'?t|do not|can'?t|cannot|hard to|"
    r"let'?s not|need to|have to|must|to be|"
    r"before we|until we|should|help (?:me|us)|you|who|whoever) decid\w*",
    r"\bundecided\b",
    r"\bstill (?:discussing|deciding|debating|open)\b",
    r"\bno decision\b",
    r"\b(?:noch nicht entschieden|pas encore décidé|aún no)\b",
)
# Limited to the task at hand: not a rule for later sessions.
FOR_NOW = _any(
    r"\b(?:for now|right now|just this once|this (?:time|once|one)|today|temporar\w+|"
    r"for the moment|for the time being|"
    r"in this (?:pr|commit|change|session|branch|task|case|function|test|file|step)|until (?:i|we|"
    r"the|it|that)|"
    r"(?:need|needs|have|has|must|should) (?:to )?be (?:moved|fixed|renamed|updated|deleted|"
    r"removed|changed|migrated|converted|replaced|rewritten|restarted|ported)(?! (?:within|before|"
    r"after|when|whenever|if|on every))|"
    r"as a (?:quick|temporary) \w+|first,? (?:just|only)|only (?:here|this))\b",
    r"\bnow[.!]?$",
    r"\b(?:vorerst|erstmal|diesmal|heute|pour l'instant|cette fois|por ahora|esta vez|hoy)\b",
)
REPORTED = _any(
    r"\b(?:says?|said|states?|stated|claims?|according to|reads|wrote|writes|documented as|"
    r"the (?:docs?|readme|documentation|article|message|comment|log) )\b.{0,40}(?:\"|“|that\b|:)",
    r"\b(?:ignore|disregard) (?:all |any )?(?:previous|prior|earlier|above) (?:instructions|rules|"
    r"messages)\b",
)
REVERSED = _any(
    r"^(?:(?:oh|hm+|ok(?:ay)?|no|wait)[,.!]? )*(?:actually|scratch that|on second thought|"
    r"never ?mind|forget (?:that|it|what i said)|wait,? no|"
    r"i changed my mind|let'?s (?:not|undo|revert|go back)|undo that|ignore what i said|"
    r"doch nicht|finalement|en realidad|mejor no)\b",
)

# Rules.
_GENERAL_START = (
    r"^(?:(?:no|ok(?:ay)?|and|but|so|also|again|well|oh|hey|yes|great|good|thanks|please|btw|"
    r"by the way|one more thing|"
    r"important|note|reminder|rule|remember|listen|general rule|new rule|"
    r"for the record)\b[,:;.!—\u2013-]* )*"
)
RULE = _any(
    _GENERAL_START
    + r"(?:please )?(?:always|never|do not ever|don'?t ever|under no circumstances)\b(?! mind)",
    r"\b(?:you|we|everyone|agents?|developers?|contributors?|people) (?:(?:should|must|shall|"
    r"need to|have to|will|are to|can) )?(?:always|never)\b",
    r"\b(?:must|shall|may|needs? to|has to|have to) (?:always|never)\b",
    r"^(?!(?:the|this|that|it|its|i) )(?:[\w`-]+ ){1,5}?(?:should|can) (?:always|never)\b",
    r"\b(?:from now on|from here on|going forward|from this point on|in (?:the )?future,|"
    r"in future\b|for future (?:sessions|reference|changes|work|prs?))",
    r"^(?:please )?(?:make sure|ensure|be sure|remember|take care|try) (?:to |that |you |we |"
    r"it )?.{0,30}?\b(?:always|never|every time|each time|whenever|"
    r"every (?:new )?(?:commit|pr|pull request|file|test|function|endpoint|migration|release|"
    r"change|module|component|query|handler))\b",
    r"\b(?:every|each|any|all) (?:new )?(?:commits?|prs?|pull requests?|files?|tests?|functions?|"
    r"endpoints?|migrations?|releases?|changes?|modules?|components?|"
    r"quer(?:y|ies)|handlers?|class(?:es)?|models?|tables?|branch(?:es)?|dates?|times?|"
    r"timestamps?|errors?|exceptions?|apis?|routes?|strings?|secrets?|logs?|dependenc(?:y|ies)|"
    r"scripts?|docs?)"
    r"\b.{0,60}\b(?:must|needs?|has to|have to|should(?! pass| work| be (?:fine|green|ok))|shall|"
    r"goes? (?:in|under|through)|are to|is to|gets?)\b",
    r"\b(?:in|for|across|throughout) (?:this|our|the|these) (?:whole |entire )?(?:repo(?:sitory)?|"
    r"project|codebase|code base|team|company|org(?:ani[sz]ation)?|monorepo|service|package)s?\b"
    r".{0,80}\b(?:use|we|must|should|don'?t|do not|never|always|prefer|only|no)\b",
    r"\b(?:we|our team|the team) (?:(?:don'?t|do not|only|never|always|generally|"
    r"usually) (?:ever |really )?(?:use|mock|commit|push|merge|allow|write|add|hardcode|hard-code|"
    r"put|store|log|import|ship|"
    r"deploy|edit|touch|accept|release|squash|rebase|test|catch|throw|return|build|do|keep|name|"
    r"create|run|depend|cache|nest|inherit|ignore|skip)|avoid|require|"
    r"insist on)\b(?!.{0,40}\b(?:want|need) to\b)",
    r"^(?!(?:the|this|that|these|those|it|you|i|we|there|he|she|my|your|some|his|her|then|"
    r"so) )(?:[\w`/.-]+ ){0,3}?[\w`/.-]*[a-z]s`? (?:must|have to|need to|may not|may never|"
    r"may only|should never|should always|should not|are (?:always|never))\b",
    r"^no [\w `/.-]{3,60}? (?:in (?:this|our|the|any) [\w-]+|anywhere|allowed|ever|at all|"
    r"without)\b",
    r"^(?:please )?(?:keep|use|write|put|name|format|avoid|store|place|call|wrap|test|log|return|"
    r"throw|raise|define|declare|document|sort|split|import|run|do not|don'?t|"
    r"never)\b.{0,100}\b(?:(?:in|for|across|throughout|to|into) (?:this|our) (?:whole |"
    r"entire )?(?:repo(?:sitory)?|project|codebase|code base|team|monorepo|package|service|"
    r"code)s?|everywhere|across the board|without exception)\b",
    r"\b(?:should|must|shall|are|is)\b.{0,80}\b(?:in|across|throughout) (?:this|our) (?:whole |"
    r"entire )?(?:repo(?:sitory)?|project|codebase|code base|monorepo)\b(?<!\?)",
    r", (?:always|without exception|no exceptions)[.!]?$",
    r"\b(?:that|this|it) is (?:our|the|a) (?:\w+ )?(?:policy|convention|rule|standard)\b",
    r"\bno [\w -]{3,40} anywhere\b",
    r"^new [\w `-]{2,40}? (?:go|goes|belong|belongs|live|must|should|need|needs|have to|get|"
    r"are (?:placed|put|written|added))\b",
    r"\bfor (?:all|every|any) (?:\w+ ){1,3}?we (?:use|write|keep|put|run|follow|require)\b",
    r"\bfor the future\b|\bfor all (?:future|later|further) \w+",
    r"\b(?:our|the|team|house|project) (?:convention|policy|rule|standard|guideline|style guide|"
    r"practice|norm)\b.{0,20}(?:\bis\b|\bare\b|:|\bsays\b|\brequires\b)",
    r"^(?:rule|convention|policy|guideline|standard)s?(?: for \w+)?:",
    r"^(?:please )?(?:stop|quit) (?:adding|using|writing|doing|putting|creating|committing|"
    r"pushing|mocking|importing|making|running|editing|changing|renaming|calling|generating|"
    r"leaving|wrapping)\b",
    r"\b(?:i (?:already )?told you|how many times|i keep (?:telling|asking)|"
    r"as i said before)\b.{0,80}\b(?:use|don'?t|do not|never|always|not|run)\b",
    r"^(?:no[,.!]? )(?:please )?(?:we|here we|this (?:repo|project)) (?:use|run|write|keep|put|"
    r"have)s?\b.{0,60}\b(?:not|never|instead|rather)\b",
    r"^(?:please )?(?:do not|don'?t|never) (?:commit|push|merge|edit|touch|modify|use|add|mock|"
    r"hardcode|hard-code|log|deploy|force[- ]push|import|write|store|run|delete|bump|change|"
    r"rename|disable|skip|call|create|put|reformat)\b"
    r".{0,120}\b(?:ever|directly|by hand|manually|anywhere|in (?:this|our|the) (?:repo|project|"
    r"codebase|tests?|code)|in (?:tests|production|prod|general|migrations|components|handlers)|"
    r"without (?:asking|a|an|running|review|approval|tests?)|"
    r"to (?:main|master|production|prod)|on (?:main|master|production|prod))\b",
    r"\bwhen (?:you|we|someone|anybody|anyone) (?:add|change|edit|touch|write|create|commit|push|"
    r"release|rename|modify|update|deploy|bump|delete|introduce|merge|open|"
    r"generate)\b[^,]{0,80}, (?:also |please |always |then |you (?:must|should|have to|"
    r"need to) )?(?:also )?(?:add|update|run|regenerate|bump|write|check|ask|use|put|tell|open|"
    r"create|mention|document|test|remove|include|rebuild|make)\b",
    r"\b(?:whenever|every time|each time|any time) (?:you|we|someone|anybody|anyone) (?:add|"
    r"change|edit|touch|write|create|commit|push|release|rename|modify|update|deploy|bump|delete|"
    r"run|introduce|merge|open|generate)\b",
    r"\b(?:is|are) (?:strictly )?(?:forbidden|prohibited|not allowed|banned|mandatory|"
    r"off[- ]limits|required for (?:all|every|any))\b",
    r"\bwe (?:use|write|keep|put|name|format|run) .{1,80}?(?:,| —| -|;)? (?:not|never|instead of|"
    r"rather than) ",
    r"^(?:please )?prefer .{1,80} (?:over|to|instead of|rather than) ",
    r"\b(?:as a (?:general )?rule|by (?:convention|policy)|rule of thumb)\b",
    # German
    r"\b(?:ab (?:jetzt|sofort|nun)|in zukunft|künftig)\b",
    r"^(?:bitte )?(?:immer|niemals|nie)\b",
    r"\b(?:müssen|sollen|dürfen|muss|soll|darf|werden|sind|gehören|"
    r"kommen) (?:[\w-]+ ){0,3}?(?:immer|niemals|nie|nur)\b",
    r"^keine? .{3,60} (?:in|im) ",
    r"\b(?:wir|du|ihr|man|bitte) (?:\w+ ){0,4}(?:immer|niemals|nie|nur|kein(?:e|en)?)\b.{0,80}",
    r"^(?:bitte )?(?:verwende|benutze|nutze|schreibe?|committe|pushe|ändere) .{0,80}\b(?:immer|"
    r"niemals|nie)\b",
    # French
    r"\b(?:à partir de maintenant|désormais|dorénavant|à l'avenir)\b",
    r"^(?:toujours|jamais|ne jamais|il (?:ne )?faut (?:toujours|jamais))\b",
    r"\b(?:n'|ne )\w+ jamais\b",
    r"\b(?:utilise[zr]?|faut|lance[zr]?|écri(?:s|vez|re)) (?:\w+ ){0,2}toujours\b",
    r"\b(?:on|nous|vous|tu) (?:\w+ ){0,3}toujours\b",
    # Spanish
    r"\b(?:de ahora en adelante|a partir de ahora|en el futuro|en adelante)\b",
    r"^(?:por favor,? )?(?:siempre|nunca|jamás)\b",
    r"\b(?:nosotros|debes?|hay que|usamos|tienes que) (?:\w+ ){0,3}(?:siempre|nunca)\b",
)
# `it always fails` describes; `always run` asks.
DESCRIBES = _any(
    r"\b(?:it|this|that|they|he|she|which|test|tests|build|server|function|method|call|job|query|"
    r"response|result|script|code|value|page|app|ci|api|endpoint|variable|field|command|loop|"
    r"thread|request|bug|error|\w+s) (?:was |were |is |are |has |had |have |will |"
    r"would )?(?:always|never) "
    r"(?:\w+s\b|\w+ed\b|been|be|null|true|false|empty|the|a|an|works?|gets?|in|on|at|run|set|ran|"
    r"ha[ds]|there|zero|failing|\w+ing\b)",
    r"\b(?:i|we)(?:'ve| have| had)? (?:always|never) (?:\w+ed|seen|been|had|knew|thought|heard|"
    r"noticed|understood|got|worked|liked|used to|remember)\b",
    r"^(?:i|it) (?:always|never)\b",
    r"\b(?:almost|nearly) (?:always|never)\b",
)

# Decisions.
DECIDED = _any(
    r"\b(?:we|i|team|they)(?:'ve| have| has)?(?: (?:all|now|finally|just|also|"
    r"therefore))? (?:decided|agreed|settled on|concluded|opted|chose|picked|went with(?! (?:you|"
    r"me|him|her|them|us))|ruled out|are going with|are sticking with|are standardi[sz]ing on)\b",
    r"\b(?:we|i)'(?:re|m|ll) (?:going|go|sticking|stick|standardi[sz]ing) (?:with|on)\b",
    r"\b(?:the )?(?:final )?(?:decision|verdict|resolution)(?: (?:is|was)|:)",
    r"^decided\b",
    r"^agreed[,:] (?!(?:but|let me|i'?ll|thanks|please)\b)",
    r"\bit(?:'s| is| was) (?:decided|settled|agreed)\b",
    r"\b(?:wir haben (?:uns )?(?:\w+ ){0,6}(?:entschieden|beschlossen|geeinigt)|entscheidung:|"
    r"wir (?:nehmen|bleiben bei|verwenden|setzen auf|entscheiden uns))\b",
    r"\b(?:(?:nous avons|on a|j'ai) (?:\w+ )?(?:décidé|choisi|retenu|opté)|décision ?:|on (?:part|"
    r"reste) (?:sur|avec)|on garde)",
    r"\b(?:(?:hemos |he )?(?:decidido|decidimos|elegido|elegimos|optado|acordado|acordamos)|"
    r"decisión:|nos quedamos con|vamos a usar|vamos con)\b",
)
PROPOSED = _any(  # a decision if it has a reason or an alternative
    r"\blet'?s (?:go|use|keep|stick|switch|adopt|move|drop|standardi[sz]e|pick|choose|take|do|"
    r"make|store|put|build|have|stay|target|split|avoid|write)\b",
    r"\b(?:we|i)(?:'ll| will| shall) (?:go with|use|keep|stick|switch|adopt|move to|drop|pick|"
    r"take|store|stay|target)\b",
    r"^(?:ok(?:ay)?,? |yes,? |right,? |good,? |alright,? |then |fine,? |no,? )*(?:go with|"
    r"stick with|keep|use|pick|choose|take) ",
    r"\bi (?:want|prefer) (?:us |to |you to )?(?:go with|use|keep|stick with|switch to) ",
    r"^(?:bleiben wir bei|nehmen wir|lass uns|gardons|utilisons|prenons|usemos|mantengamos)\b",
)
CONTRAST = _any(
    r"\b(?:instead of|rather than|over (?:the )?[\w`'-]+|in favou?r of|not (?:on |in |with |a |"
    r"the |an )?[`\w]|and not|versus|vs\.?|statt|anstatt|anstelle|und nicht|nicht|au lieu d|"
    r"plutôt qu|et pas|en lugar de|en vez de|y no)",
    r"\b(?:drop|ruled out|against|without|away from|back to|no longer|stay with|stick with|"
    r"keep using|bleiben bei|reste)\b",
)
REASON = _any(
    r"\b(?:because|since|so that|due to|given that|as (?:it|they|we|the|this|that|[\w-]+ (?:is|"
    r"are|has|have|does|can|makes|needs))|the reason|otherwise|that way|which (?:means|lets|"
    r"avoids|keeps|gives|makes)|to (?:avoid|keep|reduce|prevent|support|save|simplify|ensure|stay|"
    r"make)|"
    r"weil|denn|da |damit|wegen|parce qu|car |puisque|afin|pour (?:éviter|que|garder|rester)|"
    r"porque|ya que|para (?:evitar|que|no)|puesto que)",
    r"[;,] (?:it|they|we|the|this|that)\b.{0,40}?\b(?:is|are|don'?t|do not|already|has|have|"
    r"needs?|can'?t|cannot|only|would|doesn'?t|uses?|knows?|helps?|stays?|costs?)\b",
    r"; (?:one|two|no|another|a|it|they|we|the|this|that)\b",
    r" (?:—|\u2013|-) (?:it|they|we|the|this|that|no|too|already|simpler|faster|cheaper)\b",
    r": (?:it|they|we|the|this|that|no|too|already|simpler|faster|cheaper)\b",
)

# Causes and fixes.
CAUSE = _any(
    r"\b(?:root )?cause(?: of \S.{0,60}?)? (?:is|was|turned out|:)",
    r"\broot cause\b",
    r"\bculprit\b",
    r"\b(?:the|actual|real|underlying|main|core) (?:\w+ )?(?:problem|issue|bug|reason|failure|"
    r"error|mistake|trouble|catch|trick) (?:here )?(?:is|was|turned out|turns out|comes? from|"
    r"came from|lies)\b",
    r"\b(?:it )?turn(?:s|ed) out\b",
    r"\b(?:was|were|is|are|been|got) (?:caused|triggered|broken|introduced) by\b",
    r"\b(?:fail(?:s|ed|ing)?|broke(?:n)?|breaks|crash(?:es|ed)?|happen(?:s|ed)|occur(?:s|red)|"
    r"hang(?:s)?|hung|errors?|errored|raised|refused?s?|rejects?|rejected|missing|dead-?locked|"
    r"timed out|time[sd]? out) (?:\w+ ){0,6}?(?:because|since|due to|as|when(?:ever)?)\b",
    r"\bbecause\b.{0,200}\b(?:was|were|is|are|did|does|had|has|doesn'?t|didn'?t|isn'?t|wasn'?t|"
    r"cannot|can'?t|never|no longer|expects?|needs?|requires?|uses?|used|runs?|ran)\b",
    r"\b(?:die )?ursache\b|\blag (?:daran|am|an)\b|\bdas problem (?:ist|war|lag)\b",
    r"\b(?:la cause|le (?:vrai )?problème (?:est|était|venait|vient)|c'était (?:à cause|dû)|"
    r"venait d)",
    r"\b(?:la causa|el (?:verdadero )?problema (?:es|era|estaba|fue)|se debía|resultó que)\b",
)
STRONG_CAUSE = _any(
    r"\broot cause\b|\bculprit\b|\bturn(?:s|ed) out\b|\bursache\b|\bla cause\b|\bla causa\b",
    r"\b(?:the|actual|real|underlying) (?:\w+ )?(?:problem|issue|bug|cause|"
    r"reason) (?:here )?(?:is|was)\b",
    r"\bdas problem (?:ist|war|lag)\b|\ble (?:vrai )?problème (?:est|était|venait|vient)|"
    r"\bel (?:verdadero )?problema (?:es|era|estaba|fue)\b",
)
FIXED = _any(
    r"\b(?:fixed|solved|resolved|works? now|working now|(?:the )?(?:fix|solution|remedy|"
    r"workaround|trick) (?:is|was|:)|fix:|that (?:fixed|solved|did) it|did the trick|"
    r"passes now|now passes|pass now|all green|green now|no longer (?:fails|crashes|hangs|"
    r"happens))\b",
    r"\b(?:behoben|gelöst|funktioniert jetzt|läuft jetzt|die lösung|corrigé|résolu|ça marche|"
    r"la solution|arreglado|resuelto|solucionado|funciona ahora|ya funciona|la solución)\b",
)
EXPECTED = _any(
    r"\b(?:fails? as expected|failing as expected|expected(?:ly)? fail\w*|as expected|"
    r"red (?:phase|first|as)|good, (?:it|the test)s? fails?|(?:now|next),? (?:let me |i'll |"
    r"let'?s )?implement|write the implementation|make it pass|test[- ]first|tdd)\b"
)
CONFIRMED = _any(
    r"^(?:yes|yep|yeah|great|perfect|nice|awesome|thanks|thank you|cool|excellent|"
    r"ok(?:ay)?,? (?:that|it)|that (?:works|did|fixed|was)|works|it works|confirmed|looks good|"
    r"lgtm|danke|super|merci|parfait|gracias|perfecto|genial)\b"
)

# What only announces the next step, and is not an explanation.
PLAN = _any(
    r"^(?:let me|let'?s|i'?ll|i will|i'?m|i am|i (?:see|think|can|need|want|looked|checked|ran|"
    r"have|added|removed|renamed|fixed|updated|changed|will|now)|now|next|then|first|done|"
    r"ok(?:ay)?|good|great|perfect|checking|looking|running|trying|"
    r"here|sure|understood|got it|all |both |everything|that was not|this should|we (?:can|should|"
    r"need)|one moment|interesting|hm+|still|same|it (?:works|passes|still|boots|answers|compiles|"
    r"builds|runs)|works|passing|ich |lass|jetzt|je |voyons|voy|vamos)\b",
)
WORKED = _any(
    r"\b(?:that|this|it|which) (?:worked|works|fixed (?:it|that)|solved (?:it|that)|did (?:it|"
    r"the trick)|helped)\b",
    r"^(?:works|worked|fixed|solved|perfect,? (?:it|that) work)",
    r"\b(?:works|working|passes|starts|loads) (?:now|again)\b",
    r"\b(?:hat (?:geklappt|funktioniert|geholfen)|ça marche|ça a marché|funcionó|funciona)\b",
)
PROBLEM = _any(
    r"\b(?:errors?|exceptions?|fail(?:s|ed|ing|ure)?|crash(?:es|ed|ing)?|broken|breaks?|wrong|"
    r"slow|hangs?|freezes?|blank|leaks?|denied|refused|rejects?|"
    r"rotated|missing|duplicat\w+|flaky|times? out|timeouts?|stuck|bug|not (?:work|start|load|"
    r"show|compile|build|boot|reach)\w*|"
    r"(?:does|do|is|can|did|are)n'?t \w+|cannot|can ?not|won'?t)\b",
    r"\b(?:fehler|stürzt|kaputt|falsch|langsam|geht nicht|funktioniert nicht|erreur|plante|faux|"
    r"lent|ne marche pas|falla|lento|mal|no funciona)\b",
)

# Things that were said to be remembered.
REMEMBER = _any(
    r"^(?:please )?(?:remember|keep in mind|bear in mind|note|fyi|for the record|heads[- ]up|"
    r"don'?t forget|nota bene|nb)\b(?:,? ?(?:that|:|,|—|-) ?)",
    r"\b(?:lessons? learned|lesson|gotcha|pitfall|caveat|til|note to self|takeaway|"
    r"worth (?:remembering|noting|knowing)|for next time|good to know|important to know)\b ?(?::|"
    r"is|—|-|,|that)",
    r"^(?:merke?|zur erinnerung|wichtig zu wissen|à (?:retenir|savoir)|pour mémoire|recuerda|ojo|"
    r"nota)\b(?:,? ?(?:dir|que|dass|:|,) ?)",
)
COMMAND_USE = _any(
    r"\b(?:use|run|running|invoke|call|execute|with|via|through|by|command(?: is)?:?|"
    r"start(?:ed)? with|do)\b[^`]{0,40}`",
    r"`[^`]+`[^`]{0,60}\b(?:works?|worked|runs?|did the trick|does the trick|is the (?:right|"
    r"correct|way|command)|is (?:needed|required)|must be run|has to be run|needs to run|brings?|"
    r"starts?|rebuilds?|regenerates?)\b",
)
CODE = re.compile(r"`([^`\n]{3,300})`")
