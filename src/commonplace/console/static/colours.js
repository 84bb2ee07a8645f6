// Syntax colours for the editor: a list of rules per language, tried at each position in turn.
// Only text nodes and spans are made, so a text never becomes markup.
const NUMBER = ["number", /\b(?:0[xob][\da-f_]+|\d[\d_]*(?:\.\d+)?(?:e[+-]?\d+)?)\b/];
const STRING = ["string", /"(?:[^"\\\n]|\\.)*"?|'(?:[^'\\\n]|\\.)*'?/];
const SLASH_COMMENT = ["comment", /\/\/[^\n]*|\/\*[^]*?(?:\*\/|$)/];
const HASH_COMMENT = ["comment", /(?<![^\s])#[^\n]*/];

function words(text) {
  return ["keyword", new RegExp(`\\b(?:${text.trim().split(/\s+/).join("|")})\\b`)];
}

const SQL = ` select from where and or not insert into values update set delete create table index
  view join left right inner outer on as group by order having limit offset with union null primary
  key references default unique case when then else end `;

const LANGUAGES = {
  yaml: [
    HASH_COMMENT,
    ["name", /(?<=^[ \t]*(?:- +)*)(?:"[^"\n]*"|'[^'\n]*'|[^\s#:,[\]{}&*!|>'"%@`-][^\n#:]*?)(?=\s*:(?:\s|$))/m],
    STRING,
    words("true false null yes no"),
    NUMBER,
    ["keyword", /^---$|^\.\.\.$|(?<=\s)[&*][\w-]+/m],
  ],
  json: [["name", /"(?:[^"\\\n]|\\.)*"(?=\s*:)/], STRING, words("true false null"), NUMBER],
  markdown: [
    ["keyword", /^#{1,6} [^\n]*/m],
    ["string", /^```[^]*?(?:^```|$(?![^]))|`[^`\n]+`/m],
    ["name", /\*\*[^*\n]+\*\*|__[^_\n]+__|\[[^\]\n]*\]\([^)\n]*\)/],
    ["comment", /^>[^\n]*/m],
    ["number", /^\s*(?:[-*+]|\d+\.) /m],
  ],
  python: [
    HASH_COMMENT,
    ["string", /[rbfuRBFU]{0,2}(?:"""[^]*?(?:"""|$(?![^]))|'''[^]*?(?:'''|$(?![^])))/],
    STRING,
    words("and as assert async await break class continue def del elif else except finally for from " +
      "global if import in is lambda match nonlocal not or pass raise return try while with yield " +
      "None True False"),
    ["name", /(?<=\b(?:def|class)\s+)\w+|@[\w.]+/],
    NUMBER,
  ],
  code: [
    SLASH_COMMENT,
    ["string", /`(?:[^`\\]|\\[^])*`?/],
    STRING,
    words("async await break case catch class const continue default defer do else enum export extends " +
      "false final finally fn for func function go if impl implements import in interface let map match " +
      "mod mut new nil null package private protected pub public range return select self static struct " +
      "super switch this throw true try type typeof undefined use var void while with yield"),
    NUMBER,
  ],
  shell: [
    HASH_COMMENT, STRING,
    words("case do done elif else esac fi for function if in then until while export local return"),
    ["name", /\$\{?\w+\}?/],
  ],
  toml: [HASH_COMMENT, ["keyword", /^\[[^\]\n]*\]+/m], ["name", /^[\w."-]+(?=\s*=)/m], STRING, words("true false"), NUMBER],
  sql: [
    ["comment", /--[^\n]*|\/\*[^]*?(?:\*\/|$)/], STRING,
    words(SQL + SQL.toUpperCase()),
    NUMBER,
  ],
  markup: [["comment", /<!--[^]*?(?:-->|$)/], ["name", /<\/?[\w:-]+|\/?>/], STRING],
  css: [["comment", /\/\*[^]*?(?:\*\/|$)/], STRING, ["name", /[\w-]+(?=\s*:)/], ["keyword", /@[\w-]+/], NUMBER],
};
const ENDINGS = {
  yml: "yaml", yaml: "yaml", json: "json", jsonl: "json", md: "markdown", markdown: "markdown",
  py: "python", python: "python", pyi: "python", js: "code", mjs: "code", ts: "code", tsx: "code",
  jsx: "code", go: "code", rs: "code", java: "code", c: "code", h: "code", cpp: "code", cs: "code",
  kt: "code", swift: "code", php: "code", javascript: "code", sh: "shell", bash: "shell",
  toml: "toml", ini: "toml", sql: "sql", html: "markup", xml: "markup", svg: "markup", css: "css",
};

export function languageOf(name) {
  return ENDINGS[name.toLowerCase().split(".").pop()] ?? "";
}

const compiled = new Map();
function patternOf(language) {
  if (!compiled.has(language)) {
    const rules = LANGUAGES[language];
    const flags = `g${rules.some(([, rule]) => rule.multiline) ? "m" : ""}`;
    const sources = rules.map(([, rule]) => `(${rule.source})`);
    compiled.set(language, new RegExp(sources.join("|"), flags));
  }
  return compiled.get(language);
}

// Return a fragment with the text in coloured spans.
export function colour(text, language) {
  const made = document.createDocumentFragment();
  const kinds = LANGUAGES[language].map(([kind]) => kind);
  let position = 0;
  for (const found of text.matchAll(patternOf(language))) {
    if (!found[0]) continue;
    made.append(text.slice(position, found.index));
    const span = document.createElement("span");
    span.className = `t-${kinds[found.slice(1).findIndex((group) => group !== undefined)]}`;
    span.textContent = found[0];
    made.append(span);
    position = found.index + found[0].length;
  }
  made.append(text.slice(position) + "\n");
  return made;
}
