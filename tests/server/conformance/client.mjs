// The official TypeScript client against one server: lists the tools, calls one rightly and one wrongly, prints what it saw.
// usage: node client.mjs SDK_FOLDER http URL [HEADERS_AS_JSON] | node client.mjs SDK_FOLDER stdio COMMAND [ARGUMENT...]
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const [folder, transportName, target, ...rest] = process.argv.slice(2);
const load = (path) => import(pathToFileURL(join(folder, 'dist', 'esm', 'client', path)).href);
const { Client } = await load('index.js');
const transport =
  transportName === 'http'
    ? new (await load('streamableHttp.js')).StreamableHTTPClientTransport(new URL(target), {
        requestInit: { headers: JSON.parse(rest[0] ?? '{}') },
      })
    : new (await load('stdio.js')).StdioClientTransport({ command: target, args: rest, env: { ...process.env } });

const client = new Client({ name: 'typescript-client', version: '1.0.0' });
await client.connect(transport);
const { tools } = await client.listTools();
const right = await client.callTool({ name: 'health_check', arguments: {} });
const wrong = await client.callTool({ name: 'health_check', arguments: { bogus: 1 } });
let unknown = null;
try {
  await client.callTool({ name: 'no_such_tool', arguments: {} });
} catch (error) {
  unknown = error.code;
}
console.log(JSON.stringify({ server: client.getServerVersion(), tools: tools.map((tool) => tool.name), right, wrong, unknown }));
await client.close();
