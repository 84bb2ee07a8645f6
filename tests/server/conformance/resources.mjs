// The official TypeScript client on resources, prompts and completion: prints what it saw as one JSON object.
// usage: node resources.mjs SDK_FOLDER http URL | node resources.mjs SDK_FOLDER stdio COMMAND [ARGUMENT...]
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const [folder, transportName, target, ...rest] = process.argv.slice(2);
const load = (path) => import(pathToFileURL(join(folder, 'dist', 'esm', path)).href);
const { Client } = await load('client/index.js');
const { ResourceUpdatedNotificationSchema } = await load('types.js');
const transport =
  transportName === 'http'
    ? new (await load('client/streamableHttp.js')).StreamableHTTPClientTransport(new URL(target))
    : new (await load('client/stdio.js')).StdioClientTransport({ command: target, args: rest, env: { ...process.env } });

const NOTE = 'file:///typescript/notes/a.md';
const client = new Client({ name: 'typescript-client', version: '1.0.0' });
const changed = new Promise((resolve) => {
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => resolve(params.uri));
});
const call = async (name, args) => {
  const answer = await client.callTool({ name, arguments: args });
  if (answer.isError) throw new Error(answer.content[0].text);
  return answer.structuredContent;
};
const write = (content) => call('file_write', { project: 'typescript', path: '/notes/a.md', content, mode: 'TRUNCATE' });
const read = async (uri) => (await client.readResource({ uri })).contents[0].text;
const complete = async (ref, name, value, given) =>
  (await client.complete({ ref, argument: { name, value }, context: given && { arguments: given } })).completion.values;

await client.connect(transport);
const rule = { id: 'typescript.first', title: 'Types first', body: 'Write the type before the function.' };
await call('instructions_add', { entry: rule, overwrite: true, lax: true });
const lesson = await call('rekall_add', { type: 'bug', title: 'Locked', content: 'WAL mode helps the typed store.' });
await write('# Notes\n');

const listed = [];
let cursor;
do {
  const page = await client.listResources(cursor === undefined ? undefined : { cursor });
  listed.push(...page.resources.map((resource) => resource.uri));
  cursor = page.nextCursor;
} while (cursor !== undefined);
const templates = (await client.listResourceTemplates()).resourceTemplates.map((template) => template.uriTemplate);
const texts = {};
for (const uri of ['instruction:///typescript.first', `memory:///${lesson.id}`, NOTE, 'context:///add%20a%20type']) {
  texts[uri] = await read(uri);
}
let missing = null;
try {
  await read('instruction:///nothing');
} catch (error) {
  missing = error.code;
}

await client.subscribeResource({ uri: NOTE });
await write('# Changed\n');
const updated = await changed;
const afterwards = await read(NOTE);
await client.unsubscribeResource({ uri: NOTE });

const prompts = (await client.listPrompts()).prompts.map((prompt) => prompt.name);
const prompt = await client.getPrompt({ name: 'explain-rule', arguments: { id: 'typescript.first' } });
const files = { type: 'ref/resource', uri: 'file:///{project}/{+path}' };
const completed = {
  rule: await complete({ type: 'ref/prompt', name: 'explain-rule' }, 'id', 'typesc'),
  project: await complete(files, 'project', 'typesc'),
  path: await complete(files, 'path', 'notes/', { project: 'typescript' }),
};
console.log(JSON.stringify({
  listed, templates, texts, lesson: lesson.id, missing, updated, afterwards, prompts,
  prompt: prompt.messages[0].content.text, completed,
}));
await client.close();
