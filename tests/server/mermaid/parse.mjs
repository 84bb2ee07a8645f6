// The real Mermaid parser on drawings from stdin: a JSON list of texts in, a JSON list of null or error messages out.
// usage: node parse.mjs NODE_MODULES
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { text } from 'node:stream/consumers';

const load = async (...parts) => (await import(pathToFileURL(join(process.argv[2], ...parts)).href)).default;
const purify = await load('dompurify', 'dist', 'purify.es.mjs');
purify.addHook = () => {}; // it sanitises labels in a browser; the grammar does not need it
purify.sanitize = (label) => label;
const mermaid = await load('mermaid', 'dist', 'mermaid.core.mjs');

const problems = [];
for (const drawing of JSON.parse(await text(process.stdin))) {
  try {
    await mermaid.parse(drawing);
    problems.push(null);
  } catch (error) {
    problems.push(String(error.message));
  }
}
process.stdout.write(JSON.stringify(problems));
